"""Work on files that several processes divide, on one machine or on some that share a folder.

Each process has a folder beside the one that all of them fill, `NAME.share-0-of-2` and so on. The one that ends last
puts them together. No process waits for another's work, so any of them may be killed, or begin later: the same command
again, for all of them, goes on with what is there.
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from maskline.core.errors import UserError, one_line
from maskline.core.storage import MANIFEST, read_manifest, try_lock
from maskline.inference.growing import Growing

BLOCK = 1 << 24
"""Bytes that are copied at a time."""
LOOK_SECONDS = 0.1
"""How often a process looks whether another has put the shares together, which takes as long as copying them."""


@dataclass(frozen=True)
class Share:
    """Which part of the work is this process's."""

    number: int = 0
    count: int = 1

    @classmethod
    def of_this_process(cls) -> Self:
        """Return the share that torchrun gave this process; all of the work where nothing did.

        Raises:
            UserError: RANK and WORLD_SIZE are not those of a process of torchrun.
        """
        number, count = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
        if number is None and count is None:
            return cls()
        if not (number and count and number.isdecimal() and count.isdecimal() and int(number) < int(count)):
            given = ", ".join(f"{name}={os.environ.get(name, '')}" for name in ("RANK", "WORLD_SIZE"))
            raise UserError(f"no process of torchrun has {one_line(given)}: start it by torchrun, or unset both")
        return cls(int(number), int(count))

    def of(self, total: int) -> range:
        """Return which of `total` chunks are this share's; they follow one another, in the order of the shares."""
        return range(total * self.number // self.count, total * (self.number + 1) // self.count)

    def directory(self, out: Path) -> Path:
        """Return where this share of what will be `out` is written."""
        return out.with_name(f"{out.name}.share-{self.number}-of-{self.count}")

    def all(self) -> list["Share"]:
        """Return the shares of all processes."""
        return [Share(number, self.count) for number in range(self.count)]


def is_whole(directory: Path, identity: Mapping[str, Any]) -> bool:
    """Return whether a share was written to its end by the same work."""
    if not (directory / MANIFEST).is_file():
        return False
    try:
        manifest = read_manifest(directory, "embed")
    except UserError:
        return False
    return identity.items() <= manifest.items()


def join(
    out: Path, share: Share, identity: Mapping[str, Any], about: Mapping[str, Any], sums: Sequence[str]
) -> dict[str, Any] | None:
    """Put all shares of `out` together if all are whole, and remove them; return the manifest, None if another does it.

    Args:
        out: replaced when it exists.
        share: this process's, which is whole.
        identity: by which shares of one work are known.
        about: the manifest, but for `sums`.
        sums: numbers that each share's manifest has, to be added up.
    """
    lock = out.with_name(f"{out.name}.joining")
    while (descriptor := try_lock(lock)) is None:
        time.sleep(LOOK_SECONDS)
    try:
        places = [each.directory(out) for each in share.all()]
        if not all(is_whole(place, identity) for place in places):
            return None
        parts = [read_manifest(place, "embed") for place in places]
        manifest = {**about, **{name: sum(part[name] for part in parts) for name in sums}}
        # Known by another name than the work of one process, whose rest would be taken for the beginning of this.
        with Growing(out, {**identity, "shares": share.count}) as growing:
            for place, part in zip(places, parts, strict=True):
                for name in part["files"]:
                    _append(growing, place / name)
            growing.finish(manifest)
        for place in places:
            shutil.rmtree(place)
        return manifest
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _append(growing: Growing, path: Path) -> None:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            growing.append(path.name, block)

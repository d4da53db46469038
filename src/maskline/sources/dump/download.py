"""The download of a Wikimedia dump of a given date. Each file is verified before it gets its final name.

`<url>/<wiki>/<date>/dumpstatus.json` says whether the dump is done, and lists its files with size and SHA-1. The files
are kept in `.downloads/<wiki>/<date>/`, which DVC does not manage: DVC removes a stage's outs before it runs the stage.
An incomplete file ends in `.part`; a later run continues it.
"""

import hashlib
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from maskline.core.errors import UserError
from maskline.core.storage import try_lock
from maskline.sources.dump.pages import OPENERS
from maskline.sources.dump.server import RETRY_POLICY, RetryPolicy, Say, Server, size
from maskline.sources.dump.status import STATUS, STATUS_BYTES, Part, parse_status
from maskline.sources.settings import DumpCorpus

DOWNLOADS = Path(".downloads")

_END = b"</mediawiki>"


class Dump(NamedTuple):
    """The complete files of a dump, in the order of their pages."""

    paths: list[Path]
    provenance: dict[str, Any]


def fetch_dump(
    params: DumpCorpus, language: str, *, say: Say, root: Path = DOWNLOADS, retry: RetryPolicy = RETRY_POLICY
) -> Dump:
    """Return the dump that `params` names; download the files that are missing or differ from the status.

    A mirror that is a local folder is read in place. `say` is called with lines of progress.

    Raises:
        UserError: no date is given, the dump does not exist or is not done, the server keeps failing, a file differs
            from the status, or the disk has no room for it.
    """
    wiki = params.wiki or f"{language.replace('-', '_')}wiki"
    if params.date is None:
        raise UserError(
            f"corpus.dump.date is not set: take the date of a dump from {params.url}/{wiki}, such as 20260901"
        )
    base = f"{params.url.rstrip('/')}/{wiki}/{params.date}"
    provenance: dict[str, Any] = {"wiki": wiki, "date": params.date}
    if (folder := _local(base)) is not None:
        parts = parse_status(_read_status(folder), str(folder))
        for part in parts:
            if fault := _fault(folder / part.name, part):
                raise UserError(f"{folder / part.name} {fault}: mirror it again")
    else:
        provenance["url"] = base
        folder = root / wiki / params.date
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder), Server(base, say, retry) as server:
            parts = parse_status(server.status(), base)
            _fetch_missing(server, parts, folder)
    inputs = [
        {"name": part.name, "bytes": part.bytes, "sha1": part.sha1 or _sha1(folder / part.name)} for part in parts
    ]
    return Dump([folder / part.name for part in parts], {**provenance, "inputs": inputs})


def is_closed(path: Path) -> bool:
    """Return whether a dump, compressed or not, has its closing tag.

    Decompressing is not enough: a file that was cut between two bzip2 streams decompresses without an error.
    """
    end = b""
    suffix = Path(path.name.removesuffix(".part")).suffix
    try:
        with OPENERS[suffix](path) as file:
            while block := file.read(1 << 20):
                end = (end + block)[-64:]
    except (EOFError, OSError, zlib.error):
        return False
    return end.rstrip().endswith(_END)


def _local(url: str) -> Path | None:
    """Return the folder that `url` names, as a path or with file://; None if it names a server."""
    if url.startswith("file://"):
        return Path(unquote(urlsplit(url).path))
    return None if "://" in url else Path(url)


def _read_status(folder: Path) -> bytes:
    try:
        with (folder / STATUS).open("rb") as file:
            return file.read(STATUS_BYTES + 1)
    except OSError:
        raise UserError(
            f"{folder / STATUS} is not there: if corpus.dump.url is a folder, it holds <wiki>/<date>/{STATUS}"
        ) from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = try_lock(folder / "lock")
    if lock is None:
        raise UserError(f"another process downloads to {folder}: wait for it, or stop it first")
    try:
        yield
    finally:
        os.close(lock)


def _fetch_missing(server: Server, parts: list[Part], folder: Path) -> None:
    missing = []
    for part in parts:
        path = folder / part.name
        fault = _fault(path, part)
        if fault and path.exists():
            server.say(f"{path} {fault}: fetching it again")
        if fault:
            missing.append(part)
    partial = {part: folder / f"{part.name}.part" for part in missing}
    room = shutil.disk_usage(folder).free
    needed = sum(part.bytes - (path.stat().st_size if path.exists() else 0) for part, path in partial.items())
    if needed > room:
        raise UserError(
            f"{folder} has room for {size(room)}, and the download needs {size(needed)}: make room and run the same "
            "command again"
        )
    for number, (part, path) in enumerate(partial.items(), 1):
        _fetch(server, part, path, f"{part.name} ({number} of {len(missing)})")
        path.replace(folder / part.name)


def _fetch(server: Server, part: Part, partial: Path, title: str) -> None:
    """Complete `partial` and verify it; if it is wrong, fetch it once more from the beginning."""
    for last in (False, True):
        server.complete(part, partial, title)
        fault = _fault(partial, part)
        if fault is None:
            return
        partial.unlink()
        if last:
            raise UserError(f"{server.base}/{part.name} {fault}, twice: try another date or mirror")
        server.say(f"{title}: {fault}: fetching it once more from the beginning")


def _fault(path: Path, part: Part) -> str | None:
    """Return how `path` differs from what the status says of `part`; None if it does not."""
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != part.bytes:
        return f"has {path.stat().st_size:,} bytes instead of {part.bytes:,}"
    if part.sha1 is None:
        return None if is_closed(path) else "ends before </mediawiki>"
    found = _sha1(path)
    return None if found == part.sha1 else f"has the SHA-1 {found} instead of {part.sha1}"


def _sha1(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()

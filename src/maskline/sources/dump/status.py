"""The files of a dump, as listed in its `dumpstatus.json`."""

import json
import re
from typing import NamedTuple

from maskline.core.errors import UserError, one_line, quoted

JOB = "articlesdump"
"""The dump job with the current text of every content page: one file, or several for a large wiki."""
STATUS = "dumpstatus.json"
STATUS_BYTES = 1 << 25
"""Most bytes of a status; that of a large wiki has one million."""
MOST_BYTES = 1 << 50
"""Most bytes of a file of a dump."""

_NAME = re.compile(r"[\w-][\w.-]{,200}\.(bz2|gz|xml)", re.ASCII)  # no path to another folder


class Part(NamedTuple):
    """A file of a dump."""

    name: str
    bytes: int
    sha1: str | None
    """None on some mirrors."""


def parse_status(content: bytes, place: str) -> list[Part]:
    """Return the files of the job in the `content` of a dumpstatus.json, in the order of their pages.

    Raises:
        UserError: it is not such a file, lacks the job, or says that the job is not done; the error names `place`.
    """
    if len(content) > STATUS_BYTES:
        raise UserError(f"{place}/{STATUS} has more than {STATUS_BYTES:,} bytes: try another mirror")
    try:
        job = json.loads(content)["jobs"].get(JOB)
        if job is None:
            raise UserError(f"{place}/{STATUS} has no job {JOB}: choose another date")
        if job["status"] != "done":
            raise UserError(
                f"{place} is not done ({JOB} is {one_line(job['status'])}): wait, or choose an earlier date"
            )
        parts = [Part(name, int(file["size"]), file.get("sha1")) for name, file in job["files"].items()]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError(
            f"{place}/{STATUS} does not say what files there are ({quoted(error)}): try another mirror"
        ) from None
    if not parts or not all(map(_is_possible, parts)):
        raise UserError(f"{place}/{STATUS} lists no files, or impossible ones: try another mirror")
    return sorted(parts, key=_page_order)


def _is_possible(part: Part) -> bool:
    hashed = part.sha1 is None or isinstance(part.sha1, str)
    return bool(_NAME.fullmatch(part.name)) and 0 < part.bytes <= MOST_BYTES and hashed


def _page_order(part: Part) -> list[str | int]:
    """Return a sort key that puts `articles10` after `articles9`."""
    return [int(run) if place % 2 else run for place, run in enumerate(re.split(r"(\d+)", part.name))]

"""Requests to a server of dumps, with retries: it may break connections, delay, refuse, or answer with a web page."""

import email.utils
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import IO, Any, Self, TypeVar

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type

from maskline.core.errors import UserError
from maskline.sources.dump.status import STATUS, STATUS_BYTES, Part

LINE_EVERY_SECONDS = 10.0
PROGRESS = 1 << 20
"""Bytes after which a broken attempt does not count as failed."""

_TRANSIENT = {408, 425, 429, *range(500, 600)}
"""Status codes of errors that may be over in a moment."""
_BEGINNINGS = {".bz2": b"BZh", ".gz": b"\x1f\x8b", ".xml": b"<mediawiki"}

T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and after how long, a request is tried again."""

    attempts: int = 8
    """Failed attempts in a row after which the download ends."""
    first_wait: float = 1.0
    """Seconds to wait after the first failed attempt; doubled after each further one."""
    longest_wait: float = 60.0
    """Seconds to wait at most."""
    longest_retry_after: float = 600.0
    """Seconds that the server may ask to wait; more is an error."""
    timeout: float = 60.0
    """Seconds without data after which a connection counts as broken."""
    sleep: Callable[[float], None] = time.sleep


RETRY_POLICY = RetryPolicy()


class TransientError(Exception):
    """A failure that may be over in a moment."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Server:
    """One dump on a server; use as a context manager."""

    def __init__(self, base: str, say: Say, retry: RetryPolicy) -> None:
        """Request files below the address `base`; `say` is called with lines about errors and progress."""
        self.base = base
        self.say = say
        self._retry = retry
        self._failed = 0
        self._client = httpx.Client(
            # Wikimedia asks clients to name themselves. Without compression, sizes and ranges are those of the file.
            headers={
                "User-Agent": f"maskline/{version_of('maskline')} (BERT pretraining)",
                "Accept-Encoding": "identity",
            },
            timeout=retry.timeout,
            follow_redirects=True,
        )

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._client.__exit__(*error)

    def status(self) -> bytes:
        """Return the content of dumpstatus.json.

        Raises:
            UserError: there is none, or the server keeps failing.
        """
        return self._with_retries(self._status)

    def complete(self, part: Part, partial: Path, title: str) -> None:
        """Append to `partial` what it lacks of `part`; received data is kept. Lines of progress begin with `title`.

        Raises:
            UserError: there is no such file, or the server keeps failing.
        """
        progress = _Progress(title, part.bytes, self.say)
        version: list[str] = []
        self._with_retries(lambda: self._receive(part, partial, version, progress))

    def _with_retries(self, request: Callable[[], T]) -> T:
        """Return the result of `request`; try again until `attempts` in a row have failed."""
        self._failed = 0
        policy = self._retry
        retrying = Retrying(
            retry=retry_if_exception_type(TransientError),
            stop=lambda _: self._failed >= policy.attempts,
            wait=self._wait,
            sleep=policy.sleep,
            before_sleep=lambda state: self.say(f"{_failure(state)}: trying again in {state.upcoming_sleep:.0f} s"),
            reraise=True,
        )
        try:
            return retrying(request)
        except TransientError as error:
            raise UserError(
                f"{error} (attempts in a row: {policy.attempts}): check the network and corpus.dump.url, and run the "
                "same command again, which continues where this one stopped"
            ) from None

    def _wait(self, state: RetryCallState) -> float:
        policy = self._retry
        wait = min(policy.first_wait * 2.0 ** max(0, self._failed - 1), policy.longest_wait)
        return max(wait, _failure(state).retry_after)

    @contextmanager
    def _response(self, name: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Yield the response to a request.

        Raises:
            TransientError: the connection broke, or the server cannot answer now.
            UserError: the server will never answer this request.
        """
        self._failed += 1  # until data has come
        url = f"{self.base}/{name}"
        try:
            with self._client.stream("GET", url, headers=headers) as response:
                self._check(response, url)
                yield response
        except httpx.InvalidURL as error:
            raise UserError(f"{url} is not an address ({error}): check corpus.dump.url") from None
        except httpx.HTTPError as error:
            raise TransientError(f"{url}: {str(error) or type(error).__name__}") from None

    def _check(self, response: httpx.Response, url: str) -> None:
        code = response.status_code
        if code in _TRANSIENT:
            wait = _retry_after(response.headers.get("Retry-After", ""))
            if wait > self._retry.longest_retry_after:
                raise UserError(f"{url} answers {code} and asks to wait for {wait:,.0f} s: run the same command then")
            raise TransientError(f"{url} answers {code} {response.reason_phrase}", wait)
        if code in {404, 410}:
            raise UserError(
                f"{url} is not there ({code}): dumps are removed after some months; choose a date of which "
                f"{self.base.rpartition('/')[0]} has the dump, or another corpus.dump.url"
            )
        if code not in {200, 206, 416}:
            raise UserError(f"{url} answers {code} {response.reason_phrase}: check corpus.dump.url")

    def _status(self) -> bytes:
        with self._response(STATUS, {}) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > STATUS_BYTES:
                    raise UserError(f"{self.base}/{STATUS} has more than {STATUS_BYTES:,} bytes: check corpus.dump.url")
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            raise TransientError(f"{self.base}/{STATUS} is not valid JSON ({_what(response)})") from None
        return bytes(content)

    def _receive(self, part: Part, partial: Path, version: list[str], progress: "_Progress") -> None:
        """Make one request for the rest of `partial`; `version`, once known, identifies the version of the file."""
        have = partial.stat().st_size if partial.exists() else 0
        if have == part.bytes:
            return
        resume = {"Range": f"bytes={have}-"} | ({"If-Range": version[0]} if version else {})
        with self._response(part.name, resume if have else {}) as response:
            start, now = _start(response), _version(response)
            if start is None or (start and (start != have or (version and now != version))):
                partial.unlink(missing_ok=True)
                raise TransientError(f"{response.url} does not continue what was received: starting again")
            _check_body(response, part, start)
            version[:] = now
            with partial.open("ab" if start else "wb") as file:
                self._append(response, file, part, start, progress)
        if partial.stat().st_size < part.bytes:
            raise TransientError(f"{response.url} ends after {partial.stat().st_size:,} bytes")

    def _append(self, response: httpx.Response, file: IO[bytes], part: Part, start: int, progress: "_Progress") -> None:
        position = start
        beginning = _BEGINNINGS[Path(part.name).suffix]
        for chunk in response.iter_raw():
            if not position and not beginning.startswith(chunk[: len(beginning)]):
                raise TransientError(f"{response.url} is not a dump ({_what(response)})")
            position += len(chunk)
            if position > part.bytes:
                raise TransientError(f"{response.url} does not end after {part.bytes:,} bytes")
            file.write(chunk)
            if position - start >= PROGRESS:
                self._failed = 0
            progress.update(position)
        file.flush()
        os.fsync(file.fileno())


def _start(response: httpx.Response) -> int | None:
    """Return the byte of the file at which the body begins; None if the body is not a part of the file."""
    if response.status_code == 200:
        return 0
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else None


def _check_body(response: httpx.Response, part: Part, start: int) -> None:
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise TransientError(f"{response.url} is not a dump ({_what(response)})")
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and start + int(length) != part.bytes:
        raise TransientError(f"{response.url} has {start + int(length):,} bytes, not {part.bytes:,} as in {STATUS}")


def _version(response: httpx.Response) -> list[str]:
    """Return what identifies this version of the file in an If-Range header, which accepts no weak ETag."""
    etag = response.headers.get("ETag", "W/")
    found = response.headers.get("Last-Modified") if etag.startswith("W/") else etag
    return [found] if found else []


def _retry_after(value: str) -> float:
    """Return the seconds of a Retry-After header (a number or a date); 0 if it has none."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _what(response: httpx.Response) -> str:
    return f"it comes as {response.headers.get('Content-Type', 'data of no type')}"


def _failure(state: RetryCallState) -> TransientError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, TransientError)
    return error


class _Progress:
    """Report the progress of a file every LINE_EVERY_SECONDS, and at its end."""

    def __init__(self, title: str, total: int, say: Say) -> None:
        self._title = title
        self._total = total
        self._say = say
        self._told = self._started = time.monotonic()
        self._first: int | None = None

    def update(self, position: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._started = position, now
        if now - self._told >= LINE_EVERY_SECONDS or position == self._total:
            self._told = now
            rate = (position - self._first) / max(now - self._started, 1e-9)
            self._say(f"{self._title}: {size(position)} of {size(self._total)}, {size(rate)}/s")


def size(count: float) -> str:
    """Return a number of bytes in GB or MB."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"

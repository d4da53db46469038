"""A server of dumps, asked as often as it takes: it may cut, delay, refuse for a while, or answer with a web page."""

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
from maskline.sources.dump.status import STATUS, Part

LINE_EVERY_SECONDS = 10.0
PROGRESS = 1 << 20
"""Bytes that make a broken attempt a fruitful one."""

_PASSING = {408, 425, 429, *range(500, 600)}
"""Status codes of what may be otherwise in a moment."""
_BEGINNINGS = {".bz2": b"BZh", ".gz": b"\x1f\x8b", ".xml": b"<mediawiki"}

T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for."""

    attempts: int = 8
    """In a row that bring nothing, or next to nothing."""
    first_wait: float = 1.0
    """Seconds after the first of them, doubled after each further one."""
    longest_wait: float = 60.0
    longest_retry_after: float = 600.0
    """Seconds that the server itself may ask for; more is an error."""
    timeout: float = 60.0
    """Seconds of silence that break a connection."""
    sleep: Callable[[float], None] = time.sleep


PATIENT = Patience()


class PassingError(Exception):
    """A failure that may be over in a moment."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Server:
    """One dump on a server; use as a context manager."""

    def __init__(self, base: str, say: Say, patience: Patience) -> None:
        """Ask below the address `base`; `say` is told what goes wrong and how far it is."""
        self.base = base
        self.say = say
        self._patience = patience
        self._fruitless = 0
        self._client = httpx.Client(
            # Wikimedia asks clients to say who they are; without compression, sizes and ranges are those of the file.
            headers={
                "User-Agent": f"maskline/{version_of('maskline')} (BERT pretraining)",
                "Accept-Encoding": "identity",
            },
            timeout=patience.timeout,
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
            UserError: there is none, or the server fails for good.
        """
        return self._patiently(self._status)

    def complete(self, part: Part, partial: Path, title: str) -> None:
        """Append to `partial` what it lacks of `part`; what has come is kept. `title` heads the lines of progress.

        Raises:
            UserError: there is no such file, or the server fails for good.
        """
        progress = _Progress(title, part.bytes, self.say)
        version: list[str] = []
        self._patiently(lambda: self._receive(part, partial, version, progress))

    def _patiently(self, request: Callable[[], T]) -> T:
        """Return what `request` does, after as many attempts as it takes while they bring something."""
        self._fruitless = 0
        patience = self._patience
        retrying = Retrying(
            retry=retry_if_exception_type(PassingError),
            stop=lambda _: self._fruitless >= patience.attempts,
            wait=self._wait,
            sleep=patience.sleep,
            before_sleep=lambda state: self.say(f"{_failure(state)}: trying again in {state.upcoming_sleep:.0f} s"),
            reraise=True,
        )
        try:
            return retrying(request)
        except PassingError as error:
            raise UserError(
                f"{error} (attempts in a row: {patience.attempts}): check the network and corpus.dump.url, and run the "
                "same command again, which goes on where this one stopped"
            ) from None

    def _wait(self, state: RetryCallState) -> float:
        patience = self._patience
        wait = min(patience.first_wait * 2.0 ** max(0, self._fruitless - 1), patience.longest_wait)
        return max(wait, _failure(state).retry_after)

    @contextmanager
    def _response(self, name: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Yield a response to a request that the server can answer.

        Raises:
            PassingError: the connection broke, or the server cannot answer now.
            UserError: it will not answer, however often it is asked.
        """
        self._fruitless += 1
        url = f"{self.base}/{name}"
        try:
            with self._client.stream("GET", url, headers=headers) as response:
                self._check(response, url)
                yield response
        except httpx.InvalidURL as error:
            raise UserError(f"{url} is no address ({error}): check corpus.dump.url") from None
        except httpx.HTTPError as error:
            raise PassingError(f"{url}: {str(error) or type(error).__name__}") from None

    def _check(self, response: httpx.Response, url: str) -> None:
        code = response.status_code
        if code in _PASSING:
            wait = _retry_after(response.headers.get("Retry-After", ""))
            if wait > self._patience.longest_retry_after:
                raise UserError(f"{url} answers {code} and asks to wait for {wait:,.0f} s: run the same command then")
            raise PassingError(f"{url} answers {code} {response.reason_phrase}", wait)
        if code in {404, 410}:
            raise UserError(
                f"{url} is not there ({code}): dumps are removed after some months; choose a date of which "
                f"{self.base.rpartition('/')[0]} has the dump, or another corpus.dump.url"
            )
        if code not in {200, 206, 416}:
            raise UserError(f"{url} answers {code} {response.reason_phrase}: check corpus.dump.url")

    def _status(self) -> bytes:
        with self._response(STATUS, {}) as response:
            content = response.read()
        try:
            json.loads(content)
        except ValueError:
            raise PassingError(f"{self.base}/{STATUS} is no JSON ({_what(response)})") from None
        return content

    def _receive(self, part: Part, partial: Path, version: list[str], progress: "_Progress") -> None:
        """Make one request for what `partial` lacks; `version`, once known, is what tells the file from later ones."""
        have = partial.stat().st_size if partial.exists() else 0
        if have == part.bytes:
            return
        resume = {"Range": f"bytes={have}-"} | ({"If-Range": version[0]} if version else {})
        with self._response(part.name, resume if have else {}) as response:
            start, now = _start(response), _version(response)
            if start is None or (start and (start != have or (version and now != version))):
                partial.unlink(missing_ok=True)
                raise PassingError(f"{response.url} does not go on with what was received: from the beginning")
            _check_body(response, part, start)
            version[:] = now
            with partial.open("ab" if start else "wb") as file:
                self._append(response, file, part, start, progress)
        if partial.stat().st_size < part.bytes:
            raise PassingError(f"{response.url} ends after {partial.stat().st_size:,} bytes")

    def _append(self, response: httpx.Response, file: IO[bytes], part: Part, start: int, progress: "_Progress") -> None:
        position = start
        beginning = _BEGINNINGS[Path(part.name).suffix]
        for chunk in response.iter_raw():
            if not position and not beginning.startswith(chunk[: len(beginning)]):
                raise PassingError(f"{response.url} is no dump ({_what(response)})")
            position += len(chunk)
            if position > part.bytes:
                raise PassingError(f"{response.url} does not end after {part.bytes:,} bytes")
            file.write(chunk)
            if position - start >= PROGRESS:
                self._fruitless = 0
            progress.update(position)
        file.flush()
        os.fsync(file.fileno())


def _start(response: httpx.Response) -> int | None:
    """Return at which byte of the file the body begins; None where it is none of the file's."""
    if response.status_code == 200:
        return 0
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else None


def _check_body(response: httpx.Response, part: Part, start: int) -> None:
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise PassingError(f"{response.url} is no dump ({_what(response)})")
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and start + int(length) != part.bytes:
        raise PassingError(f"{response.url} has {start + int(length):,} bytes, {part.bytes:,} by {STATUS}")


def _version(response: httpx.Response) -> list[str]:
    """Return what tells this version of the file from others, as If-Range takes it: no weak ETag."""
    etag = response.headers.get("ETag", "W/")
    found = response.headers.get("Last-Modified") if etag.startswith("W/") else etag
    return [found] if found else []


def _retry_after(value: str) -> float:
    """Return the seconds that a Retry-After asks for, in either of its forms; 0 for none."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _what(response: httpx.Response) -> str:
    return f"it comes as {response.headers.get('Content-Type', 'data of no type')}"


def _failure(state: RetryCallState) -> PassingError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, PassingError)
    return error


class _Progress:
    """Tell how far a file is, every few seconds and at its end."""

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
    """Return a number of bytes as people read it."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"

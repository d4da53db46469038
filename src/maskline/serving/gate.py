"""What every request passes: the key, the size of its body, and the clock."""

import hmac
import logging
import time
from collections.abc import Callable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskline.serving.faults import fault

OPEN = ("/", "/page.css", "/page.js", "/docs", "/openapi.json", "/health")
"""Paths that need no key: they say nothing of the model, and nothing of what it was asked."""
DISCARDED_BYTES = 64 << 20
"""Most that is read of a body that is refused: who is still sending would not see the answer."""


class BodyTooLargeError(Exception):
    """A body has more bytes than it may."""


class Gate:
    """Refuses what has no key or too large a body, and tells how long each answer took."""

    def __init__(
        self, app: ASGIApp, key: str | None, most_bytes: int, answered: Callable[[str, int, float], None]
    ) -> None:
        """Take what answers.

        Args:
            app: what stands behind the gate.
            key: what all but OPEN must send; None: nothing.
            most_bytes: of a body.
            answered: told of each request its path, the status of its answer (0: none) and the seconds.
        """
        self._app = app
        self._key = None if key is None else f"Bearer {key}".encode()
        self._most_bytes = most_bytes
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # what looks after servers asks so; uvicorn sends no body then
            scope = {**scope, "method": "GET"}
        started, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._answer(scope, receive, sending)
        except Exception:  # its answer was sent; the connection stays for what else the client asks
            logging.getLogger("uvicorn.error").exception("%s failed", scope["path"])
        finally:
            self._answered(scope["path"], status, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        sent = headers.get(b"authorization", b"")
        if self._key is not None and scope["path"] not in OPEN and not hmac.compare_digest(sent, self._key):
            refusal = fault(
                HTTPStatus.UNAUTHORIZED,
                "the key is missing or wrong: send it as Authorization: Bearer KEY",
                headers={"www-authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)
            return
        try:
            body = await self._body(headers, receive)
        except BodyTooLargeError:
            message = f"the body has more than {self._most_bytes:,} bytes: send fewer texts at a time"
            await fault(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, headers={"connection": "close"})(
                scope, receive, send
            )
            return
        if body is None:  # the client is gone
            return
        read = False

        async def receiving() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receiving, send)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the body of a request; None if the client left while it was sending it.

        Raises:
            BodyTooLargeError: it has too many bytes; what was still being sent is read, and forgotten.
        """
        length = headers.get(b"content-length", b"0")
        kept: list[bytes] = []
        size = 0
        too_large = length.isdigit() and int(length) > self._most_bytes
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            part = message.get("body", b"")
            size += len(part)
            too_large = too_large or size > self._most_bytes
            if too_large:
                kept.clear()
            else:
                kept.append(part)
            if not message.get("more_body") or size > DISCARDED_BYTES:
                break
        if too_large:
            raise BodyTooLargeError
        return b"".join(kept)

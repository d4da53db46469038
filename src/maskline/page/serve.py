"""The live page, served on this machine alone."""

import hashlib
import signal
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from time import thread_time
from urllib.parse import parse_qs, urlsplit

from maskline.core.errors import UserError
from maskline.page.document import data_of, render
from maskline.page.live import Watch, state

HOST = "127.0.0.1"
NAMES = {HOST, "localhost"}
"""What the page may be asked for by: a name that somebody else points here is refused."""
PAUSE, LONGEST_PAUSE = 2.0, 30.0
"""Seconds for which a look at the files is good, at least and at most: with several browsers open, they share it."""
SHARE = 0.01
"""Of a core, that looking takes at most, so that what trains does not feel it: after a longer look, a longer pause."""
NICENESS = 10
"""How far what serves stands back behind what trains."""


class Server(ThreadingHTTPServer):
    """Serves `/`, the page, and `/state`, what has changed since."""

    daemon_threads = True

    def __init__(self, watch: Watch, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Listen on a port; 0 takes one that is free.

        Raises:
            UserError: another program has the port.
        """
        self.watch, self.clock = watch, clock
        self._looking = Lock()
        self._seen: tuple[str, str] | None = None
        self._good_until = 0.0
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise UserError(f"port {port} cannot be had ({error.strerror}): choose another with --port") from None

    def serve_until_stopped(self) -> None:
        """Answer until Ctrl-C or SIGTERM, which are no failure; a signal that is ignored stays so."""

        def stop(*_: object) -> None:
            Thread(target=self.shutdown).start()  # it waits for the loop that this handler stands in

        former = {
            number: signal.signal(number, stop)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            self.serve_forever()
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def state(self) -> tuple[str, str]:
        """Return a version and what is to be shown, from a look at the files that is still good."""
        with self._looking:
            now = self.clock()
            if self._seen is None or now >= self._good_until:
                begun = thread_time()
                content = state(self.watch.page(), data_of)
                self._seen = hashlib.sha256(content.encode()).hexdigest()[:16], content
                self._good_until = now + pause_after(thread_time() - begun)
            return self._seen

    def page(self) -> str:
        """Return the page as it is now."""
        with self._looking:
            return render(self.watch.page())


def pause_after(seconds: float) -> float:
    """Return how long a look is good that took so many seconds of a core."""
    return min(LONGEST_PAUSE, max(PAUSE, seconds / SHARE))


class Handler(BaseHTTPRequestHandler):
    """Answers a browser."""

    server: Server

    def do_GET(self) -> None:
        """Answer a request."""
        asked = urlsplit(self.path)
        if urlsplit(f"//{self.headers.get('Host', '')}").hostname not in NAMES:
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", "")
        elif asked.path == "/":
            self._answer(HTTPStatus.OK, "text/html", self.server.page())
        elif asked.path == "/state":
            version, content = self.server.state()
            if parse_qs(asked.query).get("since") == [version]:
                self._answer(HTTPStatus.OK, "application/json", "null")
            else:
                self._answer(HTTPStatus.OK, "application/json", f'{{"version":"{version}",{content[1:]}')
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "")

    def _answer(self, status: HTTPStatus, kind: str, content: str) -> None:
        body = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: a browser asks every two seconds."""

"""The server: a socket, an event loop, and an orderly end."""

import gc
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import uvicorn

from maskline.core.errors import UserError
from maskline.serving.app import Service, make_app
from maskline.serving.gate import Gate

GRACE_SECONDS = 60
"""How long requests that run may take once the server is told to stop."""
KEEP_ALIVE_SECONDS = 30
BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound; port 0 is any that is free.

    Raises:
        UserError: the address is not there, or is taken.
    """
    with ExitStack() as stack:
        try:
            family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            # By its protocol asyncio knows that answers must not wait for more to send: they would by 40 ms.
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
        except (OSError, UnicodeError) as error:
            raise _not_free(host, port, error) from None
        stack.pop_all()
    return listener


def _not_free(host: str, port: int, error: OSError | UnicodeError) -> UserError:
    reason = error.strerror if isinstance(error, OSError) else error
    return UserError(f"{host}, port {port}: {reason}; give another with --host or --port")


def serve(
    service: Service,
    listener: socket.socket,
    key: str | None,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer what is asked at `listener` until the process is told to stop; then what was asked before is answered.

    Args:
        service: what answers; it is closed in the end.
        listener: a bound socket.
        key: what clients must send; None: nothing.
        started: called when the first client may ask.

    Raises:
        UserError: another process, which was bound to the same address, listens there.
    """
    try:
        server = make_server(service, key)
        try:
            listener.listen(BACKLOG)
        except OSError as error:
            host, port, *_ = listener.getsockname()
            raise _not_free(host, port, error) from None
        gc.collect()
        gc.freeze()  # to look through all that the process has stops every thread, for 150 ms
        started()
        server.run([listener])
    finally:
        gc.unfreeze()
        service.close()


def make_server(service: Service, key: str | None) -> "Server":
    """Return the server of `service`, which its `run` starts."""
    app = make_app(service)
    paths = {getattr(route, "path", "") for route in app.routes}

    def answered(path: str, status: int, seconds: float) -> None:
        service.metrics.answered(path if path in paths else "other", status, seconds)

    gate = Gate(app, key, service.limits.bytes, answered)
    return Server(
        uvicorn.Config(
            gate,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


class Server(uvicorn.Server):
    """A server for which a signal to stop is no failure: its process goes on to its own end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and Ctrl-C, but raise neither again after the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

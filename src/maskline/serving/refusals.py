"""What the server does not answer as it was asked to."""

from collections.abc import Mapping
from http import HTTPStatus


class RefusalError(Exception):
    """A request that is refused; its message is for the client.

    Attributes:
        status: of HTTP.
        code: what programs know it by, where they do.
        headers: of the answer.
    """

    status: int = HTTPStatus.UNPROCESSABLE_ENTITY
    code: str | None = None
    headers: Mapping[str, str] | None = None


class InputError(RefusalError):
    """An input that the model does not take."""


class TooLongError(InputError):
    """An input that is longer than the model reads."""

    code = "context_length_exceeded"


class BusyError(RefusalError):
    """More is waiting than may wait."""

    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, seconds: int) -> None:
        """Take after how many `seconds` to ask again."""
        super().__init__(f"too much is waiting: ask again in {seconds} s")
        self.headers = {"retry-after": str(seconds)}


class UnavailableError(RefusalError):
    """The server stops, or something of it has ended."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class ClientLeftError(RefusalError):
    """Nobody waits for the answer."""

    status = 499

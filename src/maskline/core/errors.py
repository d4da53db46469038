"""The exception for errors of the user, and what it quotes: a file of a stranger may hold anything, of any length."""

from reprlib import Repr
from typing import Any


class UserError(Exception):
    """An error in the user's input: one line that says what is wrong and what to do.

    The command line prints it without a traceback and exits with code 1.
    """


LONGEST_QUOTE = 300
"""Characters."""


def one_line(text: object) -> str:
    """Return `text`, such as the message of another's exception, on one line and cut to LONGEST_QUOTE."""
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 4]} ..."


def quoted(value: Any) -> str:
    """Return a value as an error quotes it: as `repr`, but only the beginning of what is long or deep."""
    return one_line(_QUOTE.repr(value))


class _Quote(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = 120

    def repr_int(self, value: int, _level: int) -> str:
        """Return a number; Python refuses to write one of thousands of digits."""
        return repr(value) if value.bit_length() < 200 else f"a number of {value.bit_length():,} bits"


_QUOTE = _Quote()

"""The stages of dvc.yaml and the commands beside them, one module each."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C, as shells have it."""


def leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """End this process, which has begun nothing yet."""
    os.write(2, b"interrupted: run the same command again\n")
    os._exit(INTERRUPTED)


# `python -m` looks for the module of a command: until `cli.run` takes over, imports might swallow a KeyboardInterrupt.
if sys.argv[0] == "-m" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, leave)

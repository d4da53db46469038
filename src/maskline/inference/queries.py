"""The vectors of queries, from a process of its own.

faiss and torch each bring an OpenMP. On Linux both work in one process (LOG.md); on macOS the second one to be loaded
ends it.
"""

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError

if TYPE_CHECKING:
    from maskline.inference.vectors import OpenEncoder


class QueryEncoder:
    """A model that gives vectors of length 1; use it as a context manager."""

    def __init__(self, directory: Path, pooling: Any) -> None:
        self._arguments = directory, pooling
        self._process = ProcessPoolExecutor(1, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.shutdown()

    def vectors(self, queries: list[str]) -> tuple[NDArray[np.float32], int]:
        """Return the vectors of `queries`, (N, D), and how many were cut.

        Raises:
            UserError: the model's directory is incomplete or damaged, or the process was killed.
        """
        try:
            return self._process.submit(_vectors, *self._arguments, queries).result()
        except BrokenProcessPool:
            raise UserError(
                "the process that holds the model was killed, for want of memory perhaps: close other programs"
            ) from None


def _vectors(directory: Path, pooling: Any, queries: list[str]) -> tuple[NDArray[Any], int]:
    from maskline.inference.vectors import VectorSettings

    return _model(directory).vectors(queries, VectorSettings(pooling, normalized=True))


@cache
def _model(directory: Path) -> "OpenEncoder":
    from maskline.inference.vectors import open_encoder

    return open_encoder(directory)

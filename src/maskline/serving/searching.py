"""An index in a process of its own: faiss and torch each bring an OpenMP, and a search holds up no other answer."""

import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.serving.refusals import BusyError, UnavailableError

if TYPE_CHECKING:
    from maskline.inference.search import Hit

MOST_WAITING = 256
"""Queries that wait for the index."""
ENDED = EOFError, ConnectionError
"""What a pipe says when the process at its other end is gone; the second, if that had not read all of it."""


class SearchProcess:
    """An index that can be asked by any thread; it answers one query after the other.

    Attributes:
        directory: where it lies.
        count: how many documents it has.
        methods: what it can be searched by.
        pooling: of its vectors.
    """

    def __init__(self, directory: Path, model: Path) -> None:
        """Open the index in `directory`, made with the model in `model`.

        Raises:
            UserError: it is no whole index, or was made with another model, or the extra `search` is not installed.
        """
        self.directory = directory
        self._model = model
        self._asking = ThreadPoolExecutor(1, "search")
        self._waiting = 0
        self._counting = threading.Lock()
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_answer, args=(theirs, self.directory, self._model), daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        # Whatever ends this process: before it waits for the other one, which heeds no signal.
        Finalize(self, self._connection.close, exitpriority=0)
        self.count, self.methods, self.pooling = self._received()

    def _received(self) -> Any:
        try:
            found = self._connection.recv()
        except ENDED:
            raise UnavailableError("the process of the index ended, for want of memory perhaps: ask again") from None
        if isinstance(found, UserError):
            raise found
        return found

    def search(
        self, method: str, query: str, vector: NDArray[np.floating[Any]] | None, k: int
    ) -> "Future[Sequence[Hit]]":
        """Return the documents to come that fit a query best; who cancels it takes it out of the queue.

        Args:
            method: one of `methods`.
            query: its text.
            vector: (D,) of length 1; BM25 needs none.
            k: how many.

        Raises:
            BusyError: too many are waiting.
        """
        with self._counting:
            if self._waiting >= MOST_WAITING:
                raise BusyError(1)
            self._waiting += 1
        found = self._asking.submit(self._search, method, query, vector, k)
        found.add_done_callback(self._done)
        return found

    def _done(self, _: "Future[Sequence[Hit]]") -> None:
        with self._counting:
            self._waiting -= 1

    def _search(self, *question: Any) -> Any:
        if not self._process.is_alive():  # it was killed: the next query gets an answer again
            self._connection.close()
            self._start()
        with suppress(*ENDED):
            self._connection.send(question)
        return self._received()

    def close(self) -> None:
        """End the process after the query that it is at."""
        self._asking.shutdown(cancel_futures=True)
        self._connection.close()
        self._process.join()


def _answer(connection: Connection, directory: Path, model: Path) -> None:
    """Answer queries until the other end is closed, by whatever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from maskline.inference.search import SearchIndex

    with suppress(*ENDED):
        try:
            index = SearchIndex(directory)
            index.check_model(model)
        except UserError as error:
            connection.send(error)
            return
        connection.send((index.count, tuple(index.methods), index.manifest["pooling"]))
        while True:
            method, query, vector, k = connection.recv()
            try:
                connection.send(index.hits(index.ranking(method, query, vector, k)))
            except UserError as error:
                connection.send(error)

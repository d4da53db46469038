"""Token shards: documents as sentences of token ids, in memory-mapped Arrow files.

A shard `tokens-00000.arrow` is an Arrow IPC file of one record batch, one row per document:

    id         string               the article's id
    sentences  list<list<uintN>>    its sentences, each a list of token ids without special tokens

Arrow stores nested lists as flat buffers: ids, sentence offsets, document offsets. Reading is a view of these: nothing
is copied or parsed, and memory does not grow with the corpus.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, atomic, read_manifest, sha256, write_manifest


def id_dtype(vocab_size: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds every id of a vocabulary."""
    return np.dtype(np.min_scalar_type(vocab_size - 1))


class ShardWriter:
    """Write documents to shards of about `shard_tokens` tokens; use as a context manager.

    The manifest is written when the block ends without an error; until then the directory is incomplete.
    """

    def __init__(self, directory: Path, vocab_size: int, shard_tokens: int, provenance: dict[str, Any]) -> None:
        self.directory = directory
        self.vocab_size = vocab_size
        self.dtype = id_dtype(vocab_size)
        self.shard_tokens = shard_tokens
        self.provenance = provenance
        self.counts = {"documents": 0, "sentences": 0, "tokens": 0, "one_sentence_documents": 0}
        self._shards = 0
        self._clear()

    def _clear(self) -> None:
        self._ids: list[str] = []
        self._sentences = array("i")
        self._lengths = array("i")
        self._tokens = bytearray()  # one block: an array for each document would fragment the heap

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        if self._ids:
            self._flush()
        content = {**self.provenance, **self.counts, "vocab_size": self.vocab_size, "dtype": self.dtype.name}
        write_manifest(self.directory, content)

    def add(self, document_id: str, tokens: NDArray[Any], lengths: NDArray[Any]) -> None:
        """Append a document: `tokens`, (N,) ids of all sentences, and `lengths`, (S,) tokens of each, at least 1."""
        self._ids.append(document_id)
        self._sentences.append(len(lengths))
        self._lengths.frombytes(lengths.astype(np.int32, casting="same_kind").tobytes())
        self._tokens += tokens.astype(self.dtype, casting="same_kind").tobytes()
        self.counts["documents"] += 1
        self.counts["sentences"] += len(lengths)
        self.counts["tokens"] += len(tokens)
        self.counts["one_sentence_documents"] += len(lengths) == 1
        if len(self._tokens) >= self.shard_tokens * self.dtype.itemsize:
            self._flush()

    def _flush(self) -> None:
        tokens = pa.array(np.frombuffer(self._tokens, self.dtype))
        sentences = pa.ListArray.from_arrays(_offsets(self._lengths), tokens)
        documents = pa.ListArray.from_arrays(_offsets(self._sentences), sentences)
        batch = pa.record_batch({"id": pa.array(self._ids, pa.string()), "sentences": documents})
        with (
            atomic(self.directory / f"tokens-{self._shards:05d}.arrow") as path,
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, batch.schema) as writer,
        ):
            writer.write_batch(batch)
        self._shards += 1
        self._clear()


def _offsets(lengths: "array[int]") -> pa.Array:
    return pa.array(np.cumsum(np.frombuffer(array("i", [0]) + lengths, np.int32), dtype=np.int32))


@dataclass(frozen=True)
class Shard:
    """Views into one memory-mapped shard."""

    tokens: NDArray[Any]
    """(N,) token ids of all sentences."""
    sentence_offsets: NDArray[np.int32]
    """(S + 1,) where each sentence starts in `tokens`; the last is N."""
    document_offsets: NDArray[np.int32]
    """(D + 1,) where each document starts among the sentences; the last is S."""


class TokenShards:
    """The documents of one split."""

    def __init__(self, directory: Path) -> None:
        """Open every shard in `directory`.

        Raises:
            UserError: the directory is incomplete or empty, or a file is not what tokenize wrote.
        """
        self.directory = directory
        self.manifest = read_manifest(directory, "tokenize")
        self.vocab_size = int(self.manifest["vocab_size"])
        self.shards = [_open(directory / name) for name in sorted(self.manifest["files"])]
        if not self.manifest["tokens"]:
            raise UserError(
                f"{directory} holds no tokens: add articles, or hold out others (corpus.validation_fraction)"
            )

    def __iter__(self) -> Iterator[Shard]:
        return iter(self.shards)

    def check_tokenizer(self, tokenizer: Path) -> None:
        """Check that the shards were made with the tokenizer in the directory `tokenizer`.

        Raises:
            UserError: they were made with another tokenizer.
        """
        if self.manifest.get("tokenizer") != sha256(tokenizer / MANIFEST):
            raise UserError(
                f"{self.directory} was made with another tokenizer than {tokenizer}: run `dvc repro tokenize`"
            )

    def token_counts(self) -> NDArray[np.int64]:
        """Return how often each id of the vocabulary occurs, (V,)."""
        counts = np.zeros(self.vocab_size, np.int64)
        for shard in self.shards:
            for start in range(0, len(shard.tokens), 1 << 22):
                counts += np.bincount(shard.tokens[start : start + (1 << 22)], minlength=self.vocab_size)
        return counts


def _open(path: Path) -> Shard:
    with pa.memory_map(str(path)) as source:
        batch = pa.ipc.open_file(source).get_batch(0)
    documents = batch.column("sentences")
    sentences = documents.values
    return Shard(
        tokens=sentences.values.to_numpy(zero_copy_only=True),
        sentence_offsets=sentences.offsets.to_numpy(zero_copy_only=True),
        document_offsets=documents.offsets.to_numpy(zero_copy_only=True),
    )

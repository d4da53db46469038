"""Fast encoding of much text, with the same ids as the tokenizer itself gives."""

from itertools import chain

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

CACHED_CHUNKS = 1 << 16
"""Chunks in the cache, about 17 MB. When it is full, new chunks are encoded again for each batch of texts."""


class ChunkEncoder:
    """Encode text by the chunks between its spaces; the ids of each chunk are cached.

    A tokenizer of BERT's kind treats the two sides of a space independently: its normalizer and its pre-tokenizer do
    not look across a space, and no token contains one. So the ids of a text are the ids of its chunks. Natural text has
    few different chunks, and a look-up is faster than normalizing, splitting and matching.

    The spelling of a special token in a text, such as "[MASK]", is text.
    """

    def __init__(self, backend: Tokenizer, dtype: np.dtype[np.unsignedinteger]) -> None:
        self._backend = Tokenizer.from_str(backend.to_str())
        self._backend.encode_special_tokens = True
        self._dtype = dtype
        self._cache: dict[str, bytes] = {}

    def encode(self, texts: list[str]) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32]]:
        """Return the ids of all `texts`, (N,), and how many each has, (len(texts),)."""
        chunks = [text.split(" ") for text in texts]
        self._cache.update(self._encode(list(set(chain.from_iterable(chunks)) - self._cache.keys())))
        encoded = [b"".join(map(self._cache.__getitem__, text)) for text in chunks]
        while len(self._cache) > CACHED_CHUNKS:
            self._cache.popitem()  # the newest: common chunks came before
        lengths = np.fromiter(map(len, encoded), np.int32, len(encoded)) // self._dtype.itemsize
        return np.frombuffer(b"".join(encoded), self._dtype), lengths

    def _encode(self, chunks: list[str]) -> dict[str, bytes]:
        encoding = self._backend.encode(chunks, is_pretokenized=True, add_special_tokens=False)
        ids = np.array(encoding.ids, self._dtype).tobytes()
        counts = np.bincount(np.array(encoding.word_ids, np.int64), minlength=len(chunks))
        ends = (np.cumsum(counts) * self._dtype.itemsize).tolist()
        return {chunk: ids[start:end] for chunk, start, end in zip(chunks, [0, *ends], ends, strict=False)}

"""Sentences of words as the model reads them: whole, or in windows that overlap where they are longer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskline.tokenization.load import LoadedTokenizer


@dataclass(frozen=True)
class Windows:
    """Sentences as sequences of token ids, [CLS] words [SEP], each word read in one of them."""

    input_ids: list[NDArray[np.int64]]
    places: list[NDArray[np.int64]]
    """Where the first piece of each word stands that is read in this sequence."""
    words: list[NDArray[np.int64]]
    """Which it is, among the words of all sentences."""
    ends: NDArray[np.int64]
    """(N,) how many words there are up to the end of each sentence."""
    windowed: int
    """How many sentences are read in several sequences."""
    cut: int
    """How many have a word that is longer than a sequence and is known by its beginning."""
    unk_rate: float
    """Share of [UNK] in the tokens of the sentences."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Tokens of each sequence."""
        return np.array([len(ids) for ids in self.input_ids], np.int64)


class Window(NamedTuple):
    """A run of words, counted among those of a sentence that have a piece; ends are not included."""

    start: int
    end: int
    first: int
    """From here to `last`, words are read in this window and in no other."""
    last: int


def read_words(sentences: Sequence[Sequence[str]], tokenizer: LoadedTokenizer, max_seq_length: int) -> Windows:
    """Return sentences as the model reads them; a word without a piece, such as a direction mark, is read nowhere.

    A special token that is spelled out, such as [SEP], is text.
    """
    special, longest = tokenizer.special, max_seq_length - 2
    encodings = tokenizer.plain.encode_batch([*sentences], is_pretokenized=True, add_special_tokens=False)
    ends = np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64)
    input_ids, places, words = [], [], []
    windowed = cut = unknown = 0
    for encoding, end, sentence in zip(encodings, ends, sentences, strict=True):
        of_token = np.array(encoding.word_ids, np.int64)
        begins = np.flatnonzero(np.diff(of_token, prepend=-1))
        found = [*windows_of(begins, len(of_token), longest)]
        for window in found:
            start = begins[window.start] if len(begins) else 0
            stop = begins[window.end] if window.end < len(begins) else len(of_token)
            mine = begins[window.first : window.last]
            input_ids.append(np.array([special.cls, *encoding.ids[start:stop][:longest], special.sep], np.int64))
            places.append(mine - start + 1)  # after [CLS]
            words.append(end - len(sentence) + of_token[mine])
        windowed += len(found) > 1
        cut += bool((np.diff(begins, append=len(of_token)) > longest).any())
        unknown += encoding.ids.count(special.unk)
    return Windows(
        input_ids,
        places,
        words,
        ends,
        windowed,
        cut,
        unknown / max(1, sum(len(encoding.ids) for encoding in encodings)),
    )


def windows_of(begins: NDArray[np.int64], tokens: int, longest: int) -> Iterator[Window]:
    """Yield the windows of a sentence of `tokens` pieces whose words begin at `begins`, (W,).

    A window has as many whole words as fit into `longest` pieces, or one word alone that does not. About half of the
    one before is read again. A word in two windows belongs to the one whose edge is farther from it.
    """
    edges = np.append(begins, tokens)
    start = first = 0
    while True:
        end = max(start + 1, int(np.searchsorted(edges, edges[start] + longest, "right")) - 1) if len(begins) else 0
        if end >= len(begins):
            yield Window(start, end, first, end)
            return
        earliest = max(edges[end] - longest // 2, edges[end + 1] - longest)  # so that the next word is in it
        again = min(end, int(np.searchsorted(edges, earliest)))
        last = int(np.searchsorted(edges, (edges[again] + edges[end]) / 2))
        yield Window(start, end, first, last)
        start, first = again, last

"""Words of a domain as new pieces of a WordPiece tokenizer that exists; what it had keeps its id.

The pieces are whole words. Greedy matching takes the longest piece that a word begins with, so that a part of a word as
a piece would also begin words that were cut well before.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer, models

from maskline.core.errors import UserError
from maskline.vocabulary.settings import ExtendParams


def extended(backend: Tokenizer, texts: Iterable[str], params: ExtendParams) -> tuple[Tokenizer, list[str]]:
    """Return a copy of `backend` with up to `params.pieces` new pieces, and these, in the order of their ids.

    They are the words that save most tokens: how often a word is seen, times the pieces beyond one that it was cut
    into. A word that was [UNK] counts as one cut in two. Of equal ones the first by code points is taken.

    Raises:
        UserError: it is no WordPiece tokenizer, or no word is seen often enough and cut.
    """
    if not isinstance(backend.model, models.WordPiece) or backend.pre_tokenizer is None:
        raise UserError(
            f"tokenizer.extend adds words to a WordPiece tokenizer, and this one is {type(backend.model).__name__}, "
            "or cuts no words: set tokenizer.extend.pieces to 0"
        )
    saved = tokens_saved(backend, word_counts(backend, texts), params.min_frequency)
    if not saved:
        raise UserError(
            f"no word of the train split that the tokenizer cuts is seen {params.min_frequency} times: lower "
            "tokenizer.extend.min_frequency, add articles, or set tokenizer.extend.pieces to 0"
        )
    words = sorted(saved, key=lambda word: (-saved[word], word))[: params.pieces]
    return with_pieces(backend, words), words


def word_counts(backend: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """Return how often each word is in `texts`, as the tokenizer normalizes them and splits them into words."""
    chunks: Counter[str] = Counter()
    for text in texts:
        chunks.update(text.split())
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        normal = backend.normalizer.normalize_str(chunk) if backend.normalizer else chunk
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal):
            words[word] += count
    return words


def tokens_saved(backend: Tokenizer, counts: Counter[str], min_frequency: int) -> dict[str, int]:
    """Return how many tokens each word would save as a piece, of those seen `min_frequency` times that can be one.

    Longer words than the model reads would never be found, and one that begins as continuing pieces do is none.
    """
    model, known = backend.model, backend.get_vocab()
    saved = {}
    for word, count in counts.items():
        fits = len(word) <= model.max_input_chars_per_word and not word.startswith(model.continuing_subword_prefix)
        if count >= min_frequency and word not in known and fits:
            pieces = [token.value for token in model.tokenize(word)]
            saved[word] = count * (len(pieces) - 1 + pieces.count(model.unk_token))
    return saved


def with_pieces(backend: Tokenizer, pieces: Sequence[str]) -> Tokenizer:
    """Return a copy of a WordPiece tokenizer with `pieces` under the ids that follow its highest one."""
    first = max(backend.get_vocab().values()) + 1
    content = json.loads(backend.to_str())
    content["model"]["vocab"] |= {piece: number for number, piece in enumerate(pieces, first)}
    return Tokenizer.from_str(json.dumps(content))

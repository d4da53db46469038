"""WordPiece (Schuster & Nakajima 2012) as BERT uses it, learned from scratch; every process learns the same bytes."""

from collections.abc import Callable, Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.normalizers import Normalizer

from maskline.core.errors import UserError
from maskline.tokenization.special import SPECIAL_TOKENS, add_special_tokens
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.settings import TokenizerParams

PREFIX = "##"
"""Marks a piece that continues a word."""
LONGEST_WORD = 100
"""Characters; a longer word is cut into words of this many. To BERT it is one [UNK], which loses whole lines of scripts
without spaces. ICU's dictionaries would cut better, but no tokenizer.json can hold them."""
ASCII = " ".join(character * 2 for character in map(chr, range(0x21, 0x7F)))
"""The printable ASCII characters, each at the start of a word and inside a word."""


def train(texts: Callable[[], Iterable[str]], params: TokenizerParams, language: str) -> Tokenizer:
    """Return a tokenizer whose vocabulary is learned from `texts()`, which is called twice.

    The ids: special tokens first, then characters by code point, then characters that continue a word, then the
    learned pieces in the order of learning. The vocabulary has every character that occurs, however rare, and all of
    ASCII: an encyclopedia has few @ _ #, but a task's texts may have many.

    Raises:
        UserError: the characters alone do not fit in `params.vocab_size`, or there is no text.
    """
    rules = normalizer(params, language)
    alphabet = _pieces(texts(), rules)
    if not alphabet:
        raise UserError("the training split holds no text to learn a vocabulary from: add articles")
    alphabet += _pieces([ASCII], rules)
    characters = sorted(set(alphabet), key=lambda piece: (piece.startswith(PREFIX) and piece != PREFIX, piece))
    first = [*SPECIAL_TOKENS, *characters]
    if len(first) > params.vocab_size:
        raise UserError(
            f"tokenizer.vocab_size {params.vocab_size} is too small: special tokens, the characters of the corpus "
            f"and those of ASCII alone are {len(first)}; raise it"
        )
    # The trainer breaks ties by id, and numbers continuing characters in the order of a hash map, which differs between
    # processes. With ids given beforehand, the pieces, their order and their ids are the same in every process.
    pieces = _pieces(texts(), rules, size=params.vocab_size, first=first, min_frequency=params.min_frequency)
    return from_vocabulary({piece: number for number, piece in enumerate(pieces)}, rules)


def from_vocabulary(vocabulary: dict[str, int], rules: Normalizer) -> Tokenizer:
    """Return the tokenizer with a vocabulary (piece -> id) and a normalizer."""
    tokenizer = _untrained(rules)
    tokenizer.model = models.WordPiece(
        vocabulary,
        unk_token="[UNK]",  # noqa: S106
        continuing_subword_prefix=PREFIX,
        max_input_chars_per_word=LONGEST_WORD,
    )
    tokenizer.decoder = decoders.WordPiece(prefix=PREFIX)
    add_special_tokens(tokenizer)
    return tokenizer


def _untrained(rules: Normalizer) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = rules
    # The time of learning, too, grows with the square of a word's length: a megabyte of one word would take minutes.
    parts = [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.FixedLength(LONGEST_WORD)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    return tokenizer


def _pieces(
    texts: Iterable[str], rules: Normalizer, size: int = 0, first: Iterable[str] = (), min_frequency: int = 1
) -> list[str]:
    """Return the pieces that the trainer learns, by id: `first`, then all characters, then learned pieces."""
    tokenizer = _untrained(rules)
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=min_frequency,
        special_tokens=list(first),
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)

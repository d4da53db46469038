"""WordPiece (Schuster & Nakajima 2012) as BERT uses it, learned from scratch, the same bytes in every process."""

from collections.abc import Callable, Iterable

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from maskline.errors import UserError
from maskline.params import TokenizerParams

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Their ids are their places here: 0 to 4."""
PREFIX = "##"
"""Marks a piece that continues a word."""
LONGEST_WORD = 100
"""Characters; a longer word is one [UNK], as in BERT."""
ASCII = " ".join(character * 2 for character in map(chr, range(0x21, 0x7F)))
"""Printable ASCII: each character at the start of a word and within one."""


def train(texts: Callable[[], Iterable[str]], params: TokenizerParams) -> Tokenizer:
    """Return a tokenizer whose vocabulary is learned from `texts()`, which is called twice.

    Ids are given by rule: special tokens, then the characters of the text by code point, then those that continue a
    word, then the learned pieces in the order of learning. No character that occurs is left out, however rare, and none
    of ASCII in any case: an encyclopedia has no @ _ #, and what is fine-tuned on may be full of them.

    Raises:
        UserError: the characters alone do not fit in `params.vocab_size`, or there is no text.
    """
    alphabet = _pieces(texts(), params, size=0, first=())
    if not alphabet:
        raise UserError("the training split holds no text to learn a vocabulary from: add articles")
    alphabet += _pieces([ASCII], params, size=0, first=())
    characters = sorted(set(alphabet), key=lambda piece: (piece.startswith(PREFIX) and piece != PREFIX, piece))
    first = [*SPECIAL_TOKENS, *characters]
    if len(first) > params.vocab_size:
        raise UserError(
            f"tokenizer.vocab_size {params.vocab_size} is too small: special tokens, the characters of the corpus "
            f"and those of ASCII alone are {len(first)}"
        )
    # The trainer breaks ties by id, and numbers continuing characters in the order of a hash map that differs between
    # processes. Given their ids beforehand, it is deterministic: the set of pieces, their order and their ids.
    pieces = _pieces(texts(), params, size=params.vocab_size, first=first)
    return assemble({piece: number for number, piece in enumerate(pieces)}, params)


def assemble(vocabulary: dict[str, int], params: TokenizerParams) -> Tokenizer:
    """Return the tokenizer of a vocabulary (piece -> id) in BERT's layout: [CLS] a [SEP] or [CLS] a [SEP] b [SEP]."""
    tokenizer = _untrained(params)
    tokenizer.model = models.WordPiece(
        vocabulary,
        unk_token="[UNK]",  # noqa: S106
        continuing_subword_prefix=PREFIX,
        max_input_chars_per_word=LONGEST_WORD,
    )
    separator, classifier = ((token, vocabulary[token]) for token in ("[SEP]", "[CLS]"))
    tokenizer.post_processor = processors.BertProcessing(separator, classifier)
    tokenizer.decoder = decoders.WordPiece(prefix=PREFIX)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer


def _untrained(params: TokenizerParams) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106
    # BERT's normalizer composes nothing: without NFC a letter with its mark typed apart would not be the letter typed
    # as one.
    bert = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=params.strip_accents, lowercase=params.lowercase
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), bert])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _pieces(texts: Iterable[str], params: TokenizerParams, size: int, first: Iterable[str]) -> list[str]:
    """Return the pieces that the trainer learns, by id; `first` have the ids from 0."""
    tokenizer = _untrained(params)
    # Learning takes time with the square of a word's length: a megabyte without a space would take many minutes.
    parts = [tokenizer.pre_tokenizer, pre_tokenizers.FixedLength(LONGEST_WORD)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=params.min_frequency,
        special_tokens=list(first),
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)

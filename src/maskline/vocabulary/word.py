"""A tokenizer of whole words, for text whose words are already separated by spaces, such as WikiText.

Punctuation is not split off a word: it has spaces around it ("5 @.@ 3 km , or so"). The word `<unk>`, with which such a
corpus replaces rare words, is not learned: it becomes [UNK].
"""

from collections import Counter
from collections.abc import Callable, Iterable

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from maskline.core.errors import UserError
from maskline.tokenization.special import SPECIAL_TOKENS, add_special_tokens
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.settings import TokenizerParams

LEFT_OUT = "<unk>"
_SPELLED_OUT = r"\[(PAD|UNK|CLS|SEP|MASK)\]"


def train(texts: Callable[[], Iterable[str]], params: TokenizerParams, language: str) -> Tokenizer:
    """Return a tokenizer of the most frequent words of `texts()`, [UNK] for all others.

    The ids: special tokens first, then words by frequency; words of equal frequency by code point.

    Raises:
        UserError: no word is frequent enough.
    """
    # The spelling of a special token in a text is text. Without this rule it would get the id of the special token.
    spelled_out = normalizers.Replace(Regex(_SPELLED_OUT), LEFT_OUT)
    rules = normalizers.Sequence([normalizer(params, language), spelled_out])
    counts = Counter[str]()
    for text in texts():
        counts.update(rules.normalize_str(text).split())
    del counts[LEFT_OUT]
    ranked = sorted(counts.items(), key=lambda word: (-word[1], word[0]))
    words = [word for word, count in ranked[: params.vocab_size - len(SPECIAL_TOKENS)] if count >= params.min_frequency]
    if not words:
        raise UserError(
            f"no word of the training split occurs tokenizer.min_frequency {params.min_frequency} times: add articles, "
            "or lower it"
        )
    vocabulary = {word: number for number, word in enumerate([*SPECIAL_TOKENS, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = rules
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    add_special_tokens(tokenizer)
    return tokenizer

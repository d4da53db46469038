import json
import os
import subprocess
import sys

import pytest

from maskline.core.errors import UserError
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.wordpiece import train

# Words of equal counts by the dozen, so that only the rule can order the pieces, and choose the last of them.
TEXTS = [f"{a}{b}{c} {c}{b}{a}" for a in "abcdefg" for b in "hijkl" for c in "mnop"] + ["Über año, 中文 سأل آمن 🙂"] * 2


def tokens(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).tokens


def pieces(tokenizer):
    vocabulary = tokenizer.get_vocab()
    assert sorted(vocabulary.values()) == list(range(len(vocabulary)))
    return sorted(vocabulary, key=vocabulary.__getitem__)


def test_ids_follow_the_rule(params):
    learned = pieces(train(lambda: TEXTS, params(), "en"))
    assert learned[:5] == list(SPECIAL_TOKENS)
    assert len(learned) > 100
    characters = learned[5 : 5 + sum(len(piece.removeprefix("##")) == 1 for piece in learned)]
    starts = [piece for piece in characters if not piece.startswith("##")]
    assert characters == sorted(starts) + sorted(set(characters) - set(starts))


SCRIPT = """
import json, sys
from maskline.vocabulary.settings import TokenizerParams
from maskline.vocabulary.wordpiece import train
texts, params = json.load(sys.stdin)
print(train(lambda: texts, TokenizerParams(**params), "en").to_str())
"""


@pytest.mark.parametrize("vocab_size", [150, 200])
def test_every_process_learns_the_same_bytes_from_texts_in_any_order(vocab_size, params):
    learned = set()
    for seed, texts in enumerate([TEXTS, TEXTS[::-1], TEXTS[50:] + TEXTS[:50]]):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=json.dumps([texts, params(vocab_size=vocab_size).model_dump()]),
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        learned.add(done.stdout)
    assert len(learned) == 1


def test_lower_casing_is_not_stripping(params):
    arabic = ["آمن مؤمن سئل إلى دوێنێ Schön ÉCOLE año"] * 3
    lowered = train(lambda: arabic, params(), "en")
    assert " ".join(tokens(lowered, arabic[0])) == "آمن مؤمن سئل إلى دوێنێ schön école año"
    stripped = train(lambda: arabic, params(strip_accents=True), "en")
    assert " ".join(tokens(stripped, arabic[0])) == "امن مومن سيل الى دوێنێ schon ecole ano"
    cased = train(lambda: arabic, params(lowercase=False), "en")
    assert tokens(cased, "Schön ÉCOLE") == ["Schön", "ÉCOLE"]


@pytest.mark.parametrize("strip_accents", [False, True])
@pytest.mark.parametrize(("one", "other"), [("آمن", "ا\u0653من"), ("Über", "U\u0308ber"), ("año", "an\u0303o")])
def test_spellings_of_one_text_have_the_same_ids(one, other, strip_accents, params):
    tokenizer = train(lambda: TEXTS, params(strip_accents=strip_accents), "en")
    assert one != other
    assert tokenizer.encode(one).ids == tokenizer.encode(other).ids


def test_no_character_is_left_out_of_the_alphabet(params):
    characters = [chr(number) for number in range(0x3041, 0x3041 + 80)] + [
        chr(0x4E00 + number) for number in range(500)
    ]
    tokenizer = train(lambda: ["".join(characters)], params(vocab_size=2000), "en")
    assert "[UNK]" not in tokens(tokenizer, "".join(characters))


@pytest.mark.parametrize("lowercase", [True, False])
def test_ascii_is_in_the_alphabet_whatever_the_corpus_holds(lowercase, params):
    tokenizer = train(lambda: ["قال ذهب"] * 3, params(lowercase=lowercase), "en")
    text = "@user_1 #hash ~ a/b Q{x} 7z " + " ".join(map(chr, range(0x21, 0x7F)))
    assert "[UNK]" not in tokens(tokenizer, text)
    assert tokens(tokenizer, "@Mary9") == ["@", *("m" if lowercase else "M", "##a", "##r", "##y", "##9")]
    learned = pieces(tokenizer)
    assert learned[:5] == list(SPECIAL_TOKENS)
    assert len(train(lambda: TEXTS * 2, params(vocab_size=190, lowercase=lowercase), "en").get_vocab()) == 190
    # None that cannot occur: what lower-casing takes away, and punctuation within a word.
    assert ("A" in learned, "##@" in learned) == (not lowercase, False)


def test_pieces_seen_too_seldom_are_not_learned(params):
    assert "rare" not in pieces(train(lambda: ["rare common common common"], params(min_frequency=3), "en"))
    assert "common" in pieces(train(lambda: ["rare common common common"], params(min_frequency=3), "en"))


def test_an_alphabet_larger_than_the_vocabulary_is_an_error(params):
    with pytest.raises(UserError, match=r"tokenizer.vocab_size 40 is too small.* are 125"):
        train(lambda: TEXTS, params(vocab_size=40), "en")


@pytest.mark.parametrize("texts", [[], ["", " \n"]])
def test_no_text_is_an_error(texts, params):
    with pytest.raises(UserError, match="no text"):
        train(lambda: texts, params(), "en")


def test_singles_and_pairs_have_berts_layout(params):
    tokenizer = train(lambda: TEXTS, params(), "en")
    assert tokenizer.encode("año").tokens == ["[CLS]", "año", "[SEP]"]
    pair = tokenizer.encode("año", "über")
    assert pair.tokens == ["[CLS]", "año", "[SEP]", "über", "[SEP]"]
    assert pair.type_ids == [0, 0, 0, 1, 1]
    assert tokenizer.decode(tokenizer.encode("amh año").ids) == "amh año"


def test_a_text_without_a_space_is_cut_into_words_that_are_known(params):
    tokenizer = train(lambda: ["ab" * 300] * 5, params(), "en")
    assert max(map(len, pieces(tokenizer))) == 100
    assert tokens(tokenizer, "ab" * 50) == ["ab" * 50]
    assert tokens(tokenizer, "ab" * 50 + "a") == ["ab" * 50, "a"]
    cut = tokens(tokenizer, "ab" * 125)
    assert "".join(cut).replace("##", "") == "ab" * 125
    assert cut[:2] == ["ab" * 50] * 2
    assert tokens(tokenizer, "ñ" * 101) == ["[UNK]", "[UNK]"]

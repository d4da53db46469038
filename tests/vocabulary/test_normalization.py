"""One policy per language: lower-casing strips nothing, spellings of one word meet, joiners stay where they spell."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.errors import UserError
from maskline.vocabulary.normalization import POLICIES, normalizer
from tests.tiny import tokenizer_params

ZWNJ, ZWJ = "\u200c", "\u200d"


def normalize(text, language, *, lowercase=True, strip_accents=False, **changes):
    params = tokenizer_params(lowercase=lowercase, strip_accents=strip_accents)
    chosen = params.normalization.model_copy(update=changes)
    return normalizer(params.model_copy(update={"normalization": chosen}), language).normalize_str(text)


@pytest.mark.parametrize("language", [*POLICIES, "en", "bg", "he"])
@pytest.mark.parametrize(
    "text", ["آمن مؤمن سئل إلى أحمد لآلئ هيئة مُدَرِّسٌ", "دوێنێ کوردی ڕۆژ", "año schön ёлка שָׁלוֹם हिन्दी"]
)
def test_lower_casing_is_the_identity_on_what_has_no_capitals(text, language):
    assert normalize(text, language) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("language", ["ar", "fa", "en"])
@pytest.mark.parametrize(
    ("one", "other"),
    [("آمن", "ا\u0653من"), ("مؤمن", "مو\u0654من"), ("شيئًا", "شيي\u0654\u064bا"), ("كتاب", "كتـــاب")],
)
def test_spellings_of_one_word_meet(one, other, language):
    assert one != other
    assert normalize(one, language) == normalize(other, language)


@pytest.mark.parametrize(("text", "expected"), [("ﷲ", "الله"), ("ﻻ", "لا"), ("ﺍﻟﻜﺘﺎﺏ", "الكتاب"), ("ﻛﹷﺘﺐ", "كَتب")])
def test_presentation_forms_are_the_letters_they_show(text, expected):
    assert normalize(text, "ar") == expected
    assert normalize(text, "en", unicode="nfkc") == expected
    assert normalize(text, "ar", unicode="nfc") != expected


def test_other_languages_keep_what_compatibility_would_fold():
    assert normalize("10 m² … ﬁ", "en") == "10 m² … ﬁ"
    assert normalize("10 m² … ﬁ", "en", unicode="nfkc") == "10 m2 ... fi"


def test_direction_marks_and_controls_go_everywhere():
    for language in ("ar", "fa", "en", "ml"):
        assert normalize("\u200fنعم\u200e \u202bلا\u202c \ufeffa\u00ad\x00b\u061c", language) == "نعم لا ab"


def test_joiners_stay_where_a_language_spells_with_them():
    assert normalize(f"می{ZWNJ}رود کتاب{ZWNJ}ها", "fa") == f"می{ZWNJ}رود کتاب{ZWNJ}ها"
    assert normalize(f"می{ZWNJ}رود", "ar") == normalize(f"می{ZWNJ}رود", "en") == "میرود"
    assert normalize(f"ക{ZWJ} ക്{ZWNJ}ഷ", "ml") == f"ക{ZWJ} ക്{ZWNJ}ഷ"
    assert normalize(f"می{ZWNJ}رود", "fa", joiners="remove") == "میرود"
    assert normalize(f"می{ZWNJ}رود", "ar", joiners="keep") == f"می{ZWNJ}رود"


@pytest.mark.parametrize("text", [f"{ZWNJ}ها", f"ها{ZWNJ}", f"{ZWNJ}{ZWNJ}ها{ZWNJ}{ZWNJ}", f"ها{ZWNJ}.", f"({ZWNJ}ها"])
def test_a_joiner_at_the_edge_of_a_word_goes(text):
    assert normalize(text, "fa") == text.replace(ZWNJ, "")
    assert normalize(f"می{ZWNJ}{ZWNJ}رود", "fa") == f"می{ZWNJ}رود"


def test_sorani_ae_as_it_was_typed_before_unicode_had_it():
    assert normalize(f"ه{ZWNJ}ران ناوه{ZWNJ}", "ckb") == "ەران ناوە"


def test_what_is_off_by_default():
    assert normalize("كَتَبَ شَيْئًا آ هٰذا", "ar", tashkeel="remove") == "كتب شيئا آ هذا"
    assert normalize("كتـاب", "ar", tatweel="keep") == "كتـاب"
    assert normalize("٣٫٥ ۱۲", "fa", digits="ascii") == "3٫5 12"
    assert normalize("أحمد إلى آن مدرسة", "ar", letters="unify") == "احمد الي ان مدرسه"
    assert normalize("علي كتاب", "fa", letters="unify") == "علی کتاب"
    assert normalize("أحمد إلى ٣", "ar") == "أحمد إلى ٣"
    with pytest.raises(UserError, match=r"letters: maskline has no letters of en to unify"):
        normalize("", "en", letters="unify")


def test_turkish_capitals_have_their_own_small_letters():
    assert normalize("IĞDIR İZMİR", "tr") == "ığdır izmir"
    assert normalize("IĞDIR", "tr", lowercase=False) == "IĞDIR"
    assert normalize("IN", "en") == "in"


PIECES = st.sampled_from([*"\u200c\u200d\u200f\u0640\u0653\u0654\u064eاأهيﻻﷲﹷ½ .،a\u0301İI٣", "می", "क्"])


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES).map("".join), st.sampled_from(["ar", "fa", "ckb", "hi", "tr", "en"]))
def test_nothing_looks_across_a_space(text, language):
    parts = [normalize(part, language) for part in text.split(" ")]
    assert normalize(text, language).split() == " ".join(parts).split()

"""One policy per language: lower-casing strips nothing, spellings of one word meet, joiners stay where they spell."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.errors import UserError
from maskline.corpus.articles import clean
from maskline.vocabulary.normalization import _SCRIPTS, POLICIES, normalizer
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
    assert normalize(f"ക{ZWJ} ക്{ZWNJ}ഷ", "ml") == f"ക{ZWJ} ക്{ZWNJ}ഷ"
    assert normalize(f"می{ZWNJ}رود", "fa", joiners="remove") == "میرود"
    assert normalize(f"می{ZWNJ}رود", "ar", joiners="keep") == f"می{ZWNJ}رود"


@pytest.mark.parametrize("language", ["pnb", "lrc", "ks", "skr", "prs", "khw", "ug", "xx", "en"])
def test_joiners_stay_in_arabic_script_whatever_the_language(language):
    assert normalize(f"می{ZWNJ}رود مُ{ZWNJ}ر", language) == f"می{ZWNJ}رود مُ{ZWNJ}ر"


@pytest.mark.parametrize("language", ["mai", "bho", "new", "si", "xx", "en"])
@pytest.mark.parametrize("text", [f"क्{ZWJ}ष", f"क्{ZWNJ}ष", f"ශ්{ZWJ}රී", f"র{ZWJ}্য", f"ന്{ZWJ}", f"𑐎𑑂{ZWJ}𑐲"])
def test_joiners_stay_in_scripts_with_a_virama(text, language):
    assert normalize(text, language) == text


@pytest.mark.parametrize("language", ["en", "fa", "hi", "xx"])
def test_joiners_go_from_other_scripts(language):
    assert normalize(f"Auf{ZWNJ}lage 👩{ZWJ}🚀 ก{ZWJ}ก", language) == "auflage 👩🚀 กก"


def test_in_arabic_a_joiner_parts_words_but_for_a_single_letter():
    assert normalize(f"البلاي{ZWNJ}ستيشن بي{ZWNJ}إم{ZWNJ}دبليو", "ar") == "البلاي ستيشن بي إم دبليو"
    assert normalize(f"تكلف{ZWNJ}ة على{ZWNJ}التّوالي ه{ZWJ}", "arz") == "تكلفة على التّوالي ه"


def test_the_scripts_of_joiners_are_those_that_unicode_gives_a_virama():
    virama = {
        unicodedata.name(chr(code)).split()[0] for code in range(0x20000) if unicodedata.combining(chr(code)) == 9
    }
    # Marks of another use, and scripts of which no text is known on computers.
    others = {"THAI", "LAO", "TIBETAN", "HANUNOO", "TIFINAGH", "REJANG", "KHAROSHTHI", "DIVES", "ZANABAZAR", "SOYOMBO"}
    assert virama - others <= {script.upper().split("_")[0] for script in _SCRIPTS.split()}


@pytest.mark.parametrize("language", ["km", "th", "my", "en", "ar", "fa", "hi"])
@pytest.mark.parametrize("separator", ["\u200b", "\x0b", "\x0c", "\x85", "\x1c", "\x1d", "\x1e", "\x1f"])
def test_what_parts_words_in_the_corpus_parts_them_here(separator, language):
    text = f"ខ្មែរ{separator}ភាសា a{separator}b"
    assert normalize(text, language).split() == clean(text).split() == ["ខ្មែរ", "ភាសា", "a", "b"]


def test_ascii_digits_are_those_of_every_script():
    digits = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Nd"]
    for language in ("en", "ar"):
        assert normalize("".join(digits), language, digits="ascii", unicode="nfc") == "".join(
            str(unicodedata.decimal(digit)) for digit in digits
        )
    assert normalize("१२ ４ ၅", "hi") == "१२ ４ ၅"


def test_greek_sigma_is_final_at_the_end_of_a_word():
    assert (
        normalize("ΟΔΟΣ ΣΟΦΌΣ. Σ ΣΑΣ, ΤΟΥΣ ΟΔΟΣ\u0301 ΟΣ\u0301Α ΟΔΟΣ-Α", "el")
        == "οδος σοφός. σ σας, τους οδος\u0301 οσ\u0301α οδος-α"
    )
    assert normalize("ΟΔΟΣ ὈΔΥΣΣΕΎΣ", "en") == "οδος ὀδυσσεύς"
    assert normalize("ΟΔΟΣ", "el", lowercase=False) == "ΟΔΟΣ"


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

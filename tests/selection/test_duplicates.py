"""Copies are found whatever the script and the order, and no article goes without one that stays."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.selection import duplicates
from maskline.selection.duplicates import (
    BANDS,
    DUPLICATE_ID,
    DUPLICATE_TEXT,
    KEPT,
    NEAR_DUPLICATE,
    Sketches,
    bands,
    shingles,
    similarity,
)

ALPHABETS = ["abcdefghij klm", "ابتثجحخد ذرزس", "абвгдежзи йкл", "東京都市区町村山川海"]


def runs(text):
    return {text[i : i + 8] for i in range(max(1, len(text) - 7))}


def true_similarity(left, right):
    left, right = runs(left), runs(right)
    return len(left & right) / len(left | right)


def copies(articles, threshold=0.8):
    sketches = Sketches()
    for article_id, text in articles:
        sketches.add(article_id, text)
    return sketches.find_copies(lambda: (text for _, text in articles), threshold)


def kept(articles, threshold=0.8):
    verdicts = copies(articles, threshold).verdicts
    return {article for article, verdict in zip(articles, verdicts, strict=True) if verdict == KEPT}


def prose(draw, length, alphabet=ALPHABETS[0]):
    return "".join(draw.choices(alphabet, k=length))


def mutated(draw, text, edits):
    """Return `text` with `edits` characters replaced, at places drawn for each alike."""
    letters = list(text)
    for place in draw.sample(range(len(letters)), edits):
        letters[place] = "~"
    return "".join(letters)


@given(st.text(max_size=60).filter(lambda text: not any(map(str.isdecimal, text))))
@settings(deadline=None, max_examples=200)
def test_there_is_one_hash_for_each_run_of_eight_characters(text):
    hashes = shingles(text)
    assert len(hashes) == max(1, len(text) - 7)
    assert len(set(hashes.tolist())) == len(runs(text.ljust(8)))


@pytest.mark.parametrize(
    "other", ["Born in 7 in Rome", "Born in 123456 in Rome", "Born in ١٩٨٤ in Rome", "Born in १९ in Rome"]
)
def test_a_number_is_one_sign(other):
    assert shingles(other).tolist() == shingles("Born in 1984 in Rome").tolist()


def test_hashes_are_the_same_on_every_machine():
    assert shingles("maskline").tolist() == [1258729192]
    assert bands(shingles("A page about nothing in particular."))[:3].tolist() == [1808314448, 1808314448, 162428100]


@given(st.sets(st.integers(0, 99), min_size=1), st.sets(st.integers(0, 99), min_size=1))
@settings(deadline=None, max_examples=200)
def test_similarity_is_that_of_the_sets(left, right):
    arrays = [np.array(sorted(values), np.uint32) for values in (left, right)]
    assert similarity(*arrays) == len(left & right) / len(left | right)


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("length", [100, 700, 5000])
def test_alike_texts_have_a_band_in_common_and_others_have_not(alphabet, length):
    draw = random.Random(length)
    found = []
    texts = [prose(draw, length, alphabet) for _ in range(150)]
    for text in texts:
        other = mutated(draw, text, length // 80)
        found.append((true_similarity(text, other), bool(np.any(bands(shingles(text)) == bands(shingles(other))))))
    similar = [shared for like, shared in found if like >= 0.8]
    assert len(similar) > 50
    assert sum(similar) >= 0.97 * len(similar)
    sketches = np.stack([bands(shingles(text)) for text in texts])
    strangers = [np.any(sketches[i] == sketches[j]) for i in range(150) for j in range(i)]
    assert sum(strangers) < 0.01 * len(strangers)


def test_a_thousand_stubs_are_one_and_articles_stay():
    draw = random.Random(0)
    stub = "{0} is a village in the district of Kreis. It lies {1} metres above the sea and has {2} inhabitants (2019)."
    stubs = [(f"stub {i}", stub.format("Dorf", draw.randint(10, 2000), i)) for i in range(1000)]
    articles = [(f"article {i}", prose(draw, 900)) for i in range(20)]
    together = stubs + articles
    draw.shuffle(together)
    assert len(kept(together) & set(stubs)) == 1
    assert kept(together) >= set(articles)
    assert len(kept(together, None)) == 1020
    arabic = [
        (str(i), f"{i} قرية تقع في محافظة حلب في سوريا، ويبلغ عدد سكانها {i * 7} نسمة حسب تعداد عام 2004.")
        for i in range(50)
    ]
    assert len(kept(arabic)) == 1


def families(seed):
    """Return texts of which some are mutations of others, to every degree."""
    draw = random.Random(seed)
    articles = []
    for family in range(8):
        base = prose(draw, draw.randint(80, 400), draw.choice(ALPHABETS))
        articles += [(f"{family}-{i}", mutated(draw, base, draw.randint(0, 12))) for i in range(8)]
    return articles


@given(st.integers(0, 10**6), st.randoms())
@settings(deadline=None, max_examples=40)
def test_what_stays_does_not_depend_on_the_order(seed, shuffled):
    articles = families(seed)
    before = kept(articles)
    shuffled.shuffle(articles)
    assert kept(articles) == before


@pytest.mark.parametrize("seed", range(10))
def test_nothing_goes_without_a_copy_that_stays_and_hardly_a_copy_stays(seed):
    articles = families(seed)
    found = copies(articles)
    stays = {text for _, text in kept(articles)}
    like = [max(true_similarity(text, other) for other in stays) for _, text in articles]
    for verdict, best in zip(found.verdicts, like, strict=True):
        assert verdict == KEPT or best >= 0.8
    pairs = [true_similarity(a, b) for a in stays for b in stays if a < b]
    assert sum(value >= 0.8 for value in pairs) <= 1
    for example in found.near_duplicates:
        assert found.verdicts[example.dropped] == NEAR_DUPLICATE
        assert found.verdicts[example.kept] == KEPT
        assert example.similarity == true_similarity(articles[example.dropped][1], articles[example.kept][1])
    assert found.near_duplicates == sorted(found.near_duplicates)


def test_the_longest_stays_and_of_equal_texts_one():
    texts = ["A first text, one under three ids.", "Another text."]
    articles = [("b", texts[0]), ("a", texts[0]), ("c", texts[0]), ("c", texts[1]), ("d", texts[1] + " And more.")]
    found = copies([*articles, ("d", "Less.")])
    assert sorted(found.verdicts[:3]) == [KEPT, DUPLICATE_TEXT, DUPLICATE_TEXT]
    assert found.verdicts[4:].tolist() == [KEPT, DUPLICATE_ID]
    assert len(kept(articles)) == len({article_id for article_id, _ in kept(articles)})


def test_the_threshold_is_the_lowest_similarity_of_what_goes():
    draw = random.Random(1)
    base = prose(draw, 400)
    articles = [(str(edits), mutated(draw, base, edits)) for edits in range(12)]
    for threshold in (0.7, 0.8, 0.95, 1.0):
        found = copies(articles, threshold)
        assert all(example.similarity >= threshold for example in found.near_duplicates)
        assert bool(found.near_duplicates) == (threshold < 1)


def test_examples_are_the_least_alike(monkeypatch):
    articles = families(3)
    everything = copies(articles).near_duplicates
    monkeypatch.setattr(duplicates, "LISTED", 3)
    assert copies(articles).near_duplicates == everything[:3]


@pytest.mark.parametrize("texts", [[], ["One."], ["One.", "Two."]])
def test_few_articles_are_no_special_case(texts):
    assert copies(list(enumerate_ids(texts))).verdicts.tolist() == [KEPT] * len(texts)


def enumerate_ids(texts):
    return ((str(number), text) for number, text in enumerate(texts))


def test_an_article_costs_105_bytes():
    sketches = Sketches()
    for number in range(10):
        sketches.add(str(number), "text " * number)
    arrays = (sketches._lengths, sketches._texts, sketches._ids, sketches._bands)
    assert sum(len(values) * values.itemsize for values in arrays) + len(sketches._preferred) == 10 * 105
    assert len(sketches._bands) == 10 * BANDS

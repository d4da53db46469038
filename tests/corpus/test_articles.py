import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, sha256
from maskline.corpus import articles
from maskline.corpus.articles import Article, Source, clean, read_articles
from maskline.selection.corpus import write_corpus


def article(number, text=None):
    return Article(
        str(number), f"Title {number}", f"https://example.org/{number}", text or f"Text of article {number}."
    )


def corpus(directory, items, min_characters=0, validation_fraction=0.5, near_duplicates=None, held_out=None):
    source = Source(items, {"source": "test"}, "none", held_out=held_out)
    return write_corpus(directory, source, min_characters, validation_fraction, near_duplicates)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("e\u0301te\u0301", "\xe9t\xe9"),
        ("a\xa0b\u202fc\u3000d\t e", "a b c d e"),
        (" one \r\n\r\n\n two\rthree\u2029four ", "one\ntwo\nthree\nfour"),
        ("\ufeffsoft\xadhy\u2060phen\x00 \u200eleft\u200f \u202aright\u202c", "softhyphen left right"),
        ("ខ្មែរ\u200bភាសា\u200b \u200bថ\u200b", "ខ្មែរ ភាសា ថ"),  # where words end that no space parts
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🔬 \ue000", "👩\u200d🔬"),
        ("half \ud83d an emoji", "half an emoji"),
        ("آمَن مؤمن\u0640", "آمَن مؤمن\u0640"),
        (" \u200b\n\xa0", ""),
    ],
)
def test_clean(raw, expected):
    assert clean(raw) == expected


@given(st.text(st.characters(), max_size=40))
@settings(deadline=None, max_examples=300)
def test_cleaning_twice_is_cleaning_once(raw):
    text = clean(raw)
    text.encode()
    assert clean(text) == text
    assert unicodedata.is_normalized("NFC", text)
    assert "\n\n" not in text
    assert text == text.strip()


def test_what_is_dropped_is_counted(tmp_path):
    items = [article(i, f"Nothing but {chr(ord('a') + i) * 9}.") for i in range(20)]
    items += [
        article(20, "\u200b \n"),
        article(21, "Short."),
        article(3, "Nothing  but\xa0ddddddddd."),
        article(4, "Not this."),
        article(23, "Nearly a copy, of which there are many, is number 23."),
        article(24, "Nearly a copy, of which there are many, is number 24 here."),
    ]
    manifest = corpus(tmp_path / "corpus", items, min_characters=9, near_duplicates=0.7)
    dropped = {"empty": 1, "short": 1, "duplicate_text": 1, "duplicate_id": 1, "near_duplicate": 1}
    assert manifest["dropped"] == dropped
    assert manifest["read"] == manifest["articles"] + 5 == 26
    assert manifest["near_duplicates"] == 0.7
    assert list(read_articles(tmp_path / "corpus", None)) == [*items[:20], items[-1]]


def test_the_manifest_counts_what_is_there(tmp_path):
    manifest = corpus(tmp_path / "corpus", (article(i) for i in range(30)))
    for split, counts in manifest["splits"].items():
        found = list(read_articles(tmp_path / "corpus", split))
        assert counts["articles"] == len(found) > 0
        assert counts["words"] == 4 * len(found)
        assert counts["characters"] == sum(len(item.text) for item in found)
    assert manifest["articles"] == 30
    assert manifest["licence"] == "none"
    assert manifest["provenance"] == {"source": "test"}


@given(st.sets(st.integers(0, 999), min_size=30, max_size=40), st.sets(st.integers(0, 999), max_size=20), st.randoms())
@settings(deadline=None, max_examples=15)
def test_other_articles_and_their_order_move_none(tmp_path_factory, some, others, random):
    directory = tmp_path_factory.mktemp("split")
    corpus(directory / "a", map(article, sorted(some)))
    more = [article(number) for number in some | others]
    random.shuffle(more)
    corpus(directory / "b", more)
    for split in ("train", "validation"):
        before = {item.id for item in read_articles(directory / "a", split)}
        after = {item.id for item in read_articles(directory / "b", split)}
        assert before == after & set(map(str, some))


def test_no_text_is_in_both_splits(tmp_path):
    copies = [
        Article(f"{number} copy {copy}", "", "", f"The same text, {number}.") for number in range(50) for copy in "ab"
    ]
    manifest = corpus(tmp_path / "corpus", copies)
    train, validation = ({item.text for item in read_articles(tmp_path / "corpus", s)} for s in ("train", "validation"))
    assert not train & validation
    assert manifest["dropped"]["duplicate_text"] == 50


def test_a_source_that_holds_out_articles_makes_the_split(tmp_path):
    items, held_out = list(map(article, range(20))), list(map(article, range(20, 24)))
    manifest = corpus(tmp_path / "corpus", items, held_out=iter(held_out))
    assert list(read_articles(tmp_path / "corpus", "train")) == items
    assert list(read_articles(tmp_path / "corpus", "validation")) == held_out
    assert list(read_articles(tmp_path / "corpus", None)) == items + held_out
    assert {split: counts["articles"] for split, counts in manifest["splits"].items()} == {"train": 20, "validation": 4}
    assert manifest["validation_fraction"] is None
    assert manifest["read"] == manifest["articles"] == 24


def test_no_copy_of_what_is_held_out_is_trained_on(tmp_path):
    rivers = "A river that rises in the hills and is joined by another one before it reaches the sea, number"
    held_out = [article(1, "The same text."), article(2, f"{rivers} two."), article(3), article(4, " ")]
    items = [
        article(11, "The same text."),
        article(12, f"{rivers} two, and rather longer."),
        article(3, "Another text under the same id, and a longer one."),
        article(14, "Nothing like the others."),
        article(15, f"{rivers} two, and rather longer!"),
    ]
    manifest = corpus(tmp_path / "corpus", items, near_duplicates=0.7, held_out=held_out)
    dropped = {"empty": 1, "short": 0, "duplicate_text": 1, "duplicate_id": 1, "near_duplicate": 2}
    assert manifest["dropped"] == dropped
    assert list(read_articles(tmp_path / "corpus", "validation")) == held_out[:3]
    assert list(read_articles(tmp_path / "corpus", "train")) == [items[3]]


def test_a_copy_among_what_is_held_out_goes(tmp_path):
    held_out = [article(1), article(2, "Text of article 1."), article(3)]
    corpus(tmp_path / "corpus", [article(4)], held_out=held_out)
    validation = list(read_articles(tmp_path / "corpus", "validation"))
    assert len(validation) == 2
    assert held_out[2] in validation
    assert list(read_articles(tmp_path / "corpus", "train")) == [article(4)]


@pytest.mark.parametrize(("items", "held_out", "split"), [([1], [], "validation"), ([1], [1], "train")])
def test_an_empty_split_of_a_source_that_holds_out_says_what_to_change(tmp_path, items, held_out, split):
    message = f"the {split} split is empty: all 1 articles.*change what corpus.files.validation_paths or corpus.hub"
    with pytest.raises(UserError, match=message):
        corpus(tmp_path / "corpus", map(article, items), held_out=map(article, held_out))


def test_files_are_bounded_and_equal_rows_are_equal_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(articles, "ROW_GROUP", 3)
    monkeypatch.setattr(articles, "FILE_ROWS", 6)
    drawn = 0

    def stream():
        nonlocal drawn
        for drawn in range(1, 16):
            written = len(list((tmp_path / "a").glob("staged-*/articles-*.parquet"))) * 6
            assert drawn - written <= 9
            yield article(drawn)

    corpus(tmp_path / "a", stream())
    corpus(tmp_path / "b", map(article, range(1, 16)))
    names = [path.name for path in sorted((tmp_path / "a").iterdir())]
    assert names == ["articles-00000.parquet", "articles-00001.parquet", "articles-00002.parquet", MANIFEST]
    assert [sha256(tmp_path / "a" / name) for name in names] == [sha256(tmp_path / "b" / name) for name in names]
    assert [item.id for item in read_articles(tmp_path / "a", None)] == [str(i) for i in range(1, 16)]


def test_reading_long_articles_takes_the_memory_of_a_few(tmp_path):
    size, number = 30_000, articles.ROW_GROUP
    items = (article(i, f"{i} " + "text " * (size // 5)) for i in range(number))
    articles.write_parquet(tmp_path, "articles", articles.SCHEMA, items)
    before = pa.total_allocated_bytes()
    taken = [pa.total_allocated_bytes() - before for _ in articles.read_parquet(tmp_path, "articles")]
    assert len(taken) == number
    assert max(taken) < number * size / 3


def test_an_empty_corpus_says_what_was_dropped(tmp_path):
    with pytest.raises(UserError, match=r"the corpus is empty: of 2 articles read.*2 short.*corpus.min_characters"):
        corpus(tmp_path / "corpus", [article(1), article(2)], min_characters=1000)
    assert not (tmp_path / "corpus" / MANIFEST).exists()
    with pytest.raises(UserError, match="the corpus is empty: of 0 articles"):
        corpus(tmp_path / "corpus", [])


@pytest.mark.parametrize(("fraction", "split"), [(0.999, "train"), (0.001, "validation")])
def test_an_empty_split_says_how_many_articles_there_are(tmp_path, fraction, split):
    with pytest.raises(UserError, match=f"the {split} split is empty: all 3 articles.*corpus.validation_fraction"):
        corpus(tmp_path / "corpus", map(article, range(3)), validation_fraction=fraction)


def test_one_article_cannot_be_in_both_splits(tmp_path):
    with pytest.raises(
        UserError, match="has one article, but training needs one and validation needs another: add articles"
    ):
        corpus(tmp_path / "corpus", [article(1)])


def test_an_interrupted_run_is_no_corpus_and_the_next_one_starts_afresh(tmp_path):
    def broken():
        yield from map(article, range(1500))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus(tmp_path / "corpus", broken())
    with pytest.raises(UserError, match="incomplete"):
        next(read_articles(tmp_path / "corpus", None))
    (tmp_path / "corpus" / "articles-00007.parquet").write_bytes(b"left over")
    corpus(tmp_path / "corpus", map(article, range(20)))
    assert len(list(read_articles(tmp_path / "corpus", None))) == 20


def test_a_truncated_file_is_noticed(tmp_path):
    corpus(tmp_path / "corpus", map(article, range(20)))
    path = tmp_path / "corpus" / "articles-00000.parquet"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UserError, match="truncated or changed"):
        next(read_articles(tmp_path / "corpus", None))

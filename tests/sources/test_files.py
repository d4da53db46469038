import gzip
import html
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.corpus.articles import read_articles
from maskline.records.files import find
from maskline.selection.corpus import write_corpus
from maskline.settings.params import load
from maskline.sources import files
from maskline.sources.dump.leftovers import leftover_markup
from maskline.sources.settings import CorpusFiles

ARWIKI = Path("../shared/data/arwiki")
ENWIKI = Path("../shared/data/enwiki/extracted-2014.txt.gz")


def source(*patterns):
    return read(patterns)


def cleaned(*patterns, language="ar"):
    return read(patterns, language=language, markup="clean")


def read(patterns, language="en", layout="articles", validation=(), max_articles=None, markup="keep"):
    chosen = CorpusFiles(
        paths=list(map(str, patterns)),
        validation_paths=list(map(str, validation)),
        max_articles=max_articles,
        markup=markup,
    )
    changes = {"source": "files", "language": language, "layout": layout, "files": chosen}
    return files.read(load().corpus.model_copy(update=changes))


def texts(*patterns):
    return [article.text.strip() for article in source(*patterns).articles]


def test_every_format(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"id": 7, "text": "one", "title": "One"}\n\n{"text": "two"}\n', encoding="utf-8-sig"
    )
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps({"text": "ثلاثة"}, ensure_ascii=False).encode()))
    pq.write_table(pa.table({"text": ["four", None], "url": ["u", "v"]}), tmp_path / "c.parquet")
    (tmp_path / "d.txt").write_bytes(b"five\r\nfive again\r\n \r\n\r\nsix")
    articles = list(source(tmp_path / "*").articles)
    assert [item.text.strip() for item in articles] == ["one", "two", "ثلاثة", "four", "", "five\r\nfive again", "six"]
    assert articles[0][:3] == ("7", "One", "")
    assert articles[3].url == "u"


def test_markup_that_another_program_left_can_be_cleaned(tmp_path):
    lines = ["نص [[كامل|تام]]<ref name=x>مرجع</ref> ( ، ) هنا .", "[[تصنيف:مدن]]", "سطر سليم، a | b"]
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "1", "text": "\n".join(lines)}))
    assert texts(tmp_path / "a.jsonl") == ["\n".join(lines)]
    found = cleaned(tmp_path / "a.jsonl")
    assert [article.text for article in found.articles] == ["نص تام هنا.\n\nسطر سليم، a | b"]
    report = found.report()
    assert report["cleaning"] == {"lines": 2, "repaired": 1}
    assert (report["sentences"]["language"], report["sentences"]["kept"]) == ("ar", 2)
    assert source(tmp_path / "a.jsonl").report() == {}


def test_an_article_without_an_id_keeps_its_own_wherever_it_stands(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    (tmp_path / "b.txt").write_text("new\n\ntwo\n")
    first, second = (list(source(tmp_path / name).articles) for name in ("a.txt", "b.txt"))
    assert first[1].id == second[1].id
    assert len({item.id for item in first + second}) == 3


def test_patterns_keep_their_order_and_files_are_sorted_and_read_once(tmp_path):
    for name in "cab":
        (tmp_path / f"{name}.txt").write_text(name)
    assert texts(tmp_path / "b*", tmp_path / "*.txt") == ["b", "a", "c"]


def test_provenance_holds_names_and_hashes_but_no_directory(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    found = source(tmp_path / "*.txt").provenance
    assert found["inputs"] == [
        {"name": "a.txt", "bytes": 3, "sha256": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"}
    ]
    assert str(tmp_path) not in json.dumps(found)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"text": "one"}\n{"text": \n', "a.jsonl, line 2 is not valid JSON"),
        ("a.jsonl", b'["one"]\n', "a.jsonl, line 1 is not a JSON object"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1 is not valid JSON .*recursion"),
        ("a.jsonl", b'{"body": "one", "id": 1}\n', "a.jsonl has no column text: it has body, id"),
        ("a.jsonl", b'{"text": ["one"]}\n', "a.jsonl: column text holds list, not text"),
        ("a.jsonl", b'{"text": "\xe9"}\n', "a.jsonl is not utf-8.*0xe9"),
        ("a.txt", b"caf\xe9", "a.txt is not utf-8"),
        ("a.txt.gz", gzip.compress(b"text " * 1000, mtime=0)[:-20], "a.txt.gz is not a complete gzip file"),
        ("a.txt.gz", b"plain text", "a.txt.gz is not a complete gzip file"),
        ("a.parquet", b"PAR1 but not", "a.parquet is not a readable Parquet file"),
        ("a.docx", b"", "a.docx is none of .jsonl, .parquet, .txt"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(source(tmp_path / "a*").articles)


def test_the_first_articles_of_all_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    (tmp_path / "b.txt").write_text("three\n\nfour\n")
    found = read([tmp_path / "*.txt"], max_articles=3)
    assert [article.text.strip() for article in found.articles] == ["one", "two", "three"]
    assert found.provenance["max_articles"] == 3
    assert found.held_out is None


def test_a_file_that_is_held_out_is_not_trained_on(tmp_path):
    for name in ("a", "b", "valid"):
        (tmp_path / f"{name}.txt").write_text(f"{name} one\n\n{name} two\n")
    found = read([tmp_path / "*.txt"], validation=[f"{tmp_path}/../{tmp_path.name}/valid.*"], max_articles=3)
    assert [article.text.strip() for article in found.articles] == ["a one", "a two", "b one"]
    assert [article.text.strip() for article in found.held_out] == ["valid one", "valid two"]
    assert [file["name"] for file in found.provenance["inputs"]] == ["a.txt", "b.txt"]
    assert [file["name"] for file in found.provenance["validation_inputs"]] == ["valid.txt"]


def test_something_must_be_left_to_train_on(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    with pytest.raises(UserError, match=r"corpus.files.validation_paths matches every file of corpus.files.paths"):
        read([tmp_path / "*.txt"], validation=[tmp_path / "a.txt"])
    with pytest.raises(UserError, match=r"corpus.files.validation_paths: .*b.txt matches no file"):
        read([tmp_path / "*.txt"], validation=[tmp_path / "b.txt"])


def test_wikitext_in_every_format(tmp_path):
    lines = [" \n", " = One = \n", " \n", " a , b . \n", " \n", " = Two = \n", " \n", " c \n", " d \n"]
    (tmp_path / "a.txt").write_text("".join(lines))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    (tmp_path / "c.jsonl").write_text(
        json.dumps({"text": "".join(lines[:5])}) + "\n" + json.dumps({"text": "c"}) + "\n"
    )
    pq.write_table(pa.table({"text": lines}), tmp_path / "d.parquet")
    a, b, c, d = (list(read([path], layout="wikitext").articles) for path in sorted(tmp_path.iterdir()))
    assert [(article.title, article.text) for article in a] == [("One", "a , b ."), ("Two", "c\nd")]
    assert a == b == d
    assert [(article.title, article.text) for article in c] == [("One", "a , b .\nc")]
    assert len({article.id for article in a}) == 2


@pytest.mark.parametrize("text", ["one\n\ntwo\n", "\n= One =\none\n= Two =\ntwo\n"])
def test_text_without_titles_is_no_wikitext(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    for limit in (None, 1):
        found = read([tmp_path / "a.txt"], layout="wikitext", max_articles=limit)
        with pytest.raises(UserError, match=r"a.txt has no line ` = Title = ` .* set corpus.layout to articles"):
            list(found.articles)
    (tmp_path / "b.txt").write_text(f"{text}\n = Three = \n\nthree\n")
    assert len(list(read([tmp_path / "b.txt"], layout="wikitext").articles)) == 2


@pytest.mark.parametrize(("layout", "remedy"), [("articles", "put a blank line"), ("wikitext", "check its lines")])
def test_an_article_without_end_is_not_read_to_its_end(tmp_path, monkeypatch, layout, remedy):
    for module in (files, files.wikitext_dataset):
        monkeypatch.setattr(module, "LONGEST_ARTICLE", 1_000)
    titles = " \n = One = \n \n" + " one \n" * 100 + " \n = Two = \n \n" + " two \n" * 100
    (tmp_path / "a.txt").write_text(titles)
    assert len(list(read([tmp_path / "a.txt"], layout=layout).articles)) in {2, 4}
    (tmp_path / "a.txt").write_text(titles + " more \n" * 1_000)
    with pytest.raises(UserError, match=rf"a.txt has an article of more than 1,000 characters: {remedy}"):
        list(read([tmp_path / "a.txt"], layout=layout).articles)


def test_what_is_held_out_is_cleaned_and_laid_out_as_the_rest(tmp_path):
    (tmp_path / "a.txt").write_text(" \n = One = \n \n a [[b]] c \n")
    (tmp_path / "b.txt").write_text(" \n = Two = \n \n d [[e]] f \n \n = Three = \n \n g \n")
    found = read([tmp_path / "a.txt"], layout="wikitext", validation=[tmp_path / "b.txt"], markup="clean")
    assert [(article.title, article.text) for article in found.articles] == [("One", "a b c")]
    assert [(article.title, article.text) for article in found.held_out] == [("Two", "d e f"), ("Three", "g")]
    assert found.report()["cleaning"]["lines"] == 2


def test_a_parquet_file_with_a_damaged_block_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["one " * 100]}), path, compression="zstd", use_dictionary=False)
    content = path.read_bytes()
    frame = content.index(b"\x28\xb5\x2f\xfd")  # what a block of zstd begins with
    path.write_bytes(content[:frame] + bytes(4) + content[frame + 4 :])
    with pytest.raises(UserError, match=r"a.parquet is not a readable Parquet file"):
        list(source(path).articles)


def test_a_parquet_file_without_text_lists_its_columns(tmp_path):
    pq.write_table(pa.table({"body": ["one"], "id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a.parquet has no column text: it has body, id"):
        list(source(tmp_path / "a.parquet").articles)


def test_a_pattern_that_matches_nothing_is_named(tmp_path):
    with pytest.raises(UserError, match=r"corpus.files.paths: .*\*.jsonl matches no file"):
        source(tmp_path / "*.jsonl")
    with pytest.raises(UserError, match=r"corpus.files.paths is empty"):
        source()


def test_in_a_copy_that_dvc_made_the_message_names_git(tmp_path, monkeypatch):
    copy = tmp_path / ".dvc" / "tmp" / "exps" / "tmpabc"
    copy.mkdir(parents=True)
    correct = r"matches no file \(looked from .*\): correct the glob, which is relative to that folder$"
    for folder, pattern, message in (
        (copy, "texts/*.jsonl", r"matches no file \(looked from .*tmpabc\): a run with --temp .*`git add -N`"),
        (copy, f"{tmp_path}/*.jsonl", correct),
        (tmp_path, "texts/*.jsonl", correct),
    ):
        monkeypatch.chdir(folder)
        with pytest.raises(UserError, match=message):
            find([pattern], [".jsonl"], "corpus.files.paths")


@pytest.mark.skipif(not ENWIKI.is_file(), reason="the shared English articles are not here")
def test_what_wikiextractor_wrote_is_left_without_titles(tmp_path):
    with gzip.open(ENWIKI, "rt") as file:
        found = re.findall(r'<doc id="(\d+)" url="[^"]*" title="([^"]*)">\n(.*?)\n</doc>', file.read(), re.DOTALL)
    lines = [
        json.dumps({"id": number, "title": html.unescape(title), "text": text}) for number, title, text in found[:100]
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    manifest = write_corpus(tmp_path / "corpus", source(tmp_path / "a.jsonl"), 100, 0.1)
    assert manifest["titles_removed"] == manifest["read"] == 100
    articles = list(read_articles(tmp_path / "corpus", None))
    assert len(articles) > 90
    assert not [article for article in articles if article.text.startswith(f"{article.title}\n")]


def test_a_first_line_that_is_the_title_goes_and_is_counted(tmp_path):
    texts = [
        "A  Title\n\nIt is a text.",
        "A title is what it has.\nMore.",
        "A Title",
        "It is.\nA Title",
        "A Title\nA Title\nB",
    ]
    lines = [json.dumps({"id": str(n), "title": "A Title ", "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    manifest = write_corpus(tmp_path / "corpus", source(tmp_path / "a.jsonl"), 0, 0.5)
    assert (manifest["titles_removed"], manifest["dropped"]["empty"]) == (3, 1)
    found = {article.id: article.text for article in read_articles(tmp_path / "corpus", None)}
    assert found == {"0": "It is a text.", "1": texts[1], "3": texts[3], "4": "A Title\nB"}
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps({"id": str(n), "text": f"Text {n}"}) for n in range(5)))
    assert "titles_removed" not in write_corpus(tmp_path / "other", source(tmp_path / "b.jsonl"), 0, 0.5)


@pytest.mark.skipif(not ARWIKI.is_dir(), reason="the shared Arabic articles are not here")
def test_arabic_wikipedia(tmp_path):
    manifest = write_corpus(tmp_path / "corpus", source(ARWIKI / "articles-000.jsonl.gz"), 100, 0.1)
    assert manifest["read"] == sum(manifest["dropped"].values()) + manifest["articles"]
    assert manifest["dropped"]["empty"] > 50
    assert manifest["dropped"]["duplicate_id"] == 0
    first = next(read_articles(tmp_path / "corpus", None))
    assert (first.id, first.title) == ("1234087", "دابود")
    assert first.text.startswith("دابود قرية نوبية")


@pytest.mark.skipif(not ARWIKI.is_dir(), reason="the shared Arabic articles are not here")
def test_arabic_wikipedia_is_left_without_markup():
    found = cleaned(ARWIKI / "articles-000.jsonl.gz")
    assert not any(leftover_markup(article.text) for article in found.articles)
    report = found.report()
    assert report["cleaning"]["lines"] > 100
    assert report["sentences"]["dropped"]["marked_up"] < 20
    assert report["sentences"]["dropped_percent"]["all"] < 0.1

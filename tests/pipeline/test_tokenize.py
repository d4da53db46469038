import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from maskline.core.storage import MANIFEST, read_csv, read_json, sha256
from maskline.corpus.articles import Article, Source, read_articles
from maskline.selection.corpus import write_corpus
from maskline.settings.files import read_yaml
from maskline.settings.params import load
from maskline.shards.store import TokenShards
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import train


@pytest.fixture(name="data")
def _data(tmp_path):
    """Write params, a corpus and a tokenizer to the temporary directory."""
    settings = read_yaml(Path("params.yaml"))
    settings["tasks"] = {}
    settings["tokenizer"]["vocab_size"] = 150
    settings["tokenize"]["shard_tokens"] = 300
    YAML().dump(settings, tmp_path / "params.yaml")
    articles = [Article(str(i), "", "", f"Page {i} is by Dr. Who.\n" + "It is short. " * (i % 4)) for i in range(80)]
    write_corpus(tmp_path / "corpus", Source(articles, {"source": "test"}, "none"), 10, 0.2)
    params = load(tmp_path / "params.yaml").tokenizer
    tokenizer = train(lambda: (article.text for article in read_articles(tmp_path / "corpus", "train")), params, "en")
    save(tokenizer, tmp_path / "tokenizer", params, {})
    return tmp_path


def run(data, out="out", seed="0"):
    command = [sys.executable, "-m", "pipeline.tokenize", "--params", str(data / "params.yaml")]
    command += ["--corpus", str(data / "corpus"), "--tokenizer", str(data / "tokenizer")]
    command += ["--tokens", str(data / out / "tokens"), "--report", str(data / out / "report")]
    environment = os.environ | {"PYTHONPATH": "src", "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def files(directory):
    return {path.relative_to(directory).as_posix(): sha256(path) for path in directory.rglob("*") if path.is_file()}


def test_both_splits_become_shards_with_the_same_bytes_in_every_process(data):
    done = run(data)
    assert done.returncode == 0, done.stderr
    metrics = read_json(data / "out" / "report" / "metrics.json")
    for split in ("train", "validation"):
        shards = TokenShards(data / "out" / "tokens" / split)
        articles = list(read_articles(data / "corpus", split))
        assert metrics[split]["documents"] == shards.manifest["documents"] == len(articles)
        sentences = sum(1 + article.text.count("short") for article in articles)
        assert metrics[split]["sentences"] == sum(len(shard.sentence_offsets) - 1 for shard in shards) == sentences
        single = sum(article.text.count("short") == 0 for article in articles)
        assert metrics[split]["one_sentence_share"] == single / len(articles)
        assert f"{split}: {shards.manifest['tokens']:,} tokens" in done.stdout
        expected = {"language": "en", "corpus": sha256(data / "corpus" / MANIFEST)}
        assert (expected | {"tokenizer": sha256(data / "tokenizer" / MANIFEST)}).items() <= shards.manifest.items()
    # The fixed validation set is made of those of validation: it is the same, whatever the data are called.
    named = {"provenance": {"source": "test"}, "licence": "none"}
    assert named.items() <= read_json(data / "out" / "tokens" / "train" / MANIFEST).items()
    assert not named.keys() & read_json(data / "out" / "tokens" / "validation" / MANIFEST).keys()
    rows = read_csv(data / "out" / "report" / "sentences.csv")
    assert [int(row["sentences"]) for row in rows] == [1, 2, 4]
    for split in ("train", "validation"):
        lengths = [1 + article.text.count("short") for article in read_articles(data / "corpus", split)]
        counts = [sum(low <= length < 2 * low for length in lengths) for low in (1, 2, 4)]
        assert [int(row[split]) for row in rows] == counts
    assert len(list((data / "out" / "tokens" / "train").glob("*.arrow"))) > 1
    run(data, "again", seed="7")
    assert files(data / "out") == files(data / "again")


@pytest.mark.parametrize("damaged", ["corpus/articles-00000.parquet", "tokenizer/tokenizer.json"])
def test_a_truncated_file_is_one_line(damaged, data):
    path = data / damaged
    path.write_bytes(path.read_bytes()[:-20])
    done = run(data)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path} is not what ")
    assert done.stderr.count("\n") == 1
    assert not (data / "out" / "report").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from maskline.core.storage import fresh_directory

fresh_directory(Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_interrupted_run_again_is_whole(data):
    run(data)
    whole = files(data / "out")
    subprocess.run([sys.executable, "-c", KILLED, str(data / "out" / "tokens" / "train")], check=False)
    assert not (data / "out" / "tokens" / "train" / MANIFEST).exists()
    (data / "out" / "tokens" / "train" / "tokens-00099.arrow").write_bytes(b"left over")
    assert run(data).returncode == 0
    assert files(data / "out") == whole


@pytest.mark.parametrize(("folder", "stage"), [("corpus", "fetch"), ("tokenizer", "tokenizer")])
def test_an_input_that_is_not_whole_is_one_line_and_the_former_shards_are_kept(data, folder, stage):
    run(data)
    former = files(data / "out")
    for content, message in (("{", "is not valid JSON"), (None, "is incomplete")):
        if content is None:
            (data / folder / MANIFEST).unlink()
        else:
            (data / folder / MANIFEST).write_text(content)
        done = run(data)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert message in done.stderr
    assert f"run `dvc repro {stage}`" in done.stderr
    assert files(data / "out") == former

import gzip
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.records import bounds, files
from maskline.settings.params import load
from maskline.sources import hub
from maskline.sources.settings import HubCorpus


@pytest.fixture(name="dataset")
def _dataset(tmp_path):
    directory = tmp_path / "wiki"
    directory.mkdir()
    rows = [{"id": str(i), "title": f"T{i}", "url": f"u{i}", "text": f"Text {i}"} for i in range(5)]
    (directory / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return directory


def corpus(dataset, layout="articles", **changes):
    values = {"dataset": str(dataset), "config": None, "revision": "0" * 40, "max_articles": 3}
    hub_params = HubCorpus(**(values | {"validation_split": None} | changes))
    return load().corpus.model_copy(update={"source": "hub", "layout": layout, "hub": hub_params})


def test_the_first_articles_of_a_local_dataset(dataset):
    source = hub.read(corpus(dataset))
    assert [tuple(article) for article in source.articles] == [
        (f"{i}", f"T{i}", f"u{i}", f"Text {i}") for i in range(3)
    ]
    assert source.provenance["dataset"] == "wiki"
    assert source.provenance["max_articles"] == 3
    assert [file["name"] for file in source.provenance["inputs"]] == ["train.jsonl"]
    assert str(dataset.parent) not in json.dumps(source.provenance)


def test_all_articles_where_no_number_is_given(dataset):
    assert len(list(hub.read(corpus(dataset, max_articles=None)).articles)) == 5


def test_a_split_is_held_out_whole(dataset):
    rows = [{"id": f"test {i}", "text": f"Held out {i}"} for i in range(4)]
    (dataset / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = hub.read(corpus(dataset, validation_split="test"))
    assert [article.text for article in source.articles] == ["Text 0", "Text 1", "Text 2"]
    assert [article.text for article in source.held_out] == [f"Held out {i}" for i in range(4)]
    assert source.provenance["validation_split"] == "test"
    assert hub.read(corpus(dataset)).held_out is None


@pytest.mark.parametrize("split", ["validation", "train"])
def test_a_split_that_cannot_be_held_out_lists_those_that_can(dataset, split):
    (dataset / "test.jsonl").write_text('{"text": "one"}')
    message = rf"corpus.hub.validation_split is {split}: beside train, .*wiki has test; choose"
    with pytest.raises(UserError, match=message):
        hub.read(corpus(dataset, validation_split=split))


def test_wikitext_in_rows_of_one_line_each(dataset):
    lines = ["", " = One = \n", "", " a , b . \n", " c . \n", "", " = = Heading = = \n", "", " d . \n", ""]
    (dataset / "train.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in [*lines, " = Two = \n", ""]))
    found = list(hub.read(corpus(dataset, "wikitext", max_articles=1)).articles)
    assert [(article.title, article.text) for article in found] == [("One", "a , b .\nc .\nd .")]


def test_a_dataset_without_text_lists_its_columns(dataset):
    (dataset / "train.jsonl").write_text('{"id": "1", "body": "one"}\n')
    with pytest.raises(UserError, match=r"has no column text: it has id, body"):
        list(hub.read(corpus(dataset)).articles)


def test_a_dataset_without_a_train_split_lists_its_splits(dataset):
    (dataset / "train.jsonl").rename(dataset / "test.jsonl")
    with pytest.raises(UserError, match=r"has no split train, only test"):
        hub.read(corpus(dataset))


def test_a_directory_without_data_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"cannot read the dataset .*corpus.source to sample or files") as caught:
        hub.read(corpus(tmp_path))
    assert "\n" not in str(caught.value)


def test_an_empty_file_is_one_line(dataset):
    (dataset / "train.jsonl").write_text("")
    (dataset / "test.jsonl").write_text('{"text": "one"}\n')
    with pytest.raises(UserError, match=r"cannot read the dataset .*wiki \(a file of it is empty\)"):
        hub.read(corpus(dataset))


def write_card(dataset, content):
    (dataset / "README.md").write_text(f"---\n{content}\n---\n")


CONFIG = "configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: "


def test_the_manifest_names_what_is_read_and_nothing_else(dataset):
    (dataset / "other.bin").write_bytes(b"never read")
    (dataset / "data").mkdir()
    (dataset / "data" / "a.jsonl").write_text('{"text": "one"}')
    write_card(dataset, f"{CONFIG}data/*.jsonl")
    source = hub.read(corpus(dataset))
    assert [article.text for article in source.articles] == ["one"]
    assert [file["name"] for file in source.provenance["inputs"]] == ["data/a.jsonl", "README.md"]


@pytest.mark.parametrize("path", ["../secret.jsonl", "{secret}", "link.jsonl", "folder/secret.jsonl"])
def test_a_dataset_reads_no_file_outside_itself(dataset, path):
    secret = dataset.parent / "secret.jsonl"
    secret.write_text('{"text": "secret"}')
    (dataset / "link.jsonl").symlink_to(secret)
    (dataset / "folder").symlink_to(dataset.parent)
    write_card(dataset, CONFIG + path.format(secret=secret))
    with pytest.raises(UserError, match=r"wiki reads .*, which lies outside it: copy the file into it"):
        hub.read(corpus(dataset))


def test_a_directory_of_the_hubs_cache_is_read(tmp_path):
    blob = tmp_path / "datasets--a--b" / "blobs" / "0123"
    link = blob.parent.parent / "snapshots" / "commit" / "train.jsonl"
    for path in (blob, link):
        path.parent.mkdir(parents=True)
    blob.write_text('{"text": "one"}')
    link.symlink_to(blob)
    source = hub.read(corpus(link.parent))
    assert [article.text for article in source.articles] == ["one"]
    assert [file["name"] for file in source.provenance["inputs"]] == ["train.jsonl"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wiki.py", "open('ran', 'w')"),
        ("README.md", "---\nconfigs: [\n---\n"),
        ("README.md", "---\nconfigs: !!python/object/apply:os.getcwd []\n---\n"),
        ("README.md", "---\nconfigs: " + "[" * 5_000 + "\n---\n"),
        ("README.md", "---\nconfigs: 7\n---\n"),
        ("dataset_infos.json", "[1]"),
        (".huggingface.yaml", "configs: ["),
        ("train.zip", "no zip"),
    ],
)
def test_an_odd_directory_is_one_line(dataset, name, content):
    (dataset / name).write_text(content)
    if name == "train.zip":
        (dataset / "train.jsonl").unlink()
    with pytest.raises(UserError, match=r"cannot read the dataset .*wiki") as caught:
        list(hub.read(corpus(dataset)).articles)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_directory_of_images_is_refused(dataset):
    (dataset / "train.jsonl").unlink()
    (dataset / "a.png").write_bytes(b"no image")
    (dataset / "metadata.jsonl").write_text('{"file_name": "a.png", "text": "one"}')
    with pytest.raises(UserError, match=r"wiki is a dataset of kind imagefolder: give one of arrow, csv, json"):
        hub.read(corpus(dataset))


def test_a_broken_file_is_one_line(dataset):
    (dataset / "train.jsonl").write_text('{"text": "one"}\n{"text": broken\n')
    with pytest.raises(UserError, match=r"cannot read the dataset .*wiki") as caught:
        list(hub.read(corpus(dataset)).articles)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("deep", ["[" * 10**6, '{"a":' * 10**5])
def test_json_that_would_take_the_process_down_is_one_line(dataset, deep):
    (dataset / "train.jsonl").write_text('{"text": "one"}\n{"text": ' + deep)
    with pytest.raises(UserError, match=r"train\.jsonl has JSON of more than 500 levels: do not use it"):
        hub.read(corpus(dataset))


def test_a_small_file_that_expands_without_end_is_one_line(dataset, monkeypatch):
    monkeypatch.setattr(bounds, "SMALL_BYTES", 10_000)
    (dataset / "train.jsonl").unlink()
    (dataset / "train.csv.gz").write_bytes(gzip.compress(b'text\n"' + b"a" * 10**7))
    with pytest.raises(UserError, match=r"train\.csv\.gz unpacks to more than"):
        hub.read(corpus(dataset))


def spied(function, returned):
    def call(*arguments, **named):
        returned.append(function(*arguments, **named))
        return returned[-1]

    return call


def test_parquet_is_read_a_few_rows_at_a_time(dataset, monkeypatch):
    """All rows of this file refer to one text, which is there once."""
    (dataset / "train.jsonl").unlink()
    path = dataset / "train.parquet"
    pq.write_table(pa.table({"text": ["x" * 50_000] * 64}), path, compression="zstd")
    assert path.stat().st_size < 5_000
    monkeypatch.setattr(files, "BATCH_BYTES", 200_000)
    builders = []
    monkeypatch.setattr(datasets, "load_dataset_builder", spied(datasets.load_dataset_builder, builders))
    assert len(list(hub.read(corpus(dataset, max_articles=None)).articles)) == 64
    assert [builder.config.batch_size for builder in builders] == [3]
    monkeypatch.setattr(files, "PAGE_BYTES", 20_000)
    with pytest.raises(UserError, match=r"train\.parquet has a page of 50,\d+ bytes, more than 20,000"):
        hub.read(corpus(dataset))

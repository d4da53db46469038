import json

import pytest

from maskline import params
from maskline.corpus import hub
from maskline.errors import UserError


@pytest.fixture(name="dataset")
def _dataset(tmp_path):
    directory = tmp_path / "wiki"
    directory.mkdir()
    rows = [{"id": str(i), "title": f"T{i}", "url": f"u{i}", "text": f"Text {i}"} for i in range(5)]
    (directory / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return directory


def corpus(dataset, **changes):
    values = {"dataset": str(dataset), "config": None, "revision": "0" * 40, "max_articles": 3} | changes
    return params.load().corpus.model_copy(update={"source": "hub", "hub": params.HubCorpus(**values)})


def test_the_first_articles_of_a_local_dataset(dataset):
    source = hub.read(corpus(dataset))
    assert [tuple(article) for article in source.articles] == [
        (f"{i}", f"T{i}", f"u{i}", f"Text {i}") for i in range(3)
    ]
    assert source.provenance["dataset"] == "wiki"
    assert source.provenance["max_articles"] == 3
    assert [file["name"] for file in source.provenance["inputs"]] == ["train.jsonl"]
    assert str(dataset.parent) not in json.dumps(source.provenance)


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


def test_a_broken_file_is_one_line(dataset):
    (dataset / "train.jsonl").write_text('{"text": "one"}\n{"text": broken\n')
    with pytest.raises(UserError, match=r"cannot read the dataset .*wiki") as caught:
        list(hub.read(corpus(dataset)).articles)
    assert "\n" not in str(caught.value)

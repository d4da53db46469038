import pytest

from maskline.core.errors import UserError
from tests.dataset.labelled import settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"validation_fraction": 0.5, "test_fraction": 0.5}, r"dataset: validation_fraction \+ test_fraction must"),
        ({"validation_fraction": 0.0}, r"dataset.validation_fraction is 0.0"),
        ({"test_fraction": 1}, r"dataset.test_fraction is 1"),
        ({"source": "dump"}, r"dataset.source is 'dump'"),
        *(
            (
                {"source": source, source: None},
                rf"dataset: source is {source}, and there is no section {source}: add it",
            )
            for source in ("sample", "hub", "files")
        ),
        ({"files": {}}, r"key dataset.files.paths is missing"),
        ({"files.path": []}, r"unknown key dataset.files.path:"),
        ({"labels": ["good"]}, r"dataset.labels is \['good'\]"),
        ({"labels": ["good", "bad", "good"]}, r"dataset: labels must differ from one another"),
        ({"labels": [1, "1"]}, r"dataset: labels must differ from one another"),
        ({"labels": ["good", ""]}, r"dataset.labels.1 is "),
        ({"labels": ["good", None]}, r"dataset.labels.1 is None"),
        ({"labels": [0, float("nan")]}, r"dataset.labels.1 is nan"),
        ({"label_column": "text"}, r"dataset: the columns of text_column, second_column and label_column must differ"),
        ({"second_column": "sentiment"}, r"dataset: the columns of text_column, second_column and label_column must"),
        ({"text_column": []}, r"dataset.text_column is \[\]"),
        (
            {"hub": {"dataset": "a", "config": None, "revision": "b", "test_split": "train"}},
            r"dataset.hub: train_split, validation_split, test_split and further_tests must differ from one another",
        ),
        (
            {"hub": {"dataset": "a", "config": None, "revision": "b", "further_tests": {"other": "test"}}},
            r"dataset.hub: train_split, validation_split, test_split and further_tests must differ from one another",
        ),
        (
            {"files.further_tests": {"test": []}},
            r"dataset.files.further_tests.test.*: test is a split that every task has",
        ),
        *(
            ({"files.further_tests": {name: []}}, rf"dataset.files.further_tests.{name}.* string should match pattern")
            for name in ("Hard", "../hard", "two words", "")
        ),
    ],
)
def test_a_mistake_names_the_file_and_the_key(changes, message):
    with pytest.raises(UserError, match=rf"^tasks/sentiment.yaml: {message}") as error:
        settings(**changes)
    assert "\n" not in str(error.value)


def test_what_is_not_the_source_need_not_be_there():
    assert settings(sample=None, hub=None).source == "files"


def test_numbers_and_truth_values_are_texts_as_labels():
    assert settings(labels=[0, 1, -1, 2.5, 3.0]).labels == ["0", "1", "-1", "2.5", "3.0"]
    assert settings(labels=[False, True]).labels == ["false", "true"]

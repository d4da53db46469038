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
    ],
)
def test_a_mistake_names_the_file_and_the_key(changes, message):
    with pytest.raises(UserError, match=rf"^tasks/sentiment.yaml: {message}") as error:
        settings(**changes)
    assert "\n" not in str(error.value)


def test_what_is_not_the_source_need_not_be_there():
    assert settings(sample=None, hub=None).source == "files"

import pytest

from maskline.core.errors import UserError
from maskline.dataset.read import read_dataset
from maskline.dataset.write import write_dataset
from maskline.tasks.classification.examples import Examples, duplicate_key
from tests.dataset.labelled import LABELS, PAIRS, everything, settings, write, write_pairs


def texts(directory):
    return [example for examples in everything(directory).values() for example in examples]


def test_a_label_with_half_a_surrogate_pair_is_left_out_and_counted(tmp_path):
    manifest = write(tmp_path / "mood", [*PAIRS, ("a text", "odd\ud800")])
    assert manifest["dropped"]["other_label"] == {r"odd\ud800": 1}
    assert manifest["examples"] == len(PAIRS)


@pytest.mark.parametrize(
    "copy",
    [
        "I love this, really",
        "i LOVE  this, really",
        "RT @a: I love this, really",
        "MT @a RT @b_c: I love this, really https://t.co/x1",
        '"@a: I love this, really"',
        "@a @b I love this, really...",
        "“I love this, really” www.example.org",
    ],
)
def test_copies_share_a_key(copy):
    assert duplicate_key(copy) == "i love this, really"


def test_smileys_and_words_tell_texts_apart():
    different = ["fine :)", "fine :(", "fine!", "fine", "not fine", "RT fine", "👍", "👎", "ممتاز", "سيئ"]
    assert len({duplicate_key(text) for text in different}) == len(different)


def test_entities_become_characters_and_lines_are_joined(tmp_path):
    write(tmp_path / "mood", [*PAIRS, ("Q&amp;A &lt;3\r\r#now", "good")])
    assert ("Q&A <3 #now", 1) in texts(tmp_path / "mood")


def test_numbers_are_labels_and_texts_too(tmp_path):
    pairs = [(number, number % 2) for number in range(40)]
    manifest = write(tmp_path / "mood", pairs, labels=["1", "0"])
    assert manifest["labels"] == ["1", "0"]
    assert set(texts(tmp_path / "mood")) == {(str(number), 1 - number % 2) for number in range(40)}


def test_null_is_an_empty_text(tmp_path):
    assert write(tmp_path / "mood", [*PAIRS, (None, "good")])["dropped"]["empty"] == 1


def test_a_label_that_never_occurs_lists_those_that_do(tmp_path):
    message = r"^tasks/mood.yaml: dataset.labels: no example is labelled 'great'; the labels are 'bad', 'good'$"
    with pytest.raises(UserError, match=message):
        write(tmp_path / "mood", PAIRS, labels=["bad", "great"])
    assert not (tmp_path / "mood").exists()


def test_a_label_without_training_examples_is_an_error(tmp_path):
    write(tmp_path / "probe", [*PAIRS, *((f"rare {i}", "good") for i in range(9))])
    held_out = next(text for text, _ in everything(tmp_path / "probe")["test"] if text.startswith("rare"))
    with pytest.raises(
        UserError,
        match=r"^tasks/mood.yaml: dataset: no training example is labelled 'rare'; add examples, or leave it out$",
    ):
        write(tmp_path / "mood", [*PAIRS, (held_out, "rare")], labels=[*LABELS, "rare"])


def test_the_order_of_the_labels_gives_their_numbers(tmp_path):
    manifest = write(tmp_path / "mood", PAIRS, labels=["good", "bad"])
    assert manifest["labels"] == ["good", "bad"]
    assert set(texts(tmp_path / "mood")) == {(text, int(label == "bad")) for text, label in PAIRS}
    assert list(manifest["splits"]["train"]["labels"]) == ["good", "bad"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"sentence": "fine", "sentiment": "good"}', "a.jsonl has no column text: it has sentence, sentiment$"),
        ('{"text": "fine", "label": "good"}', "a.jsonl has no column sentiment: it has text, label$"),
        ('{"text": ["fine"], "sentiment": "good"}', "a.jsonl: column text holds list, not text: name another$"),
        ('{"text": "fine", "sentiment": {"a": 1}}', "a.jsonl: column sentiment holds dict, not text: name another$"),
    ],
)
def test_a_record_that_is_not_what_it_should_be_names_the_file(tmp_path, line, message):
    path = write_pairs(tmp_path / "a.jsonl", PAIRS)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UserError, match=message) as error:
        write_dataset(tmp_path / "mood", "mood", settings(**{"files.paths": [str(path)]}), Examples())
    assert "\n" not in str(error.value)
    assert not (tmp_path / "mood").exists()


def test_the_columns_are_those_that_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{label},{text}\n" for text, label in PAIRS))
    changes = {"files.paths": [str(path)], "text_column": "b", "label_column": "a"}
    write_dataset(tmp_path / "mood", "mood", settings(**changes), Examples())
    columns = read_dataset(tmp_path / "mood", "mood").splits["train"]
    assert set(zip(columns["text"], (LABELS[label] for label in columns["label"]), strict=True)) <= set(PAIRS)

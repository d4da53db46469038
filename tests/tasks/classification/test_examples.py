import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.dataset.read import read_dataset
from maskline.dataset.write import write_dataset
from maskline.tasks.classification.cleaning import clean_example
from maskline.tasks.classification.examples import Examples, near_key
from tests.dataset.labelled import LABELS, PAIRS, everything, settings, write, write_pairs


def texts(directory):
    return [example for examples in everything(directory).values() for example in examples]


def test_a_label_with_half_a_surrogate_pair_is_left_out_and_counted(tmp_path):
    manifest = write(tmp_path / "mood", [*PAIRS, ("a text", "odd\ud800")])
    assert manifest["dropped"]["other_label"] == {"odd": 1}
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
def test_near_copies_share_a_key(copy):
    assert near_key(copy) == "i love this, really"


def test_smileys_and_words_tell_texts_apart():
    different = ["fine :)", "fine :(", "fine!", "fine", "not fine", "RT fine", "👍", "👎", "ممتاز", "سيئ"]
    assert len({near_key(text) for text in different}) == len(different)


@pytest.mark.parametrize("text", ["http://t.co/a", "@you", "...", "RT @you: https://t.co/a", "@a @b www.a.b"])
def test_a_text_of_which_nothing_is_left_is_like_no_other(text):
    assert near_key(text) == text


def test_only_equal_texts_are_one(tmp_path):
    texts_ = ["good", "good.", "good...", "Good", '"good"', "http://t.co/a", "http://t.co/b", "@a", "@b"]
    manifest = write(tmp_path / "mood", [*PAIRS, *((text, "good") for text in [*texts_, *texts_])])
    assert {text for text, _ in texts(tmp_path / "mood")} == {text for text, _ in PAIRS} | set(texts_)
    assert manifest["dropped"]["duplicate"] == len(texts_)


def test_entities_become_characters_and_lines_are_joined(tmp_path):
    write(tmp_path / "mood", [*PAIRS, ("Q&amp;A &lt;3\r\r#now", "good")])
    assert ("Q&A <3 #now", 1) in texts(tmp_path / "mood")


def test_numbers_are_labels_and_texts_too(tmp_path):
    pairs = [(number, number % 2) for number in range(40)]
    manifest = write(tmp_path / "mood", pairs, labels=["1", "0"])
    assert manifest["labels"] == ["1", "0"]
    assert set(texts(tmp_path / "mood")) == {(str(number), 1 - number % 2) for number in range(40)}


@pytest.mark.parametrize(
    ("labels", "spellings"),
    [
        ([0, 1], [0, 1]),
        ([0, 1], [0.0, 1.0]),
        ([0, 1], ["0", " 1.0\u200f"]),
        ([0, 1], ["-0.0", "\ufeff1.00"]),
        ([0.0, 1.0], ["0", 1]),
        (["0", "1.0"], [0.0, 1]),
        ([-1, 1], [-1.0, "1"]),
        ([2.5, 3], [2.5, "3.0"]),
        ([False, True], [False, True]),
        ([False, True], ["False", "true"]),
        (["no", True], ["no", "TRUE"]),
        (["cafe\u0301", "a b"], ["caf\u00e9\u00ad", "\u2066a\u00a0\u00a0b\u2069"]),
        (["R&amp;D", "x"], ["R&D", "x"]),
    ],
)
def test_labels_are_compared_cleaned(tmp_path, labels, spellings):
    pairs = [(f"text number {number}", spellings[number % 2]) for number in range(60)]
    manifest = write(tmp_path / "mood", pairs, labels=labels)
    assert set(texts(tmp_path / "mood")) == {(f"text number {number}", number % 2) for number in range(60)}
    assert manifest["dropped"]["other_label"] == {}
    assert manifest["labels"] == [clean_example(label) for label in settings(labels=labels).labels]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["good", " good\u200e"],
            r"^labels: 'good' and .* are one once they are cleaned, and 1.0 is 1: name each once",
        ),
        (["caf\u00e9", "cafe\u0301"], r"^labels: 'caf.+' and 'caf.+' are one once"),
        ([1, "1.0"], r"^labels: '1' and '1.0' are one once"),
        ([True, "True"], r"^labels: 'true' and 'True' are one once"),
        (["good", "\ufeff "], r"^labels: .* is empty once they are cleaned"),
    ],
)
def test_labels_that_are_one_once_they_are_cleaned_are_refused(tmp_path, labels, message):
    with pytest.raises(UserError, match=message) as error:
        write(tmp_path / "mood", PAIRS, labels=labels)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "mood").exists()


@pytest.mark.parametrize("other", ["01", "1.5", "1.0.0", "١", "yes", "1 0", "+1", "O"])
def test_other_spellings_are_other_labels(tmp_path, other):
    pairs = [(f"text number {number}", number % 2) for number in range(60)]
    manifest = write(tmp_path / "mood", [*pairs, ("another", other)], labels=[0, 1])
    assert manifest["dropped"]["other_label"] == {other: 1}


NOTHING = [None, float("nan"), "", " \u200b\ufeff"]


def test_what_is_missing_in_json_lines_is_counted(tmp_path):
    path = write_pairs(tmp_path / "a.jsonl", [*PAIRS, *(("no label", value) for value in NOTHING)])
    rows = [{"text": "nothing else"}, {"sentiment": "good"}, {}, {"text": None, "sentiment": "good", "x": 1}]
    rows += [{"text": float("nan"), "sentiment": "good"}, {"text": "", "sentiment": "good"}]
    path.write_text(path.read_text() + "".join(json.dumps(row) + "\n" for row in rows))
    manifest = write_dataset(tmp_path / "mood", "mood", settings(**{"files.paths": [str(path)]}), Examples())
    assert (manifest["dropped"]["missing"], manifest["dropped"]["empty"]) == (4 + 5, 1)
    assert manifest["examples"] == 60


def test_what_is_missing_in_parquet_is_counted(tmp_path):
    numbers = [1.0, 0.0] * 30 + [None, float("nan")]
    names = [f"text number {number}" for number in range(61)] + ["a text"]
    table = pa.table({"text": [*names, None, ""], "sentiment": [*numbers, 1.0, 1.0]})
    pq.write_table(table, tmp_path / "a.parquet")
    changes = {"files.paths": [str(tmp_path / "a.parquet")], "labels": [0, 1]}
    manifest = write_dataset(tmp_path / "mood", "mood", settings(**changes), Examples())
    assert (manifest["dropped"]["missing"], manifest["dropped"]["empty"]) == (3, 1)
    assert manifest["examples"] == 60


@pytest.mark.parametrize(("name", "between"), [("a.csv", ","), ("a.tsv", "\t")])
def test_what_is_missing_in_tables_is_an_empty_field(tmp_path, name, between):
    rows = [*PAIRS, ("no label", ""), ("", "good"), ("no label", "  "), ("a null", "null"), ("nan", "good")]
    lines = [between.join(row) + "\n" for row in [("text", "sentiment"), *rows]]
    (tmp_path / name).write_text("".join(lines))
    changes = {"files.paths": [str(tmp_path / name)]}
    manifest = write_dataset(tmp_path / "mood", "mood", settings(**changes), Examples())
    dropped = {"other_label": {"null": 1}, "missing": 2, "empty": 1, "duplicate": 0, "conflicting_label": 0}
    assert manifest["dropped"] == dropped
    assert ("nan", 1) in texts(tmp_path / "mood")


HIDDEN = [("held 1", -1), ("held 2", "-1"), ("held 3", -1.0), ("held 4", None)]
WAY_OUT = (
    r"give one with labels, or set tasks/mood.yaml: dataset.files.test_paths to \[\], and a part of the others "
    "becomes the test split$"
)


def test_a_split_whose_labels_are_hidden_is_refused(tmp_path):
    with pytest.raises(UserError, match=rf"test_paths.jsonl hides its labels, which are all -1 or missing: {WAY_OUT}"):
        write(tmp_path / "mood", PAIRS, {"test": HIDDEN})
    with pytest.raises(UserError, match=r"validation_paths.jsonl hides its labels"):
        write(tmp_path / "mood", PAIRS, {"validation": HIDDEN[:1]})
    assert not (tmp_path / "mood").exists()


def test_a_split_without_a_column_of_labels_names_the_way_out(tmp_path):
    (tmp_path / "test.csv").write_text("text,index\nheld,1\n")
    changes = {"files.test_paths": [str(tmp_path / "test.csv")]}
    with pytest.raises(UserError, match=rf"test.csv has no column sentiment: it has text, index; {WAY_OUT}"):
        write(tmp_path / "mood", PAIRS, **changes)


def test_a_class_may_be_minus_one_where_it_is_not_the_only_one(tmp_path):
    pairs = [(f"text number {number}", number % 3 - 1) for number in range(60)]
    held = [("held 1", -1), ("held 2", 1)]
    manifest = write(tmp_path / "mood", pairs, {"test": held}, labels=[-1, 0, 1])
    assert manifest["splits"]["test"]["labels"] == {"-1": 1, "0": 0, "1": 1}
    message = (
        r"^tasks/mood.yaml: dataset: all labels of the test split are -1, as where they are hidden: give one with lab"
    )
    with pytest.raises(UserError, match=message):
        write(tmp_path / "mood", pairs, {"test": held[:1]}, labels=[-1, 0, 1])


def test_some_hidden_labels_are_counted(tmp_path):
    manifest = write(tmp_path / "mood", [*PAIRS, *HIDDEN], {"test": [*HIDDEN, ("held", "good")]})
    assert manifest["splits"]["test"]["examples"] == 1
    assert manifest["dropped"]["other_label"] == {"-1": 4, "-1.0": 2}
    assert manifest["dropped"]["missing"] == 2


def write_hub(directory, **splits):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "sentiment": datasets.ClassLabel(names=LABELS)})
    for split, pairs in splits.items():
        rows = [{"text": text, "sentiment": label} for text, label in pairs]
        datasets.Dataset.from_list(rows, features=features).to_parquet(directory / f"{split}.parquet")
    return {"dataset": str(directory), "config": None, "revision": "main"}


def test_a_split_of_the_hub_whose_labels_are_hidden_is_refused(tmp_path):
    pairs = [(text, LABELS.index(label)) for text, label in PAIRS]
    hub = write_hub(tmp_path / "hub", train=[*pairs, ("x", -1)], validation=pairs[:2], test=[("y", -1), ("z", -1)])
    with pytest.raises(
        UserError,
        match=r"hub, split test hides its labels, which are all -1 or missing: give one with labels, or set "
        r"tasks/mood.yaml: dataset.hub.test_split to null, and a part of the others becomes the test split$",
    ):
        write_dataset(tmp_path / "mood", "mood", settings(source="hub", hub=hub), Examples())
    hub |= {"test_split": None}
    manifest = write_dataset(tmp_path / "mood", "mood", settings(source="hub", hub=hub), Examples())
    assert {split: part["from"] for split, part in manifest["splits"].items()} == {
        "train": "hash", "validation": "source", "test": "hash",
    }  # fmt: skip
    assert (manifest["read"], manifest["examples"]) == (63, 60)
    assert manifest["dropped"] == {
        "other_label": {}, "missing": 1, "empty": 0, "duplicate": 2, "conflicting_label": 0,
    }  # fmt: skip
    assert manifest["provenance"]["splits"] == {"train": "train", "validation": "validation"}
    assert manifest["provenance"]["unused_splits"] == ["test"]


def test_two_texts_are_one_example(tmp_path):
    rows = [(f"text number {number}", f"and {number % 2}", LABELS[number % 2]) for number in range(60)]
    rows += [
        ("text number 1", "and 3", "good"),
        ("text number 1 and 1", "", "good"),
        ("text number 1", "and  1", "good"),
    ]
    rows += [("text number 2", "and\u00a00", "good"), ("RT @a: text number 4", "AND 0", "bad"), ("", "and", "bad")]
    lines = ["a\tb\tsentiment\n", *("\t".join(row) + "\n" for row in rows)]
    (tmp_path / "a.tsv").write_text("".join(lines))
    changes = {"files.paths": [str(tmp_path / "a.tsv")], "text_column": "a", "second_column": "b"}
    manifest = write_dataset(tmp_path / "mood", "mood", settings(**changes), Examples())
    assert manifest["pair"]
    splits = read_dataset(tmp_path / "mood", "mood").splits
    assert all(list(columns) == ["id", "text", "second", "label"] for columns in splits.values())
    found = {split: list(zip(part["text"], part["second"], strict=True)) for split, part in splits.items()}
    pairs = [pair for part in found.values() for pair in part]
    assert pairs.count(("text number 1", "and 1")) == pairs.count(("text number 1", "and 3")) == 1
    assert ("text number 2", "and 0") not in pairs
    (split,) = (split for split, part in found.items() if ("text number 4", "and 0") in part)
    assert ("RT @a: text number 4", "AND 0") in found[split]
    assert manifest["splits"][split]["near_copies"] == 1
    assert manifest["dropped"] == {
        "other_label": {}, "missing": 0, "empty": 2, "duplicate": 1, "conflicting_label": 2,
    }  # fmt: skip


def test_one_text_has_no_second(tmp_path):
    assert not write(tmp_path / "mood", PAIRS)["pair"]
    assert all(
        list(part) == ["id", "text", "label"] for part in read_dataset(tmp_path / "mood", "mood").splits.values()
    )


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
        ('{"text": ["fine"], "sentiment": "good"}', "a.jsonl, record 61: column text holds list, not text: name anot"),
        ('{"text": "fine", "sentiment": {"a": 1}}', "a.jsonl, record 61: column sentiment holds dict, not text: name"),
        ('{"text": "fine", "sentiment": "good"', "a.jsonl, line 61 is not valid JSON .*: correct or remove the line$"),
        ('{"text": "a", "text": "b"}', "a.jsonl, line 61 has the key 'text' twice: keep one of them$"),
        ('["fine", "good"]', "a.jsonl, line 61 is not a JSON object: write one, {...}, on each line$"),
    ],
)
def test_a_record_that_is_not_what_it_should_be_names_the_file(tmp_path, line, message):
    path = write_pairs(tmp_path / "a.jsonl", PAIRS)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UserError, match=message) as error:
        write_dataset(tmp_path / "mood", "mood", settings(**{"files.paths": [str(path)]}), Examples())
    assert "\n" not in str(error.value)
    assert not (tmp_path / "mood").exists()


@pytest.mark.parametrize(("name", "between"), [("a.csv", ","), ("a.tsv", "\t")])
@pytest.mark.parametrize(
    ("row", "message"),
    [(["fine"], "line 62 has 1 field, the header has 2: "), (["so", "so", "good"], "line 62 has 3 fields, the header")],
)
def test_a_row_of_another_length_is_named(tmp_path, name, between, row, message):
    lines = [between.join(fields) + "\n" for fields in [("text", "sentiment"), *PAIRS, row]]
    (tmp_path / name).write_text("".join(lines))
    with pytest.raises(UserError, match=f"{name}, {message}"):
        write_dataset(tmp_path / "mood", "mood", settings(**{"files.paths": [str(tmp_path / name)]}), Examples())


def test_a_column_of_lists_is_named(tmp_path):
    pq.write_table(pa.table({"text": [["a"], ["b"]], "sentiment": LABELS}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a.parquet, record 1: column text holds list, not text: name another$"):
        write_dataset(tmp_path / "mood", "mood", settings(**{"files.paths": [str(tmp_path / "a.parquet")]}), Examples())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_column": "sentence"}, r"a.jsonl has no column sentence: it has text, sentiment$"),
        ({"text_column": ["words", "tweet"]}, r"a.jsonl has no column words or tweet: it has text, sentiment$"),
        ({"label_column": "label"}, r"a.jsonl has no column label: it has text, sentiment$"),
        ({"second_column": "other"}, r"a.jsonl has no column other: it has text, sentiment$"),
    ],
)
def test_a_column_that_no_record_has_is_named(tmp_path, changes, message):
    path = write_pairs(tmp_path / "a.jsonl", PAIRS)
    with pytest.raises(UserError, match=message):
        write_dataset(tmp_path / "mood", "mood", settings(**{"files.paths": [str(path)]} | changes), Examples())


def test_files_may_name_a_column_differently(tmp_path):
    (tmp_path / "a.csv").write_text("text,sentiment\n" + "".join(f"{text},{label}\n" for text, label in PAIRS))
    (tmp_path / "b.csv").write_text("label,sentence\ngood,held\n")
    names = {"text_column": ["text", "sentence"], "label_column": ["sentiment", "label"]}
    paths = {f"files.{key}": [str(tmp_path / name)] for key, name in (("paths", "a.csv"), ("test_paths", "b.csv"))}
    write_dataset(tmp_path / "mood", "mood", settings(**paths | names), Examples())
    assert everything(tmp_path / "mood")["test"] == [("held", 1)]
    (tmp_path / "b.csv").write_text("label,sentence,text\ngood,held,other\n")
    with pytest.raises(
        UserError, match=r"b.csv, record 1 has both columns text and sentence: name the one that is mean"
    ):
        write_dataset(tmp_path / "mood", "mood", settings(**paths | names), Examples())


def test_the_columns_are_those_that_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{label},{text}\n" for text, label in PAIRS))
    changes = {"files.paths": [str(path)], "text_column": "b", "label_column": "a"}
    write_dataset(tmp_path / "mood", "mood", settings(**changes), Examples())
    columns = read_dataset(tmp_path / "mood", "mood").splits["train"]
    assert set(zip(columns["text"], (LABELS[label] for label in columns["label"]), strict=True)) <= set(PAIRS)

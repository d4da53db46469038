import re

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, sha256
from maskline.corpus.split import task_split_of
from maskline.dataset.read import SPLITS, read_dataset
from maskline.dataset.write import Example, _Kept
from maskline.tasks.classification.examples import near_key
from tests.dataset.labelled import LABELS, PAIRS, everything, write, write_pairs


def union(directory):
    return set().union(*everything(directory).values())


def test_examples_come_back_with_the_index_of_their_label(tmp_path):
    manifest = write(tmp_path / "mood", PAIRS)
    found = everything(tmp_path / "mood")
    assert union(tmp_path / "mood") == {(text, LABELS.index(label)) for text, label in PAIRS}
    for split, examples in found.items():
        counts = manifest["splits"][split]
        assert counts["examples"] == len(examples) == len(set(examples)) == sum(counts["labels"].values())
        assert counts["labels"]["good"] == sum(label for _, label in examples)
    read = read_dataset(tmp_path / "mood", "mood")
    assert read.manifest == read_json(tmp_path / "mood" / MANIFEST)
    assert read.manifest.items() >= manifest.items()
    assert manifest["labels"] == LABELS
    assert manifest["examples"] == manifest["read"] == 60
    assert (manifest["validation_fraction"], manifest["test_fraction"]) == (0.3, 0.3)
    assert {part["from"] for part in manifest["splits"].values()} == {"hash"}
    assert manifest["provenance"]["inputs"][0]["name"] == "mood-paths.jsonl"
    assert str(tmp_path) not in str(manifest)


def test_each_example_has_an_id_that_follows_from_it_alone(tmp_path):
    write(tmp_path / "a", PAIRS)
    write(tmp_path / "b", [("another text", "good"), *reversed(PAIRS)])
    first, second = (
        {
            text: id_
            for columns in read_dataset(tmp_path / name, name).splits.values()
            for id_, text in zip(columns["id"], columns["text"], strict=True)
        }
        for name in "ab"
    )
    assert len(set(first.values())) == len(first) == 60
    assert first.items() <= second.items()
    assert all(re.fullmatch("[0-9a-f]{16}", id_) for id_ in first.values())


def test_copies_in_a_split_that_is_given_have_ids_of_their_own(tmp_path):
    write(tmp_path / "mood", PAIRS, {"test": [("held out", "good"), ("held  out", "good"), ("held out", "bad")]})
    ids = read_dataset(tmp_path / "mood", "mood").splits["test"]["id"]
    assert [id_.partition("-")[2] for id_ in ids] == ["", "2", "3"]
    assert len({id_.partition("-")[0] for id_ in ids}) == 1


def test_what_is_dropped_is_counted(tmp_path):
    extra = [
        ("neither", "neutral"),
        ("nor", "mixed"),
        ("either", "neutral"),
        (" \u200b ", "good"),
        ("no label", " \ufeff"),
        (None, "good"),
        ("text  number\u200e 1", "good"),
        (" text number 1 ", "good"),
        ("text number 2", "good"),
        ("only a neutral twin", "bad"),
        ("only a neutral twin", "neutral"),
    ]
    manifest = write(tmp_path / "mood", PAIRS + extra)
    assert manifest["dropped"] == {
        "other_label": {"mixed": 1, "neutral": 3},
        "missing": 2,
        "empty": 1,
        "duplicate": 2,
        "conflicting_label": 2,
    }
    assert manifest["read"] == 71
    assert manifest["examples"] == 71 - 4 - 2 - 1 - 2 - 2
    texts = {text for text, _ in union(tmp_path / "mood")}
    assert "text number 1" in texts
    assert "text number 2" not in texts


def test_of_copies_the_first_stays_and_near_copies_stay_with_it(tmp_path):
    near = ["TEXT number 3", "RT @a: text number 3", "text number 3..."]
    manifest = write(tmp_path / "mood", [*PAIRS, *((text, "good") for text in near), ("text\tnumber 3", "good")])
    found = everything(tmp_path / "mood")
    (split,) = (split for split, examples in found.items() if ("text number 3", 1) in examples)
    assert [text for text, _ in found[split] if near_key(text) == "text number 3"] == ["text number 3", *near]
    assert {part: counts["near_copies"] for part, counts in manifest["splits"].items()} == dict.fromkeys(SPLITS, 0) | {
        split: 3
    }
    assert manifest["dropped"]["duplicate"] == 1


def test_near_copies_need_not_agree(tmp_path):
    manifest = write(tmp_path / "mood", [*PAIRS, ("RT @a: text number 3", "bad")])
    assert manifest["dropped"]["conflicting_label"] == 0
    assert union(tmp_path / "mood") >= {("text number 3", 1), ("RT @a: text number 3", 0)}


@given(st.sets(st.integers(0, 99), max_size=30), st.randoms())
@hypothesis_settings(deadline=None, max_examples=10)
def test_other_examples_and_their_order_move_none(tmp_path_factory, others, random):
    directory = tmp_path_factory.mktemp("split")
    more = PAIRS + [(f"RT @user: other text {i}", LABELS[i % 2]) for i in others]
    random.shuffle(more)
    write(directory / "a", PAIRS)
    write(directory / "b", more)
    before, after = everything(directory / "a"), everything(directory / "b")
    assert all(set(before[split]) <= set(after[split]) for split in before)


def test_a_near_copy_stands_where_its_original_would(tmp_path):
    write(tmp_path / "a", PAIRS)
    write(tmp_path / "b", [(f"RT @user: {text.upper()} http://t.co/x", label) for text, label in PAIRS])
    original, copy = everything(tmp_path / "a"), everything(tmp_path / "b")
    for split, examples in original.items():
        assert {near_key(text) for text, _ in examples} == {near_key(text) for text, _ in copy[split]}


def test_the_same_examples_are_the_same_bytes(tmp_path):
    for name in "ab":
        write(tmp_path / name / "mood", PAIRS)
    for path in (tmp_path / "a" / "mood").iterdir():
        assert sha256(path) == sha256(tmp_path / "b" / "mood" / path.name)


HELD = [(f"held {i}", LABELS[i % 2]) for i in range(9)]


def test_a_split_of_the_source_is_held_out_whole_and_its_copies_are_no_training_examples(tmp_path):
    test = [*HELD, HELD[0], ("held 1", "bad"), ("same", "good"), ("Held 5.", "good"), ("http://t.co/a", "bad")]
    validation = [("mine", "bad"), ("same", "good"), ("other", "neutral"), ("\u200b", "good")]
    copies = [("held  3", "good"), ("mine", "bad"), ("mine", "good")]
    near = [("RT @you: held 3", "good"), ("HELD 4", "bad"), ("Mine!", "good"), ("http://t.co/b", "bad")]
    held_out = {"validation": validation, "test": test}
    manifest = write(tmp_path / "mood", PAIRS + copies + near, held_out)
    found = everything(tmp_path / "mood")
    assert found["test"] == [(text, LABELS.index(label)) for text, label in test]
    assert found["validation"] == [("mine", 0), ("same", 1)]
    assert found["train"] == [(text, LABELS.index(label)) for text, label in PAIRS + near[2:]]
    assert manifest["dropped"] == {
        "other_label": {"neutral": 1}, "missing": 0, "empty": 1, "near_held_out": 2, "duplicate": 3,
        "conflicting_label": 0,
    }  # fmt: skip
    assert manifest["validation_fraction"] is manifest["test_fraction"] is None
    assert manifest["read"] == 60 + 7 + 4 + 14
    assert manifest["splits"]["test"] == {
        "from": "source", "examples": 14, "near_copies": 3, "labels": {"bad": 8, "good": 6},
    }  # fmt: skip
    assert {part["from"] for part in manifest["splits"].values()} == {"source"}
    names = {key: [file["name"] for file in manifest["provenance"][key]] for key in ("inputs", "test_inputs")}
    assert names == {"inputs": ["mood-paths.jsonl"], "test_inputs": ["mood-test_paths.jsonl"]}
    assert manifest["provenance"]["validation_inputs"][0]["sha256"] == sha256(tmp_path / "mood-validation_paths.jsonl")


def test_a_further_test_is_held_out_too_and_whole(tmp_path):
    path = write_pairs(tmp_path / "hard.jsonl", [*HELD[:3], HELD[0], ("RT @me: held 4", "good"), ("new", "bad")])
    near = [("RT @you: held 2", "good"), ("new", "bad")]
    held = {"test": HELD[3:]}
    manifest = write(tmp_path / "mood", PAIRS + near, held, **{"files.further_tests": {"hard": [str(path)]}})
    dataset = read_dataset(tmp_path / "mood", "mood")
    assert dataset.further_tests == ["hard"]
    assert dataset.splits["hard"]["text"] == [text for text, _ in (*HELD[:3], HELD[0])] + ["RT @me: held 4", "new"]
    assert dataset.scored_on("hard").splits["test"] == dataset.splits["hard"]
    assert dataset.splits["test"]["text"] == [text for text, _ in HELD[3:]]
    assert not {text for text, _ in near} & {*dataset.splits["train"]["text"], *dataset.splits["validation"]["text"]}
    assert manifest["splits"]["hard"].items() >= {"from": "source", "examples": 6, "near_copies": 1}.items()
    assert manifest["splits"]["validation"]["from"] == "hash"
    plain = write(tmp_path / "plain", PAIRS, held)
    assert list(plain["splits"]) == list(read_dataset(tmp_path / "plain", "mood").splits) == list(SPLITS)


def test_a_further_test_without_labels_names_the_way_out(tmp_path):
    path = write_pairs(tmp_path / "hard.jsonl", [("a", None), ("b", None)])
    with pytest.raises(UserError, match=r"hard.jsonl hides.*or set .*files.further_tests.hard to \[\]$"):
        write(tmp_path / "mood", PAIRS, **{"files.further_tests": {"hard": [str(path)]}})


def test_a_group_is_in_one_split():
    kept = _Kept()
    kept.divide((Example(f"{n}", 0, {"group": n % 20}, group=f"group {n % 20}") for n in range(100)), (0.3, 0.3))
    groups = {split: {row["group"] for row in rows} for split, rows in kept.splits.items()}
    assert all(groups.values())
    assert sum(map(len, groups.values())) == 20
    assert sum(map(len, kept.splits.values())) == 100


@pytest.mark.parametrize("split", ["validation", "test"])
def test_what_the_source_does_not_hold_out_is_split_off(tmp_path, split):
    other = {"validation": "test", "test": "validation"}[split]
    write(tmp_path / "all", PAIRS)
    manifest = write(tmp_path / "mood", PAIRS, {split: HELD})
    found, without = everything(tmp_path / "mood"), everything(tmp_path / "all")
    assert found[split] == [(text, LABELS.index(label)) for text, label in HELD]
    assert found[other] == without[other]
    assert set(found["train"]) == {*without["train"], *without[split]}
    assert manifest[f"{split}_fraction"] is None
    assert manifest[f"{other}_fraction"] == 0.3
    origin = {name: part["from"] for name, part in manifest["splits"].items()}
    assert origin == {"train": "hash", split: "source", other: "hash"}


@pytest.mark.parametrize("split", ["validation", "test"])
def test_an_empty_split_is_an_error_and_leaves_nothing(tmp_path, split):
    write(tmp_path / "all", PAIRS)
    found = everything(tmp_path / "all")
    other = {"validation": "test", "test": "validation"}[split]
    pairs = [(text, LABELS[label]) for text, label in found["train"] + found[other]]
    with pytest.raises(
        UserError,
        match=f"^tasks/mood.yaml: dataset: the {split} split is empty, of {len(pairs)} examples in all; "
        "add examples, or change its fraction$",
    ):
        write(tmp_path / "mood", pairs)
    assert not (tmp_path / "mood").exists()


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_split_of_the_source_without_an_example_is_an_error(tmp_path, split):
    with pytest.raises(
        UserError,
        match=rf"^tasks/mood.yaml: dataset: the {split} split is empty, of 60 examples in all; give one with labels, "
        rf"or set tasks/mood.yaml: dataset.files.{split}_paths to \[\], and a part of the others becomes the {split} ",
    ):
        write(tmp_path / "mood", PAIRS, {split: [("other", "neutral")]})


@pytest.mark.parametrize("split", SPLITS)
def test_a_truncated_file_is_noticed(tmp_path, split):
    write(tmp_path / "mood", PAIRS)
    path = tmp_path / "mood" / f"{split}.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=rf"{re.escape(str(path))} .*\(truncated or changed\): .*dataset@mood`$"):
        read_dataset(tmp_path / "mood", "mood")


def test_a_folder_that_no_stage_wrote_is_refused(tmp_path):
    (tmp_path / "mood").mkdir()
    with pytest.raises(UserError, match=r"mood is incomplete \(no manifest.json\): run `dvc repro dataset@mood`$"):
        read_dataset(tmp_path / "mood", "mood")


def test_each_split_has_its_own_fraction(tmp_path):
    manifest = write(tmp_path / "task", PAIRS, validation_fraction=0.1, test_fraction=0.5)
    assert (manifest["validation_fraction"], manifest["test_fraction"]) == (0.1, 0.5)
    expected = {split: [] for split in SPLITS}
    for text, _ in PAIRS:
        expected[task_split_of(near_key(text), 0.1, 0.5)].append(text)
    assert {split: [text for text, _ in rows] for split, rows in everything(tmp_path / "task").items()} == expected
    assert len(expected["validation"]) < 12 < len(expected["test"])

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maskline.tasks.data import duplicate_key, write_task
from maskline.tasks.examples import read_task
from maskline.tasks.sources import TaskSource

from maskline import params
from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, sha256

LABELS = ["bad", "good"]
PAIRS = [(f"text number {i}", LABELS[i % 2]) for i in range(60)]


def write(directory, pairs, **changes):
    values = {"labels": LABELS, "validation_fraction": 0.3, "test_fraction": 0.3} | changes
    task = params.load().tasks["sentiment"].model_copy(update=values)
    return write_task(directory, "mood", TaskSource(pairs, {"source": "test"}, "none"), task)


def everything(directory):
    splits = {split: read_task(directory, split) for split in ("train", "validation", "test")}
    return {split: set(zip(found.texts, found.labels.tolist(), strict=True)) for split, found in splits.items()}


def test_a_label_with_half_a_surrogate_pair_is_left_out_and_counted(tmp_path):
    manifest = write(tmp_path / "mood", [*PAIRS, ("a text", "odd\ud800")])
    assert manifest["dropped"]["other_label"] == {r"odd\ud800": 1}
    assert manifest["examples"] == len(PAIRS)


def test_examples_come_back_with_the_index_of_their_label(tmp_path):
    manifest = write(tmp_path / "mood", PAIRS)
    found = everything(tmp_path / "mood")
    assert set.union(*found.values()) == {(text, LABELS.index(label)) for text, label in PAIRS}
    for split, examples in found.items():
        counts = manifest["splits"][split]
        assert counts["examples"] == len(examples) == sum(counts["labels"].values())
        assert counts["labels"]["good"] == sum(label for _, label in examples)
    train = read_task(tmp_path / "mood", "train")
    assert train.label_names == LABELS
    assert train.labels.dtype == np.int64


def test_what_is_dropped_is_counted(tmp_path):
    extra = [
        ("neither", "neutral"),
        ("nor", "mixed"),
        ("either", "neutral"),
        (" \u200b ", "good"),
        ("Text  NUMBER 1", "good"),
        ("RT @someone: text number 1 http://t.co/abc", "good"),
        ("text number 2", "good"),
        ("only a neutral twin", "bad"),
        ("only a neutral twin", "neutral"),
    ]
    manifest = write(tmp_path / "mood", PAIRS + extra)
    assert manifest["dropped"] == {
        "other_label": {"mixed": 1, "neutral": 3},
        "empty": 1,
        "duplicate": 2,
        "conflicting_label": 2,
    }
    assert manifest["read"] == 69
    assert manifest["examples"] == 69 - 4 - 1 - 2 - 2
    texts = {text for examples in everything(tmp_path / "mood").values() for text, _ in examples}
    assert "text number 1" in texts
    assert "text number 2" not in texts


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
    texts = ["fine :)", "fine :(", "fine!", "fine", "not fine", "RT fine", "👍", "👎", "ممتاز", "سيئ"]
    assert len({duplicate_key(text) for text in texts}) == len(texts)


def test_entities_become_characters_and_lines_are_joined(tmp_path):
    write(tmp_path / "mood", [*PAIRS, ("Q&amp;A &lt;3\r\r#now", "good")])
    assert ("Q&A <3 #now", 1) in set.union(*everything(tmp_path / "mood").values())


@given(st.sets(st.integers(0, 99), max_size=30), st.randoms())
@settings(deadline=None, max_examples=10)
def test_other_examples_and_their_order_move_none(tmp_path_factory, others, random):
    directory = tmp_path_factory.mktemp("split")
    more = PAIRS + [(f"RT @user: other text {i}", LABELS[i % 2]) for i in others]
    random.shuffle(more)
    write(directory / "a", PAIRS)
    write(directory / "b", more)
    before, after = everything(directory / "a"), everything(directory / "b")
    assert all(before[split] <= after[split] for split in before)


def test_a_copy_stands_where_its_original_would(tmp_path):
    write(tmp_path / "a", PAIRS)
    write(tmp_path / "b", [(f"RT @user: {text.upper()} http://t.co/x", label) for text, label in PAIRS])
    original, copy = everything(tmp_path / "a"), everything(tmp_path / "b")
    for split, examples in original.items():
        assert {duplicate_key(text) for text, _ in examples} == {duplicate_key(text) for text, _ in copy[split]}


def test_the_same_examples_are_the_same_bytes(tmp_path):
    for name in "ab":
        write(tmp_path / name, PAIRS)
    for path in (tmp_path / "a").iterdir():
        assert sha256(path) == sha256(tmp_path / "b" / path.name)


def test_a_label_that_never_occurs_lists_those_that_do(tmp_path):
    with pytest.raises(
        UserError, match=r"tasks.mood.labels: no example is labelled 'great'; the labels are 'bad', 'good'"
    ):
        write(tmp_path / "mood", PAIRS, labels=["bad", "great"])


def test_a_label_without_training_examples_is_an_error(tmp_path):
    held_out = next(pair for pair in ((f"rare {i}", "rare") for i in range(99)) if is_held_out(tmp_path, pair))
    with pytest.raises(UserError, match="no training example is labelled 'rare'"):
        write(tmp_path / "mood", [*PAIRS, held_out], labels=[*LABELS, "rare"])


def is_held_out(tmp_path, pair):
    write(tmp_path / "probe", [*PAIRS, (pair[0], "good")])
    return all(text != pair[0] for text in read_task(tmp_path / "probe", "train").texts)


def test_an_empty_split_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match=r"tasks.mood: the \w+ split is empty, of 2 examples"):
        write(tmp_path / "mood", PAIRS[:2])
    assert not (tmp_path / "mood" / MANIFEST).exists()


def test_a_truncated_file_is_noticed(tmp_path):
    write(tmp_path / "mood", PAIRS)
    path = tmp_path / "mood" / "train.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="truncated or changed"):
        read_task(tmp_path / "mood", "test")

from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.corpus.split import split_of, task_split_of

IDS = [f"article {i}" for i in range(20_000)]
fractions = st.floats(0.01, 0.49)


def test_the_split_is_a_promise_to_every_corpus_ever_written():
    held_out = [
        name for name in ("Paris", "Cairo", "القاهرة", "Oslo", "Lima", "Rome") if split_of(name, 0.5) != "train"
    ]
    assert held_out == ["Paris", "القاهرة"]
    texts = ("good", "bad", "so so", "رائع", "fine", "awful", "meh", "great", "dull")
    found = {text: task_split_of(text, 0.3, 0.3) for text in texts}
    assert {text: split for text, split in found.items() if split != "train"} == {"awful": "test", "dull": "test"}


def test_fractions_are_met():
    validation = sum(split_of(name, 0.1) == "validation" for name in IDS) / len(IDS)
    assert abs(validation - 0.1) < 0.01
    splits = [task_split_of(name, 0.2, 0.1) for name in IDS]
    assert abs(splits.count("validation") / len(IDS) - 0.2) < 0.01
    assert abs(splits.count("test") / len(IDS) - 0.1) < 0.01


@given(st.text(), fractions, fractions)
@settings(deadline=None, max_examples=200)
def test_a_larger_fraction_takes_from_train_alone(name, one, other):
    small, large = sorted((one, other))
    assert not (split_of(name, small) == "validation" and split_of(name, large) == "train")
    before, after = task_split_of(name, small, 0.2), task_split_of(name, large, 0.2)
    assert before == after or (before, after) == ("train", "validation")
    before, after = task_split_of(name, 0.2, small), task_split_of(name, 0.2, large)
    assert before == after or (before, after) == ("train", "test")


def test_articles_and_examples_of_one_text_are_split_apart():
    same = sum((split_of(name, 0.5) == "validation") == (task_split_of(name, 0.49, 0.5) == "test") for name in IDS)
    assert abs(same / len(IDS) - 0.5) < 0.02

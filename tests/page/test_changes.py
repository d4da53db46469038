"""Parameters that differ, as flags of `dvc exp run`."""

import shlex

import pytest

from maskline.page.changes import command, shown


def set_by(line):
    """Return what Hydra, which DVC reads flags with, takes from the only flag of a command."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    *words, flag = shlex.split(line)
    assert words == ["dvc", "exp", "run", "-S"]
    return OverridesParser.create().parse_override(flag)


@pytest.mark.parametrize(
    "value",
    [
        "plain", "/a/b-c_d.e", "", "MIT (x); y", "it's", "it\\'s", "end\\", "a=b,c", "$5 ${a} `b`", "<script>",
        "قط", "1.0", "null", "True", "0.0.7", ["a, b", "it's", "\"", "\\"], [], 1, 1e-5, True, None,
    ],
)  # fmt: skip
def test_the_command_sets_exactly_the_value(value):
    read = set_by(command(["a.b"], {"a.b": value}, {"a.b": "other"})).value()
    read = [str(getattr(part, "text", part)) for part in read] if isinstance(read, list) else read
    assert (read, type(read)) == (value, type(value))


def test_tasks_are_switched_on_and_off_and_the_file_of_one_that_is_off_is_left_out():
    ours = {"tasks.ner": "tokens", "tasks/ner.yaml:finetune.epochs": 5, "seed": 1}
    theirs = {"tasks.old": "spans", "tasks/old.yaml:finetune.epochs": 3, "seed": 0}
    keys = [*theirs, *ours]
    assert command(dict.fromkeys(keys), ours, theirs) == (
        "dvc exp run -S '~tasks.old' -S seed=1 -S +tasks.ner=tokens -S tasks/ner.yaml:finetune.epochs=5"
    )
    assert shown(dict.fromkeys(keys), ours, theirs) == ["tasks.old", "seed", "tasks.ner"]


def test_a_key_that_is_new_or_gone_is_told_as_such():
    assert command(["a", "b"], {"a": 1}, {"b": 2}) == "dvc exp run -S +a=1 -S '~b'"

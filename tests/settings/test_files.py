"""Settings files as strangers write them: whatever is in one, the fault is one short line."""

import shutil

import pytest

from maskline.core.errors import UserError
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS, load
from maskline.settings.presets import flags

BOMB = "x0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
"""Aliases of which the last stands for 9 ** 9 words."""
VALUES = {
    "deep": "[" * 1_000 + "]" * 1_000,
    "nested": "[" * 100 + "]" * 100,
    "digits": "9" * 5_000,
    "long number": "-0x" + "f" * 9_000,
    "no month": "2026-99-99",
    "no truth": "!!bool x",
    "no number": "!!int x",
    "long text": "x" * 1_000_000,
    "inside itself": "&z {a: *z}",
    "an object": "!!python/object/apply:os.getcwd []",
}


@pytest.fixture(autouse=True)
def _tasks(tmp_path):
    shutil.copytree("tasks", tmp_path / "tasks")


def fault(read, *arguments):
    with pytest.raises(UserError) as caught:
        read(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 700
    assert "missing" not in message
    return message


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_an_odd_value_is_one_short_line(tmp_path, value):
    path = tmp_path / "params.yaml"
    path.write_text(PARAMS.read_text().replace("seed: 0 ", f"seed: {value} ", 1))
    assert fault(load, path).startswith(str(path))


@pytest.mark.parametrize("key", ["seed", "tasks", "masking"])
def test_aliases_that_expand_without_end_do_not(tmp_path, key):
    path = tmp_path / "params.yaml"
    value = "{sentiment: *x8}" if key == "tasks" else "*x8"
    kept = [line for line in PARAMS.read_text().splitlines() if not line.startswith("seed")]
    path.write_text(f"{BOMB}seed: *x8\n" + "\n".join(kept))
    fault(load, path)
    path.write_text(f"# a bomb\n{BOMB}{key}: {value}\n")
    fault(flags, path, PARAMS)


def test_a_value_is_quoted_in_short_where_a_bomb_stands_for_it(tmp_path):
    path = tmp_path / "params.yaml"
    (path.parent / "p.yaml").write_text(f"# a bomb\nseed: {BOMB.splitlines()[0][4:]}\n")
    assert "seed is ['lol', 'lol'," in fault(flags, tmp_path / "p.yaml")
    nested = "&a [lol, lol, lol, lol, lol, lol, lol]"
    for name in "bcdefgh":
        nested = f"&{name} [{nested}, {', '.join([f'*{chr(ord(name) - 1)}'] * 6)}]"
    path.write_text(PARAMS.read_text().replace("seed: 0 ", f"seed: {nested} ", 1))
    assert "seed is [[" in fault(load, path)


def test_an_alias_that_stands_in_two_places_is_read(tmp_path):
    (tmp_path / "a.yaml").write_text("a: &a {b: 1}\nc: *a\nd: [*a, *a]\n")
    assert read_yaml(tmp_path / "a.yaml") == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}

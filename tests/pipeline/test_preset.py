"""Presets: differences that DVC reads back as what the file says."""

import csv
import io
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.errors import UserError
from maskline.settings.files import merge, read_yaml
from maskline.settings.params import PARAMS, load
from maskline.settings.presets import _overrides, _render, flags, load_presets, summary

ROOT = Path(__file__).parents[2]
PRESETS = sorted((ROOT / "presets").glob("*.yaml"))


def leaves(content, prefix=()):
    for key, value in content.items():
        if isinstance(value, dict):
            yield from leaves(value, (*prefix, key))
        else:
            yield (*prefix, key), value


def through_dvc(overrides, folder):
    """Return the settings files after `dvc exp run -S ...` has written them into a copy of the project's."""
    from dvc.utils.cli_parse import to_path_overrides
    from dvc.utils.hydra import apply_overrides

    shutil.copy(ROOT / PARAMS, folder)
    shutil.copytree(ROOT / "tasks", folder / "tasks", dirs_exist_ok=True)
    for name, changes in to_path_overrides(overrides).items():
        apply_overrides(folder / name, changes)
    return {path.relative_to(folder).as_posix(): read_yaml(path) for path in [folder / PARAMS, *folder.glob("tasks/*")]}


def expected(preset):
    """Return the project's settings files with the differences of a preset in them."""
    content = merge(read_yaml(ROOT / PARAMS), {key: value for key, value in preset.items() if "/" not in key})
    content["tasks"] = preset.get("tasks", content["tasks"])
    files = {path.relative_to(ROOT).as_posix(): read_yaml(path) for path in (ROOT / "tasks").glob("*.yaml")}
    return {PARAMS.name: content} | {name: merge(file, preset.get(name, {})) for name, file in files.items()}


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_preset_is_a_difference_that_dvc_reads_back(path, tmp_path):
    preset = read_yaml(path)
    assert summary(path)
    reference = read_yaml(ROOT / PARAMS) | {name: read_yaml(ROOT / name) for name in preset if "/" in name}
    known = dict(leaves(reference))
    assert not [key for key, value in leaves(preset) if key in known and known[key] == value]
    printed = subprocess.run(
        [sys.executable, "-m", "pipeline.preset", path.stem], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert printed[::2] == ["-S"] * (len(printed) // 2)
    assert through_dvc(printed[1::2], tmp_path) == expected(preset)
    assert load(tmp_path / PARAMS) == load_presets(path, reference=ROOT / PARAMS) != load(ROOT / PARAMS)


def test_a_preset_switches_tasks_on_and_off(tmp_path):
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    shutil.copy(ROOT / PARAMS, tmp_path)
    path = tmp_path / "p.yaml"
    path.write_text("# entities\ntasks: {ner: tokens}\ntasks/ner.yaml:\n  dataset: {word_prefix: a-}\n")
    printed = flags(path, reference=tmp_path / PARAMS)
    assert printed[1::2] == ["~tasks.sentiment", "+tasks.ner=tokens", "tasks/ner.yaml:dataset.word_prefix=a-"]
    written = through_dvc(printed[1::2], tmp_path)
    assert written["params.yaml"]["tasks"] == {"ner": "tokens"}
    assert load(tmp_path / PARAMS).task("ner").kind == "tokens"
    path.write_text("# other\ntasks/ner.yaml:\n  dataset: {word_prefix: a-}\n")
    with pytest.raises(UserError, match=r"tasks/ner.yaml belongs to no task that is switched on"):
        flags(path, reference=ROOT / PARAMS)


def test_without_any_task_params_yaml_is_whole(tmp_path):
    assert through_dvc(["~tasks.sentiment"], tmp_path)["params.yaml"]["tasks"] == {}
    assert load(tmp_path / PARAMS).tasks == {}


def test_the_texts_of_toy_are_what_it_says():
    toy = ROOT / "presets" / "toy"
    content = {path: path.read_text(encoding="ascii") for path in toy.iterdir()}
    articles = content.pop(toy / "articles.txt").strip().split("\n\n")
    assert len(set(articles)) == len(articles) == 60
    assert all(article.count(" . ") == 1 and article.endswith(" .") for article in articles)  # two sentences each
    sentences = [sentence for article in articles for sentence in article.split(" . ")]
    assert len(set(sentences)) == 120
    reviews = list(csv.DictReader(io.StringIO(content.pop(toy / "reviews.csv"))))
    assert not content
    texts = {review["text"] for review in reviews}
    assert len(texts) == len(reviews) == 60
    assert Counter(review["sentiment"] for review in reviews) == {"positive": 30, "negative": 30}
    words = set(" ".join(articles).lower().split())
    assert not {word for text in texts for word in text.lower().split()} - words
    assert all(word.isalpha() or word in {".", ","} for word in words)


def test_lists_nulls_and_text_that_looks_like_a_number(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        """# everything
corpus:
  source: files
  hub: {config: "20231101", revision: "null"}
  files: {paths: [../data/*.jsonl.gz, b-1.txt]}
  sample: {members: {de: a/b.json}}
tasks/sentiment.yaml:
  dataset: {labels: [سلبي, إيجابي]}
  finetune: {epochs: 3}
pretrain: {steps: null, epochs: 5, peak_lr: 5e-5, nsp: false}
"""
    )
    printed = " ".join(flags(path, reference=ROOT / PARAMS)).split()
    path.rename(tmp_path / "preset")
    assert through_dvc(printed[1::2], tmp_path) == expected(read_yaml(tmp_path / "preset"))


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@settings(deadline=None, max_examples=200)
@given(st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3), max_leaves=4))
def test_every_value_comes_back_or_is_refused(value):
    from dvc.utils.hydra import to_hydra_overrides

    try:
        rendered = _render(value, "here")
    except UserError:
        return
    assert rendered.split() == [rendered]
    (override,) = to_hydra_overrides([f"key={rendered}"])
    assert repr(override.value()) == repr(value)


@pytest.mark.parametrize("text", ["two words", "$HOME", "a;b", "a'b", "`id`", "a\nb", "{a}", "a\\b", "a\x00b"])
def test_text_that_a_shell_would_take_apart_is_refused(text):
    with pytest.raises(UserError, match="do not survive"):
        _render(text, "here")


def fails(tmp_path, content):
    path = tmp_path / "p.yaml"
    path.write_text(content)
    with pytest.raises(UserError) as error:
        flags(path, reference=ROOT / PARAMS)
    return str(error.value)


def test_a_preset_that_params_would_refuse_is_refused(tmp_path):
    assert "unknown key model.layrs" in fails(tmp_path, "model: {layrs: 4}")
    assert "hidden 130 is not divisible by heads 4" in fails(tmp_path, "model: {hidden: 130, heads: 4}")
    for nothing in ("# nothing\n", "model: {}", "model:\n  {}\npretrain: {}\n"):
        assert "changes nothing" in fails(tmp_path, nothing)


@pytest.mark.parametrize(
    "key",
    ["x --set-param y", "x=1 -n", "$(id)", "a;b", "a=b", "a.b", "a:b", "~a", "+a", "-a", "a@b", "a/b", "", "é", "1"],
)
def test_a_key_of_a_free_mapping_brings_no_argument(tmp_path, key):
    message = fails(tmp_path, f"corpus: {{sample: {{members: {{{json.dumps(key)}: a.json}}}}}}")
    assert f"{key!r} is a key of more than" in message


@given(st.text(max_size=6))
def test_every_key_comes_back_or_is_refused(key):
    from dvc.utils.hydra import to_hydra_overrides

    content = {"corpus": {"sample": {"members": {key: "a"}}}}
    try:
        (rendered,) = _overrides({}, content, "", Path("p.yaml"))
    except UserError:
        return
    assert rendered.split() == [rendered]
    (override,) = to_hydra_overrides([rendered])
    assert (override.key_or_group, override.package, override.value()) == (f"corpus.sample.members.{key}", None, "a")


def test_of_several_presets_the_later_has_the_last_word(tmp_path):
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text("# a\nseed: 1\nmodel: {layers: 4}\ntasks: {}\n")
    second.write_text("# b\nseed: 2\ntasks: {ner: tokens}\n")
    assert flags(first, second, reference=ROOT / PARAMS)[1::2] == [
        "seed=2", "model.layers=4", "~tasks.sentiment", "+tasks.ner=tokens",
    ]  # fmt: skip
    second.write_text("# b\nmodel: {heads: 7}\n")
    with pytest.raises(UserError, match=r"a\.yaml and .*b\.yaml: model: hidden 128 is not divisible"):
        flags(first, second, reference=ROOT / PARAMS)


def test_keys_that_are_no_text_are_refused(tmp_path):
    assert "1 is no key of" in fails(tmp_path, "1: {a: 2}")
    assert "7: " in fails(tmp_path, "corpus: {sample: {members: {7: a.json}}}")


def test_the_languages_of_a_sample_are_keys(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("# scripts\ncorpus: {sample: {members: {zh-Hans: a.json, no: b.json}}}")
    assert flags(path, reference=ROOT / PARAMS)[1::2] == [
        "+corpus.sample.members.zh-Hans=a.json", "+corpus.sample.members.no=b.json",
    ]  # fmt: skip


def test_a_summary_that_is_not_utf_8_ends_no_list(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"# caf\xe9\nseed: 1\n")
    assert summary(tmp_path / "a.yaml") == "caf\ufffd"


def test_a_byte_order_mark_is_no_part_of_a_summary(tmp_path):
    (tmp_path / "a.yaml").write_text("# of an editor\nseed: 1\n", encoding="utf-8-sig")
    assert summary(tmp_path / "a.yaml") == "of an editor"
    assert flags(tmp_path / "a.yaml", reference=PARAMS) == ["-S", "seed=1"]


def test_a_folder_without_presets_is_no_empty_list(tmp_path):
    command = [sys.executable, "-m", "pipeline.preset", "--presets", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: no preset in {tmp_path}: run from the folder of the project")


def test_the_list_and_an_unknown_name():
    command = [sys.executable, "-m", "pipeline.preset"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [path.stem for path in PRESETS]
    done = subprocess.run([*command, "nope"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"error: no preset nope in presets: there are {', '.join(path.stem for path in PRESETS)}\n"

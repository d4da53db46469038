import copy
import math
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from maskline.core.errors import UserError
from maskline.core.section import Section
from maskline.model.bert.settings import Settings as Bert
from maskline.model.modernbert.settings import Settings as ModernBert
from maskline.model.settings import ModelParams
from maskline.settings.files import merge, read_yaml
from maskline.settings.params import PARAMS, Params, load, parse, settings_files, task_files
from maskline.tasks.classification.settings import Settings as ClassificationSettings

ROOT = Path(__file__).parents[2]
REFERENCE = read_yaml(PARAMS)
FILES = task_files(REFERENCE)


def changed(**values):
    """Return the contents of params.yaml and of the tasks' files, by task, with values set under dotted keys.

    `__` stands for a dot; `sentiment:finetune__epochs` is a key of the file of a task.
    """
    content, files = copy.deepcopy(REFERENCE), copy.deepcopy(FILES)
    for key, value in values.items():
        task, _, rest = key.rpartition(":")
        *parents, last = rest.split("__")
        section = files[task] if task else content
        for parent in parents:
            section = section[parent]
        section[last] = value
    return content, files


def write(folder, content, files):
    """Write params.yaml and the files of the tasks to `folder`; return the path of the former."""
    (folder / "tasks").mkdir()
    for name, part in {"params.yaml": content, **{f"tasks/{task}.yaml": file for task, file in files.items()}}.items():
        with (folder / name).open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(part, file)
    return folder / "params.yaml"


def test_the_reference_is_accepted_and_cannot_be_changed_afterwards():
    params = load()
    assert isinstance(params, Params)
    assert params.model.layers == REFERENCE["model"]["layers"]
    with pytest.raises(ValueError, match="frozen"):
        params.model.layers = 3


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("model__layers", "four", "params.yaml: model.layers is 'four': input should be a valid integer"),
        ("model__layers", 2.5, "params.yaml: model.layers is 2.5: input should be a valid integer"),
        ("model__layers", True, "params.yaml: model.layers: True stands where a number or a text is meant"),
        ("model__layers", 0, "params.yaml: model.layers is 0: input should be greater than or equal to 1"),
        ("model__hidden", 2**31 - 1, "params.yaml: model.hidden is 2147483647: input should be less than or equal to"),
        ("model__layers", 10**6, "params.yaml: model.layers is 1000000: input should be less than or equal to 1000"),
        (
            "model__intermediate",
            10**6,
            "params.yaml: model.intermediate is 1000000: input should be less than or equal",
        ),
        ("model__max_positions", 10**6, "params.yaml: model.max_positions is 1000000: input should be less than or eq"),
        ("compute__threads", 10**12, "params.yaml: compute.threads is 1000000000000: input should be less than"),
        ("tokenizer__vocab_size", 10**17, "tokenizer.vocab_size is 100000000000000000: input should be less than"),
        ("model__layers", None, "params.yaml: model.layers is None: input should be a valid integer"),
        ("model__dropout", False, "params.yaml: model.dropout: False stands where a number or a text is meant"),
        ("model__layer", 2, "params.yaml: unknown key model.layer: check the spelling"),
        ("modell", {}, "params.yaml: unknown key modell: check the spelling"),
        ("model", [2], r"params.yaml: model is \[2\]: input should be"),
        ("model__hidden", 130, "params.yaml: model: hidden 130 is not divisible by heads 4: heads may be 1, 2, 5, 10,"),
        ("model__activation", "swish", "params.yaml: model.activation is 'swish': input should be 'gelu', 'gelu_tanh'"),
        ("pretrain__max_seq_length", 129, "pretrain.max_seq_length 129 is longer than model.max_positions 128"),
        ("premask__max_seq_length", 513, "premask.max_seq_length 513 is longer than model.max_positions 128"),
        (
            "finetune__max_seq_length",
            129,
            "params.yaml: finetune.max_seq_length 129 is longer than model.max_positions",
        ),
        (
            "sentiment:finetune__max_seq_length",
            129,
            "tasks/sentiment.yaml: finetune.max_seq_length 129 is longer than model.max_positions 128: shorten the",
        ),
        ("pretrain__peak_lr", "fast", "params.yaml: pretrain.peak_lr is 'fast': input should be a valid number"),
        ("pretrain__peak_lr", math.nan, "params.yaml: pretrain.peak_lr is nan: input should be a finite number"),
        ("pretrain__clip_norm", math.inf, "params.yaml: pretrain.clip_norm is inf: input should be a finite number"),
        ("pretrain__peak_lr", True, "params.yaml: pretrain.peak_lr: True stands where a number or a text is meant"),
        ("pretrain__steps", True, "params.yaml: pretrain.steps: True stands where a number or a text is meant"),
        ("pretrain__steps", None, "params.yaml: pretrain: give steps or epochs"),
        ("pretrain__epochs", 2, "params.yaml: pretrain: give steps or epochs"),
        ("pretrain__final_seq_length", 512, "pretrain.final_seq_length 512 is longer than model.max_positions 128"),
        (
            "encoder__model",
            "data/imported/model",
            "data/imported/model was trained with another tokenizer than data/tok",
        ),
        (
            "encoder__model",
            "data/models/other",
            "encoder.model is 'data/models/other': input should be 'data/models/pr",
        ),
        ("imported__source", "directory", "imported: source is directory, and directory is null: name one that"),
        ("pretrain__final_seq_length", 128, "final_seq_length 128 is not longer than max_seq_length 128: raise it, or"),
        ("pretrain__final_share", 1, "params.yaml: pretrain.final_share is 1: input should be less than 1"),
        ("pretrain__steps", 100, "params.yaml: pretrain: warmup_steps 100 leaves nothing of 100 steps"),
        (
            "pretrain__schedule",
            "step",
            "params.yaml: pretrain.schedule is 'step': input should be 'linear', 'constant'",
        ),
        ("pretrain__decay_share", 0, "params.yaml: pretrain.decay_share is 0: input should be greater than 0"),
        ("pretrain__decay_share", 1.5, "params.yaml: pretrain.decay_share is 1.5: input should be less than or equal"),
        ("pretrain__clip_norm", 0, "params.yaml: pretrain.clip_norm is 0: input should be greater than 0"),
        ("pretrain__micro_batch", 64, "params.yaml: pretrain: micro_batch 64 is more than global_batch 32"),
        ("pretrain__nsp", "perhaps", "params.yaml: pretrain.nsp is 'perhaps': input should be a valid boolean"),
        ("masking__random", 0.3, "params.yaml: masking: mask [+] random is 1.1: at most 1"),
        ("premask__mask", 0.95, "params.yaml: premask: mask [+] random is 1.05: at most 1"),
        ("masking__rate", 0, "params.yaml: masking.rate is 0: input should be greater than 0"),
        ("masking__rate", math.nan, "params.yaml: masking.rate is nan: input should be a finite number"),
        ("masking__final_rate", 0, "params.yaml: masking.final_rate is 0: input should be greater than 0"),
        ("masking__final_rate", 1.1, "params.yaml: masking.final_rate is 1.1: input should be less than or equal to 1"),
        ("premask__final_rate", 0.1, "params.yaml: unknown key premask.final_rate"),
        (
            "corpus__layout",
            "wikitext",
            "params.yaml: corpus: layout wikitext is for the sources hub and files, and source",
        ),
        ("corpus__files__max_articles", 0, "params.yaml: corpus.files.max_articles is 0: input should be greater than"),
        (
            "corpus__files__validation_paths",
            "a.txt",
            "params.yaml: corpus.files.validation_paths is 'a.txt': input should",
        ),
        ("corpus__sample__version", 1.0, "params.yaml: corpus.sample.version is 1.0: input should be a valid string"),
        ("corpus__sample__package", "--index-url", "params.yaml: corpus.sample.package is '--index-url'"),
        ("sentiment:dataset__labels", ["a", "a"], "^tasks/sentiment.yaml: dataset: labels must differ"),
        (
            "sentiment:dataset__test_fraction",
            0.9,
            "^tasks/sentiment.yaml: dataset: validation_fraction [+] test_fraction",
        ),
        ("sentiment:dataset__hub", None, "^tasks/sentiment.yaml: dataset: source is hub, and there is no section hub"),
        ("sentiment:dataset__source", "web", "^tasks/sentiment.yaml: dataset.source is 'web': input should be"),
        ("sentiment:finetune__peak_lr", "fast", "^tasks/sentiment.yaml: finetune.peak_lr is 'fast': input should be a"),
        ("sentiment:finetune__peak", 0.1, "^tasks/sentiment.yaml: unknown key finetune.peak: check the spelling, or"),
        ("sentiment:finetun", {}, "^tasks/sentiment.yaml: unknown key finetun: check the spelling, or remove it"),
        ("sentiment:kind", "classificatio", "^tasks/sentiment.yaml: kind is 'classificatio': input should be 'classif"),
        ("sentiment:finetune__class_weights", "even", "^tasks/sentiment.yaml: finetune.class_weights is 'even': input"),
        ("finetune__class_weights", "none", "^params.yaml: unknown key finetune.class_weights: check the spelling, or"),
        ("task_settings", {}, "^params.yaml: unknown key task_settings: remove it"),
        ("tasks", ["sentiment"], r"^params.yaml: tasks is \['sentiment'\]: input should be a valid dictionary"),
        ("compute__device", "gpu", "params.yaml: compute.device is 'gpu': "),
        ("model__architecture", "gpt", "^params.yaml: model.architecture is 'gpt': give bert or modernbert$"),
        (
            "model__rope_theta",
            9.0,
            "^params.yaml: model: architecture bert has no rope_theta: set it to null, as the pre",
        ),
        (
            "model__architecture",
            "modernbert",
            "^params.yaml: model: architecture modernbert has no activation, .*matched_heads: set them to null, as the",
        ),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_one_line(key, value, expected):
    also = {"model__hidden": {"model__heads": 4}, "sentiment:dataset__hub": {"sentiment:dataset__source": "hub"}}
    with pytest.raises(UserError, match=expected) as error:
        parse(*changed(**{key: value} | also.get(key, {})))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"initial_batch": 8}, "give initial_batch and ramp_steps, or leave both null"),
        ({"ramp_steps": 8}, "give initial_batch and ramp_steps, or leave both null"),
        ({"initial_batch": 12, "ramp_steps": 8}, "initial_batch 12 does not divide global_batch 32"),
        ({"initial_batch": 64, "ramp_steps": 8}, "initial_batch 64 does not divide global_batch 32"),
        ({"initial_batch": 8, "ramp_steps": 200, "steps": 200}, "ramp_steps 200 leaves nothing of 200 steps: lower it"),
    ],
)
def test_a_ramp_that_cannot_be_is_refused_in_one_line(changes, expected):
    contents = changed(**{f"pretrain__{key}": value for key, value in changes.items()})
    with pytest.raises(UserError, match=f"^params.yaml: pretrain: {expected}"):
        parse(*contents)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"schedule": "noam", "warmup_steps": 0}, "schedule noam reaches peak_lr at the end of the warm-up: give"),
        ({"schedule": "cosine", "warmup_steps": 50, "steps": 50}, "warmup_steps 50 leaves nothing of 50 steps: lower"),
        (
            {"schedule": "trapezoid", "warmup_steps": 21, "steps": 100, "decay_share": 0.8},
            "warmup_steps 21 and decay_share 0.8 overlap in 100 steps: lower one, or train longer",
        ),
    ],
)
def test_a_schedule_that_does_not_fit_is_refused_in_one_line(changes, expected):
    for section, place in (
        ("pretrain", "params.yaml: pretrain"),
        ("sentiment:finetune", "tasks/sentiment.yaml: finetune"),
    ):
        lengths = {"steps": 50, "epochs": None}
        contents = changed(**{f"{section}__{key}": value for key, value in (lengths | changes).items()})
        with pytest.raises(UserError, match=f"^{place}: {expected}") as error:
            parse(*contents)
        assert "\n" not in str(error.value)


def test_the_longest_schedule_that_fits_is_accepted():
    fits = {"schedule": "trapezoid", "warmup_steps": 45, "steps": 100, "decay_share": 0.55}  # 0.55 * 100 > 55
    recipe = parse(*changed(**{f"pretrain__{key}": value for key, value in fits.items()})).pretrain
    assert recipe.schedule_error(100) is None
    assert parse(*changed(pretrain__schedule="noam", pretrain__warmup_steps=1000)).pretrain.schedule_error(2) is None


def test_a_misspelt_key_is_named_and_not_the_one_that_it_leaves_missing():
    content, files = changed()
    content["model"]["layer"] = content["model"].pop("layers")
    with pytest.raises(UserError, match=r"^params.yaml: unknown key model.layer: .* \(and 1 more\)$"):
        parse(content, files)


MODERN = {
    "model__architecture": "modernbert",
    "model__rope_theta": 10_000.0,
    "model__neighbour_heads": 2,
    "model__neighbour_score": 4.0,
    "pretrain__nsp": False,
    **{f"model__{key}": None for key in Bert.model_fields.keys() - ModernBert.model_fields.keys()},
}


def test_keys_of_all_architectures_are_set_alike():
    params = parse(*changed(**MODERN, model__layers=3, model__heads=2))
    assert type(params.model) is ModernBert
    assert (params.model.layers, params.model.heads, params.model.rope_theta) == (3, 2, 10_000.0)
    assert "matched_heads" not in params.model_dump()["model"]
    assert params.pretraining().model is params.model
    assert params.finetuning("sentiment").model is params.model
    assert parse(*changed(model__rope_theta=None)) == parse(*changed())


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (
            "pretrain__nsp",
            True,
            "pretrain.nsp is true, and the architecture modernbert has no segments to tell the sent",
        ),
        (
            "model__matched_heads",
            2,
            "model: architecture modernbert has no matched_heads: set it to null, as the preset",
        ),
        ("model__heads", 128, "model: hidden 128 of 128 heads is 1 numbers each, and rotary positions turn pairs of"),
        ("model__heads", 3, "model: hidden 128 is not divisible by heads 3: heads may be 1, 2, 4"),
        ("model__neighbour_heads", 5, "model: neighbour_heads 5 is more than heads 4"),
        ("model__rope_theta", 0, "model.rope_theta is 0: input should be greater than 0"),
        ("model__rope_theta", True, "model.rope_theta: True stands where a number or a text is meant"),
        ("model__ropes", 1, "unknown key model.ropes"),
    ],
)
def test_what_does_not_fit_modernbert_is_refused_in_one_line(key, value, expected):
    with pytest.raises(UserError, match=f"^params.yaml: {expected}") as error:
        parse(*changed(**MODERN | {key: value}))
    assert "\n" not in str(error.value)


def test_a_section_without_architecture_is_told():
    content, files = changed()
    del content["model"]["architecture"]
    with pytest.raises(UserError, match=r"^params.yaml: key model.architecture is missing: `git restore"):
        parse(content, files)


def test_a_missing_key_and_further_faults_are_told():
    content, files = changed(model__layers="four", model__heads="two")
    del content["pretrain"]["nsp"]
    with pytest.raises(UserError, match=r"model.layers is 'four'.* \(and 2 more\)$"):
        parse(content, files)
    content, _ = changed()
    del content["pretrain"]["nsp"]
    with pytest.raises(UserError, match=r"^params.yaml: key pretrain.nsp is missing: `git restore params.yaml`"):
        parse(content, files)
    content, files = changed()
    del files["sentiment"]["dataset"]["labels"]
    missing = r"^tasks/sentiment.yaml: key dataset.labels is missing: `git restore tasks/sentiment.yaml`"
    with pytest.raises(UserError, match=missing):
        parse(content, files)


def test_each_task_has_the_recipe_with_the_differences_of_its_own_file():
    content, files = changed(finetune__epochs=3, finetune__peak_lr=0.25)
    content["tasks"] = {"sentiment": "classification", "mood": "classification"}
    files["sentiment"]["finetune"] = {"class_weights": "none", "steps": 70, "epochs": None, "warmup_steps": 7}
    files["mood"] = copy.deepcopy(files["sentiment"]) | {"finetune": {"class_weights": "balanced"}}
    params = parse(content, files)
    assert params.tasks == content["tasks"]
    recipe = params.finetune
    assert (recipe.epochs, recipe.steps, recipe.peak_lr) == (3, None, 0.25)
    one, other = (params.task(name).finetune for name in ("sentiment", "mood"))
    differences = {"steps": 70, "epochs": None, "warmup_steps": 7}
    assert one.model_dump() == recipe.model_dump() | differences | {"class_weights": "none", "pooling": "cls"}
    assert other.model_dump() == recipe.model_dump() | {"class_weights": "balanced", "pooling": "cls"}
    assert params.finetuning("mood").recipe.model_dump() == other.model_dump()
    assert params.finetuning("mood").model == params.model
    assert params.task("mood").kind == "classification"
    assert params.task("mood").dataset.labels == ["negative", "positive"]


@pytest.mark.parametrize("finetune", [{}, {"finetune": None}])
def test_a_file_without_differences_has_the_recipe(finetune):
    """Of a classifier, the class weights alone are missing then."""
    content, files = changed()
    del files["sentiment"]["finetune"]
    with pytest.raises(UserError, match=r"^tasks/sentiment.yaml: key finetune.class_weights is missing: [^(]*$"):
        parse(content, {"sentiment": files["sentiment"] | finetune})


def test_a_merge_keeps_what_differs_not_and_takes_lists_whole():
    content = {"a": {"b": 1, "c": {"d": 2, "e": [3, 4]}}, "f": 5}
    assert merge(content, {"a": {"c": {"e": [6]}}}) == {"a": {"b": 1, "c": {"d": 2, "e": [6]}}, "f": 5}
    assert merge(content, {"a": None, "g": {"h": 7}}) == {"a": None, "f": 5, "g": {"h": 7}}
    assert content == {"a": {"b": 1, "c": {"d": 2, "e": [3, 4]}}, "f": 5}


def test_a_task_that_is_not_switched_on_is_told():
    with pytest.raises(UserError, match=r"^no task mood is switched on: `tasks` in params.yaml has sentiment$"):
        parse(*changed()).task("mood")
    with pytest.raises(UserError, match=r"^no task mood is switched on: `tasks` in params.yaml has none$"):
        parse(*changed(tasks={})).finetuning("mood")


def test_a_task_without_a_file_is_told(tmp_path):
    path = write(tmp_path, *changed(tasks={"sentiment": "classification", "mood": "classification"}))
    with pytest.raises(UserError, match=r"tasks/mood.yaml is missing: run from the folder that holds it, or") as error:
        load(path)
    assert str(error.value).startswith(str(tmp_path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [None, "text", [1]])
def test_a_file_of_a_task_that_holds_no_sections_is_told(content):
    _, files = changed()
    files["sentiment"] = content
    with pytest.raises(UserError, match=r"^tasks/sentiment.yaml: expected sections such as `model:`, found"):
        parse(REFERENCE, files)


@pytest.mark.parametrize("kind", ["clasification", "settings", None, True, ["classification"]])
def test_an_unknown_kind_is_told_with_those_that_there_are(kind):
    kinds = sorted(path.parent.name for path in (ROOT / "src" / "maskline" / "tasks").glob("*/settings.py"))
    assert "classification" in kinds
    with pytest.raises(UserError) as error:
        parse(*changed(tasks={"sentiment": kind}))
    assert str(error.value) == (f"params.yaml: tasks.sentiment is {kind!r}, no kind of task: give {' or '.join(kinds)}")


@pytest.mark.parametrize("name", ["pretrained", "Ner", "a-b", "a.b", "../a", "", "_a", "1a", "é", "a\n", 3, None])
def test_a_name_that_no_folder_could_have_is_refused(tmp_path, name):
    with pytest.raises(UserError, match=r"a name has small letters, digits and _, begins with a letter, and") as error:
        task_files({"tasks": {name: "classification"}}, tmp_path / "params.yaml")
    assert str(error.value).startswith(f"{tmp_path / 'params.yaml'}: tasks has {name!r}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["a", "pretrained2", "not_pretrained", "x1_y"])
def test_other_names_are_taken(tmp_path, name):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / f"{name}.yaml").write_text("dataset: {}\n")
    found = task_files({"tasks": {name: "classification"}}, tmp_path / "params.yaml")
    assert found == {name: {"dataset": {}}}


def test_settings_of_a_task_in_params_yaml_are_sent_to_its_file(tmp_path):
    path = write(tmp_path, *changed(tasks={"sentiment": FILES["sentiment"]["dataset"]}))
    moved = (
        "tasks.sentiment holds settings, which stand in tasks/sentiment.yaml now: give its kind here, classification"
    )
    with pytest.raises(UserError, match=moved) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_the_recipe_of_a_task_in_params_yaml_is_sent_to_its_file(tmp_path):
    path = write(tmp_path, *changed(finetune__sentiment={"epochs": 2}))
    moved = "finetune.sentiment is no key any more: .* `finetune` in tasks/sentiment.yaml what differs$"
    with pytest.raises(UserError, match=moved) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"finetune\.sentiment is no key any more"):
        parse(*changed(finetune={"sentiment": {"epochs": 2}}))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("finetune__peak_lr", "fast", "^params.yaml: finetune.peak_lr is 'fast': input should be a valid number"),
        ("finetune__peak", 0.1, "^params.yaml: unknown key finetune.peak: check the spelling, or remove it"),
        ("finetune__epochs", None, "^params.yaml: finetune: give steps or epochs"),
        ("finetune", {}, "^params.yaml: key finetune.optimizer is missing"),
        ("finetune", None, "^params.yaml: finetune is None"),
    ],
)
def test_a_fault_in_the_recipe_names_the_file_that_holds_it(key, value, expected):
    with pytest.raises(UserError, match=expected):
        parse(*changed(**{key: value}))


def test_all_files_of_a_run_are_read_by_their_name(tmp_path):
    content, files = changed(finetune__epochs=5)
    write(tmp_path, content, files)
    assert settings_files(tmp_path) == {"params.yaml": content, "tasks/sentiment.yaml": files["sentiment"]}
    (tmp_path / "params.yaml").write_text("")
    with pytest.raises(UserError, match=r"params.yaml has no parameters: `git restore"):
        settings_files(tmp_path)


@pytest.mark.parametrize("text", ["1e-4", "1.0e-04", "0.0001", "'1e-4'", '"1e-04"', "1E-4"])
def test_a_learning_rate_is_a_number_however_it_is_written(tmp_path, text):
    """DVC rewrites `-S lr=0.0001` as 1e-4, which YAML 1.1 readers take for text."""
    path = write(tmp_path, *changed())
    peak_lr = REFERENCE["pretrain"]["peak_lr"]
    content = PARAMS.read_text(encoding="utf-8")
    line = next(line for line in content.splitlines() if line.startswith("  peak_lr:"))
    path.write_text(content.replace(line, f"  peak_lr: {text}"), encoding="utf-8")
    assert peak_lr != 1e-4
    assert load(path).pretrain.peak_lr == 1e-4


def test_numbers_are_read_by_value():
    params = parse(*changed(model__layers=2.0, model__heads="4", pretrain__peak_lr="5e-05", seed=7.0))
    assert (params.model.layers, params.model.heads, params.pretrain.peak_lr, params.seed) == (2, 4, 5e-5, 7)
    assert type(params.model.layers) is type(params.model.heads) is type(params.seed) is int


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 100))
def test_rates_that_make_up_the_whole_are_accepted(percent):
    masking = parse(*changed(masking__mask=percent / 100, masking__random=(100 - percent) / 100)).masking
    assert masking.mask + masking.random <= 1


def fields(section, prefix=""):
    """Yield the dotted key and the annotation of every leaf below a section."""
    for name, field in section.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        if sections := [kind for kind in kinds if issubclass(kind, Section)]:
            yield from fields(sections[0], f"{prefix}{name}__")
        else:
            yield f"{prefix}{name}", field.annotation


@pytest.mark.parametrize(
    "key",
    [
        *(key for key, annotation in fields(Params) if annotation is not bool and not key.startswith("task_settings")),
        *(f"model__{key}" for key in Bert.model_fields if key not in ModelParams.model_fields),
        *(f"sentiment:{key}" for key, annotation in fields(ClassificationSettings) if annotation is not bool),
    ],
)
def test_no_key_but_a_switch_takes_true(key):
    with pytest.raises(UserError, match=rf"\b{key.rpartition(':')[2].replace('__', '.')}\b"):
        parse(*changed(**{key: True}))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "is missing: run from the folder that holds it"),
        (b"model: [", "is no YAML: "),
        (b"model:\n  layers: 1\n  layers: 2\n", "is no YAML: .*duplicate"),
        (b"\xff\xfe\x00", "is no YAML: "),
        (b"!!python/object/apply:os.system ['true']", "is no YAML: "),
        (b"", "expected sections such as `model:`, found NoneType"),
        (b"- 1\n", "expected sections such as `model:`, found list"),
    ],
)
def test_a_file_that_is_no_parameters_is_told_in_one_line(tmp_path, content, expected):
    path = tmp_path / "params.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=expected) as error:
        load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("stage", [["pretrain"], ["finetune", "sentiment"], ["score", "sentiment"]])
def test_a_stage_tells_a_bad_value_before_it_imports_what_is_slow(tmp_path, stage):
    path = write(tmp_path, *changed(model__layers="four"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", f"pipeline.{stage[0]}", *stage[1:], "--params", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": "src"},
        cwd=ROOT,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {path}: model.layers is 'four': input should be a valid integer")
    assert done.stderr.count("\n") == 1
    # Processor time, which another process on the same core does not add to.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2

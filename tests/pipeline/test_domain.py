"""A model goes on with the texts of a domain, from stage to stage; docs/domain.md says how."""

import importlib
import re
import shlex
import shutil
from itertools import pairwise

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, read_manifest, write_json
from maskline.examples.premasked import read_premasked
from maskline.model.directory import load_pretraining_model, read_shape
from maskline.settings.files import read_yaml
from maskline.settings.params import load
from tests.project import ROOT, change

GUIDE = (ROOT / "docs" / "domain.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for line in re.sub(r"\\\n *", "", block).splitlines()
]
SHELL = [command for command in COMMANDS if not command.startswith("dvc")]
SMALL = {
    "corpus.min_characters": 10,
    "corpus.near_duplicates": None,
    "tokenizer.max_fertility": None,
    "corpus.validation_fraction": 0.3,
    "model.layers": 2,  # that of the model is 1
    "pretrain.steps": 6,
    "pretrain.warmup_steps": 2,
    "pretrain.evaluate_every": 3,
}


def run(stage, *arguments):
    importlib.import_module(f"pipeline.{stage}").main(*arguments)


def dotted(content, prefix=""):
    for key, value in content.items():
        if isinstance(value, dict):
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def write_domain(folder, articles=40):
    (folder / "texts").mkdir(exist_ok=True)
    verbs = ("meets", "follows", "sees")
    lines = [
        f"The aerodynamics of engine {n} {verbs[n % 3]} turbulence. A river {verbs[n // 3 % 3]} the aerodynamics."
        for n in range(articles)
    ]
    (folder / "texts" / "domain.txt").write_text("\n\n".join(lines) + "\n")


@pytest.fixture(name="project")
def _project(tiny_project, tmp_path, monkeypatch):
    """Return a project whose model was copied as the guide says, with the preset and the texts of a domain."""
    project = shutil.copytree(tiny_project, tmp_path / "project")
    monkeypatch.chdir(project)
    run("pretrain")
    general = project / "data" / "general"
    general.mkdir()
    shutil.copytree(project / "data" / "models" / "pretrained", general / "model")
    shutil.copytree(project / "data" / "validation", general / "validation")
    write_domain(project)
    files = {"corpus.source": "files", "corpus.files.paths": ["texts/*.txt"]}
    change(project, dict(dotted(read_yaml(ROOT / "presets" / "domain.yaml"))) | files | SMALL)
    return project


def test_what_it_learned_and_what_it_forgot_stand_beside_each_other(project, capsys):
    change(project, {"tokenizer.extend.pieces": 2, "tokenizer.extend.min_frequency": 5})
    for stage in ("fetch", "tokenizer", "tokenize", "premask", "pretrain", "evaluate"):
        run(stage)
    said = capsys.readouterr().out
    assert "  2 of them added from the train split; without them " in said
    assert "the model has the shape of model: layers 1, not 2 as in params.yaml" in said
    old = read_premasked(project / "data" / "general" / "validation")
    new = read_premasked(project / "data" / "validation")
    metrics = read_json(project / "reports" / "evaluate" / "metrics.json")
    assert list(metrics) == ["mlm", "nsp", "also", "before", "also_before"]
    for section, examples in (("mlm", new), ("before", new), ("also", old), ("also_before", old)):
        assert metrics[section]["masked_tokens"] == sum(map(len, examples.masked_labels))
    before = read_json(project / "reports" / "pretrain" / "metrics.json")["before"]
    assert metrics["before"]["loss"] == pytest.approx(before["mlm_loss"], abs=1e-6)
    assert metrics["mlm"]["loss"] < metrics["before"]["loss"]
    assert metrics["also"]["loss"] != metrics["also_before"]["loss"]
    # What is scored before is the model that was copied: on its own set it differs by the rows that were added alone.
    pieces = load_pretraining_model(project / "data" / "models" / "pretrained").encoder.vocab_size
    assert pieces == load_pretraining_model(project / "data" / "general" / "model").encoder.vocab_size + 2

    shape, vocab_size = read_shape(project / "data" / "tokenizer")
    assert (shape.layers, vocab_size) == (1, pieces)
    for stage in ("finetune", "scratch"):
        run(stage, "sentiment")
    for name in ("sentiment", "sentiment-scratch"):
        assert read_json(project / "data" / "models" / name / "config.json")["num_hidden_layers"] == 1


def test_without_more_pieces_the_scores_before_are_those_of_the_model_itself(project):
    run("fetch")
    own = read_json(project / "data" / "general" / "model" / MANIFEST)
    for stage in ("tokenizer", "tokenize", "premask", "pretrain", "evaluate"):
        run(stage)
    metrics = read_json(project / "reports" / "evaluate" / "metrics.json")
    (validation,) = re.findall(r"\| mlm_loss \| (\S+) \|", (project / "data/general/model/README.md").read_text())
    assert f"{metrics['also_before']['loss']:.4g}" == validation
    made = read_manifest(project / "data" / "models" / "pretrained", "pretrain")
    assert made["tokenizers"][1:] == [own["inputs"]["tokenizer"]]

    manifest = project / "data" / "general" / "validation" / MANIFEST
    content = read_json(manifest)
    write_json(manifest, content | {"inputs": content["inputs"] | {"tokenizer": "0" * 64}})
    with pytest.raises(UserError, match=r"evaluate.also data/general/validation was made with another tokenizer than"):
        run("evaluate")


def test_a_domain_of_one_file_is_many_articles_or_is_told(project):
    write_domain(project, articles=1)
    with pytest.raises(UserError, match="the corpus has one article, but training needs one and"):
        run("fetch")


def test_the_paths_of_the_guide_are_those_of_the_preset(tmp_path):
    assert SHELL == [
        "mkdir -p data/general",
        "cp -r data/models/pretrained data/general/model",
        "cp -r data/validation data/general/validation",
        "mkdir -p data/general",
        "cp -r data/imported/model data/general/model",
        "git restore .",
    ]
    preset = dict(dotted(read_yaml(ROOT / "presets" / "domain.yaml")))
    assert preset["pretrain.init_from"] == preset["tokenizer.pretrained.name"] == "data/general/model"
    assert preset["evaluate.also"] == "data/general/validation"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("dvc")])
def test_a_command_of_the_guide_names_parameters_and_stages(command, tmp_path):
    from dvc.utils.cli_parse import to_path_overrides
    from dvc.utils.hydra import apply_overrides

    (name,) = re.findall(r"pipeline.preset (\w+)\)", command)
    words = shlex.split(re.sub(r"\$\(.*?\)", "", command))
    assert set(words[3::2]) <= {"-S", "imported@encoder"}
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    changes = {key: value for key, value in dotted(read_yaml(ROOT / "presets" / f"{name}.yaml")) if "/" not in key}
    change(tmp_path, changes)
    flags = [value for flag, value in pairwise(words) if flag == "-S"]
    for overrides in to_path_overrides(flags).values():
        apply_overrides(tmp_path / "params.yaml", overrides)
    assert load(tmp_path / "params.yaml")

"""A model as a graph from the command line, as the README has it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from maskline.core.storage import read_json, write_manifest
from maskline.inference import export as library
from maskline.settings.params import load
from pipeline import embed, export, predict
from tests.project import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(name="call")
def _call(tiny_project, tmp_path, monkeypatch, invoke):
    """Return a function that runs a command in a copy of the tiny project; it gives exit code, output and errors."""
    shutil.copytree(tiny_project, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")

    return invoke


def trained(directory):
    """Let the manifest of a model say how it was fine-tuned, as the stage does."""
    manifest = {key: value for key, value in read_json(directory / "manifest.json").items() if key != "files"}
    recipe = load(Path("params.yaml")).task("sentiment").finetune.model_dump()
    write_manifest(directory, manifest | {"stage": "finetune sentiment", "params": {"finetune": recipe}})


def test_a_task_in_int8_is_measured_on_its_validation_split(call, monkeypatch):
    model = Path("data/models/sentiment")
    trained(model)
    monkeypatch.setattr(library, "MOST_BYTES", 0.9)  # of so small a model the graph itself is a large part
    traced, trace = [], library.trace
    monkeypatch.setattr(
        library, "trace", lambda *given: traced[0] if traced else traced.append(trace(*given)) or traced[0]
    )
    code, output, errors = call(export, str(model), "--onnx", "--int8")
    assert code == 0, errors
    (block,) = [
        block for block in re.findall(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL) if "int8" in block
    ]
    shown = re.sub(r"[\d,]*\d", r"[\\d,]+", re.escape(block.replace(",", ""))).replace("channel", "(channel|tensor)")
    assert re.fullmatch(shown, output.replace(",", "")), output
    _, second = output.splitlines()
    quality = read_json(Path("data/models/sentiment-int8/manifest.json"))["quality"]
    assert quality["metric"] == "macro_f1"
    assert f"macro_f1 {quality['score']:.4f} (float32 {quality['float_score']:.4f})" in second
    assert "| macro_f1, validation | " in Path("data/models/sentiment-int8/README.md").read_text()
    rows = []
    for place in ("data/models/sentiment", "data/models/sentiment-int8"):
        code, output, errors = call(predict, place, "a good garden", "a bad stone")
        assert code == 0, errors
        rows.append([json.loads(line) for line in output.splitlines()])
    for a, b in zip(*rows, strict=True):
        assert a["probability"] == pytest.approx(b["probability"], abs=0.02)
    code, output, errors = call(embed, "data/models/sentiment-int8", "reviews.csv")
    assert code == 0, errors
    assert output.startswith("120 vectors of 16 numbers in data/vectors")

    shutil.move("data/tasks/sentiment", "elsewhere")
    code, _, errors = call(export, str(model), "--onnx", "--int8", "--out", "again")
    assert code == 1
    assert errors == (
        "error: data/tasks/sentiment holds no examples of the task, on which int8 is measured: name their directory "
        "with --data\n"
    )
    for other in ("data/corpus", "data/models/pretrained", "data/tokens"):
        code, _, errors = call(export, str(model), "--onnx", "--int8", "--out", "again", "--data", other)
        assert code == 1
        assert errors.startswith(f"error: {other} holds no examples of the task, on which int8 is measured: ")
        assert errors.count("\n") == 1
    monkeypatch.setattr(library, "MOST_LOST", -0.5)
    code, _, errors = call(export, str(model), "--onnx", "--int8", "--out", "again", "--data", "elsewhere")
    assert code == 1
    assert "int8 of data/models/sentiment is not good enough (per tensor macro_f1 0." in errors
    assert errors.count("\n") == 1
    assert not Path("again").exists()


def test_what_is_asked_for_wrongly_is_told_in_one_line(call):
    for arguments, message in (
        ((), "error: name what to write: --onnx\n"),
        (("--onnx", "--data", "x"), "error: --data is what int8 is measured on: give --int8 with it, or neither\n"),
    ):
        code, output, errors = call(export, "data/models/sentiment", *arguments)
        assert (code, output, errors) == (1, "", message)


@pytest.mark.parametrize(("inside", "given"), [("", "."), ("inner", "..")])
def test_a_model_in_the_folder_of_work_is_written_beside_it(call, tmp_path, monkeypatch, inside, given):
    taken = []
    monkeypatch.setattr(
        library, "export_graph", lambda _, out, **__: taken.append(out) or library.Exported(1, 0.0, None)
    )
    (tmp_path / "model" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "model" / inside)
    assert call(export, given, "--onnx")[0] == 0
    assert taken == [tmp_path / "model-onnx"]

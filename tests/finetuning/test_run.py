import os
import shutil
import signal
from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_csv, read_json, sha256, write_json, write_manifest, write_text
from maskline.finetuning import run as finetuning_run
from maskline.finetuning.objective import FinetuningObjective
from maskline.finetuning.run import Paths, finetune, load_pretrained, new_model
from maskline.finetuning.score import load_model
from maskline.imports.convert import import_encoder
from maskline.model.directory import WEIGHTS, read_model
from maskline.tasks.classification.task import make_task
from tests.finetuning.conftest import LABELS
from tests.tiny import VOCAB_SIZE, tiny_params
from tests.training.runs import CPU, contents

STARTS = ("pretrained", "scratch")
STAGES = {"pretrained": "finetune", "scratch": "scratch"}


def paths(data, out="tuned", start="pretrained", pretrained="out"):
    return Paths(
        data=data / "task",
        tokenizer=data / "tokenizer",
        model=data / out / "sentiment",
        reports=data / out / "reports",
        pretrained=data / pretrained / "best" if start == "pretrained" else None,
    )


def tune(settings, where):
    finetune("sentiment", make_task, settings, where, CPU)


def settings(**changes):
    """Return what the stages read, with `changes` of the recipe."""
    return tiny_params({f"finetune.{key}": value for key, value in changes.items()}).finetuning("sentiment")


def task_of(data):
    return make_task(settings().recipe, read_json(data / "task" / MANIFEST))


def test_a_loss_that_is_no_number_is_a_gap_in_the_curve(mine, monkeypatch):
    scores = iter((0.5, None, 0.25))
    monkeypatch.setattr(
        FinetuningObjective, "evaluate", lambda _: {"loss": next(scores), "accuracy": 0.5, "macro_f1": 0.5}
    )
    tune(settings(epochs=3), paths(mine))
    rows = read_csv(mine / "tuned" / "reports" / "validation.csv")
    assert [row["loss"] for row in rows] == ["0.5", "nan", "0.25"]


@pytest.mark.parametrize("start", STARTS)
def test_a_run_leaves_a_model_two_curves_and_numbers(mine, start, capsys):
    pretrained = mine / "out" / "best" / MANIFEST
    write_json(pretrained, read_json(pretrained) | {"data": {"source": "test"}})
    tune(settings(epochs=3), paths(mine, start=start))
    reports = mine / "tuned" / "reports"
    assert {path.name for path in reports.iterdir()} == {"train.csv", "validation.csv", "metrics.json"}
    train, validation = (read_csv(reports / f"{name}.csv") for name in ("train", "validation"))
    assert list(train[0]) == ["step", "epoch", "tokens", "lr", "loss", "grad_norm"]
    assert list(validation[0]) == ["step", "epoch", "loss", "accuracy", "macro_f1"]
    assert [row["epoch"] for row in validation] == ["1.0", "2.0", "3.0"]
    metrics, manifest = read_json(reports / "metrics.json"), read_json(mine / "task" / MANIFEST)
    best = max(validation, key=lambda row: float(row["macro_f1"]))  # the first of equals
    assert metrics["best"] == {name: float(value) for name, value in best.items()}
    assert metrics["last"] == {name: float(value) for name, value in validation[-1].items()}
    assert metrics["steps"] == int(train[-1]["step"]) == int(validation[-1]["step"])
    for split in ("train", "validation"):
        assert metrics["examples"][split] == manifest["splits"][split]["examples"]
        assert 0 < metrics["cut"][split] < metrics["examples"][split]
    assert metrics["unk_rate"] == {"train": 0.0, "validation": 0.0}
    _, info = transformers.BertForSequenceClassification.from_pretrained(
        mine / "tuned" / "sentiment", output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert read_json(mine / "tuned" / "sentiment" / "config.json")["id2label"] == dict(zip("01", LABELS, strict=True))
    stage = STAGES[start]
    assert read_json(mine.parent / ".timings" / f"{stage}@sentiment.json")["seconds"] >= 0
    provenance = read_json(mine / "tuned" / "sentiment" / MANIFEST)
    assert provenance["stage"] == f"{stage} sentiment"
    assert provenance["inputs"].keys() == {"data", "tokenizer"} | ({"pretrained"} if start == "pretrained" else set())
    assert provenance["inputs"]["data"] == sha256(mine / "task" / MANIFEST)
    card = (mine / "tuned" / "sentiment" / "README.md").read_text()
    weights = {"pretrained": "pretrained", "scratch": "random"}[start]
    assert f"Classifies texts as negative, positive; fine-tuned by maskline from {weights} weights." in card
    dataset = read_json(mine / "task" / MANIFEST)
    assert (
        f"| licence | {dataset['licence']} |\n| examples (train) | {dataset['splits']['train']['examples']} |" in card
    )
    assert ("## Data of pretraining\n\n| | |\n|---|---|\n| source | test |\n" in card) == (start == "pretrained")
    assert "`reports/tasks/sentiment/metrics.json`" in card
    assert f"{stage} sentiment: from {weights} weights on cpu (1 threads) in fp32, {metrics['steps']} steps" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("start", STARTS)
def test_the_best_epoch_on_the_validation_split_is_exported(mine, monkeypatch, start):
    scores = iter([(0.9, 0.5), (0.8, 0.75), (0.1, 0.7)])  # the loss goes on falling, decisions get worse
    seen = []

    def evaluate(objective):
        seen.append({name: tensor.clone() for name, tensor in objective.model.state_dict().items()})
        loss, macro_f1 = next(scores)
        return {"loss": loss, "accuracy": macro_f1, "macro_f1": macro_f1}

    monkeypatch.setattr(FinetuningObjective, "evaluate", evaluate)
    tune(settings(epochs=3), paths(mine, start=start))
    model = load_model(task_of(mine), mine / "tuned" / "sentiment", "finetune@sentiment", mine / "task")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, seen[1][name]), name
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["best"]["epoch"] == 2


@pytest.mark.parametrize("start", STARTS)
def test_patience_ends_a_run_that_gets_no_better(mine, monkeypatch, capsys, start):
    scores = iter([0.5, 0.75, 0.7, 0.75, 0.9])
    monkeypatch.setattr(
        FinetuningObjective,
        "evaluate",
        lambda _: {"loss": 1.0, "accuracy": (score := next(scores)), "macro_f1": score},
    )
    tune(settings(epochs=5, patience=2), paths(mine, start=start))
    metrics = read_json(mine / "tuned" / "reports" / "metrics.json")
    assert (metrics["best"]["epoch"], metrics["last"]["epoch"]) == (2, 4)
    assert metrics["planned_steps"] * 4 == metrics["steps"] * 5
    end = f"step {metrics['steps']}/{metrics['planned_steps']}  ends here: 2 scores without a better one"
    assert end in capsys.readouterr().out
    assert [row["epoch"] for row in read_csv(mine / "tuned" / "reports" / "validation.csv")] == [
        "1.0",
        "2.0",
        "3.0",
        "4.0",
    ]


def test_few_examples_are_seen_until_there_are_updates_enough_and_scored_as_often(mine):
    tune(settings(epochs=2), paths(mine))
    per_epoch = read_json(mine / "tuned" / "reports" / "metrics.json")["steps"] // 2
    tune(settings(epochs=2, min_steps=4 * per_epoch - 1), paths(mine, "longer"))
    metrics = read_json(mine / "longer" / "reports" / "metrics.json")
    assert metrics["steps"] == 4 * per_epoch
    scored = read_csv(mine / "longer" / "reports" / "validation.csv")
    assert [row["epoch"] for row in scored] == ["2.0", "4.0"]
    tune(settings(epochs=2, min_steps=2 * per_epoch), paths(mine, "same"))
    for name in ("train.csv", "validation.csv", "metrics.json"):
        assert (mine / "same" / "reports" / name).read_bytes() == (mine / "tuned" / "reports" / name).read_bytes()


def test_a_classifier_over_the_mean_starts_from_the_encoder_and_comes_back(mine):
    change = {"sentiment:finetune.pooling": "mean"}
    chosen = tiny_params(change).finetuning("sentiment")
    tune(chosen, paths(mine))
    task = make_task(chosen.recipe, read_json(mine / "task" / MANIFEST))
    model = load_model(task, mine / "tuned" / "sentiment", "finetune@sentiment", mine / "task")
    assert not model.pooled
    _, info = transformers.BertModel.from_pretrained(
        mine / "tuned" / "sentiment", output_loading_info=True, add_pooling_layer=False
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    with pytest.raises(UserError, match=r"sentiment has maskline .*'pooling': 'mean'.*, .*task .*'pooling': 'cls'"):
        load_model(task_of(mine), mine / "tuned" / "sentiment", "finetune@sentiment", mine / "task")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("optimizer", "matrix_lr"), [("adamw", 0.01), ("muon", 0.05)])
def test_what_is_to_be_learned_is_learned(mine, optimizer, matrix_lr, start):
    recipe = {"epochs": 8, "optimizer": optimizer, "peak_lr": 0.01, "matrix_lr": matrix_lr, "dropout": 0.0}
    tune(settings(**recipe), paths(mine, start=start))
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["best"]["accuracy"] > 0.95


@pytest.mark.parametrize("start", STARTS)
def test_the_same_command_gives_the_same_bytes_and_an_interrupted_one_goes_on(mine, stop_at, capsys, start):
    tune(settings(), paths(mine, "whole", start))
    shutil.rmtree(mine.parent / ".runs")
    stops = (9, 21)  # within the first of two epochs, and within the second
    updates = stop_at(FinetuningObjective, *stops)
    for stop in stops:
        with pytest.raises(UserError, match=rf"interrupted after step {stop} of \d+; run the same command to go on"):
            tune(settings(), paths(mine, start=start))
        for name in ("train.csv", "validation.csv"):
            (live,) = mine.parent.glob(f".runs/*/{name}")
            whole = (mine / "whole" / "reports" / name).read_bytes()
            assert whole.startswith(live.read_bytes())
            assert live.read_bytes() != whole
    tune(settings(), paths(mine, start=start))
    assert contents(mine / "tuned") == contents(mine / "whole")
    total = read_json(mine / "tuned" / "reports" / "metrics.json")["steps"]
    assert updates == list(range(total))  # no update was made twice
    assert capsys.readouterr().out.count("resuming after step") == 2
    # What a finished run made is written anew without an update.
    shutil.rmtree(mine / "tuned")
    tune(settings(), paths(mine, start=start))
    assert "this run is finished: its results are written anew" in capsys.readouterr().out
    assert contents(mine / "tuned") == contents(mine / "whole")
    assert updates == list(range(total))


def test_what_a_killed_run_left_in_the_reports_is_swept_when_the_next_one_begins(mine, monkeypatch):
    left = mine / "tuned" / "reports" / ".train.csv.999999999.tmp"
    left.parent.mkdir(parents=True)
    left.write_text("half of it")

    def begin(*_):
        raise UserError(f"begun {left.exists()}")

    monkeypatch.setattr(finetuning_run, "train", begin)
    with pytest.raises(UserError, match="begun False"):
        tune(settings(), paths(mine))


def test_one_start_does_not_take_up_the_run_of_the_other(mine, monkeypatch, capsys):
    tune(settings(), paths(mine, "whole", "scratch"))
    shutil.rmtree(mine.parent / ".runs")
    real = FinetuningObjective.microbatches

    def stopping(objective, step):
        if step == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return real(objective, step)

    with monkeypatch.context() as patched:
        patched.setattr(FinetuningObjective, "microbatches", stopping)
        with pytest.raises(UserError, match="interrupted after step 9"):
            tune(settings(), paths(mine))
    capsys.readouterr()
    tune(settings(), paths(mine, start="scratch"))
    said = capsys.readouterr().out
    assert "resuming" not in said
    assert "unfinished" not in said
    assert contents(mine / "tuned") == contents(mine / "whole")
    assert len(list((mine.parent / ".runs").iterdir())) == 2


def test_both_starts_have_the_same_random_head_and_another_encoder(mine, monkeypatch):
    begun = {}

    def note(objective):
        begun.setdefault(len(begun), {name: w.clone() for name, w in objective.model.state_dict().items()})
        return {"loss": 1.0, "accuracy": 0.5, "macro_f1": 0.5}

    monkeypatch.setattr(FinetuningObjective, "evaluate", note)
    for start in STARTS:
        tune(settings(epochs=None, steps=1, warmup_steps=0, peak_lr=1e-9, matrix_lr=1e-9), paths(mine, start, start))
    for name, tensor in begun[0].items():
        same = torch.allclose(tensor, begun[1][name], atol=1e-6)
        assert same == name.startswith("classifier."), name


def model_of(data, changes=None):
    chosen = tiny_params(changes).finetuning("sentiment")
    return new_model(task_of(data), chosen.model, chosen.recipe, VOCAB_SIZE, chosen.seed)


def test_the_encoder_is_the_pretrained_one(mine):
    model = model_of(mine)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    load_pretrained(model, mine / "out" / "best", mine / "tokenizer")
    embedding = read_model(mine / "out" / "best", "pretrain").weights["bert.embeddings.word_embeddings.weight"]
    assert torch.equal(model.encoder.embeddings.token.weight, embedding)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("classifier."), name


def test_the_dropout_is_that_of_the_recipe(mine):
    model = model_of(mine, {"finetune.dropout": 0.3, "model.dropout": 0.2})
    assert model.dropout.p == model.encoder.layers[0].dropout.p == 0.3


def test_the_random_weights_are_those_of_the_seed(mine):
    first, again, other = (model_of(mine, {"seed": seed}).state_dict() for seed in (1, 1, 2))
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name]), name
    assert not torch.equal(first["classifier.weight"], other["classifier.weight"])


def test_a_model_pretrained_without_nsp_is_a_start_too(mine):
    model = model_of(mine)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    load_pretrained(model, mine / "words" / "best", mine / "tokenizer")
    for name, tensor in model.state_dict().items():
        untrained = name.startswith(("classifier.", "encoder.pooler."))
        assert torch.equal(tensor, before[name]) == untrained, name
    tune(settings(), paths(mine, pretrained="words"))
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["steps"] > 0


def other_tokenizer(mine):
    path = mine / "tokenizer" / "tokenizer.json"
    write_text(path, path.read_text() + "\n")
    write_manifest(mine / "tokenizer", {})


def without_a_weight(mine):
    path = mine / "out" / "best" / WEIGHTS
    weights = load_file(path)
    del weights["bert.embeddings.LayerNorm.bias"]
    save_file(weights, path, {"format": "pt"})
    write_manifest(mine / "out" / "best", {})


def nothing(mine):
    pass


@pytest.mark.parametrize(
    ("spoil", "changes", "expected"),
    [
        (other_tokenizer, {}, r"best was made with another tokenizer than .*: run `dvc repro pretrain`"),
        (without_a_weight, {}, r"best lacks bert.embeddings.LayerNorm.bias: "),
        (nothing, {"model.layers": 1}, r"best has layers 2, params.yaml says model.layers 1: run `dvc repro pretrain`"),
        (nothing, {"model.activation": "relu"}, r"best has activation gelu, params.yaml says model.activation relu"),
        (nothing, {"model.hidden": 24}, r"best has hidden 16, params.yaml says model.hidden 24"),
        (lambda mine: shutil.rmtree(mine / "out"), {}, r"best is incomplete .*: run `dvc repro pretrain`"),
        (lambda mine: shutil.rmtree(mine / "task"), {}, r"task is incomplete .*: run `dvc repro dataset@sentiment`"),
        (lambda mine: shutil.rmtree(mine / "tokenizer"), {}, r"tokenizer is incomplete .*: run `dvc repro tokenizer`"),
        (nothing, {"sentiment:finetune.warmup_steps": 500}, r"warmup_steps 500 leaves nothing of \d+ steps"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(mine, spoil, changes, expected):
    spoil(mine)
    with pytest.raises(UserError, match=expected) as error:
        tune(tiny_params(changes).finetuning("sentiment"), paths(mine))
    assert "\n" not in str(error.value)
    assert not (mine / "tuned").exists()


def test_random_weights_need_no_pretrained_model(mine):
    shutil.rmtree(mine / "out")
    tune(settings(), paths(mine, start="scratch"))
    assert (mine / "tuned" / "sentiment" / MANIFEST).is_file()


@pytest.fixture(name="elsewhere")
def _elsewhere(mine, tmp_path):
    """The pretrained model imported, under another architecture than that of params.yaml: where the data lies."""
    changes = {"imported.source": "directory", "imported.directory": str(mine / "out" / "best")}
    import_encoder(tiny_params(changes).imported, mine / "imported" / "best", mine / "imported" / "tokenizer", "en")
    return mine


@pytest.mark.parametrize("start", STARTS)
def test_an_imported_encoder_brings_its_architecture(elsewhere, start):
    chosen = tiny_params({"model.layers": 1, "model.hidden": 24}).finetuning("sentiment")
    where = replace(
        paths(elsewhere, start=start, pretrained="imported"), tokenizer=elsewhere / "imported" / "tokenizer"
    )
    tune(chosen, where)
    saved = read_model(elsewhere / "tuned" / "sentiment", "finetune")
    assert (saved.params.layers, saved.params.hidden) == (2, 16)
    card = (elsewhere / "tuned" / "sentiment" / "README.md").read_text()
    assert ("## Origin of the encoder" in card) == (start == "pretrained")


def test_an_imported_encoder_that_is_gone_names_its_stage(elsewhere):
    shutil.rmtree(elsewhere / "imported" / "best")
    changes = {"encoder.model": "data/imported/model", "encoder.tokenizer": "data/imported/tokenizer"}
    chosen = tiny_params({"imports": ["encoder"], **changes}).finetuning("sentiment")
    where = replace(paths(elsewhere, pretrained="imported"), tokenizer=elsewhere / "imported" / "tokenizer")
    with pytest.raises(UserError, match=r"best is incomplete \(no manifest.json\): run `dvc repro imported@encoder`$"):
        tune(chosen, where)


def test_sequences_longer_than_an_imported_encoder_reads_are_refused(elsewhere):
    recipe = settings(max_seq_length=32).recipe.model_copy(update={"max_seq_length": 33})
    where = replace(paths(elsewhere, pretrained="imported"), tokenizer=elsewhere / "imported" / "tokenizer")
    with pytest.raises(
        UserError, match=r"finetune.max_seq_length 33 is longer than the 32 tokens that the encoder reads"
    ):
        tune(settings().model_copy(update={"recipe": recipe}), where)

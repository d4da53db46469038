"""A student and its teacher: what is written, what an interruption changes, what is refused, and who uses it."""

import json
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_csv, read_json, write_json, write_manifest
from maskline.distillation.objective import DistillationObjective, Taught
from maskline.distillation.run import Paths, distill, new_student
from maskline.distillation.teacher import read_sentences, reduction
from maskline.finetuning.run import load_pretrained
from maskline.inference.embedding import embed
from maskline.inference.predict import load_predictor
from maskline.inference.vectors import open_encoder
from maskline.model.directory import load_encoder, read_model
from maskline.tasks.classification.model import ClassificationModel
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.texts import encode_texts
from tests.distillation.conftest import write_model
from tests.project import ROOT
from tests.tiny import MODERNBERT, tiny_params
from tests.training.runs import CPU, contents

RECIPE = {
    "max_seq_length": 12,
    "steps": 12,
    "global_batch": 8,
    "peak_lr": 0.01,
    "matrix_lr": 0.02,
    "warmup_steps": 2,
    "evaluate_every": 4,
}


def settings(mine, common=None, **changes):
    own = {"teacher": str(mine / "teacher"), "init_from": str(mine / "start"), "texts": [], **RECIPE, **changes}
    return tiny_params({f"distill.{key}": value for key, value in own.items()} | (common or {})).distilling()


def paths(mine, out="out"):
    return Paths(mine / "corpus", mine / "tokenizer", mine / out, mine / f"{out}-reports")


@pytest.mark.parametrize("start", ["start", None])
def test_a_student_comes_nearer_to_its_teacher_and_is_a_model(mine, start, capsys):
    distill(settings(mine, steps=60, init_from=start and str(mine / start)), paths(mine), CPU)
    reports = mine / "out-reports"
    metrics = read_json(reports / "metrics.json")
    assert metrics["best"]["loss"] < 0.8 * metrics["before"]["loss"]
    assert metrics["best"]["spearman"] > metrics["before"]["spearman"]
    train, validation = (read_csv(reports / f"{name}.csv") for name in ("train", "validation"))
    assert list(train[0]) == ["step", "epoch", "tokens", "lr", "loss", "grad_norm"]
    assert [int(row["step"]) for row in validation] == [*range(4, 61, 4)]
    assert min(validation, key=lambda row: float(row["loss"]))["step"] == str(metrics["best"]["step"])
    directory = mine / "out" / "model"
    _, info = transformers.BertModel.from_pretrained(directory, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    manifest = read_json(directory / MANIFEST)
    assert manifest["inputs"].keys() == {"sentences", "tokenizer", "teacher"} | ({"init_from"} if start else set())
    assert manifest["origin"] == {"teacher's name": "a teacher", "teacher's licence": "free"}
    assert manifest["data"] == {"source": "test", "licence": "none"}
    card = (directory / "README.md").read_text()
    assert "as a teacher of 3 layers of 24 does" in card
    assert "## Origin of the teacher\n\n| | |\n|---|---|\n| name | a teacher |" in card
    assert "24 numbers of the teacher as 16" in capsys.readouterr().out


def test_an_interrupted_run_ends_with_the_bytes_of_one_that_was_not(mine, stop_at):
    distill(settings(mine), paths(mine, "whole"), CPU)
    for folder in (mine.parent / ".runs").iterdir():
        folder.rename(mine / f"{folder.name}-done")  # a finished run would only write its files anew
    updates = stop_at(DistillationObjective, 3, 9)
    for step in (3, 9):
        with pytest.raises(UserError, match=f"interrupted after step {step} of 12"):
            distill(settings(mine), paths(mine, "parts"), CPU)
    distill(settings(mine), paths(mine, "parts"), CPU)
    assert updates == [*range(12)]
    assert contents(mine / "parts") == contents(mine / "whole")
    assert contents(mine / "parts-reports") == contents(mine / "whole-reports")


def test_a_fresh_process_loads_it_and_sentence_transformers_and_finetuning_do(mine):
    distill(settings(mine), paths(mine), CPU)
    directory = mine / "out" / "model"
    pair = [{"sentence1": "w12 w40", "sentence2": "w12 w41"}]
    here = load_predictor(directory, CPU).predict(pair).rows
    command = [sys.executable, "-m", "pipeline.predict", str(directory), *pair[0].values()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["similarity"] == here[0]["similarity"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own
        from sentence_transformers import SentenceTransformer

        theirs = SentenceTransformer(str(directory), device="cpu").encode(["w12 w40", "w9"])
    opened = open_encoder(directory, CPU)
    assert embed(load_encoder(directory), opened.tokenizer, ["w12 w40", "w9"], CPU).vectors == pytest.approx(
        theirs, abs=1e-5
    )
    saved = read_model(directory, "distill")
    classifier = ClassificationModel(saved.params, saved.vocab_size, 2, 0.0)
    load_pretrained(classifier, directory, mine / "tokenizer", "distill")
    mine_, its = classifier.encoder.state_dict(), load_encoder(directory).state_dict()
    assert all(torch.equal(mine_[name], its[name]) for name in its)


def test_the_loss_is_the_distance_to_what_the_teacher_says_however_a_step_is_cut(mine):
    distill(settings(mine), paths(mine), CPU)
    sentences = read_sentences(mine / "out" / "sentences", "train")
    vectors = np.load(mine / "out" / "teacher-train" / "vectors.npy")
    tokenizer = load_tokenizer(mine / "tokenizer")
    chosen = settings(mine)
    model = new_student(chosen, mine / "tokenizer")
    taught = Taught(encode_texts(sentences, tokenizer, 12), vectors)
    losses = {}
    for micro in (3, 8):
        recipe = chosen.recipe.model_copy(update={"micro_batch": micro})
        made = DistillationObjective(model, taught, taught, reduction(vectors, 16), recipe, 0, CPU)
        step = next(step for step in range(9) if len(made.examples(step)) == 8)  # the last batch of an epoch is short
        batches = made.microbatches(step)
        assert [made.targets(batch)["loss"] for batch in batches] == ([3, 3, 2] if micro == 3 else [8])
        losses[micro] = sum(made.losses(batch)["loss"] for batch in batches).item()
    assert losses[3] == pytest.approx(losses[8], rel=1e-5)
    rows = made.examples(step)
    opened = open_encoder(mine / "start", CPU)
    found = embed(load_encoder(mine / "start"), opened.tokenizer, [sentences[row] for row in rows], CPU).vectors
    wanted = vectors[rows].astype(np.float32) @ reduction(vectors, 16)
    cosines = (found * wanted).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    assert losses[8] == pytest.approx((1 - cosines).sum(), rel=1e-4)


def of_another_architecture(mine):
    config = read_json(mine / "teacher" / "config.json")
    write_json(mine / "teacher" / "config.json", config | {"model_type": "distilbert"})
    write_manifest(mine / "teacher", {})


def nothing(mine):
    pass


def no_whole_model(mine):
    write_json(mine / "teacher" / "tuning.json", {"method": "lora"})


@pytest.mark.parametrize(
    ("spoil", "common", "changes", "expected"),
    [
        (
            lambda mine: shutil.rmtree(mine / "teacher"),
            {},
            {},
            r"distill.teacher .*teacher is no model of this pipeline \(no manifest.json\): run the stage that writes",
        ),
        (
            of_another_architecture,
            {},
            {},
            r"teacher holds no model .*model_type distilbert is none of bert, modernbert",
        ),
        (no_whole_model, {}, {}, r"teacher holds what was trained on an encoder, and no whole model: merge lora"),
        (
            lambda mine: shutil.rmtree(mine / "start"),
            {},
            {},
            r"distill.init_from .*start is no model .*or set it to null",
        ),
        (
            nothing,
            {},
            {"init_from": "data/teacher"},
            r"teacher was made with another tokenizer than the one in",
        ),
        (nothing, {}, {"max_seq_length": 33}, r"distill.max_seq_length 33 is longer than the 32 tokens that"),
        (lambda mine: shutil.rmtree(mine / "corpus"), {}, {}, r"corpus is incomplete .*: run `dvc repro fetch`"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(mine, spoil, common, changes, expected):
    spoil(mine)
    with pytest.raises(UserError, match=expected) as error:
        distill(settings(mine, common, **changes), paths(mine), CPU)
    assert "\n" not in str(error.value)
    assert not (mine / "out" / "model").exists()


def test_a_schedule_that_does_not_fit_is_refused(mine):
    with pytest.raises(UserError, match=r"params.yaml: distill: warmup_steps 12 leaves nothing of 12 steps: lower it"):
        settings(mine, warmup_steps=12)


def test_a_modernbert_learns_from_a_bert(mine):
    distill(settings(mine, MODERNBERT, init_from=None, steps=40), paths(mine), CPU)
    metrics = read_json(mine / "out-reports" / "metrics.json")
    assert metrics["best"]["loss"] < metrics["before"]["loss"]
    assert read_json(mine / "out" / "model" / "config.json")["model_type"] == "modernbert"
    write_model(mine / "teacher", mine / "other", seed=2)  # another teacher is another run, and its vectors are new
    distill(settings(mine, MODERNBERT, init_from=None, steps=40), paths(mine), CPU)
    assert read_json(mine / "out-reports" / "metrics.json")["before"]["loss"] != metrics["before"]["loss"]

import errno
import math
import os
import random
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.core.labels import IGNORE_INDEX
from maskline.core.storage import MANIFEST, TIMINGS, read_csv, read_json, sha256, write_json
from maskline.examples.premasked import premask, read_premasked
from maskline.model.directory import TokenizerFiles, export, load_pretraining_model
from maskline.pretraining import run as pretraining_run
from maskline.pretraining.objective import TRAIN_COLUMNS, VALIDATION_COLUMNS, PretrainingObjective
from maskline.pretraining.run import _identity, new_model, pretrain
from maskline.pretraining.scores import pretraining_metrics, pretraining_sums
from maskline.shards.store import TokenShards
from maskline.tokenization.model_files import files_for_model
from tests.tiny import SPECIAL, VOCAB_SIZE, tiny_params, write_data, write_shards, write_tokenizer
from tests.training.runs import CPU, Objective, contents, run, same
from tests.training.runs import pretraining_paths as paths

TIMING = TIMINGS / "pretrain.json"


def settings(changes=None):
    return tiny_params(changes).pretraining()


@pytest.fixture(name="mine")
def _mine(data, tmp_path, monkeypatch):
    """Return a copy of the data in the current folder, where `.runs` goes."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(data, tmp_path / "data")


def test_a_run_leaves_two_models_two_curves_and_the_numbers(mine, capsys):
    params = settings()
    pretrain(params, paths(mine), CPU)
    out = mine / "out"
    assert {path.name for path in (out / "reports").iterdir()} == {
        "train.csv", "validation.csv", "metrics.json"
    }  # fmt: skip
    train, validation = (read_csv(out / "reports" / f"{name}.csv") for name in ("train", "validation"))
    assert tuple(train[0]) == TRAIN_COLUMNS
    assert tuple(validation[0]) == VALIDATION_COLUMNS
    assert [row["step"] for row in train] == ["2", "4", "6", "8", "10", "12"]
    assert [row["step"] for row in validation] == ["4", "8", "12"]
    metrics = read_json(out / "reports" / "metrics.json")
    assert metrics["last"]["step"] == metrics["steps"] == 12
    best = min(validation, key=lambda row: float(row["loss"]))
    assert metrics["best"] == {name: float(value) for name, value in best.items()}
    assert metrics["tokens"] == int(train[-1]["tokens"])
    assert "diverged" not in metrics
    timing = read_json(TIMING)
    seconds = pytest.approx(timing["seconds"], abs=0.06)
    assert metrics["labelled_pairs"] / timing["pairs_per_second"] == seconds
    assert metrics["tokens"] / timing["tokens_per_second"] == seconds
    losses = [
        f"{split} {name} {float(rows[-1][name]):.4g}"
        for split, rows in (("training", train), ("validation", validation))
        for name in ("mlm_loss", "nsp_loss")
    ]
    pace = f"{timing['tokens_per_second']:,} tokens and {timing['pairs_per_second']:,} sentence pairs per second"
    assert capsys.readouterr().out.endswith(f"12 steps in {timing['seconds']:,} s, {pace}; {', '.join(losses)}\n")
    special, held_out = SPECIAL, read_premasked(mine / "validation")
    for name in ("best", "last"):
        model = load_pretraining_model(out / name)
        assert metrics["parameters"] == sum(parameter.numel() for parameter in model.parameters())
        scores = pretraining_metrics(pretraining_sums(model, held_out, special, CPU), nsp=True)
        assert scores == pytest.approx({key: metrics[name][key] for key in scores}, abs=1e-6)
    manifest = read_json(out / "best" / MANIFEST)
    assert manifest["params"]["pretrain"]["steps"] == 12
    assert manifest["inputs"]["tokenizer"] == sha256(mine / "tokenizer" / MANIFEST)
    assert str(mine) not in (out / "best" / MANIFEST).read_text() + (out / "best" / "README.md").read_text()


def test_the_card_names_source_licence_and_size_of_the_data(mine):
    manifest = read_json(mine / "tokens" / "train" / MANIFEST)
    named = {"provenance": {"source": "hub", "dataset": "a/b", "inputs": [{}] * 3}, "licence": "CC BY-SA 4.0"}
    write_json(mine / "tokens" / "train" / MANIFEST, manifest | named)
    pretrain(settings(), paths(mine), CPU)
    for name in ("best", "last"):
        card = (mine / "out" / name / "README.md").read_text()
        data = {"source": "hub", "dataset": "a/b", "inputs": 3, "licence": "CC BY-SA 4.0"}
        data |= {key: manifest[key] for key in ("documents", "sentences", "tokens")}
        rows = "".join(f"| {key} | {value} |\n" for key, value in data.items())
        assert f"## Data\n\n| | |\n|---|---|\n{rows}\n" in card
        assert "`reports/evaluate/metrics.json`" in card
        assert read_json(mine / "out" / name / MANIFEST)["data"] == data


def test_a_run_is_made_again_with_the_same_bytes_and_another_seed_has_others(mine):
    params = settings({"model.dropout": 0.1})
    pretrain(params, paths(mine), CPU)
    first = contents(mine / "out")
    shutil.rmtree(mine / "out")
    shutil.rmtree(mine.parent / ".runs")
    pretrain(params, paths(mine), CPU)
    assert contents(mine / "out") == first
    pretrain(settings({"model.dropout": 0.1, "seed": 1}), paths(mine), CPU)
    assert all(first[name] != hash_ for name, hash_ in contents(mine / "out").items() if name.endswith("safetensors"))


@pytest.mark.parametrize("lost", ["everything", "nothing", "one file"])
def test_what_a_finished_run_made_is_written_anew_without_an_update(mine, monkeypatch, capsys, lost):
    """DVC may fail to store it: its disk is full, or it is killed."""
    params = settings({"model.dropout": 0.1, "pretrain.final_seq_length": 32, "pretrain.final_share": 0.25})
    pretrain(params, paths(mine), CPU)
    first = contents(mine / "out")
    (state,) = mine.parent.glob(".runs/*/state-*.pt")
    curves = [(state.parent / name).read_bytes() for name in ("train.csv", "validation.csv")]
    timing = read_json(TIMING)
    if lost == "everything":
        shutil.rmtree(mine / "out")
    elif lost == "one file":
        (mine / "out" / "best" / "model.safetensors").unlink()
    capsys.readouterr()
    monkeypatch.setattr(PretrainingObjective, "microbatches", None)
    monkeypatch.setattr(PretrainingObjective, "evaluate", None)
    pretrain(params, paths(mine), CPU)
    assert contents(mine / "out") == first
    assert read_json(TIMING) == timing
    folder = state.parent.relative_to(mine.parent)
    assert (
        f"this run is finished: its results are written anew; to train again, remove {folder}\n"
        in capsys.readouterr().out
    )
    assert list(mine.parent.glob(".runs/*/*.pt")) == [state]
    assert [(state.parent / name).read_bytes() for name in ("train.csv", "validation.csv")] == curves


@pytest.mark.parametrize("name", ["train.csv", "validation.csv", "metrics.json"])
def test_what_a_killed_run_left_in_the_reports_is_swept_when_the_next_one_begins(mine, monkeypatch, name):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = mine / "out" / "reports" / f".{name}.{process.pid}.tmp"
    left.parent.mkdir(parents=True)
    left.write_text("half of it")

    def begin(*_):
        raise UserError(f"begun {left.exists()}")

    monkeypatch.setattr(pretraining_run, "train", begin)
    with pytest.raises(UserError, match="begun False"):
        pretrain(settings(), paths(mine), CPU)


def test_a_run_that_could_not_write_what_it_made_is_not_finished(mine, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(pretraining_run, "_export", full)
        with pytest.raises(OSError, match="No space left"):
            pretrain(settings(), paths(mine), CPU)
    unfinished = {path.parent for path in mine.parent.glob(".runs/*/state-*.pt")}
    pretrain(settings({"seed": 1}), paths(mine, "other"), CPU)
    assert unfinished < {path.parent for path in mine.parent.glob(".runs/*/state-*.pt")}


def test_an_interrupted_run_goes_on_whatever_happens_to_its_outputs(mine, monkeypatch, capsys):
    params = settings({"model.dropout": 0.1})
    pretrain(params, paths(mine, "whole"), CPU)
    shutil.rmtree(mine.parent / ".runs")

    real = PretrainingObjective.microbatches

    def stopping(objective, step):
        if step == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return real(objective, step)

    with monkeypatch.context() as patch:
        patch.setattr(PretrainingObjective, "microbatches", stopping)
        with pytest.raises(UserError, match="interrupted after step 7 of 12; run the same command to go on"):
            pretrain(params, paths(mine), CPU)
    assert not (mine / "out").exists()
    shutil.copytree(mine / "whole", mine / "out")  # what DVC brings back of another run is no obstacle
    # Another configuration is another run: it neither goes on from this one nor disturbs it.
    pretrain(settings({"model.dropout": 0.1, "model.layers": 1}), paths(mine), CPU)
    assert "resuming" not in capsys.readouterr().out
    pretrain(params, paths(mine), CPU)
    assert "resuming after step 7 from .runs/" in capsys.readouterr().out
    assert contents(mine / "out") == contents(mine / "whole")


def test_the_identity_of_a_run_is_what_shapes_it(mine):
    def identity(changes):
        return _identity(settings(changes), paths(mine))

    reference = identity({})
    compute = {"compute.device": "auto", "compute.threads": 3, "compute.progress": "bar", "compute.workers": 3}
    others = {"tokenizer.vocab_size": 50, "finetune.epochs": 9}
    assert identity(compute) == identity(others) == reference
    for key, value in {"seed": 1, "masking.final_rate": 0.2, "model.layers": 1, "pretrain.steps": 13}.items():
        assert identity({key: value}) != reference, key
    write_shards(mine / "tokens" / "train", [[[5, 6], [7]]] * 60, tokenizer=mine / "tokenizer")
    assert identity({}) != reference


def test_without_nsp_words_alone_are_learned_and_reported(mine, capsys):
    params = settings({"pretrain.nsp": False})
    pretrain(params, paths(mine), CPU)
    assert set(read_json(TIMING)) == {"seconds", "tokens_per_second"}
    closing = capsys.readouterr().out.splitlines()[-1]
    assert "tokens per second; training mlm_loss" in closing
    assert "nsp" not in closing
    rows = [row for name in ("train", "validation") for row in read_csv(mine / "out" / "reports" / f"{name}.csv")]
    assert {row["nsp_loss"] for row in rows} == {"nan"}
    assert all(row["loss"] == row["mlm_loss"] for row in rows)
    assert read_json(mine / "out" / "reports" / "metrics.json")["last"]["nsp_accuracy"] is None
    _, info = transformers.BertForMaskedLM.from_pretrained(mine / "out" / "best", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]


def test_a_run_of_two_lengths_says_so(mine, capsys):
    params = settings({"pretrain.final_seq_length": 32, "pretrain.final_share": 0.25})
    pretrain(params, paths(mine), CPU)
    said = capsys.readouterr().out
    rows = read_csv(mine / "out" / "reports" / "train.csv")
    assert [int(row["max_seq_length"]) for row in rows] == [24, 24, 24, 24, 32, 32]
    metrics = read_json(mine / "out" / "reports" / "metrics.json")
    assert metrics["steps_before_final_length"] == 9
    long = metrics["final_examples"]["windows"]
    assert 0 < long < metrics["examples"]["windows"]
    assert f"from step 10 on {2 * long} examples of up to 32 tokens" in said
    assert "| final_seq_length | 32 |" in (mine / "out" / "best" / "README.md").read_text()


def test_a_second_length_with_too_few_examples_is_told_before_the_first_update(mine):
    changes = {"pretrain.final_seq_length": 32, "pretrain.final_share": 0.25}
    short, long = Objective(mine, settings(changes)).batches.counts
    batch = 2 * long["windows"] + 1
    assert batch <= 2 * short["windows"]
    with pytest.raises(UserError) as error:
        pretrain(settings(changes | {"pretrain.global_batch": batch}), paths(mine), CPU)
    assert str(error.value) == (
        f"the train split gives {batch - 1} examples, fewer than pretrain.global_batch {batch} at final_seq_length 32: "
        "lower it, or add articles"
    )
    # One piece of a longer pair.
    write_shards(mine / "tokens" / "train", [[[5] * 21]] * 60, tokenizer=mine / "tokenizer")
    with pytest.raises(UserError, match="no sentence pairs at final_seq_length 48 "):
        pretrain(settings({"model.max_positions": 48, "pretrain.final_seq_length": 48}), paths(mine), CPU)


def test_the_bias_starts_at_the_frequencies_of_the_tokens(data):
    shards = TokenShards(data / "tokens" / "train")
    model = new_model(settings(), VOCAB_SIZE, shards)
    counts = np.ones(VOCAB_SIZE)
    for shard in shards:
        np.add.at(counts, shard.tokens, 1)
    expected = torch.tensor(np.log(counts / counts.sum()), dtype=torch.float32)
    torch.testing.assert_close(model.mlm.decoder.bias.detach(), expected)
    model = new_model(settings({"pretrain.unigram_bias": False}), VOCAB_SIZE, shards)
    assert not model.mlm.decoder.bias.any()


def test_a_run_that_ends_without_a_number_says_so_and_keeps_the_best(mine, monkeypatch):
    scores, weights = iter([2.0, 1.5, math.nan]), []

    def evaluate(objective):
        weights.append({name: tensor.clone() for name, tensor in objective.model.state_dict().items()})
        return {"mlm_loss": 1.0, "mlm_accuracy": 0.5, "nsp_loss": 0.5, "nsp_accuracy": 0.5, "loss": next(scores)}

    monkeypatch.setattr(PretrainingObjective, "evaluate", evaluate)
    pretrain(settings(), paths(mine), CPU)
    metrics = read_json(mine / "out" / "reports" / "metrics.json")
    assert metrics["diverged"] is True
    assert (metrics["best"]["step"], metrics["best"]["loss"], metrics["last"]["loss"]) == (8, 1.5, None)
    assert [row["loss"] for row in read_csv(mine / "out" / "reports" / "validation.csv")] == ["2.0", "1.5", "nan"]
    for name, expected in (("best", weights[1]), ("last", weights[2])):
        assert same(dict(load_pretraining_model(mine / "out" / name).state_dict()), expected)


def corpus_of_one_document(mine):
    write_shards(mine / "tokens" / "train", [[[5, 6, 7]] * 60], tokenizer=mine / "tokenizer")


def corpus_of_sentences(mine):
    write_shards(mine / "tokens" / "train", [[[5, 6, 7]]] * 60, tokenizer=mine / "tokenizer")


def tiny_corpus(mine):
    write_shards(mine / "tokens" / "train", [[[5, 6], [7]], [[8], [9]]], tokenizer=mine / "tokenizer")


def other_tokenizer(mine):
    write_tokenizer(mine / "tokenizer")
    manifest = mine / "tokenizer" / MANIFEST
    manifest.write_text(manifest.read_text().replace('"vocab_size": 97', '"vocab_size": 97, "corpus": "other"'))


def shards_of_another_tokenizer(mine):
    write_shards(mine / "tokens" / "train", [[[5, 6], [7]]] * 60)


def longer_validation(mine):
    params = tiny_params({"premask.max_seq_length": 48, "model.max_positions": 48}).premask
    long = [[[5] * 20, [6] * 20]] * 9
    write_shards(mine / "tokens" / "validation", long, tokenizer=mine / "tokenizer")
    premask(params, mine / "tokens" / "validation", mine / "tokenizer", mine / "validation")


def truncated_shard(mine):
    path = mine / "tokens" / "train" / "tokens-00000.arrow"
    path.write_bytes(path.read_bytes()[:-10])


def no_validation(mine):
    shutil.rmtree(mine / "validation")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (corpus_of_one_document, "the train split gives no sentence pairs .*: set pretrain.nsp to false, or add"),
        (corpus_of_sentences, "the train split gives no sentence pairs .*: set pretrain.nsp to false, or add"),
        (tiny_corpus, r"the train split gives \d examples, fewer than pretrain.global_batch 6: lower it, or add"),
        (other_tokenizer, r"tokens/train was made with another tokenizer than .*tokenizer: run `dvc repro tokenize`"),
        (
            shards_of_another_tokenizer,
            r"tokens/train was made with another tokenizer than .*: run `dvc repro tokenize`",
        ),
        (longer_validation, r"validation holds 43 tokens in a row, model.max_positions is 32: run `dvc repro premask`"),
        (
            truncated_shard,
            r"tokens-00000.arrow is not what tokenize wrote .*: remove .*tokens/train and run `dvc repro tokenize`",
        ),
        (no_validation, r"validation is incomplete .*: run `dvc repro premask`"),
    ],
)
def test_data_that_does_not_fit_is_told_in_one_line(mine, spoil, expected):
    spoil(mine)
    with pytest.raises(UserError, match=expected) as error:
        pretrain(settings(), paths(mine), CPU)
    assert "\n" not in str(error.value)
    assert not (mine / "out").exists()


def test_a_validation_set_of_another_tokenizer_is_told(mine):
    other_tokenizer(mine)
    write_shards(mine / "tokens" / "train", [[[5, 6], [7]]] * 60, tokenizer=mine / "tokenizer")
    with pytest.raises(UserError, match=r"validation set was made with another tokenizer .*: run `dvc repro premask`"):
        pretrain(settings(), paths(mine), CPU)


def test_one_document_is_enough_without_nsp(mine):
    corpus_of_one_document(mine)
    pretrain(settings({"pretrain.nsp": False, "pretrain.steps": 3}), paths(mine), CPU)
    assert read_json(mine / "out" / "reports" / "metrics.json")["steps"] == 3


def test_true_pairs_are_class_zero_in_transformers(tmp_path):
    """Learn pairs by heart, export, and ask `BertForNextSentencePrediction`.

    Document d is written in the tokens 2d and 2d + 1 alone, so that a look at a pair tells what it is.
    """
    draw = random.Random(0)
    documents = [[draw.choices((2 * d, 2 * d + 1), k=draw.randint(2, 6)) for _ in range(4)] for d in range(3, 48)]
    data = write_data(tmp_path)
    write_shards(data / "tokens" / "train", documents, tokenizer=data / "tokenizer")
    params = settings(
        {
            "pretrain.global_batch": 40, "pretrain.micro_batch": 40, "pretrain.steps": 120,
            "pretrain.optimizer": "adamw", "pretrain.peak_lr": 0.02,
            "pretrain.evaluate_every": 120, "pretrain.checkpoint_every": 120,
        }
    )  # fmt: skip
    objective = Objective(data, params)
    (batch,) = objective.microbatches(0)
    objective.microbatches = lambda _: [batch]
    run(objective, params, tmp_path / "runs")
    files = TokenizerFiles(*files_for_model(data / "tokenizer", params.model.max_positions))
    export(tmp_path / "model", objective.model, "BertForPreTraining", files, "", {})
    model = transformers.BertForNextSentencePrediction.from_pretrained(tmp_path / "model").eval()
    with torch.no_grad():
        logits = model(
            torch.from_numpy(batch.input_ids),
            attention_mask=torch.from_numpy(batch.attention_mask).long(),
            token_type_ids=torch.from_numpy(batch.token_type_ids),
        ).logits
    original = batch.input_ids.copy()
    original.ravel()[batch.masked_positions] = batch.masked_labels
    true = []
    for ids, types in zip(original, batch.token_type_ids, strict=True):
        a, b = ids[(types == 0) & (ids >= 5)], ids[(types == 1) & (ids >= 5)]
        assert len(a)
        assert len(b)
        true.append(set(a // 2) == set(b // 2))
    assert 10 < sum(true) < 30
    assert (batch.next_sentence_label != IGNORE_INDEX).all()
    assert (logits.argmax(1) == 0).tolist() == true


def test_scores_do_not_depend_on_how_training_is_set_up(data):
    """Evaluation has no dropout, no bfloat16 and no microbatch."""
    scores = []
    for changes in ({}, {"model.dropout": 0.5}, {"pretrain.precision": "bf16"}, {"pretrain.micro_batch": 1}):
        objective = Objective(data, settings(changes))
        objective.model.train()
        scores.append(objective.evaluate())
        assert objective.model.training
    assert all(score == scores[0] for score in scores)

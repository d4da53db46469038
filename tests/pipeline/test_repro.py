"""The pipeline under DVC: what runs, what does not, and that an interrupted run loses nothing."""

import gzip
import os
import re
import shutil
import subprocess
import time
from io import StringIO
from itertools import islice
from pathlib import Path

import psutil
import pytest
from ruamel.yaml import YAML

from maskline.core.storage import read_csv, read_json
from maskline.settings.params import load
from tests.project import ENVIRONMENT, call, change

DATA = ["fetch", "tokenizer", "tokenize", "premask"]
AFTER = {"finetune@sentiment", "score@sentiment", "evaluate", "plot"}
BESIDE = {"dataset@sentiment", "scratch@sentiment"}
"""Stages that need no pretrained model."""


def ran(output):
    """Return the stages that a command of DVC ran."""
    return re.findall(r"^Running stage '(.*)'", output, re.MULTILINE)


def outs(folder, revision=None):
    """Return stage -> out -> hash as dvc.lock has them, that of a git revision or of the workspace."""
    text = call(folder, f"git show {revision}:dvc.lock").stdout if revision else (folder / "dvc.lock").read_text()
    stages = YAML(typ="safe", pure=True).load(StringIO(text))["stages"]
    return {name: {out["path"]: out["md5"] for out in stage["outs"]} for name, stage in stages.items()}


def experiments(folder):
    """Return name -> git reference of the experiments."""
    names = call(folder, "git for-each-ref --format='%(refname)' refs/exps").stdout.split()
    return {name.rpartition("/")[2]: name for name in names if name.count("/") == 4}


@pytest.fixture
def project(reproduced, tmp_path):
    return shutil.copytree(reproduced, tmp_path / "maskline", symlinks=True)


def test_a_second_repro_has_nothing_to_do(project):
    assert set(outs(project)) == {*DATA, "pretrain", *AFTER, *BESIDE}
    assert not ran(call(project, "dvc repro").stdout)


def test_the_preset_toy_learns_from_what_it_brings(project):
    tokenizer = read_json(project / "data" / "tokenizer" / "tokenizer.json")
    words = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    assert words[:7] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "."]
    lengths = read_json(project / "data" / "tokens" / "train" / "manifest.json")
    assert lengths["sentences"] == 2 * lengths["documents"] == 96
    pairs = read_json(project / "data" / "validation" / "manifest.json")
    assert (pairs["is_next"], pairs["random"], pairs["no_pair"]) == (6, 6, 0)
    pretraining = read_json(project / "reports" / "pretrain" / "metrics.json")
    assert (pretraining["steps"], pretraining["labelled_pairs"], pretraining["last"]["epoch"]) == (720, 1440, 15)
    assert [row["epoch"] for row in read_csv(project / "reports" / "pretrain" / "validation.csv")][-1] == "15.0"
    scores = read_json(project / "reports" / "evaluate" / "metrics.json")
    assert scores["mlm"]["loss"] < scores["mlm"]["unigram_loss"]
    samples = (project / "reports" / "evaluate" / "samples.md").read_text()
    assert samples.count("`[MASK]`") == 12


def test_the_network_would_have_been_refused(project):
    """The fixture has run all stages with the network refused, and nobody asked for it."""
    asked = project / ".git" / "asked"
    for ask in ("socket().connect(('127.0.0.1', 9))", "getaddrinfo('localhost', 9)"):
        call(project, f'env PYTHONPATH=src python -c "import socket; socket.{ask}"', check=False, OFFLINE=str(asked))
    events = [line.split()[0] for line in asked.read_text().splitlines()]
    asked.unlink()
    assert events == ["socket.connect", "socket.getaddrinfo"]


def test_another_model_runs_from_pretrain_on_and_a_small_number_stays_one(project):
    done = call(project, "dvc exp run -S model.layers=3 -S pretrain.peak_lr=0.00001 -S pretrain.epochs=1 pretrain")
    assert ran(done.stdout) == ["pretrain"]
    assert set(ran(call(project, "dvc repro").stdout)) == AFTER | {"scratch@sentiment"}
    assert read_json(project / "data" / "models" / "pretrained" / "config.json")["num_hidden_layers"] == 3
    assert load(project / "params.yaml").pretrain.peak_lr == 1e-5
    assert max(float(row["lr"]) for row in read_csv(project / "reports" / "pretrain" / "train.csv")) <= 1e-5


SST2 = Path("../shared/data/sst2")


@pytest.fixture
def texts(tmp_path):
    """Return a file of labelled texts: some of SST-2 where it is there, else of our own."""
    path = tmp_path / "texts.tsv"
    if SST2.is_dir():
        with gzip.open(SST2 / "train.tsv.gz", "rt") as file:
            path.write_text("".join(islice(file, 200)))
    else:
        path.write_text(
            "label\tsentence\n" + "".join(f"{n % 2}\tit is {('bad', 'good')[n % 2]} {n}\n" for n in range(99))
        )
    return path


def test_a_task_is_switched_on_and_off(project, texts):
    settings = project / "tasks" / "sst.yaml"
    shutil.copy(project / "tasks" / "sentiment.yaml", settings)
    change(
        project,
        {
            f"tasks/sst.yaml:dataset.{key}": value
            for key, value in {
                "text_column": "sentence", "label_column": "label", "labels": ["0", "1"], "files.paths": [str(texts)]
            }.items()
        },
    )  # fmt: skip
    own = {f"{stage}@sst" for stage in ("dataset", "finetune", "scratch", "score")}
    done = call(project, "dvc exp run -n on -S '+tasks.sst=classification'")
    assert set(ran(done.stdout)) == own | {"plot"}  # which draws its figures
    assert read_json(project / "reports" / "tasks" / "sst" / "metrics.json")["accuracy"] >= 0
    for task in ("sst", "sentiment"):
        assert (project / "reports" / "figures" / f"{task}-finetuning.png").is_file()
        assert f"{task} accuracy" in call(project, "python -m pipeline.results").stdout

    # Its settings rerun its own stages, and what is not new is not counted for it.
    done = call(project, "dvc exp run -n longer -S tasks/sst.yaml:+finetune.epochs=1 finetune@sst")
    assert set(ran(done.stdout)) == {"finetune@sst"}
    call(project, "python -m pipeline.compare")
    cells = {row["experiment"]: row["tasks.sst.accuracy"] for row in read_csv(project / "reports" / "comparison.csv")}
    assert cells["on"]
    assert not cells["longer"]

    call(project, "git restore . && rm tasks/sst.yaml reports/comparison.*")
    done = call(project, "dvc exp run -n off -S '~tasks.sentiment'")
    assert set(ran(done.stdout)) == {"plot"}
    named = [path for path in (project / "reports").rglob("*") if re.search(r"sentiment|sst", str(path))]
    assert not named
    assert "sentiment" not in call(project, "python -m pipeline.results").stdout
    assert "sentiment" not in call(project, "dvc metrics show").stdout
    assert (
        "sentiment"
        not in call(project, "git ls-tree -r --name-only refs/exps/exec/APPLY -- reports", check=False).stdout
    )
    call(project, "git restore . && dvc checkout --force")


def test_an_encoder_of_others_stands_in_for_the_one_pretrained_here(project):
    call(project, "cp -r data/models/sentiment theirs")
    done = call(
        project,
        "dvc exp run -n other $(python -m pipeline.preset imported) -S model.layers=1 -S imported.source=directory "
        "-S imported.directory=theirs score@sentiment",
    )
    assert set(ran(done.stdout)) == {"imported@encoder", *(f"{s}@sentiment" for s in ("finetune", "scratch", "score"))}
    assert "left out, as nothing here has such weights: classifier.bias, classifier.weight" in done.stdout
    for name in ("sentiment", "sentiment-scratch"):
        assert read_json(project / "data" / "models" / name / "config.json")["num_hidden_layers"] == 2
    assert not ran(call(project, "dvc repro score@sentiment").stdout)


def test_damage_that_keeps_size_and_time_is_noticed_and_the_advice_works(project):
    """DVC looks at no more than these, and would say that the stage is up to date."""
    folder = project / "data" / "tokens" / "validation"
    path = folder / "tokens-00000.arrow"
    content, times = path.read_bytes(), path.stat()
    call(project, "dvc status")  # it has seen these files, which are a copy
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    told = call(project, "python -m pipeline.premask", check=False).stderr
    assert told == (
        f"error: {path.relative_to(project)} is not what tokenize wrote (truncated or changed): "
        f"remove {folder.relative_to(project)} and run `dvc repro tokenize`\n"
    )
    assert not ran(call(project, "dvc repro tokenize").stdout)
    shutil.rmtree(folder)
    assert ran(call(project, "dvc repro tokenize").stdout) == ["tokenize"]
    assert path.read_bytes() == content
    assert not ran(call(project, "dvc repro").stdout)


def test_curves_are_there_while_a_run_trains(project):
    before = set(project.glob(".runs/*"))
    command = ["dvc", "exp", "run", "-S", "seed=3", "-S", "pretrain.epochs=4", "-S", "pretrain.log_every=1", "pretrain"]
    with subprocess.Popen(
        command, cwd=project, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        deadline = time.monotonic() + 90
        while not (
            curves := [
                path
                for path in project.glob(".runs/*/train.csv")
                if path.parent not in before and len(path.read_text().splitlines()) > 2
            ]
        ):
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.01)
        assert read_csv(curves[0])[1]["step"] == "2"
        running.wait()


def test_a_preset_that_torchrun_trained_is_an_experiment(project):
    call(project, "dvc exp run $(python -m pipeline.preset mlm-only) -S pretrain.epochs=1 premask")
    said = call(project, "torchrun --standalone --nproc-per-node 2 -m pipeline.pretrain").stdout
    assert "validation" in said
    trained = read_json(project / "reports" / "pretrain" / "metrics.json")
    call(project, "dvc commit -f pretrain")
    done = call(project, "dvc exp run -n trained")
    assert set(ran(done.stdout)) == AFTER
    assert read_json(project / "reports" / "pretrain" / "metrics.json") == trained
    kept = experiments(project)["trained"]
    assert outs(project, kept)["pretrain"] == outs(project)["pretrain"]
    assert "nsp: false" in call(project, f"git show {kept}:params.yaml").stdout
    assert not ran(call(project, "dvc repro").stdout)


def test_after_an_experiment_that_fails_the_reference_comes_back(project):
    failed = call(project, "dvc exp run -S tasks/sentiment.yaml:dataset.label_column=mood", check=False)
    assert "reviews.csv has no column mood: it has text, sentiment" in failed.stderr
    assert "Traceback" not in failed.stderr
    call(project, "git restore . && dvc checkout --force")
    assert not ran(call(project, "dvc repro").stdout)


def test_killed_and_run_again_is_the_same_as_uninterrupted_and_another_seed_is_not(project):
    reference = read_csv(project / "reports" / "pretrain" / "validation.csv")
    flags = "-S seed=1 -S pretrain.epochs=4 -S pretrain.checkpoint_every=24"
    call(project, f"dvc exp run --temp -n whole {flags} pretrain")
    uninterrupted = outs(project, experiments(project)["whole"])
    assert uninterrupted["premask"] == outs(project)["premask"]

    call(project, "rm -r .dvc/cache/runs")  # or DVC would bring the result of that run back instead of running
    before = set(project.glob(".runs/*"))
    command = ["dvc", "exp", "run", *flags.split(), "pretrain"]
    with subprocess.Popen(
        command, cwd=project, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        kill_at_first_state(running, project, before)
        assert running.wait() != 0
    assert not (project / "data" / "models" / "pretrained").exists()
    assert "seed: 1" in call(project, "git diff params.yaml").stdout

    again = call(project, "dvc repro pretrain").stdout
    assert ran(again) == ["pretrain"]
    assert "resuming after step" in again
    assert outs(project)["pretrain"] == uninterrupted["pretrain"]
    # The rate is constant, so that the reference has done the same so far, from another seed.
    curves = [read_csv(project / "reports" / "pretrain" / "validation.csv"), reference]
    assert [[row["step"] for row in curve[:4]] for curve in curves] == 2 * [["48", "96", "144", "192"]]
    assert all(row["mlm_loss"] != other["mlm_loss"] for row, other in zip(*curves, strict=False))


def kill_at_first_state(running, project, before):
    """Kill the stage below `running` as soon as it has saved a state in another folder than those of `before`."""
    deadline = time.monotonic() + 60
    while all(path.parent in before for path in project.glob(".runs/*/state-*.json")):
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.01)
    stage = [p for p in psutil.Process(running.pid).children(recursive=True) if "pipeline.pretrain" in p.cmdline()]
    assert stage
    for process in stage:
        process.kill()


def test_a_queue_of_masking_rates_leaves_tokenizer_and_shards_alone(project):
    before = set(experiments(project))
    call(project, "dvc exp run --queue -S masking.rate=0.2,0.4 -S pretrain.epochs=1 pretrain && dvc queue start -j 2")
    deadline = time.monotonic() + 120
    while len(new := set(experiments(project)) - before) < 2:
        assert time.monotonic() < deadline, call(project, "dvc queue status").stdout
        time.sleep(0.2)
    call(project, "dvc queue stop")
    one, other = (outs(project, experiments(project)[name]) for name in new)
    assert not one["pretrain"].items() & other["pretrain"].items()
    for made in (one, other):
        assert {stage: made[stage] for stage in DATA} == {stage: outs(project)[stage] for stage in DATA}
    compared = call(project, "python -m pipeline.compare && git restore reports").stdout
    (note,) = [line for line in compared.splitlines() if "pretrained and not evaluated" in line]
    assert all(name in note for name in new)  # the report of the reference is not taken for theirs
    while not (log := call(project, f"dvc queue logs {new.pop()}", check=False).stdout):
        assert time.monotonic() < deadline
    assert ran(log) == ["pretrain"]

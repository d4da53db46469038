"""What README.md and CONTRIBUTING.md tell people to type works, and what they quote is there."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from maskline.core.storage import read_json
from maskline.reporting.scores import read_scores
from maskline.reporting.tables import results_markdown
from maskline.settings.files import merge, read_yaml
from maskline.settings.params import load, parse
from tests.project import ENVIRONMENT, ROOT, call

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
REPRO = "tests/pipeline/test_repro.py"
NOTHING = f"{REPRO}::test_a_second_repro_has_nothing_to_do"
LAYERS = f"{REPRO}::test_another_model_runs_from_pretrain_on_and_a_small_number_stays_one"
KILLED = f"{REPRO}::test_killed_and_run_again_is_the_same_as_uninterrupted_and_another_seed_is_not"
TORCHRUN = f"{REPRO}::test_a_preset_that_torchrun_trained_is_an_experiment"
IMPORTED = f"{REPRO}::test_an_encoder_of_others_stands_in_for_the_one_pretrained_here"
PREDICT = "tests/pipeline/test_predict.py::test_a_file_gives_what_its_texts_give_alone_whatever_is_read_at_a_time"
INT8 = "tests/pipeline/test_export.py::test_a_task_in_int8_is_measured_on_its_validation_split"
CURVE = "tests/finetuning/test_learning_curve.py::test_each_size_and_seed_has_both_starts_and_the_baselines"
SWITCHED = f"{REPRO}::test_a_task_is_switched_on_and_off"
QUEUE = f"{REPRO}::test_a_queue_of_masking_rates_leaves_tokenizer_and_shards_alone"

MERGED = (
    "tests/pipeline/test_merge.py::"
    "test_it_is_used_beside_the_whole_one_merged_from_it_and_one_on_another_encoder_is_refused"
)
TOGETHER = (
    "tests/pipeline/test_multitask.py::"
    "test_each_task_stands_beside_its_training_alone_and_other_commands_read_its_model"
)
DISTILLED = "tests/pipeline/test_distill.py::test_a_student_is_taught_used_and_fine_tuned"
SEEDS = "tests/pipeline/test_seeds.py::test_killed_in_the_middle_it_goes_on_and_compare_knows_the_runs"

SERVED = "test_the_server_answers_as_it_says"

RUN = "run here, in a small copy"
DRY = "make -n: it is what runs this very test"
ONLINE = "needs the network: its flags are applied to params.yaml"
FILES = "needs files of the reader's own: its flags are applied to params.yaml"

VERIFIED = {
    # README.md
    "make repro": RUN,
    "make test": DRY,
    "make bench": DRY,
    "source .venv/bin/activate": RUN,
    "dvc repro": NOTHING,
    'python -m pipeline.fill_mask "Paris is the capital of [MASK]."': RUN,
    "python -m pipeline.results": RUN,
    'python -m pipeline.encode "a crane is flying"': RUN,
    'python -m pipeline.encode "a crane driver came" "he just left"': RUN,
    'python -m pipeline.look "a crane is flying"': RUN,
    'python -m pipeline.look "a crane is flying" "he just left" --beside data/models/sentiment': RUN,
    "python -m pipeline.embed data/models/pretrained data/corpus --normalize": RUN,
    "python -m pipeline.index --hnsw": RUN,
    'python -m pipeline.search "the capital of a kingdom" --method bm25 --k 3': RUN,
    'python -m pipeline.search "the capital of a kingdom" --k 3': RUN,
    "python -m pipeline.serve data/models/sentiment": SERVED,
    "curl -s localhost:8000/predict -H 'Content-Type: application/json' -d '{\"inputs\": [\"What a day\"]}'": SERVED,
    "dvc exp run -S corpus.language=fr": ONLINE,
    "dvc exp run -S corpus.source=hub -S corpus.language=ar -S corpus.hub.config=20231101.ar "
    "-S corpus.hub.max_articles=50000": ONLINE,
    "dvc exp run -S corpus.language=ar -S corpus.source=dump -S corpus.dump.date=20260901": ONLINE,
    "dvc repro --force --single-item fetch": RUN,
    "dvc exp run -S model.layers=4": LAYERS,
    "dvc exp run -S masking.rate=0.2 -S seed=1": QUEUE,
    "dvc exp run -n whole-words -S masking.whole_word=true": LAYERS,
    "dvc exp run --queue -S model.layers=2,4": QUEUE,
    "dvc queue start -j 2": QUEUE,
    "dvc exp run --queue -S pretrain.schedule=linear,cosine,trapezoid -S seed=0,1,2 pretrain": QUEUE,
    "dvc queue start -j 1": QUEUE,
    "dvc queue status": RUN,
    "dvc exp run --temp -S seed=1": KILLED,
    "python -m pipeline.preset": RUN,
    "dvc exp run $(python -m pipeline.preset mlm-only)": RUN,
    "dvc exp run -S '+tasks.reviews=classification'": SWITCHED,
    "dvc exp run -S '~tasks.sentiment'": SWITCHED,
    "dvc exp run -S tasks/sentiment.yaml:dataset.test_fraction=0.2": RUN,
    "dvc exp run -S '+tasks.ner=tokens' -S 'tasks/ner.yaml:dataset.files.paths=[texts/train.tsv]'": FILES,
    "dvc exp run $(python -m pipeline.preset tydiqa) -S tasks/tydiqa.yaml:dataset.source=files "
    "-S 'tasks/tydiqa.yaml:dataset.files.paths=[texts/questions.json]' "
    "-S \"tasks/tydiqa.yaml:dataset.id_prefix=''\"": FILES,
    "dvc exp run $(python -m pipeline.preset stsb) -S tasks/stsb.yaml:dataset.source=files "
    "-S 'tasks/stsb.yaml:dataset.files.paths=[texts/pairs.csv]' -S tasks/stsb.yaml:dataset.columns=null": FILES,
    'python -m pipeline.predict data/models/sentiment "What a day" "I miss my friends"': RUN,
    "python -m pipeline.predict data/models/sentiment --file texts/reviews.csv --columns text "
    "> predictions.jsonl": PREDICT,
    "dvc exp run -S finetune.method=lora -S tasks/sentiment.yaml:finetune.text_epochs=0": MERGED,
    "python -m pipeline.merge data/models/sentiment merged-sentiment": MERGED,
    "python -m pipeline.export data/models/sentiment --onnx": RUN,
    'python -m pipeline.predict data/models/sentiment-onnx "What a day" "I miss my friends"': RUN,
    "python -m pipeline.export data/models/sentiment --onnx --int8": INT8,
    "python -m pipeline.learning_curve sentiment": CURVE,
    "dvc exp run $(python -m pipeline.preset imported) score@sentiment": ONLINE,
    "dvc exp run $(python -m pipeline.preset imported) -S imported.source=hub "
    "-S imported.hub.name=google/bert_uncased_L-2_H-128_A-2 "
    "-S imported.hub.revision=30b0a37ccaaa32f332884b96992754e246e48c5f score@sentiment": ONLINE,
    "dvc exp run $(python -m pipeline.preset imported) -S imported.source=directory -S imported.directory=my-bert "
    "score@sentiment": IMPORTED,
    "dvc exp run $(python -m pipeline.preset arabic)": ONLINE,
    "dvc exp run $(python -m pipeline.preset arabic-mlm) -S corpus.source=files "
    "-S 'corpus.files.paths=[texts/*.jsonl.gz]' -S tokenizer.kind=wordpiece "
    "-S tasks/sentiment.yaml:dataset.source=files -S 'tasks/sentiment.yaml:dataset.files.paths=[texts/tweets.tsv]' "
    "-S tasks/sentiment.yaml:dataset.encoding=utf-8 -S tasks/sentiment.yaml:dataset.label_column=label "
    "-S 'tasks/sentiment.yaml:dataset.labels=[Negative,Positive]'": FILES,
    "dvc exp run $(python -m pipeline.preset wikitext-tiny) -S corpus.source=files "
    "-S 'corpus.files.paths=[texts/valid.txt.gz]' -S 'corpus.files.validation_paths=[texts/test.txt.gz]'": FILES,
    "dvc exp run $(python -m pipeline.preset multitask) finetune@sst2 finetune@stsb": ONLINE,
    "python -m pipeline.multitask": TOGETHER,
    "dvc exp run $(python -m pipeline.preset distill) imported@encoder evaluate": ONLINE,
    "python -m pipeline.distill": DISTILLED,
    "python -m pipeline.seeds 6": SEEDS,
    "python -m pipeline.seeds 6 -S model.layers=4": SEEDS,
    "python -m pipeline.seeds 6 $(python -m pipeline.preset mlm-only) evaluate": SEEDS,
    "python -m pipeline.compare": RUN,
    "python -m pipeline.report": RUN,
    "python -m pipeline.report --experiments": RUN,
    "python -m pipeline.report runs/one runs/other": "tests/pipeline/test_report.py::test_several_folders_are_compared",
    "python -m pipeline.report --live": "tests/pipeline/test_report.py::"
    "test_live_serves_this_folder_until_ctrl_c_which_is_no_failure",
    "dvc exp show --only-changed": RUN,
    "dvc metrics diff": RUN,
    "dvc plots diff": RUN,
    "git restore .": RUN,
    "dvc checkout": RUN,
    "dvc repro premask": RUN,
    "torchrun --standalone --nproc-per-node 2 -m pipeline.pretrain": RUN,
    "dvc exp run $(python -m pipeline.preset bert-base) premask": TORCHRUN,
    "torchrun --standalone --nproc-per-node 8 -m pipeline.pretrain": TORCHRUN,
    "dvc exp run": TORCHRUN,
    "dvc commit -f pretrain": RUN,
    "dvc remote add -d team ../maskline-store": RUN,
    "git add .dvc/config": RUN,
    'git commit -m "Share data and models"': RUN,
    "dvc push": RUN,
    "dvc pull": "test_a_clone_pulls_what_was_pushed",
    # CONTRIBUTING.md
    "make check": DRY,
    "pre-commit install": RUN,
}
"""Command -> how it is verified: one of the ways above, or the test that runs it or its like."""


def blocks(language):
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [re.sub(r"\\\n *", "", block) for text in TEXTS.values() for block in pattern.findall(text)]


COMMANDS = list(dict.fromkeys(line for block in blocks("sh") for line in block.splitlines()))


def test_every_command_is_verified():
    assert set(COMMANDS) == set(VERIFIED)
    here = Path(__file__).relative_to(ROOT).as_posix()
    for way in set(VERIFIED.values()) - {RUN, DRY, ONLINE, FILES}:
        file, _, name = way.rpartition("::")
        assert f"\ndef {name}(" in (ROOT / (file or here)).read_text()


@pytest.fixture(scope="module")
def project(reproduced, tmp_path_factory):
    """A copy of the reproduced project, where `make` finds the environment of this test set up already."""
    folder = tmp_path_factory.mktemp("readme") / "maskline"
    shutil.copytree(reproduced, folder, symlinks=True)
    environment = folder / ".venv"
    environment.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (environment / name).symlink_to(Path(sys.prefix) / name)
    (environment / ".installed").touch()
    return folder


@pytest.mark.parametrize("command", [command for command in COMMANDS if VERIFIED.get(command) == RUN])
def test_a_command_runs(command, project):
    done = call(project, command, PRE_COMMIT_HOME=str(project.parent / "pre-commit"))
    if command == "make repro":
        assert "pip install" not in done.stdout
        assert "MLM loss (nats)" in done.stdout
        assert "\nreports/figures/sentiment-finetuning.png\n" in done.stdout
        assert done.stdout.endswith("\nreports/report.html\n")
    elif "fill_mask" in command:
        assert "probability" in done.stdout
    elif "pipeline.embed" in command or "pipeline.index" in command:
        assert re.fullmatch(r"[\d,]+ vectors of \d+ numbers in data/(vectors|index)\n", done.stdout)
    elif "pipeline.search" in command:
        assert re.match(r"(\d\. .+ \(\d+\.\d{4}\)\n   .+\n){1,3}", done.stdout)
    elif "pipeline.look" in command:
        assert done.stdout == "look.html\n"
    elif "encode" in command:
        assert "[CLS]" in done.stdout
    elif "mlm-only" in command:
        assert read_json(project / "reports" / "evaluate" / "metrics.json")["nsp"]["accuracy"] is None


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_server_answers_as_it_says(project):
    serve, ask = (command for command, way in VERIFIED.items() if way == SERVED)
    (transcript,) = (block for block in blocks("text") if " at http://" in block)
    command = [*shlex.split(serve), "--port", "0"]
    with subprocess.Popen(command, cwd=project, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as server:
        said = server.stdout.readline()
        port = re.search(r":(\d+) ", said)[1]
        said += call(project, ask.replace("8000", port)).stdout + "\n"
        server.terminate()
        said += server.stdout.read()

    def shape(text):
        return re.sub(r"positive(?=\",)|negative(?=\",)", "LABEL", re.sub(r"\d+(\.\d+)?(e-\d+)?", "N", text))

    assert server.returncode == 0
    assert shape(said.replace(port, "8000")) == shape(transcript)


def test_a_clone_pulls_what_was_pushed(project):
    clone = project.with_name("clone")
    call(project.parent, f"git clone -q {project} {clone}")
    call(clone, "dvc pull")
    model = "data/models/pretrained/model.safetensors"
    assert (clone / model).read_bytes() == (project / model).read_bytes()


def test_after_an_experiment_the_order_of_the_readme_shares_the_committed_run(reproduced, tmp_path):
    """What lies in the workspace is pushed: without going back first, the clone's checkout fails."""
    mine, store, clone = tmp_path / "mine", tmp_path / "store", tmp_path / "clone"
    shutil.copytree(reproduced, mine, symlinks=True)
    call(mine, f"dvc remote add -q -d team {store} && git commit -qam remote")
    call(mine, "dvc exp run -n other -S evaluate.samples=2 -S pretrain.epochs=1 pretrain")
    committed = call(mine, "git show HEAD:params.yaml").stdout
    assert (mine / "params.yaml").read_text() != committed  # -S stays there
    call(mine, "dvc push")
    call(tmp_path, f"git clone -q {mine} {clone}")
    assert "failed" in call(clone, "dvc pull", check=False).stderr.lower()

    (block,) = [block for block in blocks("sh") if block == "git restore .\ndvc checkout\ndvc push\n"]
    call(mine, block)
    assert (mine / "params.yaml").read_text() == committed
    call(clone, "dvc pull")
    model = "data/models/pretrained/model.safetensors"
    assert (clone / model).read_bytes() == (reproduced / model).read_bytes()
    assert "up to date" in call(clone, "dvc status").stdout


def test_make_knows_its_targets(project):
    printed = call(project, "make -n test").stdout.splitlines()
    assert printed == [
        "ruff format --check",
        "ruff check",
        "mypy",
        "lint-imports",
        "pytest -n logical --dist loadfile --no-loadscope-reorder",
    ]
    assert call(project, "make -n check").stdout.splitlines() == printed[:-1]
    assert call(project, "make -n bench").stdout == "python -m benchmarks\n"
    assert not call(project, "make setup").stdout.count("pip install")
    (project / "constraints.txt").touch()
    assert "pip install" in call(project, "make -n setup").stdout


@pytest.mark.parametrize(("version", "refused"), [((3, 10, 14), True), ((3, 11, 0), False)])
def test_make_refuses_an_old_python(version, refused, tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python"  # says that it is of this version, and can do nothing but that
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = {version}; $2"\n')
    python.chmod(0o755)
    done = call(tmp_path, f"make setup PYTHON={python}", check=False)
    assert done.returncode
    assert done.stderr.startswith("error: maskline needs Python 3.11 or newer") == refused


@pytest.mark.parametrize("command", [command for command in COMMANDS if re.search(r"dvc exp run .*-S ['\w]", command)])
def test_every_flag_names_a_parameter(command, tmp_path):
    from dvc.utils.cli_parse import to_path_overrides
    from dvc.utils.hydra import apply_overrides

    words = shlex.split(command)
    values = [value for flag, value in pairwise(words) if flag == "-S"]
    flags = [value if "[" in value else value.split(",")[0] for value in values]  # a sweep gives several
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    shutil.copy(tmp_path / "tasks" / "sentiment.yaml", tmp_path / "tasks" / "reviews.yaml")  # one of the reader's own
    for name, changes in to_path_overrides(flags).items():
        apply_overrides(tmp_path / name, changes)
    assert load(tmp_path / "params.yaml")


def test_the_yaml_is_accepted():
    from ruamel.yaml import YAML

    corpus, task = (YAML(typ="safe", pure=True).load(block) for block in blocks("yaml"))
    content = merge(read_yaml(ROOT / "params.yaml"), corpus) | {"tasks": {"reviews": "classification"}}
    assert parse(content, {"reviews": task}).task("reviews").finetune.epochs == 3


def test_the_python_runs(reproduced):
    (block,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=reproduced, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in {"negative", "positive"}
    assert "newly initialized" not in done.stderr


def test_links_lead_somewhere():
    for text in TEXTS.values():
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
            made = target.startswith("reports/figures/")  # by the stage plot
            heading = target.startswith("#") and f"\n## {target[1:]}\n" in text.lower()
            assert (ROOT / target.partition("#")[0]).exists() or made or heading


def test_everything_says_the_same_of_what_globs_are_relative_to():
    places = ["README.md", "params.yaml", "src/maskline/sources/settings.py", "src/maskline/dataset/settings.py"]
    tasks = (path for path in sorted(ROOT.glob("tasks/*.yaml")) if "globs" in path.read_text(encoding="utf-8"))
    places += [path.relative_to(ROOT).as_posix() for path in tasks]
    for place in places:
        text = " ".join((ROOT / place).read_text(encoding="utf-8").split())
        glob_texts = [part for part in re.split(r"(?<=[.|:]) ", text) if re.search(r"[Gg]lobs\b.*\brelative", part)]
        assert glob_texts, place
        assert all("relative to the folder that the command runs in" in part for part in glob_texts), place


def messages():
    """Return every text in the code, with … for what is filled in."""
    for path in [*ROOT.glob("src/maskline/**/*.py"), *ROOT.glob("pipeline/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_the_messages_are_those_of_the_code():
    _, _, section = TEXTS["README.md"].partition("## Troubleshooting")
    quoted = re.findall(r"^\| `([^`]+)` +\|", section.partition("\n## ")[0], re.MULTILINE)
    assert len(quoted) > 15
    known = list(messages())
    for message in quoted:
        assert any(message.strip("… ") in text for text in known), message


def test_the_results_in_the_readme_are_those_of_the_committed_run():
    table = results_markdown(read_scores(ROOT / "reports", load(ROOT / "params.yaml").tasks).values())
    assert table in TEXTS["README.md"]

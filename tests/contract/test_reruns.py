"""What an edit makes run again: the table of the design, held by dry runs of DVC in a copy of the project."""

import re
import shutil

import pytest

from maskline.core.storage import write_json
from tests.contract.graph import covers, stages
from tests.project import call, change

TASK = {"dataset@sentiment", "finetune@sentiment", "scratch@sentiment", "score@sentiment"}
TRAINED = TASK - {"dataset@sentiment"}


@pytest.fixture(scope="module")
def project(reproduced, tmp_path_factory):
    """A copy of the reproduced project; each test leaves it as it was."""
    return shutil.copytree(reproduced, tmp_path_factory.mktemp("reruns") / "maskline", symlinks=True)


@pytest.fixture(autouse=True)
def _restored(project):
    yield
    call(project, "git restore . && git clean -qfd src tasks presets")


def reruns(project):
    """Return the stages that DVC would run, those before whose own outs change nothing."""
    return set(re.findall(r"^Running stage '(.*)'", call(project, "dvc repro --dry").stdout, re.MULTILINE))


def edit(path):
    """Change a file of code as a comment does."""
    path.write_text(f"{path.read_text()}\n# edited\n")


def after(stage):
    """Return the stages that read what `stage` makes, and those after them."""
    known = stages()
    found, waiting = set(), [one for one in known if str(one) == stage]
    while waiting:
        current = waiting.pop()
        readers = [
            one for one in known for dep in one.data for out in current.outs if covers(dep, out) or covers(out, dep)
        ]
        waiting += [one for one in readers if str(one) not in found]
        found |= set(map(str, readers))
    return found


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["sources/sample.py"], {"fetch"}),
        (["sources/dump/wikitext.py", "sources/dump/templates.py"], {"fetch"}),
        (["selection/duplicates.py"], {"fetch"}),
        (["tasks/classification/task.py"], TASK),
        (["finetuning/run.py", "finetuning/score.py", "finetuning/task.py"], TRAINED),
        (["dataset/write.py"], TASK),
        (["pretraining/run.py"], {"pretrain", "evaluate"}),
        (
            [
                "reporting/figures.py",
                "reporting/task_figures.py",
                "reporting/comparison.py",
                "reporting/comparison_page.py",
            ],
            {"plot"},
        ),
        (["inference/fill.py", "inference/embedding.py", "inference/vectors.py", "inference/index.py"], set()),
        (["page/run.py", "page/figures.py", "page/page.js"], set()),
        (["settings/params.py", "settings/files.py", "settings/presets.py"], set()),
    ],
)
def test_an_edit_of_a_room_reruns_the_stages_that_it_shapes(files, expected, project):
    for file in files:
        edit(project / "src" / "maskline" / file)
    assert reruns(project) == expected


def test_commands_help_and_error_texts_rerun_nothing(project):
    for path in (project / "pipeline").glob("*.py"):
        edit(path)
    assert not reruns(project)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"tasks/sentiment.yaml:dataset.test_fraction": 0.2}, {"dataset@sentiment"}),
        ({"tasks/sentiment.yaml:finetune.class_weights": "balanced"}, TRAINED),
        ({"finetune.epochs": 1}, TRAINED - {"score@sentiment"}),
        ({"masking.rate": 0.2}, {"pretrain"}),
        ({"pretrain.peak_lr": 0.01}, {"pretrain"}),
        ({"corpus.min_characters": 60}, {"fetch"}),
        ({"evaluate.samples": 2}, {"evaluate"}),
        ({"compute.workers": 2, "compute.progress": "bar"}, set()),
    ],
)
def test_a_parameter_reruns_the_stages_that_read_it(settings, expected, project):
    change(project, settings)
    assert reruns(project) == expected


def test_pretraining_reruns_all_that_comes_after_and_not_the_baseline_from_random_weights():
    assert after("pretrain") == {"evaluate", "finetune@sentiment", "score@sentiment", "plot"}


def test_the_settings_of_a_task_rerun_nothing_of_pretraining():
    assert after("dataset@sentiment") == {"finetune@sentiment", "scratch@sentiment", "score@sentiment", "plot"}


def test_a_new_kind_and_a_new_preset_rerun_nothing(project):
    rooms = project / "src" / "maskline" / "tasks"
    shutil.copytree(rooms / "classification", rooms / "moods")
    (project / "presets" / "new.yaml").write_text("# a preset\nseed: 1\n")
    assert not reruns(project)


def test_a_run_says_beforehand_what_it_will_do_and_how_long_that_took(project):
    def plan():
        return call(project, "python -m pipeline.plan").stdout.splitlines()

    assert plan() == ["nothing to do: every stage is up to date"]
    change(project, {"pretrain.peak_lr": 0.01})
    followers = "evaluate, finetune@sentiment, score@sentiment, plot"
    *stages, here = plan()
    assert stages == ["to do: pretrain", f"then, where what they read changes: {followers}"]
    assert here == "altogether up to 1 min, as long as it took here the last time"
    (project / ".timings" / "pretrain.json").unlink()
    write_json(project / "reports" / "timing.json", dict.fromkeys(["pretrain", *followers.split(", ")], 90.0))
    assert plan()[-1] == "altogether up to 8 min, as long as it took on the machine of the README the last time"


def test_a_text_of_a_shell_as_name_or_kind_stops_before_anything_runs(project):
    for settings in ({"tasks.x; touch gone": "classification"}, {"tasks.sentiment": "$(touch gone)"}):
        change(project, settings)
        done = call(project, "dvc repro", check=False)
        assert done.returncode
        assert "Running stage" not in done.stdout
        assert not (project / "gone").exists()
        call(project, "git restore .")

"""Experiments side by side, from runs made by hand."""

import csv
import json
import math
import re
from dataclasses import replace
from datetime import date
from math import sqrt

import pytest

from maskline.core.errors import UserError
from maskline.reporting.comparison import compare
from maskline.reporting.comparison_page import to_markdown, to_text, write_comparison
from maskline.reporting.lock import Stages
from maskline.reporting.overlay import GAIN, LOSS
from maskline.reporting.runs import EVALUATION, Column, Run, read_folder

COLUMNS = {
    "mlm.loss": Column("MLM loss", "lower"),
    "mlm.accuracy": Column("MLM accuracy", "higher"),
    "tasks.mood.accuracy": Column("mood accuracy", "higher", "mood"),
    "tasks.mood.macro_f1": Column("mood macro-F1", "higher", "mood"),
}
PARAMS = {"seed": 0, "model.layers": 2, "pretrain.peak_lr": 0.002, "compute.device": "cpu"}


def make(name, loss=4.5, state="done", **changes):
    params = PARAMS | {key.replace("__", "."): value for key, value in changes.items()}
    metrics = {"mlm.loss": loss, "mlm.accuracy": 0.25, "tasks.mood.accuracy": 0.88, "tasks.mood.macro_f1": 0.85}
    return Run(name, params, metrics, {100: 6.0, 200: loss}, state, columns=COLUMNS)


def cells(comparison):
    """Return the rows of the Markdown table, header and rule aside."""
    lines = [line for line in to_markdown(comparison).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def names(comparison):
    return [row.names for row in comparison.rows]


def test_seeds_become_mean_and_sample_standard_deviation():
    comparison = compare([make("main", 4.0), make("b", 5.0, seed=2), make("a", 4.2, seed=1)])
    (row,) = comparison.rows
    assert row.mean("mlm.loss") == pytest.approx(4.4)  # (4.0 + 4.2 + 5.0) / 3
    assert row.deviation("mlm.loss") == pytest.approx(sqrt((0.16 + 0.04 + 0.36) / 2))  # 0.529: divided by n - 1
    assert cells(comparison)[0][:4] == ["main, a, b", "—", "0, 1, 2 (n = 3)", "4.400 ± 0.529"]


def test_an_integer_written_with_a_point_is_the_same_value():
    assert names(compare([make("main", 4.0), make("a", 4.2, seed=1, model__layers=2.0)])) == ["main, a"]


def test_differences_are_to_the_reference_row():
    comparison = compare([make("main", 4.0), make("s1", 4.2, seed=1), make("deep", 4.6, model__layers=4)])
    reference, deep = comparison.rows
    assert comparison.difference(reference, "mlm.loss") is None
    assert comparison.difference(deep, "mlm.loss") == pytest.approx(0.5)  # 4.6 - (4.0 + 4.2) / 2
    assert cells(comparison)[1][:4] == ["deep", "model.layers=4", "0", "4.600 (+0.500)"]


def test_only_the_parameters_that_differ_and_never_compute():
    runs = [
        make("main"),
        make("deep", 4.4, model__layers=4, compute__device="cuda"),
        make("same", 4.3, model__layers=2.0),
    ]
    comparison = compare(runs)
    assert [dict(row.changes) for row in comparison.rows] == [{}, {}, {"model.layers": 4}]
    assert "compute" not in to_markdown(comparison)
    assert "peak_lr" not in to_markdown(comparison)


def test_the_order_is_that_of_the_changes_whatever_the_order_of_the_runs():
    runs = [make(f"l{n}", 4 + n / 10, model__layers=n) for n in (16, 4, 8)] + [make("lr", 4.3, pretrain__peak_lr=0.01)]
    for others in (runs, runs[::-1]):
        assert names(compare([make("main"), *others])) == ["main", "l4", "l8", "l16", "lr"]


def test_failed_and_diverged_runs_are_marked_and_not_averaged():
    bad = [
        make("nan", None, "diverged", seed=1),
        make("inf", 9.0, "diverged", seed=3),
        Run("boom", PARAMS | {"seed": 2}, {}, {}, "failed"),
    ]
    comparison = compare([make("main"), *bad])
    assert names(comparison) == ["main", "boom", "inf", "nan"]
    assert cells(comparison)[1] == ["boom", "—", "2", "failed", "—", "—", "—", "—"]
    assert cells(comparison)[3][:5] == ["nan", "—", "1", "diverged", "—"]


def test_a_repeat_is_left_out_with_a_note():
    comparison = compare([make("main"), make("workspace", compute__device="cuda")])
    assert names(comparison) == ["main"]
    assert comparison.notes == ["workspace repeats main: same parameters, same numbers."]


def test_a_change_that_changed_no_number_is_noted_and_not_averaged():
    comparison = compare([make("main"), make("stale", seed=1)])
    assert names(comparison) == ["main", "stale"]
    assert "stale has exactly the numbers of main although seed differs" in comparison.notes[0]


def test_the_same_seed_twice_is_not_averaged():
    comparison = compare([make("main"), make("rerun", 4.4)])
    assert names(comparison) == ["main", "rerun"]
    assert "same parameters and seed, other numbers" in comparison.notes[0]


def test_the_note_on_seeds_names_the_runs_that_share_one():
    comparison = compare([make("main"), make("a", 4.3, seed=1), make("rerun", 4.4), make("b", 4.2, seed=1)])
    assert [note.partition(":")[0] for note in comparison.notes] == ["main, rerun", "a, b"]
    comparison = compare([make("main"), make("rerun", 4.4), make("other", 4.2, seed=1)])
    assert [note.partition(":")[0] for note in comparison.notes] == ["main, rerun"]


def test_many_changes_are_folded_below_the_table_and_counted_in_it(tmp_path):
    preset = {f"corpus__key_{number}": f"value {number}" for number in range(40)} | {"model__layers": 4}
    comparison = compare([make("main"), make("preset", 4.4, **preset), make("deep", 4.3, model__layers=4)])
    text, terminal = to_markdown(comparison), to_text(comparison)
    (row,) = (line for line in text.splitlines() if line.startswith("| preset"))
    assert len(row.split(" | ")[1]) < 120
    assert "corpus.key_0=value 0, corpus.key_1=value 1" in row
    shown = row.count("value ")
    assert f" and {40 - shown} more" in row
    assert "<details><summary>All changes of preset</summary>" in text
    assert all(f"- corpus.key_{number}=value {number}\n" in text for number in range(40))
    assert "All but main have model.layers=4.\n" in text
    assert "details" not in terminal
    assert max(map(len, terminal.splitlines())) < 250
    (tmp_path / "long").mkdir()
    write_comparison(compare([make("main"), make("long", 4.4, corpus__paths=["x" * 50] * 90)]), tmp_path / "long" / "c")
    with (tmp_path / "long" / "c.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))[1]["corpus.paths"]) > 4500


def test_what_all_runs_share_beside_the_reference_stands_once():
    runs = [make("main"), *(make(f"l{n}", 4 + n / 10, corpus__language="ar", model__layers=n) for n in (3, 4))]
    text = to_text(compare(runs))
    assert text.count("corpus.language") == 1
    assert "All but main have corpus.language=ar.\n" in text
    assert [row[1] for row in cells(compare(runs))] == ["—", "model.layers=3", "model.layers=4"]
    assert "All but" not in to_text(compare(runs[:2]))  # one row alone says it itself


@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_without_room_for_the_table_has_a_line_for_each_cell(width):
    runs = [make("main"), make("rerun", 4.4), make("deep", 4.3, model__layers=4)]
    lines = to_text(compare(runs), width).splitlines()
    assert max(map(len, lines)) <= width
    assert "MLM loss ↓: 4.300 (-0.200)" in lines
    assert [line for line in lines if line.startswith("experiment: ")] == [f"experiment: {run.name}" for run in runs]
    assert " ".join(" ".join(lines).split()).count("same parameters and seed, other numbers") == 1


def test_a_wide_terminal_has_the_table():
    comparison = compare([make("main"), make("deep", 4.3, model__layers=4)])
    table = [line for line in to_text(comparison).splitlines() if line.startswith("|")]
    assert [line for line in to_text(comparison, 200).splitlines() if line.startswith("|")] == table


HOSTILE = "\x1b[31m<script>|`$x$`\u202e[a](b)\n# no"


def test_names_and_values_steer_neither_a_terminal_nor_a_page(tmp_path):
    columns = {**COLUMNS, "tasks.mood.accuracy": Column(f"{HOSTILE} accuracy", "higher", "mood")}
    runs = [
        replace(make(name, loss, **{HOSTILE: value}), columns=columns)
        for name, loss, value in (("main", 4.0, "a"), (HOSTILE, 4.5, HOSTILE), (HOSTILE * 2, 4.25, HOSTILE * 20))
    ]
    comparison = compare([*runs, replace(make("again", 4.25, **{HOSTILE: HOSTILE}), columns=columns)], notes=[HOSTILE])
    page, terminal = to_markdown(comparison), to_text(comparison)
    for text in (page, terminal):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert not re.search("^# no", text, re.MULTILINE)
    html = [line for line in page.splitlines() if "<summary>" in line]  # Markdown leaves such a line as it is
    assert html
    assert all(line.count("<") == line.count(">") == 3 for line in html)
    page_alone = "\n".join(line for line in page.splitlines() if line not in html)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\[a\]|(?<!\\)\$|(?<!\\)`", page_alone)
    with (write_comparison(comparison, tmp_path / "c")[0]).open() as file:
        assert file.read().startswith(page)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_a_key_that_only_one_run_has():
    comparison = compare([make("main"), make("new", 4.4, model__extra=True)])
    assert dict(comparison.rows[1].changes) == {"model.extra": True}
    assert "model.extra=true" in to_markdown(comparison)


def test_csv_holds_every_number_whole(tmp_path):
    runs = [make("main", 4.0), make("s1", 4.2, seed=1), make("deep", 1 / 3, model__layers=4)]
    paths = write_comparison(compare(runs), tmp_path / "v1.0")
    assert [path.name for path in paths] == [
        *("v1.0.md", "v1.0.csv", "v1.0.svg", "v1.0.png"),
        *("v1.0-seeds.svg", "v1.0-seeds.png"),
    ]
    with (tmp_path / "v1.0.csv").open(newline="") as file:
        reference, deep = csv.DictReader(file)
    assert reference["experiment"] == "main, s1"
    assert (reference["n"], reference["seed"], reference["model.layers"]) == ("2", "0 1", "2")
    assert float(reference["mlm.loss_sd"]) == pytest.approx(sqrt(0.02))
    assert float(deep["mlm.loss"]) == 1 / 3
    assert (deep["model.layers"], deep["mlm.loss_sd"]) == ("4", "")


def test_without_curves_no_figure_is_left(tmp_path):
    (tmp_path / "c.svg").write_text("old")
    runs = [Run("main", PARAMS, {"mlm.loss": 4.0}, {}, "done", columns=COLUMNS)]
    assert [path.name for path in write_comparison(compare(runs), tmp_path / "c")] == ["c.md", "c.csv"]
    assert not (tmp_path / "c.svg").exists()


def test_arrows_point_to_the_better_side():
    header = to_markdown(compare([make("main")])).splitlines()[2]
    assert "MLM loss ↓" in header
    assert "mood macro-F1 ↑" in header


def scored(name, loss=4.5, mlm="a", mood="b", **changes):
    """Return a run whose lock says what it was scored on."""
    return replace(make(name, loss, **changes), data={"": mlm, "mood": mood})


def test_what_was_measured_on_other_data_is_not_subtracted(tmp_path):
    runs = [scored("main", 4.0), scored("deep", 4.5, model__layers=4), scored("words", 4.25, mlm="c", tokenizer__n=12)]
    runs.append(scored("classes", 4.75, mood="d", model__layers=3))
    comparison = compare(runs)
    _, classes, deep, words = cells(comparison)
    assert (deep[0], deep[3:6]) == ("deep", ["4.500 (+0.500)", "0.250 (+0.000)", "0.880 (+0.000)"])
    assert (words[0], words[3:6]) == ("words", ["4.250 (other data)", "0.250 (other data)", "0.880 (+0.000)"])
    assert (classes[0], classes[3:6]) == ("classes", ["4.750 (+0.750)", "0.250 (+0.000)", "0.880 (other data)"])
    assert comparison.notes == [
        "words: MLM and NSP: another fixed validation set than main, so no difference is taken.",
        "classes: mood: other classes or another split than main, so no difference is taken.",
    ]
    write_comparison(comparison, tmp_path / "c")
    with (tmp_path / "c.csv").open(newline="") as file:
        found = {row["experiment"]: row for row in csv.DictReader(file)}
    assert (found["words"]["mlm.loss"], found["words"]["mlm.loss_difference"]) == ("4.25", "")
    assert "words (other data)" in (tmp_path / "c.svg").read_text()


def test_curves_of_other_data_are_drawn_from_the_loss_of_guessing_by_frequency(tmp_path):
    main, words = scored("main", 4.0), scored("words", 6.5, mlm="c", tokenizer__n=12)
    known = [replace(main, unigram=7.0), replace(words, unigram=8.0)]
    for runs, label, last in [(known, GAIN, ("-3.000", "-1.500")), ([known[0], words], LOSS, ("4.000", "6.500"))]:
        write_comparison(compare(runs), tmp_path / "c")
        drawn = (tmp_path / "c.svg").read_text()
        assert all(text in drawn for text in (label, f"main  {last[0]}", f"words (other data)  {last[1]}"))
    write_comparison(compare([known[0], replace(words, unigram=7.0, data=main.data)]), tmp_path / "c")
    assert LOSS in (tmp_path / "c.svg").read_text()


def test_seeds_of_other_data_are_not_averaged():
    comparison = compare([scored("main", 4.0), scored("a", 4.25, seed=1), scored("b", 4.5, mlm="c", seed=2)])
    assert names(comparison) == ["main, a", "b"]
    assert cells(comparison)[1][3] == "4.500 (other data)"


def test_a_run_that_lacks_a_task_is_averaged_where_both_have_numbers():
    alone = replace(make("a", 4.2, seed=1), data={"": "a"})
    assert names(compare([scored("main", 4.0), alone])) == ["main, a"]


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("corpus__language", {"mlm"}),
        ("tokenizer__vocab_size", {"mlm"}),
        ("premask__seed", {"mlm"}),
        ("tasks__mood", {"tasks"}),
        ("tasks/mood.yaml:dataset.merge", {"tasks"}),
        ("tasks/mood.yaml:finetune.epochs", set()),
        ("tasks/news.yaml:dataset.merge", set()),
        ("pretrain__steps", set()),
    ],
)
def test_without_a_lock_the_parameters_that_make_the_data_decide(key, other):
    comparison = compare([make("main"), make("x", 4.4, **{key: "new"})])
    found = {metric.split(".")[0] for metric in COLUMNS if comparison.has_other_data(comparison.rows[1], metric)}
    assert found == other


def test_any_run_is_the_reference():
    runs = [make("main", 4.0), make("deep", 4.5, model__layers=4), make("again", 4.0, compute__device="cuda")]
    comparison = compare(runs, "deep", ["A note."])
    assert names(comparison) == ["deep", "main"]
    assert cells(comparison)[1][1] == "model.layers=2"
    assert cells(comparison)[1][3] == "4.000 (-0.500)"
    assert comparison.notes[-1] == "A note."
    assert names(compare(runs, "again"))[0] == "again"  # a repeat of another, and yet the reference
    with pytest.raises(UserError, match="no run is named wide: name one of main, deep, again"):
        compare(runs, "wide")


def settings(**params):
    """Return the settings files of a run that switches a task on."""
    return {"params.yaml": {"seed": 0, "tasks": {"sentiment": "classification"}, **params}}


def lock(**stages):
    """Return dvc.lock of stages that read deps and made outs, hashes by path, with parameters of params.yaml."""

    def files(hashes):
        return [{"path": path, "md5": md5} for path, md5 in hashes.items()]

    return json.dumps(
        {
            "stages": {
                name.replace("__", "@"): {
                    "deps": files(stage.get("deps", {})),
                    "outs": files(stage.get("outs", {})),
                    "params": {"params.yaml": stage.get("params", {})},
                }
                for name, stage in stages.items()
            }
        }
    )


FETCHED = {"params": {"corpus.language": "en"}, "outs": {"data/corpus": "a"}}
TRAINED = {"deps": {"data/corpus": "a", "src/x": "c"}, "outs": {"data/model": "m"}, "params": {"seed": 0}}
SCORED = {"deps": {"data/model": "m"}, "outs": {"reports/x.json": "r"}}
CORPUS = {"corpus": {"language": "en"}}


@pytest.mark.parametrize(
    ("stages", "params", "expected"),
    [
        ({"fetch": FETCHED, "pretrain": TRAINED, "evaluate": SCORED}, CORPUS, (True, True)),
        # Another language was fetched, and nothing was trained on it.
        (
            {"fetch": FETCHED | {"outs": {"data/corpus": "b"}}, "pretrain": TRAINED, "evaluate": SCORED},
            CORPUS,
            (False, False),
        ),
        # The language in params.yaml is not even fetched.
        ({"fetch": FETCHED, "pretrain": TRAINED, "evaluate": SCORED}, {"corpus": {"language": "no"}}, (False, False)),
        # Trained anew, and not evaluated.
        (
            {"fetch": FETCHED, "pretrain": TRAINED | {"outs": {"data/model": "n"}}, "evaluate": SCORED},
            CORPUS,
            (True, False),
        ),
        # With another seed than the run's own.
        ({"fetch": FETCHED, "pretrain": TRAINED | {"params": {"seed": 1}}, "evaluate": SCORED}, CORPUS, (False, False)),
        ({"fetch": FETCHED}, CORPUS, (False, False)),
        ({}, CORPUS, (False, False)),
    ],
)
def test_the_lock_tells_whether_a_stage_ran_on_the_runs_own_data_and_parameters(stages, params, expected):
    found = Stages(lock(**stages), settings(**params))
    assert (found.is_current("pretrain"), found.is_current("evaluate")) == expected


def test_a_lock_that_is_none_is_told():
    with pytest.raises(UserError, match=r"dvc\.lock is not what DVC writes"):
        Stages("stages: [", {})
    with pytest.raises(UserError, match=r"dvc\.lock is not what DVC writes"):
        Stages("text", {})


def test_what_was_never_trained_has_no_number(tmp_path, write_reports):
    write_reports(tmp_path)  # those of the reference, which DVC left in place
    (tmp_path / "dvc.lock").write_text(lock(fetch=FETCHED, pretrain=TRAINED, evaluate=SCORED))
    run = read_folder(tmp_path, settings(corpus={"language": "no"}), "fetched")
    assert (run.state, run.metrics, run.curve) == ("not trained", {}, {})
    row = cells(compare([make("main"), run]))[1]
    assert row[0] == "fetched"
    assert row[3:] == ["not trained", *["—"] * 4]


def test_a_task_has_numbers_where_its_own_stages_ran(tmp_path, write_reports):
    write_reports(tmp_path)
    stages = {"pretrain": TRAINED, "fetch": FETCHED, "evaluate": SCORED, "score__sentiment": SCORED}
    keys = {"tasks.sentiment.accuracy", "tasks.sentiment.macro_f1"}
    (tmp_path / "dvc.lock").write_text(lock(**stages))
    assert keys < set(read_folder(tmp_path, settings(**CORPUS), "x").metrics)
    stale = stages | {"score__sentiment": SCORED | {"params": {"finetune.epochs": 2}}}
    (tmp_path / "dvc.lock").write_text(lock(**stale))
    assert not keys & set(read_folder(tmp_path, settings(finetune={"epochs": 4}, **CORPUS), "x").metrics)


def test_the_lock_says_what_a_run_was_scored_on(tmp_path, write_reports):
    write_reports(tmp_path)
    stages = {
        "fetch": FETCHED,
        "pretrain": TRAINED | {"deps": TRAINED["deps"] | {"data/validation": "v"}},
        "evaluate": {"deps": {"data/model": "m", "data/validation": "v"}},
        "score__sentiment": {"deps": {"data/model": "m", "data/tasks/sentiment": "t"}},
    }
    for names, expected in ((list(stages), {"": "v", "sentiment": "t"}), (["fetch", "pretrain"], {"": "v"})):
        (tmp_path / "dvc.lock").write_text(lock(**{name: stages[name] for name in names}))
        assert read_folder(tmp_path, settings(**CORPUS), "x").data == expected
    (tmp_path / "dvc.lock").unlink()
    run = read_folder(tmp_path, settings(**CORPUS), "x")
    assert run.data == {}
    assert {column.task for column in run.columns.values()} == {"", "sentiment"}


def test_a_task_that_is_switched_off_has_no_number(tmp_path, write_reports):
    write_reports(tmp_path, tasks=("sentiment", "gone"))
    run = read_folder(tmp_path, settings(), "x")
    assert {key.split(".")[1] for key in run.metrics if key.startswith("tasks.")} == {"sentiment"}


def test_tasks_named_as_parts_of_pretraining_overwrite_nothing(tmp_path, write_reports):
    write_reports(tmp_path, tasks=("mlm", "nsp"))
    run = read_folder(tmp_path, settings(tasks={"mlm": "classification", "nsp": "classification"}), "x")
    assert run.metrics["mlm.accuracy"] == 0.25
    assert run.metrics["tasks.mlm.accuracy"] == 0.88
    assert run.columns["tasks.mlm.accuracy"].title == "mlm accuracy"


def test_runs_that_were_not_evaluated_have_the_numbers_of_pretraining_alone(tmp_path, write_reports):
    write_reports(tmp_path)
    best = {"step": 300, "mlm_loss": 4.25, "mlm_accuracy": 0.3, "nsp_accuracy": None}
    (tmp_path / "reports" / "pretrain" / "metrics.json").write_text(json.dumps({"best": best}))
    (tmp_path / "dvc.lock").write_text(lock(pretrain=TRAINED | {"params": {"seed": 1}}))
    run = read_folder(
        tmp_path, {"params.yaml": {"seed": 1, "model": {"layers": 2}, "pretrain": {"peak_lr": 0.002}}}, "x"
    )
    assert run.metrics == {"mlm.loss": 4.25, "mlm.accuracy": 0.3, "nsp.accuracy": None}
    assert run.state == "done"
    comparison = compare([make("main", 4.75), run])
    assert cells(comparison)[0] == ["main, x", "—", "0, 1 (n = 2)", "4.500 ± 0.354", "0.275 ± 0.035", *["—"] * 2]
    assert comparison.notes == ["x: pretrained and not evaluated; MLM and NSP are those of the best step."]
    (tmp_path / "reports" / "pretrain" / "metrics.json").unlink()
    assert read_folder(tmp_path, {"params.yaml": {"seed": 1}}, "x").state == "no metrics"


def test_a_folder_is_read_as_it_is(tmp_path, write_reports):
    write_reports(tmp_path, nsp=None)
    run = read_folder(
        tmp_path, {"params.yaml": {"model": {"layers": 2}}, "tasks/a.yaml": {"finetune": {"epochs": 3}}}, "here"
    )
    assert (run.name, run.params, run.state) == ("here", {"model.layers": 2, "tasks/a.yaml:finetune.epochs": 3}, "done")
    assert run.metrics["mlm.loss"] == 4.5
    assert run.metrics["nsp.accuracy"] is None
    assert "mlm.perplexity" not in run.metrics  # it says what the loss says
    assert run.curve == {100: 6.0, 200: 5.0, 300: 4.5}
    assert run.unigram == 6.9


@pytest.mark.parametrize(
    ("mlm", "metrics", "state"),
    [
        ((6.0, 5.0, None), None, "diverged"),
        ((6.0, 5.0, 4.5), '{"mlm": {"loss": NaN}}', "diverged"),
        ((6.0, 5.0, 4.5), '{"mlm": {"loss": null}}', "diverged"),
        ((6.0, 5.0, 4.5), "{}", "no metrics"),
    ],
)
def test_what_became_of_a_run(tmp_path, write_reports, mlm, metrics, state):
    write_reports(tmp_path, mlm=mlm)
    if metrics is not None:
        (tmp_path / EVALUATION).write_text(metrics)
    run = read_folder(tmp_path, {"params.yaml": {}}, "x")
    assert run.state == state
    json.dumps(dict(run.metrics), allow_nan=False)


def test_metrics_that_are_no_json_are_named(tmp_path, write_reports):
    write_reports(tmp_path)
    (tmp_path / EVALUATION).write_text('{"steps": 3')
    with pytest.raises(UserError, match=r"reports/evaluate/metrics\.json of x is no JSON"):
        read_folder(tmp_path, {"params.yaml": {}}, "x")
    (tmp_path / EVALUATION).write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"reports/evaluate/metrics\.json of x is no JSON"):
        read_folder(tmp_path, {"params.yaml": {}}, "x")


@pytest.mark.parametrize("content", [None, ["a"], "text"])
def test_parameters_without_names_are_told(tmp_path, write_reports, content):
    write_reports(tmp_path)
    with pytest.raises(UserError, match=r"params\.yaml of x holds no parameters by name"):
        read_folder(tmp_path, {"params.yaml": content}, "x")


def test_values_that_json_has_not_are_compared_as_text(tmp_path, write_reports):
    write_reports(tmp_path)
    odd = {"corpus": {"since": date(2024, 1, 2), "rate": math.nan, "kinds": {"a"}}}
    row = compare(
        [
            read_folder(tmp_path, {"params.yaml": {"seed": 0}}, "reference"),
            read_folder(tmp_path, {"params.yaml": odd}, "x"),
        ]
    ).rows[1]
    assert row.changes == {"corpus.since": "2024-01-02", "corpus.rate": "nan", "corpus.kinds": "{'a'}"}
    write_comparison(compare(row.runs), tmp_path / "comparison")

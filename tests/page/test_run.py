"""The page of a run, part by part."""

import math
import re
from dataclasses import replace
from shutil import copytree

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import read_csv, read_json, write_csv, write_json, write_text
from maskline.page.curves import Training, known, read_training, table
from maskline.page.document import Table, render
from maskline.page.figures import COLORS, curves, thinned
from maskline.page.markdown import cards
from maskline.page.run import run_page, run_sections
from maskline.page.source import Source

ORDER = ["run", "corpus", "tokenizer", "pretraining", "training-0", "numbers", "task-0", "samples", "provenance"]


def sections(source):
    return {section.key: section for section in run_sections(source)}


def rows_of(section, key):
    (figure,) = [figure for figure in section.figures if figure.key == key]
    data = figure.data["rows"]
    return [dict(zip(data.columns, row, strict=True)) for row in data.rows]


def test_the_parts_stand_in_their_order(tmp_path, made):
    page = run_page(made(tmp_path))
    assert [section.key for section in page.sections] == ORDER
    assert "4.500" in page.lead
    assert "unigram frequencies 6.900" in page.lead


def test_what_differs_from_the_reference_stands_first(tmp_path, made):
    assert "No parameter differs" in sections(made(tmp_path))["run"].html
    shown = sections(made(tmp_path, seed=3, layers=4))["run"].html
    first, everything = shown.split("<details", 1)
    assert "<code>model.layers</code></th><td><code>4</code></td><td><code>2</code></td>" in first
    assert "<code>seed</code></th><td><code>3</code></td><td><code>0</code></td>" in first
    assert "hidden" not in first
    assert "model.hidden" in everything
    repeated = sections(made(tmp_path, seed=3, layers=4))["provenance"].html
    assert "dvc exp run -S seed=3 -S model.layers=4" in repeated
    assert "make repro" in sections(made(tmp_path))["provenance"].html


def test_curves_have_every_row_of_their_files_to_the_last_digit(tmp_path, made):
    found = rows_of(sections(made(tmp_path, loss=4.523456789012345))["pretraining"], "pretraining-mlm-loss")
    files = {split: read_csv(tmp_path / f"reports/pretrain/{split}.csv") for split in ("train", "validation")}
    shown = {
        split: [(row["step"], row["value"]) for row in found if row["split"] == name]
        for split, name in (("train", "training"), ("validation", "validation"))
    }
    for split, rows in files.items():
        assert shown[split] == [(int(row["step"]), float(row["mlm_loss"])) for row in rows]
    assert shown["validation"][-1] == (300, 4.523456789012345)


def test_a_curve_stands_against_steps_tokens_and_seconds(tmp_path, made):
    found = rows_of(sections(made(tmp_path))["pretraining"], "pretraining-mlm-loss")
    last = [row for row in found if row["split"] == "validation"][1]
    assert (last["step"], last["tokens"], last["seconds"]) == (200, 20000, 40.0)  # two thirds of 60 s


def test_tokens_between_two_rows_and_without_any():
    train = {"step": [10.0, 20.0], "tokens": [100.0, 300.0]}
    training = Training("a", train, {"step": [15.0]}, 6.0)
    assert training.place(15.0) == (15, 200, 4.0)
    assert training.place(5.0) == (5, 50, 1.0)
    assert training.place(99.0) == (99, 300, 6.0)
    assert Training("a", {"step": [10.0]}, {"step": []}, 6.0).place(10.0) == (10, None, None)
    assert Training("a", {"step": [10.0], "tokens": [math.nan]}, {"step": []}, 6.0).place(10.0) == (10, None, None)


def test_an_axis_that_some_row_does_not_know_is_no_choice():
    columns = ("series", "step", "tokens", "seconds")
    assert known(columns, [("a", 1, 5, None), ("b", 1, 6, 2.0)]).columns == ["series", "step", "tokens"]


def test_a_long_curve_is_thinned_to_rows_that_were_measured_and_says_so(tmp_path):
    rows, note = thinned(list(range(2500)), 1000)
    assert rows == list(range(0, 2500, 3))
    assert note == "Of 2,500 rows, one in 3 is drawn."
    assert thinned([1, 2], 2) == ([1, 2], "")


def test_a_gap_is_a_gap(tmp_path):
    write_csv(tmp_path / "train.csv", [{"step": 1, "loss": 2.5}, {"step": 2}], ("step", "loss"), missing="nan")
    write_csv(tmp_path / "validation.csv", [], ("step", "loss"))
    data, _ = table([read_training(tmp_path, "a", None)], "loss")
    assert [row[2] for row in data.rows] == [2.5, None]


def test_what_was_dropped_is_counted(tmp_path, made):
    shown = sections(made(tmp_path))["corpus"]
    assert '<th scope="row">near duplicate</th><td data-order="30" class="number">30</td>' in shown.html
    assert [row["name"] for row in rows_of(shown, "corpus-outcomes")] == [
        "train",
        "validation",
        "short",
        "near duplicate",
    ]


def test_a_number_stands_beside_its_baseline_interval_and_count(tmp_path, made):
    source = made(tmp_path)
    report = tmp_path / "reports/evaluate/report.json"
    write_text(report, report.read_text().replace('"count": null', '"count": "mlm.unigram_loss"'))
    shown = sections(source)["numbers"].html
    assert "0.200 to 0.300" in shown
    assert '<td data-order="6.9" class="number">7</td>' in shown
    assert "6.900 unigram frequencies" in shown


def test_a_part_that_was_not_run_says_so_and_the_others_stand(tmp_path, made):
    source = made(tmp_path)
    (tmp_path / "reports/evaluate/samples.md").unlink()
    (tmp_path / "reports/tasks/sentiment/scratch/train.csv").unlink()
    found = sections(source)
    assert "scratch/train.csv is missing" in found["training-0"].html
    assert "samples.md is missing" in found["samples"].html
    assert found["pretraining"].figures


def test_a_stage_of_other_parameters_is_not_shown_as_this_run(tmp_path, made):
    source = made(tmp_path, layers=4)
    lock = "stages:\n  pretrain:\n    params:\n      params.yaml:\n        model.layers: 2\n"
    write_text(tmp_path / "dvc.lock", lock)
    assert "pretrain: not run with these parameters" in sections(source)["pretraining"].html
    assert not sections(source)["pretraining"].figures
    write_text(tmp_path / "dvc.lock", lock.replace("2", "4"))
    assert sections(replace(source))["pretraining"].figures


def test_hashes_and_times_of_another_run_are_not_those_of_this_one(tmp_path, made):
    source = made(tmp_path, layers=4)
    out = "    outs:\n    - {path: data/models/pretrained, md5: abc123}\n"
    lock = f"stages:\n  pretrain:\n    params: {{params.yaml: {{model.layers: 2}}}}\n{out}"
    files = {"model.safetensors": {"bytes": 5, "sha256": "fed987"}}
    write_json(tmp_path / "data/models/pretrained/manifest.json", {"files": files})
    write_text(tmp_path / "dvc.lock", lock)
    former = sections(source)["provenance"].html
    assert "Left out, as they are of another run: pretrain." in former
    write_text(tmp_path / "dvc.lock", lock.replace(": 2", ": 4"))
    current = sections(replace(source))["provenance"].html
    for content in ("abc123", "fed987", ">60.0<"):
        assert content not in former
        assert content in current


def test_tables_of_two_tasks_have_names_of_their_own(tmp_path, made):
    source = made(tmp_path)
    copytree(tmp_path / "reports/tasks/sentiment", tmp_path / "reports/tasks/reviews")
    for task in ("sentiment", "reviews"):
        write_csv(tmp_path / f"reports/tasks/{task}/score/classes.csv", [{"class": "a", "f1": 0.5}], ("class", "f1"))
    source.settings["params.yaml"]["tasks"] = dict.fromkeys(("sentiment", "reviews"), "classification")
    labels = re.findall(r'aria-label="([^"]*)"', "".join(section.html for section in sections(source).values()))
    assert "reviews: classes" in labels
    assert len(set(labels)) == len(labels)


def test_hover_names_no_number_that_is_unknown(tmp_path, made):
    def shown(source):
        layers = sections(source)["pretraining"].figures[0].spec["layer"]
        return [one["field"] for layer in layers for one in layer["encoding"].get("tooltip", [])][:6]

    source = made(tmp_path)
    assert shown(source) == ["series", "split", "value", "step", "tokens", "seconds"]
    (tmp_path / "reports/timing.json").unlink()
    assert shown(source)[:5] == ["series", "split", "value", "step", "tokens"]
    assert "seconds" not in shown(source)


def test_more_lines_than_colours_are_dashed():
    names = [str(number) for number in range(len(COLORS) + 1)]
    rows = [(name, "validation", 1.0, 1) for name in names]
    spec = curves("k", "t", "nats", Table(("series", "split", "value", "step"), rows)).spec["layer"][0]["encoding"]
    scales = [spec[channel]["scale"]["range"] for channel in ("color", "strokeDash")]
    drawn = list(zip(*scales, strict=True))
    assert drawn[0][0] == drawn[-1][0]
    assert len({(color, *dash) for color, dash in drawn}) == len(names)
    few = curves("k", "t", "nats", Table(("series", "split", "value", "step"), rows[:-1])).spec["layer"][0]
    assert "strokeDash" not in few["encoding"]


def test_what_was_not_measured_is_no_number(tmp_path, made):
    source = made(tmp_path)
    metrics = read_json(tmp_path / "reports/evaluate/metrics.json")
    assert "NSP accuracy" in sections(source)["numbers"].html
    metrics["nsp"] = dict.fromkeys(metrics["nsp"])
    write_json(tmp_path / "reports/evaluate/metrics.json", metrics)
    rows = [row | {"nsp_loss": "nan"} for row in read_csv(tmp_path / "reports/pretrain/validation.csv")]
    write_csv(tmp_path / "reports/pretrain/validation.csv", rows, list(rows[0]))
    found = sections(source)
    assert "NSP" not in found["numbers"].html
    assert "mlm loss" in found["pretraining"].html
    assert "nsp loss" not in found["pretraining"].html


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("evaluate/samples.md", ""),
        ("corpus/lengths.csv", "characters,articles\nnan,5\n128,inf\n"),
        ("pretrain/train.csv", "tokens,mlm_loss\n5,7\n"),
        ("corpus/metrics.json", '{"read": NaN}'),
    ],
)
def test_a_damaged_report_still_gives_a_page(tmp_path, made, file, content):
    source = made(tmp_path)
    write_text(tmp_path / "reports" / file, content)
    assert "Provenance" in render(run_page(source))


def test_scores_that_are_missing_are_named_and_the_others_stand(tmp_path, made):
    source = made(tmp_path)
    (tmp_path / "reports/evaluate/metrics.json").unlink()
    found = sections(source)
    assert "sentiment accuracy" in found["numbers"].html
    assert "MLM" not in found["numbers"].html
    assert (
        '<p class="note">reports/evaluate/metrics.json is missing: run `dvc repro` to make it</p>'
        in found["numbers"].html
    )
    assert found["training-0"].figures
    assert found["pretraining"].figures


def test_nothing_run_is_an_error(tmp_path):
    with pytest.raises(UserError, match="has no reports of a run"):
        run_page(Source(tmp_path, {"params.yaml": {}}, None))


def test_the_times_of_this_machine_go_before_those_of_another(tmp_path, made):
    source = made(tmp_path)
    assert source.seconds("pretrain") == 60.0
    write_json(tmp_path / ".timings" / "pretrain.json", {"seconds": 30.0})
    assert source.seconds("pretrain") == 30.0
    assert source.seconds("fetch") is None


def test_markdown_of_stages_is_shown_and_html_in_it_is_text():
    above, parts = cards(
        "# Title\n\nabove\n\n## 1\n\n> <bdi>قطة</bdi> <img src=x onerror=alert(1)>\n\n<div>block</div>\n"
    )
    assert above == '<p dir="auto">above</p>\n'
    (part,) = parts
    assert "<h3>1</h3>" in part
    assert "<bdi>قطة</bdi>" in part
    assert "<img" not in part
    assert "&lt;div&gt;block" in part
    assert '<blockquote dir="auto">' in part

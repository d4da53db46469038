"""Figures say what is there and nothing else, and the same data gives the same bytes."""

import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.text import Text

from maskline.core.errors import UserError
from maskline.core.scores import CurveSpec, FigureSpec
from maskline.core.storage import MANIFEST, read_csv, sha256, write_csv
from maskline.reporting import figures, overlay, task_figures
from maskline.reporting.scores import read_scores
from maskline.reporting.series import to_series
from maskline.reporting.style import save, spread, theme

nan = float("nan")
CONFUSION = FigureSpec("confusion", "matrix", "c.csv", "confusion", x="predicted", y="label", value="count")


def series(**columns):
    return {name: [nan if value is None else float(value) for value in values] for name, values in columns.items()}


def texts(figure):
    """Return every text in a figure, drawn."""
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(Text)]


def test_every_figure_of_a_run_as_svg_and_png(tmp_path, write_reports):
    figures.plot_reports(write_reports(tmp_path), ["sentiment"], tmp_path / "figures")
    names = ["corpus", "pretraining", "sentiment-confusion", "sentiment-finetuning"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir() if path.name != MANIFEST) == [
        f"{name}.{kind}" for name in names for kind in ("png", "svg")
    ]


def test_the_same_data_gives_the_same_bytes_in_every_process(tmp_path, write_reports):
    reports = write_reports(tmp_path, labels=("سلبي", "إيجابي"))
    (tmp_path / "matplotlibrc").write_text("font.size: 30\naxes.facecolor: red\nsvg.fonttype: none\n")
    hashes = []
    for seed, user in (("1", {}), ("2", {"MATPLOTLIBRC": str(tmp_path)})):
        out = tmp_path / seed
        code = f"from pathlib import Path; from maskline.reporting.figures import plot_reports; \
plot_reports(Path({str(reports)!r}), ['sentiment'], Path({str(out)!r}))"
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONHASHSEED": seed, **user})
        hashes.append({path.name: sha256(path) for path in sorted(out.iterdir())})
    assert hashes[0] == hashes[1]
    assert not any(re.search(rb"<dc:date>", path.read_bytes()) for path in out.glob("*.svg"))


def test_a_missing_curve_file_is_named(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    (reports / "tasks" / "sentiment" / "scratch" / "train.csv").unlink()
    with pytest.raises(UserError, match=r"scratch/train\.csv is missing"):
        figures.plot_reports(reports, ["sentiment"], tmp_path / "figures")


def outcomes(**counts):
    return [{"outcome": name, "articles": str(count)} for name, count in counts.items()]


def test_the_corpus_shows_what_was_dropped_and_the_articles_of_one_sentence():
    sentences = series(sentences=[1, 2, 4], train=[30, 100, 50], validation=[10, 5, 5])
    lengths = series(characters=[1, 2, 4, 8], articles=[0, 0, 150, 50])
    figure = figures.corpus(
        outcomes(train=180, validation=20, short=3, near_duplicate=1200, empty=0), lengths, sentences
    )
    shown = texts(figure)
    assert {"train", "short", "near duplicate", "1,200", "Sentences: 20.0% of the articles have one"} <= set(shown)
    assert "empty" not in shown
    assert [bar.get_height() for bar in figure.axes[1].patches] == [150, 50]
    assert [bar.get_height() for bar in figure.axes[2].patches] == [40, 105, 55]
    colors = {bar.get_facecolor() for bar in figure.axes[2].patches}
    assert len(colors) == 2


def test_a_corpus_without_articles_of_one_sentence_or_of_nothing_is_drawn():
    lengths = series(characters=[64], articles=[10])
    figure = figures.corpus(outcomes(train=10), lengths, series(sentences=[1, 2], train=[0, 10], validation=[0, 0]))
    assert "Sentences: 0.0% of the articles have one" in texts(figure)
    assert "Sentences: 0.0% of the articles have one" in texts(
        figures.corpus([], series(characters=[1], articles=[0]), series(sentences=[1], train=[0], validation=[0]))
    )
    with pytest.raises(UserError, match="has no column articles"):
        figures.corpus([{"outcome": "train"}], lengths, lengths)


def test_pretraining_without_sentence_pairs_has_one_panel():
    losses = {"step": [1, 2], "mlm_loss": [6, 5], "loss": [6, 5]}
    figure = figures.pretraining(series(**losses, nsp_loss=[None, None]), series(**losses, nsp_loss=[None, None]), 6.9)
    assert len(figure.axes) == 1
    assert "Masked tokens (MLM)" in texts(figure)
    figure = figures.pretraining(series(**losses, nsp_loss=[0.7, 0.6]), series(**losses, nsp_loss=[0.7, 0.6]), 6.9)
    assert len(figure.axes) == 2
    assert {"Next sentence (NSP)", "unigram  6.900", "ln 2  0.693"} <= set(texts(figure))


def test_a_dotted_line_marks_where_sequences_grow(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    path = reports / "pretrain" / "train.csv"
    rows = [row | {"max_seq_length": 512 if int(row["step"]) > 270 else 128} for row in read_csv(path)]
    for end, said in ((27, False), (30, True)):
        write_csv(path, rows[:end], tuple(rows[0]))
        figures.plot_reports(reports, ["sentiment"], tmp_path / "figures")
        drawn = (tmp_path / "figures" / "pretraining.svg").read_text()
        assert ("dotted line: 512 tokens a sequence from here on" in drawn) == said
    train = series(step=[1, 2], mlm_loss=[6, 5], nsp_loss=[None] * 2, loss=[6, 5])
    (axes,) = figures.pretraining(train, train, None, (2, 512)).axes
    assert axes.lines[0].get_xdata()[0] == 2


def test_the_best_step_is_never_one_without_a_number():
    validation = series(
        step=[10, 20, 30, 40], mlm_loss=[5, 4, 4.5, None], nsp_loss=[None] * 4, loss=[None, 4, 4.5, None]
    )
    labels = texts(figures.pretraining(validation, validation, None))
    assert "validation  4.500\nbest  4.000, step 20" in labels


def test_a_gap_breaks_the_line_and_a_lone_point_has_a_marker():
    train = series(step=[1, 2, 3, 4, 5], mlm_loss=[6, None, 5, None, None], nsp_loss=[None] * 5, loss=[None] * 5)
    figure = figures.pretraining(train, train, None)
    assert figure.axes[0].lines[0].get_markevery() == [0, 2]
    empty = series(step=[1, 2], mlm_loss=[None, None], nsp_loss=[None] * 2, loss=[None] * 2)
    assert not any("validation" in text for text in texts(figures.pretraining(empty, empty, None)))


def test_small_values_are_in_e_notation():
    tiny = series(step=[1, 2], mlm_loss=[2e-7, 1.25e-7], nsp_loss=[None] * 2, loss=[2e-7, 1.25e-7])
    assert "validation  1.25e-07 (best)" in texts(figures.pretraining(tiny, tiny, None))


def test_confusion_shows_counts_and_shares_of_the_true_class():
    rows = [("a", "a", "30"), ("a", "b", "10"), ("b", "a", "0"), ("b", "b", "0")]
    figure = task_figures.matrix(
        "t", CONFUSION, [dict(zip(("label", "predicted", "count"), row, strict=True)) for row in rows]
    )
    shown = texts(figure)
    assert {"30", "75.0%", "10", "25.0%", "a\n(n = 40)", "b\n(n = 0)"} <= set(shown)
    assert shown.count("—") == 2  # a class without examples has no shares
    assert figure.axes[0].get_xlabel() == "predicted"


def test_a_confusion_without_a_count_is_an_error():
    with pytest.raises(UserError, match="no count for a taken for a"):
        task_figures.matrix("t", CONFUSION, [{"label": "a", "predicted": "a", "count": ""}])


@pytest.mark.parametrize("labels", [("إيجابي", "سلبي"), ("позитив", "негатив"), ("חיובי", "שלילי")])
def test_class_names_of_other_scripts_have_their_glyphs(tmp_path, labels):
    rows = [{"label": a, "predicted": b, "count": "1"} for a in labels for b in labels]
    with theme():  # a missing glyph is a warning, and warnings are errors here
        save(task_figures.matrix("t", CONFUSION, rows), tmp_path / "confusion")
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}


NAMES = [
    ("$10-$20", "$20-$50"),
    ("$\\frac{", "a_{b"),
    ("cash $", "100 %"),
    ("1", "2"),
    ("\x1b[31mred", "two\nlines"),
    (
        "an opinion without any reserve at all",
        "an opinion with a great many reserves, and with words on each of them " * 3,
    ),
    ("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", "b"),
    tuple(f"the class with the number {number}" for number in range(6)),
]


@pytest.mark.parametrize("names", NAMES)
def test_names_of_classes_are_drawn_as_they_are_whatever_they_hold(tmp_path, names):
    pairs = [{"label": a, "predicted": b, "count": "12345"} for a in names for b in names]
    bars = FigureSpec("types", "bars", "t.csv", "F1", x="F1", y="type", value="f1")
    with theme():
        confusion = task_figures.matrix(f"{names[0]}: confusion", CONFUSION, pairs)
        drawn = task_figures.bars(f"{names[0]}: F1", bars, [{"type": name, "f1": "0.5"} for name in names])
        curves = [overlay.Curve(name, f"corpus.paths={name}", [1, 2], [5, 4], [0, 0]) for name in names]
        for number, figure in enumerate((confusion, drawn, overlay.overlay(curves))):
            save(figure, tmp_path / str(number))  # mathtext would raise here
            assert not any(text.get_parse_math() for text in figure.findobj(Text))
            assert "\x1b" not in (tmp_path / f"{number}.svg").read_text()  # which no XML may hold
    assert len(drawn.axes[0].patches) == len(names)
    if len(names[0]) < 24 and names[0].isprintable():
        assert {names[0], names[1]} <= {label.get_text() for label in confusion.axes[0].get_xticklabels()}


@pytest.mark.parametrize("names", NAMES)
def test_names_of_classes_never_run_into_each_other(names):
    pairs = [{"label": a, "predicted": b, "count": "12345"} for a in names for b in names]
    with theme():
        figure = task_figures.matrix("t", CONFUSION, pairs)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        columns, rows = axes.get_xticklabels(), axes.get_yticklabels()
        pitch = axes.bbox.width / len(names)
        assert pitch / figure.dpi > 0.95 * task_figures.CELL  # long names do not squeeze the cells
        for labels, upright in ((columns, columns[0].get_rotation() == 0), (rows, False)):
            for label in labels:
                turn = label.get_rotation()
                label.set_rotation(0)
                box = label.get_window_extent()
                label.set_rotation(turn)
                if upright:
                    assert box.width < pitch
                elif turn:
                    assert box.height < pitch * math.sin(math.radians(turn))
                else:
                    assert box.height < pitch


def test_no_tick_of_a_figure_is_written_in_tex(tmp_path, write_reports):
    """Matplotlib writes some numbers as TeX, which would be seen as it is written."""
    reports = write_reports(tmp_path)
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "save", lambda figure, _: drawn.append(texts(figure)))
        figures.plot_reports(reports, ["sentiment"], tmp_path / "figures")
    assert len(drawn) == 4
    assert not [text for shown in drawn for text in shown if "$" in text or "\\" in text]


def test_arabic_letters_are_joined():
    """The word is narrower than its letters standing alone: matplotlib itself shapes it."""
    from matplotlib.figure import Figure

    with theme():
        figure = Figure()
        width = {text: figure.text(0, 0, text).get_window_extent().width for text in ("سلبي", *"سلبي")}
    assert width["سلبي"] < 0.9 * sum(width[letter] for letter in "سلبي")


def test_finetuning_shows_the_baselines_and_the_whole_axis_of_a_share(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    scores = read_scores(reports, ["sentiment"])["sentiment"]
    curves = task_figures.read_curves(reports / "tasks" / "sentiment", scores.report.curves)
    lines = task_figures.baselines(scores)
    assert lines == {"accuracy": [(0.6, "majority class")], "macro_f1": []}  # the random network has a curve of its own
    figure = task_figures.finetuning("sentiment", curves, scores.report.curves, lines)
    assert "majority class\ntest split  0.600" in texts(figure)
    loss, accuracy, f1 = figure.axes
    assert [list(line.get_ydata()) for line in accuracy.lines if len(line.get_xdata()) == 2] == [[0.6, 0.6]]
    assert accuracy.get_ylim() == f1.get_ylim() == (0, 1)
    assert loss.get_ylim()[1] > 1


def test_a_score_that_is_no_share_keeps_its_own_axis():
    curve = task_figures.Training(
        "x", "red", series(step=[1, 2], loss=[1, 1]), series(step=[1, 2], loss=[1, 1], mse=[1, 3])
    )
    figure = task_figures.finetuning("t", [curve], [CurveSpec("mse", "error")])
    assert figure.axes[1].get_ylim()[1] > 3


def test_the_figure_of_a_table_names_the_split_and_the_model(tmp_path, write_reports):
    figures.plot_reports(write_reports(tmp_path), ["sentiment"], tmp_path / "figures")
    drawn = (tmp_path / "figures" / "sentiment-confusion.svg").read_text()
    assert "sentiment: confusion, test split, from" in drawn


def test_bars_show_each_number_by_its_name():
    spec = FigureSpec("types", "bars", "t.csv", "F1 by type", x="F1", y="type", value="f1")
    figure = task_figures.bars("ner: F1 by type", spec, [{"type": "LOC", "f1": "0.75"}, {"type": "PER", "f1": "0"}])
    assert {"LOC", "PER", "0.750", "0.000", "F1"} <= set(texts(figure))
    assert [bar.get_width() for bar in figure.axes[0].patches] == [0.75, 0]


def test_a_scatter_has_a_point_for_each_row():
    spec = FigureSpec("pairs", "scatter", "pairs.csv", "cosine", x="gold score", y="gold", value="cosine")
    rows = [{"gold": "0", "cosine": "-0.5"}, {"gold": "5", "cosine": "1"}, {"gold": "2.5", "cosine": ""}]
    axes = task_figures.scatter("sts: cosine", spec, rows).axes[0]
    drawn = axes.collections[0].get_offsets().filled(np.nan)
    assert drawn[:2].tolist() == [[0, -0.5], [5, 1]]
    assert np.isnan(drawn[2, 1])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("gold score", "cosine")


def test_nothing_is_left_of_a_task_that_is_switched_off(tmp_path, write_reports):
    reports = write_reports(tmp_path, tasks=("sentiment", "gone"))
    (reports / "tasks" / "README.md").write_text("what is here")
    for tasks in (["sentiment", "gone"], ["sentiment"], []):
        figures.plot_reports(reports, tasks, reports / "figures")
        assert bool(list(reports.rglob("*gone*"))) == ("gone" in tasks)
        assert bool(list(reports.rglob("*sentiment*"))) == ("sentiment" in tasks)
    assert [path.name for path in (reports / "tasks").iterdir()] == ["README.md"]


def test_overlay_names_each_curve_and_draws_the_spread():
    curves = [
        overlay.Curve("reference", "", [1, 2], [5, 4], [0.1, 0.2]),
        overlay.Curve("wide", "model.hidden=256", [1, 2], [5, nan], [0.0, 0.0]),
    ]
    figure = overlay.overlay(curves)
    assert {"reference  4.000", "wide  5.000\nmodel.hidden=256"} <= set(texts(figure))
    assert len(figure.axes[0].collections) == 1


def test_labels_do_not_overlap():
    placed = spread([10, 10, 50], [4, 6, 4], (0, 100))
    assert placed == [7.5, 12.5, 50]
    assert spread([1, 2], [10, 10], (0, 100)) == [5, 15]
    assert spread([99, 98], [10, 10], (0, 100)) == [95, 85]


def test_series_takes_what_is_missing_for_nan_and_names_what_is_wrong():
    rows = [{"step": "1", "loss": ""}, {"step": "2", "loss": "nan"}, {"step": "3", "loss": "1e-7"}]
    assert str(to_series(rows, ["step", "loss"], "x.csv")) == "{'step': [1.0, 2.0, 3.0], 'loss': [nan, nan, 1e-07]}"
    with pytest.raises(UserError, match=r"x\.csv has no column accuracy \(it has step, loss\)"):
        to_series(rows, ["accuracy"], "x.csv")
    with pytest.raises(UserError, match=r"x\.csv: loss is 'four', not a number"):
        to_series([{"loss": "four"}], ["loss"], "x.csv")


def test_each_curve_of_a_task_has_the_name_of_its_start(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    report = read_scores(reports, ["sentiment"])["sentiment"].report
    found = {}
    for training in task_figures.read_curves(reports / "tasks" / "sentiment", report.curves):
        found[training.name] = training.train["loss"][0], training.validation["accuracy"][0]
    assert found == {"pretrained": (1.0, 0.8), "random init": (1.1, pytest.approx(0.7))}


def test_the_line_beside_the_losses_is_that_of_the_unigram(tmp_path, write_reports, monkeypatch):
    reports, drawn = write_reports(tmp_path), []
    real = figures.pretraining

    def note(train, validation, unigram_loss, lengthened):
        drawn.append((train["mlm_loss"][0], validation["mlm_loss"][0], unigram_loss))
        return real(train, validation, unigram_loss, lengthened)

    monkeypatch.setattr(figures, "pretraining", note)
    figures.plot_reports(reports, ["sentiment"], tmp_path / "figures")
    assert drawn == [(6.95, 6.0, 6.9)]

"""The page of a comparison."""

import pytest

from maskline.page.comparison import comparison_page
from maskline.page.document import MOST_BYTES, Page, render
from maskline.reporting.comparison import compare
from maskline.reporting.runs import read_folder
from tests.page.toy import made


@pytest.fixture(name="comparison", scope="module")
def _comparison(tmp_path_factory):
    """Three configurations with three seeds each, one of them named as a script."""
    tmp_path, runs = tmp_path_factory.mktemp("runs"), []
    for name, layers, shift in (("main", 2, 0.0), ("<script>", 4, -0.5), ("قطة", 6, 0.25)):
        for seed in range(3):
            folder = tmp_path / f"{name}-seed{seed}".replace("<script>", "script")
            source = made(folder, seed=seed, loss=4.5 + shift + seed / 10 * (1 if layers < 6 else -1), layers=layers)
            runs.append(read_folder(folder, source.settings, f"{name}-seed{seed}"))
    return compare(runs)


@pytest.fixture(name="sections", scope="module")
def _sections(comparison):
    return comparison_page(comparison).sections


def rows_of(figure, name="rows"):
    data = figure.data[name]
    return [dict(zip(data.columns, row, strict=True)) for row in data.rows]


def test_every_seed_is_a_line_and_the_band_reaches_from_the_lowest_to_the_highest(sections):
    _, curves, task, _, _ = sections
    figure = curves.figures[0]
    assert [shown.title for shown in curves.figures] == ["Masked tokens (MLM): loss", "Next sentence (NSP): loss"]
    assert (task.title, [shown.title for shown in task.figures]) == ("Fine-tuning: sentiment", ["accuracy", "macro-F1"])
    assert len(rows_of(task.figures[0])) == 27
    assert "<noscript><p>These curves need scripts.</p></noscript>" in task.html
    assert "noscript" not in curves.html
    rows = rows_of(figure)
    assert {row["series"] for row in rows} == {"main (n = 3)", "model.layers=4 (n = 3)", "model.layers=6 (n = 3)"}
    ends = {(row["series"], row["seed"]): row["value"] for row in rows if row["step"] == 300}
    assert ends["main (n = 3)", "1"] == pytest.approx(4.6)
    assert len(ends) == 9
    (band,) = [row for row in rows_of(figure, "bands") if row["series"].startswith("main") and row["step"] == 300]
    assert (band["low"], band["high"]) == (4.5, 4.7)
    (band,) = [
        row for row in rows_of(figure, "bands") if row["series"].startswith("model.layers=6") and row["step"] == 300
    ]
    assert (band["low"], band["high"]) == (4.55, 4.75)  # of 4.75, 4.65, 4.55
    assert [row["tokens"] for row in rows if row["step"] == 200] == [20000] * 9


def test_differences_stand_by_seed_with_their_mean_and_interval(sections):
    _, _, _, pairs, _ = sections
    figure = pairs.figures[0]
    rows = [row for row in rows_of(figure) if row["series"].startswith("model.layers=6")]
    assert [(row["seed"], row["value"]) for row in rows[:3]] == [
        ("0", pytest.approx(0.25)),
        ("1", pytest.approx(0.05)),
        ("2", pytest.approx(-0.15)),
    ]
    mean = rows[3]
    assert (mean["seed"], mean["value"]) == (None, pytest.approx(0.05))
    # Student's t of 2 degrees, 4.3027, times 0.2 / sqrt(3)
    assert (mean["low"], mean["high"]) == (
        pytest.approx(0.05 - 0.49683, abs=1e-4),
        pytest.approx(0.05 + 0.49683, abs=1e-4),
    )
    assert "3 seeds cannot decide this, 6 could" in pairs.html


def test_a_comparison_is_one_file_and_its_names_are_text(sections):
    content = render(Page("t", "", sections))
    assert len(content.encode()) <= MOST_BYTES
    assert content.count("<script") == 3
    assert "&lt;script&gt;" in content
    assert "<noscript>" in content
    assert "dvc exp run -S model.layers=4" in content


def test_curves_of_other_data_say_so(tmp_path):
    runs = []
    for name, fraction in (("a", 0.1), ("b", 0.2)):
        source = made(tmp_path / name, loss=4.5 + fraction)
        params = {**source.settings["params.yaml"], "corpus": {"language": "en", "validation_fraction": fraction}}
        runs.append(read_folder(tmp_path / name, {**source.settings, "params.yaml": params}, name))
    _, pretraining, task, _ = comparison_page(compare(runs)).sections
    last = [list(dict.fromkeys(row["series"] for row in rows_of(part.figures[0])))[1] for part in (pretraining, task)]
    assert last == ["corpus.validation_fraction=0.2 (other data)", "corpus.validation_fraction=0.2"]
    loss = pretraining.figures[0]
    assert loss.title == "Masked tokens (MLM): loss, less that of unigram frequencies"
    assert not loss.is_loss
    assert [row["value"] for row in rows_of(loss)] == pytest.approx(
        [6 - 6.9, 5 - 6.9, 4.6 - 6.9, 6 - 6.9, 5 - 6.9, 4.7 - 6.9]
    )
    pairs = next(figure for figure in pretraining.figures if figure.title == "Next sentence (NSP): loss")
    assert pairs.is_loss
    assert all(row["value"] > 0 for row in rows_of(pairs))


def test_one_run_beside_another_has_no_pairs_and_no_band(tmp_path):
    runs = [
        read_folder(tmp_path / name, made(tmp_path / name, layers=layers, loss=4.5 + layers).settings, name)
        for name, layers in (("a", 2), ("b", 3))
    ]
    page = comparison_page(compare(runs))
    assert [section.key for section in page.sections] == ["experiments", "curves-0", "curves-1", "parameters"]
    assert rows_of(page.sections[1].figures[0], "bands") == []
    layers = page.sections[1].figures[0].spec["layer"]
    assert [layer["data"] for layer in layers if "data" in layer] == []  # no layer of bands, whose axes had no numbers


def test_a_run_without_a_task_has_no_place_in_the_legend_of_its_curves(tmp_path):
    runs = []
    for name, tasks in (("a", {"sentiment": "classification"}), ("b", {})):
        source = made(tmp_path / name, loss=4.5 + len(tasks))
        settings = {"params.yaml": {**source.settings["params.yaml"], "tasks": tasks}}
        if tasks:
            settings["tasks/sentiment.yaml"] = {"dataset": {"source": "files"}}
        runs.append(read_folder(tmp_path / name, settings, name))
    _, pretraining, task, differing = comparison_page(compare(runs)).sections
    legends = [
        part.figures[0].spec["layer"][0]["encoding"]["color"]["legend"]["values"] for part in (pretraining, task)
    ]
    assert [len(legend) for legend in legends] == [2, 1]
    assert "tasks/sentiment.yaml" not in differing.html
    assert "dvc exp run -S &#x27;~tasks.sentiment&#x27;" in differing.html

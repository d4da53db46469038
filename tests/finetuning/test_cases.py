from maskline.core.storage import read_csv
from maskline.finetuning.cases import write_cases
from maskline.finetuning.task import Case

GOOD, BAD = "good", "bad_1"


def test_the_table_has_every_example_and_no_text(tmp_path):
    cases = [Case(GOOD, BAD, 0.75, 0.75, "secret words"), Case(BAD, BAD, None, 0.0, "others")]
    write_cases(tmp_path, "mood", ["a", "b"], cases)
    assert read_csv(tmp_path / "predictions.csv") == [
        {"id": "a", "gold": "good", "predicted": "bad_1", "probability": "0.75"},
        {"id": "b", "gold": "bad_1", "predicted": "bad_1", "probability": ""},
    ]
    assert "secret" not in (tmp_path / "predictions.csv").read_text()


def test_the_page_has_some_that_are_right_some_that_are_wrong_and_the_worst(tmp_path):
    cases = [Case(GOOD, GOOD, 0.9, 0.0, f"right {n}") for n in range(30)]
    cases += [Case(GOOD, BAD, n / 100, n / 100, f"wrong {n}") for n in range(60, 90)]
    write_cases(tmp_path, "mood", [f"{n:03}" for n in range(60)], cases)
    page = (tmp_path / "examples.md").read_text()
    head, right, wrong, worst = page.split("\n## ")
    assert "mood" in head
    assert right.startswith("Right (30)")
    assert [line for line in right.splitlines() if line.startswith("> ")] == [
        f"> right {n}" for n in (0, 6, 12, 18, 24)
    ]
    assert wrong.startswith("Wrong (30)")
    assert wrong.count("\n> wrong ") == 5
    assert [line for line in worst.splitlines() if line.startswith("> ")] == [f"> wrong {n}" for n in range(89, 79, -1)]
    assert "**good**, predicted bad_1, 0.890 (059)" in worst


def test_texts_of_others_steer_no_page_and_long_ones_are_cut(tmp_path):
    cases = [Case("<b>", "a|b", 0.5, 0.5, "<script>\n# $x$ " + "y" * 1000)]
    write_cases(tmp_path, "mood", ["x"], cases)
    page = (tmp_path / "examples.md").read_text()
    assert "<script>" not in page.replace("\\<", "")
    assert "\n# $" not in page
    assert "…" in page
    assert len(page) < 2500


def test_without_an_example_the_page_says_so(tmp_path):
    write_cases(tmp_path, "mood", [], [])
    assert "Right (0)" in (tmp_path / "examples.md").read_text()

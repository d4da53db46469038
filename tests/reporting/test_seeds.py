"""Intervals, sign flips and pairs, worked by hand."""

import csv
import math

import pytest

from maskline.reporting.comparison import compare
from maskline.reporting.comparison_page import to_markdown, write_comparison
from maskline.reporting.runs import Column, Run
from maskline.reporting.seeds import interval, seeds_needed, seeds_table, sign_flip

COLUMNS = {"mlm.loss": Column("MLM loss", "lower"), "nsp.accuracy": Column("NSP accuracy", "higher")}


def make(name, seed, loss, layers=2, nsp=0.5, data="x"):
    metrics = {"mlm.loss": loss, "nsp.accuracy": nsp}
    curve = {100: 9.0, 200: math.nan if loss is None else loss}
    return Run(name, {"seed": seed, "model.layers": layers}, metrics, curve, "done", columns=COLUMNS, data={"": data})


def several(name, losses, **changes):
    return [make(f"{name}-seed{seed}", seed, loss, **changes) for seed, loss in losses.items()]


def test_the_interval_is_that_of_students_t():
    # t with 2 degrees of freedom at 0.975 is 4.3027; the standard deviation of 1, 2, 3 is 1.
    assert interval([1, 2, 3]) == pytest.approx((2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)), rel=1e-6)
    # With 1 degree, 12.7062; the standard deviation of 0 and 2 is the root of 2.
    assert interval([0, 2]) == pytest.approx((1 - 12.706205, 1 + 12.706205), rel=1e-6)
    assert interval([5, 5, 5]) == (5, 5)
    assert interval([5]) is None
    assert interval([]) is None


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([0.3], 1.0),  # both signs are as far from 0
        ([1, 1], 0.5),  # ++ and -- of four
        ([1, -1], 1.0),  # their mean is 0
        ([1, 2, 3], 0.25),  # +++ and --- of eight
        ([1, 2, -3], 1.0),
        ([3, 2, -1], 0.5),  # a sum of 4: +++, ++-, and their opposites
        ([0, 1], 1.0),  # a difference of 0 counts for nothing: all four sums are 1 or -1
        ([0, 0, 0], 1.0),
        ([1] * 6, 2 / 64),
        ([1] * 5 + [0], 4 / 64),
        ([1] * 5 + [-1], 14 / 64),  # a sum of 4: at most one sign differs, 1 + 6, twice
        ([0.1, 0.2, -0.3], 1.0),  # whose sum is 0 but for rounding
        ([0.1, 0.1, 0.1], 0.25),
        ([1] * 20, 2 / 2**20),
        ([1] * 21, None),
        ([], None),
    ],
)
def test_the_sign_flip_counts_all_changes_of_sign(differences, p):
    assert sign_flip(differences) == p


def test_six_seeds_can_decide_and_five_cannot():
    assert seeds_needed() == 6
    assert 2 / 2**5 > 0.05 > 2 / 2**6


def test_rows_are_paired_by_the_seeds_that_both_have():
    runs = several("a", {0: 4.0, 1: 4.2, 2: 4.4, 4: 4.9}) + several("b", {2: 4.1, 0: 3.9, 3: 9.0, 1: 4.3}, layers=4)
    comparison = compare(runs)
    reference, other = comparison.rows
    assert (reference.names, other.names) == ("a", "b")
    assert comparison.pairs(reference, "mlm.loss") is None
    pairs = comparison.pairs(other, "mlm.loss")
    assert pairs.differences == pytest.approx({0: -0.1, 1: 0.1, 2: -0.3})  # 3 and 4 have no partner
    assert pairs.mean == pytest.approx(-0.1)
    assert pairs.interval == pytest.approx((-0.1 - 4.302653 * 0.2 / math.sqrt(3), -0.1 + 4.302653 * 0.2 / math.sqrt(3)))
    assert pairs.p == 0.75  # of the eight sums, two are nearer to 0 than 0.3: 0.1 and -0.1
    text = to_markdown(comparison)
    assert "| 3 of 4 and 4 |" in text
    assert "0: -0.100, 1: +0.100, 2: -0.300" in text
    assert "- b: 3 seeds cannot decide this, 6 could.\n" in text


def test_six_pairs_and_no_sentence(tmp_path):
    runs = several("a", dict(enumerate((4.0, 4.1, 4.2, 4.3, 4.4, 4.5))))
    runs += several("b", dict(enumerate((3.9, 4.0, 4.1, 4.2, 4.3, 4.45))), layers=4, nsp=None)
    comparison = compare(runs)
    assert comparison.pairs(comparison.rows[1], "nsp.accuracy") is None
    assert "cannot decide" not in to_markdown(comparison)
    paths = write_comparison(comparison, tmp_path / "c")
    assert [path.name for path in paths][-2:] == ["c-seeds.svg", "c-seeds.png"]
    with (tmp_path / "c.csv").open(newline="") as file:
        reference, other = csv.DictReader(file)
    assert reference["mlm.loss_paired_n"] == ""
    assert (other["mlm.loss_paired_n"], other["mlm.loss_paired_p"]) == ("6", "0.03125")
    low, mean, high = (float(other[f"mlm.loss_paired_{name}"]) for name in ("low", "difference", "high"))
    assert mean == pytest.approx(-0.55 / 6)
    assert low < mean < high < 0
    by_seed = dict(part.split(":") for part in other["mlm.loss_paired_by_seed"].split())
    assert [float(by_seed[str(seed)]) for seed in range(6)] == pytest.approx([-0.1] * 5 + [-0.05])
    figure = (tmp_path / "c-seeds.svg").read_text()
    for text in ("one seed", "from the lowest to the highest of the seeds", "a (n = 6)", "b (n = 6)"):
        assert f"<!-- {text}" in figure
    assert figure == (write_comparison(comparison, tmp_path / "c"), (tmp_path / "c-seeds.svg").read_text())[1]


def test_no_pairs_where_there_is_one_seed_or_other_data(tmp_path):
    one = compare([make("main", 0, 4.0), *several("b", {0: 4.1, 1: 4.3}, layers=4)])
    assert one.pairs(one.rows[1], "mlm.loss") is None
    assert "same seed" not in to_markdown(one)
    write_comparison(one, tmp_path / "c")
    assert "paired" not in (tmp_path / "c.csv").read_text()
    assert (tmp_path / "c-seeds.svg").exists()
    write_comparison(compare([make("main", 0, 4.0)]), tmp_path / "c")
    assert not (tmp_path / "c-seeds.svg").exists()
    other = compare(several("a", {0: 4.0, 1: 4.2}) + several("b", {0: 4.1, 1: 4.3}, layers=4, data="y"))
    assert other.pairs(other.rows[1], "mlm.loss") is None


def test_two_codes_of_one_configuration_are_two_rows():
    new = several("new", {0: 3.9, 1: 4.0, 2: 4.1})
    comparison = compare([make("main", 0, 4.0), *several("old", {0: 4.0, 1: 4.2, 2: 4.4}), *new])
    assert [row.names for row in comparison.rows] == ["main, old", "new"]  # old-seed0 repeats main, and is left out
    assert comparison.rows[0].seeds == comparison.rows[1].seeds == [0, 1, 2]
    assert comparison.pairs(comparison.rows[1], "mlm.loss").differences == pytest.approx({0: -0.1, 1: -0.2, 2: -0.3})
    comparison = compare([make("main", 0, 4.05), *several("old", {0: 4.0, 1: 4.2}), *new], "old")
    assert [row.names for row in comparison.rows] == ["old", "main", "new"]


def test_the_table_of_seeds():
    runs = several("a", {0: 1.0, 1: 2.0, 2: 3.0})
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in seeds_table(runs).splitlines()]
    assert lines[0] == ["measured", "mean", "sd", "95 % interval", "seed 0", "seed 1", "seed 2"]
    assert lines[2] == ["MLM loss ↓", "2.000", "1.000", "-0.484 to 4.484", "1.000", "2.000", "3.000"]
    assert max(map(len, seeds_table(runs, 40).splitlines())) <= 40
    alone = seeds_table(runs[:1]).splitlines()[2]
    assert [cell.strip() for cell in alone.strip("|").split("|")][1:5] == ["1.000", "—", "—", "1.000"]
    missing = seeds_table([runs[0], make("a-seed1", 1, None)]).splitlines()[2]
    assert [cell.strip() for cell in missing.strip("|").split("|")][1:] == ["—", "—", "—", "1.000", "—"]

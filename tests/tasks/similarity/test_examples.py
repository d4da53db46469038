import csv
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.dataset.read import read_dataset
from maskline.tasks.similarity.examples import band_of, bands, read_headless
from tests.tasks.similarity.scored import POSITIVES, write, write_pairs

STSB = Path("../shared/data/stsb")
BENCHMARK = ["genre", "file", "year", "id", "score", "sentence1", "sentence2"]
PAIRS = [(f"word{n} walks", f"word{n} runs", n % 6) for n in range(40)]


def everything(directory, *names):
    """Return the values of columns of all pairs."""
    splits = read_dataset(directory, "pairs").splits
    return sorted(pair for split in splits.values() for pair in zip(*(split[name] for name in names), strict=True))


def test_a_line_without_header_has_the_columns_of_the_settings(tmp_path):
    path = tmp_path / "a.csv"
    content = 'x\t0.5\tA "cat.\tA dog.\r\n\n  \ny\t4\tIt\'s, so\t"quoted"\tlicence\thttps://a.example\n'
    path.write_text("\ufeff" + content, newline="")
    expected = [
        {"id": "x", "score": "0.5", "one": 'A "cat.', "two": "A dog."},
        {"id": "y", "score": "4", "one": "It's, so", "two": '"quoted"'},
    ]
    assert list(read_headless(path, "utf-8", ["id", "score", "one", "two"])) == expected
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(content.encode()))
    assert list(read_headless(tmp_path / "a.tsv.gz", "utf-8", ["id", "score", "one", "two"])) == expected


@pytest.mark.parametrize(("line", "count"), [("x\t1\ta", 3), ("x,1,a,b", 1)])
def test_a_line_with_too_few_fields_is_named(tmp_path, line, count):
    (tmp_path / "a.tsv").write_text(f"x\t1\ta\tb\n{line}\n")
    with pytest.raises(UserError, match=rf"a\.tsv, line 2 has fewer fields \({count}, .* \(4\): correct"):
        list(read_headless(tmp_path / "a.tsv", "utf-8", ["id", "score", "one", "two"]))


def test_the_layout_of_the_benchmark_is_read_by_its_columns(tmp_path):
    for name, part in (("train", PAIRS[:30]), ("dev", PAIRS[:7]), ("test", PAIRS[30:])):
        rows = [f"g\tf\t2012\t{n:04}\t{score}.000\t{one}\t{two}" for n, (one, two, score) in enumerate(part)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\tlicence\tmore\n")
    files = {
        f"files.{split}_paths": [str(tmp_path / f"{name}.csv")]
        for split, name in (("validation", "dev"), ("test", "test"))
    }
    manifest = write(tmp_path / "task", tmp_path / "train.csv", columns=BENCHMARK, **files)
    assert {split: part["examples"] for split, part in manifest["splits"].items()} == {
        "train": 23,
        "validation": 7,
        "test": 10,
    }
    assert manifest["score_range"] == [0, 5]
    assert manifest["splits"]["validation"]["scores"] == {
        "0 to 1": 2,
        "1 to 2": 1,
        "2 to 3": 1,
        "3 to 4": 1,
        "4 to 5": 2,
    }
    test = read_dataset(tmp_path / "task", "pairs").splits["test"]
    assert [*zip(test["sentence1"], test["sentence2"], test["score"], strict=True)] == PAIRS[30:]


def test_files_with_names_of_columns_are_read_alike(tmp_path):
    names = ("sentence1", "sentence2", "score")
    write_pairs(tmp_path / "a.jsonl", PAIRS)
    pq.write_table(
        pa.Table.from_pylist([dict(zip(names, pair, strict=True)) for pair in PAIRS]), tmp_path / "a.parquet"
    )
    for suffix, delimiter in ((".csv", ","), (".tsv", "\t")):
        with (tmp_path / f"a{suffix}").open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([names, *PAIRS])
    for suffix in (".jsonl", ".parquet", ".csv", ".tsv"):
        write(tmp_path / suffix, tmp_path / f"a{suffix}")
        assert everything(tmp_path / suffix, *names) == sorted(PAIRS), suffix


def test_texts_are_cleaned_and_what_is_empty_or_has_no_score_is_counted(tmp_path):
    odd = [
        ("  Tom &amp;\u00a0Ann ", "Tom\n& Bob", 1),
        ("\u200b", "nothing", 1),
        ("nothing", None, 1),
        ("no score", "none", None),
        ("no score", "an empty one", " "),
        ("no score", "no number", float("nan")),
        ("", "neither", None),
    ]
    path = write_pairs(tmp_path / "a.jsonl", PAIRS + odd)
    manifest = write(tmp_path / "task", path)
    assert manifest["dropped"] == {"empty": 3, "missing_score": 3, "duplicate": 0, "conflicting_label": 0}
    assert manifest["read"] == manifest["examples"] + 6 == 47
    assert ("Tom & Ann", "Tom & Bob", 1.0) in everything(tmp_path / "task", "sentence1", "sentence2", "score")


def test_copies_are_pairs_of_equal_texts_in_whatever_order(tmp_path):
    more = [
        ("a", "b", 3),
        ("b", "a", 3),  # a copy
        ("a", "b.", 3),
        ("A", "b", 3),
        ("c", "d", 1),
        ("d", "c", 2),  # one of them is wrong
        ("c", "c", 5),
    ]
    manifest = write(tmp_path / "task", write_pairs(tmp_path / "a.jsonl", PAIRS + more))
    assert manifest["dropped"]["duplicate"] == 1
    assert manifest["dropped"]["conflicting_label"] == 2
    kept = everything(tmp_path / "task", "sentence1", "sentence2")
    assert {pair for pair in kept if len(pair[0]) == 1} == {("a", "b"), ("a", "b."), ("A", "b"), ("c", "c")}


@pytest.mark.parametrize("score", ["5.1", "-0.01", "high", "4,5", "inf", "nan", True])
def test_a_score_that_is_none_is_named_with_its_row(tmp_path, score):
    path = write_pairs(tmp_path / "a.jsonl", [*PAIRS[:3], ("a", "b", score)])
    message = rf"a\.jsonl, record 4: score is '{score}', no number from 0 to 5: correct it, or dataset\.score_range"
    with pytest.raises(UserError, match=message):
        write(tmp_path / "task", path)
    assert not (tmp_path / "task").exists()


def test_a_column_that_is_not_there_is_named(tmp_path):
    path = write_pairs(tmp_path / "a.jsonl", PAIRS)
    with pytest.raises(UserError, match=r"a\.jsonl has no column label: it has sentence1, sentence2, score"):
        write(tmp_path / "task", path, score_column="label")


def test_a_split_that_cannot_be_ranked_is_refused(tmp_path):
    held_out = write_pairs(tmp_path / "test.jsonl", [("a", "b", 2), ("c", "d", 2.0)])
    path = write_pairs(tmp_path / "a.jsonl", PAIRS)
    with pytest.raises(UserError, match="every pair of the test split has the score 2, which ranks nothing"):
        write(tmp_path / "task", path, **{"files.test_paths": [str(held_out)]})


def test_pairs_without_scores_have_no_such_column(tmp_path):
    path = write_pairs(tmp_path / "a.jsonl", [pair[:2] for pair in PAIRS], ("sentence1", "sentence2"))
    manifest = write(tmp_path / "task", path, changes=POSITIVES)
    assert manifest["score_range"] is None
    assert manifest["dropped"] == {"empty": 0, "duplicate": 0, "conflicting_label": 0}
    assert list(read_dataset(tmp_path / "task", "pairs").splits["test"]) == ["id", "sentence1", "sentence2"]
    assert "scores" not in manifest["splits"]["test"]


def test_negatives_may_be_missing(tmp_path):
    names = ("sentence1", "sentence2", "worse")
    pairs = [(one, two, f"no {one}" if number % 4 else "") for number, (one, two, _) in enumerate(PAIRS)]
    copied = (*PAIRS[1][:2], "another")
    path = write_pairs(tmp_path / "a.jsonl", [*pairs, copied], names)
    manifest = write(tmp_path / "task", path, changes=POSITIVES | {"pairs:dataset.negative_column": "worse"})
    assert sum(part["negatives"] for part in manifest["splits"].values()) == 30
    assert manifest["dropped"]["duplicate"] == 1  # the first of them is kept
    kept = read_dataset(tmp_path / "task", "pairs").splits
    negatives = {
        one: worse for part in kept.values() for one, worse in zip(part["sentence1"], part["negative"], strict=True)
    }
    assert negatives["word0 walks"] is None
    assert negatives["word1 walks"] == "no word1 walks"


def test_bands_share_the_range_of_scores():
    assert bands([1, 5]) == [pytest.approx(pair) for pair in ((1, 1.8), (1.8, 2.6), (2.6, 3.4), (3.4, 4.2), (4.2, 5))]
    assert [band_of(score, [0, 5]) for score in (0, 0.999, 1, 2.5, 4.999, 5)] == [0, 0, 1, 2, 4, 4]


@pytest.mark.skipif(
    not STSB.exists(), reason="needs the STS Benchmark in ../shared/data, which is no part of the project"
)
def test_the_benchmark_is_read_whole(tmp_path):
    held_out = {"files.validation_paths": [str(STSB / "sts-dev.csv")], "files.test_paths": [str(STSB / "sts-test.csv")]}
    manifest = write(tmp_path / "task", STSB / "sts-train.csv", columns=BENCHMARK, **held_out)
    assert manifest["read"] == 5749 + 1500 + 1379
    assert [part["examples"] for part in manifest["splits"].values()] == [5662, 1500, 1379]
    assert manifest["dropped"] == {"empty": 0, "missing_score": 0, "duplicate": 60, "conflicting_label": 27}

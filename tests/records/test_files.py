"""Files that expand without end: a limit where each is read, and next to no memory until then."""

import csv
import gzip
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.records import files
from maskline.records.files import open_text, read_csv, read_jsonl, read_parquet, read_tsv
from maskline.records.parquet_pages import page_sizes

LIMIT = 1 << 16


@pytest.mark.parametrize(("read", "name", "between"), [(read_csv, "a.csv", ","), (read_tsv, "a.tsv.gz", "\t")])
def test_a_field_is_as_long_as_a_line_may_be(tmp_path, monkeypatch, read, name, between):
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 24)
    csv.field_size_limit(131_072)  # that of a new process
    long = "x" * 140_000
    content = f"text{between}label\n{long}{between}a\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert list(read(tmp_path / name)) == [{"text": long, "label": "a"}]


@pytest.fixture(autouse=True)
def _limits(monkeypatch):
    for name in ("LONGEST_LINE", "PAGE_BYTES"):
        monkeypatch.setattr(files, name, LIMIT)


def refused(read, path):
    """Return why `path` is refused, and the peak of memory until then."""
    tracemalloc.start()
    try:
        with pytest.raises(UserError) as caught:
            list(read(path))
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_without_end(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n{"text": "' + b"x" * (50 << 20) + b'"}'))
    message, memory = refused(read_jsonl, path)
    assert message == f"{path}, line 2 has more than 65,536 characters: break it up, or remove it"
    assert memory < 5 << 20


def test_lines_up_to_the_limit_are_read_with_their_own_ends(tmp_path):
    lines = ["x" * (LIMIT - 1) + "\n", "a\r\n", "\r", "b"]
    (tmp_path / "a.txt").write_bytes("".join(lines).encode())
    with open_text(tmp_path / "a.txt") as found:
        assert list(found) == lines


@pytest.mark.parametrize("row", [b'"' + b"a\n" * (5 << 20), b'"a\n",' * (2 << 20)])
def test_a_row_without_end(tmp_path, row):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\na,b\n" + row))
    message, memory = refused(read_csv, path)
    assert "a row has more than 65,536 characters by here" in message
    assert memory < 20 << 20


def test_many_short_rows_are_no_long_one(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tlabel\n" + "a\tb\n" * LIMIT)
    assert sum(1 for _ in read_tsv(tmp_path / "a.tsv")) == LIMIT


def test_a_page_without_end(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * (20 << 20)]}), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 50_000
    message, memory = refused(read_parquet, path)
    assert "a.parquet has a page of 20,97" in message
    assert message.endswith("more than 65,536: write it with smaller pages")
    assert memory < 1 << 20


def test_rows_that_share_a_long_text_are_read_a_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BATCH_BYTES", 4 * LIMIT)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * (LIMIT - 100)] * 2_000}), path)
    tracemalloc.start()
    try:
        assert sum(len(record["text"]) for record in read_parquet(path)) == 2_000 * (LIMIT - 100)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


OPTIONS = [
    {},
    {"data_page_version": "2.0"},
    {"compression": "zstd", "use_dictionary": False},
    {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    {"write_page_checksum": True, "write_page_index": True, "row_group_size": 1_000},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_pages_are_those_that_the_file_has(tmp_path, options):
    rows = range(20_000)
    table = pa.table(
        {
            "text": [f"row {row} " * (row % 40) for row in rows],
            "number": [row / 3 for row in rows],
            "list": [["a", str(row)] for row in rows],
            "none": [None] * len(rows),
            "struct": [{"a": row % 2 == 0} for row in rows],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", **options)
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        sizes = list(page_sizes(tmp_path / "a.parquet", file.metadata))
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    stated = sum(
        group.column(number).total_uncompressed_size for group in groups for number in range(group.num_columns)
    )
    headers = stated - sum(sizes)  # the metadata count them with the pages
    assert 0 < headers < 500 * len(sizes)
    assert len(sizes) >= 5 * len(groups)


def test_damage_anywhere_in_a_parquet_file_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PAGE_BYTES", 1 << 20)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"some text {n}" for n in range(50)]}), path)
    whole = path.read_bytes()
    for place in range(4, len(whole) - 8, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            list(read_parquet(path))
        except UserError as error:
            assert "\n" not in str(error)  # noqa: PT017

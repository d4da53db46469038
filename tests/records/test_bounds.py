"""Files that a library reads as a whole, and that a stranger may have made to do harm."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import pytest

from maskline.core.errors import UserError
from maskline.records import bounds
from maskline.records.bounds import check_bounds


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", content)
    return file.getvalue()


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("json", [True, False])
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl"])
def test_a_file_that_unpacks_to_far_more_than_text_is_refused(tmp_path, monkeypatch, pack, json, name):
    monkeypatch.setattr(bounds, "SMALL_BYTES", 1000)
    path = tmp_path / name
    path.write_bytes(pack(b'{"text": "a"}\n' * 50))
    check_bounds(path, json=json)
    path.write_bytes(pack(b'{"text": "a"}\n' * 200_000))
    with pytest.raises(UserError, match=rf"{name} unpacks to more than [\d,]+ bytes, which text does not"):
        check_bounds(path, json=json)


@pytest.mark.parametrize("pack", [bytes, *PACKED.values()], ids=["plain", *PACKED])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
def test_nested_json_is_told_wherever_a_piece_ends(tmp_path, monkeypatch, pack, chunk):
    monkeypatch.setattr(bounds, "MOST_DEPTH", 3)
    monkeypatch.setattr(bounds, "_CHUNK", chunk)
    path = tmp_path / "a.jsonl"
    flat = '{"text": "[[[[{{{{\\"[[[[", "more": [{"\\\\": "[[["}, "]]]"]}\n'
    assert json.loads(flat)["more"] == [{"\\": "[[["}, "]]]"]
    path.write_bytes(pack((flat * 9).encode()))
    check_bounds(path, json=True)
    for deep in ('{"text": [[[1]]]}', '{"a":\n{"a":\n{"a":\n{"a":1}}}}', '{"a": "]]", "b": [[[', "[" * 9_999):
        path.write_bytes(pack((flat + deep).encode()))
        with pytest.raises(UserError, match=r"a\.jsonl has JSON of more than 3 levels"):
            check_bounds(path, json=True)
        check_bounds(path, json=False)


def test_a_string_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "LONGEST_STRING", 100)
    monkeypatch.setattr(bounds, "_CHUNK", 10)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "' + "a" * 99 + '"}')
    check_bounds(path, json=True)
    path.write_text('{"text": "' + "a" * 999)
    with pytest.raises(UserError, match=r"a\.jsonl has a string of more than 100 bytes"):
        check_bounds(path, json=True)


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_a_damaged_file_is_one_line(tmp_path, pack):
    path = tmp_path / "a.jsonl.gz"
    content = pack(bytes(range(256)) * 99)
    for damaged in (content[:-9], content[:40] + bytes(9) + content[49:]):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"a\.jsonl\.gz cannot be unpacked") as told:
            check_bounds(path, json=False)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(("mark", "name"), [(b'\x04"M\x18', "lz4"), (b"(\xb5/\xfd", "zstd")])
def test_what_cannot_be_looked_into_is_named(tmp_path, mark, name):
    path = tmp_path / "a.csv"
    path.write_bytes(mark + bytes(9))
    with pytest.raises(UserError, match=f"a.csv is compressed by {name}: unpack it, or use gzip"):
        check_bounds(path, json=False)

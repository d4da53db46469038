"""The download against a server that cuts, delays, lies and refuses."""

import bz2
import email.utils
import errno
import gzip
import json
import shutil
import time
from collections import namedtuple

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import try_lock
from maskline.sources.dump import server
from maskline.sources.dump.download import fetch_dump, is_closed
from maskline.sources.dump.server import RetryPolicy
from maskline.sources.dump.status import STATUS_BYTES, parse_status
from maskline.sources.settings import DumpCorpus
from tests.sources.dump.mirror import CONTENT, DATE, FIRST_STREAM, NAME, WEB_PAGE, WIKI, serving, sha1, status

HALF = len(CONTENT) // 2
STATUS = "dumpstatus.json"


@pytest.fixture(name="mirror")
def _mirror(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving() as mirror:
        yield mirror


class Fetcher:
    """`fetch_dump` into a temporary folder, with what it said and how long it slept."""

    def __init__(self, folder, url):
        self.root = folder / "downloads"
        self.url = url
        self.said = []
        self.slept = []

    def __call__(self, *, attempts=4, timeout=5.0, **changes):
        params = DumpCorpus(**({"paths": [], "url": self.url, "wiki": None, "date": DATE} | changes))
        retry = RetryPolicy(attempts=attempts, timeout=timeout, sleep=self.slept.append)
        return fetch_dump(params, "ar", say=self.said.append, root=self.root, retry=retry)

    def fails(self, match, **changes):
        with pytest.raises(UserError, match=match) as caught:
            self(**changes)
        assert "\n" not in str(caught.value)

    @property
    def path(self):
        return self.root / WIKI / DATE / NAME

    @property
    def part(self):
        return self.path.with_name(f"{NAME}.part")


@pytest.fixture(name="fetch")
def _fetch(tmp_path, mirror):
    return Fetcher(tmp_path, mirror.url)


def test_a_dump_is_fetched_once_and_verified_again(fetch, mirror):
    dump = fetch()
    assert dump.paths == [fetch.path]
    assert fetch.path.read_bytes() == CONTENT
    assert dump.provenance == {
        "wiki": WIKI,
        "date": DATE,
        "url": f"{mirror.url}/{WIKI}/{DATE}",
        "inputs": [{"name": NAME, "bytes": len(CONTENT), "sha1": sha1(CONTENT)}],
    }
    assert mirror.requests[0][1]["User-Agent"].startswith("maskline/")
    assert mirror.requests[1][1]["Accept-Encoding"] == "identity"
    assert not fetch.part.exists()
    assert fetch() == dump
    assert len(mirror.ranges()) == 1


def test_a_file_that_was_damaged_is_fetched_again_and_stays_until_then(fetch, mirror):
    fetch()
    damaged = b"x" + CONTENT[1:]
    fetch.path.write_bytes(damaged)
    mirror.fail({"code": 404})
    fetch.fails("is not there")
    assert fetch.path.read_bytes() == damaged
    assert "has the SHA-1" in fetch.said[-1]
    fetch()
    assert fetch.path.read_bytes() == CONTENT


def test_parts_come_in_the_order_of_their_pages(fetch, mirror):
    names = [f"{WIKI}-{DATE}-pages-articles{number}.xml-p{number}p{number + 1}.bz2" for number in range(1, 13)]
    files = {name: CONTENT + bz2.compress(name.encode()) for name in names}
    mirror.files = files | {STATUS: status(dict(reversed(files.items())))}
    dump = fetch()
    assert [path.name for path in dump.paths] == names
    assert [file["bytes"] for file in dump.provenance["inputs"]] == [len(content) for content in files.values()]


def test_a_cut_connection_is_resumed_where_it_broke(fetch, mirror):
    mirror.fail({"cut": HALF}, {"cut": 10}, {})
    fetch()
    assert mirror.ranges() == [None, f"bytes={HALF}-", f"bytes={HALF + 10}-"]
    assert mirror.requests[-1][1]["If-Range"] == f'"{sha1(CONTENT)[:8]}"'
    assert fetch.path.read_bytes() == CONTENT
    assert fetch.slept == [1, 2]


def test_a_connection_that_stays_cut_is_an_error_and_a_later_run_goes_on(fetch, mirror):
    mirror.fail({"cut": 100}, ...)
    fetch.fails(r"peer closed connection.*attempts in a row: 4.*which continues where this one stopped")
    assert fetch.slept == [1, 2, 4]
    assert fetch.part.read_bytes() == CONTENT[:400]
    assert not fetch.path.exists()
    mirror.fail()
    fetch()
    assert mirror.ranges()[-1] == "bytes=400-"
    assert fetch.path.read_bytes() == CONTENT


def test_attempts_that_bring_something_do_not_count(fetch, mirror, monkeypatch):
    monkeypatch.setattr(server, "PROGRESS", 100)
    mirror.fail(*[{"cut": 100}] * 20)
    fetch()
    assert len(mirror.ranges()) == 21
    assert set(fetch.slept) == {1}


def test_a_run_that_is_interrupted_keeps_what_it_has(fetch, mirror):
    def interrupted(seconds):
        raise KeyboardInterrupt

    mirror.fail({"cut": HALF})
    params = DumpCorpus(paths=[], url=mirror.url, wiki=None, date=DATE)
    with pytest.raises(KeyboardInterrupt):
        fetch_dump(params, "ar", say=fetch.said.append, root=fetch.root, retry=RetryPolicy(sleep=interrupted))
    assert fetch.part.read_bytes() == CONTENT[:HALF]
    fetch()
    assert mirror.ranges()[-1] == f"bytes={HALF}-"


def test_a_server_without_ranges_begins_anew(fetch, mirror):
    mirror.fail({"cut": HALF}, {"no_range": True})
    fetch()
    assert fetch.path.read_bytes() == CONTENT


def test_a_range_that_begins_elsewhere_is_not_taken(fetch, mirror):
    mirror.fail({"cut": HALF}, {"shift": 7}, {})
    fetch()
    assert mirror.ranges() == [None, f"bytes={HALF}-", None]
    assert fetch.path.read_bytes() == CONTENT


def test_a_file_that_changes_meanwhile_is_begun_anew(fetch, mirror):
    changed = CONTENT[:FIRST_STREAM] + bz2.compress(b"others</mediawiki>")

    def change(seconds):
        mirror.files = {STATUS: status({NAME: changed}), NAME: changed}

    mirror.fail({"cut": HALF})
    params = DumpCorpus(paths=[], url=mirror.url, wiki=WIKI, date=DATE)
    retry = RetryPolicy(attempts=4, sleep=change)
    with pytest.raises(UserError, match=r"bytes, .* as in dumpstatus\.json"):  # that of the status read before
        fetch_dump(params, "ar", say=fetch.said.append, root=fetch.root, retry=retry)
    fetch()
    assert fetch.path.read_bytes() == changed


def test_a_version_that_ignores_if_range_is_noticed(fetch, mirror):
    mirror.fail({"cut": HALF}, {"headers": {"ETag": '"another"'}}, {})
    fetch()
    assert mirror.ranges() == [None, f"bytes={HALF}-", None]
    assert fetch.path.read_bytes() == CONTENT


def test_what_another_version_left_is_noticed_by_its_sha1(fetch, mirror):
    fetch.part.parent.mkdir(parents=True)
    fetch.part.write_bytes(b"x" * HALF)
    fetch()
    assert mirror.ranges() == [f"bytes={HALF}-", None]
    assert fetch.path.read_bytes() == CONTENT
    assert any("once more from the beginning" in line for line in fetch.said)


@pytest.mark.parametrize("length", [len(CONTENT), len(CONTENT) + 5])
def test_what_is_there_already_is_verified_before_it_is_taken(length, fetch, mirror):
    fetch.part.parent.mkdir(parents=True)
    fetch.part.write_bytes(b"x" * length)
    fetch()
    assert fetch.path.read_bytes() == CONTENT


def test_a_sha1_that_is_wrong_twice_is_an_error(fetch, mirror):
    mirror.files[STATUS] = status(hashes="0" * 40)
    fetch.fails(r"has the SHA-1 [0-9a-f]{40} instead of 0{40}, twice")
    assert len(mirror.ranges()) == 2
    assert not fetch.path.exists()
    assert not fetch.part.exists()


@pytest.mark.parametrize("length", [len(CONTENT) + 100, len(CONTENT) - 100])
def test_a_length_that_is_not_that_of_the_status_is_not_taken(length, fetch, mirror):
    mirror.fail({"length": length}, {})
    fetch()
    assert mirror.ranges() == [None, None]
    mirror.fail({"length": length}, ...)
    fetch.path.unlink()
    fetch.fails(rf"has {length:,} bytes, not {len(CONTENT):,} as in dumpstatus\.json")


def test_a_body_without_a_length_is_counted(fetch, mirror):
    mirror.fail({"length": None})
    fetch()
    assert fetch.path.read_bytes() == CONTENT
    fetch.path.unlink()
    mirror.fail({"length": None, "body": CONTENT + b"more"}, {"length": None, "body": CONTENT[:-9]}, {})
    fetch()
    assert mirror.ranges()[1:] == [None, None, f"bytes={len(CONTENT) - 9}-"]
    assert "does not end after" in " ".join(fetch.said)
    assert fetch.path.read_bytes() == CONTENT


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/x-bzip2"}])
def test_a_web_page_is_no_dump(headers, fetch, mirror):
    page = {"body": WEB_PAGE.ljust(len(CONTENT)), "headers": {"Content-Type": "text/html"} | headers}
    mirror.fail(page, {})
    fetch()
    assert fetch.path.read_bytes() == CONTENT
    fetch.path.unlink()
    mirror.fail(page, ...)
    fetch.fails("is not a dump")
    assert not fetch.path.exists()
    assert not fetch.part.exists() or not fetch.part.stat().st_size


def test_a_web_page_is_no_status(fetch, mirror):
    mirror.fail({"body": WEB_PAGE, "headers": {"Content-Type": "text/html"}}, {}, name=STATUS)
    fetch()
    assert fetch.path.read_bytes() == CONTENT
    fetch.path.unlink()
    asked = len(mirror.ranges())
    mirror.fail({"body": WEB_PAGE, "headers": {"Content-Type": "text/html"}}, ..., name=STATUS)
    fetch.fails(r"is not valid JSON \(it comes as text/html\)")
    assert len(mirror.ranges()) == asked
    assert not fetch.path.exists()


@pytest.mark.parametrize("name", [STATUS, NAME])
def test_what_passes_is_waited_for(name, fetch, mirror):
    mirror.fail({"code": 500}, {"code": 429}, {"code": 503}, {}, name=name)
    fetch()
    assert fetch.slept == [1, 2, 4]
    assert "answers 503" in " ".join(fetch.said)


@pytest.mark.parametrize("name", [STATUS, NAME])
def test_what_does_not_pass_is_an_error(name, fetch, mirror):
    mirror.fail({"code": 500}, ..., name=name)
    fetch.fails(r"answers 500 Internal Server Error \(attempts in a row: 4\)")
    assert fetch.slept == [1, 2, 4]


def test_retry_after_is_honoured_in_both_its_forms(fetch, mirror):
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    mirror.fail(
        {"code": 429, "headers": {"Retry-After": "7"}},
        {"code": 503, "headers": {"Retry-After": date}},
        {"code": 429, "headers": {"Retry-After": "soon"}},
        {},
    )
    fetch()
    assert fetch.slept[0] == 7
    assert 95 < fetch.slept[1] <= 100
    assert fetch.slept[2] == 4


def test_a_retry_after_beyond_reason_is_an_error(fetch, mirror):
    mirror.fail({"code": 429, "headers": {"Retry-After": "86400"}})
    fetch.fails(r"answers 429 and asks to wait for 86,400 s")
    assert not fetch.slept


@pytest.mark.parametrize("name", [STATUS, NAME])
def test_what_is_not_there_is_asked_for_once(name, fetch, mirror):
    del mirror.files[name]
    fetch.fails(r"is not there \(404\).*choose a date of which http://127\.0\.0\.1:\d+/arwiki has the dump")
    assert not fetch.slept


def test_a_refusal_is_an_error_at_once(fetch, mirror):
    mirror.fail({"code": 403})
    fetch.fails(r"answers 403 Forbidden: check corpus\.dump\.url")
    assert not fetch.slept


def test_silence_breaks_the_connection(fetch, mirror):
    mirror.fail({"delay": 0.5}, {})
    fetch(timeout=0.1)
    assert fetch.slept == [1]
    assert fetch.path.read_bytes() == CONTENT


def test_nobody_listens(fetch):
    fetch.fails("Connection refused.*check the network and corpus.dump.url", url="http://127.0.0.1:9")
    assert fetch.slept == [1, 2, 4]


@pytest.mark.parametrize("state", ["in-progress", "waiting", "failed"])
def test_a_dump_that_is_not_done_is_not_used(state, fetch, mirror):
    mirror.files[STATUS] = status(state=state)
    fetch.fails(rf"is not done \(articlesdump is {state}\): wait, or choose an earlier date")
    assert not mirror.ranges()


def test_a_status_without_the_job_says_so(fetch, mirror):
    mirror.files[STATUS] = status(job="metacurrentdump")
    fetch.fails("has no job articlesdump: choose another date")
    assert not mirror.ranges()
    assert not fetch.path.exists()


def listed(size, name="a.bz2"):
    """Return a status that lists a file of `size`, which is JSON."""
    return b'{"jobs": {"articlesdump": {"status": "done", "files": {"%s": {"size": %s}}}}}' % (
        name.encode(), size.encode(),
    )  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b'{"jobs": []}',
        b'{"jobs": {"articlesdump": {"status": "done"}}}',
        b'{"jobs": {"articlesdump": {"status": "done", "files": {}}}}',
        b'{"jobs": {"articlesdump": {"status": "done", "files": {"a.bz2": {}}}}}',
        status({"../../evil.bz2": b"x"}),
        status({".hidden.bz2": b"x"}),
        status({"lock": b"x"}),
        status({"a.xml.7z": b"x"}),
        status({"a.bz2": b""}),
        b"[" * 100_000,
        b'{"jobs": ' + b"9" * 5_000 + b"}",
        listed("1e400"),
        listed("9" * 4_000),
        listed(f'"{"9" * 100_000}"'),
        listed("[7]"),
        listed('1, "sha1": ["0"]'),
        listed('1, "sha1": {}'),
        listed("1", name=f"a{'1' * 5_000}.bz2"),
        status(state="x" * 10_000),
        b" " * (STATUS_BYTES + 1),
    ],
    ids=lambda content: content[:60].decode(),
)
def test_a_status_of_another_shape_is_one_line(content):
    with pytest.raises(UserError, match=r"try another mirror|choose an earlier date") as caught:
        parse_status(content, "there")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_status_without_end_is_not_read_to_its_end(fetch, mirror, monkeypatch):
    monkeypatch.setattr(server, "STATUS_BYTES", 5_000)
    mirror.files[STATUS] = b" " * 6_000 + status()
    fetch.fails("has more than 5,000 bytes: check corpus.dump.url")
    assert not mirror.ranges()


def test_a_deep_status_is_no_status(fetch, mirror):
    mirror.files[STATUS] = b"[" * 100_000
    fetch.fails("is not valid JSON")


def test_without_a_sha1_the_closing_tag_decides(fetch, mirror):
    mirror.files[STATUS] = status(hashes=False)
    dump = fetch()
    assert dump.provenance["inputs"][0]["sha1"] == sha1(CONTENT)
    first = CONTENT[:FIRST_STREAM]
    bz2.decompress(first)  # it is cut between two streams, and decompresses well
    mirror.files = {STATUS: status({NAME: first}, hashes=False), NAME: first}
    fetch.fails("ends before </mediawiki>, twice")
    assert fetch.path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("name", "content", "closed"),
    [
        ("a.bz2", CONTENT, True),
        ("a.bz2", CONTENT[:FIRST_STREAM], False),
        ("a.bz2", CONTENT[:-5], False),
        ("a.bz2.part", CONTENT, True),
        ("a.gz", gzip.compress(b"<mediawiki></mediawiki>\n\n", mtime=0), True),
        ("a.gz", gzip.compress(b"<mediawiki></mediawiki>", mtime=0)[:-9], False),
        ("a.gz", b"<html>", False),
        ("a.xml", b"<mediawiki></mediawiki>", True),
        ("a.xml", b"<mediawiki></media", False),
    ],
)
def test_a_dump_is_whole_when_it_is_closed(name, content, closed, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert is_closed(tmp_path / name) is closed


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_a_folder_is_a_mirror_read_in_place(scheme, fetch, tmp_path):
    folder = tmp_path / "a mirror" / WIKI / DATE
    folder.mkdir(parents=True)
    url = f"{scheme}{tmp_path}/{'a%20mirror' if scheme else 'a mirror'}"
    fetch.fails(r"dumpstatus\.json is not there: if corpus\.dump\.url is a folder", url=url)
    (folder / STATUS).write_bytes(status())
    fetch.fails(f"{NAME} is missing: mirror it again", url=url)
    (folder / NAME).write_bytes(CONTENT[:-1])
    fetch.fails(rf"has {len(CONTENT) - 1:,} bytes instead of {len(CONTENT):,}: mirror it again", url=url)
    (folder / NAME).write_bytes(CONTENT)
    dump = fetch(url=url)
    assert dump.paths == [folder / NAME]
    assert str(tmp_path) not in json.dumps(dump.provenance)
    assert not fetch.root.exists()


def test_no_date_is_one_line(fetch, mirror):
    fetch.fails(rf"corpus\.dump\.date is not set.*{mirror.url}/arwiki", date=None)
    assert not mirror.requests


def test_the_wiki_is_that_of_the_language_unless_it_is_named(fetch, mirror):
    fetch.fails("simplewiki/20260901/dumpstatus.json is not there", wiki="simplewiki")
    assert fetch().provenance["wiki"] == "arwiki"


def test_too_little_room_is_said_before_anything_is_fetched(fetch, mirror, monkeypatch):
    usage = namedtuple("Usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100))
    fetch.fails("has room for 0.0 MB, and the download needs .*: make room")
    assert not mirror.ranges()


def test_a_disk_that_fills_up_keeps_what_is_there(fetch, mirror, monkeypatch):
    def full(self, response, file, *rest):
        file.write(CONTENT[:50])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(server.Server, "_append", full)
        with pytest.raises(OSError, match="No space left"):
            fetch()
    assert fetch.part.read_bytes() == CONTENT[:50]
    assert not fetch.path.exists()
    fetch()
    assert mirror.ranges()[-1] == "bytes=50-"


def test_two_processes_do_not_fetch_the_same(fetch):
    fetch.part.parent.mkdir(parents=True)
    assert try_lock(fetch.part.with_name("lock")) is not None
    fetch.fails("another process downloads to")


def test_progress_is_told(fetch, mirror, monkeypatch):
    monkeypatch.setattr(server, "LINE_EVERY_SECONDS", 0.0)
    fetch()
    assert fetch.said[-1].startswith(f"{NAME} (1 of 1): 0.0 MB of 0.0 MB, ")
    assert server.size(2.345e9) == "2.35 GB"

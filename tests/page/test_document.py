"""The page as a file: it needs nothing else, and no text in it is taken for a part of it."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from maskline.core.errors import UserError
from maskline.page import document
from maskline.page.document import MOST_BYTES, Figure, Page, Section, Table, in_script, render
from maskline.page.elements import Cell, table, text
from maskline.page.run import run_page
from tests.project import ROOT

LINKS = {"src", "href", "srcset", "action", "poster", "data", "xlink:href", "background", "cite", "formaction"}


class Parsed(HTMLParser):
    """The elements and their attributes."""

    def __init__(self, content):
        super().__init__()
        self.found = []
        self.scripts = []
        self.feed(content)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script":
            self.scripts.append(data)


def test_the_page_of_a_run_names_no_address_and_has_room_to_be_mailed(tmp_path, made):
    content = render(run_page(made(tmp_path)))
    assert len(content.encode()) <= MOST_BYTES == 2_000_000
    parsed = Parsed(content)
    addresses = {value for _, attributes in parsed.found for name, value in attributes.items() if name in LINKS}
    assert {address for address in addresses if not address.startswith(("#", "data:"))} == set()
    assert "://" not in re.sub(r"<script>.*?</script>", "", content, flags=re.DOTALL)
    assert not re.search(r"@import|url\((?!#)", re.sub(r"<script.*?</script>", "", content, flags=re.DOTALL))
    (policy,) = [attributes["content"] for _, attributes in parsed.found if "http-equiv" in attributes]
    assert policy.startswith("default-src 'none';")
    assert "connect" not in policy


def test_names_from_elsewhere_are_text(tmp_path, made):
    content = render(run_page(made(tmp_path)))
    parsed = Parsed(content)
    assert [tag for tag, _ in parsed.found].count("script") == 3  # data, library, ours
    assert "<script>alert" not in content
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" not in parsed.scripts[0]
    assert json.loads(parsed.scripts[0])["task-0-0"]["data"]["rows"]["rows"][0][0] == "<script>alert(1)</script>"
    assert "قطة" in content
    assert "中文" in content


def test_the_same_bytes_whatever_the_process(tmp_path, made):
    source = made(tmp_path)
    program = (
        "import sys, json; from pathlib import Path; from maskline.page import document; document._library = str;"
        "from maskline.page.document import render; from maskline.page.run import run_page;"
        "from maskline.page.source import Source;"
        "a = json.load(sys.stdin);"
        "sys.stdout.buffer.write(render(run_page(Source(Path(sys.argv[1]), a, a))).encode())"
    )
    pages = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            input=json.dumps(source.settings).encode(),
            env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(pages) == 1


def test_json_in_a_script_cannot_end_it():
    content = in_script({"name": "</script><!--\u2028"})
    assert "<" not in content
    assert "\u2028" not in content
    assert json.loads(content) == {"name": "</script><!--\u2028"}
    with pytest.raises(ValueError, match="JSON"):
        in_script([float("nan")])


def test_what_has_no_room_is_named_in_its_place():
    small, large = "<svg>small</svg>", f"<svg>{'x' * MOST_BYTES}</svg>"
    section = Section("a", "A", "", fallbacks=[("small", small), ("large", large)])
    content = render(Page("t", "", [section]))
    assert small in content
    assert "large: no room for the picture" in content
    assert len(content.encode()) <= MOST_BYTES


def test_a_table_says_what_it_is_sorted_by():
    rows = [["a", Cell("1.0", 1.0, number=True)], ["b", Cell("—", None, number=True)]]
    shown = table("t", ("name", "n"), rows, sortable=True)
    assert '<th scope="row">a</th><td data-order="1.0" class="number">1.0</td>' in shown
    assert '<td class="number">—</td>' in shown
    assert '<th scope="col" class="number">n</th>' in shown


def test_text_keeps_its_direction_and_steers_nothing():
    assert text("a < b") == "a &lt; b"
    assert text("قطة") == "<bdi>قطة</bdi>"
    assert "\u202e" not in text("\u202eevil")


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "altair" else name)
    with pytest.raises(UserError, match=r"^altair is not installed: .*\[report\]"):
        document.check_installed()


def test_figures_travel_with_their_data():
    figure = Figure("f", "F", {"mark": "point"}, {"rows": Table(("x",), [[1]])})
    content = render(Page("t", "", [Section("a", "A", document.place(figure), [figure])]))
    assert (
        '"f":{"spec":{"mark":"point"},"data":{"rows":{"columns":["x"],"rows":[[1]]}},"axes":{},"loss":false}' in content
    )

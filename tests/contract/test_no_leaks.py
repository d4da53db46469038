"""Nothing of a machine that built or ran the project is in its files."""

import re
from pathlib import Path

import pytest

from tests.project import ROOT, tracked

BINARY = {".png"}
FILES = [path for path in tracked() if path.suffix not in BINARY and path.name != "LICENSE"]

# The alternatives keep this file from being found by itself.
ABSOLUTE = re.compile(r"(?<![\w.<:/~-])/(?:work|root|home|Users|tmp|opt|mnt|srv|private)/[\w.-]|\b[A-Z]:\\\\?Users")
REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|npmjs|anaconda|crates|debian|download\.pytorch)\.(?:org|com|io)\b")


def found(pattern, text):
    return [match[0] for match in pattern.finditer(text)]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_absolute_path_and_no_registry(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not found(ABSOLUTE, text)
    assert not found(REGISTRY, text)
    here = {str(ROOT), str(Path.home())} - {"/"}
    assert not [place for place in here if re.search(rf"(?<![\w.]){re.escape(place)}\b", text)]


def test_the_patterns_find_what_they_are_for():
    slash = "/"
    for path in (f"open('{slash}home{slash}ann{slash}x')", f"a={slash}tmp{slash}x.json", "C:" + r"\Users\ann"):
        assert found(ABSOLUTE, path)
    for path in ("https://a.example/work/x", "../shared/data", "src/home/x", "/usr/bin/env bash", "~/tmp/x"):
        assert not found(ABSOLUTE, path)
    assert found(REGISTRY, "https://files.python" + "hosted.org/packages")

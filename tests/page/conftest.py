"""What the tests of pages share."""

import pytest

from tests.page import toy


@pytest.fixture(name="made")
def _made():
    """Return a function that leaves a run in a folder, and gives it as the source of a page."""
    return toy.made

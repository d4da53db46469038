import pytest

from maskline.params import TokenizerParams


@pytest.fixture
def params():
    """Return parameters of a small vocabulary, with the given changes."""

    def build(**changes):
        values = {
            "kind": "wordpiece",
            "vocab_size": 300,
            "min_frequency": 2,
            "lowercase": True,
            "strip_accents": False,
            "max_unk_rate": 0.01,
        }
        return TokenizerParams(**(values | changes))

    return build

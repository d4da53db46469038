import pytest

from tests.tiny import tokenizer_params


@pytest.fixture
def params():
    """Return a function that gives parameters of a small vocabulary, with the given changes."""
    return lambda **changes: tokenizer_params(**({"vocab_size": 300} | changes))

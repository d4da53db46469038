import pytest

from tests.conftest import built_once
from tests.tiny import write_data


@pytest.fixture(scope="session", name="data")
def _data(tmp_path_factory):
    """Return a folder of tiny data; it is shared, so a test that changes something copies it first."""
    return built_once(tmp_path_factory, "data", write_data)

import pytest

from tests.tiny import write_data


@pytest.fixture(scope="session", name="data")
def _data(tmp_path_factory):
    """Return a folder of tiny data; it is shared, so a test that changes something copies it first."""
    return write_data(tmp_path_factory.mktemp("data"))

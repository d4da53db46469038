import pytest
import torch


@pytest.fixture(autouse=True)
def _threads():
    """Give threads back: a benchmark takes one for every core, and the tests after it run beside others."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)

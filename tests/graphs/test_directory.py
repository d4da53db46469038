import os

import numpy as np
import pytest

from maskline.graphs import directory
from maskline.tokenization.texts import Packed


@pytest.mark.parametrize(("asked", "threads"), [("3", 3), ("0", None), ("many", None), ("", None), (None, None)])
def test_threads_are_those_that_torch_takes(monkeypatch, asked, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4}, raising=False)
    assert directory.threads() == (threads or 5)


def test_a_batch_is_padded_at_the_end():
    texts = Packed(np.arange(6), np.array([1, 3, 2]), np.zeros(6, np.int64))
    real = directory._real(texts)
    assert real.tolist() == [[True, False, False], [True, True, True], [True, True, False]]

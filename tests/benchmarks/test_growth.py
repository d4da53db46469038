import time
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import growth, measure
from maskline.settings.params import load
from maskline.shards.store import TokenShards
from tests.tiny import write_data


def test_a_line_is_straight_and_a_curve_is_not():
    x = (1, 2, 4, 8)
    line = growth.straight("s", x, {str(a): [99.0, 3.0 + 2.0 * a, 1.0] for a in x}, "s each", "so much")
    assert line.ratio == pytest.approx(0, abs=1e-9)
    assert line.met
    assert line.note == "line: 3 s + 2 s each; so much"
    assert [series.values[1] for series in line.series] == [5.0, 7.0, 11.0, 19.0]
    curve = growth.straight("s", x, {str(a): [float(a * a)] for a in x}, "s")
    assert curve.ratio > 0.2
    assert not curve.met


def test_a_repeated_corpus_is_the_same_so_many_times(tmp_path):
    write_data(tmp_path / "data")
    folder = growth.repeated(tmp_path / "data", tmp_path / "thrice", 3)
    once, thrice = (TokenShards(root / "tokens" / "train") for root in (tmp_path / "data", folder))
    thrice.check_tokenizer(folder / "tokenizer")
    assert len(once.shards) > 1
    for field in ("tokens", "documents", "sentences", "one_sentence_documents"):
        assert thrice.manifest[field] == 3 * once.manifest[field]
    tokens = [np.concatenate([shard.tokens for shard in shards]) for shards in (once, thrice)]
    assert np.array_equal(np.tile(tokens[0], 3), tokens[1])


def test_a_process_of_its_own_tells_time_and_memory(tiny_project, tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "load", lambda _: load(tiny_project / "params.yaml"))
    found = growth.train_a_little(tiny_project / "data")
    assert found["tokens"] == TokenShards(tiny_project / "data" / "tokens" / "train").manifest["tokens"]
    assert found["seconds"] > 0
    assert 10e6 < found["own_bytes"] < 8e9


def test_seconds_per_token_are_those_of_changed_parameters(monkeypatch):
    # Processor time of one thread: what else runs on the machine has no part in it.
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=time.process_time))
    monkeypatch.setattr(growth, "cores", lambda: 1)
    monkeypatch.setattr(growth, "VOCAB_SIZE", 97)
    monkeypatch.setattr(growth, "UPDATES", 1)
    small = {"hidden": 16, "heads": 2, "intermediate": 16, "max_positions": 32, "matched_heads": 0}
    training = {"max_seq_length": 32, "global_batch": 4, "micro_batch": 4}
    sections = {
        str(layers): {"model": {**small, "layers": layers}, "premask": {"max_seq_length": 32}, "pretrain": training}
        for layers in (1, 12)
    }
    found = growth.seconds_per_token(sections)
    assert [len(values) for values in found.values()] == [growth.REPETITIONS] * 2
    assert np.median(found["12"]) > 1.5 * np.median(found["1"]) > 0

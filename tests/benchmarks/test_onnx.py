import os

import pytest

from benchmarks import onnx
from maskline.core.errors import UserError


def test_every_way_has_a_row_against_torch(tiny_project, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))  # which is set back after it
    texts = [("the river meets the city", "a garden of engine", 1.5), ("the painter sees", "a painter", 4.0)]
    lines = [f"main\t-\t2017\t{n}\t{score}\t{a}\t{b}" for n, (a, b, score) in enumerate([*texts, *texts[::-1]])]
    (tmp_path / "sts.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(onnx, "MODEL", tiny_project / "data" / "models" / "pretrained")
    monkeypatch.setattr(onnx, "PAIRS", tmp_path / "sts.csv")
    *contenders, spearman, cosine, size = onnx.rows()
    assert [row.subject.removeprefix("vectors of STS-B, ") for row in contenders] == [
        "float32",
        "int8 per tensor",
        "int8 per channel",
        "int8 of quantize_dynamic, per tensor",
        "int8 of quantize_dynamic, per channel",
    ]
    assert [row.target for row in contenders] == [None, None, 2.8, None, None]
    assert all(row.ratio > 0 and "Spearman" in row.note for row in contenders)
    assert "mean cosine 1.0000" in contenders[0].note
    assert "differ by 0e+00" in contenders[2].note
    assert abs(spearman.ratio) <= 1
    assert 0.9 < cosine.ratio <= 1.00001
    assert 0.25 < size.ratio < 1
    monkeypatch.setattr(onnx, "PAIRS", tmp_path / "none.csv")
    with pytest.raises(UserError, match=r"none\.csv is missing: import the encoder"):
        onnx.rows()

"""Vectors by ONNX Runtime, in float32 and int8, against torch in float32: speed, and what int8 costs on STS-B.

One thread, each batched by length, from text to vector. The model is the imported all-MiniLM-L6-v2.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.measure import Row, Series, against, interleaved, measured
from maskline.core.errors import UserError
from maskline.graphs.quantize import SCHEMES, quantize
from maskline.graphs.trace import trace
from maskline.inference.embedding import GraphPooler, Pooler, TorchPooler, embed_by
from maskline.inference.export import LEAST_COSINE, MOST_BYTES, MOST_LOST, Network, open_network
from maskline.tasks.similarity.measures import correlations

MODEL = Path("data/imported/model")
PAIRS = Path("../shared/data/stsb/sts-test.csv")
SUBJECT = "vectors of STS-B"
TORCH = "torch, float32"
THREADS = "1"
TARGET = 2.8
TIMED = 1_000
"""Texts of a turn; int8 is compared with torch on all of them."""
AMONG = 8
"""Texts of a batch in which a text is compared with itself alone."""


def rows() -> list[Row]:
    """Measure float32 and int8, per tensor and per channel, and the int8 that ONNX Runtime makes itself.

    Raises:
        UserError: the model or the pairs are missing.
    """
    if not MODEL.is_dir() or not PAIRS.is_file():
        raise UserError(f"{MODEL} or {PAIRS} is missing: import the encoder by `dvc exp run` as README.md has it")
    torch.set_num_threads(int(THREADS))
    os.environ["OMP_NUM_THREADS"] = THREADS  # which sessions read when they are made
    network = open_network(MODEL)
    contents = graphs_of(network)
    poolers: dict[str, Pooler] = {TORCH: TorchPooler(network.model.encoder, torch.device("cpu"))}
    poolers |= {name: GraphPooler(network.graph(content)) for name, content in contents.items()}
    firsts, seconds, gold = read_pairs(PAIRS)
    texts = [*firsts, *seconds]

    def contender(name: str) -> float:
        return float(len(embed_by(poolers[name], network.tokenizer, texts[:TIMED]).vectors))

    series = interleaved({name: (lambda name=name: contender(name)) for name in poolers}, "texts")  # type: ignore[misc]
    vectors = {name: unit(embed_by(pooler, network.tokenizer, texts).vectors) for name, pooler in poolers.items()}
    spearman = {name: correlations(gold, cosines_of(found))["spearman"] for name, found in vectors.items()}
    sizes = {name: content.ByteSize() for name, content in contents.items()}
    found = []
    for name in contents:
        alike = float((vectors[name] * vectors[TORCH]).sum(1).mean())
        share = sizes[name] / sizes["float32"]
        note = (
            f"mean cosine {alike:.4f}, Spearman {spearman[name]:.4f} (torch {spearman[TORCH]:.4f}), {sizes[name]:,} "
            f"bytes, {share:.3f} of float32; a text alone and among {AMONG} differ by "
            f"{difference(poolers[name], network, texts):.0e}"
        )
        found.append(against(f"{SUBJECT}, {name}", series[name], series[TORCH], targets().get(name), note=note))
    name = "int8 per channel"
    lost = spearman[TORCH] - spearman[name]
    alike = float((vectors[name] * vectors[TORCH]).sum(1).mean())
    return [
        *found,
        measured("Spearman that int8 loses", TORCH, Series(name, "", (lost,)), MOST_LOST),
        measured("mean cosine of int8", TORCH, Series(name, "", (alike,)), LEAST_COSINE, "at least"),
        measured("bytes of int8", "float32", Series(name, "", (sizes[name] / sizes["float32"],)), MOST_BYTES),
    ]


def targets() -> dict[str, float]:
    """Return what has to be reached, by contender."""
    return {"int8 per channel": TARGET}


def graphs_of(network: Network) -> dict[str, Any]:
    """Return name -> graph, an `onnx.ModelProto`: ours, and the int8 of ONNX Runtime's own quantizer."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    plain = trace(network.model, network.outputs)
    found = {"float32": plain, **{f"int8 per {scheme}": quantize(plain, scheme) for scheme in SCHEMES}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.onnx"
        onnx.save(plain, path)
        for per_channel in (False, True):
            quantized = path.with_name("quantized.onnx")
            quantize_dynamic(path, quantized, per_channel=per_channel, weight_type=QuantType.QInt8)
            scheme = "channel" if per_channel else "tensor"
            found[f"int8 of quantize_dynamic, per {scheme}"] = onnx.load(quantized)
    return found


def read_pairs(path: Path) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return the sentences of the pairs of STS-B and their scores."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [line[5] for line in lines], [line[6] for line in lines], np.array([float(line[4]) for line in lines])


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors of length 1."""
    scaled: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def cosines_of(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each text of the first half with its pair in the second."""
    first, second = np.split(vectors.astype(np.float64), 2)
    found: NDArray[np.float64] = (first * second).sum(1)
    return found


def difference(pooler: Pooler, network: Network, texts: list[str]) -> float:
    """Return by how much the vector of a text, made as long as 1, changes among others."""
    alone, among = (unit(embed_by(pooler, network.tokenizer, texts[:count]).vectors)[0] for count in (1, AMONG))
    return float(np.abs(alone - among).max())

"""Vectors of texts, against `SentenceTransformer.encode`, which sorts by length as well."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.corpus import reference_data
from benchmarks.inference import new_model, sentences
from benchmarks.measure import Row, against, interleaved
from benchmarks.report import cores
from maskline.inference.vectors import VectorSettings, open_encoder

SUBJECT = "vectors of texts"
SENTENCES = 2_000
PEER = "SentenceTransformer.encode"
TARGET = 1.5
TOLERANCE = 1e-5


def rows() -> list[Row]:
    """Measure mean vectors of sentences of the validation split, with a model of the default size."""
    torch.set_num_threads(cores())
    data = reference_data()
    texts = sentences(data, SENTENCES)
    with tempfile.TemporaryDirectory() as folder:
        return [row(new_model(data, Path(folder) / "model"), texts)]


def row(directory: Path, texts: list[str]) -> Row:
    """Return the row of the model in `directory` on `texts`, in as many threads as torch has.

    Raises:
        RuntimeError: the vectors of the two differ.
    """
    ours, peer = open_encoder(directory, torch.device("cpu")), sentence_transformer(directory)
    difference = np.abs(ours.vectors(texts, VectorSettings())[0] - peer.encode(texts)).max()
    if difference > TOLERANCE:
        raise RuntimeError(f"vectors differ from those of {PEER} by {difference:.1e}")
    series = interleaved(
        {
            "ours": lambda: float(len(ours.vectors(texts, VectorSettings())[0])),
            PEER: lambda: float(len(peer.encode(texts))),
        },
        "texts",
    )
    note = f"{len(texts):,} sentences as they come, batch 32 of the peer; the largest difference is {difference:.0e}"
    return against(SUBJECT, series["ours"], series[PEER], TARGET, note=note)


def sentence_transformer(directory: Path) -> Any:
    """Return the model in `directory` as sentence-transformers loads it, with the mean of its tokens."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(directory))
    pooling = Pooling(transformer.get_embedding_dimension(), "mean")
    return SentenceTransformer(modules=[transformer, pooling], device="cpu")

"""Embedding inference, from texts to vectors, against the usual loop with `transformers`."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.corpus import reference_data
from benchmarks.measure import Row, against, interleaved
from benchmarks.report import cores
from maskline.corpus.articles import read_articles
from maskline.inference.embedding import embed
from maskline.model.directory import TokenizerFiles, export, load_pretraining_model
from maskline.model.heads import PretrainingModel
from maskline.sentences.splitter import split_sentences
from maskline.settings.params import PARAMS, load
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model

SUBJECT = "embedding inference"
SENTENCES = 2_000
BATCH = 32
PEER = f"transformers, batch {BATCH}"
TARGET = 2.0
TOLERANCE = 1e-5


def rows() -> list[Row]:
    """Measure mean embeddings of sentences of the validation split, with a model of the default size."""
    torch.set_num_threads(cores())
    data, cpu = reference_data(), torch.device("cpu")
    with tempfile.TemporaryDirectory() as folder:
        directory = new_model(data, Path(folder) / "model")
        encoder, tokenizer = load_pretraining_model(directory).encoder, load_tokenizer(directory)
        peer = Plain(directory)
    texts = sentences(data, SENTENCES)
    difference = np.abs(embed(encoder, tokenizer, texts, cpu).vectors - peer.embed(texts)).max()
    if difference > TOLERANCE:
        raise RuntimeError(f"vectors differ from those of transformers by {difference:.1e}")

    def ours() -> float:
        return float(len(embed(encoder, tokenizer, texts, cpu).vectors))

    def theirs() -> float:
        return float(len(peer.embed(texts)))

    series = interleaved({"ours": ours, PEER: theirs}, "texts")
    note = f"{len(texts):,} sentences as they come, from text to vector; the largest difference is {difference:.0e}"
    return [against(SUBJECT, series["ours"], series[PEER], TARGET, note=note)]


def new_model(data: Path, directory: Path, **size: int) -> Path:
    """Export an untrained model of params.yaml, or of another `size`; a trained one takes the same time."""
    params = load(PARAMS).model.model_copy(update=size)
    model = PretrainingModel(params, load_tokenizer(data / "tokenizer").vocab_size)
    model.reset(torch.Generator().manual_seed(0))
    files = files_for_model(data / "tokenizer", params.max_positions)
    export(directory, model, "BertForPreTraining", TokenizerFiles(*files), "", {})
    return directory


def sentences(data: Path, number: int) -> list[str]:
    """Return `number` sentences of the validation split, of all lengths, in the order of the articles."""
    language = load(PARAMS).corpus.language
    found: list[str] = []
    for article in read_articles(data / "corpus", "validation"):
        found += split_sentences(article.text, language)
        if len(found) >= number:
            return found[:number]
    raise RuntimeError(f"the validation split has {len(found)} sentences, fewer than {number}")


class Plain:
    """The usual loop with `transformers`: batches in the order of the texts, each padded to its longest text."""

    def __init__(self, directory: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.model: Any = AutoModel.from_pretrained(directory).eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(directory)

    @torch.no_grad()
    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the means of the last layer over the real tokens, (N, D)."""
        means = []
        for at in range(0, len(texts), BATCH):
            inputs = self.tokenizer(texts[at : at + BATCH], padding=True, truncation=True, return_tensors="pt")
            real = inputs["attention_mask"][:, :, None]
            x = self.model(**inputs).last_hidden_state
            means.append((x * real).sum(1) / real.sum(1))
        vectors: NDArray[np.float32] = torch.cat(means).numpy()
        return vectors

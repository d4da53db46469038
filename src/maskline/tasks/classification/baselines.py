"""What a classifier is read against. Each rule learns from what the model learns from, and is scored as it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from maskline.dataset.read import Columns
from maskline.examples.batches import by_length
from maskline.finetuning.probe import fit_probe, some
from maskline.finetuning.task import Pretrained
from maskline.model.architecture import Encoder
from maskline.model.directory import load_encoder
from maskline.model.inputs import layout_of, move
from maskline.model.modes import evaluating
from maskline.tasks.classification.model import mean
from maskline.tokenization.texts import EncodedTexts, encode_texts

Units = Literal["words", "characters"]

WORDS_AND_SIGNS = r"\w+|[^\w\s]"
"""Each punctuation mark is a word of its own: it carries tone, and no text is without a word."""
VECTORIZERS: dict[Units, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": WORDS_AND_SIGNS},
    "characters": {"ngram_range": (2, 5), "analyzer": "char_wb", "max_features": 100_000},
}
"""Words and pairs of words; runs of 2 to 5 characters of a word, the most frequent ones, for spellings and endings that
words alone miss."""
Score = Callable[[Any, Any], float]
INVERSE_PENALTIES = (3.0, 10.0, 30.0, 100.0)
PROBED = {"train": 4096, "validation": 1024}
"""Examples of a split at most, evenly spaced, that the probe reads."""
BATCH_TOKENS = 4096
POOLED = {"mean": "the mean of all tokens", "cls": "[CLS]"}


def majority_accuracy(training: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """Return the accuracy of naming the most frequent label of training; of several, the first."""
    return float((test == np.bincount(training).argmax()).mean())


@dataclass(frozen=True)
class Tfidf:
    """What logistic regression on TF-IDF says of the test split."""

    units: Units
    """What was weighed."""
    predicted: NDArray[Any]
    """(N,) labels."""


def tfidf_predictions(training: Columns, validation: Columns, test: Columns, *, balanced: bool, score: Score) -> Tfidf:
    """Return the labels of `test` by logistic regression on TF-IDF weights, of words or of characters.

    Args:
        training: `text`, `label` and, of pairs, `second`. Where all have one label, that is what is returned.
        validation: Units and penalty are those that serve it best; of several, words and the strongest.
        test: As the others; its labels are not read.
        balanced: Whether classes weigh by the inverse of their frequency, as they do for the network.
        score: What tells how good predictions are, labels first: that which chooses the network's weights.
    """
    if len(set(training["label"])) == 1:  # as few labels may be: regression needs two classes
        return Tfidf("words", np.repeat(training["label"][:1], len(test["text"])))
    weights = "balanced" if balanced else None
    best, found = -np.inf, None
    for units, options in VECTORIZERS.items():
        vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
        x = _features(vectorizer.fit_transform, training)
        x_validation, x_test = (_features(vectorizer.transform, split) for split in (validation, test))
        for penalty in INVERSE_PENALTIES:
            model = LogisticRegression(C=penalty, max_iter=1000, class_weight=weights).fit(x, training["label"])
            if (value := score(validation["label"], model.predict(x_validation))) > best:
                best, found = value, Tfidf(units, model.predict(x_test))
    assert found is not None
    return found


def _features(weigh: Callable[[list[str]], csr_matrix], examples: Columns) -> csr_matrix:
    """Return the weights of each example: of a pair those of either text, and their products, of what both have."""
    weights = weigh(examples["text"] + examples.get("second", []))
    if "second" not in examples:
        return weights
    pairs = len(examples["text"])
    first, second = weights[:pairs], weights[pairs:]
    return hstack([first, second, first.multiply(second)], format="csr")


@dataclass(frozen=True)
class Probed:
    """What logistic regression on the vectors of a frozen encoder says of the test split."""

    vectors: str
    """Which were read."""
    predicted: NDArray[Any]
    """(N,) labels."""


def probe_predictions(
    splits: Mapping[str, Columns],
    pretrained: Pretrained,
    max_seq_length: int | None,
    classes: int,
    *,
    balanced: bool,
    score: Score,
) -> Probed:
    """Return the labels of the test split by regression on vectors of the encoder as it was pretrained.

    Args:
        splits: as for TF-IDF, of train and validation not more than `PROBED` says.
        pretrained: the encoder.
        max_seq_length: tokens of a text or pair at most; None: as many as the encoder reads.
        classes: how many there are.
        balanced: as for TF-IDF.
        score: as for TF-IDF; it chooses the penalty, and the mean or [CLS].
    """
    encoder = load_encoder(pretrained.directory, pretrained.stage).to(pretrained.device)
    longest = max_seq_length or encoder.params.max_positions
    vectors, labels = {}, {}
    for split in ("train", "validation", "test"):
        columns = splits[split]
        rows = some(len(columns["text"]), PROBED.get(split, len(columns["text"])))
        chosen = {name: [columns[name][row] for row in rows] for name in columns if name in {"text", "second", "label"}}
        texts = encode_texts(chosen["text"], pretrained.tokenizer, longest, chosen.get("second"))
        vectors[split] = _pooled(encoder, texts, pretrained.device)
        labels[split] = np.array(chosen["label"], np.int64)
    probe = fit_probe(
        vectors["train"],
        labels["train"],
        vectors["validation"],
        lambda scores: score(labels["validation"], scores.argmax(1)),
        classes,
        balanced=balanced,
    )
    if probe is None:
        return Probed(POOLED["mean"], np.repeat(labels["train"][:1], len(labels["test"])))
    found = probe.log_probabilities(vectors["test"][probe.vectors], classes)
    return Probed(POOLED[probe.vectors], found.argmax(1))


@torch.no_grad()
def _pooled(encoder: Encoder, texts: EncodedTexts, device: torch.device) -> dict[str, NDArray[np.float32]]:
    """Return the mean of the last layer over each text, and what it has at [CLS], (len(texts), D) each."""
    found = {name: np.zeros((len(texts), encoder.params.hidden), np.float32) for name in POOLED}
    with evaluating(encoder):
        for rows in by_length(texts.sizes, BATCH_TOKENS):
            batch = texts.packed(rows)
            layout = layout_of(batch.lengths, device)
            x = encoder(move(batch.input_ids, device), move(batch.token_type_ids, device), layout).float()
            found["mean"][rows] = mean(x, layout).cpu().numpy()
            found["cls"][rows] = x.index_select(0, layout.starts).cpu().numpy()
    return found

"""What a score is read against: the simplest rules that could have earned it.

Each learns from what the model learns from, and is scored on the very examples that the model is scored on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.order import Order
from maskline.examples.pairs import IS_NEXT, RANDOM, PairSource
from maskline.examples.premasked import PremaskedSet
from maskline.shards.store import TokenShards
from maskline.tokenization.load import SpecialIds

TRAINING_PAIRS = 10_000
"""Examples that the rules for sentence pairs are fitted on: their few numbers need no more."""


def unigram(counts: NDArray[np.int64], labels: NDArray[np.int64], special: SpecialIds) -> tuple[float, float]:
    """Return the loss and the accuracy of guessing masked tokens by their frequency alone.

    Every ordinary token counts once more than it occurs. Special tokens have no share: masking never picks them.

    Args:
        counts: (V,) how often each token occurs in the training split.
        labels: (M,) the masked tokens.
        special: Those without a share.

    Returns:
        The mean loss in nats, and the share of the most frequent token; of several, the one with the lowest id.
    """
    smoothed = counts + 1.0
    smoothed[list(special)] = 0.0
    loss = np.log(smoothed.sum()) - np.log(smoothed[labels]).mean()
    return float(loss), float((labels == smoothed.argmax()).mean())


@dataclass(frozen=True)
class Pairs:
    """N labelled sentence pairs as they were before masking."""

    segments: list[tuple[NDArray[Any], NDArray[Any]]]
    """The tokens of A and of B."""
    labels: NDArray[np.int64]
    """(N,) 0 = is next, 1 = random."""

    def overlaps(self) -> NDArray[np.float64]:
        """Return how much of their vocabulary A and B share, (N,): the Jaccard similarity of their sets of tokens."""
        sets = [(set(a.tolist()), set(b.tolist())) for a, b in self.segments]
        return np.array([len(a & b) / len(a | b) for a, b in sets])

    def lengths(self) -> NDArray[np.int64]:
        """Return the tokens of A, of B, and of both, (N, 3)."""
        return np.array([(len(a), len(b), len(a) + len(b)) for a, b in self.segments])


def training_pairs(shards: TokenShards, max_seq_length: int) -> Pairs:
    """Return pairs from all over the training split, drawn as those of the validation set are; always the same ones."""
    source = PairSource(shards, max_seq_length, nsp=True)
    size = min(TRAINING_PAIRS, len(source))
    order = Order(source.lengths, size, seed=0, last=source.without_pair)
    places = np.arange(size) * len(source) // size
    segments = source.segments_at(order, 0, places, places % 2 == 1)
    segments = segments[np.flatnonzero(segments.next_sentence_label != IGNORE_INDEX)]
    tokens = source.tokens_of(segments.starts.ravel(), segments.lengths.ravel())
    return Pairs(list(zip(tokens[::2], tokens[1::2], strict=True)), segments.next_sentence_label)


def validation_pairs(validation: PremaskedSet) -> Pairs:
    """Return the labelled pairs of the validation set."""
    rows = np.flatnonzero(validation.next_sentence_label != IGNORE_INDEX)
    segments = []
    for row in rows.tolist():
        ids, second = validation.original(row), validation.token_type_ids[row].astype(bool)
        segments.append((ids[~second][1:-1], ids[second][:-1]))  # without [CLS] and [SEP]
    return Pairs(segments, validation.next_sentence_label[rows])


def pair_baselines(training: Pairs, validation: Pairs) -> dict[str, float | None]:
    """Return the accuracy of telling true pairs by shared tokens and by lengths; None where there are no pairs."""
    if not len(training.labels) or not len(validation.labels):
        return {"overlap_accuracy": None, "length_accuracy": None}
    threshold = best_threshold(training.overlaps(), training.labels == IS_NEXT)
    by_overlap = np.where(validation.overlaps() >= threshold, IS_NEXT, RANDOM)
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=50, random_state=0)
    by_length = tree.fit(training.lengths(), training.labels).predict(validation.lengths())
    return {
        "overlap_accuracy": float(accuracy_score(validation.labels, by_overlap)),
        "length_accuracy": float(accuracy_score(validation.labels, by_length)),
    }


def best_threshold(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Return the t for which `score >= t` agrees most often with `positive`, both (N,); of several, the lowest."""
    candidates = np.append(np.unique(scores), np.inf)
    missed = np.searchsorted(np.sort(scores[positive]), candidates)
    rejected = np.searchsorted(np.sort(scores[~positive]), candidates)
    return float(candidates[(rejected - missed).argmax()])

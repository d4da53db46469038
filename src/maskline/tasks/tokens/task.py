"""Token classification, trained and scored: the first piece of a word has its tag; the F1 of whole entities decides."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from maskline.core.scores import FigureSpec
from maskline.dataset.read import Columns, Dataset
from maskline.examples.batches import by_length
from maskline.finetuning.settings import FinetuneParams
from maskline.finetuning.task import Baseline, Case, Details, Metrics, Pretrained, Table, label_config
from maskline.model.heads import EncoderModel
from maskline.model.inputs import layout_of, move
from maskline.model.modes import evaluating
from maskline.model.settings import ModelParams
from maskline.tasks.tokens.entities import Entity, Matches, entities
from maskline.tasks.tokens.examples import TAGS, WORDS
from maskline.tasks.tokens.model import TokenModel
from maskline.tokenization.load import LoadedTokenizer

BATCH_TOKENS = 4096
"""What is predicted at once, unless one example alone is longer."""
RESAMPLES = 1000
"""Test sets that the bootstrap draws (Efron & Tibshirani 1993, ch. 13), always the same ones."""
OUTSIDE = 0
"""The tag O, which a word has that the model does not read."""


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences as token ids, [CLS] words [SEP], and the tags of their words."""

    input_ids: list[NDArray[np.int64]]
    places: list[NDArray[np.int64]]
    """Where the first piece of each word stands that the model reads."""
    words: list[NDArray[np.int64]]
    """Which word of the sentence it begins."""
    tags: list[NDArray[np.int64]]
    """Of all words, as the file has them, also of those that were cut."""
    cut: int
    unk_rate: float

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each sentence."""
        return np.array([len(ids) for ids in self.input_ids], np.int64)


@dataclass(frozen=True)
class TaggedBatch:
    """B sentences one after the other, N tokens in all, M of them tagged."""

    input_ids: NDArray[np.int64]
    """(N,)"""
    lengths: NDArray[np.int64]
    """(B,)"""
    positions: NDArray[np.int64]
    """(M,) which of the N tokens are tagged."""
    tags: NDArray[np.int64]
    """(M,)"""


@dataclass(frozen=True)
class Predictions:
    """Tags of all words, and the loss on the words that the model reads."""

    tags: list[NDArray[np.int64]]
    loss: float
    """Summed, in nats."""
    targets: int


class Tokens:
    """A tag for each word."""

    architecture = "BertForTokenClassification"
    metrics: Mapping[str, str] = {  # of a protocol
        "f1": "entity F1",
        "precision": "entity precision",
        "recall": "entity recall",
    }
    criterion = "f1"

    def __init__(self, labels: list[str]) -> None:
        """Tell `labels` apart: O, B-X and I-X."""
        self.labels = labels
        self.types = [label.removeprefix("B-") for label in labels if label.startswith("B-")]

    @property
    def summary(self) -> str:
        """Return what the model does."""
        return f"Tags the words of a sentence as {', '.join(self.labels)}, each at its first piece"

    def config(self) -> dict[str, Any]:
        """Return the tags."""
        return label_config(self.labels)

    def new_model(self, params: ModelParams, vocab_size: int, dropout: float) -> TokenModel:
        """Return the network."""
        return TokenModel(params, vocab_size, len(self.labels), dropout)

    def encode(self, examples: Columns, tokenizer: LoadedTokenizer, max_seq_length: int) -> TaggedSentences:
        """Return sentences cut at their end; the tags of words that were cut stay."""
        special, longest = tokenizer.special, max_seq_length - 2
        encodings = tokenizer.plain.encode_batch(examples[WORDS], is_pretokenized=True, add_special_tokens=False)
        read = [encoding.ids[:longest] for encoding in encodings]
        unknown = sum(ids.count(special.unk) for ids in read)
        places, words = [], []
        for encoding, ids in zip(encodings, read, strict=True):
            of_token = np.array(encoding.word_ids[: len(ids)], np.int64)
            first = np.flatnonzero(np.diff(of_token, prepend=-1))
            places.append(first + 1)  # after [CLS]
            words.append(of_token[first])
        return TaggedSentences(
            input_ids=[np.array([special.cls, *ids, special.sep], np.int64) for ids in read],
            places=places,
            words=words,
            tags=[np.array(tags, np.int64) for tags in examples[TAGS]],
            cut=sum(len(encoding.ids) > longest for encoding in encodings),
            unk_rate=unknown / max(1, sum(map(len, read))),
        )

    def batch(self, encoded: TaggedSentences, rows: NDArray[np.int64]) -> TaggedBatch:
        """Return some sentences."""
        ids = [encoded.input_ids[row] for row in rows]
        lengths = np.array([len(part) for part in ids])
        starts = np.cumsum(lengths) - lengths
        return TaggedBatch(
            np.concatenate(ids),
            lengths,
            np.concatenate([start + encoded.places[row] for start, row in zip(starts, rows, strict=True)]),
            np.concatenate([encoded.tags[row][encoded.words[row]] for row in rows]),
        )

    def targets(self, batch: TaggedBatch) -> dict[str, float]:
        """Return the words and the tokens."""
        return {"loss": len(batch.tags), "tokens": len(batch.input_ids)}

    def loss(self, model: EncoderModel, batch: TaggedBatch, device: torch.device) -> Tensor:
        """Return the summed cross-entropy."""
        tags = move(batch.tags, device)
        return F.cross_entropy(_logits(model, batch, device).float(), tags, reduction="sum")

    @torch.no_grad()
    def predict(self, model: EncoderModel, encoded: TaggedSentences, device: torch.device) -> Predictions:
        """Return the most probable tag of each word."""
        tags = [np.full(len(gold), OUTSIDE, np.int64) for gold in encoded.tags]
        loss, targets = 0.0, 0
        with evaluating(model):
            for rows in by_length(encoded.sizes, BATCH_TOKENS):
                batch = self.batch(encoded, rows)
                logits = _logits(model, batch, device).float()
                loss += F.cross_entropy(logits, move(batch.tags, device), reduction="sum").item()
                targets += len(batch.tags)
                ends = np.cumsum([len(encoded.words[row]) for row in rows])
                for row, best in zip(rows, np.split(logits.argmax(1).cpu().numpy(), ends[:-1]), strict=True):
                    tags[row][encoded.words[row]] = best
        return Predictions(tags, loss, targets)

    def scores(self, encoded: TaggedSentences, predictions: Predictions) -> Metrics:
        """Return the loss for each word that was read, and precision, recall and F1 of all entities."""
        matches = self._matches(encoded.tags, predictions.tags)
        return {"loss": predictions.loss / max(1, predictions.targets), **matches.scores(self.types)}

    def baselines(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:  # noqa: ARG002  # of a protocol
        """Return the most frequent tag of each word."""
        test = dataset.splits["test"]
        predicted = most_frequent_tags(dataset.splits["train"], test[WORDS])
        scores = self._matches(test[TAGS], predicted).scores(self.types)
        return [Baseline("frequent", "most frequent tag of each word", scores)]

    def details(self, examples: Columns, encoded: TaggedSentences, predictions: Predictions) -> Details:
        """Return the scores of each type of entity."""
        matches = self._matches(encoded.tags, predictions.tags)
        rows = [{"type": name, **matches.scores([name]), "support": matches.gold[name]} for name in self.types]
        counts = [
            [sum(counter.values()) for counter in (one.correct, one.predicted, one.gold)]
            for one in (
                self._matches([gold], [tags]) for gold, tags in zip(encoded.tags, predictions.tags, strict=True)
            )
        ]
        warnings = [] if matches.predicted else ["no entity was predicted: every score is 0"]
        return Details(
            {"types.csv": Table(("type", "precision", "recall", "f1", "support"), rows)},
            [FigureSpec("types", "bars", "types.csv", "entity F1 by type", x="F1 (test split)", y="type", value="f1")],
            _intervals(np.array(counts)),
            warnings,
            [
                self._case(words, gold, tags)
                for words, gold, tags in zip(examples[WORDS], encoded.tags, predictions.tags, strict=True)
            ],
        )

    def _case(self, words: list[str], gold: Iterable[int], predicted: Iterable[int]) -> Case:
        """Return how a sentence came out: its entities as first word, last word and type."""
        there, found = set(entities(self._names(gold))), set(entities(self._names(predicted)))
        return Case(_spelled(there), _spelled(found), None, float(len(there ^ found)), " ".join(words))

    def _matches(self, gold: Sequence[Iterable[int]], predicted: Sequence[Iterable[int]]) -> Matches:
        return Matches((self._names(one), self._names(other)) for one, other in zip(gold, predicted, strict=True))

    def _names(self, tags: Iterable[int]) -> list[str]:
        return [self.labels[tag] for tag in tags]


def make_task(recipe: FinetuneParams, manifest: Mapping[str, Any]) -> Tokens:  # noqa: ARG001  # nothing in it is of this kind
    """Return the task whose tags `manifest` lists."""
    return Tokens(manifest["labels"])


def most_frequent_tags(training: Columns, test: list[list[str]]) -> list[list[int]]:
    """Return for each word of `test` the tag that it has most often in training; O for a word that is new.

    Of several tags that are as frequent, the first in the order of tags.
    """
    counts: dict[str, Counter[int]] = {}
    for words, tags in zip(training[WORDS], training[TAGS], strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts.setdefault(word, Counter())[tag] += 1
    best = {word: min(count, key=lambda tag: (-count[tag], tag)) for word, count in counts.items()}
    return [[best.get(word, OUTSIDE) for word in words] for words in test]


def _intervals(counts: NDArray[np.int64]) -> dict[str, tuple[float, float]]:
    """Return the confidence intervals of F1, precision and recall by drawing sentences again and again.

    `counts` are the entities found rightly, found, and there, of each sentence: (N, 3).
    """
    times = np.random.default_rng(0).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=RESAMPLES)
    correct, predicted, gold = (times @ counts).T
    scores = {
        "f1": 2 * correct / np.maximum(1, predicted + gold),
        "precision": correct / np.maximum(1, predicted),
        "recall": correct / np.maximum(1, gold),
    }
    return {name: (float(np.quantile(x, 0.025)), float(np.quantile(x, 0.975))) for name, x in scores.items()}


def _spelled(found: Iterable[Entity]) -> str:
    return " ".join(f"{entity.start}-{entity.end - 1}:{entity.type}" for entity in sorted(found)) or "none"


def _logits(model: EncoderModel, batch: TaggedBatch, device: torch.device) -> Tensor:
    """Return the scores of the tags, (M, C)."""
    input_ids, positions = move(batch.input_ids, device), move(batch.positions, device)
    logits: Tensor = model(input_ids, layout_of(batch.lengths, device), positions)
    return logits

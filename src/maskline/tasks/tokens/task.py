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
from maskline.finetuning.bootstrap import bounds, drawn
from maskline.finetuning.scorer import TorchScorer
from maskline.finetuning.settings import FinetuneParams
from maskline.finetuning.task import Baseline, Case, Details, Metrics, Pretrained, Table, label_config
from maskline.model.heads import EncoderModel
from maskline.model.inputs import move
from maskline.model.settings import ModelParams
from maskline.tasks.tokens.entities import Entity, entities
from maskline.tasks.tokens.examples import TAGS, WORDS
from maskline.tasks.tokens.matches import Matches
from maskline.tasks.tokens.model import TokenModel, log_probabilities, logits_of
from maskline.tasks.tokens.probe import probe_tags
from maskline.tasks.tokens.tagging import Scorer, WordBatch, batch_of, best_tags, word_scores
from maskline.tasks.tokens.windows import Windows, read_words
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences as the model reads them, and the tags of their words."""

    windows: Windows
    tags: NDArray[np.int64]
    """(W,) of the words of all sentences, as the file has them."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Tokens of each sequence."""
        return self.windows.sizes

    @property
    def texts(self) -> EncodedTexts:
        """The sequences."""
        return EncodedTexts(self.windows.input_ids, self.cut, self.unk_rate)

    @property
    def cut(self) -> int:
        """How many sentences have a word of which the model reads the beginning alone; nothing else is cut."""
        return self.windows.cut

    @property
    def unk_rate(self) -> float:
        """Share of [UNK]."""
        return self.windows.unk_rate

    def by_sentence(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return `values`, one for each word, sentence by sentence."""
        return np.split(values, self.windows.ends[:-1]) if len(self.windows.ends) else []


@dataclass(frozen=True)
class TaggedBatch:
    """A batch with the tags of its words."""

    words: WordBatch
    tags: NDArray[np.int64]
    """(M,)"""


@dataclass(frozen=True)
class Predictions:
    """Tags of all words, and the loss on those that have a piece."""

    tags: NDArray[np.int64]
    """(W,)"""
    probabilities: NDArray[np.float32]
    """(W,) of these tags; 1 where a word has no piece, and is O."""
    loss: float
    """Summed, in nats."""
    targets: int


class Tokens:
    """A tag for each word."""

    metrics: Mapping[str, str] = {  # of a protocol
        "f1": "entity F1",
        "precision": "entity precision",
        "recall": "entity recall",
        "exact_f1": "entity F1, of any type",
        "partial_f1": "entity F1, of any type, in part",
    }
    criterion = "f1"

    def __init__(self, labels: list[str], notes: Sequence[str] = (), max_seq_length: int = 128) -> None:
        """Tell `labels` apart: O, B-X and I-X; `notes` are what a reader of the scores has to know of the examples.

        `max_seq_length` is what the probe reads at once.
        """
        self.max_seq_length = max_seq_length
        self.labels = labels
        self.notes = notes
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
        """Return sentences, in windows where they are longer; each word is learned and judged in one of them."""
        tags = np.array([tag for tags in examples[TAGS] for tag in tags], np.int64)
        return TaggedSentences(read_words(examples[WORDS], tokenizer, max_seq_length), tags)

    def batch(self, encoded: TaggedSentences, rows: NDArray[np.int64]) -> TaggedBatch:
        """Return some sequences."""
        words = batch_of(encoded.windows, rows)
        return TaggedBatch(words, encoded.tags[words.words])

    def targets(self, batch: TaggedBatch) -> dict[str, float]:
        """Return the words and the tokens."""
        return {"loss": len(batch.tags), "tokens": len(batch.words.input_ids)}

    def loss(self, model: EncoderModel, batch: TaggedBatch, device: torch.device) -> Tensor:
        """Return the summed cross-entropy."""
        tags = move(batch.tags, device)
        return F.cross_entropy(logits_of(model, batch.words, device).float(), tags, reduction="sum")

    def predict(self, model: EncoderModel, encoded: TaggedSentences, device: torch.device) -> Predictions:
        """Return the most probable tags of each sentence that are IOB2: no I-X without a B-X or I-X before it."""
        return self.predict_by(TorchScorer(model, device, log_probabilities), encoded)

    def predict_by(self, score: Scorer, encoded: TaggedSentences) -> Predictions:
        """Return the same, whatever computes a batch."""
        scores = word_scores(score, encoded.windows, self.labels)
        tags = best_tags(scores, encoded.windows.ends, self.labels)
        read = np.concatenate([*encoded.windows.words, np.empty(0, np.int64)])
        everywhere = np.arange(len(tags))
        return Predictions(
            tags,
            np.exp(scores[everywhere, tags]),
            -float(scores[read, encoded.tags[read]].sum(dtype=np.float64)),
            len(read),
        )

    def scores(self, encoded: TaggedSentences, predictions: Predictions) -> Metrics:
        """Return the loss for each word that was read, precision, recall and F1 of all entities, and looser F1."""
        matches = self._matches(encoded.by_sentence(encoded.tags), encoded.by_sentence(predictions.tags))
        loss = predictions.loss / max(1, predictions.targets)
        return {"loss": loss, **matches.scores(self.types), **matches.lenient_scores()}

    def baselines(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:  # noqa: ARG002  # of a protocol
        """Return the most frequent tag of each word."""
        test = dataset.splits["test"]
        predicted = most_frequent_tags(dataset.splits["train"], test[WORDS])
        matches = self._matches(test[TAGS], predicted)
        scores = {**matches.scores(self.types), **matches.lenient_scores()}
        return [Baseline("frequent", "most frequent tag of each word", scores)]

    def probe(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:
        """Return logistic regression on what the frozen encoder says of the first piece of each word."""
        encoded = {
            split: self.encode(dataset.splits[split], pretrained.tokenizer, self.max_seq_length)
            for split in ("train", "validation", "test")
        }

        def scored(split: str, tags: NDArray[np.int64]) -> Metrics:
            part = encoded[split]
            matches = self._matches(part.by_sentence(part.tags), part.by_sentence(tags))
            return {**matches.scores(self.types), **matches.lenient_scores()}

        found = probe_tags(
            {split: part.windows for split, part in encoded.items()},
            {split: part.tags for split, part in encoded.items()},
            self.labels,
            pretrained,
            lambda tags: scored("validation", tags)[self.criterion],
        )
        return [Baseline("probe", "frozen encoder, regression on words", scored("test", found))]

    def details(self, examples: Columns, encoded: TaggedSentences, predictions: Predictions) -> Details:
        """Return the scores of each type of entity."""
        gold, found = encoded.by_sentence(encoded.tags), encoded.by_sentence(predictions.tags)
        probabilities = encoded.by_sentence(predictions.probabilities)
        matches = self._matches(gold, found)
        rows = [{"type": name, **matches.scores([name]), "support": matches.gold[name]} for name in self.types]
        counts = [
            [sum(counter.values()) for counter in (one.correct, one.predicted, one.gold)]
            for one in (self._matches([true], [tags]) for true, tags in zip(gold, found, strict=True))
        ]
        warnings = list(self.notes)
        if not matches.predicted:
            warnings.append("no entity was predicted: every score is 0")
        return Details(
            {"types.csv": Table(("type", "precision", "recall", "f1", "support"), rows)},
            [FigureSpec("types", "bars", "types.csv", "entity F1 by type", x="F1 (test split)", y="type", value="f1")],
            _intervals(np.array(counts)),
            warnings,
            [self._case(*parts) for parts in zip(examples[WORDS], gold, found, probabilities, strict=True)],
        )

    def _case(
        self, words: list[str], gold: Iterable[int], predicted: Iterable[int], probabilities: NDArray[np.float32]
    ) -> Case:
        """Return how a sentence came out: its entities as first word, last word and type.

        It is as probable as the least probable tag of what was found, and where that is nothing, of all its words.
        """
        there, found = entities(self._names(gold)), entities(self._names(predicted))
        spans = [probabilities[entity.start : entity.end] for entity in found] or [probabilities]
        sure = min((float(span.min()) for span in spans if len(span)), default=None)
        return Case(_spelled(there), _spelled(found), sure, float(len({*there} ^ {*found})), " ".join(words))

    def _matches(self, gold: Sequence[Iterable[int]], predicted: Sequence[Iterable[int]]) -> Matches:
        return Matches((self._names(one), self._names(other)) for one, other in zip(gold, predicted, strict=True))

    def _names(self, tags: Iterable[int]) -> list[str]:
        return [self.labels[tag] for tag in tags]


def make_task(recipe: FinetuneParams, manifest: Mapping[str, Any]) -> Tokens:
    """Return the task whose tags `manifest` lists."""
    return Tokens(manifest["labels"], _notes(manifest), recipe.max_seq_length)


def _notes(manifest: Mapping[str, Any]) -> list[str]:
    """Return what is odd in the examples: tags that break their scheme, types without a training example."""
    notes = []
    if broken := sum(manifest.get("off_scheme_tags", {}).values()):
        notes.append(
            f"{broken:,} tags are not as the scheme {manifest['scheme']} has them (the first: "
            f"{manifest['first_off_scheme']}); each was read as what it continues or begins"
        )
    counts = manifest["splits"]["train"]["labels"] if "splits" in manifest else {}
    unseen = [tag.removeprefix("B-") for tag, count in counts.items() if tag.startswith("B-") and not count]
    if unseen:
        notes.append(f"no training example has an entity of type {', '.join(unseen)}: none can be found")
    return notes


def most_frequent_tags(training: Columns, test: list[list[str]]) -> list[list[int]]:
    """Return for each word of `test` the tag that it has most often in training; O for a word that is new.

    Of several tags that are as frequent, the first in the order of tags.
    """
    counts: dict[str, Counter[int]] = {}
    for words, tags in zip(training[WORDS], training[TAGS], strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts.setdefault(word, Counter())[tag] += 1
    best = {word: min(count, key=lambda tag: (-count[tag], tag)) for word, count in counts.items()}
    return [[best.get(word, 0) for word in words] for words in test]  # O is the first tag


def _intervals(counts: NDArray[np.int64]) -> dict[str, tuple[float, float]]:
    """Return the confidence intervals of F1, precision and recall by drawing sentences again and again.

    `counts` are the entities found rightly, found, and there, of each sentence: (N, 3).
    """
    correct, predicted, gold = (drawn(len(counts)) @ counts).T
    scores = {
        "f1": 2 * correct / np.maximum(1, predicted + gold),
        "precision": correct / np.maximum(1, predicted),
        "recall": correct / np.maximum(1, gold),
    }
    return {name: bounds(values) for name, values in scores.items()}


def _spelled(found: Iterable[Entity]) -> str:
    return " ".join(f"{entity.start}-{entity.end - 1}:{entity.type}" for entity in found) or "none"

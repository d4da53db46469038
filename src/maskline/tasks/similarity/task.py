"""Similarity of texts, trained and scored: mean-pooled vectors, whose cosines are held against scores.

Where pairs have scores, Spearman's correlation decides. Where they have none, each first text looks for its second
among all second texts of the split, and the mean reciprocal rank decides; it falls as a split grows.

The contrastive loss goes both ways: the first text finds the second, and the second the first, each way half of it.
Negatives are offered on the first way alone. Texts are compared as the model reads them: what belongs to a text through
another pair of the batch is no wrong answer, and no text is offered twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.core.errors import UserError
from maskline.core.scores import FigureSpec, wilson
from maskline.dataset.read import Columns, Dataset
from maskline.finetuning.scorer import TorchScorer
from maskline.finetuning.task import Baseline, Case, Details, Metrics, Pretrained, Table
from maskline.model.directory import load_encoder
from maskline.model.heads import EncoderModel
from maskline.model.inputs import move
from maskline.model.settings import ModelParams
from maskline.tasks.similarity.baselines import embedding_vectors, tfidf_vectors
from maskline.tasks.similarity.examples import FIRST, NEGATIVE, SCORE, SECOND, band_of, bands
from maskline.tasks.similarity.measures import (
    Numbers,
    Vectors,
    answer_ranks,
    correlation_intervals,
    correlations,
    cosines,
    mrr_interval,
    ranks,
    retrieval,
)
from maskline.tasks.similarity.model import SimilarityModel, contrastive_loss, unit_vectors
from maskline.tasks.similarity.pairs import Answers, EncodedPairs, Scorer, all_vectors, encode_pairs, offered
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts, Packed

if TYPE_CHECKING:
    from maskline.tasks.similarity.settings import SimilarityRecipe

COMPARED = 64
"""Pairs that the contrastive loss of a split compares with one another, whatever the batches of training."""
TOLERANCE = 0.1
"""How far the rank of a pair's cosine may be from that of its score, as a share of the split, to pass for right."""
SCORED = {"spearman": "Spearman", "pearson": "Pearson"}
FOUND = {"mrr": "mean reciprocal rank", "accuracy_at_1": "accuracy@1"}


@dataclass(frozen=True)
class LabelledPairs:
    """Encoded pairs with their scores."""

    pairs: EncodedPairs
    scores: Numbers | None
    """(P,) as the file has them; None: the texts of each pair belong together."""
    trained: NDArray[np.int64]
    """The pairs that the objective trains on."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the tokens of each pair that the objective trains on."""
        return self.pairs.lengths[self.trained]

    @property
    def texts(self) -> EncodedTexts:
        """The texts, each once."""
        return self.pairs.texts

    @property
    def cut(self) -> int:
        """How many pairs were cut."""
        return self.pairs.cut

    @property
    def unk_rate(self) -> float:
        """Share of [UNK]."""
        return self.pairs.texts.unk_rate


@dataclass(frozen=True)
class PairBatch:
    """B pairs, each text of them once: T texts."""

    texts: Packed
    questions: NDArray[np.int64]
    """(B,) numbers of the first texts."""
    answers: NDArray[np.int64]
    """(B,) numbers of the second texts."""
    targets: NDArray[np.float32] | None
    """(B,) the cosines that the scores stand for; None: there are no scores."""
    among: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None
    """(B, T) each, what a contrastive objective compares on either way; None for another."""


class Similarity:
    """Two texts, a number that says how alike they are."""

    def __init__(self, recipe: "SimilarityRecipe", score_range: Sequence[float] | None) -> None:
        """Train by `recipe`; scores are in `score_range`, and there are none with None."""
        self.recipe = recipe
        self.score_range = score_range
        self.contrastive = recipe.objective == "contrastive"

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return correlations, or how well texts are found where there are no scores."""
        return FOUND if self.score_range is None else SCORED

    @property
    def criterion(self) -> str:
        """Return the first of them."""
        return next(iter(self.metrics))

    @property
    def summary(self) -> str:
        """Return what the model does."""
        return (
            "Gives a text a vector, the mean over its tokens; the cosine of two says how alike their texts are "
            "(`SentenceTransformer` of sentence-transformers loads it too)"
        )

    def config(self) -> dict[str, Any]:
        """Return under a key of our own what the model is for: there is no head to tell it."""
        return {"maskline": {"kind": "similarity"}}

    def new_model(self, params: ModelParams, vocab_size: int, dropout: float) -> SimilarityModel:  # noqa: ARG002  # there is no head
        """Return the network."""
        return SimilarityModel(params, vocab_size)

    def encode(self, examples: Columns, tokenizer: LoadedTokenizer, max_seq_length: int) -> LabelledPairs:
        """Return pairs of texts cut at their end, each text alone.

        Raises:
            UserError: none of the pairs has a score that makes it one to train on.
        """
        columns = [examples[name] for name in (FIRST, SECOND, NEGATIVE) if name in examples]
        pairs = encode_pairs(columns, tokenizer, max_seq_length)
        if self.score_range is None:
            return LabelledPairs(pairs, None, np.arange(len(pairs.rows)))
        scores = np.array(examples[SCORE], np.float64)
        lowest = self.recipe.positive_from if self.contrastive else None
        trained = np.flatnonzero(scores >= lowest) if lowest is not None else np.arange(len(scores))
        if not len(trained):
            raise UserError(f"no pair of a split has a score of finetune.positive_from {lowest:g} or more: lower it")
        return LabelledPairs(pairs, scores, trained)

    def batch(self, encoded: LabelledPairs, rows: NDArray[np.int64]) -> PairBatch:
        """Return some of the pairs that are trained on."""
        chosen = encoded.trained[rows]
        numbers, local = _numbered(encoded.pairs.rows[chosen])
        questions, answers = local[:, 0], local[:, 1]
        targets = None if encoded.scores is None else self._targets(encoded.scores[chosen])
        among = _compared(local, len(numbers)) if self.contrastive else None
        return PairBatch(encoded.pairs.texts.packed(numbers), questions, answers, targets, among)

    def targets(self, batch: PairBatch) -> dict[str, float]:
        """Return the pairs and the tokens."""
        return {"loss": len(batch.questions), "tokens": len(batch.texts.input_ids)}

    def loss(self, model: EncoderModel, batch: PairBatch, device: torch.device) -> Tensor:
        """Return the summed loss of the objective."""
        return self._loss(unit_vectors(model, batch.texts, device), batch)

    def predict(self, model: EncoderModel, encoded: LabelledPairs, device: torch.device) -> NDArray[np.float32]:
        """Return the vectors of all texts that differ, (T, D), each of length 1."""
        return self.predict_by(TorchScorer(model, device, unit_vectors), encoded)

    def predict_by(self, score: Scorer, encoded: LabelledPairs) -> NDArray[np.float32]:
        """Return the same, whatever computes a batch."""
        return all_vectors(score, encoded.pairs.texts)

    def scores(self, encoded: LabelledPairs, predictions: NDArray[np.float32]) -> Metrics:
        """Return the loss, and the scores of `metrics`, NaN where there is none."""
        rows = encoded.pairs.rows[encoded.trained]
        total = 0.0
        for start in range(0, len(rows), COMPARED):
            part = np.arange(start, min(start + COMPARED, len(rows)))
            numbers, _ = _numbered(rows[part])
            total += self._loss(torch.from_numpy(predictions[numbers]), self.batch(encoded, part)).item()
        return {"loss": total / len(rows), **self._measured(encoded, predictions)}

    def baselines(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:
        """Return averaged token embeddings, TF-IDF, and the encoder as it was pretrained."""
        train = dataset.splits["train"]
        encoded = self.encode(dataset.splits["test"], pretrained.tokenizer, self.recipe.max_seq_length)
        encoder = load_encoder(pretrained.directory, pretrained.stage).to(pretrained.device)
        model = SimilarityModel(encoder.params, encoder.vocab_size)
        model.encoder = encoder
        texts = encoded.pairs.texts
        rules: list[tuple[str, str, Vectors]] = [
            (
                "pretrained",
                "the encoder as pretrained",
                all_vectors(TorchScorer(model, pretrained.device, unit_vectors), texts),
            ),
            ("embeddings", "averaged token embeddings", embedding_vectors(encoder, texts)),
            ("tfidf", "TF-IDF cosine", tfidf_vectors([*train[FIRST], *train[SECOND]], encoded.pairs.spelled)),
        ]
        return [Baseline(key, name, self._measured(encoded, vectors)) for key, name, vectors in rules]

    def probe(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:  # noqa: ARG002  # of a protocol
        """Return nothing: the encoder as it was pretrained is among the baselines, and vectors need no rule."""
        return []

    def details(self, examples: Columns, encoded: LabelledPairs, predictions: NDArray[np.float32]) -> Details:
        """Return cosines beside scores, or at which place texts were found."""
        rows = encoded.pairs.rows
        found = cosines(predictions, rows)
        texts = [f"{first} ‖ {second}" for first, second in zip(examples[FIRST], examples[SECOND], strict=True)]
        if encoded.scores is None:
            return _found(answer_ranks(predictions, rows), found, texts)
        assert self.score_range is not None
        return _scored(encoded.scores, found, texts, self.score_range)

    def _targets(self, scores: Numbers) -> NDArray[np.float32]:
        """Return the cosines that scores stand for, from 0 to 1."""
        assert self.score_range is not None
        low, high = self.score_range
        return ((scores - low) / (high - low)).astype(np.float32)

    def _loss(self, vectors: Tensor, batch: PairBatch) -> Tensor:
        """Return the summed loss of a batch whose texts have `vectors`, (T, D)."""
        device = vectors.device
        questions, answers = move(batch.questions, device), move(batch.answers, device)
        if batch.among is None:
            assert batch.targets is not None
            near = (vectors[questions] * vectors[answers]).sum(1)
            return (near - move(batch.targets, device)).square().sum()
        there, back = (move(mask, device) for mask in batch.among)
        temperature = self.recipe.temperature
        both = contrastive_loss(vectors, questions, answers, there, temperature) + contrastive_loss(
            vectors, answers, questions, back, temperature
        )
        return both / 2

    def _measured(self, encoded: LabelledPairs, vectors: Vectors) -> Metrics:
        """Return the scores of `metrics` by any vectors of the texts."""
        if encoded.scores is None:
            return retrieval(answer_ranks(vectors, encoded.pairs.rows))
        return correlations(encoded.scores, cosines(vectors, encoded.pairs.rows))


def make_task(recipe: "SimilarityRecipe", manifest: Mapping[str, Any]) -> Similarity:
    """Return the task whose scores `manifest` describes."""
    return Similarity(recipe, manifest["score_range"])


def _numbered(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which texts are in `rows`, (T,), and `rows`, (B, K), as places among them, NONE as it is."""
    numbers, places = np.unique(rows, return_inverse=True)
    absent = int(numbers[0] < 0)
    return numbers[absent:], places.reshape(rows.shape) - absent


def _compared(rows: NDArray[np.int64], texts: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what each first text of `rows`, (B, K), looks for its second among, and the second for the first."""
    first, second = rows[:, 0], rows[:, 1]
    there, back = Answers(first.tolist(), second.tolist()), Answers(second.tolist(), first.tolist())
    return (
        there.choices(first, second, offered(rows[:, 1:], texts)),
        back.choices(second, first, offered(first, texts)),
    )


def _scored(gold: Numbers, found: Numbers, texts: list[str], score_range: Sequence[float]) -> Details:
    """Return what there is to see of cosines `found` for pairs with scores, (P,) each."""
    band = np.array([band_of(score, score_range) for score in gold])
    by_band = [
        {"from": low, "to": high, "pairs": int(inside.sum()), "mean_cosine": float(found[inside].mean())}
        for number, (low, high) in enumerate(bands(score_range))
        if (inside := band == number).any()
    ]
    rows = [{"score": score, "cosine": cosine} for score, cosine in zip(gold.tolist(), found.tolist(), strict=True)]
    warnings = []
    if np.ptp(found) == 0:
        warnings.append(f"every test pair has the cosine {found[0]:g}: nothing is ranked, and there is no correlation")
    apart = np.abs(ranks(gold) - ranks(found)) / len(gold)
    return Details(
        {
            "pairs.csv": Table(("score", "cosine"), rows),
            "bands.csv": Table(("from", "to", "pairs", "mean_cosine"), by_band),
        },
        [FigureSpec("pairs", "scatter", "pairs.csv", "cosine against score", x="score", y="score", value="cosine")],
        correlation_intervals(gold, found),
        warnings,
        [
            Case(f"{score:g}", f"{cosine:.3f}", None, float(distance) if distance > TOLERANCE else 0.0, text)
            for score, cosine, distance, text in zip(gold, found, apart, texts, strict=True)
        ],
    )


def _found(found_at: NDArray[np.int64], found: Numbers, texts: list[str]) -> Details:
    """Return what there is to see of the places `found_at` of second texts, and of their cosines, (P,) each."""
    scores = retrieval(found_at)
    rows = [{"rank": rank, "cosine": cosine} for rank, cosine in zip(found_at.tolist(), found.tolist(), strict=True)]
    return Details(
        {"pairs.csv": Table(("rank", "cosine"), rows)},
        [],
        {"mrr": mrr_interval(found_at), "accuracy_at_1": wilson(scores["accuracy_at_1"], len(found_at))},
        [],
        [
            Case("rank 1", f"rank {rank}", None, 1 - 1 / rank, text)
            for rank, text in zip(found_at.tolist(), texts, strict=True)
        ],
    )

"""Extractive question answering, trained and scored: the start and the end of an answer; F1 of its words decides."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.core.scores import FigureSpec
from maskline.dataset.read import Columns, Dataset
from maskline.finetuning.bootstrap import bounds, drawn
from maskline.finetuning.scorer import TorchScorer
from maskline.finetuning.task import Baseline, Case, Details, Metrics, Pretrained, Table
from maskline.model.heads import EncoderModel
from maskline.model.inputs import move
from maskline.model.settings import ModelParams
from maskline.tasks.spans.answers import exact_match, f1
from maskline.tasks.spans.baselines import first_sentence
from maskline.tasks.spans.examples import ANSWERS, CONTEXT, QUESTION, STARTS
from maskline.tasks.spans.model import SpanModel, log_probabilities
from maskline.tasks.spans.reading import CONFIG, KIND, Answer, Reading, Scorer, answers, score_windows
from maskline.tasks.spans.windows import ELSEWHERE, WindowBatch, Windows
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts

if TYPE_CHECKING:
    from maskline.tasks.spans.settings import SpansRecipe

LENGTHS = (250, 500, 1000, 2000)
"""Characters of a context up to which its questions are scored together."""
AROUND = 120
"""Characters of a context before and behind an answer that a page shows."""
SCORES = ("f1", "exact_match")
NONE, NOWHERE = "none", "no window"
"""What tables call it where there is no answer, and where no window holds it."""


@dataclass(frozen=True)
class Questions:
    """Questions in windows, with their answers as the file has them."""

    windows: Windows
    targets: NDArray[np.int64]
    """(W, 2) the candidates of each window with which the answer begins and ends, of several answers the first."""
    contexts: list[str]
    answers: list[list[str]]
    """Texts to each question, also those that no window holds; none where there is no answer."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(W,) tokens of each window."""
        return self.windows.sizes

    @property
    def texts(self) -> EncodedTexts:
        """The windows, each a question and a part of its context."""
        return EncodedTexts(self.windows.input_ids, self.cut, self.unk_rate, self.windows.prefixes)

    @property
    def cut(self) -> int:
        """How many questions were cut; contexts are not."""
        return self.windows.cut

    @property
    def unk_rate(self) -> float:
        """Share of [UNK]."""
        return self.windows.unk_rate


@dataclass(frozen=True)
class AnsweredBatch:
    """B windows, and what is to be found in them."""

    windows: WindowBatch
    targets: NDArray[np.int64]
    """(B, 2)"""


@dataclass(frozen=True)
class Predictions:
    """An answer to each question, and the loss over the windows."""

    answers: list[Answer]
    loss: float
    """Summed over starts and ends, in nats."""
    targets: int


class Spans:
    """A span of the context for each question."""

    metrics: Mapping[str, str] = {"f1": "F1", "exact_match": "exact match"}  # of a protocol
    criterion = "f1"

    def __init__(self, reading: Reading, language: str) -> None:
        """Read as `reading` says; compare answers by the rules of `language`."""
        self.reading = reading
        self.language = language

    @property
    def summary(self) -> str:
        """Return what the model does."""
        end = ", or says that it has no answer" if self.reading.no_answer else ""
        return f"Answers a question with a span of a text{end}"

    def config(self) -> dict[str, Any]:
        """Return how the model reads and what it may answer."""
        return {CONFIG: {"kind": KIND, **vars(self.reading)}}

    def new_model(self, params: ModelParams, vocab_size: int, dropout: float) -> SpanModel:
        """Return the network."""
        return SpanModel(params, vocab_size, dropout)

    def encode(self, examples: Columns, tokenizer: LoadedTokenizer, max_seq_length: int) -> Questions:
        """Return questions in windows; answers that no window holds stay."""
        assert max_seq_length == self.reading.max_seq_length  # both are of the recipe
        windows = self.reading.windows(examples[QUESTION], examples[CONTEXT], tokenizer)
        targets: list[tuple[int, int]] = []
        for number, (texts, starts) in enumerate(zip(examples[ANSWERS], examples[STARTS], strict=True)):
            if texts:
                targets += windows.targets(number, starts[0], starts[0] + len(texts[0]))
            else:
                targets += [ELSEWHERE] * len(windows.of(number))
        array = np.array(targets, np.int64).reshape(-1, 2)
        return Questions(windows, array, examples[CONTEXT], examples[ANSWERS])

    def batch(self, encoded: Questions, rows: NDArray[np.int64]) -> AnsweredBatch:
        """Return some windows."""
        return AnsweredBatch(encoded.windows.batch(rows), encoded.targets[rows])

    def targets(self, batch: AnsweredBatch) -> dict[str, float]:
        """Return the starts and ends, and the tokens."""
        return {"loss": batch.targets.size, "tokens": len(batch.windows.input_ids)}

    def loss(self, model: EncoderModel, batch: AnsweredBatch, device: torch.device) -> Tensor:
        """Return the summed cross-entropy of starts and ends."""
        scores = log_probabilities(model, batch.windows, device)
        return -scores.gather(1, move(batch.targets, device)[:, None]).sum()

    def predict(self, model: EncoderModel, encoded: Questions, device: torch.device) -> Predictions:
        """Return the most probable answer to each question."""
        return self.predict_by(TorchScorer(model, device, log_probabilities), encoded)

    def predict_by(self, score: Scorer, encoded: Questions) -> Predictions:
        """Return the same, whatever computes a batch."""
        scores = score_windows(score, encoded.windows)
        right = [one.starts[start] + one.ends[end] for one, (start, end) in zip(scores, encoded.targets, strict=True)]
        found = answers(encoded.windows, scores, self.reading)
        return Predictions(found, -float(np.sum(right, dtype=np.float64)), encoded.targets.size)

    def scores(self, encoded: Questions, predictions: Predictions) -> Metrics:
        """Return the loss for each start and end, F1 and exact match."""
        scores = self._scores(_texts(encoded, predictions), encoded.answers)
        return {"loss": predictions.loss / max(1, predictions.targets), **_means(scores)}

    def baselines(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:  # noqa: ARG002  # of a protocol
        """Return the first sentence of the context."""
        test = dataset.splits["test"]
        scores = self._scores([first_sentence(context) for context in test[CONTEXT]], test[ANSWERS])
        return [Baseline("first_sentence", "first sentence of the context", _means(scores))]

    def probe(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:  # noqa: ARG002  # of a protocol
        """Return nothing: a start is one among the tokens of a window, which no regression over classes tells.

        The linear layer alone is trained on the frozen encoder by `method: probe` of `finetune`.
        """
        return []

    def details(self, examples: Columns, encoded: Questions, predictions: Predictions) -> Details:
        """Return the scores by the window in which the answer stands, and by the length of the context."""
        scores = self._scores(_texts(encoded, predictions), encoded.answers)
        where = [_where(encoded, number) for number in range(len(scores))]
        lengths = [_length(context) for context in encoded.contexts]
        columns = (examples[name] for name in (QUESTION, CONTEXT, ANSWERS, STARTS))
        questions = zip(*columns, predictions.answers, strict=True)
        return Details(
            {
                "windows.csv": _table(("windows", "answer_in"), where, scores),
                "lengths.csv": _table(("characters",), lengths, scores),
            },
            [
                FigureSpec(
                    "lengths",
                    "bars",
                    "lengths.csv",
                    "F1 by length of the context",
                    x="F1 (test split)",
                    y="characters",
                    value="f1",
                )
            ],
            _intervals(scores),
            _warnings(predictions, where),
            [
                _case(question, context, texts, starts, answer, scores[row])
                for row, (question, context, texts, starts, answer) in enumerate(questions)
            ],
        )

    def _scores(self, predicted: Sequence[str | None], golds: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return F1 and exact match of each question, (Q, 2)."""
        pairs = zip(predicted, golds, strict=True)
        scores = [[measure(*pair, self.language) for measure in (f1, exact_match)] for pair in pairs]
        return np.array(scores, np.float64).reshape(-1, len(SCORES))


def make_task(recipe: "SpansRecipe", manifest: Mapping[str, Any]) -> Spans:
    """Return the task that reads as `recipe` says, and compares in the language that `manifest` names.

    No answer may be predicted where training has questions without one.
    """
    reading = Reading(
        recipe.max_seq_length,
        recipe.max_question_tokens,
        recipe.stride,
        recipe.max_answer_tokens,
        manifest["splits"]["train"]["no_answer"] > 0,
    )
    return Spans(reading, manifest["language"])


def _texts(encoded: Questions, predictions: Predictions) -> list[str | None]:
    """Return the answers as they stand in the contexts; None where none is predicted."""
    return [answer.text(context) for answer, context in zip(predictions.answers, encoded.contexts, strict=True)]


def _means(scores: NDArray[np.float64]) -> Metrics:
    return dict(zip(SCORES, scores.mean(0).tolist(), strict=True))


def _warnings(predictions: Predictions, where: Sequence[tuple[int, str]]) -> list[str]:
    """Return how many answers are out of reach, and whether there is none at all."""
    apart = sum(place == NOWHERE for _, place in where)
    said = []
    if apart:
        said.append(f"{apart:,} of {len(where):,} answers are whole in no window of the context, and count as missed")
    if all(answer.span is None for answer in predictions.answers):
        said.append("no answer was predicted to any question")
    return said


def _where(encoded: Questions, number: int) -> tuple[int, str]:
    """Return how many windows the context of a question has, and the first in which the answer is whole, from 1 on."""
    windows = encoded.windows.of(number)
    if not encoded.answers[number]:
        return len(windows), NONE
    held = np.flatnonzero(encoded.targets[windows.start : windows.stop, 0])  # [CLS], candidate 0, is none
    return len(windows), str(held[0] + 1) if len(held) else NOWHERE


def _length(context: str) -> tuple[int, str]:
    """Return the number and the name of a context's class of length."""
    number = bisect_left(LENGTHS, len(context))
    edges = [f"{edge:,}" for edge in LENGTHS]
    return number, f"up to {edges[number]}" if number < len(edges) else f"more than {edges[-1]}"


def _table(columns: Sequence[str], groups: Sequence[tuple[int, str]], scores: NDArray[np.float64]) -> Table:
    """Return the scores of the questions of each group, in the order of their names; numbers go before words."""
    members: dict[tuple[int, str], list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    ordered = sorted(members, key=lambda group: (group[0], len(group[1]), group[1]))
    rows = [
        {**dict(zip(columns, group[-len(columns) :], strict=True)), "questions": len(rows), **_means(scores[rows])}
        for group in ordered
        for rows in [members[group]]
    ]
    return Table((*columns, "questions", *SCORES), rows)


def _intervals(scores: NDArray[np.float64]) -> dict[str, tuple[float, float]]:
    """Return the confidence intervals of the means of (Q, 2) scores by drawing questions again and again."""
    means = (drawn(len(scores)) @ scores / len(scores)).T
    return {name: bounds(values) for name, values in zip(SCORES, means, strict=True)}


def _case(
    question: str, context: str, texts: list[str], starts: list[int], answer: Answer, scores: NDArray[np.float64]
) -> Case:
    """Return how a question came out; of the wrong, the surest that share no word with the answer are the worst."""
    score, exact = scores.tolist()
    golds = [(start, start + len(text)) for text, start in zip(texts, starts, strict=True)]
    predicted = [] if answer.span is None else [answer.span]
    shown = next(iter([*golds, *predicted]), (0, 0))
    lines = (
        question,
        f"answer: {' / '.join(dict.fromkeys(texts)) or NONE}; predicted: {answer.text(context) or NONE}",
        _around(context, *shown),
    )
    return Case(
        _spelled(golds),
        _spelled(predicted),
        answer.probability,
        0.0 if exact else 1 - score + answer.probability,
        " — ".join(lines),
    )


def _spelled(spans: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{start}:{end}" for start, end in dict.fromkeys(spans)) or NONE


def _around(context: str, start: int, end: int) -> str:
    """Return the part of a context around the characters `start` to `end`."""
    first, last = max(0, start - AROUND), min(len(context), end + AROUND)
    return f"{'…' * (first > 0)}{context[first:last]}{'…' * (last < len(context))}"

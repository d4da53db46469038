"""What a model directory can be asked for, through what the commands use; its texts are checked before they wait.

Nothing here knows how a model computes: that is a matter of what opens its directory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.storage import read_json
from maskline.finetuning.use import Answering
from maskline.graphs.directory import is_graph
from maskline.inference.embedding import Pooling
from maskline.inference.identity import hashes_of
from maskline.inference.predict import load_predictor
from maskline.inference.typed import encode_typed
from maskline.inference.vectors import OpenEncoder, VectorSettings, open_encoder
from maskline.serving.refusals import InputError, TooLongError
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.tokenization.texts import encode_texts

if TYPE_CHECKING:
    from maskline.inference.fill import Fill

MASK = SPECIAL_TOKENS[-1]
SPECIAL = 2
"""[CLS] and [SEP]: a text of no more tokens has none of its own."""
UNLIMITED = 1 << 62

Vector = NDArray[np.floating[Any]]
Where = Callable[[int], str]
"""Returns how an error names the text of a number."""
Filler = Callable[[str, int], "list[list[Fill]]"]


class Prediction(NamedTuple):
    """What a model says of an input."""

    row: Mapping[str, Any]
    cut: bool
    """Whether it read the beginning alone."""


@dataclass(frozen=True)
class Asked:
    """An input of a predictor."""

    fields: Mapping[str, str]
    tokens: Mapping[str, int]
    """Of each field, with [CLS] and [SEP]."""

    @property
    def size(self) -> int:
        """Return the tokens of all fields."""
        return sum(self.tokens.values())


class ServedModel:
    """A model directory, open to be used.

    What computes is for one thread alone. What counts tokens has a tokenizer of its own, which nothing changes after
    it was loaded, so that any number of threads may count.

    Attributes:
        name: under which it is served.
        hashes: of `model` and `tokenizer`.
        longest: tokens that it reads.
        dimensions: numbers of a vector.
        refused: what it cannot be asked for -> why.
    """

    def __init__(self, directory: Path, name: str | None = None) -> None:
        """Open a directory of any kind of model.

        Raises:
            UserError: it is incomplete or damaged, nothing can be asked of it, or no client could send its name.
        """
        self.name = directory.resolve().name if name is None else name
        if not (self.name.strip() and self.name.isprintable()):
            raise UserError(f"{self.name!a} is no name that clients can send: give one with --name")
        self.hashes = hashes_of(directory)
        try:
            config = read_json(directory / "config.json")
            self.longest, self.dimensions = int(config["max_position_embeddings"]), int(config["hidden_size"])
        except (LookupError, TypeError, ValueError):
            raise UserError(
                f"{directory / 'config.json'} does not say how much the model reads: name another"
            ) from None
        self.refused: dict[str, str] = {}
        self._encoder: OpenEncoder | None = self._try("embed", lambda: open_encoder(directory))
        self._predictor: Answering | None = self._try("predict", lambda: load_predictor(directory))
        self._filler: Filler | None = self._try("fill-mask", lambda: _filler(directory))
        if not self.offers:
            raise UserError(f"{directory} holds nothing to serve: {self.refused['predict']}")
        self._counting = load_tokenizer(directory)
        self._counting.plain.encode("")  # made here, by one thread

    def _try(self, what: str, opening: Callable[[], Any]) -> Any:
        try:
            return opening()
        except UserError as error:
            self.refused[what] = str(error)
        except ModuleNotFoundError as error:  # which only graphs do without
            if error.name != "torch":
                raise
            self.refused[what] = "torch is not installed"
        return None

    @property
    def offers(self) -> list[str]:
        """Return what it can be asked for, of `embed`, `predict`, `fill-mask`."""
        return [what for what in ("embed", "predict", "fill-mask") if what not in self.refused]

    @property
    def fields(self) -> Sequence[str]:
        """Return what an input of `predict` consists of."""
        return self._predictor.fields if self._predictor else ()

    # Counting: any thread.

    def count(self, texts: Sequence[str], where: Where) -> list[int]:
        """Return the tokens of each text, with [CLS] and [SEP].

        Raises:
            InputError: a text has none of its own.
        """
        sizes: list[int] = encode_texts(list(texts), self._counting, UNLIMITED).sizes.tolist()
        for number, size in enumerate(sizes):
            if size <= SPECIAL:
                raise InputError(f"{where(number)} has no token: give a text, or leave it out")
        return sizes

    def count_to_embed(self, texts: Sequence[str], where: Where, *, truncate: bool) -> list[int]:
        """Return the tokens of each text.

        Raises:
            InputError: a text is empty.
            TooLongError: a text is longer than the model reads, and is not to be cut.
        """
        sizes = self.count(texts, where)
        if not truncate:
            for number, size in enumerate(sizes):
                if size > self.longest:
                    raise TooLongError(self._too_long(f"{where(number)} has {size:,} tokens"))
        return sizes

    def count_to_predict(self, inputs: Sequence[Mapping[str, str]]) -> list[Asked]:
        """Return inputs with the tokens of their fields.

        Raises:
            InputError: a field is empty.
        """
        names = list(self.fields)
        texts = [one[name] for one in inputs for name in names]
        sizes = self.count(texts, lambda at: f"inputs[{at // len(names)}].{names[at % len(names)]}")
        starts = range(0, len(sizes), len(names))
        return [
            Asked(one, dict(zip(names, sizes[start : start + len(names)], strict=True)))
            for one, start in zip(inputs, starts, strict=True)
        ]

    def count_to_fill(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text with a [MASK].

        Raises:
            InputError: a text has no [MASK].
            TooLongError: a text is longer than the model reads.
        """
        sizes = []
        for number, text in enumerate(texts):
            if MASK not in text:
                raise InputError(f"texts[{number}] has no {MASK}: write one where a word is missing")
            try:
                encoding = encode_typed(self._counting, self.longest, text.replace(MASK, self._counting.mask_token))
            except UserError as error:
                raise TooLongError(f"texts[{number}]: {error}") from None
            sizes.append(len(encoding.ids))
        return sizes

    def check_read(self, asked: Sequence[Asked], predictions: Sequence[Prediction]) -> None:
        """Check that the model read each input to its end.

        Raises:
            TooLongError: it read the beginning of one alone.
        """
        for number, (one, prediction) in enumerate(zip(asked, predictions, strict=True)):
            if prediction.cut:
                parts = ", ".join(f"{name} {size:,}" for name, size in one.tokens.items())
                message = self._too_long(f"inputs[{number}] is longer than the model reads ({parts} tokens)")
                raise TooLongError(message)

    def _too_long(self, what: str) -> str:
        return f'{what}, and the model reads at most {self.longest:,}: shorten it, or send "truncate": true'

    # Computing: one thread.

    def embed(self, texts: Sequence[str], pooling: Pooling, *, normalized: bool) -> list[Vector]:
        """Return the vector of each text, (D,)."""
        assert self._encoder is not None
        vectors, _ = self._encoder.vectors(list(texts), VectorSettings(pooling, normalized))
        return list(vectors)

    def predict(self, inputs: Sequence[Asked]) -> list[Prediction]:
        """Return what the model says of each input, and whether it read all of it.

        How many inputs were cut is known of a batch. Which, is found by halves: after sorting by length most are pure.
        """
        order = sorted(range(len(inputs)), key=lambda number: inputs[number].size)
        found: dict[int, Prediction] = {}
        batches = [order]
        while batches:
            batch = batches.pop()
            assert self._predictor is not None
            said = self._predictor.predict([inputs[number].fields for number in batch])
            if said.cut in (0, len(batch)):
                found |= {n: Prediction(row, said.cut > 0) for n, row in zip(batch, said.rows, strict=True)}
            else:
                middle = len(batch) // 2
                batches += [batch[:middle], batch[middle:]]
        return [found[number] for number in range(len(inputs))]

    def fill(self, texts: Sequence[str], top: int) -> "list[list[list[Fill]]]":
        """Return for each text the `top` most probable tokens for each of its masks."""
        assert self._filler is not None
        return [self._filler(text, top) for text in texts]


def _filler(directory: Path) -> Filler:
    """Return what fills the masks of a text with so many tokens each.

    Raises:
        UserError: the directory holds no pretrained model, or the graph of one.
    """
    if is_graph(directory):
        raise UserError("a graph fills no masks: serve the directory that it was exported from")
    import torch

    from maskline.inference.fill import fill_masks
    from maskline.model.directory import load_pretraining_model

    model, tokenizer = load_pretraining_model(directory), load_tokenizer(directory)
    return lambda text, top: fill_masks(model, tokenizer, text, top, torch.device("cpu"))

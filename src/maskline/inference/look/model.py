"""What one model makes of a text that somebody typed."""

# Dimensions: T tokens, D hidden, H heads, L layers, V vocabulary.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Encoding

from maskline.adapters.directory import TunedModel, read
from maskline.core.errors import UserError
from maskline.evaluation.masks import mask_probabilities, ranking
from maskline.examples.batches import PretrainingBatch
from maskline.inference.look.inside import look_inside
from maskline.inference.predict import use_of
from maskline.inference.typed import encode_typed
from maskline.model.heads import EncoderModel, PretrainingModel
from maskline.model.modes import evaluating
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer
from maskline.training.inputs import to_inputs

NUMBER_BYTES = 2
"""Of a weight of attention on a page: steps of 1 / 65535, which is exact to 1e-5."""
ATTENTION_BYTES = 1_100_000
"""Most bytes of the weights of attention on a page. As text they are a third more, and all else has room in 2 MB."""
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Opened:
    """A model that is looked into."""

    name: str
    model: EncoderModel
    tokenizer: LoadedTokenizer
    tells_pairs: bool
    """Whether it has a head for sentence pairs that was trained."""


class Guess(NamedTuple):
    """A token, and how probable or how near it is."""

    token: str
    score: float


@dataclass(frozen=True)
class Filled:
    """What a model puts at one place when the token there is masked."""

    place: int
    probability: float | None
    """Of the token itself; None where it is the mask."""
    rank: int | None
    """Of the token itself, from 1 on."""
    guesses: list[Guess]


@dataclass(frozen=True)
class Neighbours:
    """The tokens whose embeddings are nearest to that of a token, by cosine."""

    token: str
    nearest: list[Guess]


@dataclass(frozen=True)
class Look:
    """What a model makes of T tokens."""

    name: str
    about: str
    tokens: list[str]
    input_ids: NDArray[np.int64]
    """(T,)"""
    token_type_ids: NDArray[np.int64]
    """(T,) 0, and 1 for the second text of a pair."""
    attention: NDArray[np.float32]
    """(L, H, T, T)"""
    places: NDArray[np.float64]
    """(L + 1, T, 2) the vectors of the tokens on their first two principal components, layer by layer."""
    variance: NDArray[np.float64]
    """(L + 1, 2) the share of the variance on each of them."""
    filled: list[Filled] | None
    """Of every place but the ends of texts; None: it has no head for masked tokens."""
    is_next: float | None
    """The probability that the second text follows the first; None: there is one text, or no head for pairs."""
    neighbours: list[Neighbours]
    """Of every token once, in their order."""


def open_model(directory: Path) -> Opened:
    """Return the model in `directory`, pretrained, fine-tuned or imported; of heads, those of pretraining.

    What was trained on an encoder that stays as it is works on that encoder.

    Raises:
        UserError: the directory is incomplete or damaged, or stands on another encoder.
    """
    saved, tokenizer = read(directory, "pretrain"), load_tokenizer(directory)
    if isinstance(saved, TunedModel):
        return Opened(str(directory), use_of(saved.config, directory).load(saved), tokenizer, tells_pairs=False)
    names, has = saved.names, tuple(saved.weights)
    tells_pairs = any(name.startswith(names.nsp) for name in has)
    if any(name.startswith(names.mlm) for name in has):
        model: EncoderModel = PretrainingModel(saved.params, saved.vocab_size)
        saved.copy_into(model, may_lack=(*names.pooler, *names.nsp))
    else:
        model = EncoderModel(saved.params, saved.vocab_size)
        heads = [name for name in has if not name.startswith(names.encoder)]
        saved.copy_into(model, may_lack=names.pooler, may_leave=heads)
    return Opened(str(directory), model, tokenizer, tells_pairs)


def random_weights(opened: Opened) -> Opened:
    """Return the same network with weights that nothing trained; always the same ones."""
    encoder, heads = opened.model.encoder, isinstance(opened.model, PretrainingModel)
    model = (PretrainingModel if heads else EncoderModel)(encoder.params, encoder.vocab_size)
    model.reset(torch.Generator().manual_seed(0))
    return replace(opened, name="random weights", model=model)


def look_at(models: Sequence[Opened], text: str, second: str | None, top: int) -> list[Look]:
    """Return what each of `models` makes of a text, or of a pair; `top` is how many guesses and neighbours each has.

    Raises:
        UserError: a text has no token, they are longer than a model reads or a page holds, or came as bytes that are
            not UTF-8.
    """
    encodings = [encode_typed(one.tokenizer, one.model.encoder.params.max_positions, text, second) for one in models]
    _check_room(models, encodings)
    return [_look(*pair, top, second is not None) for pair in zip(models, encodings, strict=True)]


def _check_room(models: Sequence[Opened], encodings: Sequence[Encoding]) -> None:
    needed = sum(
        NUMBER_BYTES * one.model.encoder.params.layers * one.model.encoder.params.heads * len(encoding.ids) ** 2
        for one, encoding in zip(models, encodings, strict=True)
    )
    if needed > ATTENTION_BYTES:
        tokens = max(len(encoding.ids) for encoding in encodings)
        most = int(tokens * (ATTENTION_BYTES / needed) ** 0.5)
        raise UserError(
            f"the text has {tokens} tokens, and a page of 2 MB has room for the attention of these models to {most}: "
            "shorten it"
        )


def _look(opened: Opened, encoding: Encoding, top: int, is_pair: bool) -> Look:
    model, tokenizer = opened.model, opened.tokenizer
    input_ids, types = np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64)
    inside = look_inside(model.encoder, input_ids, types, CPU)
    places, variance = principal_places(inside.vectors)
    filled = is_next = None
    if isinstance(model, PretrainingModel):
        filled = _filled(model, tokenizer, input_ids, types, top)
        if is_pair and opened.tells_pairs:
            is_next = _is_next(model, input_ids, types)
    params = model.encoder.params
    embedding = model.encoder.token_embedding.weight.detach().numpy()
    return Look(
        name=opened.name,
        about=f"{model.architecture.title}, {params.layers} layers of {params.hidden}, {params.heads} heads each",
        tokens=[tokenizer.pieces[token] for token in input_ids],
        input_ids=input_ids,
        token_type_ids=types,
        attention=inside.attention,
        places=places,
        variance=variance,
        filled=filled,
        is_next=is_next,
        neighbours=_neighbours(embedding, tokenizer, input_ids, top),
    )


def principal_places(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where tokens lie on the first two principal components of each layer.

    A component has no sign of its own. It gets the one that moves the tokens least from the layer before; in the first
    layer, the token that is farthest out is on the positive side.

    Args:
        vectors: (L + 1, T, D).

    Returns:
        The places, (L + 1, T, 2), and the share of the variance on each component, (L + 1, 2); 0 where there is none.
    """
    layers, tokens, _ = vectors.shape
    places, variance = np.zeros((layers, tokens, 2)), np.zeros((layers, 2))
    for number, layer in enumerate(vectors.astype(np.float64)):
        u, s, _ = np.linalg.svd(layer - layer.mean(0), full_matrices=False)
        some = min(2, len(s))
        place = (u * s)[:, :some]
        towards = place[np.abs(place).argmax(0), range(some)]
        if number:
            towards = (place * places[number - 1, :, :some]).sum(0)
        places[number, :, :some] = place * np.where(towards < 0, -1.0, 1.0)
        variance[number, :some] = s[:some] ** 2 / max((s**2).sum(), np.finfo(np.float64).tiny)
    return places, variance


def _filled(
    model: PretrainingModel,
    tokenizer: LoadedTokenizer,
    input_ids: NDArray[np.int64],
    types: NDArray[np.int64],
    top: int,
) -> list[Filled]:
    special = tokenizer.special
    found = []
    for place in np.flatnonzero(~np.isin(input_ids, (special.cls, special.sep))).tolist():
        masked = input_ids.copy()
        masked[place] = special.mask
        rows = mask_probabilities(model, masked, types, special, CPU)
        row = rows[np.flatnonzero(masked == special.mask).tolist().index(place)]
        order = ranking(row)
        guesses = [Guess(tokenizer.pieces[token], float(row[token])) for token in order[:top].tolist()]
        token = input_ids[place]
        known = token != special.mask
        rank = int(np.flatnonzero(order == token)[0]) + 1 if known else None
        found.append(Filled(place, float(row[token]) if known else None, rank, guesses))
    return found


@torch.inference_mode()
def _is_next(model: PretrainingModel, input_ids: NDArray[np.int64], types: NDArray[np.int64]) -> float:
    nothing = np.zeros(0, np.int64)
    batch = PretrainingBatch(
        input_ids[None], types[None], np.ones((1, len(input_ids)), bool), nothing, nothing, np.zeros(1, np.int64)
    )
    with evaluating(model):
        _, logits = model(to_inputs(batch, CPU))
    return float(logits.softmax(1)[0, 0])


def _neighbours(
    embedding: NDArray[np.float32], tokenizer: LoadedTokenizer, input_ids: NDArray[np.int64], top: int
) -> list[Neighbours]:
    """Return the nearest tokens of each token; ids of which the tokenizer knows no token are none."""
    known = np.array(sorted(tokenizer.backend.get_vocab().values()))
    length = np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    directions = embedding / length
    found = []
    for token in dict.fromkeys(input_ids.tolist()):
        others = known[known != token]
        cosine = directions[others] @ directions[token]
        nearest = np.argsort(-cosine, kind="stable")[:top]
        guesses = [Guess(tokenizer.pieces[others[at]], float(cosine[at])) for at in nearest]
        found.append(Neighbours(tokenizer.pieces[token], guesses))
    return found

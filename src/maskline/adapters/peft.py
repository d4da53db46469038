"""Low-rank changes in the layout of the library peft: names, and its configuration. The library itself is not needed.

Where a matrix of `transformers` is stacked as ours is (`Wqkv` of ModernBERT), the changes of its parts are one change
of it: their first factors one below the other, their second factors in blocks, and alpha as many times as large as the
rank, so that the scale stays.
"""

# Dimensions: I inputs of a matrix, O outputs of it, R rank, k changes of a matrix.

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from maskline.adapters.layers import PLACES
from maskline.adapters.settings import Matrix, TuningParams
from maskline.model.names import Names

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
PREFIX = "base_model.model."
TASK_TYPES = {
    "ForSequenceClassification": "SEQ_CLS",
    "ForTokenClassification": "TOKEN_CLS",
    "ForQuestionAnswering": "QUESTION_ANS",
    "Model": "FEATURE_EXTRACTION",
}
"""What the name of a class of `transformers` ends with -> what peft calls its purpose."""


@dataclass(frozen=True)
class Target:
    """A matrix of ours, and the changes of it."""

    name: str
    """Of the module."""
    matrices: list[Matrix]
    theirs: list[str]
    """Hugging Face's modules: that of each of `matrices`, or one that is stacked as ours is."""

    @property
    def stacked(self) -> bool:
        """Return whether their matrix holds several."""
        return len(self.theirs) == 1 and PLACES[self.matrices[0]].of > 1

    def ours(self, matrix: Matrix) -> str:
        """Return what the names of the factors of a change begin with."""
        return f"{self.name}.lora.{matrix}."


def targets(params: TuningParams, layers: int, names: Names) -> Iterator[Target]:
    """Yield the matrices that `params` changes."""
    by_module: dict[str, list[Matrix]] = {}
    for matrix in params.matrices:
        by_module.setdefault(PLACES[matrix].module, []).append(matrix)
    for layer in range(layers):
        for module, matrices in by_module.items():
            name = f"encoder.layers.{layer}.{module}"
            theirs = [part.removesuffix(".weight") for part in names.theirs(f"{name}.weight")]
            if len(theirs) > 1:
                theirs = [theirs[PLACES[matrix].number] for matrix in matrices]
            yield Target(name, matrices, theirs)


def to_peft(weights: Mapping[str, Tensor], changed: list[Target], prefix: str = "") -> dict[str, Tensor]:
    """Return what is trained, which `weights` has by our names of it, by peft's names.

    `prefix` is what the names of an encoder begin with that is alone in its class, and so has no such beginning.
    """
    left = dict(weights)
    found: dict[str, Tensor] = {}
    for target in changed:
        factors = [
            (left.pop(f"{target.ours(matrix)}a"), left.pop(f"{target.ours(matrix)}b")) for matrix in target.matrices
        ]
        if target.stacked:
            factors = [(torch.cat([a for a, _ in factors]), _blocks(target, [b for _, b in factors]))]
        for module, (a, b) in zip(target.theirs, factors, strict=True):
            found |= {f"{module}.lora_A.weight": a, f"{module}.lora_B.weight": b}
    return {f"{PREFIX}{name.removeprefix(prefix)}": weight for name, weight in (found | left).items()}


def from_peft(weights: Mapping[str, Tensor], changed: list[Target], prefix: str = "") -> dict[str, Tensor]:
    """Undo `to_peft`.

    Raises:
        KeyError: a weight is missing.
    """
    left = {name.removeprefix(PREFIX): weight for name, weight in weights.items()}
    found: dict[str, Tensor] = {}
    for target in changed:
        for number, matrix in enumerate(target.matrices):
            module = target.theirs[0 if target.stacked else number].removeprefix(prefix)
            a, b = left[f"{module}.lora_A.weight"], left[f"{module}.lora_B.weight"]
            if target.stacked:
                a = a.chunk(len(target.matrices))[number]
                b = b.chunk(len(target.matrices), 1)[number].chunk(PLACES[matrix].of)[PLACES[matrix].number]
            found |= {f"{target.ours(matrix)}a": a, f"{target.ours(matrix)}b": b}
    used = {f"{module.removeprefix(prefix)}.lora_" for target in changed for module in target.theirs}
    return found | {name: weight for name, weight in left.items() if not name.startswith(tuple(used))}


def _blocks(target: Target, seconds: list[Tensor]) -> Tensor:
    """Return second factors, (O / of, R) each, as one of the stacked matrix, (O, k R)."""
    rows, rank = seconds[0].shape
    stacked = seconds[0].new_zeros(rows * PLACES[target.matrices[0]].of, rank * len(seconds))
    for number, (matrix, second) in enumerate(zip(target.matrices, seconds, strict=True)):
        first = PLACES[matrix].number * rows
        stacked[first : first + rows, number * rank : (number + 1) * rank] = second
    return stacked


def merged(
    weights: Mapping[str, Tensor], trained: Mapping[str, Tensor], changed: list[Target], names: Names, scale: float
) -> dict[str, Tensor]:
    """Return `weights`, under Hugging Face's names, with the changes that `trained` has of them, and all else of it."""
    whole, left = dict(weights), dict(trained)
    for target in changed:
        theirs = names.theirs(f"{target.name}.weight")
        ours = torch.cat([whole[name] for name in theirs])
        for matrix in target.matrices:
            a, b = left.pop(f"{target.ours(matrix)}a"), left.pop(f"{target.ours(matrix)}b")
            ours.chunk(PLACES[matrix].of)[PLACES[matrix].number].add_(b @ a, alpha=scale)
        whole |= zip(theirs, ours.chunk(len(theirs)), strict=True)
    return whole | left


def configuration(
    params: TuningParams, changed: list[Target], heads: list[str], purpose: str, base: str, prefix: str = ""
) -> dict[str, Any]:
    """Return the content of adapter_config.json.

    Args:
        params: how was trained.
        changed: what was.
        heads: the modules that are saved whole: without their names, peft would draw a new head at random.
        purpose: what the class of `transformers` ends with.
        base: where the encoder is.
        prefix: as in `to_peft`.
    """
    modules = [module.removeprefix(prefix) for target in changed for module in target.theirs]
    stacked = {
        target.theirs[0].removeprefix(prefix): len(target.matrices)
        for target in changed
        if target.stacked and len(target.matrices) > 1
    }
    return {
        "peft_type": "LORA",
        "task_type": TASK_TYPES[purpose],
        "base_model_name_or_path": base,
        "inference_mode": True,
        "r": params.rank,
        "lora_alpha": params.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": modules,
        "rank_pattern": {module: count * params.rank for module, count in stacked.items()},
        "alpha_pattern": {module: count * params.alpha for module, count in stacked.items()},
        "modules_to_save": heads or None,
    }

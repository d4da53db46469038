"""Directories of what was trained on an encoder that stays as it is: little, and the encoder's hash."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from maskline.adapters import layers, peft
from maskline.adapters.settings import KEYS, TuningParams
from maskline.core.errors import UserError, one_line
from maskline.core.storage import (
    MANIFEST,
    fresh_directory,
    read_json,
    read_manifest,
    sha256,
    write_bytes,
    write_json,
    write_manifest,
    write_text,
)
from maskline.model.architecture import architecture_of
from maskline.model.convert import from_hugging_face
from maskline.model.directory import CONFIG, HEADS, SavedModel, TokenizerFiles, read_model
from maskline.model.heads import EncoderModel

TUNING = "tuning.json"
"""How it was trained, and where the encoder is; the manifest has the hash of the encoder's."""
WEIGHTS = "trained.safetensors"
"""What was trained; of lora it is in peft's file, and beside it the head that no class of `transformers` has."""
ALONE, MERGED = "what is here is that, and stands on the encoder in", "here that is merged with the encoder in"
"""What a model card says of it: as `finetune` writes it, and once it is a whole model."""
PRETRAINED = "pretrained"
"""Under `inputs` of the manifest, the hash."""


def export(
    directory: Path,
    model: EncoderModel,
    params: TuningParams,
    encoder: str,
    tokenizer: TokenizerFiles,
    card: str,
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> None:
    """Write what was trained of `model` to `directory`, with a tokenizer and a model card.

    Args:
        directory: a new one.
        model: what `insert` has prepared.
        params: how it was trained.
        encoder: the directory of what it stands on, as the command was given it.
        tokenizer: what goes with it.
        card: the text of README.md.
        provenance: what the manifest says, with the hash of the encoder's under `inputs`.
        settings: keys for config.json, such as labels.
    """
    fresh_directory(directory)
    content = model.architecture.config(model.encoder.params, model.encoder.vocab_size, model.exported_as)
    content["pad_token_id"] = tokenizer.pad_token_id
    write_json(directory / CONFIG, content | dict(model.config()) | dict(settings))
    write_json(directory / TUNING, {**params.described(), "encoder": encoder})
    weights = layers.trained(model)
    if params.method == "lora":
        weights = _write_lora(directory, model, params, encoder, weights)
    if weights:
        write_bytes(directory / (HEADS if params.method == "lora" else WEIGHTS), save(weights, {"format": "pt"}))
    for name, raw in tokenizer.files.items():
        write_bytes(directory / name, raw)
    write_text(directory / "README.md", card)
    write_manifest(directory, provenance)


def _write_lora(
    directory: Path, model: EncoderModel, params: TuningParams, encoder: str, weights: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Write what peft reads; return the weights of a head that the class of `transformers` has not."""
    names = model.architecture.names
    changed = [*peft.targets(params, model.encoder.params.layers, names)]
    alone = model.purpose == EncoderModel.purpose
    prefix = names.encoder if alone else ""
    heads = {
        name: weight for name, weight in weights.items() if alone and not name.startswith((names.encoder, "encoder."))
    }
    kept = {name: weight for name, weight in weights.items() if name not in heads}
    factors = {f"{target.ours(matrix)}{part}" for target in changed for matrix in target.matrices for part in "ab"}
    # The pooler, say: by the module that peft finds in the class, and not by the weights in it.
    modules = {_module(name.removeprefix(names.encoder)) for name in kept.keys() - factors}
    write_bytes(directory / peft.WEIGHTS, save(peft.to_peft(kept, changed, prefix), {"format": "pt"}))
    write_json(
        directory / peft.CONFIG, peft.configuration(params, changed, sorted(modules), model.purpose, encoder, prefix)
    )
    return heads


def _module(name: str) -> str:
    return name.partition(".")[0]


def weights_bytes(directory: Path) -> int:
    """Return the size of the weights in a model directory."""
    return sum(path.stat().st_size for path in directory.glob("*.safetensors"))


@dataclass(frozen=True)
class TunedModel(SavedModel):
    """What was trained on an encoder that stays as it is: `weights` are those alone."""

    tuning: TuningParams
    base: SavedModel
    encoder: Mapping[str, Tensor]
    """The weights of the encoder, by our names; all models that stand on it share them."""

    def copy_into(self, model: EncoderModel, *, may_lack: Any = (), may_leave: Any = ()) -> None:  # noqa: ARG002
        """Make `model` of the shared encoder and what was trained, and add to it what its method adds.

        Raises:
            UserError: weights are missing or left over, or one has another shape.
        """
        layers.insert(model, self.tuning)
        model.load_state_dict({f"encoder.{n}": w for n, w in self.encoder.items()}, strict=False, assign=True)
        for weight in model.parameters():
            if weight.requires_grad:
                weight.data = weight.data.clone()  # of the encoder's own, which others share
        try:
            fit = from_hugging_face(model, self.weights)
        except ValueError as error:
            raise UserError(f"{self.directory}: {error}: fine-tune again") from None
        missing = layers.trained(model).keys() & {*fit.missing}
        for names, what in ((sorted(missing), "lacks"), (fit.left_over, "holds, and the model has not,")):
            if names:
                raise UserError(f"{self.directory} {what} {', '.join(names[:4])}: fine-tune again")

    def merged(self) -> SavedModel:
        """Return the whole model.

        Raises:
            UserError: its method adds what no matrix of the encoder can take up.
        """
        if self.tuning.method == "adapters":
            raise UserError(
                f"{self.directory} has adapters, which compute what no matrix does: only lora and probe can be merged"
            )
        base = {name: weight for name, weight in self.base.weights.items() if name.startswith(self.names.encoder)}
        changed = _targets(self.tuning, self.base) if self.tuning.method == "lora" else []
        scale = self.tuning.alpha / self.tuning.rank
        weights = peft.merged(base, self.weights, changed, self.names, scale)
        return SavedModel(self.directory, self.params, self.vocab_size, weights, self.config)


@dataclass
class Encoders:
    """Encoders that models stand on, each loaded once."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    _loaded: dict[Path, tuple[SavedModel, dict[str, Tensor]]] = field(default_factory=dict)

    def load(self, directory: Path, stage: str) -> tuple[SavedModel, dict[str, Tensor]]:
        """Return the model in `directory`, which `stage` wrote, and the weights of its encoder by our names."""
        path = directory.resolve()
        if path not in self._loaded:
            saved = read_model(directory, stage)
            model = EncoderModel(saved.params, saved.vocab_size).to(self.device)
            heads = tuple(name for name in saved.weights if not name.startswith(saved.names.encoder))
            saved.copy_into(model, may_lack=saved.names.pooler, may_leave=heads)
            self._loaded[path] = saved, model.encoder.state_dict()
        return self._loaded[path]


def is_tuned(directory: Path) -> bool:
    """Return whether a directory holds what was trained on an encoder, and not a whole model."""
    return (directory / TUNING).exists()


def read(
    directory: Path,
    stage: str,
    encoder: Path | None = None,
    encoders: Encoders | None = None,
    encoder_stage: str = "pretrain",
) -> SavedModel:
    """Return the model that `stage` wrote to `directory`: a whole one, or a `TunedModel`.

    Args:
        directory: of the model.
        stage: that wrote it.
        encoder: what it stands on, where it is no whole model; None: where its directory says.
        encoders: those that are loaded already.
        encoder_stage: what writes the encoder.

    Raises:
        UserError: the directory is incomplete or damaged, or it stands on another encoder.
    """
    if not is_tuned(directory):
        return read_model(directory, stage)
    manifest, content = read_manifest(directory, stage), read_json(directory / TUNING)
    config = read_json(directory / CONFIG)
    try:
        named = Path(content.pop("encoder"))
        tuning = _params(content)
        hashed = manifest["inputs"][PRETRAINED]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{directory / TUNING} is damaged ({one_line(error)}): run `dvc repro {stage}`") from None
    place = encoder or named
    read_manifest(place, encoder_stage)
    if sha256(place / MANIFEST) != hashed:
        raise UserError(
            f"{directory} was fine-tuned from another model than the one in {place}: run `dvc repro {stage}`, or name "
            "the directory of the encoder that it stands on"
        )
    base, shared = (encoders or Encoders()).load(place, encoder_stage)
    try:
        weights = _weights(directory, tuning, base, config)
        params = architecture_of(config["model_type"]).params(config)
    except (KeyError, TypeError, ValueError, OSError, SafetensorError) as error:
        raise UserError(
            f"{directory} holds no model of this pipeline ({one_line(error)}): run `dvc repro {stage}`"
        ) from None
    return TunedModel(directory, params, base.vocab_size, weights, config, tuning, base, shared)


def _weights(directory: Path, tuning: TuningParams, base: SavedModel, config: Mapping[str, Any]) -> dict[str, Tensor]:
    if tuning.method != "lora":
        return load_file(directory / WEIGHTS)
    classes = architecture_of(base.params.architecture).classes
    prefix = base.names.encoder if config["architectures"] == [f"{classes}{EncoderModel.purpose}"] else ""
    weights = peft.from_peft(load_file(directory / peft.WEIGHTS), _targets(tuning, base), prefix)
    heads = load_file(directory / HEADS) if (directory / HEADS).exists() else {}
    return weights | heads


def _targets(tuning: TuningParams, base: SavedModel) -> list[peft.Target]:
    return [*peft.targets(tuning, base.params.layers, base.names)]


def _params(content: Mapping[str, Any]) -> TuningParams:
    """Return how was trained; what the method does not read has some value."""
    unread = {"placement": "houlsby", "bottleneck": 1, "rank": 1, "alpha": 1.0, "matrices": ["query"], "method_lr": 1.0}
    assert {key for keys in KEYS.values() for key in keys} | {"method_lr"} == unread.keys()
    return TuningParams.model_validate(unread | dict(content))

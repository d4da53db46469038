"""Model directories that Hugging Face loads: config, weights, tokenizer, model card."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from maskline.core.errors import UserError, one_line
from maskline.core.storage import (
    fresh_directory,
    read_json,
    read_manifest,
    write_bytes,
    write_json,
    write_manifest,
    write_text,
)
from maskline.core.text import escape
from maskline.model.architecture import Encoder, architecture_of
from maskline.model.convert import check_sizes, from_hugging_face, to_hugging_face
from maskline.model.heads import EncoderModel, PretrainingModel
from maskline.model.names import Names
from maskline.model.settings import ModelParams, architectures

WEIGHTS = "model.safetensors"
HEADS = "heads.safetensors"
"""The heads of a model of which `transformers` can express the encoder alone."""
CONFIG = "config.json"

LONG = 8
"""Characters of a number of a model card above which it is rounded."""


@dataclass(frozen=True)
class TokenizerFiles:
    """The tokenizer of a model, as it lies in the model's directory."""

    files: Mapping[str, bytes]
    pad_token_id: int


def export(
    directory: Path,
    model: EncoderModel,
    architecture: str,
    tokenizer: TokenizerFiles,
    card: str,
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    *,
    untrained: Sequence[str] = (),
) -> None:
    """Write `model` to `directory` as Hugging Face's `architecture`, with a tokenizer and a model card.

    As `BertModel`, say, it is the encoder, and its heads, where it has some, are in a file beside it.

    Args:
        directory: a new one.
        model: what is saved.
        architecture: the class of `transformers` that loads it.
        tokenizer: what goes with it.
        card: the text of README.md.
        provenance: what the manifest says.
        settings: keys for config.json, such as labels.
        untrained: what the names of weights begin with that nothing trained: they stay out.
    """
    fresh_directory(directory)
    ours = model.architecture
    weights = {name: w for name, w in to_hugging_face(model).items() if not name.startswith(tuple(untrained))}
    files = {WEIGHTS: weights}
    if architecture == f"{ours.classes}{EncoderModel.purpose}":
        heads = {name: w for name, w in weights.items() if not name.startswith(ours.names.encoder)}
        files = {WEIGHTS: {name: w for name, w in weights.items() if name not in heads}}
        files |= {HEADS: heads} if heads else {}
    content = ours.config(model.encoder.params, model.encoder.vocab_size, architecture)
    content["pad_token_id"] = tokenizer.pad_token_id  # `transformers` never trains the row of this token
    write_json(directory / CONFIG, content | dict(model.config()) | dict(settings or {}))
    for name, part in files.items():
        write_bytes(directory / name, save(part, {"format": "pt"}))
    for name, raw in tokenizer.files.items():
        write_bytes(directory / name, raw)
    for name, text in model.files().items():
        write_text(directory / name, text)
    write_text(directory / "README.md", card)
    write_manifest(directory, provenance)


@dataclass(frozen=True)
class SavedModel:
    """What a model directory holds."""

    directory: Path
    params: ModelParams
    vocab_size: int
    weights: Mapping[str, Tensor]
    """Under Hugging Face's names."""
    config: Mapping[str, Any]

    @property
    def names(self) -> Names:
        """Return the names of its architecture's weights."""
        return architecture_of(self.params.architecture).names

    def copy_into(self, model: EncoderModel, *, may_lack: Sequence[str] = (), may_leave: Sequence[str] = ()) -> None:
        """Copy the weights into `model`.

        Args:
            model: of the same architecture; what the directory lacks keeps its value.
            may_lack: what the names of weights begin with that the directory need not hold.
            may_leave: what the names of weights begin with that `model` need not have.

        Raises:
            UserError: other weights are missing or left over, or one has another shape.
        """
        try:
            fit = from_hugging_face(model, self.weights)
        except ValueError as error:
            raise UserError(f"{self.directory / WEIGHTS}: {error}: give a directory of this pipeline") from None
        missing = [name for name in fit.missing if not name.startswith(tuple(may_lack))]
        left_over = [name for name in fit.left_over if not name.startswith(tuple(may_leave))]
        for names, what in ((missing, "lacks"), (left_over, "holds, and the model has not,")):
            if names:
                raise UserError(
                    f"{self.directory} {what} {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}: "
                    "give the directory of a model of this kind"
                )


def read_model(directory: Path, stage: str) -> SavedModel:
    """Return what is in a directory that `stage` wrote.

    Raises:
        UserError: the directory is incomplete or damaged.
    """
    manifest = read_manifest(directory, stage)
    content = read_json(directory / CONFIG)
    try:
        weights = load_file(directory / WEIGHTS)
        if HEADS in manifest["files"]:
            weights |= load_file(directory / HEADS)
        params = _model_params(content)
        check_sizes(params, content["vocab_size"], weights)
        return SavedModel(directory, params, content["vocab_size"], weights, content)
    except (KeyError, TypeError, ValueError, OSError, SafetensorError) as error:
        raise UserError(
            f"{directory} holds no model of this pipeline ({one_line(error)}): run `dvc repro {stage}`"
        ) from None


def read_shape(directory: Path) -> tuple[ModelParams, int] | None:
    """Return the architecture and the size of the vocabulary that the config in `directory` gives; None without one.

    Raises:
        UserError: it describes no encoder of ours.
    """
    if not (directory / CONFIG).exists():
        return None
    content = read_json(directory / CONFIG)
    try:
        return _model_params(content), int(content["vocab_size"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{directory / CONFIG} describes no encoder of ours ({one_line(error)}): make the directory anew"
        ) from None


def _model_params(config: Mapping[str, Any]) -> ModelParams:
    """Return the section `model` that the content of a config.json describes.

    Raises:
        KeyError: a key is missing.
        ValueError: it is of no architecture of ours, or differs from ours.
    """
    if (name := config["model_type"]) not in architectures():
        raise ValueError(f"model_type {name} is none of {', '.join(architectures())}")
    return architecture_of(name).params(config)


def load_pretraining_model(
    directory: Path, stage: str = "pretrain", *, dropout: float | None = None
) -> PretrainingModel:
    """Return the pretrained model in `directory`, which `stage` wrote; what was trained without NSP lacks its head.

    `dropout` is that of further training; None: what it was trained with.

    Raises:
        UserError: the directory is incomplete or damaged, or holds a fine-tuned model.
    """
    saved = read_model(directory, stage)
    if not any(name.startswith(saved.names.mlm) for name in saved.weights):
        raise UserError(f"{directory} has no masked-language-model head: give the directory of a pretrained model")
    params = saved.params if dropout is None else saved.params.model_copy(update={"dropout": dropout})
    model = PretrainingModel(params, saved.vocab_size)
    saved.copy_into(model, may_lack=(*saved.names.pooler, *saved.names.nsp))
    return model


def load_encoder(directory: Path, stage: str = "pretrain") -> Encoder:
    """Return the encoder of the model in `directory`, pretrained or fine-tuned.

    Raises:
        UserError: the directory is incomplete or damaged.
    """
    saved = read_model(directory, stage)
    model = EncoderModel(saved.params, saved.vocab_size)
    heads = {name for name in saved.weights if not name.startswith(saved.names.encoder)}
    saved.copy_into(model, may_lack=saved.names.pooler, may_leave=tuple(heads))
    return model.encoder


def model_card(
    title: str, language: str, tables: Mapping[str, Mapping[str, Any]], note: str, architecture: str = "bert"
) -> str:
    """Return the README.md of a model directory: front matter for the hub, a note, and a table per section.

    The note is Markdown, and all else is shown as it is. What has no value is left out.
    """
    lines = [
        "---",
        f"language: {json.dumps(language)}",  # as it is, `no` would be a truth value to YAML
        "library_name: transformers",
        f"tags: [{architecture}, maskline]",
        "---",
        "",
        f"# {escape(title)}",
        "",
        note,
    ]
    for name, values in tables.items():
        rows = [f"| {escape(key)} | {escape(_rounded(value))} |" for key, value in values.items() if value is not None]
        if rows:
            lines += ["", f"## {escape(name)}", "", "| | |", "|---|---|", *rows]
    return "\n".join(lines) + "\n"


def data_table(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return where data are from and their licence, as a model card says it, given a manifest that has both.

    Of files of the user's own it names no more than how many there are.
    """
    provenance = manifest.get("provenance", {})
    named = {name: value for name, value in provenance.items() if isinstance(value, str | int)}
    files = {
        name.replace("_", " "): len(value) for name, value in provenance.items() if value and isinstance(value, list)
    }
    return {**named, **files, "licence": manifest.get("licence")}


def _rounded(value: Any) -> str:
    """Return a value as text: what was measured is rounded, and what was chosen has few digits anyway."""
    text = str(value)
    return f"{value:.4g}" if isinstance(value, float) and len(text) > LONG else text

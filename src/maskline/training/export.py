"""Model directories that Hugging Face loads: config, weights, tokenizer, model card."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from maskline.errors import UserError
from maskline.model.bert import Encoder
from maskline.model.convert import config, from_hugging_face, model_params, to_hugging_face
from maskline.model.heads import ClassificationModel, PretrainingModel
from maskline.params import ModelParams
from maskline.storage import (
    fresh_directory,
    read_json,
    read_manifest,
    sha256,
    write_bytes,
    write_json,
    write_manifest,
    write_text,
)
from maskline.tokenization.load import TOKENIZER_CONFIG, TOKENIZER_FILE, load_tokenizer

WEIGHTS = "model.safetensors"
HEADS = "heads.safetensors"
"""The heads of a model of which Hugging Face's BERT can express the encoder alone."""
CONFIG = "config.json"
_TOKENIZER_FILES = (TOKENIZER_FILE, "vocab.txt")


def export(
    directory: Path,
    model: PretrainingModel | ClassificationModel,
    architecture: str,
    tokenizer: Path,
    card: str,
    provenance: Mapping[str, Any],
    labels: list[str] | None = None,
    *,
    nsp: bool = True,
) -> None:
    """Write `model` to `directory` as Hugging Face's `architecture`, with the files of `tokenizer` and a model card.

    As `BertModel` it is the encoder, and its heads are in a file beside it. Without `nsp` nothing trained the pooler
    and the head of next-sentence prediction: they stay out.
    """
    fresh_directory(directory)
    params = model.encoder.params
    weights = to_hugging_face(model)
    if not nsp:
        weights = {name: w for name, w in weights.items() if not name.startswith(("bert.pooler", "cls.seq_"))}
    files = {WEIGHTS: weights}
    if architecture == "BertModel":
        heads = {name: w for name, w in weights.items() if name.startswith("cls.")}
        files = {WEIGHTS: {name: w for name, w in weights.items() if name not in heads}, HEADS: heads}
    content = config(params, model.encoder.vocab_size, architecture)
    content["pad_token_id"] = load_tokenizer(tokenizer).special.pad  # `transformers` never trains the row of this token
    if labels:
        content["id2label"] = {str(number): label for number, label in enumerate(labels)}
        content["label2id"] = {label: number for number, label in enumerate(labels)}
        content["problem_type"] = "single_label_classification"
    write_json(directory / CONFIG, content)
    for name, part in files.items():
        write_bytes(directory / name, save(part, {"format": "pt"}))
    for name in _TOKENIZER_FILES:
        write_bytes(directory / name, (tokenizer / name).read_bytes())
    settings = read_json(tokenizer / TOKENIZER_CONFIG)
    longest = min(params.max_positions, settings["model_max_length"])
    write_json(directory / TOKENIZER_CONFIG, settings | {"model_max_length": longest})
    write_text(directory / "README.md", card)
    write_manifest(directory, provenance)


def load_pretraining_model(directory: Path, stage: str = "pretrain") -> PretrainingModel:
    """Return the pretrained model in `directory`, which `stage` wrote; what was trained without NSP lacks its head.

    Raises:
        UserError: the directory is incomplete or damaged, or holds a fine-tuned model.
    """
    params, vocab_size, weights = read_model(directory, stage)
    model = PretrainingModel(params, vocab_size)
    missing = from_hugging_face(model, weights)
    if any(name.startswith("mlm.") for name in missing):
        raise UserError(f"{directory} has no masked-language-model head: give the directory of a pretrained model")
    return model


def load_encoder(directory: Path) -> Encoder:
    """Return the encoder of the model in `directory`, pretrained or fine-tuned.

    Raises:
        UserError: the directory is incomplete or damaged.
    """
    params, vocab_size, weights = read_model(directory, "pretrain")
    model = PretrainingModel(params, vocab_size)
    from_hugging_face(model, weights)
    return model.encoder


def load_classifier(directory: Path, stage: str = "finetune") -> tuple[ClassificationModel, list[str]]:
    """Return the fine-tuned model in `directory`, which `stage` wrote, and its label names.

    Raises:
        UserError: the directory is incomplete or damaged.
    """
    params, vocab_size, weights = read_model(directory, stage)
    names = read_json(directory / CONFIG)["id2label"]
    labels = [names[str(number)] for number in range(len(names))]
    model = ClassificationModel(params, vocab_size, len(labels), dropout=0.0)
    from_hugging_face(model, weights)
    return model, labels


def read_model(directory: Path, stage: str) -> tuple[ModelParams, int, dict[str, Tensor]]:
    """Return architecture, vocabulary size and weights, under Hugging Face's names, of a directory that `stage` wrote.

    Raises:
        UserError: the directory is incomplete or damaged.
    """
    read_manifest(directory, stage)
    content = read_json(directory / CONFIG)
    try:
        weights = load_file(directory / WEIGHTS)
        if content["architectures"] == ["BertModel"]:
            weights |= load_file(directory / HEADS)
        return model_params(content), content["vocab_size"], weights
    except (KeyError, ValueError, SafetensorError) as error:
        raise UserError(f"{directory} holds no BERT of this pipeline ({error}): run `dvc repro {stage}`") from None


def check_tokenizer(model: Path, tokenizer: Path, stage: str) -> None:
    """Refuse a model directory that was not made with the tokenizer in `tokenizer`.

    Raises:
        UserError: their vocabularies or normalizers differ.
    """
    if sha256(model / TOKENIZER_FILE) != sha256(tokenizer / TOKENIZER_FILE):
        raise UserError(f"{model} was made with another tokenizer than the one in {tokenizer}: run `dvc repro {stage}`")


def model_card(title: str, language: str, tables: Mapping[str, Mapping[str, Any]], note: str) -> str:
    """Return the README.md of a model directory: front matter for the hub, a note, and a table per section."""
    lines = [
        "---",
        f"language: {language}",
        "library_name: transformers",
        "tags: [bert, maskline]",
        "---",
        "",
        f"# {title}",
        "",
        note,
    ]
    for name, values in tables.items():
        lines += ["", f"## {name}", "", "| | |", "|---|---|"]
        lines += [f"| {key} | {'' if value is None else value} |" for key, value in values.items()]
    return "\n".join(lines) + "\n"

"""Using a fine-tuned model of any kind on any number of inputs."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import maskline.tasks
from maskline.core.errors import UserError, quoted
from maskline.finetuning.use import Predicted, Predictor
from maskline.model.architecture import architecture_of
from maskline.model.directory import read_model
from maskline.records.files import TABLES, Record, open_text, suffix
from maskline.tokenization.load import load_tokenizer

CHUNK = 1024
"""Inputs that are read, sorted by length and predicted at a time: memory does not grow with a file."""
TEXT = ".txt"

Input = Mapping[str, str]
"""Field -> text."""


def load_predictor(directory: Path, device: torch.device) -> Predictor:
    """Return the fine-tuned model in `directory`, ready for use.

    Raises:
        UserError: the directory is incomplete or damaged, or its model is of no kind of task.
    """
    saved = read_model(directory, f"finetune@{directory.name}")
    own = saved.config.get("maskline")
    kind = own.get("kind") if isinstance(own, dict) else None
    uses = {name: module for name, module in _uses() if kind == name or (kind is None and _fits(module, saved.config))}
    if not uses:
        architecture = ", ".join(map(str, saved.config["architectures"]))
        raise UserError(
            f"{directory} holds a {architecture}, fine-tuned for no kind of task: give one that `finetune` wrote, "
            "such as data/models/sentiment"
        )
    (module,) = uses.values()
    predictor: Predictor = module.open_predictor(saved, load_tokenizer(directory), device)
    return predictor


def _uses() -> Iterator[tuple[str, ModuleType]]:
    """Yield the kinds of task by name, each with its module `use`."""
    for kind in pkgutil.iter_modules(maskline.tasks.__path__):
        if kind.ispkg:
            yield kind.name, importlib.import_module(f"{maskline.tasks.__name__}.{kind.name}.use")


def _fits(module: ModuleType, config: Mapping[str, Any]) -> bool:
    classes = architecture_of(config["model_type"]).classes
    return bool({f"{classes}{purpose}" for purpose in module.PURPOSES} & set(config["architectures"]))


def typed_inputs(texts: Sequence[str], fields: Sequence[str]) -> list[Input]:
    """Return what is typed on a command line: each text is an input, or `fields` are one, in their order.

    Raises:
        UserError: their number does not fit `fields`, or a text came as bytes that are not UTF-8.
    """
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise UserError("a text is not UTF-8: check the encoding of the terminal")
    size = len(fields)
    if len(texts) % size:
        raise UserError(f"there are {len(texts)} texts, and an input has {size}, {', '.join(fields)}: give all of them")
    return [dict(zip(fields, texts[start : start + size], strict=True)) for start in range(0, len(texts), size)]


def read_lines(lines: Iterable[str], fields: Sequence[str], name: str) -> Iterator[Input]:
    """Yield a text for each of `lines`; errors call them `name`.

    Raises:
        UserError: an input consists of several texts.
    """
    if len(fields) > 1:
        raise UserError(
            f"{name} has lines of text, and an input has {', '.join(fields)}: give .csv, .tsv, .jsonl or .parquet"
        )
    for line in lines:
        yield {fields[0]: line.rstrip("\r\n")}


def read_inputs(path: Path, fields: Sequence[str], columns: Sequence[str]) -> Iterator[Input]:
    """Yield the inputs of a file: of .txt each line, of .csv, .tsv, .jsonl and .parquet each record.

    Args:
        path: the file; .gz may follow, but for Parquet.
        fields: what an input consists of.
        columns: where these stand in a record, in their order.

    Raises:
        UserError: the file is not what its name says, lacks a column, or has lines where several fields are needed.
    """
    ending = suffix(path)
    if ending == TEXT:
        with open_text(path) as lines:
            yield from read_lines(lines, fields, str(path))
    elif ending in TABLES:
        for record in TABLES[ending](path, "utf-8"):
            yield {field: _text(record, column, path) for field, column in zip(fields, columns, strict=True)}
    else:
        raise UserError(f"{path} is none of {TEXT}, {', '.join(TABLES)}: name it as what it is")


def _text(record: Record, column: str, path: Path) -> str:
    if column not in record:
        raise UserError(
            f"{path} has no column {quoted(column)}: it has {', '.join(map(str, record))}; --columns names others"
        )
    value = record[column]
    if isinstance(value, dict | list | bytes):
        raise UserError(
            f"{path}: column {quoted(column)} holds {type(value).__name__}, not text: --columns names others"
        )
    return "" if value is None else str(value)


def predictions(predictor: Predictor, inputs: Iterable[Input]) -> Iterator[tuple[list[Input], Predicted]]:
    """Yield inputs with what the model says of them, `CHUNK` at a time, in their order."""
    remaining = iter(inputs)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk, predictor.predict(chunk)

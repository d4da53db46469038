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
from maskline.adapters.directory import Encoders, read
from maskline.core.errors import UserError, quoted
from maskline.finetuning.use import Answering, Predicted, Predictor
from maskline.inference.typed import has_half_character
from maskline.model.architecture import architecture_of
from maskline.model.directory import SavedModel
from maskline.records.files import TABLES, Record, open_text, suffix
from maskline.tokenization.load import load_tokenizer

CHUNK = 1024
"""Inputs that are read, sorted by length and predicted at a time: memory does not grow with a file."""
TEXT = ".txt"

Input = Mapping[str, str]
"""Field -> text."""


def load_predictor(
    directory: Path, device: torch.device, encoder: Path | None = None, encoders: Encoders | None = None
) -> Predictor:
    """Return the fine-tuned model in `directory`, ready for use.

    Args:
        directory: of a whole model, or of what was trained on an encoder.
        device: where to compute.
        encoder: what it stands on, where it is no whole model; None: where its directory says.
        encoders: those that are loaded already, on `device`: what stands on one of them shares it.

    Raises:
        UserError: the directory is incomplete or damaged, it stands on another encoder, or its model is of no kind of
            task.
    """
    saved = read(directory, f"finetune@{directory.name}", encoder, encoders or Encoders(device))
    return open_saved(saved, directory, device)


def open_saved(saved: SavedModel, directory: Path, device: torch.device) -> Predictor:
    """Return the model `saved` of `directory`, where its tokenizer is, ready for use.

    Raises:
        UserError: it is of no kind of task.
    """
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


class Together:
    """Several models that read the same inputs: what each says stands under its name."""

    def __init__(self, predictors: Mapping[str, Predictor]) -> None:
        """Take them by name.

        Raises:
            UserError: they do not read the same.
        """
        self.predictors = predictors
        (first, one), *others = predictors.items()
        self.fields: Sequence[str] = one.fields
        for name, other in others:
            if list(other.fields) != list(one.fields):
                raise UserError(
                    f"{first} reads {' and '.join(one.fields)}, and {name} {' and '.join(other.fields)}: ask them one "
                    "at a time"
                )

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return what they say; of inputs that are too long, as many are counted as for the one that has most."""
        said = {name: predictor.predict(inputs) for name, predictor in self.predictors.items()}
        rows = [{name: one.rows[number] for name, one in said.items()} for number in range(len(inputs))]
        return Predicted(rows, max(one.cut for one in said.values()), max(one.windowed for one in said.values()))


def load_predictors(directories: Sequence[Path], device: torch.device, encoder: Path | None = None) -> Answering:
    """Return one model, or several that are asked together; an encoder that several stand on is loaded once.

    Raises:
        UserError: as for one, or two have the same name, or they do not read the same.
    """
    encoders = Encoders(device)
    if len(directories) == 1:
        return load_predictor(directories[0], device, encoder, encoders)
    names = [directory.name for directory in directories]
    if len(set(names)) < len(names):
        raise UserError(f"two of the models are called the same ({', '.join(names)}): each answers under its name")
    return Together({path.name: load_predictor(path, device, encoder, encoders) for path in directories})


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
    if any(map(has_half_character, texts)):
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


def predictions(predictor: Answering, inputs: Iterable[Input]) -> Iterator[tuple[list[Input], Predicted]]:
    """Yield inputs with what the model says of them, `CHUNK` at a time, in their order."""
    remaining = iter(inputs)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk, predictor.predict(chunk)

"""Using a fine-tuned model of any kind on any number of inputs."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskline.tasks
from maskline.core.errors import UserError, quoted
from maskline.finetuning.use import Answering, Predicted, Use
from maskline.graphs.directory import is_graph, open_graph
from maskline.inference.typed import has_half_character
from maskline.records.files import TABLES, Record, open_text, suffix
from maskline.tokenization.load import load_tokenizer

if TYPE_CHECKING:
    import torch

    from maskline.adapters.directory import Encoders

CHUNK = 1024
"""Inputs that are read, sorted by length and predicted at a time: memory does not grow with a file."""
TEXT = ".txt"

Input = Mapping[str, str]
"""Field -> text."""


def load_predictor(
    directory: Path,
    device: "torch.device | str" = "cpu",
    encoder: Path | None = None,
    encoders: "Encoders | None" = None,
) -> Answering:
    """Return the fine-tuned model in `directory`, ready for use.

    Args:
        directory: of a whole model, of what was trained on an encoder, or of a graph, which needs no torch.
        device: where to compute; a graph runs on the CPU.
        encoder: what it stands on, where it is no whole model; None: where its directory says.
        encoders: those that are loaded already, on `device`: what stands on one of them shares it.

    Raises:
        UserError: the directory is incomplete or damaged, it stands on another encoder, or its model is of no kind of
            task.
    """
    if is_graph(directory):
        graph = open_graph(directory)
        use = dict(_uses()).get(graph.kind or "")
        if use is None:
            raise UserError(_no_kind(directory, graph.config))
        return use.open_graph(graph, load_tokenizer(directory))
    import torch

    from maskline.adapters.directory import Encoders, read

    device = torch.device(device)
    saved = read(directory, f"finetune@{directory.name}", encoder, encoders or Encoders(device))
    return use_of(saved.config, directory).open_predictor(saved, load_tokenizer(directory), device)


def use_of(config: Mapping[str, Any], directory: Path) -> Use:
    """Return how the model of `directory`, with its config.json, is used.

    Raises:
        UserError: it is of no kind of task.
    """
    kind = find_kind(config)
    if kind is None:
        raise UserError(_no_kind(directory, config))
    return dict(_uses())[kind]


def find_kind(config: Mapping[str, Any]) -> str | None:
    """Return the kind of task that the model with this config.json is used for, by its own word or by its class."""
    own = config.get("maskline")
    kind = own.get("kind") if isinstance(own, dict) else None
    uses = dict(_uses())
    return next((name for name in uses if kind == name or (kind is None and _fits(uses[name], config))), None)


def _no_kind(directory: Path, config: Mapping[str, Any]) -> str:
    architecture = ", ".join(map(str, config["architectures"]))
    return (
        f"{directory} holds a {architecture}, fine-tuned for no kind of task: give one that `finetune` wrote, "
        "such as data/models/sentiment"
    )


class Together:
    """Several models that read the same inputs: what each says stands under its name."""

    def __init__(self, predictors: Mapping[str, Answering]) -> None:
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


def load_predictors(
    directories: Sequence[Path], device: "torch.device | str" = "cpu", encoder: Path | None = None
) -> Answering:
    """Return one model, or several that are asked together; an encoder that several stand on is loaded once.

    Raises:
        UserError: as for one, or two have the same name, or they do not read the same.
    """
    if len(directories) == 1:
        return load_predictor(directories[0], device, encoder)
    names = [directory.name for directory in directories]
    if len(set(names)) < len(names):
        raise UserError(f"two of the models are called the same ({', '.join(names)}): each answers under its name")
    encoders = None
    if not all(map(is_graph, directories)):
        import torch

        from maskline.adapters.directory import Encoders

        encoders = Encoders(torch.device(device))
    return Together({path.name: load_predictor(path, device, encoder, encoders) for path in directories})


def _uses() -> Iterator[tuple[str, Use]]:
    """Yield the kinds of task by name, each with its module `use`."""
    for kind in pkgutil.iter_modules(maskline.tasks.__path__):
        if kind.ispkg:
            use: Any = importlib.import_module(f"{maskline.tasks.__name__}.{kind.name}.use")
            yield kind.name, use


def _fits(use: Use, config: Mapping[str, Any]) -> bool:
    from maskline.model.architecture import architecture_of

    classes = architecture_of(config["model_type"]).classes
    return bool({f"{classes}{purpose}" for purpose in use.PURPOSES} & set(config["architectures"]))


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

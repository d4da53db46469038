"""Files in the format of SQuAD, 1.1 or 2.0: articles of paragraphs with questions, in one JSON document."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError, one_line
from maskline.records.files import Record

LARGEST = 1 << 28
"""Bytes of a file, unpacked: it is read whole. SQuAD 2.0 has 42 million."""


def read_squad(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield a record for each question, with the columns of SQuAD on the Hugging Face hub, `is_impossible` too.

    Raises:
        UserError: it is no JSON, has more than LARGEST bytes, or something is not where the format has it.
    """
    try:
        content = json.loads(_text(path, encoding))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON ({one_line(error)}): correct it, or name it as what it is") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not in the format of SQuAD: it begins with no object {{...}}; see README.md")
    for at, article in _parts(content, "data", str(path)):
        for within, paragraph in _parts(article, "paragraphs", at):
            context = _get(paragraph, "context", within)
            for place, question in _parts(paragraph, "qas", within):
                yield {
                    "id": question.get("id"),
                    "title": article.get("title"),
                    "context": context,
                    "question": _get(question, "question", place),
                    "answers": _get(question, "answers", place),
                    "is_impossible": question.get("is_impossible"),
                }


def _text(path: Path, encoding: str) -> str:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is not a complete gzip file ({error}): fetch it again") from None
    if len(content) > LARGEST:
        raise UserError(f"{path} has more than {LARGEST:,} bytes: cut it into several files, or write .jsonl")
    try:
        text = content.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise UserError(f"{path} is not {encoding} ({one_line(error)}): convert it, or name its encoding") from None
    return text.removeprefix("\ufeff")


def _parts(content: dict[str, Any], key: str, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in the list `key`, each with where it stands, which errors name."""
    values = _get(content, key, at)
    if not isinstance(values, list):
        raise UserError(f"{at}: {key} is {type(values).__name__}, no list: correct it")
    for number, value in enumerate(values):
        place = f"{at}: {key}[{number}]" if ": " not in at else f"{at}.{key}[{number}]"
        if not isinstance(value, dict):
            raise UserError(f"{place} is {type(value).__name__}, no object: correct it")
        yield place, value


def _get(content: dict[str, Any], key: str, at: str) -> Any:
    if key not in content:
        raise UserError(f"{at} has no {key}: it has {one_line(', '.join(map(str, content))) or 'nothing'}")
    return content[key]

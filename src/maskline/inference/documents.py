"""Texts to be used, from files of any size, each with an id and, where it has one, a title."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from maskline.core.errors import UserError
from maskline.inference.typed import has_half_character
from maskline.records.files import TABLES, Record, field, open_text, suffix

TEXT = ".txt"
FORMATS = (TEXT, *TABLES)
CHUNK_DOCUMENTS = 8_192
CHUNK_CHARACTERS = 1 << 23
"""Most that is in memory at a time, in documents and in characters; one document alone may be longer."""


class Document(NamedTuple):
    """A text with an id."""

    id: str
    title: str
    """Empty where it has none."""
    text: str


@dataclass(frozen=True)
class Columns:
    """Where documents stand in a record."""

    text: str = "text"
    id: str | None = None
    """None: `id` where a record has it, else the name of the file and the number of the record."""
    title: str | None = None
    """None: `title` where a record has it."""


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return `paths` in their order, of a directory all files in it that can be read, by name.

    Raises:
        UserError: a path is missing or is none of FORMATS, or ids, which have the names of files, could not: a name is
            not UTF-8, or two files have one.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file() and suffix(file) in FORMATS)
            if not inside:
                raise UserError(f"{path} has no {', '.join(FORMATS)} files: name the files, or another folder")
            found += inside
        elif not path.is_file():
            raise UserError(f"{path} is missing: correct its name")
        elif suffix(path) not in FORMATS:
            raise UserError(f"{path} is none of {', '.join(FORMATS)}: name it as what it is")
        else:
            found.append(path)
    names = Counter(path.name for path in found)
    if unreadable := next(filter(has_half_character, names), None):
        raise UserError(f"the name of the file {unreadable!a} is not UTF-8: ids name the file, so rename it")
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise UserError(f"several files are called {twice[0]}: ids name the file, so rename one of them")
    return found


def read_documents(paths: Iterable[Path], columns: Columns) -> Iterator[Document]:
    """Yield the documents of files: of .txt each line, of .csv, .tsv, .jsonl and .parquet each record; .gz may follow.

    Raises:
        UserError: a file has none, is not what its name says, or lacks a column; or a text has half a character.
    """
    for path in paths:
        number = 0
        for number, document in enumerate(_read(path, columns), 1):
            if any(map(has_half_character, document)):
                raise UserError(f"{path}, record {number} has half a character (a surrogate): correct or remove it")
            yield document if document.id else document._replace(id=f"{path.name}:{number}")
        if not number:
            raise UserError(f"{path} has no text: leave it out")


def _read(path: Path, columns: Columns) -> Iterator[Document]:
    """Yield the documents of a file, without an id where the file gives none."""
    ending = suffix(path)
    if ending == TEXT:
        with open_text(path) as lines:
            for line in lines:
                yield Document("", "", line.rstrip("\r\n"))
        return
    for record in TABLES[ending](path, "utf-8"):
        yield Document(
            _optional(record, columns.id, "id", path),
            _optional(record, columns.title, "title", path),
            field(record, columns.text, str(path)),
        )


def _optional(record: Record, column: str | None, usual: str, path: Path) -> str:
    if column is None:
        return field(record, usual, str(path)) if usual in record else ""
    return field(record, column, str(path))


def chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield documents some at a time, as many as may be in memory; which, depends on nothing but the documents."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        size = len(document.title) + len(document.text)
        if chunk and (len(chunk) == CHUNK_DOCUMENTS or characters + size > CHUNK_CHARACTERS):
            yield chunk
            chunk, characters = [], 0
        chunk.append(document)
        characters += size
    if chunk:
        yield chunk

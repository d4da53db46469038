"""From records to tagged sentences: the columns `words` and `tags`, indices into the tags that the manifest lists."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from maskline.core.errors import UserError
from maskline.corpus.articles import clean_line
from maskline.dataset.source import Part, Reader
from maskline.dataset.write import Example, Facts, Row
from maskline.records.files import Record, field, open_text, read_jsonl, read_parquet
from maskline.tasks.tokens.entities import LETTERS, OUTSIDE, SCHEMES, Entity, Scheme, read_entities, spell

if TYPE_CHECKING:
    from maskline.tasks.tokens.settings import TokensDataset

WORDS, TAGS = "words", "tags"
DOCUMENT = "-DOCSTART-"
LONGEST_SENTENCE = 1 << 20
"""Characters of the lines of a sentence in a file: a file without blank lines is one sentence."""
SCHEMA = pa.schema({WORDS: pa.list_(pa.string()), TAGS: pa.list_(pa.int8())})


def read_tagged_lines(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield sentences of lines `word TAB tag`, or with spaces between, and further columns before the tag.

    A line `-DOCSTART-`, with which CoNLL-2003 marks where a document begins, is no word.

    Raises:
        UserError: a line has one column, or a sentence more than LONGEST_SENTENCE.
    """
    words: list[str] = []
    tags: list[str] = []
    size = 0
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            size += len(line)
            if size > LONGEST_SENTENCE:
                raise UserError(
                    f"{path}, line {number}: a sentence has more than {LONGEST_SENTENCE:,} characters by here; "
                    "put a blank line between sentences"
                )
            columns = line.split("\t") if "\t" in line else line.split()
            if not line.strip() or columns[0] == DOCUMENT:
                if words:
                    yield {WORDS: words, TAGS: tags}
                words, tags, size = [], [], 0
            elif len(columns) < 2:
                raise UserError(f"{path}, line {number} has one column: a word and its tag are needed")
            else:
                words.append(columns[0])
                tags.append(columns[-1].strip())
    if words:
        yield {WORDS: words, TAGS: tags}


LINES = dict.fromkeys((".tsv", ".txt", ".conll", ".bio"), read_tagged_lines)
READERS: dict[str, Reader] = {**LINES, ".jsonl": read_jsonl, ".parquet": read_parquet}


def tag_names(types: Sequence[str]) -> list[str]:
    """Return the tags of these types of entities: O, B-X and I-X of the first type, and so on (IOB2)."""
    return [OUTSIDE, *(f"{mark}-{name}" for name in types for mark in "BI")]


class Examples:
    """How tagged sentences are made of records."""

    def __init__(self) -> None:
        self._unknown = Counter[str]()
        self._off_scheme = {scheme: Counter[str]() for scheme in SCHEMES}
        self._first: dict[Scheme, str] = {}

    def schema(self, settings: "TokensDataset") -> pa.Schema:  # noqa: ARG002  # the same for all
        """Return the columns."""
        return SCHEMA

    def readers(self, settings: "TokensDataset") -> Mapping[str, Reader]:  # noqa: ARG002  # the same for all
        """Return the readers of tagged lines and of files with columns."""
        return READERS

    def read(self, part: Part, settings: "TokensDataset", dropped: Counter[str]) -> Iterator[Example]:
        """Yield the sentences; those with a tag that is missing or not in `settings`, or without text, are left out.

        A tag that breaks the scheme is read as what it continues or begins, and counted.

        Raises:
            UserError: a record has no such columns, or not as many tags as words.
        """
        known = {OUTSIDE, *(f"{mark}-{name}" for mark in LETTERS for name in settings.types)}
        ids = {tag: number for number, tag in enumerate(tag_names(settings.types))}
        dropped.update({"missing": 0, "unknown_tag": 0, "empty": 0})
        for number, (raw, tags) in enumerate(_sentences(part, settings), 1):
            if len(raw) != len(tags):
                raise UserError(f"{part.name}, sentence {number} has {len(raw)} words and {len(tags)} tags: correct it")
            if "" in tags:  # null or NaN
                dropped["missing"] += 1
                continue
            unknown = [tag for tag in tags if tag not in known]
            self._unknown.update(unknown)
            if unknown:
                dropped["unknown_tag"] += 1
                continue
            found = read_entities(tags)
            self._compare(tags, found, f"{Path(part.name).name}, sentence {number}")
            words = [clean_line(word.removeprefix(settings.word_prefix)) for word in raw]
            numbers = [ids[tag] for tag in spell(found, len(tags))]
            if any(words):
                yield Example(" ".join(words), tuple(numbers), {WORDS: words, TAGS: numbers})
            else:
                dropped["empty"] += 1

    def _compare(self, tags: Sequence[str], found: Sequence[Entity], place: str) -> None:
        """Count the tags that are not as each of the schemes spells the entities `found`."""
        for scheme, counts in self._off_scheme.items():
            for number, (tag, other) in enumerate(zip(tags, spell(found, len(tags), scheme), strict=True), 1):
                if tag != other:
                    counts[tag] += 1
                    self._first.setdefault(scheme, f"{place}, word {number}, {tag}")

    def facts(self, settings: "TokensDataset", splits: Mapping[str, Sequence[Row]], section: str) -> Facts:
        """Return the tags, how often each occurs in a split, what other tags there were, and which break the scheme.

        Raises:
            UserError: a type never occurs, or the tags are of another scheme.
        """
        self._check_scheme(settings.scheme, section)
        tags = tag_names(settings.types)
        counts = {split: Counter(number for row in rows for number in row[TAGS]) for split, rows in splits.items()}
        for name in settings.types:
            if not any(count[tags.index(f"B-{name}")] for count in counts.values()):
                raise UserError(
                    f"{section}.types: nothing is tagged as {name}; unknown tags are "
                    f"{', '.join(tag for tag, _ in self._unknown.most_common(10)) or 'none'}"
                )
        return Facts(
            dataset={
                "labels": tags,
                "unknown_tags": dict(sorted(self._unknown.items())),
                "scheme": settings.scheme,
                "off_scheme_tags": dict(sorted(self._off_scheme[settings.scheme].items())),
                "first_off_scheme": self._first.get(settings.scheme),
            },
            splits={s: {"labels": {tag: count[n] for n, tag in enumerate(tags)}} for s, count in counts.items()},
        )

    def _check_scheme(self, scheme: Scheme, section: str) -> None:
        """Refuse a scheme where another one fits more of the tags."""
        misfits = {name: counts.total() for name, counts in self._off_scheme.items()}
        best = min(SCHEMES, key=lambda name: misfits[name])
        if misfits[best] < misfits[scheme]:
            left = f"all but {misfits[best]:,}" if misfits[best] else "all"
            raise UserError(
                f"{section}.scheme is {scheme}, and {misfits[scheme]:,} tags are not as it has them, the first of them "
                f"{self._first[scheme]}; {best} fits {left}: set scheme to {best}, or correct the tags"
            )


def _sentences(part: Part, settings: "TokensDataset") -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of each sentence, as they are in the source, and their tags."""
    lines = part.name.removesuffix(".gz").endswith(tuple(LINES))
    columns = (WORDS, TAGS) if lines else (settings.words_column, settings.tags_column)
    if lines or not settings.sentence_end:
        for record in part.records:
            words, tags = (_list(record, column, part.name) for column in columns)
            yield words, tags
        return
    words, tags = [], []
    for record in part.records:
        word, tag = (field(record, column, part.name) for column in columns)
        words.append(word)
        tags.append(tag)
        if word.removeprefix(settings.word_prefix) in settings.sentence_end:
            yield words, tags
            words, tags = [], []
    if words:
        yield words, tags


def _list(record: Record, column: str, name: str) -> list[str]:
    if column not in record:
        raise UserError(f"{name} has no column {column}: it has {', '.join(map(str, record))}")
    values = record[column]
    if not isinstance(values, list):
        raise UserError(f"{name}: column {column} holds {type(values).__name__}, no list: name another")
    return ["" if value is None else str(value) for value in values]

"""From records to labelled texts: the columns `text` and `label`, an index into the labels that the manifest lists.

Where two texts make one example, the column `second` has the other.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from maskline.core.errors import UserError, one_line, quoted
from maskline.dataset.source import HIDDEN, Part, Reader
from maskline.dataset.write import Example, Facts, Row
from maskline.records.files import TABLES, Record, field
from maskline.tasks.classification.cleaning import clean_example, label_key

if TYPE_CHECKING:
    from maskline.tasks.classification.settings import ClassificationDataset

TEXTS, LABEL = ("text", "second"), "label"

_RETWEET = re.compile(r"\b[rm]t\s+(?=@)")
_USER_OR_LINK = re.compile(r"@\w+|https?:\S*|www\.\S+")
_EDGES = " \"'“”‘’`:.…|-"  # noqa: RUF001  # the quotes that people type


def near_key(text: str) -> str:
    """Return what near copies of a text share: case, users, links, `RT` and the punctuation around it are left out.

    A retweet repeats a text under other user names and another short link; both copies in different splits would let
    a model recite what it should judge. A text of which nothing is left is like no other.
    """
    bare = _USER_OR_LINK.sub("", _RETWEET.sub("", text.casefold()))
    return " ".join(bare.split()).strip(_EDGES) or text


class Examples:
    """How labelled texts are made of records."""

    def __init__(self) -> None:
        self._seen = Counter[str]()

    def schema(self, settings: "ClassificationDataset") -> pa.Schema:
        """Return the columns."""
        texts = zip(TEXTS, settings.text_columns, strict=False)
        return pa.schema([*((name, pa.string()) for name, _ in texts), (LABEL, pa.int8())])

    def readers(self, settings: "ClassificationDataset") -> Mapping[str, Reader]:  # noqa: ARG002  # the same for all
        """Return the readers of files with columns."""
        return TABLES

    def read(self, part: Part, settings: "ClassificationDataset", dropped: Counter[str]) -> Iterator[Example]:
        """Yield the texts of the labels in `settings`.

        Left out are records of other labels, those in which a label is empty or anything is null, NaN or not there
        (`missing`), and those whose text is empty once it is cleaned (`empty`).

        Raises:
            UserError: no record has such a column, a value is no text, or all labels of a split held out are hidden.
        """
        ids = {label_key(label): number for number, label in enumerate(_labels(settings))}
        columns = [settings.label_column, *settings.text_columns]
        dropped.update({"missing": 0, "empty": 0})
        there: dict[str, None] = {}
        keys: set[str] = set()
        for number, record in enumerate(part.records, 1):
            there |= dict.fromkeys(record)
            label, *texts = (_cleaned(record, names, f"{part.name}, record {number}") for names in columns)
            key = label_key(label or "")
            keys.add(key)
            if not label or None in texts:
                dropped["missing"] += 1
                continue
            self._seen[label] += 1
            if key not in ids:
                continue
            if all(texts):
                yield _example([text for text in texts if text], ids[key])
            else:
                dropped["empty"] += 1
        hidden = bool(keys) and keys <= {"", str(HIDDEN)} - ids.keys()
        for names in columns:
            if there and there.keys().isdisjoint(names):
                way_out = f"; {part.way_out}" if part.way_out and names == settings.label_column else ""
                has = one_line(", ".join(map(str, there)))
                raise UserError(f"{part.name} has no column {' or '.join(names)}: it has {has}{way_out}")
        if part.way_out and hidden:
            raise UserError(f"{part.name} hides its labels, which are all {HIDDEN} or missing: {part.way_out}")

    def facts(self, settings: "ClassificationDataset", splits: Mapping[str, Sequence[Row]], section: str) -> Facts:
        """Return the labels, whether texts are in pairs, how often a label occurs in a split, and other labels.

        Raises:
            UserError: a label never occurs, or never in training, or all of a split look hidden.
        """
        labels = _labels(settings)
        keys = list(map(label_key, labels))
        seen = set(map(label_key, self._seen))
        for label, key in zip(labels, keys, strict=True):
            if key not in seen:
                there = ", ".join(quoted(name) for name, _ in self._seen.most_common(10))
                raise UserError(f"{section}.labels: no example is labelled {label!r}; the labels are {there or 'none'}")
        counts = {split: Counter(row[LABEL] for row in rows) for split, rows in splits.items()}
        for number, label in enumerate(labels):
            if not counts["train"][number]:
                raise UserError(f"{section}: no training example is labelled {label!r}; add examples, or leave it out")
        for split, count in counts.items():
            if [keys[number] for number in count] == [str(HIDDEN)]:
                raise UserError(
                    f"{section}: all labels of the {split} split are {HIDDEN}, as where they are hidden: give one with "
                    "labels, or none, and a part of the others becomes it"
                )
        others = {label: n for label, n in sorted(self._seen.items()) if label_key(label) not in keys}
        return Facts(
            dataset={"labels": labels, "pair": len(settings.text_columns) == len(TEXTS)},
            splits={s: {"labels": {name: count[n] for n, name in enumerate(labels)}} for s, count in counts.items()},
            dropped={"other_label": others},
        )


def _labels(settings: "ClassificationDataset") -> list[str]:
    """Return the labels of `settings` as those of records are cleaned.

    Raises:
        UserError: two of them are one then, or one is empty.
    """
    labels = list(map(clean_example, settings.labels))
    found: dict[str, str] = {}
    for given, key in zip(settings.labels, map(label_key, labels), strict=True):
        if not key or found.setdefault(key, given) is not given:
            other = f"{quoted(found[key])} and {quoted(given)} are one" if key else f"{quoted(given)} is empty"
            raise UserError(f"labels: {other} once they are cleaned, and 1.0 is 1: name each once")
    return labels


def _cleaned(record: Record, names: Sequence[str], name: str) -> str | None:
    """Return a text or a label cleaned; None where it is missing. `name` names the record in errors."""
    columns = [column for column in names if column in record]
    if len(columns) > 1:
        raise UserError(f"{name} has both columns {' and '.join(columns)}: name the one that is meant")
    if not columns or record[columns[0]] is None:
        return None
    return clean_example(field(record, columns[0], name))


def _example(texts: Sequence[str], label: int) -> Example:
    row = {**dict(zip(TEXTS, texts, strict=False)), LABEL: label}
    return Example("\n".join(texts), label, row, group="\n".join(map(near_key, texts)))

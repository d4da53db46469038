"""From records to labelled texts: the columns `text` and `label`, an index into the labels that the manifest lists."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from maskline.core.errors import UserError
from maskline.corpus.articles import clean_line
from maskline.corpus.split import TaskSplit
from maskline.dataset.source import Part, Reader
from maskline.dataset.write import Example, Facts, Row
from maskline.records.files import field, read_csv, read_jsonl, read_parquet, read_tsv

if TYPE_CHECKING:
    from maskline.tasks.classification.settings import ClassificationDataset

READERS: dict[str, Reader] = {".csv": read_csv, ".tsv": read_tsv, ".jsonl": read_jsonl, ".parquet": read_parquet}
SCHEMA = pa.schema({"text": pa.string(), "label": pa.int8()})

_RETWEET = re.compile(r"\b[rm]t\s+(?=@)")
_USER_OR_LINK = re.compile(r"@\w+|https?:\S*|www\.\S+")
_EDGES = " \"'“”‘’`:.…|-"  # noqa: RUF001  # the quotes that people type


def duplicate_key(text: str) -> str:
    """Return what two texts share when one is a copy of the other: case, users, links and quoting are left out.

    A retweet repeats a text under other user names and another short link; both copies in different splits would let
    a model recite what it should judge.
    """
    bare = _USER_OR_LINK.sub("", _RETWEET.sub("", text.casefold()))
    return " ".join(bare.split()).strip(_EDGES)


class Examples:
    """How labelled texts are made of records."""

    def __init__(self) -> None:
        self._seen = Counter[str]()

    def schema(self, settings: "ClassificationDataset") -> pa.Schema:  # noqa: ARG002  # the same for all
        """Return the columns."""
        return SCHEMA

    def readers(self) -> Mapping[str, Reader]:
        """Return the readers of files with columns."""
        return READERS

    def read(self, part: Part, settings: "ClassificationDataset", dropped: Counter[str]) -> Iterator[Example]:
        """Yield the texts of the labels in `settings`; those that are empty once they are cleaned are left out.

        Raises:
            UserError: a record has no such column.
        """
        ids = {label: number for number, label in enumerate(settings.labels)}
        dropped["empty"] += 0
        for record in part.records:
            raw, label = (field(record, column, part.name) for column in (settings.text_column, settings.label_column))
            self._seen[label] += 1
            if label not in ids:
                continue
            text = clean_line(html.unescape(raw))
            if text:
                yield Example(duplicate_key(text), ids[label], {"text": text, "label": ids[label]})
            else:
                dropped["empty"] += 1

    def facts(
        self, settings: "ClassificationDataset", splits: Mapping[TaskSplit, Sequence[Row]], section: str
    ) -> Facts:
        """Return the labels, how often each occurs in a split, and what other labels there were.

        Raises:
            UserError: a label never occurs, or never in training.
        """
        labels = settings.labels
        for label in labels:
            if not self._seen[label]:
                there = ", ".join(repr(seen) for seen, _ in self._seen.most_common(10))
                raise UserError(f"{section}.labels: no example is labelled {label!r}; the labels are {there or 'none'}")
        counts = {split: Counter(row["label"] for row in rows) for split, rows in splits.items()}
        for number, label in enumerate(labels):
            if not counts["train"][number]:
                raise UserError(f"{section}: no training example is labelled {label!r}; add examples, or leave it out")
        others = {
            label.encode(errors="backslashreplace").decode(): n  # JSON lines can spell what UTF-8 cannot hold
            for label, n in sorted(self._seen.items())
            if label not in labels
        }
        return Facts(
            dataset={"labels": labels},
            splits={s: {"labels": {name: count[n] for n, name in enumerate(labels)}} for s, count in counts.items()},
            dropped={"other_label": others},
        )

"""From records to questions with their contexts and answers.

The columns are `question`, `context`, `answers` (texts) and `starts` (where each begins in the context, in characters);
a question without an answer has none. A context is kept as it is: the places of answers count its characters.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskline.core.errors import UserError, quoted
from maskline.corpus.articles import clean, clean_line
from maskline.dataset.source import Part, Reader
from maskline.dataset.write import Example, Facts, Row
from maskline.records.files import Record, field, read_jsonl, read_parquet
from maskline.tasks.spans.squad import read_squad

if TYPE_CHECKING:
    from maskline.tasks.spans.settings import SpansDataset

QUESTION, CONTEXT, ANSWERS, STARTS = "question", "context", "answers", "starts"
SCHEMA = pa.schema(
    {QUESTION: pa.string(), CONTEXT: pa.string(), ANSWERS: pa.list_(pa.string()), STARTS: pa.list_(pa.int32())}
)
READERS: dict[str, Reader] = {".json": read_squad, ".jsonl": read_jsonl, ".parquet": read_parquet}

Answer = tuple[str, int]
"""A text, and where it begins."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class Examples:
    """How questions are made of records."""

    def schema(self, settings: "SpansDataset") -> pa.Schema:  # noqa: ARG002  # the same for all
        """Return the columns."""
        return SCHEMA

    def readers(self, settings: "SpansDataset") -> Mapping[str, Reader]:  # noqa: ARG002  # the same for all
        """Return the readers of SQuAD's format, and of files with the columns that it has on the hub."""
        return READERS

    def read(self, part: Part, settings: "SpansDataset", dropped: Counter[str]) -> Iterator[Example]:
        """Yield the questions.

        Left out are those of another prefix, those without text or context, and those of whose answers none stands
        where it is said to stand. Such an answer is looked for nowhere else. A question that has others is kept with
        these, and what it loses is counted as `mismatched_answer`.

        Raises:
            UserError: a record has not the columns of SQuAD, or they hold something else.
        """
        dropped.update(dict.fromkeys(("other_id", "empty", "offset_mismatch", "mismatched_answer"), 0))
        for record in part.records:
            name = record.get("id")
            if not str(name).startswith(settings.id_prefix):
                dropped["other_id"] += 1
                continue
            question = clean_line(field(record, QUESTION, part.name))
            context = without_surrogates(field(record, CONTEXT, part.name))
            given = [] if record.get("is_impossible") else _answers(record, part.name)
            written = [answer for answer in given if answer[0].strip()]
            found = [answer for answer in written if _stands(answer, context)]
            if not question or not context.strip() or (given and not written):
                dropped["empty"] += 1
            elif written and not found:
                dropped["offset_mismatch"] += 1
            else:
                dropped["mismatched_answer"] += len(written) - len(found)
                yield _example(None if name is None else str(name), question, context, found)

    def facts(
        self,
        settings: "SpansDataset",
        splits: Mapping[str, Sequence[Row]],
        section: str,
    ) -> Facts:
        """Return the language, how many contexts a split has, and how many of its questions have no answer.

        Raises:
            UserError: no training question has an answer.
        """
        train = splits["train"]
        if train and not any(row[ANSWERS] for row in train):
            raise UserError(f"{section}: no training question has an answer; add some that have")
        return Facts(
            dataset={"language": settings.language},
            splits={
                split: {
                    "contexts": len({row[CONTEXT] for row in rows}),
                    "no_answer": sum(not row[ANSWERS] for row in rows),
                }
                for split, rows in splits.items()
            },
        )


def without_surrogates(text: str) -> str:
    """Return a text of the same length with U+FFFD in place of lone surrogates, which UTF-8 cannot encode."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _example(name: str | None, question: str, context: str, answers: list[Answer]) -> Example:
    """Return a question; all of one context are in one split."""
    group = clean(context)
    row = {
        QUESTION: question,
        CONTEXT: context,
        ANSWERS: [text for text, _ in answers],
        STARTS: [start for _, start in answers],
    }
    return Example(f"{group}\n\n{question}", tuple(answers), row, name, group)


def _stands(answer: Answer, context: str) -> bool:
    text, start = answer
    return start >= 0 and context[start : start + len(text)] == text


def _answers(record: Record, name: str) -> list[Answer]:
    """Return the answers of a record: a list of pairs of `text` and `answer_start`, or two lists of these names.

    Raises:
        UserError: it has neither.
    """
    if ANSWERS not in record:
        raise UserError(f"{name} has no column {ANSWERS}: it has {', '.join(map(str, record))}")
    value = record[ANSWERS]
    if isinstance(value, dict):
        texts, starts = value.get("text"), value.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            raise UserError(f"{name}: answers are not a text and an answer_start each, but {quoted(value)}: correct it")
        pairs: list[tuple[Any, Any]] = list(zip(texts, starts, strict=True))
    elif isinstance(value, list) and all(isinstance(answer, dict) for answer in value):
        pairs = [(answer.get("text"), answer.get("answer_start")) for answer in value]
    else:
        raise UserError(f"{name}: column {ANSWERS} holds {type(value).__name__}, no list of answers: correct it")
    for text, start in pairs:
        if not isinstance(text, str) or not isinstance(start, int):
            raise UserError(
                f"{name}: an answer has the text {quoted(text)} and the answer_start {quoted(start)}: give a text and "
                "a whole number"
            )
    return [(without_surrogates(text), start) for text, start in pairs]

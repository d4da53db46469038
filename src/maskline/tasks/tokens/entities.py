"""Entities in the tags of a sentence, in each of the schemes that corpora are tagged by.

A scheme says by a letter before the type how a word lies in an entity:

| scheme | one word | the first of several | between | the last |
|---|---|---|---|---|
| bio (IOB2) | B | B | I | I |
| iob1 | I, or B after an entity of the same type | I, or B likewise | I | I |
| bioes | S | B | I | E |
| bilou | U | B | I | L |

Within maskline all tags are IOB2.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Scheme = Literal["bio", "iob1", "bioes", "bilou"]
SCHEMES: tuple[Scheme, ...] = ("bio", "iob1", "bioes", "bilou")

OUTSIDE = "O"
LETTERS = "BIESLU"
_BEGIN, _END = "BSU", "ESLU"
_OF_ONE_AND_LAST: dict[Scheme, tuple[str, str]] = {"bio": ("B", "I"), "bioes": ("S", "E"), "bilou": ("U", "L")}


class Entity(NamedTuple):
    """A span of words, the end not included."""

    start: int
    end: int
    type: str


def entities(tags: Sequence[str]) -> list[Entity]:
    """Return the entities in the IOB2 tags of a sentence, strictly, as seqeval's mode of that name.

    One begins with B-X, and goes on as far as I-X follows. An I-X that continues nothing is no entity.
    """
    found: list[Entity] = []
    start, kind = 0, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        mark, _, name = tag.partition("-")
        if kind and not (mark == "I" and name == kind):
            found.append(Entity(start, place, kind))
            kind = ""
        if mark == "B":
            start, kind = place, name
    return found


def read_entities(tags: Sequence[str]) -> list[Entity]:
    """Return the entities in the tags of a sentence, whichever scheme they are of, and where they break it as well.

    As in the evaluation of CoNLL-2000, one begins with B, S or U, after E, L, S, U or O, and where the type changes;
    so an I-X that continues nothing begins one, and what is never closed ends where the next begins.
    """
    found: list[Entity] = []
    before, kind = OUTSIDE, ""
    for place, tag in enumerate(tags):
        mark, _, name = tag.partition("-")
        if mark == OUTSIDE:
            name = ""
        elif mark in _BEGIN or before in _END or name != kind:
            found.append(Entity(place, place + 1, name))
        else:
            found[-1] = found[-1]._replace(end=place + 1)
        before, kind = mark, name
    return found


def spell(found: Iterable[Entity], length: int, scheme: Scheme = "bio") -> list[str]:
    """Return the tags of a sentence of `length` words with the entities `found`, in their order."""
    tags = [OUTSIDE] * length
    before = Entity(-1, -1, "")
    for entity in found:
        inner = entity.end - entity.start - 1
        if scheme == "iob1":
            first = "B" if (before.end, before.type) == (entity.start, entity.type) else "I"
            marks = first + "I" * inner
        else:
            one, last = _OF_ONE_AND_LAST[scheme]
            marks = "B" + "I" * (inner - 1) + last if inner else one
        tags[entity.start : entity.end] = [f"{mark}-{entity.type}" for mark in marks]
        before = entity
    return tags

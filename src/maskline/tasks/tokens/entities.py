"""Entities in tags, and how well they are found: strict, as seqeval's mode of that name for IOB2."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maskline.finetuning.task import Metrics


class Entity(NamedTuple):
    """A span of words, the end not included."""

    start: int
    end: int
    type: str


def entities(tags: Sequence[str]) -> list[Entity]:
    """Return the entities in the IOB2 tags of a sentence.

    One begins with B-X, and goes on as far as I-X follows. An I-X that continues nothing is no entity.
    """
    found: list[Entity] = []
    start, kind = 0, ""
    for place, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if kind and not (mark == "I" and name == kind):
            found.append(Entity(start, place, kind))
            kind = ""
        if mark == "B":
            start, kind = place, name
    return found


class Matches:
    """Entities of each type: in the gold tags, predicted, and both."""

    def __init__(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        """Compare `pairs` of gold and predicted tags, a pair for each sentence."""
        self.gold, self.predicted, self.correct = Counter[str](), Counter[str](), Counter[str]()
        for gold, predicted in pairs:
            mine, theirs = entities(predicted), entities(gold)
            self.gold.update(entity.type for entity in theirs)
            self.predicted.update(entity.type for entity in mine)
            self.correct.update(entity.type for entity in {*mine} & {*theirs})

    def scores(self, types: Iterable[str]) -> Metrics:
        """Return precision, recall and F1 over all entities of `types`; 0 where there is nothing to divide by."""
        counts = [sum(counter[name] for name in types) for counter in (self.correct, self.predicted, self.gold)]
        correct, predicted, gold = counts
        return {
            "precision": correct / predicted if predicted else 0.0,
            "recall": correct / gold if gold else 0.0,
            "f1": 2 * correct / (predicted + gold) if predicted + gold else 0.0,
        }

"""How well entities are found: strict by type, and what is right but for the type or the edges."""

from collections import Counter
from collections.abc import Iterable, Sequence

from nervaluate.entities import Entity as TheirEntity
from nervaluate.entities import EvaluationResult
from nervaluate.strategies import EvaluationStrategy, ExactEvaluation, PartialEvaluation

from maskline.finetuning.task import Metrics
from maskline.tasks.tokens.entities import Entity, entities


class Matches:
    """Entities of each type: in the gold tags, predicted, and both."""

    def __init__(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        """Compare `pairs` of gold and predicted tags, a pair for each sentence."""
        self.gold, self.predicted, self.correct = Counter[str](), Counter[str](), Counter[str]()
        self._sentences: list[tuple[list[Entity], list[Entity]]] = []
        for gold, predicted in pairs:
            mine, theirs = entities(predicted), entities(gold)
            self.gold.update(entity.type for entity in theirs)
            self.predicted.update(entity.type for entity in mine)
            self.correct.update(entity.type for entity in {*mine} & {*theirs})
            self._sentences.append((theirs, mine))

    def scores(self, types: Iterable[str]) -> Metrics:
        """Return precision, recall and F1 over all entities of `types`; 0 where there is nothing to divide by.

        An entity is right where first word, last word and type are: seqeval's strict mode.
        """
        counts = [sum(counter[name] for name in types) for counter in (self.correct, self.predicted, self.gold)]
        correct, predicted, gold = counts
        return {
            "precision": correct / predicted if predicted else 0.0,
            "recall": correct / gold if gold else 0.0,
            "f1": 2 * correct / (predicted + gold) if predicted + gold else 0.0,
        }

    def lenient_scores(self) -> Metrics:
        """Return F1 by two looser measures of SemEval-2013 (task 9.1), whatever the type, as nervaluate has them.

        `exact_f1`: first and last word are right. `partial_f1`: one that only overlaps counts as half.
        """
        return {"exact_f1": self._f1(ExactEvaluation()), "partial_f1": self._f1(PartialEvaluation())}

    def _f1(self, strategy: EvaluationStrategy) -> float:
        total = EvaluationResult()
        for number, pair in enumerate(self._sentences):
            gold, predicted = ([TheirEntity(one.type, one.start, one.end - 1) for one in side] for side in pair)
            found, _ = strategy.evaluate(gold, predicted, [], number)
            for count in ("correct", "incorrect", "partial", "missed", "spurious"):
                setattr(total, count, getattr(total, count) + getattr(found, count))
        total.compute_metrics(partial_or_type=True)  # exact has none that count as half
        return float(total.f1)

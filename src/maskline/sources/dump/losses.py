"""How many sentences the cleaning of wikitext keeps, and how many it leaves out for which reason."""

from collections.abc import Mapping
from typing import Any

KEPT = "kept"
REASONS = ("holes", "rests", "announcements", "marked_up")
"""Counts of sentences: they lack a word; may belong to one that does; announce a list that is gone; have markup."""


def without_sentences(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of other things than sentences."""
    return {name: count for name, count in counts.items() if name != KEPT and name not in REASONS}


def sentence_losses(counts: Mapping[str, int], language: str) -> dict[str, Any]:
    """Return how many sentences are kept and dropped, and the share of each reason in percent of all.

    Args:
        counts: `KEPT` and `REASONS` -> sentences.
        language: by the rules of which they are split.
    """
    kept = counts.get(KEPT, 0)
    dropped = {reason: counts.get(reason, 0) for reason in REASONS}
    total = kept + sum(dropped.values())
    shares = {"all": sum(dropped.values())} | dropped
    percent = {reason: round(100 * count / max(total, 1), 4) for reason, count in shares.items()}
    return {"language": language, "kept": kept, "dropped": dropped, "dropped_percent": percent}

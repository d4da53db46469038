"""The split of an article or of a task's example: a function of its content, not of its position.

Adding, removing or reordering others does not move it to another split. A larger fraction only moves examples out of
training: what was held out stays held out.
"""

from hashlib import blake2b
from typing import Literal

Split = Literal["train", "validation"]
TaskSplit = Literal["train", "validation", "test"]


def split_of(article_id: str, validation_fraction: float) -> Split:
    """Return the split of an article by a hash of its id."""
    return "validation" if hash_fraction(article_id, b"articles") < validation_fraction else "train"


def task_split_of(text: str, validation_fraction: float, test_fraction: float) -> TaskSplit:
    """Return the split of a labelled example by a hash of its normalized text."""
    fraction = hash_fraction(text, b"examples")
    if fraction < test_fraction:
        return "test"
    return "validation" if fraction >= 1 - validation_fraction else "train"


def hash_fraction(text: str, purpose: bytes) -> float:
    """Return a hash of `text` as a number in [0, 1]; another `purpose` gives an independent number."""
    digest = blake2b(text.encode(), digest_size=8, key=b"maskline", person=purpose).digest()
    return int.from_bytes(digest, "big") / 2**64

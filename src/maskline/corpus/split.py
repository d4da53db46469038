"""Which split an article or an example belongs to: a function of its own content, never of its position.

Adding, removing or reordering others moves none. Raising a fraction moves examples out of training alone: what was
held out stays held out.
"""

from hashlib import blake2b
from typing import Literal

Split = Literal["train", "validation"]
TaskSplit = Literal["train", "validation", "test"]


def split_of(article_id: str, validation_fraction: float) -> Split:
    """Return the split of an article by a hash of its id."""
    return "validation" if uniform(article_id, b"articles") < validation_fraction else "train"


def task_split_of(text: str, validation_fraction: float, test_fraction: float) -> TaskSplit:
    """Return the split of a labelled example by a hash of its normalized text."""
    place = uniform(text, b"examples")
    if place < test_fraction:
        return "test"
    return "validation" if place >= 1 - validation_fraction else "train"


def uniform(text: str, purpose: bytes) -> float:
    """Return a number in [0, 1] that depends on `text` and `purpose` alone."""
    digest = blake2b(text.encode(), digest_size=8, key=b"maskline", person=purpose).digest()
    return int.from_bytes(digest, "big") / 2**64

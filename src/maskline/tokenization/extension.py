"""Whether a tokenizer is another one with more pieces."""

import json
from typing import Any

from maskline.tokenization.load import LoadedTokenizer


def old_pieces(old: LoadedTokenizer, new: LoadedTokenizer) -> list[list[int]] | None:
    """Return for each token that `new` has beyond `old` the ids of the old pieces of its text, in the order of its ids.

    None where `new` is not `old` with further pieces behind its own: where it normalizes or splits otherwise, or where
    a token has another id.
    """
    known = {piece: number for piece, number in new.backend.get_vocab().items() if number < old.vocab_size}
    if known != old.backend.get_vocab() or new.special != old.special or _rules(new) != _rules(old):
        return None
    model = old.backend.model
    return [[token.id for token in model.tokenize(piece)] for piece in new.pieces[old.vocab_size :]]


def _rules(tokenizer: LoadedTokenizer) -> Any:
    """Return how a tokenizer makes pieces of a text, but for the pieces themselves."""
    content = json.loads(tokenizer.backend.to_str())
    del content["model"]["vocab"]
    return [content[part] for part in ("normalizer", "pre_tokenizer", "model")]

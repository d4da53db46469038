"""A page of sample predictions, to see with one's own eyes what the losses mean."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskline.core.text import escape
from maskline.evaluation.masks import MASK, mask_probabilities, ranking
from maskline.examples.draws import below, draw, key
from maskline.examples.premasked import PremaskedSet
from maskline.model.heads import PretrainingModel
from maskline.tokenization.load import LoadedTokenizer

TOP = 5
CONTEXT = 24
"""Tokens that are shown on either side of the mask."""

_PAGE = """\
# What the model puts in place of [MASK]

Each example is from the validation set, with one token hidden. The model reads the whole example, of which {context}
tokens on either side are shown. The table has the {top} most probable tokens. The truth is bold; where it is not among
them it stands below, with its rank among all {vocab_size:,}. `##` marks a piece that continues a word.
"""


def sample_page(
    model: PretrainingModel, validation: PremaskedSet, tokenizer: LoadedTokenizer, device: torch.device, samples: int
) -> str:
    """Return a Markdown page of up to `samples` examples from all over the validation set, one token hidden in each.

    The token is one of those that the set masks, always the same; all others stand as they were.
    """
    parts = [_PAGE.format(context=CONTEXT, top=TOP, vocab_size=tokenizer.vocab_size)]
    eligible = [row for row in range(len(validation)) if len(validation.masked_positions[row])]
    size = min(samples, len(eligible))
    for number in range(size):
        row = eligible[number * len(eligible) // size]
        masked = validation.masked_positions[row]
        place = int(masked[below(draw(key(0, "samples"), np.array([row])), len(masked))[0]])
        ids = validation.original(row)
        truth = int(ids[place])
        ids[place] = tokenizer.special.mask
        probabilities = mask_probabilities(model, ids, validation.token_type_ids[row], tokenizer.special, device)[0]
        excerpt = _excerpt(ids, place, tokenizer)
        parts.append(f"\n## {number + 1}\n\n> {_quote(excerpt)}\n\n{_table(probabilities, truth, tokenizer)}")
    return "".join(parts)


def _excerpt(ids: NDArray[Any], place: int, tokenizer: LoadedTokenizer) -> str:
    """Return the text around `place` within its segment, in whole words; an ellipsis where it goes on."""
    edges = np.flatnonzero(np.isin(ids, [tokenizer.special.cls, tokenizer.special.sep]))
    first, end = int(edges[edges < place].max()) + 1, int(edges[edges > place].min())
    start, stop = max(first, place - CONTEXT), min(end, place + CONTEXT + 1)

    def continued(at: int) -> str | None:
        return tokenizer.continued(tokenizer.pieces[ids[at]])

    while start > first and continued(start) is not None:
        start -= 1
    while stop < end and continued(stop) is not None:
        stop += 1
    text: str = tokenizer.backend.decode(ids[start:stop].tolist(), skip_special_tokens=False)
    if (rest := tokenizer.continued(text)) is not None:  # the segment itself begins inside a word
        text = "…" + rest
    text = text.replace(tokenizer.mask_token, MASK)
    return "… " * (start > first) + text + " …" * (stop < end)


def _quote(excerpt: str) -> str:
    """Return an excerpt as Markdown, the mask set apart.

    It is isolated, so that its own script gives its direction: in a page that runs from left to right, a Latin [MASK]
    would split an Arabic sentence into halves that change places.
    """
    return f"<bdi>{escape(excerpt).replace(escape(MASK), f'`{MASK}`')}</bdi>"


def _table(probabilities: NDArray[np.float32], truth: int, tokenizer: LoadedTokenizer) -> str:
    rows = ["| rank | token | probability |", "|--:|:--|--:|"]
    for rank, token in enumerate(ranking(probabilities), 1):
        if rank <= TOP or token == truth:
            bold = "**" if token == truth else ""
            number = probabilities[token]
            shown = f"{number:.3f}" if number >= 0.001 else f"{number:.1e}"
            rows.append(f"| {rank} | {bold}{escape(tokenizer.pieces[token])}{bold} | {shown} |")
    return "\n".join(rows) + "\n"

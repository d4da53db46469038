"""The page of a look: one file that opens offline, with all of its numbers in it."""

import base64
import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from maskline.core.errors import UserError
from maskline.core.text import printable
from maskline.inference.look.model import Filled, Guess, Look

PAGE_BYTES = 2_000_000
"""Most bytes of a page: it can be mailed."""
LONG = 140
"""Characters of a text above which it is no title."""
_STEPS = 65535
_FOLDER = Path(__file__).parent


def page(looks: Sequence[Look], text: str, second: str | None = None) -> str:
    """Return the page of what models make of a text, or of a pair, beside each other: HTML, the same for the same.

    Raises:
        UserError: it has more than PAGE_BYTES.
    """
    texts = [text] if second is None else [text, second]
    same = all(look.tokens == looks[0].tokens for look in looks)
    html = Template((_FOLDER / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(printable(f"{text[:60]} - maskline")),
        texts="\n".join(
            f'<p class="text{" long" if len(one) > LONG else ""}" dir="auto">{_shown(one)}</p>' for one in texts
        ),
        tokens=_tokens(looks[:1] if same else looks, texts),
        attention=_panels("attention", looks, partial(_attention, texts=texts)),
        masked=_panels("masked", looks, _masked),
        next_link='<a href="#next">Next sentence</a> ' if second is not None else "",
        next=_next(looks) if second is not None else "",
        nearest=_panels("nearest", looks, _nearest),
        context=_panels("context", looks, _plot),
        footer="; ".join(f"<bdi>{escape(printable(look.name))}</bdi>: {escape(look.about)}" for look in looks),
        data=_data(looks),
        style=(_FOLDER / "page.css").read_text(encoding="utf-8").strip(),
        script=(_FOLDER / "page.js").read_text(encoding="utf-8").strip(),
    )
    if (size := len(html.encode())) > PAGE_BYTES:
        raise UserError(f"the page would have {size:,} bytes, and {PAGE_BYTES:,} is the most: give a shorter text")
    return html


def _panels(kind: str, looks: Sequence[Look], body: Callable[[Look], str]) -> str:
    return "\n".join(
        f'<article class="panel" id="{kind}-{number}"><h3><bdi>{_shown(look.name)}</bdi></h3>\n{body(look)}</article>'
        for number, look in enumerate(looks)
    )


def _shown(text: str) -> str:
    return escape(printable(text))


def _direction(text: str) -> str:
    """Return `rtl` where the first letter of a text is of a script that runs from right to left, else `ltr`."""
    kinds = (unicodedata.bidirectional(character) for character in text)
    return "rtl" if next((kind for kind in kinds if kind in {"L", "R", "AL"}), "L") != "L" else "ltr"


def _tokens(looks: Sequence[Look], texts: Sequence[str]) -> str:
    """Return the tokens with their ids, a line for each text."""
    lines = []
    for look in looks:
        lines += [f"<h3><bdi>{_shown(look.name)}</bdi></h3>"] if len(looks) > 1 else []
        for segment, text in enumerate(texts):
            own = look.token_type_ids == segment if len(texts) > 1 else np.ones(len(look.tokens), bool)
            tokens = (
                f'<span class="token"><bdi>{_shown(look.tokens[at])}</bdi><small>{look.input_ids[at]}</small></span>'
                for at in np.flatnonzero(own)
            )
            lines.append(f'<div class="tokens" dir="{_direction(text)}">{"".join(tokens)}</div>')
        lines.append(f'<p class="about">{len(look.tokens)} tokens, the special ones included</p>')
    return "\n".join(lines)


def _attention(look: Look, texts: Sequence[str]) -> str:
    """Return what the script fills with the weights of one model."""
    direction = _direction(texts[0])
    name = _shown(look.name)
    sizes = f"--t:{len(look.tokens)};--longest:{max(map(len, look.tokens))}"
    lines = "".join(
        f'<div class="tokens" dir="{_direction(text)}" role="group" aria-label="Tokens, {name}"></div>'
        for text in texts
    )
    return f"""<p class="about caption" aria-live="polite"></p>
{lines}
<div class="scroll" dir="{direction}" tabindex="0" role="region" aria-label="Map of the weights, {name}">
<div class="map" dir="{direction}" style="{sizes}"><div class="corner"></div><div class="columns"></div>
<div class="ahead"></div><div class="rows"></div><canvas aria-label="Weights: who looks, in rows, at whom, in columns"
role="img"></canvas></div></div>
<p class="readout">Point at the map: a row looks at the columns.</p>
<details open><summary>All layers and heads</summary><p class="about">Rows are layers, columns heads.</p>
<div class="heads" style="--heads:{look.attention.shape[1]}"></div></details>
<details class="numbers"><summary>Numbers</summary><table><caption></caption><thead><tr><th scope="col">token</th>
<th scope="col">it looks at</th><th scope="col">looks at it</th></tr></thead><tbody></tbody></table></details>
"""


def _masked(look: Look) -> str:
    if look.filled is None:
        return (
            "<p>This model has no head for masked tokens: it was fine-tuned, or came without one. "
            "There is nothing to show here.</p>\n"
        )
    rows = "\n".join(_masked_row(look.tokens[filled.place], filled) for filled in look.filled)
    head = '<th scope="col">token</th><th scope="col">itself</th><th scope="col">expected in its place</th>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>\n"


def _masked_row(token: str, filled: Filled) -> str:
    itself = "" if filled.probability is None else f"{_probability(filled.probability)} <small>#{filled.rank}</small>"
    guesses = _guesses(filled.guesses, token if filled.rank else None)
    return f'<tr><th scope="row"><bdi>{_shown(token)}</bdi></th><td class="number">{itself}</td><td>{guesses}</td></tr>'


def _guesses(guesses: Iterable[Guess], right: str | None = None) -> str:
    parts = (
        f'<span class="{"right" if guess.token == right else "guess"}"><bdi>{_shown(guess.token)}</bdi> '
        f"<small>{_probability(guess.score)}</small></span>"
        for guess in guesses
    )
    return f'<div class="guesses">{"".join(parts)}</div>'


def _probability(value: float) -> str:
    return "&lt;0.001" if 0 <= value < 0.0005 else f"{value:.3f}"


def _next(looks: Sequence[Look]) -> str:
    def body(look: Look) -> str:
        if look.is_next is None:
            return "<p>This model has no head for sentence pairs.</p>\n"
        return f'<p class="big">{look.is_next:.3f}</p>\n'

    return (
        '<section id="next"><h2>Next sentence</h2>\n<p>The probability that the second text follows the first, rather '
        f'than being of another place.</p>\n<div class="panels">\n{_panels("next", looks, body)}\n</div></section>'
    )


def _nearest(look: Look) -> str:
    rows = "\n".join(
        f'<tr><th scope="row"><bdi>{_shown(one.token)}</bdi></th><td>{_guesses(one.nearest)}</td></tr>'
        for one in look.neighbours
    )
    head = '<th scope="col">token</th><th scope="col">nearest</th>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>\n"


def _plot(look: Look) -> str:
    name = _shown(look.name)
    return (
        '<p class="about caption" aria-live="polite"></p>\n'
        f'<svg class="plot" viewBox="0 0 480 340" role="img" aria-label="Tokens in context, {name}"></svg>\n'
    )


def _data(looks: Sequence[Look]) -> str:
    """Return what the script reads, as JSON that cannot end the element around it."""
    models = [_model_data(look) for look in looks]
    text = json.dumps({"models": models}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _model_data(look: Look) -> dict[str, Any]:
    layers, heads, *_ = look.attention.shape
    steps = np.rint(look.attention.astype(np.float64) * _STEPS).astype("<u2")
    farthest = np.maximum(np.abs(look.places).max((1, 2), keepdims=True), np.finfo(np.float64).tiny)
    return {
        "tokens": [printable(token) for token in look.tokens],
        "segments": look.token_type_ids.tolist(),
        "layers": layers,
        "heads": heads,
        "attention": base64.b64encode(steps.tobytes()).decode(),
        "places": (look.places / farthest).round(3).tolist(),
        "variance": look.variance.round(4).tolist(),
    }

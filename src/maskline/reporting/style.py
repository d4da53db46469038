"""The style of all figures: theme, labels beside the lines, and saving with the same bytes for the same data."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from maskline.core.storage import write_bytes
from maskline.core.text import printable
from maskline.reporting.letters import FONT, show_letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

# Okabe & Ito 2008: distinct for every kind of colour vision.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
GREY, INK = "#767676", "#262626"

_THEME: dict[Any, Any] = {
    "font.family": FONT,
    "font.size": 9,
    "text.parse_math": False,  # a $ in a name is a dollar, never TeX
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlepad": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 3.5,
    "lines.solid_capstyle": "round",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "svg.hashsalt": "maskline",  # element ids are hashes with this salt; without it they are random
}


@contextmanager
def theme() -> Iterator[None]:
    """Use maskline's style in the block, whatever the user's matplotlibrc says."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_THEME)
        yield


def save(figure: "Figure", stem: Path) -> None:
    """Write `figure` as `stem`.svg and `stem`.png, without the date, which would change the bytes."""
    show_letters(figure)
    for kind in ("svg", "png"):
        write_bytes(stem.with_name(f"{stem.name}.{kind}"), drawn(figure, kind))


def drawn(figure: "Figure", kind: str) -> bytes:
    """Return `figure` as svg or png, without the date."""
    content = io.BytesIO()
    figure.savefig(content, format=kind, metadata={"Date": None} if kind == "svg" else {})
    return content.getvalue()


def fitted(name: str, width: int, lines: int) -> str:
    """Return a name in at most `lines` lines of `width` characters; an ellipsis stands for what has no room."""
    folded = wrap(printable(name), width)
    if len(folded) > lines:
        folded[lines - 1 :] = [folded[lines - 1][: width - 2] + " …"]
    return "\n".join(folded)


def inches(texts: Sequence[str], size: float) -> float:
    """Return how wide the widest of some texts is, in letters of `size` points."""
    from matplotlib.figure import Figure

    figure = Figure()
    shown = [figure.text(0, 0, text, fontsize=size) for text in texts]
    show_letters(figure)
    return max((text.get_window_extent().width for text in shown), default=0) / figure.dpi


@dataclass(frozen=True)
class Label:
    """A text to the right of a plot, at the height `y` (in data units) of the line that it names."""

    text: str
    y: float
    color: str


def label_right(labels: Mapping["Axes", Sequence[Label]]) -> None:
    """Put labels to the right of the axes of one figure, each as near to its height as possible without overlap.

    Call it last: it fixes the limits of the axes and the layout.
    """
    texts = {axes: [_text(axes, label) for label in named] for axes, named in labels.items()}
    show_letters(next(iter(labels)).figure.get_figure(root=True))
    for axes in labels:
        axes.set_xlim(left=0)
        axes.set_ylim(axes.get_ylim())
    for axes, named in labels.items():
        _move_apart(axes, named, texts[axes])


def _text(axes: "Axes", label: Label) -> "Annotation":
    return axes.annotate(
        label.text,
        xy=(1, label.y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(6, 0),
        textcoords="offset points",
        color=label.color,
        va="center",
        fontsize=8.5,
        annotation_clip=False,
    )


def _move_apart(axes: "Axes", labels: Sequence[Label], texts: Sequence["Annotation"]) -> None:
    figure = axes.figure.get_figure(root=True)
    figure.draw_without_rendering()
    points = 72 / figure.dpi
    wanted = [axes.transData.transform((0, label.y))[1] * points for label in labels]
    heights = [text.get_window_extent().height * points + 1.5 for text in texts]
    bounds = (axes.bbox.ymin * points, axes.bbox.ymax * points)
    for text, y, placed in zip(texts, wanted, spread(wanted, heights, bounds), strict=True):
        text.xyann = (6, placed - y)


def spread(wanted: Sequence[float], heights: Sequence[float], bounds: tuple[float, float]) -> list[float]:
    """Return the centres nearest to `wanted` (least squares) at which boxes keep their order and do not overlap.

    The boxes stay within `bounds`. If there is no room for all, they start at the lower bound and exceed the upper one.
    This is isotonic regression (pool adjacent violators) on the centres minus the heights of the boxes below.
    """
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    stacked = list(accumulate((heights[index] for index in order), initial=0.0))
    centres = {index: below + heights[index] / 2 for below, index in zip(stacked, order, strict=False)}
    pools: list[list[float]] = []
    for index in order:
        pools.append([wanted[index] - centres[index]])
        while len(pools) > 1 and mean(pools[-2]) >= mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    low, high = bounds
    shifts = (max(low, min(high - stacked[-1], mean(pool))) for pool in pools for _ in pool)
    placed = {index: shift + centres[index] for index, shift in zip(order, shifts, strict=True)}
    return [placed[index] for index in range(len(wanted))]

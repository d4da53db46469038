"""Figures in Vega-Lite, made by altair. Their data are rows of the files of a run, none of them averaged."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from maskline.core.scores import FigureSpec
from maskline.page.document import Figure, Table
from maskline.page.elements import text
from maskline.reporting.lines import STEP
from maskline.reporting.series import to_series
from maskline.reporting.tables import format_number

COLORS = tuple(f"var(--{name})" for name in ("blue", "vermilion", "green", "purple", "orange", "sky"))
"""Those of page.css: one set on light ground, another on dark."""
INK, GREY, SOFT = "var(--ink)", "var(--grey)", "var(--soft)"
TRAIN, VALIDATION = "training", "validation"
DASHES = ([1, 0], [7, 4], [2, 3])
"""Of lines: those of the first colours, of their second round, of the third."""
EDGE = 6
"""Pixels between the edge of a drawing and its first and last point."""
HEIGHT = 260
"""Pixels of the height of curves."""
CELL, NARROW = 64, 8
"""Pixels of a side of a cell in a matrix; and names up to which it is not as wide as its place."""
MOST_ROWS = 1000
"""Rows of a curve that a page draws; of more, every second one, or third, and so on."""
AXES = {"step": STEP, "tokens": "tokens read", "seconds": "seconds of training"}
"""What curves may be drawn against."""


def curves(
    key: str,
    title: str,
    unit: str,
    table: Table,
    lines: Sequence[tuple[float, str]] = (),
    *,
    caption: str = "",
    is_loss: bool = False,
    shares: bool = False,
) -> Figure:
    """Return curves of a run: training thin, validation thick with its points, what they are held against dashed.

    Args:
        key: see `Figure`.
        title: see `Figure`.
        unit: of the numbers.
        table: columns `series`, `split`, `value`, `step` and those of AXES that are known; a number that is missing is
            None, and a gap.
        lines: numbers to be held against, and their names.
        caption: HTML.
        is_loss: whether the numbers are losses.
        shares: whether they are shares, which have the whole axis from 0 to 1.
    """
    names = list(dict.fromkeys(row[0] for row in table.rows))
    axes = {column: name for column, name in AXES.items() if column in table.columns}
    data = {"rows": table}
    if lines:
        data["lines"] = Table(("value", "name"), lines)
        held = "; ".join(f"{text(name)} {format_number(value)}" for value, name in lines)
        caption = f"Dashed: {held}. {caption}".strip()
    splits = tuple(dict.fromkeys(row[1] for row in table.rows))
    spec = _curves(unit, tuple(names), splits, tuple(table.columns), bool(lines), shares)
    return Figure(key, title, spec, data, caption, axes, is_loss)


@cache
def _curves(
    unit: str, names: tuple[str, ...], splits: tuple[str, ...], columns: tuple[str, ...], held: bool, shares: bool
) -> dict[str, Any]:
    import altair as alt

    x = alt.X("step:Q", title=STEP, scale=alt.Scale(nice=False, padding=EDGE))
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(domain=[0, 1]) if shares else alt.Scale(zero=False))
    color = _color(alt, names)
    base = alt.Chart().encode(x=x, y=y, color=color, **_dashes(alt, names))
    marks: dict[str, dict[str, Any]] = {
        TRAIN: {"strokeWidth": 1, "opacity": 0.6},
        VALIDATION: {"strokeWidth": 2.2, "point": {"size": 26}},
    }
    layers = [
        base.transform_filter(f"datum.split === '{split}'").mark_line(**mark)
        for split, mark in marks.items()
        if split in splits
    ]
    layers.append(_hover(alt, base, columns))
    layers[0] = layers[0].add_params(_zoom(alt))
    if held:
        layers.append(
            alt.Chart(alt.NamedData("lines"))
            .mark_rule(strokeDash=[5, 4], strokeWidth=1.4, color=GREY)
            .encode(y="value:Q", tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("value:N", title="value")])
        )
    return _finished(alt.layer(*layers, data=alt.NamedData("rows")), unit)


def overlaid(
    key: str, title: str, unit: str, names: Sequence[str], table: Table, bands: Table, *, is_loss: bool
) -> Figure:
    """Return the curves of several experiments: a line for each seed, and a band from the lowest to the highest.

    Args:
        key: see `Figure`.
        title: see `Figure`.
        unit: of the numbers.
        names: of all experiments, in the order of their colours.
        table: columns `series`, `seed`, `value`, `step` and those of AXES that are known.
        bands: columns `series`, `step`, `low`, `high`, and of AXES what `table` has.
        is_loss: whether the numbers are losses.
    """
    axes = {column: name for column, name in AXES.items() if column in table.columns}
    drawn = {row[0] for row in table.rows}
    in_legend = tuple(name for name in names if name in drawn)
    spec = _overlaid(unit, tuple(names), in_legend, tuple(table.columns), bool(bands.rows))
    return Figure(key, title, spec, {"rows": table, "bands": bands}, "", axes, is_loss)


@cache
def _overlaid(
    unit: str, names: tuple[str, ...], drawn: tuple[str, ...], columns: tuple[str, ...], has_bands: bool
) -> dict[str, Any]:
    """Return the drawing; every name has its colour, and those that are `drawn` stand in the legend."""
    import altair as alt

    x = alt.X("step:Q", title=STEP, scale=alt.Scale(nice=False, padding=EDGE))
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=False))
    colors = (INK, *COLORS)
    color = _color(alt, names, colors, values=list(drawn))
    base = alt.Chart().encode(x=x, y=y, color=color, **_dashes(alt, names, colors, values=list(drawn)))
    band = (
        alt.Chart(alt.NamedData("bands"))
        .mark_area(opacity=0.2)
        .encode(x=x, y=alt.Y("low:Q", title=unit), y2="high:Q", color=color)
    )
    lines = base.mark_line(strokeWidth=1.6, point={"size": 18}).encode(detail="seed:N").add_params(_zoom(alt))
    layers = [*([band] if has_bands else []), lines, _hover(alt, base, columns)]
    return _finished(alt.layer(*layers, data=alt.NamedData("rows")), unit)


def differences(key: str, title: str, rows: Sequence[Sequence[Any]], caption: str = "") -> Figure:
    """Return a point for each seed's difference, and the mean with its interval.

    A row is `(series, seed, value, low, high)`; that of the mean has no seed, the others no bounds.
    """
    table = Table(("series", "seed", "value", "low", "high"), rows)
    return Figure(key, title, _differences(len({row[0] for row in rows})), {"rows": table}, caption)


@cache
def _differences(count: int) -> dict[str, Any]:
    import altair as alt

    y = alt.Y("series:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))
    x = alt.X("value:Q", title="difference, same seed", axis=alt.Axis(tickCount=4))
    base = alt.Chart().encode(y=y)
    shown = [alt.Tooltip(f"{name}:N", title=name) for name in ("series", "seed", "value")]
    seeds = base.transform_filter("datum.seed !== null").mark_point(filled=True, size=55, opacity=0.75, color=COLORS[0])
    means = base.transform_filter("datum.seed === null")
    bounds = [
        alt.Tooltip(f"{name}:N", title=title) for name, title in (("value", "mean"), ("low", "low"), ("high", "high"))
    ]
    layers = [
        alt.Chart(alt.InlineData([{"zero": 0}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(x="zero:Q"),
        means.mark_rule(strokeWidth=2, color=INK).encode(x=alt.X("low:Q"), x2="high:Q"),
        means.mark_tick(thickness=3, size=16, color=INK).encode(x=x, tooltip=bounds),
        seeds.encode(x=x, tooltip=shown),
    ]
    return _finished(alt.layer(*layers, data=alt.NamedData("rows")), "differences", height=44 * count)


def outcomes(key: str, title: str, rows: Sequence[tuple[str, int, bool]]) -> Figure:
    """Return what became of the articles: name, count, and whether they were kept."""
    table = Table(
        ("name", "count", "kept"), [(name, count, "kept" if kept else "dropped") for name, count, kept in rows]
    )
    return Figure(key, title, _outcomes(len(rows)), {"rows": table})


@cache
def _outcomes(count: int) -> dict[str, Any]:
    import altair as alt

    base = alt.Chart(alt.NamedData("rows")).encode(
        y=alt.Y("name:N", title=None, sort=None),
        x=alt.X("count:Q", title="articles"),
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "kept:N", scale=alt.Scale(domain=["kept", "dropped"], range=[COLORS[0], GREY]), legend=_legend(alt)
        ),
        tooltip=["name:N", alt.Tooltip("count:Q", format=",")],
    )
    words = base.mark_text(align="left", dx=4, color=INK).encode(text=alt.Text("count:Q", format=","))
    return _finished(alt.layer(bars, words), title="what became of the articles", height=26 * count)


def histogram(key: str, title: str, unit: str, rows: Sequence[tuple[float, float]]) -> Figure:
    """Return how many articles lie between a number and its double: number, count."""
    first = next((place for place, (_, count) in enumerate(rows) if count), 0)
    bins = [(low, 2 * low, count) for low, count in rows[first:] if math.isfinite(low) and math.isfinite(count)]
    return Figure(key, title, _histogram(unit), {"rows": Table(("low", "high", "count"), bins)})


@cache
def _histogram(unit: str) -> dict[str, Any]:
    import altair as alt

    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_rect(color=COLORS[0], stroke="var(--card)")
        .encode(
            x=alt.X(
                "low:Q",
                title=f"{unit} (twofold steps)",
                scale=alt.Scale(type="log", base=2, nice=False),
                axis=alt.Axis(format=","),
            ),
            x2="high:Q",
            y=alt.Y("count:Q", title="articles"),
            y2=alt.Y2Datum(0),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=","),
                alt.Tooltip("high:Q", title="to below", format=","),
                alt.Tooltip("count:Q", title="articles", format=","),
            ],
        )
    )
    return _finished(chart, unit, height=200)


def matrix(key: str, title: str, spec: FigureSpec, rows: Sequence[Mapping[str, str]]) -> Figure:
    """Return how often each name was taken for each: the count, and its share of the row as the colour."""
    values = to_series(rows, [spec.value], title)[spec.value]
    counts = [
        (row[spec.y], row[spec.x], 0 if math.isnan(value) else int(value))
        for row, value in zip(rows, values, strict=True)
    ]
    totals: dict[str, int] = {}
    for true, _, count in counts:
        totals[true] = totals.get(true, 0) + count
    shares = [(true, other, count, count / max(1, totals[true])) for true, other, count in counts]
    return Figure(
        key, title, _matrix(spec.x, len(totals)), {"rows": Table(("true", "taken", "count", "share"), shares)}
    )


@cache
def _matrix(x_title: str, count: int) -> dict[str, Any]:
    import altair as alt

    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("taken:N", title=x_title, sort=None, axis=alt.Axis(labelAngle=-30, orient="top")),
        y=alt.Y("true:N", title="true", sort=None),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=None),
        tooltip=[
            alt.Tooltip("true:N"),
            alt.Tooltip("taken:N", title=x_title),
            alt.Tooltip("count:Q", format=","),
            alt.Tooltip("share:Q", title="share of the row", format=".1%"),
        ],
    )
    words = base.mark_text(fontSize=12).encode(
        text=alt.Text("count:Q", format=","),
        color=alt.condition("datum.share > 0.55", alt.value("#ffffff"), alt.value("#1d2127")),
    )
    width = CELL * count if count <= NARROW else "container"
    return _finished(alt.layer(cells, words), "confusion", CELL * count, width)


def bars(key: str, title: str, spec: FigureSpec, rows: Sequence[Mapping[str, str]]) -> Figure:
    """Return a bar for each row, as long as its number, a share, says."""
    values = to_series(rows, [spec.value], title)[spec.value]
    table = Table(("name", "value"), [(row[spec.y], _finite(value)) for row, value in zip(rows, values, strict=True)])
    return Figure(key, title, _bars(spec.x, len(rows)), {"rows": table})


@cache
def _bars(x_title: str, count: int) -> dict[str, Any]:
    import altair as alt

    base = alt.Chart(alt.NamedData("rows")).encode(
        y=alt.Y("name:N", title=None, sort=None),
        x=alt.X("value:Q", title=x_title, scale=alt.Scale(domain=[0, 1])),
    )
    drawn = base.mark_bar(color=COLORS[0]).encode(tooltip=["name:N", alt.Tooltip("value:N")])
    words = base.mark_text(align="left", dx=4, color=INK).encode(text=alt.Text("value:Q", format=".3f"))
    return _finished(alt.layer(drawn, words), x_title, 26 * count)


def scatter(key: str, title: str, spec: FigureSpec, rows: Sequence[Mapping[str, str]]) -> Figure:
    """Return a point for each row: its number over that of the column `y`."""
    columns = to_series(rows, [spec.y, spec.value], title)
    points = zip(*(map(_finite, columns[name]) for name in (spec.y, spec.value)), strict=True)
    kept, note = thinned(list(points))
    return Figure(key, title, _scatter(spec.x, spec.value), {"rows": Table(("x", "y"), kept)}, note)


@cache
def _scatter(x_title: str, y_title: str) -> dict[str, Any]:
    import altair as alt

    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_point(filled=True, size=22, opacity=0.4, color=COLORS[0])
        .encode(
            x=alt.X("x:Q", title=x_title),
            y=alt.Y("y:Q", title=y_title.replace("_", " ")),
            tooltip=[alt.Tooltip("x:N", title=x_title), alt.Tooltip("y:N", title=y_title)],
        )
    )
    return _finished(chart, y_title, height=HEIGHT)


SHAPES = {"matrix": matrix, "bars": bars, "scatter": scatter}
"""Shape of a figure in a report -> what makes it."""


def scores(key: str, title: str, rows: Sequence[Sequence[Any]], caption: str = "") -> Figure:
    """Return numbers that are shares, with their intervals and what they are held against.

    A row is `(measured, what, value, low, high)`; `what` is "maskline" or the name of a baseline, which has no bounds.
    """
    return Figure(
        key,
        title,
        _scores(len({row[0] for row in rows})),
        {"rows": Table(("measured", "what", "value", "low", "high"), rows)},
        caption,
    )


@cache
def _scores(count: int) -> dict[str, Any]:
    import altair as alt

    base = alt.Chart().encode(y=alt.Y("measured:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)))
    x = alt.X("value:Q", title="share", scale=alt.Scale(domain=[0, 1]))
    ours = base.transform_filter("datum.what === 'maskline'")
    others = base.transform_filter("datum.what !== 'maskline'")
    shown = [alt.Tooltip(f"{name}:N", title=title) for name, title in (("what", " "), ("value", "value"))]
    bounds = [alt.Tooltip(f"{name}:N") for name in ("low", "high")]
    layers = [
        others.mark_tick(thickness=2.5, size=20, color=GREY).encode(x=x, tooltip=[*shown, "measured:N"]),
        ours.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=5, opacity=0.45, color=COLORS[0])
        .encode(x=alt.X("low:Q"), x2="high:Q"),
        ours.mark_point(filled=True, size=90, color=COLORS[0], opacity=1).encode(x=x, tooltip=[*shown, *bounds]),
    ]
    return _finished(alt.layer(*layers, data=alt.NamedData("rows")), "scores", 36 * count)


def thinned(rows: Sequence[Any], most: int = MOST_ROWS) -> tuple[list[Any], str]:
    """Return every second row, or third, and so on, so that at most `most` are left, and what to say of it."""
    step = math.ceil(len(rows) / most) or 1
    if step == 1:
        return list(rows), ""
    return list(rows[::step]), f"Of {len(rows):,} rows, one in {step} is drawn."


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _legend(alt: Any, **more: Any) -> Any:
    return alt.Legend(title=None, orient="top", symbolOpacity=1, **more)


def _color(alt: Any, names: Sequence[str], colors: Sequence[str] = COLORS, **legend_too: Any) -> Any:
    chosen = [colors[place % len(colors)] for place in range(len(names))]
    legend = _legend(alt, **legend_too) if len(names) > 1 else None
    return alt.Color("series:N", scale=alt.Scale(domain=list(names), range=chosen), legend=legend)


def _dashes(alt: Any, names: Sequence[str], colors: Sequence[str] = COLORS, **legend_too: Any) -> dict[str, Any]:
    """Return how lines are dashed where there are more of them than colours; nothing where there are not."""
    if len(names) <= len(colors):
        return {}
    chosen = [DASHES[place // len(colors) % len(DASHES)] for place in range(len(names))]
    scale = alt.Scale(domain=list(names), range=chosen)
    return {"strokeDash": alt.StrokeDash("series:N", scale=scale, legend=_legend(alt, **legend_too))}


def _zoom(alt: Any) -> Any:
    """Return what drags and zooms; the wheel alone still scrolls the page."""
    return alt.selection_interval(name="zoom", bind="scales", zoom="wheel![event.shiftKey]")


def _hover(alt: Any, base: Any, shown: Sequence[str]) -> Any:
    """Return a layer that says the numbers of the point nearest to the pointer, with every digit that the file has."""
    near = alt.selection_point(name="near", on="pointerover", clear="pointerout", nearest=True, empty=False)
    return (
        base.mark_point(filled=True, size=90)
        .encode(
            opacity=alt.condition(near, alt.value(1), alt.value(0)),
            tooltip=[alt.Tooltip(f"{name}:N", title=name) for name in shown],
        )
        .add_params(near)
    )


def _finished(chart: Any, title: str, height: int = HEIGHT, width: int | str = "container") -> dict[str, Any]:
    """Return a chart, by default as wide as its place, as plain JSON; the address of the schema is left out."""
    content = chart.properties(width=width, height=height).to_dict()
    content.pop("$schema")
    content.pop("config", None)
    return {**content, "description": title}

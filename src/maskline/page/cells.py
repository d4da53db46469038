"""Fields of tables that show numbers."""

import math
from typing import Any

from maskline.page.curves import number
from maskline.page.elements import Cell, text
from maskline.reporting.tables import format_number


def whole(value: float | None) -> str:
    """Return a number without decimals, its thousands apart."""
    return "—" if value is None or not math.isfinite(value) else f"{value:,.0f}"


def count_cell(value: float | None) -> Cell:
    """Return a whole number as a field."""
    return Cell(whole(value), number(value), number=True)


def score_cell(value: Any, digits: int = 0) -> Cell:
    """Return a number as a field: whole ones whole, others with three decimals or `digits` that count."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return Cell("—", None, number=True)
    if float(value).is_integer():
        return Cell(f"{value:,.0f}", value, number=True)
    return Cell(f"{value:.{digits}g}" if digits else format_number(value), number(value), number=True)


def field_cell(content: str) -> Cell:
    """Return a field of a CSV: a number where it is one."""
    try:
        return score_cell(float(content))
    except ValueError:
        return Cell(text(content))

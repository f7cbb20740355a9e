"""What a column holds, as far as a first draft of interventions needs to know."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

__all__ = ["Summary", "summary_of"]

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}")


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """One column in short.

    Attributes
    ----------
    name
        The column.
    kind
        What its values are; ``"nothing"`` where all are missing, ``"other"`` for what no feature is made of.
    missing
        How many are missing.
    numbers
        The numbers that are there; truth values as 0 and 1.
    counts
        How often each text occurs, in the order of the categories where the column has one, else sorted.
    """

    name: str
    kind: Literal["numbers", "texts", "dates", "nothing", "other"]
    missing: int
    numbers: NDArray[np.float64]
    counts: dict[str, int]

    @property
    def size(self) -> int:
        """How many values are there."""
        return sum(self.counts.values()) if self.counts else len(self.numbers)

    @property
    def varieties(self) -> int:
        """How many different values are there."""
        return len(self.counts) if self.counts else len(np.unique(self.numbers))

    def words(self) -> str:
        """The values as a sentence."""
        if self.counts:
            most = max(self.counts, key=lambda text: self.counts[text])
            return f"{len(self.counts)} categories, most often {most!r} ({self.counts[most] / self.size:.0%})."
        if self.varieties == 1:
            return f"Always {self.numbers[0]:g}."
        if np.isin(self.numbers, (0.0, 1.0)).all():
            return f"1 for {self.numbers.mean():.1%} of the people."
        low, first, third, high = np.quantile(self.numbers, (0.0, 0.25, 0.75, 1.0))
        half = f"at {first:g}" if first == third else f"between {first:g} and {third:g}"
        return f"From {low:g} to {high:g}, half of the people or more {half}."


def summary_of(table: Table, name: str) -> Summary:
    """Look at one column."""
    column = table.column(name)
    none = np.empty(0)
    if column.dtype.kind in "biuf":
        numbers = column.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        return Summary(name, "numbers" if len(numbers) else "nothing", len(column) - len(numbers), numbers, {})
    if column.dtype.kind != "O":
        return Summary(name, "dates" if column.dtype.kind == "M" else "other", 0, none, {})
    values = [value for value in map(plain_value, column) if value is not None]
    missing = len(column) - len(values)
    if not values:
        return Summary(name, "nothing", missing, none, {})
    if all(isinstance(value, bool) for value in values):
        return Summary(name, "numbers", missing, np.asarray(values, dtype=np.float64), {})
    if not all(isinstance(value, str) for value in values):
        return Summary(name, "other", missing, none, {})
    found = Counter(map(str, values))
    order = [text for text in table.order(name) if text in found] or sorted(found)
    dates = all(_DATE.match(text) for text in order)
    return Summary(name, "dates" if dates else "texts", missing, none, {text: found[text] for text in order})

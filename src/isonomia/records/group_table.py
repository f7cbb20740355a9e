"""The table by group: measures of all rows, of each group and of each intersection, with their intervals.

:func:`isonomia.measure` makes it. A :class:`GroupTable` has a :class:`GroupRow` for each group, which has an
:class:`Estimate` for each measure, by name: ``table["sex"]``, ``row["selection_rate"].low``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite, nan
from os import PathLike
from pathlib import Path
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.records.frame import frame_of
from isonomia.wording import brief, first_few, number, visible

Values = tuple[Any, ...]
"""The values of a group, one for each column; ``None`` for an unknown one."""

MEASURES = {
    "selection_rate": "the share that gets the favourable decision",
    "impact_ratio": "the selection rate, divided by that of the reference group",
    "outcome_rate": "the share whose outcome is positive (the base rate)",
    "true_positive_rate": "of those with a positive outcome, the share that gets the favourable decision",
    "false_positive_rate": "of those without a positive outcome, the share that gets the favourable decision",
    "false_negative_rate": "of those with a positive outcome, the share that does not get the favourable decision",
    "positive_predictive_value": "of those with the favourable decision, the share whose outcome is positive",
    "accuracy": "the share whose decision agrees with the outcome",
    "mean_score": "the mean of the scores",
    "scoring_rate": "the share with a score above the median of all scores",
    "scoring_ratio": "the scoring rate, divided by that of the reference group",
    "calibration": "the share with a positive outcome minus the mean score: above 0 where scores are too low, below 0 "
    "where they are too high",
    "mean_decision": "the mean of the predicted numbers",
    "mean_outcome": "the mean of the actual numbers",
    "mean_error": "the mean of prediction minus outcome",
    "mean_absolute_error": "the mean absolute difference between prediction and outcome",
}
"""Every measure, in the order of the table, with its meaning."""

FRACTIONS = ("impact_ratio", "scoring_ratio")
"""Measures that compare a group with the reference group."""

COUNTS = ("selected", "true_positives", "false_positives", "false_negatives", "true_negatives")
"""The names of the columns with the number of selected people and the confusion matrix."""

UNKNOWN = "unknown"
ALL_ROWS = "all rows"
"""The names of rows that are not a group by value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure of one group.

    Attributes
    ----------
    value
        Its value in the data; ``None`` for an empty group.
    low, high
        The values that the rows do not refute; ``None`` if there is no interval.
    n
        How many people it is measured on: for a true positive rate those with a positive outcome, for a ratio those of
        the group.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        """The number and its interval, such as ``0.484 [0.477, 0.491]``; a dash if there is no value."""
        if self.value is None:
            return "-"
        if self.low is None or self.high is None or self.low == self.high:
            return _digits(self.value)
        return f"{_digits(self.value)} [{_digits(self.low)}, {_digits(self.high)}]"


def _digits(value: float) -> str:
    """Three decimals below 10, four significant digits above."""
    return f"{value:.3f}" if abs(value) < 10 else number(value)


@dataclass(frozen=True, slots=True)
class ScoreBin:
    """The people of a group with an outcome whose score lies in one bin.

    Attributes
    ----------
    start, end
        The edges; the upper one is included only in the last bin.
    mean_score
        The mean of their scores; ``None`` for an empty bin.
    outcome
        The share of them whose outcome is positive.
    """

    start: float
    end: float
    mean_score: float | None
    outcome: Estimate


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The measures of one group.

    Attributes
    ----------
    by
        The columns that define the group; empty for all rows.
    values
        The group's value of each; ``(None,)`` for rows where one of them is missing.
    n, share
        How many people, and what part of all rows.
    estimates
        The measures by name.
    counts
        ``selected``, and with outcomes the confusion matrix: ``true_positives`` and so on.
    missing
        How many of them have no ``decision``, ``outcome`` or ``score``; they count in ``n``, but in no rate that needs
        it.
    small
        Whether the share is below the limit, 2% by default.
    reference_for
        The ratios in which the other groups are compared with this one.
    reliability
        Scores against outcomes, bin by bin; empty unless there are both.
    """

    by: tuple[str, ...]
    values: Values
    n: int
    share: float
    estimates: Mapping[str, Estimate]
    counts: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    small: bool = False
    reference_for: tuple[str, ...] = ()
    reliability: tuple[ScoreBin, ...] = ()

    @property
    def reference(self) -> bool:
        """Whether other groups are compared with this one."""
        return bool(self.reference_for)

    @property
    def unknown(self) -> bool:
        """Whether these are the people whose group is unknown."""
        return bool(self.by) and None in self.values

    @property
    def name(self) -> str:
        """The group in words: ``F``, ``F, Black``, ``unknown`` or ``all rows``."""
        if not self.by:
            return ALL_ROWS
        return UNKNOWN if self.unknown else ", ".join(word_of(value) for value in self.values)

    @property
    def exact_name(self) -> str:
        """The group as :attr:`name` has it, but with every value as it is in the data, for other programs."""
        if not self.by or self.unknown:
            return self.name
        whole = [value.is_integer() if isinstance(value, float) else value is None for value in self.values]
        named = zip(self.values, whole, strict=True)
        return ", ".join(word_of(value) if in_words else str(value) for value, in_words in named)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know about the row: ``reference``, ``small``, ``unknown``."""
        flags = {"reference": self.reference, "small": self.small, UNKNOWN: self.unknown}
        return tuple(flag for flag, is_so in flags.items() if is_so)

    def __getitem__(self, measure: str) -> Estimate:
        try:
            return self.estimates[measure]
        except KeyError:
            raise UsageError(
                f"{measure!r} was not measured; there are {first_few(list(self.estimates), 20)}."
                f"{nearest(measure, self.estimates)}"
            ) from None


@dataclass(frozen=True, slots=True)
class GroupTable:
    """A table by group and intersection, as :func:`isonomia.measure` makes it.

    Attributes
    ----------
    rows
        All rows first; then, in the order of ``by``, the groups of each attribute or combination, unknown ones last.
    by
        The attributes and combinations, each a tuple of columns.
    size
        How many rows the data have; all of them are used.
    decision, favourable, outcome, positive, score
        The columns, or the model's ``prediction`` and ``score``, and the values that count as favourable and as
        positive; ``None`` without such a column, and for numbers that are measured by their mean.
    median
        The median of all scores; ``None`` without scores.
    small
        The share of all rows below which a group is flagged.
    delta, looks
        Each interval misses the truth with at most this probability, for this number of looks.
    population
        ``"sample"`` or ``"census"``; for a census the intervals are the values themselves.
    source, model
        The source of the data, and the name and fingerprint of the model that decided.
    assumptions, remarks
        The assumptions of the intervals, and other remarks for a reader.
    seconds, version
        How long it took, and the version of Isonomia.
    queries
        How many rows were sent to the model; ``None`` without a model.
    """

    rows: tuple[GroupRow, ...]
    by: tuple[tuple[str, ...], ...]
    size: int
    decision: str | None
    favourable: Any
    outcome: str | None
    positive: Any
    score: str | None
    median: float | None
    small: float
    delta: float
    looks: str | int
    population: str
    source: str = ""
    model: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
    version: str = ""
    queries: int | None = None

    @property
    def everybody(self) -> GroupRow:
        """The row for the whole table."""
        return self.rows[0]

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures, in order."""
        present = {name for row in self.rows for name in row.estimates}
        return tuple(name for name in MEASURES if name in present)

    @property
    def unknown(self) -> dict[tuple[str, ...], int]:
        """How many people have no known group, by attribute or combination."""
        return {by: sum(row.n for row in self[by] if row.unknown) for by in self.by}

    def __iter__(self) -> Iterator[GroupRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, by: str | Sequence[str]) -> tuple[GroupRow, ...]:
        """The groups of an attribute, ``table["sex"]``, or of a combination, ``table["sex", "race"]``."""
        wanted = (by,) if isinstance(by, str) else tuple(by)
        if wanted not in self.by and wanted and wanted[0] in {",".join(each) for each in self.by}:
            wanted = next(each for each in self.by if ",".join(each) == wanted[0])
        if wanted not in self.by:
            known = [",".join(each) for each in self.by]
            raise UsageError(
                f"nothing was measured by {','.join(map(str, wanted))!r}; there are {first_few(known, 12)}."
                f"{nearest(','.join(map(str, wanted)), known)}"
            )
        return tuple(row for row in self.rows if row.by == wanted)

    def row(self, by: str | Sequence[str], *values: Any) -> GroupRow:
        """One group: ``table.row("sex", "F")``, ``table.row(("sex", "race"), "F", "Black")``."""
        rows = self[by]
        match = next((row for row in rows if row.values == values), None)
        if match is None:
            names = [row.name for row in rows]
            shown = ", ".join(map(str, values))
            raise UsageError(f"there is no group {shown!r}; there are {first_few(names, 20)}.{nearest(shown, names)}")
        return match

    def difference(self, measure: str = "selection_rate", by: str | Sequence[str] | None = None) -> float:
        """The highest value of a measure minus the lowest, among the groups of ``by``, the first attribute by default.

        It describes these rows and has no interval: check a claim to know what holds for the population. Small groups
        count; rows whose group is unknown do not.
        """
        lowest, highest = self._extremes(measure, by)
        return highest - lowest

    def ratio(self, measure: str = "selection_rate", by: str | Sequence[str] | None = None) -> float:
        """The lowest value of a measure divided by the highest, as for :meth:`difference`; NaN where both are 0."""
        lowest, highest = self._extremes(measure, by)
        return lowest / highest if highest else nan

    def _extremes(self, measure: str, by: str | Sequence[str] | None) -> tuple[float, float]:
        rows = [row for row in self[self.by[0] if by is None else by] if not row.unknown]
        values = [row[measure].value for row in rows if measure in row.estimates or measure not in self.measures]
        known = [float(value) for value in values if value is not None]
        if not known:
            raise UsageError(
                f"expected a group with a {measure.replace('_', ' ')}, but no group has one", name="measure"
            )
        return min(known), max(known)

    def columns(self) -> dict[str, list[Any]]:
        """The table as columns of plain values: a row for each group, three columns for each measure."""
        rows, flags = self.rows, [", ".join(row.flags) for row in self.rows]
        columns: dict[str, list[Any]] = {
            "by": [",".join(row.by) for row in rows],
            "group": [row.exact_name for row in rows],
            "n": [row.n for row in rows],
            "share": [row.share for row in rows],
            "flags": flags,
        }
        for name in self.measures:
            estimates = [row.estimates.get(name) for row in rows]
            columns[name] = [None if one is None else one.value for one in estimates]
            columns[f"{name}_low"] = [None if one is None else one.low for one in estimates]
            columns[f"{name}_high"] = [None if one is None else one.high for one in estimates]
        for name in COUNTS:
            if any(name in row.counts for row in rows):
                columns[name] = [row.counts.get(name) for row in rows]
        for name in ("decision", "outcome", "score"):
            if any(row.missing.get(name) for row in rows):
                columns[f"missing_{name}"] = [row.missing.get(name, 0) for row in rows]
        return columns

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a frame of ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first installed."""
        return frame_of(self.columns(), library)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; an infinite end of an interval becomes ``None``."""
        data: dict[str, Any] = _finite(asdict(self))
        for plain, row in zip(data["rows"], self.rows, strict=True):
            plain |= {"name": row.name, "flags": list(row.flags), "unknown": row.unknown}
        return data

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return str(_RENDERERS["markdown"](self))

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """The table with its charts as one self-contained HTML page; written to a file if a path is given."""
        page = str(_RENDERERS["page"](self))
        if path is not None:
            _RENDERERS["write page"](page, Path(path))
        return page

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the columns to a file, CSV or Parquet by its extension. Numbers are written so that they round-trip.

        In a CSV file, a text that a spreadsheet would compute gets an apostrophe in front, unless its name ends in
        ``.raw.csv``.
        """
        _RENDERERS["write table"](self.columns(), Path(path))

    def __str__(self) -> str:
        return str(_RENDERERS["text"](self))

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def word_of(value: Any) -> str:
    """A value of a group as people write it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return visible(value) if isinstance(value, str) else "unknown" if value is None else brief(value)


def _finite(value: Any) -> Any:
    """The same with lists for tuples, and ``None`` for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


_RENDERERS: dict[str, Callable[..., Any]] = {}


def render_table_with(renderers: Mapping[str, Callable[..., Any]]) -> None:
    """Set how a table is printed, shown and written; the value itself does not know."""
    _RENDERERS.update(renderers)

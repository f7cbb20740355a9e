"""From rows to counts by group: every row is used once, and rows go no further than here.

People without a known value of an attribute are counted separately. A missing decision, outcome or score leaves a
person out of the rates that need it, and out of nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError, nearest
from isonomia.evidence.exact import Limbs, floats_of, fraction_of, limb_sums
from isonomia.populations.cells import Totals
from isonomia.populations.table import Table, plain_value
from isonomia.spec.columns import kind_of, missing, plain
from isonomia.wording import first_few, listed

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Ends = tuple[float, float]

MAX_GROUPS = 1_000
"""The most groups of one attribute or combination: more cannot be read, and the column is probably a number."""

YES, NO, MISSING = 1, 0, 2
"""The codes of an event for one person."""

BINS = 10
"""The bins of a reliability chart, equally wide from 0 to 1."""

FINE = 256
"""How many bins the range of numbers is cut into for intervals of their means; more make these a little narrower."""

CODES = FINE + BINS + 1
"""The bins that are counted: those of either kind cut each other, and the end of the range has one of its own."""

_STEPS = np.arange(FINE * BINS // 2 + 1) * 2  # each bin of either kind begins at one of these
FINE_CODE, FINE_CODE_OF_SCORES, CHART_BIN = (np.minimum(np.arange(CODES), most) for most in (FINE, FINE, BINS - 1))
FINE_CODE_OF_SCORES[_STEPS // BINS + _STEPS // FINE] = _STEPS // BINS
CHART_BIN[_STEPS // BINS + _STEPS // FINE] = np.minimum(_STEPS // FINE, BINS - 1)
"""The fine bin of a code, and for scores from 0 to 1 also its bin of a reliability chart."""

UNIT = (0.0, 1.0)


# ---------------------------------------------------------------------------------------------------------- attributes


@dataclass(slots=True)
class GroupAttributes:
    """The columns that define groups, and the numbers of the values met so far; 0 is for unknown ones."""

    names: tuple[str, ...]
    unknown: frozenset[str]
    known: dict[str, dict[Any, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.known = {name: {} for name in self.names}

    def read(self, table: Table) -> dict[str, Codes]:
        """The number of each person's value, by column."""
        return {name: self._codes(table, name) for name in self.names}

    def value(self, name: str, code: int) -> Any:
        """The value of a number; ``None`` for unknown."""
        return None if code == 0 else list(self.known[name])[code - 1]

    def _codes(self, table: Table, name: str) -> Codes:
        values, places = _distinct(table, name)
        known, codes = self.known[name], np.zeros(len(values) + 1, dtype=np.intp)
        for place, value in enumerate(values):
            if value is None or (isinstance(value, str) and value.strip() in self.unknown):
                continue
            if not isinstance(value, str | bool | int | float):
                raise DataError(
                    f"the values of {name!r} should be text, numbers or truth values to make groups, but one is "
                    f"{value!r} ({type(value).__name__}): make a column of groups from it"
                )
            codes[place] = known.setdefault(value, len(known) + 1)
            if len(known) > MAX_GROUPS:
                raise UsageError(
                    f"{name!r} has more than {MAX_GROUPS:,} different values, such as "
                    f"{first_few(list(map(repr, known)), 3)}: make a column of groups from it, such as ranges of age"
                )
        return np.asarray(codes[places])


def _distinct(table: Table, name: str) -> tuple[list[Any], Codes]:
    """The values of a column, each once as plain Python, and which of them each row has; -1 where it is missing."""
    if table.kind == "pyarrow":
        column = table.native[name]
        if str(column.type) in {"string", "large_string"}:
            # Many times faster than a Python string for each row.
            chunk = column.combine_chunks().dictionary_encode()
            places = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            return chunk.dictionary.to_pylist(), places.astype(np.intp)
    column = table.column(name)
    if column.dtype.kind in "biuf":
        values, places = np.unique(column, return_inverse=True)
        return [plain_value(value) for value in values], places.astype(np.intp)
    items = column.tolist()
    numbers: dict[Any, int] = {}
    try:
        for value in items:
            numbers.setdefault(value, len(numbers))
    except TypeError:
        raise DataError(f"the values of {name!r} should be text, numbers or truth values to make groups") from None
    places = np.fromiter((numbers[value] for value in items), dtype=np.intp, count=len(items))
    return [plain_value(value) for value in numbers], places


# -------------------------------------------------------------------------------------------------------------- events


@dataclass(slots=True)
class PositiveValue:
    """Whether a column has one particular value: the favourable decision, the positive outcome.

    Attributes
    ----------
    role, option
        What the column is, ``decision`` or ``outcome``, and the name of the argument that says which value is meant.
    name, value
        The column, and the value; ``None`` where none was given, which means 1 in a column of 0 and 1.
    numbers
        Whether it is a number to be averaged instead; ``None`` before the first row.
    may_be_number
        Whether it may be such a number.
    """

    role: str
    option: str
    name: str
    value: Any
    may_be_number: bool = False
    numbers: bool | None = None
    _met: bool = False
    _seen: dict[Any, None] = field(default_factory=dict)

    def read(self, values: NDArray[Any]) -> NDArray[np.int8]:
        """``YES``, ``NO`` or ``MISSING`` for each row; all missing where it is a number to be averaged."""
        column = plain(values, self.name)
        absent = missing(column)
        present = column[~absent] if absent.any() else column
        if not len(present):
            return np.full(len(column), MISSING, dtype=np.int8)
        if self.value is None or self.numbers:
            self._settle(present)
        if self.numbers:
            return np.full(len(column), MISSING, dtype=np.int8)
        value = self._fitting(column)
        events = np.asarray(column == value, dtype=np.int8)
        events[absent] = MISSING
        if not self._met:
            self._met = bool((events == YES).any())
            self._seen |= dict.fromkeys(_values_of(present))
        return events

    def close(self) -> None:
        """Refuse a value that no row has; in a column of 0 and 1, the default value may be absent."""
        if not self._met and self.value is not None and self._seen:
            values = list(self._seen)
            raise UsageError(
                f"no row has {self.value!r} in {self.name!r}, the {self.role}; its values are {_shown(values)}."
                f"{nearest(str(self.value), [str(value) for value in values])}"
                f" Say which one counts with {self.option}=",
                name=self.option,
            )

    @property
    def counted(self) -> Any:
        """The value that counts; ``None`` for a number that is averaged."""
        return None if self.numbers else 1 if self.value is None else self.value

    def _settle(self, present: NDArray[Any]) -> None:
        """Find out what a column is where no value was given."""
        kind = kind_of(present)
        binary = kind == "truth" or (kind == "number" and bool(np.isin(present, (0, 1)).all()))
        if self.numbers is None and binary:
            self.numbers = False
        elif self.numbers is None:
            self.numbers = self._number_wanted(present, kind)
        if not self.numbers and not binary:
            other = next(value for value in _values_of(present) if value not in (0, 1))
            raise UsageError(
                f"{self.name!r}, the {self.role}, is 0 or 1 in the first rows, but {other!r} later: say which value "
                f"counts with {self.option}=",
                name=self.option,
            )

    def _number_wanted(self, present: NDArray[Any], kind: str) -> bool:
        values = _values_of(present)
        if kind == "number" and self.may_be_number and len(values) > 2:
            return True
        yes_or_no = "" if self.may_be_number or kind != "number" else ", and no yes or no"
        raise UsageError(
            f"{self.name!r}, the {self.role}, is {'text' if kind == 'text' else f'a {kind}'} with the values "
            f"{_shown(values)}{yes_or_no}: say which of them is the {self.option} one, "
            f"{' or '.join(f'{self.option}={value!r}' for value in values[:2])}",
            name=self.option,
        )

    def _fitting(self, column: NDArray[Any]) -> Any:
        """The value in the column's own type: on the command line everything is text."""
        value, kind = 1 if self.value is None else self.value, kind_of(column)
        if isinstance(value, str) == (kind == "text"):
            return value
        try:
            if kind == "number":
                return float(value)
            if kind == "truth":
                return _TRUTHS[str(value).lower()]
        except (ValueError, KeyError):
            pass
        values = _values_of(column[~missing(column)])
        raise UsageError(
            f"{self.name!r}, the {self.role}, has the values {_shown(values)}, but got "
            f"{self.option}={value!r}: give one of its values",
            name=self.option,
        )


def has_many_numbers(parts: Iterable[NDArray[Any]], name: str) -> bool:
    """Whether a column, given in parts, has more than two different numbers: then it is no yes or no."""
    seen: set[Any] = set()
    for part in parts:
        column = plain(part, name)
        present = column[~missing(column)]
        if len(present) and kind_of(present) != "number":
            return False
        seen |= set(np.unique(present)[:3].tolist())
        if len(seen) > 2:
            return True
    return False


_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _values_of(present: NDArray[Any], limit: int = 1_000) -> list[Any]:
    """The values that occur among the first rows of a batch, ascending."""
    return [plain_value(value) for value in np.unique(present[:65_536])[:limit]]


def _shown(values: Sequence[Any]) -> str:
    shown = [repr(value) for value in values]
    return listed(shown) if len(shown) <= 12 else first_few(shown, 12)


def numbers_in(values: NDArray[Any], name: str, role: str) -> Floats:
    """A column of numbers, NaN where one is missing."""
    column = plain(values, name)
    if missing(column).all():
        return np.full(len(column), np.nan)
    if kind_of(column) not in {"number", "truth"}:
        raise DataError(
            f"{name!r}, the {role}, should hold numbers, but is {kind_of(column)}, such as "
            f"{_values_of(column[~missing(column)])[0]!r}"
        )
    numbers = column.astype(np.float64)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(
            f"{name!r}, the {role}, should hold finite numbers, but row {int(np.argmax(infinite))} of a "
            "batch is infinite: leave such rows out, or mark them as missing"
        )
    return numbers


# -------------------------------------------------------------------------------------------------------------- counts


@dataclass(frozen=True, slots=True)
class BinnedNumbers:
    """Some numbers: how many, their exact sum, and the same by bin.

    Attributes
    ----------
    n, total
        How many there are, and their sum.
    edges
        Where each bin begins, and where the last one ends; empty where there are no bins.
    bins, sums
        How many numbers each bin has, and their sum.
    """

    n: int
    total: Fraction
    edges: Floats
    bins: NDArray[np.int64]
    sums: Floats


@dataclass(slots=True)
class NumberCounts:
    """Numbers by group, outcome and bin: how many, and their exact sums.

    Attributes
    ----------
    name
        What the numbers are, for messages.
    span
        The range that is cut into bins; ``None`` for no bins.
    ends
        The values between which numbers must lie; ``None`` if unknown, and then there is no interval.
    n, sums
        The counts, of shape ``(groups, 3, bins)``.
    """

    name: str
    span: Ends | None
    ends: Ends | None
    n: NDArray[np.int64] = field(init=False)
    sums: Limbs = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n = np.zeros((0, 3, 1 if self.span is None else CODES), dtype=np.int64)

    def code(self, number: Any, floor: Callable[[Any], Any] = np.floor) -> Any:
        """The bin of each number, of an array or as an engine's expression; for scores, bins of both kinds."""
        if self.span is None:
            return number * 0.0
        low, high = self.span
        fine = floor((number - low) * (FINE / (high - low)))
        return fine + floor(number * float(BINS)) if self.span == UNIT else fine

    def add(self, cells: Codes, groups: int, numbers: Floats) -> None:
        """Count the numbers of rows, NaN left out; ``cells`` are three times the group, plus the outcome."""
        there = ~np.isnan(numbers)
        numbers, size = numbers[there], 3 * groups * self.n.shape[2]
        low, high = (-np.inf, np.inf) if self.ends is None else self.ends
        if len(numbers) and (numbers.min() < low or numbers.max() > high):
            wrong = numbers[np.argmax((numbers < low) | (numbers > high))]
            raise DataError(f"{self.name} should lie between {low:g} and {high:g}, but got {wrong:g}: widen its range")
        index = cells[there] * self.n.shape[2] + self.code(numbers).astype(np.intp)
        self._put(groups, np.bincount(index, minlength=size), limb_sums(numbers, index, size))

    def add_totals(self, cells: Codes, groups: int, codes: Floats, totals: Totals) -> None:
        """Count what a table's engine counted."""
        there, size = totals.n > 0, 3 * groups * self.n.shape[2]
        index = cells[there] * self.n.shape[2] + codes[there].astype(np.intp)
        n, limbs = np.zeros(size, dtype=np.int64), {level: np.zeros(size, dtype=np.int64) for level in totals.limbs}
        np.add.at(n, index, totals.n[there])
        for level, limb in totals.limbs.items():
            np.add.at(limbs[level], index, limb[there])
        self._put(groups, n, limbs)

    def _put(self, groups: int, n: NDArray[np.int64], sums: Limbs) -> None:
        shape = (groups, *self.n.shape[1:])
        self.n = grown(self.n, groups) + n.reshape(shape)
        for level in {*self.sums, *sums}:
            before = grown(self.sums.get(level, self.n[:0]), groups)
            self.sums[level] = before + sums[level].reshape(shape) if level in sums else before

    def drop_bins(self) -> None:
        """Keep counts and sums only: the range turned out to be unknown."""
        self.span, self.ends, self.n = None, None, self.n.sum(axis=2, keepdims=True)
        self.sums = {level: limb.sum(axis=2, keepdims=True) for level, limb in self.sums.items()}

    def numbers(self, group: int) -> BinnedNumbers:
        """The numbers of one group."""
        n, limbs = self.n[group].sum(axis=0), {level: limb[group].sum(axis=0) for level, limb in self.sums.items()}
        whole = fraction_of({level: limb.sum(keepdims=True) for level, limb in limbs.items()}, 0)
        if self.span is None:
            return BinnedNumbers(int(n.sum()), whole, np.zeros(0), n, np.zeros(1))
        bins = np.minimum(FINE_CODE_OF_SCORES if self.span == UNIT else FINE_CODE, FINE - 1)
        sums = np.bincount(bins, floats_of(limbs, len(n)), FINE).astype(np.float64)
        fine = np.bincount(bins, n, FINE).astype(np.int64)
        return BinnedNumbers(int(n.sum()), whole, np.linspace(*self.span, FINE + 1), fine, sums)

    def gaps(self, group: int) -> BinnedNumbers:
        """The outcomes of one group, 1 or 0, less their scores."""
        no, yes = (self.only(outcome).numbers(group) for outcome in (NO, YES))
        bins = np.concatenate([no.bins[::-1], yes.bins[::-1]])
        sums = np.concatenate([-no.sums[::-1], (yes.bins.astype(float) - yes.sums)[::-1]])
        edges = np.linspace(-1.0, 1.0, 2 * FINE + 1)
        return BinnedNumbers(no.n + yes.n, yes.n - yes.total - no.total, edges, bins, sums)

    def only(self, outcome: int) -> NumberCounts:
        """The numbers of those with one outcome."""
        chosen = NumberCounts(self.name, self.span, self.ends)
        chosen.n = self.n[:, [outcome]]
        chosen.sums = {level: limb[:, [outcome]] for level, limb in self.sums.items()}
        return chosen

    def chart(self, group: int) -> Floats:
        """By bin of a reliability chart: people with an outcome, those with a positive one, and the sum of scores."""
        both = self.n[group, [NO, YES]]
        totals = floats_of({level: limb[group, [NO, YES]].sum(axis=0) for level, limb in self.sums.items()}, CODES)
        return np.stack([np.bincount(CHART_BIN, each, BINS) for each in (both.sum(axis=0), both[1], totals)], axis=-1)


def grown(array: NDArray[Any], groups: int) -> NDArray[Any]:
    """The same counts with room for more groups."""
    if len(array) >= groups:
        return array
    return np.concatenate([array, np.zeros((groups - len(array), *array.shape[1:]), dtype=array.dtype)])


@dataclass(slots=True)
class GroupCounts:
    """The counts of one attribute or combination; with no attribute, of all rows.

    Attributes
    ----------
    by
        The columns.
    numbers
        The numbers that are counted, by name.
    groups
        The number of each group by its values' numbers; group 0 is the unknown one, which may be empty.
    cells
        How many have which decision (first) and which outcome: ``NO``, ``YES`` or ``MISSING``.
    above
        How many have a score above the median of these rows, and above each ascending value about it at which the
        range of the population's median is cut.
    """

    by: tuple[str, ...]
    numbers: dict[str, NumberCounts] = field(default_factory=dict)
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    cells: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3, 3), dtype=np.int64))
    above: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 1), dtype=np.int64))

    def __post_init__(self) -> None:
        self.groups[(0,) * len(self.by)] = 0

    def place(self, codes: Mapping[str, Codes], rows: int) -> Codes:
        """The group of each row."""
        if not self.by:
            return np.zeros(rows, dtype=np.intp)
        columns = [codes[name] for name in self.by]
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        key = np.zeros(rows, dtype=np.intp)
        for column, size in zip(columns, sizes, strict=True):
            key = key * size + column
        unknown = np.logical_or.reduce([column == 0 for column in columns])
        key[unknown] = 0
        # The numbers of groups that occur: by a lookup where few are possible, by sorting otherwise.
        if float(np.prod(sizes, dtype=float)) <= 2**20:
            present = np.flatnonzero(np.bincount(key))
            look_up = np.zeros(int(key.max(initial=0)) + 1, dtype=np.intp)
            look_up[present] = [self._number(value, sizes) for value in present.tolist()]
            return np.asarray(look_up[key])
        present, places = np.unique(key, return_inverse=True)
        return np.asarray([self._number(value, sizes) for value in present.tolist()], dtype=np.intp)[places]

    def _number(self, key: int, sizes: Sequence[int]) -> int:
        if key == 0:
            return 0
        values: list[int] = []
        for size in reversed(sizes):
            key, value = divmod(key, size)
            values.append(value)
        number = self.groups.setdefault(tuple(reversed(values)), len(self.groups))
        if len(self.groups) > MAX_GROUPS + 1:
            raise UsageError(
                f"{','.join(self.by)} has more than {MAX_GROUPS:,} groups: combine fewer columns, or coarser ones"
            )
        return number

    @property
    def size(self) -> int:
        """How many groups there are, including the unknown one."""
        return len(self.groups)

    def count(
        self,
        groups: Codes,
        decision: NDArray[np.int8],
        outcome: NDArray[np.int8],
        times: NDArray[np.int64] | None = None,
    ) -> None:
        """Count decisions and outcomes, each once or so many times."""
        cell = groups * 9 + decision.astype(np.intp) * 3 + outcome
        counted = np.bincount(cell, times, self.size * 9).astype(np.int64)
        self.cells = grown(self.cells, self.size) + counted.reshape(self.size, 3, 3)


def checked_share(name: str, value: float) -> float:
    """A share of at least 0 and below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value < 1:
        raise UsageError(f"expected {name} as a share of at least 0 and below 1, but got {value!r}")
    return float(value)

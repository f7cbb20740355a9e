"""From rows to counts by group: every row is used once, and rows go no further than here.

People without a known value of an attribute are counted separately. A missing decision, outcome or score leaves a
person out of the rates that need it, and out of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError, nearest
from isonomia.populations.table import Table, plain_value
from isonomia.spec.columns import kind_of, missing, plain
from isonomia.wording import first_few, listed

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MAX_GROUPS = 1_000
"""The most groups of one attribute or combination: more cannot be read, and the column is probably a number."""

YES, NO, MISSING = 1, 0, 2
"""The codes of an event for one person."""

BINS = 10
"""The bins of a reliability chart, equally wide from 0 to 1."""

NODES = 129
"""How many values the numbers of a mean are binned into. A number between two of them is split, which keeps its mean
and adds at most 1/65536 of the squared range to its variance: intervals get wider, never wrong."""

PARTS = 16
"""How many parts a group is divided into at random, the first ones small: the stakes of a mean's interval come from
earlier parts. More parts cost memory and gain little."""


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
            f"{self.name!r}, the {self.role}, is {kind} with the values {_shown(values)}, but got "
            f"{self.option}={value!r}: give one of its values",
            name=self.option,
        )


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


def _grown(array: NDArray[Any], groups: int) -> NDArray[Any]:
    """The same counts with room for more groups."""
    if len(array) >= groups:
        return array
    return np.concatenate([array, np.zeros((groups - len(array), *array.shape[1:]), dtype=array.dtype)])


@dataclass(slots=True)
class MeanCounts:
    """The numbers of a mean, by group: how many, their sum and, where their range is known, counts for an interval.

    Attributes
    ----------
    name
        What the numbers are, for messages.
    ends
        The values between which they lie; ``None`` where that is not known, and then there is no interval.
    """

    name: str
    ends: tuple[float, float] | None
    n: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    tallies: Floats = field(default_factory=lambda: np.zeros((0, PARTS, NODES)))

    @property
    def nodes(self) -> Floats:
        """The values that numbers are binned into."""
        assert self.ends is not None, "without ends there are no nodes"
        return np.linspace(*self.ends, NODES)

    def add(self, groups: Codes, size: int, numbers: Floats, parts: Codes) -> None:
        """Count numbers, NaN left out; ``parts`` says into which part of its group each row falls."""
        there = ~np.isnan(numbers)
        groups, numbers, parts = groups[there], numbers[there], parts[there]
        self.n, self.sums = _grown(self.n, size), _grown(self.sums, size)
        self.n += np.bincount(groups, minlength=size)
        self.sums += np.bincount(groups, numbers, minlength=size)
        if self.ends is None:
            return
        low, high = self.ends
        if len(numbers) and (numbers.min() < low or numbers.max() > high):
            wrong = numbers[np.argmax((numbers < low) | (numbers > high))]
            raise DataError(f"{self.name} should lie between {low:g} and {high:g}, but got {wrong:g}: widen its range")
        self.tallies = _grown(self.tallies, size)
        position = (numbers - low) * ((NODES - 1) / (high - low))
        node = np.minimum(position.astype(np.intp), NODES - 2)
        above = np.clip(position - node, 0.0, 1.0)
        first = (groups * PARTS + parts) * NODES + node
        flat = np.bincount(first, 1.0 - above, minlength=size * PARTS * NODES)
        flat[1:] += np.bincount(first, above, minlength=size * PARTS * NODES)[:-1]
        self.tallies += flat.reshape(size, PARTS, NODES)


@dataclass(slots=True)
class GroupCounts:
    """The counts of one attribute or combination; with no attribute, of everybody.

    Attributes
    ----------
    by
        The columns.
    means
        The means that are counted, by name.
    groups
        The number of each group by its values' numbers; group 0 is the unknown one, which may be empty.
    cells
        How many have which decision (first) and which outcome: ``NO``, ``YES`` or ``MISSING``.
    scored
        How many have a score.
    binned
        By bin of the score: people, those with a positive outcome, and the sum of their scores.
    held
        The group of each row with a score, batch by batch, for the share above the median.
    """

    by: tuple[str, ...]
    means: dict[str, MeanCounts] = field(default_factory=dict)
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    cells: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3, 3), dtype=np.int64))
    scored: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    binned: Floats = field(default_factory=lambda: np.zeros((0, BINS, 3)))
    held: list[NDArray[np.uint16]] = field(default_factory=list)

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

    def count(self, groups: Codes, decision: NDArray[np.int8], outcome: NDArray[np.int8]) -> None:
        """Count decisions and outcomes."""
        self.cells = _grown(self.cells, self.size)
        cell = groups * 9 + decision.astype(np.intp) * 3 + outcome
        self.cells += np.bincount(cell, minlength=self.size * 9).reshape(self.size, 3, 3)

    def score(self, groups: Codes, score: Floats, outcome: NDArray[np.int8], *, probable: bool) -> None:
        """Count scores, and where they are probabilities also by bin, with outcomes."""
        there = ~np.isnan(score)
        self.scored = _grown(self.scored, self.size)
        self.scored += np.bincount(groups[there], minlength=self.size)
        self.held.append(groups[there].astype(np.uint16))
        self.binned = _grown(self.binned, self.size)
        if not probable:
            return
        both = there & (outcome != MISSING)
        values, yes = score[both], outcome[both]
        cell = groups[both] * BINS + np.minimum((values * BINS).astype(np.intp), BINS - 1)
        parts = [np.bincount(cell, weights, minlength=self.size * BINS) for weights in (None, yes, values)]
        self.binned += np.stack(parts, axis=-1).reshape(self.size, BINS, 3)


def checked_share(name: str, value: float) -> float:
    """A share of at least 0 and below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value < 1:
        raise UsageError(f"expected {name} as a share of at least 0 and below 1, but got {value!r}")
    return float(value)

"""Features: what each one is, how far a person's own action can take it, and people's values as numbers.

A category is its index in the feature's list.

Dummies that together encode one feature, and columns that always go together, found by their names and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from itertools import pairwise
from math import isfinite
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError, nearest
from isonomia.interventions.constraints import Constraint, OneHot, Reachability, Thermometer
from isonomia.interventions.constraints.base import TOLERANCE, Bools, Floats
from isonomia.populations.profile import words_in
from isonomia.populations.table import Table, plain_value

Kind: TypeAlias = Literal["binary", "integer", "real", "categorical"]
Direction: TypeAlias = Literal["both", "up", "down"]

_LIMITS = ("rise", "fall", "rise_share", "fall_share")


@dataclass(frozen=True, slots=True)
class Feature:
    """What one feature is, and how a person can change it by an action of their own.

    A person at ``x`` can move to every value between the largest of ``low``, ``x - fall`` and
    ``x - fall_share * |x|``, and the smallest of ``high``, ``x + rise`` and ``x + rise_share * |x|``, as far as the
    direction allows. A whole-number feature moves in whole steps.

    Attributes
    ----------
    name
        The column.
    kind
        ``"binary"`` (0 and 1), ``"integer"``, ``"real"`` or ``"categorical"``.
    low, high
        The least and the greatest value; ``None`` is no bound. Default of a binary feature: 0 and 1.
    actionable
        Whether the person can change it by an action of their own. One that is not may still change as the effect of
        an action on another.
    direction
        ``"both"``, or only ``"up"`` or only ``"down"``. For categories, up is towards the end of ``values``.
    rise, fall
        The largest change in one step, in the feature's own unit; for categories, in places of ``values``.
    rise_share, fall_share
        The largest change as a share of the person's own value: 0.1 is plus or minus 10%.
    values
        The categories, in order where they have one; for the kind ``"categorical"`` only.
    label
        What reports call it, such as ``"monthly income"``; by default, its name.
    sensible
        Whether a change of it may be advised. With ``False``, people can still reach points that change it, but lists
        of recourse advise none of them.

    Raises
    ------
    UsageError
        Where the parts do not fit together.
    """

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    actionable: bool = True
    direction: Direction = "both"
    rise: float | None = None
    fall: float | None = None
    rise_share: float | None = None
    fall_share: float | None = None
    values: tuple[str | float, ...] = ()
    label: str = field(default="", repr=False)  # neither changes a verdict, so the fingerprint has neither
    sensible: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"the name of a feature should be text, but it is {self.name!r}", name="name")
        self._one_of("kind", self.kind, get_args(Kind))
        self._one_of("direction", self.direction, get_args(Direction))
        for name, value in (("actionable", self.actionable), ("sensible", self.sensible)):
            if not isinstance(value, bool):
                raise self._error(name, f"should be true or false, but it is {value!r}")
        if not isinstance(self.label, str):
            raise self._error("label", f"should be text, but it is {self.label!r}")
        self._check_numbers()
        rise, fall = ("rise", self.rise, self.rise_share), ("fall", self.fall, self.fall_share)
        for name, step, share in {"up": [fall], "down": [rise]}.get(self.direction, []):
            limit, size = (name, step) if step else (f"{name}_share", share)
            if size:
                raise self._error(limit, f"is {size:g}, but its direction is {self.direction!r}: remove one of them")
        if self.kind == "binary":
            object.__setattr__(self, "low", 0.0 if self.low is None else self.low)
            object.__setattr__(self, "high", 1.0 if self.high is None else self.high)
        self._check_values()
        if self.low is not None and self.high is not None and self.low > self.high:
            raise self._error("low", f"is {self.low:g}, above its high, {self.high:g}: swap them")

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers: everything but a real feature; a category is its index in the list."""
        return self.kind != "real"

    def unbounded(self) -> str | None:
        """The way an actionable feature has no limit, ``"rise"`` or ``"fall"``; ``None`` if it is limited both ways."""
        if self.direction != "down" and self.high is None and self.rise is None and self.rise_share is None:
            return "rise"
        if self.direction != "up" and self.low is None and self.fall is None and self.fall_share is None:
            return "fall"
        return None

    def _one_of(self, field: str, value: str, allowed: tuple[str, ...]) -> None:
        if value not in allowed:
            listed = ", ".join(map(repr, allowed))
            raise self._error(field, f"should be one of {listed}, but it is {value!r}")

    def _check_numbers(self) -> None:
        sizes = self.rise, self.fall, self.rise_share, self.fall_share
        for limit, value in zip(("low", "high", *_LIMITS), (self.low, self.high, *sizes), strict=True):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise self._error(limit, f"should be a finite number, but it is {value!r}; leave it out for no limit")
            if limit in _LIMITS and value < 0:
                raise self._error(limit, f"is the size of a change and at least 0, but it is {value!r}")

    def _check_values(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if self.kind != "categorical":
            if self.values:
                raise self._error("values", f"are for categories, but the feature is {self.kind}")
            return
        if not self.values or len(set(self.values)) < len(self.values):
            raise self._error("values", f"should list its categories, each once, but they are {list(self.values)!r}")
        if self.low is not None or self.high is not None or self.rise_share is not None or self.fall_share is not None:
            raise UsageError(f"feature {self.name!r} has categories: they have no low, no high and no shares")
        object.__setattr__(self, "low", 0.0)
        object.__setattr__(self, "high", float(len(self.values) - 1))

    def _error(self, field: str, problem: str) -> UsageError:
        return UsageError(f"{field} of feature {self.name!r} {problem}", name=field)


FIELDS = tuple(each.name for each in fields(Feature))
"""Everything that can be said about a feature, in order."""


class PersonError(DataError):
    """What is wrong with one person, in three parts: before the row, the row, and after it."""

    def __init__(self, before: str, row: int, after: str) -> None:
        self.before, self.after = before, after
        super().__init__(f"{before} in row {row} {after}", row=row)

    def __reduce__(self) -> tuple[type[PersonError], tuple[str, int | None, str]]:
        return PersonError, (self.before, self.row, self.after)

    def at(self, row: int) -> PersonError:
        """The same about another row, where the people were taken from a larger table."""
        return PersonError(self.before, row, self.after)


def own_ranges(features: Sequence[Feature], start: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest value to which each person's own action can take each feature.

    An action lies between ``max(low - x, -fall, -fall_share * |x|)`` and ``min(high - x, rise, rise_share * |x|)``; it
    is 0 in a direction that is closed, and 0 in both for a feature that is not actionable. A feature of whole numbers
    has the whole values in between. ``start`` has one row per person and one column per feature.
    """
    least, most = start.copy(), start.copy()
    for j, feature in enumerate(features):
        if not feature.actionable:
            continue
        if feature.direction != "up":
            least[:, j] = _furthest(start[:, j], feature.low, feature.fall, feature.fall_share, -1.0)
        if feature.direction != "down":
            most[:, j] = _furthest(start[:, j], feature.high, feature.rise, feature.rise_share, 1.0)
        if feature.whole:
            least[:, j], most[:, j] = np.ceil(least[:, j] - TOLERANCE), np.floor(most[:, j] + TOLERANCE)
    return least + 0.0, most + 0.0  # no negative zero


def _furthest(start: Floats, bound: float | None, step: float | None, share: float | None, sign: float) -> Floats:
    """The furthest value upwards (1) or downwards (-1): the nearest of the given limits."""
    tightest = np.full(len(start), np.inf)
    for limit in (
        None if bound is None else sign * bound,
        None if step is None else sign * start + step,
        None if share is None else sign * start + share * np.abs(start),
    ):
        if limit is not None:
            tightest = np.minimum(tightest, limit)
    return sign * tightest


def chosen(which: str | Sequence[str], names: Sequence[str], what: str = "feature") -> tuple[str, ...]:
    """The chosen names: each entry is a name, or a pattern with ``*`` and ``?``."""
    result: dict[str, None] = {}
    for entry in [which] if isinstance(which, str) else which:
        matches = [entry] if entry in names else [name for name in names if fnmatchcase(name, entry)]
        if not matches:
            raise UsageError(f"there is no {what} {entry!r}, and none matches it.{nearest(entry, names)}")
        result.update(dict.fromkeys(matches))
    return tuple(result)


def encoded(features: Sequence[Feature], people: Table) -> Floats:
    """The people's features as numbers, one row per person; a person with an impossible value is refused."""
    people.select([feature.name for feature in features])
    columns = list[Floats]()
    for feature in features:
        column = people.column(feature.name)
        values, bad, expected = _codes(feature, column)
        if bad.any():
            row = int(np.argmax(bad))
            raise _impossible(feature, row, column[row], expected)
        columns.append(values)
    return np.column_stack(columns) if columns else np.zeros((people.rows, 0))


def impossible(features: Sequence[Feature], people: Table) -> Bools:
    """Who has a value that is missing or impossible."""
    people.select([feature.name for feature in features])
    bad = np.zeros(people.rows, dtype=bool)
    for feature in features:
        bad |= _codes(feature, people.column(feature.name))[1]
    return bad


def decoded(feature: Feature, values: Floats) -> NDArray[Any]:
    """Numbers as the feature's own values: categories, whole numbers where all are whole, or real numbers."""
    if feature.kind == "categorical":
        labels = feature.values
        kind = object if any(isinstance(label, str) for label in labels) else None
        return np.asarray(labels, dtype=kind)[values.astype(np.intp)]
    if feature.whole and (values == np.round(values)).all() and (np.abs(values) < 2.0**63).all():
        return values.astype(np.int64)
    return values


def _codes(feature: Feature, column: NDArray[Any]) -> tuple[Floats, Bools, str]:
    """A column as numbers, which of them are impossible, and what is expected instead."""
    if feature.kind == "categorical":
        index = {label: float(j) for j, label in enumerate(feature.values)}
        codes = np.asarray([index.get(value, np.nan) for value in column.tolist()], dtype=np.float64)
        return codes, np.isnan(codes), f"one of {', '.join(map(repr, feature.values))}"
    if column.dtype.kind not in "biuf":
        wrong = np.asarray([not isinstance(value, bool | int | float) for value in column], dtype=bool)
        if wrong.any() or not len(column):
            return np.where(wrong, np.nan, 0.0), wrong, "a number"
        column = column.astype(np.float64)
    numbers = column.astype(np.float64)
    bad = ~np.isfinite(numbers)
    if not feature.whole:
        return numbers, bad, "a finite number"
    with np.errstate(invalid="ignore"):
        bad |= np.abs(numbers - np.round(numbers)) > TOLERANCE
    return np.round(numbers), bad, "a whole number"


def _impossible(feature: Feature, row: int, value: Any, expected: str) -> PersonError:
    plain = plain_value(value)
    state = "is missing" if plain is None else f"is {plain!r}"
    return PersonError(
        f"feature {feature.name!r} ({feature.kind}) should be {expected} for every person, but",
        row,
        f"it {state}. Fill it in, leave the person out, or change the feature.",
    )


Dummies: TypeAlias = Mapping[str, NDArray[np.float64]]

_COMPARED = re.compile(r"(.+?)(_is_|_geq_|_ge_|_gt_|_leq_|_le_|_lt_|_bt_|_exists|>=|<=|==|=|≥|≤)")
_BELOW = re.compile(r"_leq_|_le_|_lt_|<=|≤")
_ABOVE = re.compile(r"_geq_|_ge_|_gt_|_exists|>=|≥")
_VAGUE = frozenset({"has", "is", "no", "num", "n", "count", "flag"})
"""First words that dummies of different features share."""
_ENOUGH = 10.0
"""A dummy that is never on together with others, though by chance this is expected so often, excludes them."""
_TWINS = 20
"""The maximum number of values of columns that are compared for always going together."""
_OFTEN = 5


def encodings_of(dummies: Dummies) -> Iterator[tuple[Constraint, str]]:
    """One-hot and thermometer encodings, each with the reason for it."""
    taken: set[str] = set()
    for members in (*_by_comparison(dummies), *_by_last_word(dummies)):
        for encoding, why in _of_family([name for name in members if name not in taken], dummies):
            taken.update(encoding.names)
            yield encoding, why
    rest = {name: column for name, column in dummies.items() if name not in taken}
    for members in _by_first_words(list(rest), rest, 1):
        yield _one_hot(members, dummies), "No two of them are ever on together, and by chance some would be."


def limits_from_above(name: str) -> bool:
    """Whether a dummy, by its name, is on up to a limit: ``duration_leq_6``."""
    return bool(_BELOW.search(name))


def twins_of(columns: Mapping[str, Sequence[object]]) -> Iterator[tuple[Reachability, str]]:
    """Columns that go together: each value of one always comes with the same value of the other."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, values in columns.items():
        numbers: dict[object, int] = {}
        codes = tuple(numbers.setdefault(value, len(numbers)) for value in values)
        counts = np.bincount(codes, minlength=1)
        if 2 <= len(numbers) <= _TWINS and np.sort(counts)[-2] >= _OFTEN:
            alike.setdefault(codes, []).append(name)
    for names in alike.values():
        if len(names) > 1:
            pairs = tuple(dict.fromkeys(zip(*(columns[name] for name in names), strict=True)))
            every = tuple((1,) * len(pairs) for _ in pairs)
            yield (
                Reachability(tuple(names), _sorted(pairs), every),
                "Each value of one always occurs with the same value of the other.",
            )


def _sorted(pairs: tuple[tuple[object, ...], ...]) -> tuple[tuple[object, ...], ...]:
    """Sorted by the first column of numbers, else by the first column."""
    numeric = next((j for j in range(len(pairs[0])) if not isinstance(pairs[0][j], str)), 0)
    return tuple(sorted(pairs, key=lambda pair: pair[numeric]))  # type: ignore[arg-type,return-value]


def _by_comparison(dummies: Dummies) -> Iterator[list[str]]:
    """Families by the part of the name before a comparison: ``job_is_clerk``, ``savings >= 100``."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        if comparison := _COMPARED.match(name):
            families.setdefault(comparison[1].strip(), []).append(name)
    yield from families.values()


def _by_last_word(dummies: Dummies) -> Iterator[list[str]]:
    """Families by the part of the name before its last underscore: ``job_A171``."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        stem = name.rpartition("_")[0]
        if stem and stem.lower() not in _VAGUE and not _COMPARED.match(name):
            families.setdefault(stem, []).append(name)
    yield from families.values()


def _by_first_words(names: list[str], dummies: Dummies, depth: int) -> Iterator[list[str]]:
    """The largest sets with the same first words in which no two are ever on together, beyond chance."""
    families: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        if len(words_in(name)) > depth:
            families.setdefault(words_in(name)[:depth], []).append(name)
    for stem, members in families.items():
        if len(members) < 2:
            continue
        if stem[-1] not in _VAGUE and _beyond_chance(members, dummies):
            yield members
        else:
            yield from _by_first_words(members, dummies, depth + 1)


def _beyond_chance(members: Sequence[str], dummies: Dummies) -> bool:
    columns = np.column_stack([dummies[name] for name in members])
    if not np.isfinite(columns).all() or (columns.sum(1) > 1).any():
        return False
    rates = columns.mean(0)
    return bool((len(columns) * rates * (rates.sum() - rates) >= _ENOUGH).all())


def _of_family(members: Sequence[str], dummies: Dummies) -> Iterator[tuple[Constraint, str]]:
    """One-hot where no two are ever on together; thermometers where each implies the one before it."""
    if len(members) < 2:
        return
    columns = np.column_stack([dummies[name] for name in members])
    if not np.isfinite(columns).all() or not 0.0 < columns.mean() < 1.0:
        return
    if (columns.sum(1) <= 1.0).all():
        yield _one_hot(members, dummies), "Their names begin alike, and no two of them are ever on together."
        return
    below, above = ([name for name in members if side.search(name)] for side in (_BELOW, _ABOVE))
    whole = _ladder(members, dummies)
    ladders = [whole] if whole else [_ladder(below, dummies), _ladder(above, dummies)]
    for rungs in filter(None, ladders):
        yield Thermometer(tuple(rungs)), "Their names begin alike, and each is on only if the previous one is."
    if below and above and len(ladders) > 1:
        widest = [max(side, key=lambda name: float(dummies[name].mean())) for side in (below, above)]
        if not (dummies[widest[0]] * dummies[widest[1]]).any():
            yield _one_hot(widest, dummies), "One is a limit from above and one from below; they are never on together."


def _ladder(members: Sequence[str], dummies: Dummies) -> list[str]:
    """The dummies from the one that is on most often, if each implies the one before it; else nothing."""
    ordered = sorted(members, key=lambda name: -float(dummies[name].mean()))
    climbs = all((dummies[low] >= dummies[high]).all() for low, high in pairwise(ordered))
    return ordered if climbs and len(ordered) > 1 else []


def _one_hot(members: Sequence[str], dummies: Dummies) -> OneHot:
    total = np.sum([dummies[name] for name in members], axis=0)
    return OneHot(tuple(members), 1, "==" if (total == 1.0).all() else "<=")

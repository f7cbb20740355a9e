"""Enclosures of the probability of a polytope under independent normal and uniform variables.

Variables that the constraints do not distinguish are merged: normal variables that always come in the same proportion
are added up, and where there are fewer constraints than variables, the constraints' own directions become the variables
(an exact LDL decomposition in fractions). The polytope is then cut into *pieces* in which each variable lies between
two affine functions of those before it. That is done in whole numbers, so that no two pieces overlap and none is lost.
The last variable is integrated in closed form, the others by Gauss-Legendre rules.

The integrand of a piece is analytic, so the error of a rule is proven once the integrand is bounded off the real line.
At a distance y from it, the normal density is at most ``exp(y**2/2)`` times its largest value, and the distribution
function at most ``1 + y exp(y**2/2) / sqrt(2 pi)``. Rounding is bounded too: an affine function that is off by h moves
no more probability than h times the largest density on either side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import fsum, gcd, inf, log, pi, prod, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.quadrature import (
    CDF_ERROR,
    DENSITY_ERROR,
    TooManyCellsError,
    cheapest_rule,
    composite,
    normal_values,
)

Floats = NDArray[np.float64]
Row: TypeAlias = tuple[int, ...]
"""A constraint in whole numbers: coefficients, then the bound that their sum does not exceed."""

_UNIT_ROUND_OFF = 2.0**-52  # twice that of a double: it widens enclosures, but never makes an answer wrong
_GRID = 2.0**-60
"""Coefficients are rounded to this part of the largest one. It widens enclosures by about as much, so it can leave a
claim undecided, but never make an answer wrong."""

_PEAK = 1 / sqrt(2 * pi)

CUT = 2**10
"""The cost of one cut of a polytope, in points of integration. It changes what is tried, never an answer."""

_SUMMING = 2e-14
"""A bound on the rounding of a rule's weights and sums, for each variable: some 90 roundings. It widens enclosures.
It *can* change an answer: without it, rounding could put a probability outside its enclosure."""


@dataclass(frozen=True, slots=True)
class NormalDraw:
    """A normal variable with mean 0."""

    variance: Fraction


@dataclass(frozen=True, slots=True)
class UniformDraw:
    """A variable with constant density between two numbers."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class LinearInequality:
    """``sum of coefficients * variables <= bound``; coefficients are in the order of the variables."""

    coefficients: tuple[Fraction, ...]
    bound: Fraction


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Two numbers between which a probability lies, and the points of integration that they took."""

    low: float
    high: float
    points: int = 0


def probability(
    variables: Sequence[NormalDraw | UniformDraw],
    halfspaces: Sequence[LinearInequality],
    tolerance: float,
    points: int = 2**22,
) -> Enclosure:
    """Enclose the probability that all constraints hold.

    The enclosure is at most about ``tolerance`` wide. Raises :class:`TooManyCellsError` where that would take more
    than ``points`` points of integration.
    """
    basis = _basis(variables, [each for each in halfspaces if any(each.coefficients)])
    if any(each.bound < 0 for each in halfspaces if not any(each.coefficients)):
        return Enclosure(0.0, 0.0)
    if not basis.kinds:
        return Enclosure(1.0, 1.0)
    reach = _reach(tolerance / 8, max(len(basis.kinds) - 1, 1))
    rounded, moved = _rounded(basis, reach)
    rows = [row for row, _ in rounded]
    order = _order(basis.kinds, rows)
    kinds = [basis.kinds[k] for k in order]
    rows = [(*(row[k] for k in order), row[-1]) for row in rows]
    limits = _limits(kinds, reach)
    cuts = _Cuts(points // CUT + 16)
    pieces = list(_pieces(_pruned([*rows, *limits], len(kinds)), len(kinds), cuts))
    cut = 2 * float(_tail_bound(reach)) * sum(kind == "normal" for kind in kinds[:-1])
    if not pieces:
        return Enclosure(0.0, _up(moved + cut), CUT * cuts.made)
    share = tolerance / (2 * len(pieces) * max(len(kinds) - 1, 1))
    plans = [_Plan.of(piece, kinds, float(reach), share) for piece in pieces]
    needed = CUT * cuts.made + sum(plan.points for plan in plans)
    if needed > points:
        raise TooManyCellsError(f"{needed:,} points of integration")
    integrals = [plan.integral() for plan in plans]
    total, error = fsum(value for value, _ in integrals), fsum(off for _, off in integrals)
    return Enclosure(max(0.0, total - _up(error + moved)), min(1.0, _up(total + error + moved + cut)), needed)


def _up(number: float) -> float:
    """A slightly larger number, to cover the rounding of a few additions of positive numbers."""
    return number * (1 + 16 * _UNIT_ROUND_OFF) if number > 0 else number


def _reach(tolerance: float, dimensions: int) -> Fraction:
    """How many standard deviations of a variable are integrated: the rest is below the tolerance, or beyond 9."""
    reach = Fraction(3)
    while 2 * dimensions * _tail_bound(reach) > tolerance and reach < 9:
        reach += Fraction(1, 4)
    return reach


def _tail_bound(reach: Fraction) -> float:
    """Mills' bound on the probability beyond this many standard deviations."""
    return float(_PEAK * np.exp(-float(reach * reach) / 2) / float(reach)) * 1.000001


# ---------------------------------------------------------------------------- variables that the constraints tell apart


@dataclass(frozen=True, slots=True)
class _Basis:
    """Constraints over independent standard normal variables and uniform ones from 0 to 1.

    ``rows`` are real numbers, each off by at most a few units in its last place.
    """

    kinds: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    bounds: tuple[float, ...]


def _basis(variables: Sequence[NormalDraw | UniformDraw], halfspaces: Sequence[LinearInequality]) -> _Basis:
    spans = {k: (each.low, each.high - each.low) for k, each in enumerate(variables) if isinstance(each, UniformDraw)}
    spread = {
        k: each.variance for k, each in enumerate(variables) if isinstance(each, NormalDraw) and each.variance > 0
    }
    starts = [sum((each.coefficients[k] * low for k, (low, _) in spans.items()), Fraction(0)) for each in halfspaces]
    bounds = [each.bound - start for each, start in zip(halfspaces, starts, strict=True)]
    widths = [[each.coefficients[k] * width for k, (_, width) in spans.items()] for each in halfspaces]
    parts = [[each.coefficients[k] for k in spread] for each in halfspaces]
    variances = list(spread.values())
    merged, merged_variances = _merged(parts, variances)
    directions, direction_variances = _directions(parts, variances)
    if len(direction_variances) < len(merged_variances):
        merged, merged_variances = directions, direction_variances
    deviations = [_root(variance) for variance in merged_variances]
    rows = tuple(
        (*map(float, width), *(float(c) * s for c, s in zip(part, deviations, strict=True)))
        for width, part in zip(widths, merged, strict=True)
    )
    kinds = ("uniform",) * len(spans) + ("normal",) * len(deviations)
    return _Basis(kinds, rows, tuple(map(float, bounds)))


def _root(variance: Fraction) -> float:
    return sqrt(variance.numerator / variance.denominator)


def _merged(parts: list[list[Fraction]], variances: list[Fraction]) -> tuple[list[list[Fraction]], list[Fraction]]:
    """Add up normal variables that all constraints use in the same proportion."""
    columns: dict[tuple[Fraction, ...], Fraction] = {}
    for k, variance in enumerate(variances):
        column = [part[k] for part in parts]
        lead = next((entry for entry in column if entry), None)
        if lead is not None:
            key = tuple(entry / lead for entry in column)
            columns[key] = columns.get(key, Fraction(0)) + lead * lead * variance
    return [[key[i] for key in columns] for i in range(len(parts))], list(columns.values())


def _directions(parts: list[list[Fraction]], variances: list[Fraction]) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The constraints in terms of their own uncorrelated directions, as many as are linearly independent."""
    lower: list[list[Fraction]] = []
    basis: list[tuple[list[Fraction], Fraction]] = []
    for part in parts:
        rest, row = list(part), []
        for direction, variance in basis:
            share = sum((a * b * v for a, b, v in zip(rest, direction, variances, strict=True)), Fraction(0)) / variance
            rest = [a - share * b for a, b in zip(rest, direction, strict=True)]
            row.append(share)
        left = sum((a * a * v for a, v in zip(rest, variances, strict=True)), Fraction(0))
        if left:
            basis.append((rest, left))
            row.append(Fraction(1))
        lower.append(row)
    size = len(basis)
    return [[*row, *[Fraction(0)] * (size - len(row))] for row in lower], [variance for _, variance in basis]


def _rounded(basis: _Basis, reach: Fraction) -> tuple[list[tuple[Row, float]], float]:
    """The constraints in whole numbers, and how much probability the rounding may have moved."""
    rounded, moved = [], 0.0
    for row, bound in zip(basis.rows, basis.bounds, strict=True):
        largest = max(map(abs, row))
        scaled = [entry / largest for entry in row]
        limit = bound / largest
        reaches = [1.0 if kind == "uniform" else float(reach) for kind in basis.kinds]
        size = sum(abs(c) * r for c, r in zip(scaled, reaches, strict=True)) + abs(limit)
        off = 8 * _UNIT_ROUND_OFF * size + _GRID * (sum(reaches) + 1)
        moved += 2 * off * _density(scaled, basis.kinds)
        whole = [round(Fraction(c) / Fraction(_GRID)) for c in (*scaled, limit)]
        rounded.append((_primitive(whole), off))
    return rounded, moved


def _density(row: Sequence[float], kinds: Sequence[str]) -> float:
    """The largest density of a sum of the variables."""
    normal = sqrt(sum(c * c for c, kind in zip(row, kinds, strict=True) if kind == "normal"))
    uniform = max((abs(c) for c, kind in zip(row, kinds, strict=True) if kind == "uniform"), default=0.0)
    return 1.01 * min(_PEAK / normal if normal else inf, 1 / uniform if uniform else inf)


def _primitive(row: Sequence[int]) -> Row:
    common = gcd(*row)
    return tuple(entry // common for entry in row) if common > 1 else tuple(row)


def _order(kinds: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """The variables in the order of integration: last the one whose ends depend least on the others."""

    def steepness(last: int) -> float:
        others = [sum((row[k] / row[last]) ** 2 for k in range(len(kinds)) if k != last) for row in rows if row[last]]
        return max(others, default=inf)

    if len(kinds) < 2:
        return list(range(len(kinds)))
    last = min(range(len(kinds)), key=steepness)
    weight = {k: max((abs(row[k]) / max(map(abs, row[:-1])) for row in rows), default=0) for k in range(len(kinds))}
    return [*sorted((k for k in range(len(kinds)) if k != last), key=lambda k: weight[k]), last]


def _limits(kinds: Sequence[str], reach: Fraction) -> list[Row]:
    """The range of each variable as constraints; a normal variable that comes last has none."""
    limits = []
    for k, kind in enumerate(kinds):
        unit = [0] * len(kinds)
        if kind == "uniform":
            unit[k] = 1
            limits += [(*unit, 1), (*(-c for c in unit), 0)]
        elif k < len(kinds) - 1:
            unit[k] = reach.denominator
            limits += [(*unit, reach.numerator), (*(-c for c in unit), reach.numerator)]
    return limits


# ---------------------------------------------------------------------------- pieces


@dataclass(frozen=True, slots=True)
class _Level:
    """The limits of one variable: rows in it and the variables before it; ``None`` where it is unbounded."""

    low: Row | None
    high: Row | None


@dataclass(slots=True)
class _Cuts:
    """How many cuts of a polytope were made, and how many may be."""

    most: int
    made: int = 0

    def count(self) -> None:
        self.made += 1
        if self.made > self.most:
            raise TooManyCellsError("too many cuts of a polytope", hopeless=True)


def _pieces(rows: list[Row] | None, size: int, cuts: _Cuts) -> Iterator[tuple[_Level, ...]]:
    """Cut a polytope into pieces in which each variable lies between two affine functions of those before it."""
    cuts.count()
    if rows is None:
        return
    if not size:
        yield ()
        return
    last = size - 1
    highs = [row for row in rows if row[last] > 0]
    lows = [row for row in rows if row[last] < 0]
    rest = [(*row[:last], row[-1]) for row in rows if not row[last]]
    no_end: list[Row | None] = [None]
    for high in highs or no_end:
        # This constraint is the upper end of the last variable where no other one is lower.
        first = rest + [_sum(other, high, last, -1) for other in highs if high is not None and other is not high]
        for low in lows or no_end:
            more = [_sum(other, low, last, -1) for other in lows if low is not None and other is not low]
            meet = [_sum(high, low, last, 1)] if high is not None and low is not None else []
            for piece in _pieces(_pruned([*first, *more, *meet], last), last, cuts):
                yield (*piece, _Level(low, high))


def _sum(first: Row, second: Row, last: int, sign: int) -> Row:
    """``first / |its last coefficient| + sign * second / |its last coefficient|``, without the last variable."""
    one, two = abs(second[last]), sign * abs(first[last])
    joined = [one * a + two * b for a, b in zip(first, second, strict=True)]
    del joined[last]
    return _primitive(joined)


def _pruned(rows: list[Row], size: int) -> list[Row] | None:
    """The constraints that matter, only the strictest for each direction; ``None`` where they cannot all hold.

    Two equivalent constraints must not both stay: each would get its own piece.
    """
    strictest: dict[tuple[Fraction | int, ...], Row] = {}
    for row in rows:
        lead = next((abs(entry) for entry in row[:size] if entry), 0)
        if not lead:
            if row[-1] < 0:
                return None
            continue
        common = gcd(*row[:size])
        key = tuple(entry // common for entry in row[:size])
        known = strictest.get(key)
        if known is None or row[-1] * abs(_lead(known, size)) < known[-1] * lead:
            strictest[key] = row
    remaining = list(strictest.values())
    box = _box(remaining, size)
    if any(low > high for low, high in box):
        return None
    useful = []
    for row in remaining:
        alone = sum(1 for entry in row[:size] if entry) == 1
        least, most, scale = _range(row, box)
        if least > row[-1] / scale + 1e-9:
            return None
        if alone or not most < row[-1] / scale - 1e-9:
            useful.append(row)
    return useful


def _lead(row: Row, size: int) -> int:
    return next(entry for entry in row[:size] if entry)


def _box(rows: Sequence[Row], size: int) -> list[tuple[float, float]]:
    """The range of each variable, from the constraints on it alone."""
    low, high = [-inf] * size, [inf] * size
    for row in rows:
        used = [k for k in range(size) if row[k]]
        if len(used) == 1:
            k = used[0]
            end = row[-1] / row[k]
            if row[k] > 0:
                high[k] = min(high[k], end)
            else:
                low[k] = max(low[k], end)
    return list(zip(low, high, strict=True))


def _range(row: Row, box: Sequence[tuple[float, float]]) -> tuple[float, float, int]:
    """The range of a constraint's left side over a box, in units of its largest coefficient, and that coefficient."""
    scale = max(map(abs, row[:-1]))
    least = most = 0.0
    for entry, (low, high) in zip(row[:-1], box, strict=True):
        if entry:
            ends = entry / scale * low, entry / scale * high
            least, most = least + min(ends), most + max(ends)
    return least, most, scale


# ---------------------------------------------------------------------------- integration


@dataclass(frozen=True, slots=True)
class _Affine:
    """``constant + slopes * variables before``, in floats."""

    constant: float
    slopes: tuple[float, ...]

    @classmethod
    def of(cls, row: Row) -> _Affine:
        """The end that a constraint sets to its last variable."""
        *slopes, lead, bound = row
        return cls(bound / lead, tuple(-slope / lead for slope in slopes))

    def at(self, point: list[Floats]) -> Floats:
        value: Floats = np.full(1, self.constant)
        for slope, column in zip(self.slopes, point, strict=True):
            if slope:
                value = value + slope * column
        return value

    def off(self, ranges: Sequence[tuple[float, float]]) -> float:
        """A bound on the rounding error."""
        size = sum(abs(s) * max(abs(a), abs(b)) for s, (a, b) in zip(self.slopes, ranges, strict=True))
        return (len(self.slopes) + 3) * _UNIT_ROUND_OFF * (size + abs(self.constant))


@dataclass(frozen=True, slots=True)
class _Plan:
    """One piece, with the rule for each variable but the last, and a bound on the error."""

    kinds: tuple[str, ...]
    limits: tuple[tuple[_Affine | None, _Affine | None], ...]
    rules: tuple[tuple[int, int], ...]
    error: float

    @property
    def points(self) -> int:
        return prod(nodes * panels for nodes, panels in self.rules)

    @classmethod
    def of(cls, piece: Sequence[_Level], kinds: Sequence[str], reach: float, tolerance: float) -> _Plan:
        limits = tuple(
            (
                None if level.low is None else _Affine.of(level.low),
                None if level.high is None else _Affine.of(level.high),
            )
            for level in piece
        )
        lengths, moved = _extent(limits, kinds, reach)
        spread = sum(length for length, kind in zip(lengths[:-1], kinds, strict=False) if kind == "normal")
        rules, error = [], 2 * moved + 2 * CDF_ERROR + DENSITY_ERROR * spread + _SUMMING * len(kinds)
        for k in range(len(kinds) - 1):
            nodes, panels, off = cheapest_rule(_Growth.of(k, limits, lengths, kinds).most, lengths[k], tolerance)
            rules.append((nodes, panels))
            error += off
        return cls(tuple(kinds), limits, tuple(rules), error)

    def integral(self) -> tuple[float, float]:
        """The integral, and a bound on its error."""
        point: list[Floats] = []
        weights: Floats = np.ones(1)
        for (low, high), kind, (nodes, panels) in zip(self.limits, self.kinds, self.rules, strict=False):
            if low is None or high is None:
                raise AssertionError("every variable but the last has two ends")
            start = np.broadcast_to(low.at(point), weights.shape)
            length = np.maximum(high.at(point) - start, 0.0)
            at, share = composite(nodes, panels)
            point = [np.repeat(column, len(at)) for column in point]
            point.append((start[:, None] + length[:, None] * at).ravel())
            weights = ((weights * length)[:, None] * share).ravel()
            if kind == "normal":
                weights *= normal_values(point[-1], density=True)
        inner = np.broadcast_to(self._last(point), weights.shape)
        # np.sum adds in pairs: a plain sum of millions of numbers could be off by far more.
        return float(np.sum(weights * inner)), self.error

    def _last(self, point: list[Floats]) -> Floats:
        low, high = self.limits[-1]
        below = np.zeros(1) if low is None else low.at(point)
        above = np.ones(1) if high is None else high.at(point)
        if self.kinds[-1] == "normal":
            below = below if low is None else normal_values(below)
            above = above if high is None else normal_values(above)
        return np.maximum(above - below, 0.0)


def _extent(
    limits: Sequence[tuple[_Affine | None, _Affine | None]], kinds: Sequence[str], reach: float
) -> tuple[list[float], float]:
    """The largest length of each variable's interval, and the probability that rounding ends and points may move."""
    ranges: list[tuple[float, float]] = []
    lengths, moved = [], 0.0
    for (low, high), kind in zip(limits, kinds, strict=True):
        peak = _PEAK if kind == "normal" else 1.0
        ends = (0.0, 1.0) if kind == "uniform" else (-reach, reach)
        start = ends[0] if low is None else max(ends[0], _least(low, ranges))
        stop = ends[1] if high is None else min(ends[1], -_least(_minus(high), ranges))
        length = max(stop - start, 0.0)
        if low is not None and high is not None:
            difference = _Affine(
                high.constant - low.constant, tuple(b - a for a, b in zip(low.slopes, high.slopes, strict=True))
            )
            length = min(length, max(-_least(_minus(difference), ranges), 0.0))
        moved += peak * sum(each.off(ranges) for each in (low, high) if each is not None)
        ranges.append((start, max(stop, start)))
        lengths.append(length * (1 + 1e-9))
    return lengths, moved


def _least(affine: _Affine, ranges: Sequence[tuple[float, float]]) -> float:
    return affine.constant + sum(min(s * a, s * b) for s, (a, b) in zip(affine.slopes, ranges, strict=True) if s)


def _minus(affine: _Affine) -> _Affine:
    return _Affine(-affine.constant, tuple(-slope for slope in affine.slopes))


@dataclass(frozen=True, slots=True)
class _Growth:
    """How the integrand grows where one variable leaves the real line.

    ``constant`` bounds what does not depend on that variable. A later variable ``j`` moves by at most ``steep[j]``
    times as much, and the length of its interval, at most ``lengths[j]``, changes by ``widening[j]`` times as much.
    """

    constant: float
    normal: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    last: tuple[float, ...]
    uniform_last: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        k: int,
        limits: Sequence[tuple[_Affine | None, _Affine | None]],
        lengths: Sequence[float],
        kinds: Sequence[str],
    ) -> _Growth:
        constant = lengths[k] * (_PEAK if kinds[k] == "normal" else 1.0)
        for j in range(k):
            constant *= min(1.0, lengths[j] * _PEAK) if kinds[j] == "normal" else lengths[j]
        steep = [0.0] * k + [1.0]
        normal = [1.0] if kinds[k] == "normal" else []
        intervals: list[tuple[float, float]] = []
        for j in range(k + 1, len(kinds)):
            low, high = limits[j]
            slopes = [
                sum(abs(s) * t for s, t in zip(each.slopes, steep, strict=True))
                for each in (low, high)
                if each is not None
            ]
            widening = 0.0
            if low is not None and high is not None:
                widening = sum(abs(b - a) * t for a, b, t in zip(low.slopes, high.slopes, steep, strict=True))
            if j == len(kinds) - 1:
                uniform = kinds[j] == "uniform"
                return cls(
                    constant,
                    tuple(normal),
                    tuple(intervals),
                    () if uniform else tuple(slopes),
                    (lengths[j], widening) if uniform else None,
                )
            steep.append(max(slopes, default=0.0))
            intervals.append((lengths[j] * (_PEAK if kinds[j] == "normal" else 1.0), widening))
            if kinds[j] == "normal":
                normal.append(steep[j])
        raise AssertionError("the last variable is integrated in closed form")

    def most(self, sideways: Floats, along: Floats) -> Floats:
        """The logarithm of a bound on the integrand up to these distances off the real line and along it."""
        bound = np.full(sideways.shape, log(self.constant) if self.constant > 0 else -800.0)
        for steep in self.normal:
            bound = bound + (steep * sideways) ** 2 / 2
        for length, widening in self.intervals:
            bound = bound + np.log(length + widening * along + 1e-300)
        if self.uniform_last is not None:
            return bound + np.log(self.uniform_last[0] + self.uniform_last[1] * along + 1e-300)
        # A normal variable that comes last has at least one end: it was chosen for that.
        ends = [np.logaddexp(0.0, np.log(s * sideways * _PEAK + 1e-300) + (s * sideways) ** 2 / 2) for s in self.last]
        return bound + reduce(np.logaddexp, ends)

"""Cells: independent draws between linear bounds, how a comparison splits them, and what probability they have.

A cell is the set of outcomes that take one path through a program. Its draws are normal, or have a piecewise constant
density; its bounds say between which numbers linear forms of the draws lie. Draws that no bound ties together are
independent, so their probabilities are multiplied. The probability of a single draw is an exact fraction (steps) or has
a proven error (normal); draws that bounds tie together make a polytope.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import fsum, inf, nextafter
from typing import Any, TypeAlias

from isonomia.evidence.polytopes import LinearInequality, NormalDraw, UniformDraw, probability
from isonomia.evidence.quadrature import TooManyCellsError, normal_mass_between

Bound: TypeAlias = tuple[Fraction | None, Fraction | None]
Key: TypeAlias = tuple[tuple[Any, ...], tuple[Fraction, ...]]
"""A linear form without constant: the names of its draws, in order, and all coefficients but the first, which is 1."""

ZERO, ONE = Fraction(0), Fraction(1)
_FREE: Bound = (None, None)


@dataclass(frozen=True)
class StepDraw:
    """A draw whose density is constant on each cell ``(low, high, probability)``; cells ascend and do not overlap."""

    cells: tuple[tuple[Fraction, Fraction, Fraction], ...]

    @cached_property
    def lows(self) -> list[Fraction]:
        """Where each cell begins."""
        return [low for low, _, _ in self.cells]

    @cached_property
    def highs(self) -> list[Fraction]:
        """Where each cell ends."""
        return [high for _, high, _ in self.cells]

    @cached_property
    def sums(self) -> list[Fraction]:
        """The probability below each cell."""
        return [ZERO, *accumulate(p for _, _, p in self.cells[:-1])]

    @classmethod
    def of(cls, cells: Iterable[tuple[Fraction, Fraction, Fraction]]) -> StepDraw:
        """The given cells, with probabilities scaled to add up to exactly 1."""
        drawn = [cell for cell in cells if cell[2] > 0]
        whole = sum((p for _, _, p in drawn), ZERO)
        return cls(tuple((low, high, p / whole) for low, high, p in drawn))

    def within(self, bound: Bound) -> list[tuple[Fraction, Fraction, Fraction]]:
        """The parts of the cells between two numbers, each with its probability."""
        low, high = bound
        parts = []
        for start, end, p in self.cells:
            a = start if low is None or low < start else low
            b = end if high is None or high > end else high
            if a < b:
                parts.append((a, b, p if (a, b) == (start, end) else p * (b - a) / (end - start)))
        return parts

    def meets(self, low: Fraction | None, high: Fraction | None) -> bool:
        """Whether a draw can lie between two numbers."""
        first = 0 if low is None else bisect_right(self.highs, low)
        return first < len(self.cells) and (high is None or self.lows[first] < high)

    def below(self, value: Fraction) -> Fraction:
        """The probability of a draw below a number."""
        number = bisect_right(self.lows, value) - 1
        if number < 0:
            return ZERO
        start, end, p = self.cells[number]
        return self.sums[number] + (p if value >= end else p * (value - start) / (end - start))

    def mass(self, bound: Bound) -> Fraction:
        """The probability of a draw between two numbers."""
        low, high = bound
        return (ONE if high is None else self.below(high)) - (ZERO if low is None else self.below(low))


@dataclass(frozen=True, slots=True)
class LinearForm:
    """``constant + sum of slopes * draws``."""

    constant: Fraction
    slopes: Mapping[Any, Fraction] = field(default_factory=dict)

    def __add__(self, other: LinearForm) -> LinearForm:
        """The sum."""
        slopes = dict(self.slopes)
        for draw, slope in other.slopes.items():
            together = slopes.get(draw, ZERO) + slope
            if together:
                slopes[draw] = together
            else:
                del slopes[draw]
        return LinearForm(self.constant + other.constant, slopes)

    def times(self, factor: Fraction) -> LinearForm:
        """The product with a number."""
        if not factor:
            return LinearForm(ZERO)
        return LinearForm(self.constant * factor, {draw: slope * factor for draw, slope in self.slopes.items()})


@dataclass(frozen=True, slots=True)
class DrawCell:
    """Draws by name, and bounds on linear forms of them."""

    draws: Mapping[Any, NormalDraw | StepDraw] = field(default_factory=dict)
    bounds: Mapping[Key, Bound] = field(default_factory=dict)

    def drawing(self, name: Any, draw: NormalDraw | StepDraw) -> DrawCell:
        """The same cell with one more draw."""
        return DrawCell({**self.draws, name: draw}, self.bounds)

    def within(self, name: Any, low: Fraction, high: Fraction) -> DrawCell | None:
        """The part in which one draw lies between two numbers; ``None`` without one."""
        return self._bounded(((name,), ()), low, high)

    def split(self, form: LinearForm) -> tuple[DrawCell | None, DrawCell | None]:
        """The part in which a form is below 0, and the part in which it is above; ``None`` without one.

        The form depends on some draw, so that it is 0 with probability 0.
        """
        names = tuple(sorted(form.slopes))
        lead = form.slopes[names[0]]
        if lead == 1:
            key, at = (names, tuple([form.slopes[name] for name in names[1:]])), -form.constant
        else:
            key, at = (names, tuple([form.slopes[name] / lead for name in names[1:]])), -form.constant / lead
        below, above = self._bounded(key, None, at), self._bounded(key, at, None)
        return (below, above) if lead > 0 else (above, below)

    def _bounded(self, key: Key, low: Fraction | None, high: Fraction | None) -> DrawCell | None:
        known = self.bounds.get(key, _FREE)
        if known[0] is not None and (low is None or known[0] > low):
            low = known[0]
        if known[1] is not None and (high is None or known[1] < high):
            high = known[1]
        if low is known[0] and high is known[1]:
            return self
        if low is not None and high is not None and low >= high:
            return None
        if not key[1]:
            draw = self.draws[key[0][0]]
            if isinstance(draw, StepDraw) and not draw.meets(low, high):
                return None
        else:
            least, greatest = self._range(key)
            if (high is not None and least >= high) or (low is not None and greatest <= low):
                return None
            if (high is None or greatest <= high) and (low is None or least >= low):
                return self
        return DrawCell(self.draws, {**self.bounds, key: (low, high)})

    def _range(self, key: Key) -> tuple[Fraction | float, Fraction | float]:
        """The range of a form, from the bounds on its single draws."""
        least: Fraction | float = ZERO
        greatest: Fraction | float = ZERO
        for name, slope in zip(key[0], (ONE, *key[1]), strict=True):
            low, high = self.bounds.get(((name,), ()), _FREE)
            draw = self.draws[name]
            if isinstance(draw, StepDraw):
                low = draw.cells[0][0] if low is None else max(low, draw.cells[0][0])
                high = draw.cells[-1][1] if high is None else min(high, draw.cells[-1][1])
            if slope < 0:
                low, high = high, low
            least = -inf if low is None else least + slope * low
            greatest = inf if high is None else greatest + slope * high
        return least, greatest


# ---------------------------------------------------------------------------- probabilities


@dataclass(frozen=True, slots=True)
class Mass:
    """A probability: a fraction times a number between two floats, both 1 where the fraction is exact."""

    exact: Fraction
    low: float = 1.0
    high: float = 1.0

    def __mul__(self, other: Mass) -> Mass:
        """The probability that two independent things happen."""
        exact = self.exact * other.exact
        if self.low == self.high == 1.0:
            return Mass(exact, other.low, other.high)
        if other.low == other.high == 1.0:
            return Mass(exact, self.low, self.high)
        return Mass(exact, nextafter(self.low * other.low, -inf), nextafter(self.high * other.high, inf))

    @property
    def ends(self) -> tuple[float, float]:
        """The two numbers between which it lies."""
        share = self.exact.numerator / self.exact.denominator
        if self.low == self.high == 1.0:
            return nextafter(share, -inf), nextafter(share, inf)
        low, high = share * self.low, share * self.high
        return max(low * (1 - 2.0**-50), 0.0), high * (1 + 2.0**-50)


def total_mass(masses: Sequence[Mass]) -> tuple[Fraction | None, float, float]:
    """The sum: as a fraction if all masses are exact, and the two numbers between which it lies."""
    plain = sum((mass.exact for mass in masses if mass.low == mass.high == 1.0), ZERO)
    others = [mass.ends for mass in masses if not mass.low == mass.high == 1.0]
    if not others:
        return plain, *Mass(plain).ends
    low, high = Mass(plain).ends if plain else (0.0, 0.0)
    low, high = fsum([low, *(a for a, _ in others)]), fsum([high, *(b for _, b in others)])
    return None, max(nextafter(low, -inf), 0.0), min(nextafter(high, inf), 1.0)


POLYTOPE = 2**13
"""The fixed cost of a polytope, in points of integration. It changes what is tried, never an answer."""


@dataclass(slots=True)
class Masses:
    """The probabilities of cells; each group of draws that bounds tie together is computed once.

    ``tolerance`` is how wide the enclosure of one polytope may be, and ``points`` how many points of integration all
    polytopes together may take; ``late`` says whether the time is up.
    """

    tolerance: float
    points: int
    late: Callable[[], bool] = lambda: False
    _known: dict[Hashable, tuple[Mass, list[NormalDraw | StepDraw]]] = field(default_factory=dict)

    def of(self, cell: DrawCell) -> Mass:
        """The probability of a cell."""
        whole = Mass(ONE)
        for names, keys in _together(cell):
            draws = [cell.draws[name] for name in names]
            bounds = {key: cell.bounds[key] for key in keys}
            label = tuple(map(id, draws)), tuple((key, _label(bound)) for key, bound in bounds.items())
            if label not in self._known:
                # The draws are kept alive with it, so that no other draws can get the same ids.
                self._known[label] = self._mass(dict(zip(names, draws, strict=True)), bounds), draws
            whole = whole * self._known[label][0]
            if not whole.exact or not whole.high:
                return Mass(ZERO)
        return whole

    def _mass(self, draws: dict[Any, NormalDraw | StepDraw], bounds: dict[Key, Bound]) -> Mass:
        if len(draws) == 1:
            ((draw, bound),) = zip(draws.values(), bounds.values(), strict=True)
            if isinstance(draw, StepDraw):
                return Mass(draw.mass(bound))
            if bound in ((None, ZERO), (ZERO, None)):
                return Mass(Fraction(1, 2))
            return Mass(ONE, *normal_mass_between(*bound, draw.variance))
        names = list(draws)
        steps = [name for name in names if isinstance(draws[name], StepDraw)]
        choices = [draws[name].within(bounds.get(((name,), ()), _FREE)) for name in steps]  # type: ignore[union-attr]
        constraints = [
            LinearInequality(tuple(sign * slopes.get(name, ZERO) for name in names), sign * end)
            for key, bound in bounds.items()
            if key[1] or key[0][0] not in steps
            for slopes in [dict(zip(key[0], (ONE, *key[1]), strict=True))]
            for sign, end in ((-1, bound[0]), (1, bound[1]))
            if end is not None
        ]
        parts = []
        for chosen in product(*choices):
            cells = dict(zip(steps, chosen, strict=True))
            variables = [UniformDraw(*cells[name][:2]) if name in cells else draws[name] for name in names]
            share = Fraction(1)
            for _, _, p in chosen:
                share *= p
            result = probability(variables, constraints, self.tolerance, self.points)  # type: ignore[arg-type]
            self.points -= result.points + POLYTOPE
            if self.points < 0 or self.late():
                reason = "too many polytopes" if self.points < 0 else "the time limit was reached"
                raise TooManyCellsError(reason, hopeless=True)
            parts.append(Mass(share, result.low, result.high))
        return Mass(ONE, *total_mass(parts)[1:]) if parts else Mass(ZERO)


def _label(bound: Bound) -> tuple[int, ...]:
    """A bound as whole numbers, which are hashed and compared more quickly than fractions."""
    low, high = bound
    return (
        *((low.numerator, low.denominator) if low is not None else (0, 0)),
        *((high.numerator, high.denominator) if high is not None else (0, 0)),
    )


def _together(cell: DrawCell) -> Iterator[tuple[list[Any], list[Key]]]:
    """The draws that bounds tie together, with those bounds; a draw without any bound is left out."""
    groups: list[tuple[set[Any], list[Key]]] = []
    tied = {name for key in cell.bounds if key[1] for name in key[0]}
    for key in cell.bounds:
        names, keys = set(key[0]), [key]
        if not key[1] and key[0][0] not in tied:
            yield [key[0][0]], keys
            continue
        apart = []
        for group in groups:
            if group[0] & names:
                names, keys = names | group[0], group[1] + keys
            else:
                apart.append(group)
        groups = [*apart, (names, keys)]
    yield from ((sorted(names), sorted(keys)) for names, keys in groups)

"""Hypotheses as sets of leaf values: half-spaces, polytopes, and unions of them made from a formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.evidence.normal_form import (
    AllOf,
    AnyOf,
    Atom,
    Fraction,
    Normal,
    Polynomial,
    as_fraction,
    bounds_of,
    exact_bounds_of,
    is_linear,
    normal_form,
    scaled,
)
from isonomia.spec.tree import Comparison, Constant, Each, Extreme, Formula, Junction, Leaf, leaves_of, nodes, rebuilt

MAX_POLYTOPES = 2048
"""How many convex pieces a hypothesis may have before the confidence region takes over: each needs its own test.
Changes power and cost only."""

COVER = 64
"""Parts of the range of a squared leaf, in each of which a line replaces the square. Changes power and cost only."""

ROUNDING = 1e-12
"""A comparison that is impossible by no more than this relative margin counts as possible: decimal fractions are
rounded. Then one more piece has to be refuted, so this can prevent a decision but never make one wrong."""


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """The leaf values with ``sum of coefficient * leaf <= bound``."""

    coefficients: tuple[tuple[Leaf, float], ...]
    bound: float

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves that the inequality names."""
        return tuple(leaf for leaf, _ in self.coefficients)

    def slack(self, point: Mapping[Leaf, float]) -> float:
        """How far inside a point lies; negative outside."""
        return self.bound - sum(coefficient * point[leaf] for leaf, coefficient in self.coefficients)


@dataclass(frozen=True, slots=True)
class Polytope:
    """The leaf values in every one of its half-spaces; all values if it has no half-space."""

    half_spaces: tuple[HalfSpace, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves that some half-space names, in order of appearance."""
        return tuple(dict.fromkeys(leaf for half_space in self.half_spaces for leaf in half_space.leaves))

    def contains(self, point: Mapping[Leaf, float]) -> bool:
        """Say whether a point lies in the polytope, its boundary included."""
        return all(half_space.slack(point) >= 0 for half_space in self.half_spaces)

    def matrix(self, leaves: Sequence[Leaf]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ``(A, b)`` with the polytope being ``A theta <= b`` for the leaves in the order given."""
        column = {leaf: index for index, leaf in enumerate(leaves)}
        a = np.zeros((len(self.half_spaces), len(leaves)))
        for row, half_space in enumerate(self.half_spaces):
            for leaf, coefficient in half_space.coefficients:
                a[row, column[leaf]] = coefficient
        return a, np.asarray([half_space.bound for half_space in self.half_spaces])


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A union of polytopes. To refute it, each one is refuted at the full risk: if it is true, the truth lies in one.

    With no polytopes it is the empty hypothesis, which is false whatever the leaves are.
    """

    polytopes: tuple[Polytope, ...]

    def contains(self, point: Mapping[Leaf, float]) -> bool:
        """Say whether a point lies in one of the polytopes."""
        return any(polytope.contains(point) for polytope in self.polytopes)


def hypothesis_of(
    formula: Formula, ranges: Mapping[Leaf, tuple[float, float]], *, positive: bool, cover: bool = False
) -> Hypothesis | None:
    """Write the set where a formula is true (or, with ``positive=False``, false) as a union of polytopes.

    Parameters
    ----------
    formula
        A formula without quantifiers.
    ranges
        The lowest and highest possible value of each leaf.
    positive
        Which of the two sets to return. Both are closed, so they share their boundary.
    cover
        Whether a comparison with squares of leaves is written as polytopes that *cover* the set: then what refutes them
        refutes it, but a point in one of them need not be in it.

    Returns
    -------
    Hypothesis or None
        ``None`` where a comparison is not linear after clearing denominators of known sign, or where there are more
        than ``MAX_POLYTOPES`` pieces; a confidence region decides such formulas.

    Notes
    -----
    A denominator of known sign is cleared even if it can be zero; :func:`denominators_of` lists what must be seen to
    differ from zero before a verdict is given.
    """
    form = normal_form(formula, ranges, positive=positive)
    try:
        pieces = _pieces(form, ranges, cover=cover)
    except _NotLinearError:
        return None
    if len(pieces) > MAX_POLYTOPES:
        return None
    return Hypothesis(tuple(_without_supersets(pieces)))


def why_no_polytopes(formula: Formula, ranges: Mapping[Leaf, tuple[float, float]]) -> str:
    """Say why a formula is decided by branch and bound and not piece by piece."""
    try:
        for atom in _atoms(normal_form(formula, ranges, positive=True)):
            _linear(as_fraction(atom.quantity), ranges)
    except _NotLinearError:
        return "the formula is not linear in the unknown rates, so it was decided by branch and bound"
    return (
        f"the formula has more than {MAX_POLYTOPES:,} cases, each of which would have to be refuted separately, so "
        "it was decided by branch and bound, which rarely decides a formula this long: state several shorter ones"
    )


def denominators_of(formula: Formula, ranges: Mapping[Leaf, tuple[float, float]]) -> tuple[Polynomial, ...]:
    """List the divisors of known sign that could be zero as far as the leaves' ranges tell.

    The sign is known from bounding term by term, so such a divisor is zero only where every term is at its bound; a
    leaf that matters there lies at an end of its range, and such a leaf is estimated without error. So if the true
    divisor is zero, then so is every estimate of it, with probability 1; one estimate that differs from zero proves, at
    no risk, that the true divisor does too. A divisor of unknown sign needs no such care, since both of its signs are
    refuted. Divisors that cancel are listed too: where they are zero, the quantity has no value.
    """
    divisors: list[Polynomial] = []
    for atom in _atoms(normal_form(formula, ranges)):
        for factor in as_fraction(atom.quantity).divisors:
            low, high = bounds_of(factor, ranges)
            if (low == 0 or high == 0) and factor not in divisors:
                divisors.append(factor)
    return tuple(divisors)


@dataclass(frozen=True, slots=True)
class Settled:
    """A formula after arithmetic has decided what it can.

    Attributes
    ----------
    formula
        The same formula, with true or false in place of every comparison that has the same truth value for all leaf
        values in their ranges: ``P[a] - P[a] >= 0``, ``P[a] <= 1``, ``P[a] / P[a] >= 0.8``.
    vanished
        The leaves that arithmetic removed from a comparison, or from a part of it. No bet and no region depends on them
        any more, but the comparison does: if their group is empty it has no truth value. So a verdict waits until each
        of them has been seen.
    """

    formula: Formula
    vanished: tuple[Leaf, ...]


def settled(formula: Formula, ranges: Mapping[Leaf, tuple[float, float]]) -> Settled:
    """Decide by arithmetic what arithmetic can decide, exactly and at no risk.

    Each term is bounded over the box of ranges in rational arithmetic, so that ties count: a comparison that is never
    broken holds even where it can be met with equality.
    """
    vanished: dict[Leaf, None] = {}
    changed = _settle(formula, ranges, vanished)
    return Settled(changed, tuple(vanished))


def _settle(formula: Formula, ranges: Mapping[Leaf, tuple[float, float]], vanished: dict[Leaf, None]) -> Formula:
    match formula:
        case Comparison():
            links = [Comparison(left, ((relation, right),)) for left, relation, right in formula.links]
            parts = tuple(_settle_link(link, ranges, vanished) for link in links)
            if all(part is link for part, link in zip(parts, links, strict=True)):
                return formula
            return parts[0] if len(parts) == 1 else Junction("and", parts)
        case Each():
            raise TypeError("a quantifier is expanded before arithmetic decides anything")
        case _:
            return rebuilt(formula, lambda part: _settle(part, ranges, vanished))


def _settle_link(
    link: Comparison, ranges: Mapping[Leaf, tuple[float, float]], vanished: dict[Leaf, None]
) -> Comparison:
    leaves = leaves_of(link)
    if not leaves:
        return link
    # Without abs, min and max the negation has the same quantity with the opposite sign.
    both = any(isinstance(node, Extreme) for node in nodes(link))
    forms = [normal_form(link, ranges, positive=positive) for positive in ((True, False) if both else (True,))]
    truths = {atom: _is_at_least_zero(as_fraction(atom.quantity), ranges, atom.closed) for atom in _atoms(forms[0])}
    truth = _arithmetic_truth(forms[0], truths)
    left = set() if truth is not None else set.intersection(*(_left(form, ranges) for form in forms))
    vanished.update(dict.fromkeys(leaf for leaf in leaves if leaf not in left))
    if truth is None:
        return link
    return Comparison(Constant(0.0), ((">=" if truth else ">", Constant(0.0)),))


def _arithmetic_truth(form: Normal, truths: Mapping[Atom, bool | None]) -> bool | None:
    match form:
        case Atom():
            return truths[form]
        case AllOf(parts=parts) | AnyOf(parts=parts):
            decisive = isinstance(form, AnyOf)  # one true part of "some" decides, one false part of "every"
            known = [_arithmetic_truth(part, truths) for part in parts]
            return decisive if decisive in known else None if None in known else not decisive


def _is_at_least_zero(fraction: Fraction, ranges: Mapping[Leaf, tuple[float, float]], closed: bool) -> bool | None:
    """Whether a fraction is at least zero (``closed``) or above zero for all leaf values; ``None`` where it depends."""
    sign = 1
    for factor in fraction.factors if fraction.numerator else ():
        if _has_either_sign(factor, ranges):
            return None
        sign = -sign if bounds_of(factor, ranges)[1] <= 0 else sign
    low, high = bounds_of(fraction.numerator, ranges)
    slack = ROUNDING * max(abs(low), abs(high))
    bounds = None if low < -slack and high > slack else exact_bounds_of(fraction.numerator, ranges)
    if bounds is None:
        return None
    least, most = bounds if sign > 0 else (-bounds[1], -bounds[0])
    if least > 0 or (closed and least == 0):
        return True
    return False if most < 0 or (not closed and most == 0) else None


def _has_either_sign(polynomial: Polynomial, ranges: Mapping[Leaf, tuple[float, float]]) -> bool:
    low, high = bounds_of(polynomial, ranges)
    return low < 0 < high


def _left(form: Normal, ranges: Mapping[Leaf, tuple[float, float]]) -> set[Leaf]:
    """The leaves that occur in every half-space of a form; none where arithmetic decides a part of it."""
    named = []
    for atom in _atoms(form):
        fraction = as_fraction(atom.quantity)
        if _is_at_least_zero(fraction, ranges, atom.closed) is not None:
            return set()
        split = [factor for factor in fraction.factors if _has_either_sign(factor, ranges)]
        named += [{leaf for monomial in polynomial for leaf in monomial} for polynomial in (fraction.numerator, *split)]
    return set.intersection(*named) if named else set()


class _NotLinearError(Exception):
    """A comparison is not linear in the leaves, or there are too many pieces."""


def _atoms(form: Normal) -> Iterator[Atom]:
    match form:
        case Atom():
            yield form
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from _atoms(part)


def _pieces(form: Normal, ranges: Mapping[Leaf, tuple[float, float]], *, cover: bool) -> list[tuple[HalfSpace, ...]]:
    """Disjunctive form: a list of intersections."""
    match form:
        case Atom(quantity=quantity):
            return _linear(as_fraction(quantity), ranges, cover=cover)
        case AnyOf(parts=parts):
            return [piece for part in parts for piece in _pieces(part, ranges, cover=cover)]
        case AllOf(parts=parts):
            options = [_pieces(part, ranges, cover=cover) for part in parts]
            if prod(len(option) for option in options) > MAX_POLYTOPES:
                raise _NotLinearError
            return [tuple(dict.fromkeys(chain.from_iterable(choice))) for choice in product(*options)]


def _linear(
    fraction: Fraction, ranges: Mapping[Leaf, tuple[float, float]], *, cover: bool = False
) -> list[tuple[HalfSpace, ...]]:
    """Clear the denominator of ``fraction >= 0``; a factor of unknown sign splits it into two cases."""
    sign, unknown = 1.0, []
    for factor in fraction.factors:
        low, high = bounds_of(factor, ranges)
        if high <= 0:
            sign = -sign
        elif low < 0:
            unknown.append(factor)
    if len(unknown) > 1:
        raise _NotLinearError
    numerator = scaled(fraction.numerator, sign)
    if not unknown and cover and not is_linear(numerator):
        return [piece for cells in _covered(numerator, ranges) for piece in _at_least_zero(cells, ranges)]
    if not unknown:
        return _at_least_zero([numerator], ranges)
    (factor,) = unknown
    return [
        *_at_least_zero([factor, numerator], ranges),
        *_at_least_zero([scaled(factor, -1.0), scaled(numerator, -1.0)], ranges),
    ]


def _covered(polynomial: Polynomial, ranges: Mapping[Leaf, tuple[float, float]]) -> Iterator[list[Polynomial]]:
    """Cover ``polynomial >= 0`` by linear inequalities, one list of them for each part of a squared leaf's range.

    Between ``a`` and ``b`` a square is at most its chord, ``(a + b) x - a b``, and at least its tangent in the middle;
    either is off by at most ``(b - a)**2 / 4``. Parts are narrower near the ends of the range, so that this is at most
    0.06% of the largest variance that a number with this mean can have.
    """
    squares = {monomial: c for monomial, c in polynomial.items() if len(monomial) > 1}
    if len(squares) != 1:
        raise _NotLinearError
    ((square, coefficient),) = squares.items()
    if len(square) > 2 or len(set(square)) > 1:
        raise _NotLinearError
    low, high = ranges[square[0]]
    ends = low + (high - low) * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, COVER + 1)))
    ends[0], ends[-1] = low, high
    slack = ROUNDING * abs(coefficient) * max(abs(low), abs(high)) ** 2
    for first, last in pairwise(ends.tolist()):
        line = {monomial: c for monomial, c in polynomial.items() if len(monomial) < 2}
        line[square[:1]] = line.get(square[:1], 0.0) + coefficient * (first + last)
        below = first * last if coefficient > 0 else (0.5 * (first + last)) ** 2
        line[()] = line.get((), 0.0) - coefficient * below + slack
        yield [line, {square[:1]: 1.0, (): -first}, {square[:1]: -1.0, (): last}]


def _at_least_zero(
    polynomials: list[Polynomial], ranges: Mapping[Leaf, tuple[float, float]]
) -> list[tuple[HalfSpace, ...]]:
    """The intersection of ``polynomial >= 0`` over all polynomials, or no piece where one can only be negative."""
    half_spaces: list[HalfSpace] = []
    for polynomial in polynomials:
        if not is_linear(polynomial):
            raise _NotLinearError
        low, high = bounds_of(polynomial, ranges)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise DataError("expected finite numbers in a comparison, but one overflows: rescale the property")
        if high < -ROUNDING * _size(polynomial, ranges):
            return []
        if low < 0:
            half_spaces.append(_half_space(polynomial))
    return [tuple(half_spaces)]


def _size(polynomial: Polynomial, ranges: Mapping[Leaf, tuple[float, float]]) -> float:
    """An upper bound on the absolute value of a linear polynomial."""
    return sum(
        abs(coefficient) * max((abs(end) for leaf in monomial for end in ranges[leaf]), default=1.0)
        for monomial, coefficient in polynomial.items()
    )


def _half_space(polynomial: Polynomial) -> HalfSpace:
    """``polynomial >= 0`` as a half-space, its largest coefficient scaled to 1."""
    largest = max(abs(coefficient) for monomial, coefficient in polynomial.items() if monomial)
    terms = tuple((monomial[0], -coefficient / largest) for monomial, coefficient in polynomial.items() if monomial)
    return HalfSpace(terms, polynomial.get((), 0.0) / largest)


def _without_supersets(pieces: list[tuple[HalfSpace, ...]]) -> Iterator[Polytope]:
    """Drop a piece that lies within another: refuting the larger one refutes it too."""
    sets = [frozenset(piece) for piece in dict.fromkeys(pieces)]
    for index, piece in enumerate(sets):
        if not any(other < piece or (other == piece and before < index) for before, other in enumerate(sets)):
            yield Polytope(tuple(sorted(piece, key=repr)))

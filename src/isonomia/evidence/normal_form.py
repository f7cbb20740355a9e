"""From a formula to comparisons with zero: chains split, negations pushed in, ``abs``, ``min`` and ``max`` resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from isonomia.errors import SpecError
from isonomia.evidence.exact import exact_value
from isonomia.evidence.intervals import Interval, enclose
from isonomia.spec.construct import constant_value
from isonomia.spec.tree import (
    Arithmetic,
    Comparison,
    Constant,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Leaf,
    Mean,
    Negative,
    Not,
    Power,
    Quantity,
    Rate,
)
from isonomia.spec.walk import leaves_of, links_of, nodes

Ranges: TypeAlias = Mapping[Leaf, tuple[float, float]]

MAX_CASES = 100_000
"""How many cases the ``abs``, ``min`` and ``max`` of one comparison may make. A comparison with more is rejected, so
this changes no verdict."""


@dataclass(frozen=True, slots=True)
class Atom:
    """``quantity >= 0``.

    ``closed`` says whether the boundary belongs to it. That does not matter to samples: no finite number of them tells
    ``>=`` from ``>``, so hypotheses are closed sets. It matters where arithmetic decides.
    """

    quantity: Quantity
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Every:
    """All of the parts; true where there are none."""

    parts: tuple[Normal, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of the parts; false where there are none."""

    parts: tuple[Normal, ...]


Normal: TypeAlias = Atom | Every | Some


def normal_form(formula: Formula, ranges: Ranges, *, positive: bool = True) -> Normal:
    """Write a formula, or with ``positive=False`` its negation, as a combination of atoms without negations.

    Each side is closed: the formula's form and its negation's form share their boundary. A comparison of constants
    does not become an atom: it is decided exactly, ties included, with decimals taken as written.
    """
    match formula:
        case Comparison(first=first, rest=rest):
            return _chain(first, rest, ranges, positive)
        case Not(operand=operand):
            return normal_form(operand, ranges, positive=not positive)
        case Implies(premise=premise, conclusion=conclusion):
            parts: tuple[Normal, ...] = (
                normal_form(premise, ranges, positive=not positive),
                normal_form(conclusion, ranges, positive=positive),
            )
            return Some(parts) if positive else Every(parts)
        case Junction(connective=connective, operands=operands):
            parts = tuple(normal_form(operand, ranges, positive=positive) for operand in operands)
            return Every(parts) if (connective == "and") is positive else Some(parts)
        case Each():
            raise TypeError("a quantifier is expanded before it is brought to normal form")


def _chain(first: Quantity, rest: tuple[tuple[str, Quantity], ...], ranges: Ranges, positive: bool) -> Normal:
    _refuse_many_cases((first, *(quantity for _, quantity in rest)))
    links: list[Normal] = []
    left = first
    for relation, right in rest:
        large, small = (right, left) if relation in {"<", "<="} else (left, right)
        difference = Arithmetic("-", large, small) if positive else Arithmetic("-", small, large)
        links.append(_resolved(difference, ranges, closed=(relation in {"<=", ">="}) is positive))
        left = right
    if len(links) == 1:
        return links[0]
    return Every(tuple(links)) if positive else Some(tuple(links))


def _refuse_many_cases(quantities: tuple[Quantity, ...]) -> None:
    extremes = [node for quantity in quantities for node in nodes(quantity) if isinstance(node, Extreme)]
    if prod(max(2, len(extreme.arguments)) for extreme in extremes) > MAX_CASES:
        raise SpecError(
            f"expected abs, min and max that make at most {MAX_CASES:,} cases together, but the {len(extremes)} in "
            "this comparison make more: split it into several properties",
            extremes[0].place,
        )


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An ``abs``, ``min`` or ``max`` within a quantity.

    ``direction`` is +1 where the quantity rises with it, -1 where it falls, 0 where neither is known; ``put`` rebuilds
    the quantity with something else in its place.
    """

    extreme: Extreme
    direction: int
    put: Callable[[Quantity], Quantity]


def _resolved(quantity: Quantity, ranges: Ranges, *, closed: bool = True) -> Normal:
    """``quantity >= 0``; ``closed`` says whether 0 itself counts."""
    occurrence = find_extreme(quantity, ranges)
    if occurrence is None:
        return Atom(quantity, closed) if leaves_of(quantity) else _known(quantity, closed)
    function, arguments = as_chosen(occurrence.extreme)
    cases = tuple(_resolved(occurrence.put(argument), ranges, closed=closed) for argument in arguments)
    if occurrence.direction:
        return Some(cases) if (function == "max") is (occurrence.direction > 0) else Every(cases)
    # The direction is unknown, so each case must also state that its own argument is the one chosen.
    options = []
    for chosen, case in zip(arguments, cases, strict=True):
        others = (other for other in arguments if other is not chosen)
        options.append(Every((case, *(_resolved(_wins(function, chosen, other), ranges) for other in others))))
    return Some(tuple(options))


def as_chosen(extreme: Extreme) -> tuple[str, tuple[Quantity, ...]]:
    """Whether the largest or smallest is taken, and of what; ``abs`` takes the larger of a quantity and minus it."""
    match extreme:
        case Extreme(function="abs", arguments=(inside,)):
            return "max", (inside, Negative(inside))
        case _:
            return extreme.function, extreme.arguments


def _known(constant: Quantity, closed: bool) -> Normal:
    value = exact_value(constant, {})
    return Every(()) if value > 0 or (closed and value == 0) else Some(())


def _wins(function: str, chosen: Quantity, other: Quantity) -> Quantity:
    return Arithmetic("-", chosen, other) if function == "max" else Arithmetic("-", other, chosen)


def find_extreme(quantity: Quantity, ranges: Ranges) -> Occurrence | None:
    """Find the first outermost extreme."""
    match quantity:
        case Extreme():
            return Occurrence(quantity, 1, lambda new: new)
        case Rate() | Mean() | Constant():
            return None
        case Negative(operand=operand):
            return _through(find_extreme(operand, ranges), -1, Negative)
        case Power(base=base, exponent=exponent):
            in_base = find_extreme(base, ranges)
            rises = 1 if in_base is not None and exponent > 0 and _sign_of_cases(in_base, ranges) > 0 else 0
            return _through(in_base, rises, lambda new: Power(new, exponent))
        case Arithmetic(sign=sign, left=left, right=right):
            in_left = find_extreme(left, ranges)
            if in_left is not None:
                rises = _sign(right, ranges) if sign in {"*", "/"} else 1
                return _through(in_left, rises, lambda new: Arithmetic(sign, new, right))
            in_right = find_extreme(right, ranges)
            rises = 0 if in_right is None else _right_direction(quantity, in_right, ranges)
            return _through(in_right, rises, lambda new: Arithmetic(sign, left, new))


def _right_direction(quantity: Arithmetic, in_right: Occurrence, ranges: Ranges) -> int:
    match quantity.sign:
        case "+":
            return 1
        case "-":
            return -1
        case "*":
            return _sign(quantity.left, ranges)
        case "/":
            return -_sign(quantity.left, ranges) * abs(_sign_of_cases(in_right, ranges))


def _through(occurrence: Occurrence | None, direction: int, wrap: Callable[[Quantity], Quantity]) -> Occurrence | None:
    """The same occurrence within an enclosing quantity."""
    if occurrence is None:
        return None
    inner = occurrence.put
    return Occurrence(occurrence.extreme, occurrence.direction * direction, lambda new: wrap(inner(new)))


def _sign_of_cases(occurrence: Occurrence, ranges: Ranges) -> int:
    """The sign of a quantity whichever argument replaces its extreme; 0 where it could depend on the argument.

    The sign of the quantity itself is not enough. ``max(a - 0.5, 0.1)`` is positive, but ``a - 0.5`` need not be, and
    where it is not, one over it is no longer the larger of the two.
    """
    signs = {_sign(occurrence.put(argument), ranges) for argument in as_chosen(occurrence.extreme)[1]}
    return signs.pop() if len(signs) == 1 else 0


def _sign(quantity: Quantity, ranges: Ranges) -> int:
    """+1 where a quantity is never negative, -1 where it is never positive, 0 where that is not known."""
    box = {leaf: Interval(*(np.asarray([end]) for end in ranges[leaf])) for leaf in leaves_of(quantity)}
    value = enclose(quantity, box)
    # Enclosures are one rounding wider than the truth, so 0 becomes the smallest float; that must not hide a sign.
    slack = 1e-300
    if value.low[0] >= -slack:
        return 1
    return -1 if value.high[0] <= slack else 0


FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(formula: Formula) -> Iterator[tuple[Quantity, str, float]]:
    """Every compared quantity with its relation and threshold, in the order of the formula.

    Where both sides vary, it is their difference with threshold 0, or the ratio of two rates where one is compared with
    a share of the other.
    """
    return (_link(*link) for link in links_of(formula))


def _link(left: Quantity, relation: str, right: Quantity) -> tuple[Quantity, str, float]:
    threshold = constant_value(right)
    if threshold is not None:
        return left, relation, threshold
    threshold = constant_value(left)
    if threshold is not None:
        return right, FLIPPED[relation], threshold
    ratio = _as_ratio(left, relation, right) or _as_ratio(right, FLIPPED[relation], left)
    return ratio or (Arithmetic("-", left, right), relation, 0.0)


def _as_ratio(left: Quantity, relation: str, right: Quantity) -> tuple[Quantity, str, float] | None:
    """A rate compared with a share of another one, ``a >= 0.8 * b``, as the ratio that people use, ``a / b``."""
    match left, right:
        case Rate(), Arithmetic("*", Constant(value=share), Rate() as rate) if share > 0:
            return Arithmetic("/", left, rate), relation, share
        case Rate(), Arithmetic("*", Rate() as rate, Constant(value=share)) if share > 0:
            return Arithmetic("/", left, rate), relation, share
        case _:
            return None

"""From a formula to comparisons with zero: chains split, negations pushed in, ``abs``, ``min`` and ``max`` resolved.

Quantities as fractions of polynomials in the leaves: how denominators are cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction as Rational
from itertools import chain
from math import isfinite, prod
from typing import TypeAlias

from isonomia.errors import SpecError
from isonomia.evidence.exact import enclose_over_box, exact_value
from isonomia.spec import tree

Monomial: TypeAlias = tuple[tree.Leaf, ...]
"""Leaves multiplied together, sorted by appearance; the empty tuple is the constant term."""

Polynomial: TypeAlias = Mapping[Monomial, float]

MAX_TERMS = 10_000
"""How many terms a quantity may have when it is multiplied out. A property with more is rejected, so this changes no
verdict."""

MAX_EXPONENT = 16
"""The largest power of a quantity that is multiplied out. A larger one is rejected, so this changes no verdict."""


@dataclass(frozen=True, slots=True)
class Fraction:
    """``numerator / denominator``, where the denominator is kept as a product of factors.

    The factors matter because the sign of a product is known when the sign of each factor is. ``divisors`` are all
    quantities that were divided by on the way, including those that have cancelled: where one of them is zero, the
    quantity has no value.
    """

    numerator: Polynomial
    factors: tuple[Polynomial, ...] = ()
    divisors: tuple[Polynomial, ...] = ()

    @property
    def denominator(self) -> Polynomial:
        """The product of the factors; 1 without factors."""
        product: Polynomial = {(): 1.0}
        for factor in self.factors:
            product = _times(product, factor)
        return product


def as_fraction(quantity: tree.Quantity) -> Fraction:
    """Write a quantity without ``abs``, ``min`` and ``max`` as one fraction."""
    match quantity:
        case tree.Constant(value=value):
            return Fraction(_tidy({(): value}))
        case tree.Rate() | tree.Mean():
            return Fraction({(quantity,): 1.0})
        case tree.Negative(operand=operand):
            inner = as_fraction(operand)
            return Fraction(scaled(inner.numerator, -1.0), inner.factors, inner.divisors)
        case tree.Arithmetic(sign=sign, left=left, right=right):
            return _combined(sign, as_fraction(left), as_fraction(right), quantity)
        case tree.Power(base=base, exponent=exponent):
            return _power(as_fraction(base), exponent, quantity)
        case tree.Extreme():
            raise TypeError("abs, min and max are resolved before fractions are made")


def bounds_of(polynomial: Polynomial, ranges: Mapping[tree.Leaf, tuple[float, float]]) -> tuple[float, float]:
    """Enclose the values of a polynomial over the box of the leaves' ranges."""
    low = high = 0.0
    for monomial, coefficient in polynomial.items():
        first, last = 1.0, 1.0
        for leaf in monomial:
            corners = [end * other for end in (first, last) for other in ranges[leaf]]
            first, last = min(corners), max(corners)
        ends = (coefficient * first, coefficient * last)
        low, high = low + min(ends), high + max(ends)
    return low, high


def exact_bounds_of(
    polynomial: Polynomial, ranges: Mapping[tree.Leaf, tuple[float, float]]
) -> tuple[Rational, Rational] | None:
    """The same bounds without rounding, with every number taken as written; ``None`` where one is not finite."""
    low = high = Rational(0)
    for monomial, coefficient in polynomial.items():
        if not all(map(isfinite, (coefficient, *chain.from_iterable(ranges[leaf] for leaf in monomial)))):
            return None
        first = last = Rational(repr(float(coefficient)))
        for leaf in monomial:
            corners = [end * Rational(repr(float(other))) for end in (first, last) for other in ranges[leaf]]
            first, last = min(corners), max(corners)
        low, high = low + first, high + last
    return low, high


def is_linear(polynomial: Polynomial) -> bool:
    """Say whether no term multiplies two leaves."""
    return all(len(monomial) <= 1 for monomial in polynomial)


def scaled(polynomial: Polynomial, factor: float) -> Polynomial:
    """Multiply every coefficient."""
    return _tidy({monomial: coefficient * factor for monomial, coefficient in polynomial.items()})


def _combined(sign: str, left: Fraction, right: Fraction, node: tree.Arithmetic) -> Fraction:
    divisors = left.divisors + right.divisors
    first, second = _constant(left), _constant(right)
    if first is not None and second is not None and (sign != "/" or second):
        return Fraction(_tidy({(): _as_written(sign, first, second)}), (), divisors)
    if sign == "*":
        return _reduced(Fraction(_times(left.numerator, right.numerator), left.factors + right.factors, divisors))
    if sign == "/":
        return _divided(left, right, node)
    other = scaled(right.numerator, -1.0) if sign == "-" else right.numerator
    shared = _shared(left.factors, right.factors)
    only_left, only_right = _without(left.factors, shared), _without(right.factors, shared)
    numerator = _plus(_multiplied(left.numerator, only_right), _multiplied(other, only_left))
    return Fraction(numerator, (*shared, *only_left, *only_right), divisors)


def _constant(fraction: Fraction) -> float | None:
    """The value of a fraction without leaves; ``None`` for any other."""
    return fraction.numerator.get((), 0.0) if set(fraction.numerator) <= {()} and not fraction.factors else None


def _as_written(sign: str, left: float, right: float) -> float:
    """Compute with decimals as written: 0.1 + 0.2 is exactly 0.3."""
    operation = tree.OPERATIONS[sign]
    rough = float(operation(left, right))
    if not (isfinite(rough) and isfinite(left) and isfinite(right)):
        return rough
    return float(operation(Rational(repr(left)), Rational(repr(right))))


def _divided(left: Fraction, right: Fraction, node: tree.Arithmetic) -> Fraction:
    if not right.numerator:
        raise SpecError("the denominator is always 0: nothing can be divided by it", node.place)
    numerator = _multiplied(left.numerator, right.factors)
    divisors = left.divisors + right.divisors
    if set(right.numerator) == {()}:
        return Fraction(scaled(numerator, 1.0 / right.numerator[()]), left.factors, divisors)
    return _reduced(Fraction(numerator, (*left.factors, right.numerator), (*divisors, right.numerator)))


def _power(base: Fraction, exponent: float, node: tree.Power) -> Fraction:
    if set(base.numerator) <= {()} and not base.factors:
        value = base.numerator.get((), 0.0)
        try:
            result = value**exponent
        except (ZeroDivisionError, OverflowError) as error:
            raise SpecError(f"{value:g} ** {exponent:g} is not a number", node.place) from error
        if isinstance(result, complex):
            raise SpecError(f"{value:g} ** {exponent:g} is not a real number", node.place)
        return Fraction(_tidy({(): float(result)}), (), base.divisors)
    if exponent != int(exponent):
        message = f"expected a whole exponent for a quantity that is not constant, but got {exponent:g}"
        raise SpecError(message, node.place)
    if abs(exponent) > MAX_EXPONENT:
        raise SpecError(f"expected an exponent of at most {MAX_EXPONENT}, but got {exponent:g}", node.place)
    whole = Fraction({(): 1.0})
    for _ in range(abs(int(exponent))):
        whole = Fraction(_times(whole.numerator, base.numerator), whole.factors + base.factors)
    if exponent >= 0:
        return Fraction(whole.numerator, whole.factors, base.divisors)
    if not base.numerator:
        raise SpecError("0 to a negative power is not a number", node.place)
    factors = (base.numerator,) * abs(int(exponent))
    return Fraction(whole.denominator, factors, (*base.divisors, base.numerator))


def _reduced(fraction: Fraction) -> Fraction:
    """Cancel factors of the denominator that equal the numerator."""
    for factor in fraction.factors:
        if factor == fraction.numerator:
            return Fraction({(): 1.0}, _without(fraction.factors, (factor,)), fraction.divisors)
    return fraction


def _shared(left: tuple[Polynomial, ...], right: tuple[Polynomial, ...]) -> tuple[Polynomial, ...]:
    """The factors that both have, with multiplicity."""
    rest, shared = list(right), []
    for factor in left:
        if factor in rest:
            rest.remove(factor)
            shared.append(factor)
    return tuple(shared)


def _without(factors: tuple[Polynomial, ...], gone: tuple[Polynomial, ...]) -> tuple[Polynomial, ...]:
    rest = list(factors)
    for factor in gone:
        rest.remove(factor)
    return tuple(rest)


def _multiplied(polynomial: Polynomial, factors: tuple[Polynomial, ...]) -> Polynomial:
    for factor in factors:
        polynomial = _times(polynomial, factor)
    return polynomial


def _plus(left: Polynomial, right: Polynomial) -> Polynomial:
    terms = dict(left)
    for monomial, coefficient in right.items():
        before = terms.get(monomial)
        # As written, so that 0.1 p + 0.2 p - 0.3 p vanishes.
        terms[monomial] = coefficient if before is None else _as_written("+", before, coefficient)
    return _tidy(terms)


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > MAX_TERMS:
        message = f"expected a property of at most {MAX_TERMS:,} terms when multiplied out, but this one has more"
        raise SpecError(f"{message}: multiply fewer sums, or split it into several properties")
    terms: dict[Monomial, float] = {}
    written = {leaf: repr(leaf) for leaf in {*chain(*left), *chain(*right)}}
    for one, a in left.items():
        for other, b in right.items():
            monomial = tuple(sorted(one + other, key=written.__getitem__))
            product = a * b if abs(a) == 1.0 or abs(b) == 1.0 else _as_written("*", a, b)
            terms[monomial] = _as_written("+", terms[monomial], product) if monomial in terms else product
    return _tidy(terms)


def _tidy(terms: dict[Monomial, float]) -> Polynomial:
    return {monomial: coefficient for monomial, coefficient in terms.items() if coefficient != 0.0}


def value_at(polynomial: Polynomial, means: Mapping[tree.Leaf, float]) -> float:
    """The value of a polynomial at some values of its leaves."""
    return sum(factor * prod(means[leaf] for leaf in monomial) for monomial, factor in polynomial.items())


Ranges: TypeAlias = Mapping[tree.Leaf, tuple[float, float]]

MAX_CASES = 100_000
"""How many cases the ``abs``, ``min`` and ``max`` of one comparison may make. A comparison with more is rejected, so
this changes no verdict."""


@dataclass(frozen=True, slots=True)
class Atom:
    """``quantity >= 0``.

    ``closed`` says whether the boundary belongs to it. That does not matter to samples: no finite number of them tells
    ``>=`` from ``>``, so hypotheses are closed sets. It matters where arithmetic decides.
    """

    quantity: tree.Quantity
    closed: bool = True


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the parts; true without parts."""

    parts: tuple[Normal, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts; false without parts."""

    parts: tuple[Normal, ...]


Normal: TypeAlias = Atom | AllOf | AnyOf


def normal_form(formula: tree.Formula, ranges: Ranges, *, positive: bool = True) -> Normal:
    """Write a formula, or with ``positive=False`` its negation, as a combination of atoms without negations.

    Each side is closed: the formula's form and its negation's form share their boundary. A comparison of constants
    does not become an atom: it is decided exactly, ties included, with decimals taken as written.
    """
    match formula:
        case tree.Comparison():
            return _chain(formula, ranges, positive)
        case tree.Not(operand=operand):
            return normal_form(operand, ranges, positive=not positive)
        case tree.Implies(premise=premise, conclusion=conclusion):
            parts: tuple[Normal, ...] = (
                normal_form(premise, ranges, positive=not positive),
                normal_form(conclusion, ranges, positive=positive),
            )
            return AnyOf(parts) if positive else AllOf(parts)
        case tree.Junction(connective=connective, operands=operands):
            parts = tuple(normal_form(operand, ranges, positive=positive) for operand in operands)
            return AllOf(parts) if (connective == "and") is positive else AnyOf(parts)
        case tree.Each():
            raise TypeError("a quantifier is expanded before it is brought to normal form")


def _chain(chain: tree.Comparison, ranges: Ranges, positive: bool) -> Normal:
    _refuse_many_cases(chain)
    links: list[Normal] = []
    for left, relation, right in chain.links:
        large, small = (right, left) if relation in {"<", "<="} else (left, right)
        difference = tree.Arithmetic("-", large, small) if positive else tree.Arithmetic("-", small, large)
        links.append(_resolved(difference, ranges, closed=(relation in {"<=", ">="}) is positive))
    if len(links) == 1:
        return links[0]
    return AllOf(tuple(links)) if positive else AnyOf(tuple(links))


def _refuse_many_cases(comparison: tree.Comparison) -> None:
    extremes = [node for node in tree.nodes(comparison) if isinstance(node, tree.Extreme)]
    if prod(max(2, len(extreme.arguments)) for extreme in extremes) > MAX_CASES:
        message = f"the {len(extremes)} abs, min and max of this comparison make more than {MAX_CASES:,} cases together"
        raise SpecError(f"{message}: split it into several properties", extremes[0].place)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An ``abs``, ``min`` or ``max`` within a quantity.

    ``direction`` is +1 where the quantity rises with it, -1 where it falls, 0 where neither is known; ``put`` rebuilds
    the quantity with something else in its place.
    """

    extreme: tree.Extreme
    direction: int
    put: Callable[[tree.Quantity], tree.Quantity]


def _resolved(quantity: tree.Quantity, ranges: Ranges, *, closed: bool = True) -> Normal:
    """``quantity >= 0``; ``closed`` says whether 0 itself counts."""
    occurrence = find_extreme(quantity, ranges)
    if occurrence is None:
        return Atom(quantity, closed) if tree.leaves_of(quantity) else _known(quantity, closed)
    function, arguments = as_chosen(occurrence.extreme)
    cases = tuple(_resolved(occurrence.put(argument), ranges, closed=closed) for argument in arguments)
    if occurrence.direction:
        return AnyOf(cases) if (function == "max") is (occurrence.direction > 0) else AllOf(cases)
    # The direction is unknown, so each case must also state that its own argument is the one chosen.
    options = []
    for chosen, case in zip(arguments, cases, strict=True):
        others = (other for other in arguments if other is not chosen)
        options.append(AllOf((case, *(_resolved(_wins(function, chosen, other), ranges) for other in others))))
    return AnyOf(tuple(options))


def as_chosen(extreme: tree.Extreme) -> tuple[str, tuple[tree.Quantity, ...]]:
    """Whether the largest or smallest is taken, and of what; ``abs`` takes the larger of a quantity and minus it."""
    match extreme:
        case tree.Extreme(function="abs", arguments=(inside,)):
            return "max", (inside, tree.Negative(inside))
        case _:
            return extreme.function, extreme.arguments


def _known(constant: tree.Quantity, closed: bool) -> Normal:
    value = exact_value(constant, {})
    return AllOf(()) if value > 0 or (closed and value == 0) else AnyOf(())


def _wins(function: str, chosen: tree.Quantity, other: tree.Quantity) -> tree.Quantity:
    return tree.Arithmetic("-", chosen, other) if function == "max" else tree.Arithmetic("-", other, chosen)


def find_extreme(quantity: tree.Quantity, ranges: Ranges) -> Occurrence | None:
    """Find the first outermost extreme."""
    match quantity:
        case tree.Extreme():
            return Occurrence(quantity, 1, lambda new: new)
        case tree.Rate() | tree.Mean() | tree.Constant():
            return None
        case tree.Negative(operand=operand):
            return _through(find_extreme(operand, ranges), -1, tree.Negative)
        case tree.Power(base=base, exponent=exponent):
            in_base = find_extreme(base, ranges)
            rises = 1 if in_base is not None and exponent > 0 and _sign_of_cases(in_base, ranges) > 0 else 0
            return _through(in_base, rises, lambda new: tree.Power(new, exponent))
        case tree.Arithmetic(sign=sign, left=left, right=right):
            in_left = find_extreme(left, ranges)
            if in_left is not None:
                rises = _sign(right, ranges) if sign in {"*", "/"} else 1
                return _through(in_left, rises, lambda new: tree.Arithmetic(sign, new, right))
            in_right = find_extreme(right, ranges)
            rises = 0 if in_right is None else _right_direction(quantity, in_right, ranges)
            return _through(in_right, rises, lambda new: tree.Arithmetic(sign, left, new))


def _right_direction(quantity: tree.Arithmetic, in_right: Occurrence, ranges: Ranges) -> int:
    match quantity.sign:
        case "+":
            return 1
        case "-":
            return -1
        case "*":
            return _sign(quantity.left, ranges)
        case "/":
            return -_sign(quantity.left, ranges) * abs(_sign_of_cases(in_right, ranges))


def _through(
    occurrence: Occurrence | None, direction: int, wrap: Callable[[tree.Quantity], tree.Quantity]
) -> Occurrence | None:
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


def _sign(quantity: tree.Quantity, ranges: Ranges) -> int:
    """+1 where a quantity is never negative, -1 where it is never positive, 0 if that is unknown."""
    low, high = enclose_over_box(quantity, {leaf: ranges[leaf] for leaf in tree.leaves_of(quantity)})
    # Enclosures are one rounding wider than the truth, so 0 becomes the smallest float; that must not hide a sign.
    slack = 1e-300
    if low >= -slack:
        return 1
    return -1 if high <= slack else 0


def compared(formula: tree.Formula) -> Iterator[tuple[tree.Quantity, str, float]]:
    """Every compared quantity with its relation and threshold, in the order of the formula.

    Where both sides vary, it is their difference with threshold 0, or the ratio of two rates where one is compared with
    a share of the other.
    """
    return (_link(*link) for link in tree.links_of(formula))


def _link(left: tree.Quantity, relation: tree.Relation, right: tree.Quantity) -> tuple[tree.Quantity, str, float]:
    threshold = tree.constant_value(right)
    if threshold is not None:
        return left, relation, threshold
    threshold = tree.constant_value(left)
    if threshold is not None:
        return right, tree.FLIPPED[relation], threshold
    ratio = _as_ratio(left, relation, right) or _as_ratio(right, tree.FLIPPED[relation], left)
    return ratio or (tree.Arithmetic("-", left, right), relation, 0.0)


def _as_ratio(left: tree.Quantity, relation: str, right: tree.Quantity) -> tuple[tree.Quantity, str, float] | None:
    """A rate compared with a share of another one, ``a >= 0.8 * b``, as the ratio that people use, ``a / b``."""
    match left, right:
        case tree.Rate(), tree.Arithmetic("*", tree.Constant(value=share), tree.Rate() as rate) if share > 0:
            return tree.Arithmetic("/", left, rate), relation, share
        case tree.Rate(), tree.Arithmetic("*", tree.Rate() as rate, tree.Constant(value=share)) if share > 0:
            return tree.Arithmetic("/", left, rate), relation, share
        case _:
            return None

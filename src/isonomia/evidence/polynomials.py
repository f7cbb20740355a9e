"""Quantities as fractions of polynomials in the leaves: how denominators are cleared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction as Rational
from itertools import chain
from math import isfinite, prod
from operator import add, mul, sub, truediv
from typing import TypeAlias

from isonomia.errors import SpecError
from isonomia.spec.tree import Arithmetic, Constant, Extreme, Leaf, Mean, Negative, Power, Quantity, Rate

Monomial: TypeAlias = tuple[Leaf, ...]
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
        """The product of the factors; 1 where there are none."""
        product: Polynomial = {(): 1.0}
        for factor in self.factors:
            product = _times(product, factor)
        return product


def as_fraction(quantity: Quantity) -> Fraction:
    """Write a quantity without ``abs``, ``min`` and ``max`` as one fraction."""
    match quantity:
        case Constant(value=value):
            return Fraction(_tidy({(): value}))
        case Rate() | Mean():
            return Fraction({(quantity,): 1.0})
        case Negative(operand=operand):
            inner = as_fraction(operand)
            return Fraction(scaled(inner.numerator, -1.0), inner.factors, inner.divisors)
        case Arithmetic(sign=sign, left=left, right=right):
            return _combined(sign, as_fraction(left), as_fraction(right), quantity)
        case Power(base=base, exponent=exponent):
            return _power(as_fraction(base), exponent, quantity)
        case Extreme():
            raise TypeError("abs, min and max are resolved before fractions are made")


def bounds_of(polynomial: Polynomial, ranges: Mapping[Leaf, tuple[float, float]]) -> tuple[float, float]:
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
    polynomial: Polynomial, ranges: Mapping[Leaf, tuple[float, float]]
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


def _combined(sign: str, left: Fraction, right: Fraction, node: Arithmetic) -> Fraction:
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
    operation = {"+": add, "-": sub, "*": mul, "/": truediv}[sign]
    rough = float(operation(left, right))
    if not (isfinite(rough) and isfinite(left) and isfinite(right)):
        return rough
    return float(operation(Rational(repr(left)), Rational(repr(right))))


def _divided(left: Fraction, right: Fraction, node: Arithmetic) -> Fraction:
    if not right.numerator:
        raise SpecError("the denominator is always 0: nothing can be divided by it", node.place)
    numerator = _multiplied(left.numerator, right.factors)
    divisors = left.divisors + right.divisors
    if set(right.numerator) == {()}:
        return Fraction(scaled(numerator, 1.0 / right.numerator[()]), left.factors, divisors)
    return _reduced(Fraction(numerator, (*left.factors, right.numerator), (*divisors, right.numerator)))


def _power(base: Fraction, exponent: float, node: Power) -> Fraction:
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
        raise SpecError(
            f"expected a whole exponent for a quantity that is not constant, but got {exponent:g}",
            node.place,
        )
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
        raise SpecError(
            f"expected a property that has at most {MAX_TERMS:,} terms when it is multiplied out, but this one has "
            "more: multiply fewer sums, or split it into several properties"
        )
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


def value_at(polynomial: Polynomial, means: Mapping[Leaf, float]) -> float:
    """The value of a polynomial at some values of its leaves."""
    return sum(factor * prod(means[leaf] for leaf in monomial) for monomial, factor in polynomial.items())

"""Gauss-Legendre rules whose error is proven beforehand.

The error of a rule with n points on an analytic integrand is at most ``64/15 M r**(-2n) / (1 - r**-2)`` where M bounds
the integrand on the ellipse with parameter r around the interval (Trefethen, *Approximation Theory and Approximation
Practice*, theorem 19.3). So a bound on how fast the integrand grows off the real line tells which rule is cheapest.

The normal distribution with proven errors: one probability in whole numbers, many at once by a table.

A single probability is computed in fixed-point arithmetic, once rounded down and once rounded up at every step, so that
both ends are proven and tails keep their leading digits. For many arguments at once there is a table of Taylor
expansions: its entries come from that fixed-point arithmetic, the remainder is bounded by Cramer's bound on Hermite
polynomials (``|He_n(x)| <= 1.09 sqrt(n!) exp(x**2 / 4)``), and the rounding of Horner's rule by Higham's gamma.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isqrt, log, nextafter

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class TooManyCellsError(ArithmeticError):
    """An integral would take more pieces or points than allowed.

    ``hopeless`` says that wider enclosures would not help.
    """

    def __init__(self, message: str, *, hopeless: bool = False) -> None:
        super().__init__(message)
        self.hopeless = hopeless


_NODES = np.asarray([4, 6, 8, 10, 12, 16, 20, 24, 32, 48])
_PANELS = (np.asarray([1, 2, 3, 4, 6, 8, 12, 16]), np.unique(np.geomspace(20, 20_000, 40).astype(int)))
_ELLIPSES = np.geomspace(1.1, 1000, 24)
"""The rules that are tried: points, panels, and the ellipses on which an integrand is bounded. The error of the chosen
rule is proven, so they change cost only."""
_TOO_MANY = np.iinfo(np.int64).max


def cheapest_rule(
    bound_on: Callable[[Floats, Floats], Floats], length: float, tolerance: float
) -> tuple[int, int, float]:
    """The cheapest composite rule whose error is proven to be below a tolerance: points, panels and that error.

    ``bound_on`` gives the logarithm of a bound on the integrand up to these distances off the real line and along it.
    """
    r = _ELLIPSES[:, None]
    for panels in _PANELS:
        half = length / (2 * panels)
        bound = bound_on(half * (r - 1 / r) / 2, half * (r + 1 / r) / 2)
        constant = bound + log(64 / 15 / 2 * 1.001) - np.log1p(-(r**-2))
        # In logarithms: the best ellipse for each number of points and each number of panels.
        errors = np.min(constant - 2 * _NODES[:, None, None] * np.log(r), axis=1)
        cost = np.where(errors <= log(tolerance), _NODES[:, None] * panels, _TOO_MANY)
        best = np.unravel_index(np.argmin(cost), cost.shape)
        if cost[best] < _TOO_MANY:
            return int(_NODES[best[0]]), int(panels[best[1]]), float(np.exp(errors[best]))
    raise TooManyCellsError("an integrand that is too steep")


_BITS = 128
"""Binary digits with which the points of a rule are computed, so that only their rounding to floats is left.
It changes no answer: that rounding is part of the proven error."""


@cache
def _gauss_legendre(nodes: int) -> tuple[Floats, Floats]:
    """The roots of a Legendre polynomial, and the weight of each, correct to the last bit but one."""
    at, weights = np.zeros(nodes), np.zeros(nodes)
    for k, near in enumerate(np.polynomial.legendre.leggauss(nodes)[0].tolist()):
        x = round(Fraction(near) * 2**_BITS)
        for _ in range(2):  # each step doubles the number of correct digits
            value, slope = _legendre(nodes, x)
            x -= (value << _BITS) // slope
        slope = _legendre(nodes, x)[1]
        at[k] = x / 2**_BITS
        weights[k] = 2 * 2 ** (4 * _BITS) / (((1 << 2 * _BITS) - x * x) * slope * slope)
    return at, weights


def _legendre(degree: int, x: int) -> tuple[int, int]:
    """A Legendre polynomial and its derivative, in fixed-point arithmetic."""
    before, value = 1 << _BITS, x
    for k in range(2, degree + 1):
        before, value = value, ((2 * k - 1) * (x * value >> _BITS) - (k - 1) * before) // k
    return value, degree * ((x * value - (before << _BITS)) << _BITS) // (x * x - (1 << 2 * _BITS))


def composite(nodes: int, panels: int) -> tuple[Floats, Floats]:
    """Points and weights on the interval from 0 to 1."""
    at, weight = _gauss_legendre(nodes)
    starts = np.arange(panels)[:, None]
    return ((starts + (at + 1) / 2) / panels).ravel(), np.tile(weight / (2 * panels), panels)


_ONE = 1 << _BITS
_PI = Fraction(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
)
_ROOT_TWO_PI = isqrt(int(2 * _PI * _ONE) << _BITS)  # at most the root, and more than the root minus 3 units
_FAR = 12 * _ONE
"""Beyond this many standard deviations a tail is enclosed between 0 and ``2**-108``, which is wider but as valid."""
_FAR_TAIL = (0, 1 << (_BITS - 108))  # proven, so it cannot make an answer wrong


@cache
def normal_cdf(distance: Fraction, variance: Fraction) -> tuple[int, int]:
    """Enclose the probability of a draw below ``distance`` from the mean, in units of ``2**-_BITS``."""
    square = distance * distance / variance
    x = isqrt((square.numerator << (2 * _BITS)) // square.denominator)
    tail = _tail(x, x + 1)
    return tail if distance <= 0 else (_ONE - tail[1], _ONE - tail[0])


def normal_mass_between(low: Fraction | None, high: Fraction | None, variance: Fraction) -> tuple[float, float]:
    """Enclose the probability that a draw with mean 0 lies between two numbers; ``None`` is infinitely far."""
    if low is not None and high is not None and low >= high:
        return 0.0, 0.0
    if low is not None and low > 0:  # in the upper tail, use the mirror image, whose digits are not lost
        mirrored = -low
        low, high = None if high is None else -high, mirrored
    above = (_ONE, _ONE) if high is None else normal_cdf(high, variance)
    below = (0, 0) if low is None else normal_cdf(low, variance)
    return _outward(max(above[0] - below[1], 0), above[1] - below[0])


def _outward(low: int, high: int) -> tuple[float, float]:
    return max(nextafter(low / _ONE, -1.0), 0.0), min(nextafter(high / _ONE, 2.0), 1.0)


def _tail(low: int, high: int) -> tuple[int, int]:
    """Enclose the probability above ``x >= 0``, which lies between two fixed-point numbers."""
    if low >= _FAR:
        return _FAR_TAIL
    least, most = _half_sum(high, up=True), _half_sum(low, up=False)
    return max(_ONE // 2 - least, 0), _ONE // 2 - most


def _half_sum(x: int, *, up: bool) -> int:
    """Bound ``Phi(x) - 1/2`` from one side.

    It is the sum of ``x**(2k+1) / (1 * 3 * ... * (2k+1))``, over ``sqrt(2 pi)`` times the sum of ``(x**2/2)**k / k!``.
    All terms are positive, so rounding every step one way bounds the result.
    """
    square = (x * x >> _BITS) + up
    above = _series(x, square, 3, 2, up=up)
    below = _series(_ONE, square, 2, 2, up=not up)
    divisor = (_ROOT_TWO_PI + (0 if up else 3)) * below
    return (above << (2 * _BITS)) // divisor + up


def _series(first: int, square: int, divisor: int, step: int, *, up: bool) -> int:
    """Sum ``first * square**k / (divisor * (divisor + step) * ...)``, rounded one way, the remainder included."""
    total = term = first
    while term > 1:
        term = (term * square >> _BITS) // divisor + up
        total += term
        divisor += step
        if up and 2 * square < divisor << _BITS and term <= 2:
            # Every further term is at most half of the one before it.
            return total + term
    return total


# ---------------------------------------------------------------------------- many arguments at once

_STEPS, _END, _DEGREE = 8, 9, 12
"""Table points per unit, the last point, and the degree of the expansions: with these the remainder is below 1e-18.
``CDF_ERROR`` covers it, so other values would change only its size and the cost."""

CDF_ERROR = 5e-15
"""A bound on the error of the distribution function: ``2 * 12`` roundings of at most ``1.2e-16`` of at most 1.1, the
table's own rounding, the remainder, and ``1e-18`` beyond the end of the table. It widens enclosures, and it *can*
change an answer: without it, they could miss the truth by rounding."""

DENSITY_ERROR = 5e-15
"""The same for the density, whose expansion is the derivative of the other. It *can* change an answer, too."""


@cache
def _table() -> tuple[Floats, Floats]:
    """Taylor coefficients of the distribution function and of the density, one row for each degree."""
    middle = _END * _STEPS
    values, densities = np.zeros((_DEGREE + 1, 2 * middle + 1)), np.zeros((_DEGREE, 2 * middle + 1))
    for k in range(middle + 1):
        x = Fraction(k, _STEPS)
        low, high = normal_cdf(x, Fraction(1))
        density, factorial, polynomials = _density(x), 1, (0, 1)
        values[0, middle + k] = (low + high) / (2 * _ONE)
        values[0, middle - k] = (2 * _ONE - low - high) / (2 * _ONE)
        for degree in range(1, _DEGREE + 1):
            factorial *= degree
            # A Hermite polynomial in units of the table's step, so that it is a whole number.
            whole = density * polynomials[1]
            below = factorial * _STEPS ** (degree - 1) << _BITS
            sign = (-1) ** (degree - 1)
            values[degree, middle + k], values[degree, middle - k] = sign * whole / below, whole / below
            densities[degree - 1, middle + k] = sign * degree * whole / below
            densities[degree - 1, middle - k] = degree * whole / below
            polynomials = polynomials[1], k * polynomials[1] - (degree - 1) * _STEPS**2 * polynomials[0]
    return values, densities


def _density(x: Fraction) -> int:
    """The density at a point, in units of ``2**-_BITS``."""
    return _ONE**3 // (_ROOT_TWO_PI * _series(_ONE, int(x * x * _ONE), 2, 2, up=False))


def normal_values(x: Floats, *, density: bool = False) -> Floats:
    """The distribution function or the density at many points, within ``CDF_ERROR`` or ``DENSITY_ERROR``."""
    values, densities = _table()
    inside = np.clip(x, -_END, _END)
    nearest = np.rint(inside * _STEPS)
    at = (nearest + _END * _STEPS).astype(np.intp)
    rest = inside - nearest / _STEPS
    return _horner(densities if density else values, at, rest)


def _horner(table: Floats, at: NDArray[np.intp], rest: Floats) -> Floats:
    result: Floats = table[-1][at]
    for row in table[-2::-1]:
        result *= rest
        result += row[at]
    return result

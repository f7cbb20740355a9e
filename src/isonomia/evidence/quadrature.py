"""Gauss-Legendre rules whose error is proven beforehand.

The error of a rule with n points on an analytic integrand is at most ``64/15 M r**(-2n) / (1 - r**-2)`` where M bounds
the integrand on the ellipse with parameter r around the interval (Trefethen, *Approximation Theory and Approximation
Practice*, theorem 19.3). So a bound on how fast the integrand grows off the real line tells which rule is cheapest.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import log

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

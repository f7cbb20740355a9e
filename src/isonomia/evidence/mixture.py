"""Evidence functions: for each possible mean, how strongly the draws speak against it.

Both come from mixing bets, so they may be looked at after every draw. For the true mean ``theta``

    P(there is an n with L_n(theta) >= log(1/delta)) <= delta.

A yes/no leaf mixes likelihood ratios with a Beta(1/2, 1/2) weight. A number mixes the stakes ``1 + l (x - theta)`` over
all ``l`` that cannot lose more than everything, with the same weight on the two extreme ones; that mixture is not
computed but bounded from below by its best stake in hindsight less the known price of not having foreseen it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, rel_entr, xlogy

from isonomia.evidence.stakes import best_stakes

__all__ = ["IMAGINED", "divergence", "hindsight_price", "interval_within", "log_evidence", "mean_interval"]

Floats = NDArray[np.float64]

SECTIONS = 24
"""Points looked at together in the search for an interval's end."""

IMAGINED = 1e-9
"""Imagined draws at both ends of a range that keep a projection finite; what they add is subtracted again."""


def log_evidence(nodes: Floats, tally: Floats, mean: Floats) -> Floats:
    """``L(mean)`` for tallies of shape ``(repetitions, nodes)`` and one mean a repetition.

    Guarantee
    ---------
    For independent draws in ``[nodes[0], nodes[-1]]`` with true mean ``mean``, ``P(sup over n of L >= log(1/delta)) <=
    delta``. Sources: Robbins (1970) for the mixture; Cover and Ordentlich (1996), Theorem 2, for the price of
    hindsight of the number's mixture; Orabona and Jun (2021) for reading it as a confidence sequence.
    """
    tally = np.atleast_2d(tally)
    return np.asarray(divergence(nodes, tally, np.asarray(mean, dtype=float)) - hindsight_price(nodes, tally))


def hindsight_price(nodes: Floats, tally: Floats) -> Floats:
    """How far the mixture stays behind the best bet in hindsight, in nats: ``-L`` at the sample mean."""
    n = tally.sum(axis=-1)
    if len(nodes) == 2:
        no, yes = tally[..., 0], tally[..., 1]
        best = xlogy(yes, yes) + xlogy(no, no) - xlogy(n, n)
        return np.asarray(best - (betaln(yes + 0.5, no + 0.5) - betaln(0.5, 0.5)))
    return np.asarray(0.5 * np.log(np.pi) + gammaln(n + 1.0) - gammaln(n + 0.5))


def divergence(nodes: Floats, tally: Floats, mean: Floats) -> Floats:
    """``n`` times the least Kullback-Leibler distance from the tally to a distribution with the given mean."""
    if len(nodes) == 2:
        theta = np.clip((mean - nodes[0]) / (nodes[1] - nodes[0]), 0.0, 1.0)
        no, yes = tally[..., 0], tally[..., 1]
        n = np.maximum(no + yes, 1e-300)
        # An end of the range is possible as long as nothing was seen beyond it: 0 log(0 / 0) is 0.
        return np.asarray(n * (rel_entr(yes / n, theta) + rel_entr(no / n, 1.0 - theta)))
    return np.maximum(_one_sided(nodes, tally, mean, 1.0), _one_sided(nodes, tally, mean, -1.0))


def mean_interval(nodes: Floats, tally: Floats, delta: float) -> tuple[float, float]:
    """The means that the evidence does not refute: an interval that holds the true mean at all times.

    Guarantee: ``P(there is an n at which the interval misses the mean) <= delta``. With no draws it is the whole range.
    """
    return interval_within(nodes, tally, float(np.log(1.0 / delta) + hindsight_price(nodes, tally[None, :])[0]))


def interval_within(nodes: Floats, tally: Floats, limit: float) -> tuple[float, float]:
    """The means whose divergence from the tally is below a limit, in nats; the whole range where nothing was drawn."""
    low, high = float(nodes[0]), float(nodes[-1])
    n = float(tally.sum())
    if n <= 0:
        return low, high
    centre = float(tally @ nodes) / n
    return _root(nodes, tally, limit, centre, low), _root(nodes, tally, limit, centre, high)


def _root(nodes: Floats, tally: Floats, limit: float, inside: float, end: float) -> float:
    """Find where the divergence passes the limit; returns the far side, so that rounding widens the interval.

    The divergence grows away from the sample mean. Each round looks at many points at once and keeps one section.
    """
    rows = np.broadcast_to(tally, (SECTIONS, len(nodes)))
    if divergence(nodes, rows[:1], np.asarray([end]))[0] < limit:
        return end
    outside = end
    while abs(outside - inside) > 1e-12 * (nodes[-1] - nodes[0]):
        points = np.linspace(inside, outside, SECTIONS + 2)
        beyond = np.flatnonzero(divergence(nodes, rows, points[1:-1]) >= limit)
        first = int(beyond[0]) + 1 if len(beyond) else SECTIONS + 1
        if (inside, outside) == (points[first - 1], points[first]):
            break
        inside, outside = float(points[first - 1]), float(points[first])
    return outside


def _one_sided(nodes: Floats, tally: Floats, mean: Floats, sign: float) -> Floats:
    """The distance to the distributions with ``sign * mean`` at most the one given."""
    repetitions = len(tally)
    ends = np.zeros(len(nodes))
    ends[0] = ends[-1] = IMAGINED
    weights = tally + ends
    total = weights.sum(axis=-1)
    payoffs = np.broadcast_to(sign * (nodes - nodes[0]), (repetitions, 1, 1, len(nodes)))
    bounds = sign * (np.broadcast_to(mean, (repetitions,)) - nodes[0])[:, None]
    estimate = (weights / total[:, None])[:, None, :]
    stakes = best_stakes(payoffs, bounds, estimate, np.ones((repetitions, 1)))
    logs = np.log(stakes.factors[:, 0, :])
    gain = (tally * logs).sum(axis=-1) + tally.sum(axis=-1) * (
        1.0 - stakes.rests[:, 0] - (stakes.on_sides * bounds)[:, 0]
    )
    return np.asarray(np.maximum(gain, 0.0))

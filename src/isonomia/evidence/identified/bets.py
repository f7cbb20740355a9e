"""The e-process against an identified set: the bet that would have done best on the estimate, and why any is valid.

A batch has ``n_a`` draws of channel ``a``, ``n`` in all; ``w_a = n_a / n``. A bet pays ``f_ac > 0`` for a draw of
channel ``a`` in cell ``c``, and has a multiplier ``k`` for each equation and ``l >= 0`` for each inequality. Its payoff
bound is

    T = max over worlds u of ( sum_a w_a f_a(cell of u in a) - k . E_u - l . G_u )  +  k . e  +  l . g,

and the batch multiplies the wealth by the product of what its draws pay, divided by ``T ** n``.

*No bet can be expected to win.* Let the truth be ``t_a = M_a x`` for an admitted mixture ``x``. Given which channel
each draw belongs to, the draws are independent, so the expected product is ``prod_a (t_a . f_a)^(n_a)``. By the
inequality of arithmetic and geometric means that is at most ``(sum_a w_a t_a . f_a)^n``, and

    sum_a w_a t_a . f_a  =  sum_u x_u sum_a w_a f_a(u)  <=  max_u ( ... )  +  k . E x  +  l . G x  <=  T,

because ``x`` is a distribution, ``E x = e``, ``G x <= g`` and ``l >= 0``. So the expected factor is at most 1 whatever
the bet: all it takes is a maximum over known worlds, and no solver has to be trusted.

*The best bet is a projection.* On draws distributed like ``h`` a batch is expected to gain ``n S``,

    S = sum_a w_a sum_c h_ac log f_ac - log T  <=  sum_a w_a KL(h_a | q_a)        for every q in the identified set

(the same inequality with ``t = q``, and Jensen's), with equality for ``f = h / p`` where ``p`` is the point of the set
nearest to ``h`` (convex duality). So ``S`` is also a certified lower bound on the distance from ``h`` to the set.

A confidence region for cell probabilities, and the interval that it leaves for a functional of the mixture.

For each channel, mixing the likelihood ratios of all distributions over its cells with a Dirichlet(1/2, ..., 1/2)
weight gives an evidence function ``L_a(q_a) = log of the mixture's likelihood - log of the likelihood of q_a``, whose
exponential at the true ``q_a`` is a martingale that starts at 1 (Robbins 1970; Krichevsky and Trofimov 1981). Draws of
different channels are independent given their channels, so the sum over channels has the same property, and

    P(there is a time at which sum_a L_a(true q_a) >= log(1/delta)) <= delta.

The region ``{q : sum_a L_a(q_a) < log(1/delta)}`` is convex. It is ``{q : sum_a n_a KL(h_a | q_a) < allowance}`` around
the sample's shares ``h``, so it misses an identified set exactly when the set is farther from ``h`` than the allowance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from isonomia.errors import UsageError
from isonomia.evidence.bets import Wealth
from isonomia.evidence.confidence_sequences import check_delta
from isonomia.evidence.identified.identified_set import MAX_NUMBERS, IdentifiedSet, Iterate, solve

Floats = NDArray[np.float64]

MAX_FACTOR = 1e300
"""The most that a draw pays, and the reciprocal of the least: near the largest double, with room to add a few. Every
positive factor is valid, so it cannot make a verdict wrong."""

TINY = 1e-300
"""Keeps divisors and logarithms away from 0. Raising a payoff bound to it can only lower the wealth."""

PSEUDO_COUNT = 0.5
"""Draws of each cell that the estimate starts from (Krichevsky and Trofimov 1981). Changes power only."""

NEGLIGIBLE_GAIN = 1e-4
"""Nats per batch that are not worth another round of the solver: hundreds of batches lose a few hundredths of a nat in
all. Changes power and cost only."""


@dataclass(frozen=True, slots=True)
class CellBet:
    """A bet, with one row per repetition.

    Attributes
    ----------
    factors
        ``f``, of shape ``(repetitions, channels, cells)``, positive.
    equality_multipliers
        ``k``, of shape ``(repetitions, equations)``.
    inequality_multipliers
        ``l``, of shape ``(repetitions, inequalities)``, at least 0.
    """

    factors: Floats
    equality_multipliers: Floats
    inequality_multipliers: Floats


def begin(identified: IdentifiedSet, repetitions: int = 1) -> Wealth:
    """Start with a wealth of 1 and nothing seen."""
    tally = np.zeros((repetitions, identified.channels, identified.cells))
    return Wealth(np.zeros(repetitions), np.zeros(repetitions), tally)


def step(identified: IdentifiedSet, state: Wealth, counts: Floats) -> Wealth:
    """Fix the bet from earlier batches and from the number of draws alone, then settle it on the batch.

    Parameters
    ----------
    identified
        The identified set of the hypothesis that is bet against; it must admit a mixture.
    state
        The state after the earlier batches.
    counts
        The draws of this batch: shape ``(repetitions, channels, cells)``.

    Notes
    -----
    Guarantee: if the truth lies in the identified set, and given the past and the channel of each draw the draws of a
    batch are independent with the channel's probabilities, then ``exp(log_wealth)`` is a non-negative supermartingale
    that starts at 1, for any batch sizes fixed before the batch's outcomes are seen. Hence, by Ville's inequality,
    ``P(there is a batch with peak >= log(1/delta)) <= delta``.
    """
    draws = counts.sum(axis=-1)
    total = draws.sum(axis=-1)
    estimate = state.tally + PSEUDO_COUNT
    estimate = estimate / estimate.sum(axis=-1, keepdims=True)
    # Before a channel has been seen there is nothing to go by: with a weight of 0 it is not bet on.
    weights = np.where(state.tally.any(axis=-1), draws / np.maximum(total, 1.0)[:, None], 0.0)
    # Below 1e-10 nats per draw the solver would only chase rounding; above 1e-4 small batches would not be bet on.
    tolerance = np.clip(NEGLIGIBLE_GAIN / np.maximum(total, 1.0), 1e-10, 1e-4)
    bet = best_cell_bet(identified, estimate, weights, tolerance)
    log_wealth = state.log_wealth + log_factor(identified, bet, counts)
    return Wealth(log_wealth, np.maximum(state.peak, log_wealth), state.tally + counts)


def best_cell_bet(identified: IdentifiedSet, estimate: Floats, weights: Floats, tolerance: Floats) -> CellBet:
    """Project the estimate ``h`` onto the identified set, and pay estimate over projection for each cell.

    The weights ``w`` sum to at most 1. A channel of weight 0 is not bet on: its draws pay 1, which is what the others
    pay on average. The tolerance is the accuracy to which ``S`` is maximised, in nats per draw, for each repetition;
    where less than that can be won, nothing is bet.
    """
    bet, _ = _bet(identified, estimate, weights, tolerance)
    idle = ~(growth_rate(identified, bet, estimate, weights) > tolerance)
    bet.factors[idle], bet.equality_multipliers[idle], bet.inequality_multipliers[idle] = 1.0, 0.0, 0.0
    return bet


def _bet(
    identified: IdentifiedSet, estimate: Floats, weights: Floats, tolerance: Floats, slope: Floats | None = None
) -> tuple[CellBet, Iterate]:
    """The bet of a projection, or of what maximises the likelihood plus a slope; and the solver's point."""
    share = weights.sum(axis=-1)
    factors = np.ones_like(estimate)
    on_equal = np.zeros((len(estimate), len(identified.equal)))
    on_below = np.zeros((len(estimate), len(identified.below)))
    rows = np.flatnonzero(share > 0)
    part = share[rows, None]
    within = (weights[rows] / part)[:, :, None]
    mass = (within * estimate[rows])[:, identified.possible_cells]
    mass /= np.maximum(mass.sum(axis=-1, keepdims=True), TINY)
    solution = solve(identified, mass, tolerance[rows], None if slope is None else slope[rows])
    # A cell that no world shows does not enter T, however much is paid for it: such a draw refutes the set outright.
    paid = np.full((len(rows), identified.channels, identified.cells), MAX_FACTOR)
    shares = np.broadcast_to(np.where(within > 0, within, 1.0), paid.shape)
    payoffs = solution.v / shares[:, identified.possible_cells]
    paid[:, identified.possible_cells] = np.clip(payoffs, 1.0 / MAX_FACTOR, MAX_FACTOR)
    factors[rows] = np.where(within > 0, paid, 1.0)
    on_equal[rows], on_below[rows] = part * solution.eta[:, 1:], part * np.maximum(solution.lam, 0.0)
    return CellBet(factors, on_equal, on_below), solution


def payoff_bound(identified: IdentifiedSet, bet: CellBet, weights: Floats) -> Floats:
    """``T``, an upper bound on the expected payoff of a draw; positive where the identified set is not empty."""
    return np.asarray(_worths(identified, bet, weights).max(axis=-1))


def _worths(identified: IdentifiedSet, bet: CellBet, weights: Floats) -> Floats:
    """What each world makes of the payoff bound, which is the largest of these numbers."""
    paid = (weights[:, :, None] * bet.factors).reshape(len(weights), -1)
    worth = paid @ identified.observation.reshape(-1, identified.worlds)
    on_equal, on_below = bet.equality_multipliers, bet.inequality_multipliers
    worth -= on_equal @ identified.equal + on_below @ identified.below
    return np.asarray(worth + (on_equal @ identified.equal_to + on_below @ identified.at_most)[:, None])


def log_factor(identified: IdentifiedSet, bet: CellBet, counts: Floats) -> Floats:
    """The logarithm of one batch's factor.

    Guarantee: for *any* positive factors, any equality multipliers and any non-negative inequality multipliers, fixed
    before the outcomes of the batch were seen, the expected factor is at most 1 when the truth lies in the
    identified set. The proof is at the top of this module; it uses nothing else.
    """
    draws = counts.sum(axis=-1)
    total = draws.sum(axis=-1)
    weights = draws / np.maximum(total, 1.0)[:, None]
    logs = np.log(np.where(counts > 0, bet.factors, 1.0))
    log_bound = np.log(np.maximum(payoff_bound(identified, bet, weights), TINY))
    return np.asarray((counts * logs).sum(axis=(-2, -1)) - np.where(total > 0, total * log_bound, 0.0))


def certified_distance(identified: IdentifiedSet, estimate: Floats, weights: Floats, tolerance: float = 1e-9) -> Floats:
    """A lower bound on ``min over q in the set of sum_a w_a KL(h_a | q_a)``, close to it if the solver did well.

    Guarantee: never more than the minimum, whatever the solver did (up to rounding), by the inequality for ``S``. The
    tolerance, in nats per draw, decides how close it is.
    """
    bet = best_cell_bet(identified, estimate, weights, np.full(len(estimate), tolerance))
    return np.maximum(growth_rate(identified, bet, estimate, weights), 0.0)


def growth_rate(identified: IdentifiedSet, bet: CellBet, estimate: Floats, weights: Floats) -> Floats:
    """``S``, in nats per draw, for weights that sum to at most 1."""
    idle = 1.0 - weights.sum(axis=-1)
    paid = (weights * (estimate * np.log(bet.factors)).sum(axis=-1)).sum(axis=-1)
    bound = np.maximum(payoff_bound(identified, bet, weights) + idle, TINY)
    return np.asarray(paid - np.log(bound))


MARGIN = 1e-6
"""Extra nats that a refutation needs, to cover rounding: ``n`` draws add about ``n * 1e-16``, so it suffices up to
about 1e9 draws. It *can* change a verdict: without it, rounding could refute a point that the region still contains."""

END_TOLERANCE = 1e-6
"""How precisely an end is found. Ends are always refuted values, so it only widens intervals."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """No admitted mixture produces a point of the region: the assumptions are refuted at risk ``delta``."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRegion:
    """The cell probabilities that the draws so far do not refute, at risk ``delta`` for all times simultaneously.

    Attributes
    ----------
    tally
        How many draws fell into each cell: shape ``(channels, cells)``.
    delta
        The risk that the region ever misses the truth.
    """

    tally: Floats
    delta: float

    def __post_init__(self) -> None:
        if self.tally.ndim != 2 or not bool(np.isfinite(self.tally).all()) or bool((self.tally < 0).any()):
            raise UsageError(f"expected a count a channel and cell, but got {self.tally!r}", name="tally")
        check_delta(self.delta)

    @property
    def n(self) -> float:
        """How many draws."""
        return float(self.tally.sum())

    @property
    def allowance(self) -> float:
        """How far the truth may lie from the sample's shares, in nats: ``log(1/delta)`` plus the mixture's regret."""
        # The 0.5 is the Dirichlet weight of every cell: another one would be as valid, but wider in the long run.
        draws, half = self.tally.sum(axis=1), 0.5 * self.tally.shape[1]
        best = xlogy(self.tally, self.tally).sum() - xlogy(draws, draws).sum()
        mixed = (gammaln(self.tally + 0.5) - gammaln(0.5)).sum() + (gammaln(half) - gammaln(draws + half)).sum()
        return float(np.log(1.0 / self.delta) + best - mixed)

    def refutes(self, identified: IdentifiedSet) -> bool:
        """Say whether no point of the identified set lies in the region.

        Guarantee: ``True`` only where no point does, since any bet, good or bad, bounds the distance from below.
        """
        estimate, weights = self.centre
        # A thousandth of a nat over the whole sample: a looser bound only keeps sets alive and widens intervals.
        tolerance = min(1e-3 / max(self.n, 1.0), 1e-6)
        nats = self.n * float(certified_distance(identified, estimate[None], weights[None], tolerance)[0])
        return self.n > 0 and nats >= self.allowance + MARGIN

    @property
    def centre(self) -> tuple[Floats, Floats]:
        """The sample's shares of cells in each channel, and of channels."""
        draws = self.tally.sum(axis=1, keepdims=True)
        return self.tally / np.maximum(draws, 1.0), draws[:, 0] / max(self.n, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Functional:
    """``row . x / over . x``, a function of the mixture: a number for each world above, one not below 0 below."""

    row: Floats
    over: Floats


def functional_interval(
    region: CellRegion, identified: IdentifiedSet, row: Floats, over: Floats | None = None
) -> tuple[float, float] | Refuted:
    """Enclose ``row . x``, or ``row . x / over . x``: :func:`functional_intervals` for one."""
    below = np.ones_like(row) if over is None else over
    return functional_intervals([region], identified, [Functional(row, below)])[0][0]


def functional_intervals(
    regions: Sequence[CellRegion],
    identified: IdentifiedSet,
    functionals: Sequence[Functional],
    allowances: Sequence[float] | None = None,
) -> list[list[tuple[float, float] | Refuted]]:
    """Enclose functions of the admitted mixtures that produce a point of a region: for each region, each function.

    Guarantee: if the true mixture is admitted, then with probability at least ``1 - delta`` the intervals contain its
    true values *at all times, and for all functions together*, since one region serves them all. Ends are rounded
    outwards: each end that is not an end of the possible range comes with a bet that refutes everything beyond it.

    Parameters
    ----------
    regions
        The cell probabilities that the draws do not refute.
    identified
        The admitted mixtures, and what they produce.
    functionals
        What is enclosed. Each has one number for every world that ``identified`` was made of. Mixtures for which both
        products are zero count as having every value.
    allowances
        The regions' own, in nats; larger ones where cells were merged.
    """
    reduced = [Functional(each.row[identified.kept_worlds], each.over[identified.kept_worlds]) for each in functionals]
    if not all(bool((each.over > 0).any()) for each in reduced):
        raise UsageError("expected a denominator that is positive in some admitted world", name="denominator")
    limits = [region.allowance for region in regions] if allowances is None else allowances
    results: list[list[tuple[float, float] | Refuted]] = []
    for region in regions:
        if region.n <= 0:
            results.append([_range_of(each) for each in reduced])
        elif region.refutes(identified):
            results.append([Refuted()] * len(reduced))
        else:
            results.append([])
    going = [number for number, entry in enumerate(results) if not entry]
    # As many together as fit into the cache-sized arrays of the solver, several times over.
    together = max(1, 2 * MAX_NUMBERS // (2 * len(reduced) * max(identified.worlds, 1)))
    for first in range(0, len(going), together):
        part = going[first : first + together]
        ends = _upper_ends(
            identified,
            [regions[n] for n in part],
            np.asarray([limits[n] for n in part]),
            [*reduced, *map(_negated, reduced)],
        )
        for number, row in zip(part, ends, strict=True):
            up, down = row[: len(reduced)], row[len(reduced) :]
            results[number] = [(-float(low), float(high)) for low, high in zip(down, up, strict=True)]
    return results


def _negated(functional: Functional) -> Functional:
    return Functional(-functional.row, functional.over)


def _range_of(functional: Functional) -> tuple[float, float]:
    some = functional.over > 0
    ratios = functional.row[some] / functional.over[some]
    return float(ratios.min()), float(ratios.max())


MAX_TRIALS = 40
"""Multipliers tried for an end; six are usual. Changes widths only: every end is refuted by a bet of its own."""


def _upper_ends(
    identified: IdentifiedSet, regions: Sequence[CellRegion], allowances: Floats, functionals: Sequence[Functional]
) -> Floats:
    """The least values found such that everything beyond is refuted: shape ``(regions, functionals)``.

    For a multiplier ``t > 0`` let ``x`` maximise the likelihood's logarithm plus ``t (row - value over) . x``. Its bet
    pays ``f``, and with ``t`` as the multiplier of ``row . x >= v over . x`` the bound ``T`` falls in ``v``. So the bet
    refutes every ``v`` above an end that is a maximum over worlds. The end is least where ``x`` is as far from the
    draws as the region reaches; that distance rises with ``t``, nearly as its square.
    """
    centres = [region.centre for region in regions]
    times, count = len(functionals), len(regions) * len(functionals)
    estimate = np.repeat(np.stack([each[0] for each in centres]), times, axis=0)
    weights = np.repeat(np.stack([each[1] for each in centres]), times, axis=0)
    limit = np.repeat((allowances + MARGIN) / np.asarray([region.n for region in regions]), times)
    row = np.tile(np.stack([each.row for each in functionals]), (len(regions), 1))
    over = np.tile(np.stack([each.over for each in functionals]), (len(regions), 1))
    least, most = (np.tile(ends, len(regions)) for ends in np.transpose([_range_of(each) for each in functionals]))
    # A hundred-thousandth of how far the region reaches, and for small samples what a precise end needs.
    tolerance = np.minimum(1e-8, 1e-5 * limit)
    # A world with 0 below counts in T for every v, so the distance must exceed the limit, by little more than rounding.
    borders = (over == 0).any(axis=1)
    extra = np.where(borders, np.maximum(1e-6, 1e-13 / limit), 0.0)
    near_enough = np.where(borders, 0.5 * extra, 1e-3)
    end, inside, value = most.copy(), least.copy(), 0.5 * (least + most)
    log_t, low, high = 0.5 * np.log(limit), np.full(count, -np.inf), np.full(count, np.inf)
    last_t, last_d = np.full(count, np.nan), np.full(count, np.nan)
    going = np.flatnonzero(least < most)
    for trial in range(MAX_TRIALS):
        if not len(going):
            break
        t, up, down = np.exp(log_t[going])[:, None], row[going], over[going]
        slope = t * (up - value[going, None] * down)
        bet, at = _bet(identified, estimate[going], weights[going], tolerance[going], slope)
        paid = (weights[going] * (estimate[going] * np.log(bet.factors)).sum(axis=-1)).sum(axis=-1)
        worth = _worths(identified, bet, weights[going]) - np.exp(paid - limit[going])[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = np.where(down > 0, (worth + t * up) / (t * down), np.where(worth > 0, np.inf, -np.inf))
            reached = (at.x * up).sum(axis=1) / (at.x * down).sum(axis=1)
        end[going] = np.minimum(end[going], np.nan_to_num(beyond.max(axis=1), nan=np.inf))
        near = (paid <= limit[going]) & np.isfinite(reached)
        inside[going] = np.where(near, np.maximum(inside[going], reached), inside[going])
        value[going] = np.where(np.isfinite(reached), np.minimum(reached, end[going]), value[going])
        distance = np.log(np.maximum(paid, TINY) / limit[going]) - extra[going]
        low[going] = np.where(distance < 0, np.maximum(low[going], log_t[going]), low[going])
        high[going] = np.where(distance > 0, np.minimum(high[going], log_t[going]), high[going])
        steep = (distance - last_d[going]) / (log_t[going] - last_t[going])
        steep = np.where(np.isfinite(steep) & (steep > 0.2), np.minimum(steep, 4.0), 2.0)
        last_t[going], last_d[going] = log_t[going], distance
        next_t = log_t[going] - np.clip(distance / steep, -3.0, 3.0)
        middle = 0.5 * (low[going] + high[going])
        # Where the draws miss cells the distance may jump, and every third trial halves what is left.
        outside = (next_t <= low[going]) | (next_t >= high[going]) | (trial % 3 == 2)
        log_t[going] = np.where(outside & np.isfinite(middle), middle, next_t)
        done = (
            (end[going] - inside[going] <= 0.5 * END_TOLERANCE)
            | (np.abs(distance) < near_enough[going])
            | (log_t[going] > 20.0)
        )
        going = going[~done & (high[going] - low[going] > np.where(borders, 1e-8, 1e-5)[going])]
    return end.reshape(len(regions), times)

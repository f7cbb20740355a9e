"""How near the checks come to the information-theoretic limit.

    python -m benchmarks.limit [--repetitions 300] [--risks 1e-10 ...] [--json FILE] [--chart docs/images/limit.svg]
                               [--curve docs/images/limit-risks.svg]
    python -m benchmarks.limit --alone 2500
    python -m benchmarks.limit --optimum [--risks ...]

For 43 pairs of rates and the claim P[F] / P[M] >= 0.8, at four risks: the mean number of draws of each method over the
least that any method with that risk can take on average, kl(delta, 1 - delta) / D. Draws come from two streams in equal
shares, in batches of 1% of what came before; a run ends only when the method decides. ``--alone`` compares the bets
with those of a single bettor who goes by the estimate, in so many runs of each pair on the same draws.

That limit is for a test that knows the truth beforehand. No test that does not know it comes as near; ``--optimum``
says how near any test of this risk could come on average over truths whose distances differ up to 50-fold.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.limit_chart import chart, curve
from isonomia.engine.loop import Schedule
from isonomia.evidence.bets import DividedWealth, EProcess, begin, estimate_gains, step, weights_of
from isonomia.evidence.confidence_sequences import mixture_regret
from isonomia.evidence.planning import limit
from isonomia.evidence.protocol import Grid
from isonomia.evidence.stakes import best_stakes
from isonomia.evidence.verifair import adaptive_error

Floats = NDArray[np.float64]

RATIO = 0.8
DELTAS = (1e-10, 1e-6, 1e-3, 0.05)
MAJORITY = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.98)
TIMES = (0.5, 0.7, 0.9, 1.0, 1.2)
PAIRS = [(m * t, m) for m in MAJORITY for t in TIMES if m * t <= 0.98]


@dataclass(frozen=True)
class Pair:
    """Two rates, and the half-space that must be refuted to answer rightly."""

    rates: Floats
    coefficients: Floats

    @classmethod
    def of(cls, minority: float, majority: float) -> Pair:
        """The half-space is the wrong answer's."""
        holds = minority > RATIO * majority
        return cls(np.asarray([minority, majority]), np.asarray([1.0, -RATIO]) * (1 if holds else -1))

    def limit(self, delta: float) -> float:
        """The least mean number of draws, in equal shares, of any method with this risk."""
        payoffs = np.zeros((1, 1, 2, 2))
        payoffs[0, 0, :, 1] = self.coefficients
        estimate = np.stack([1 - self.rates, self.rates], axis=-1)[None]
        weights = np.full((1, 2), 0.5)
        stakes = best_stakes(payoffs, np.zeros((1, 1)), estimate, weights)
        nats = float(
            (weights[0] * ((estimate[0] * np.log(stakes.factors[0])).sum(-1) + 1 - stakes.intercepts[0])).sum()
        )
        return limit(delta, nats)


def by_bets(pair: Pair, delta: float) -> Callable[[Floats | None, NDArray[np.bool_] | None], NDArray[np.bool_]]:
    """Projection bets, as a check makes them."""
    prior = Grid(((0.0, 1.0),)).prior()
    process = EProcess.of([[np.asarray([0.0, a]) for a in pair.coefficients]], [0.0], [prior, prior])
    kept: list[DividedWealth] = []

    def absorb(counts: Floats | None, keep: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if counts is not None:
            kept[:] = [step(process, kept[0] if kept else begin(process, len(counts)), counts)]
        elif keep is not None:
            kept[:] = [kept[0].rows(keep)]
        return kept[0].peak >= np.log(1 / delta)

    return absorb


def by_total(decided: Callable[[Pair, Floats, float], NDArray[np.bool_]]) -> Callable[..., object]:
    """A method that looks only at the counts so far."""

    def method(pair: Pair, delta: float) -> Callable[[Floats | None, NDArray[np.bool_] | None], NDArray[np.bool_]]:
        total: list[Floats] = []

        def absorb(counts: Floats | None, keep: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
            if counts is not None:
                total[:] = [counts + (total[0] if total else 0.0)]
            elif keep is not None:
                total[:] = [total[0][keep]]
            return decided(pair, total[0], delta)

        return absorb

    return method


def mixture_decides(pair: Pair, total: Floats, delta: float) -> NDArray[np.bool_]:
    """The joint beta-binomial region misses the half-space."""
    payoffs = np.zeros((len(total), 1, 2, 2))
    payoffs[:, 0, :, 1] = pair.coefficients
    weights = total + 1e-9
    draws = weights.sum(-1)
    stakes = best_stakes(payoffs, np.zeros((len(total), 1)), weights / draws[..., None], draws / draws.sum(-1)[:, None])
    value = (weights * np.log(stakes.factors)).sum((-2, -1)) + (draws * (1 - stakes.intercepts)).sum(-1)
    price = mixture_regret(np.asarray([0.0, 1.0]), total).sum(-1)
    return value - price >= np.log(1 / delta)


def verifair_decides(pair: Pair, total: Floats, delta: float) -> NDArray[np.bool_]:
    """The paper's rule for the ratio, with its two lemmas at delta / 2 each."""
    n = total[0, 0].sum()
    error = adaptive_error(delta / 2, n)
    low, high = (total[..., 1] / n).T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = error / high + error * (low + error) / (high * (high - error))
        gap = low / high - RATIO
    decided = (high > error) & (np.abs(gap) >= spread)
    return decided & ((gap > 0) == (pair.coefficients[0] > 0))


METHODS: dict[str, Callable[..., object]] = {
    "bets": by_bets,
    "mixture region": by_total(mixture_decides),
    "verifair": by_total(verifair_decides),
}


def mean_draws(
    method: Callable[..., object], pair: Pair, delta: float, repetitions: int, seed: int
) -> tuple[float, float]:
    """Mean and standard error of the draws until the right answer is given."""
    rng = np.random.default_rng(seed)
    absorb = method(pair, delta)
    stops = np.zeros(repetitions)
    running, total = np.arange(repetitions), 0
    for size in Schedule(first=2).sizes():
        each = max(size // 2, 1)
        total += 2 * each
        yes = rng.binomial(each, pair.rates, size=(len(running), 2)).astype(float)
        done = absorb(np.stack([each - yes, yes], axis=-1), None)  # type: ignore[operator]
        stops[running[done]] = total
        running = running[~done]
        if not len(running):
            return float(stops.mean()), float(stops.std() / np.sqrt(repetitions))
        if done.any():
            absorb(None, ~done)  # type: ignore[operator]
    raise AssertionError("a schedule has no end")


def beside_alone(task: tuple[int, float, int]) -> tuple[float, float]:
    """Mean draws of the bets over those of the estimate's bettor alone, on the same draws, and its standard error."""
    number, delta, runs = task
    pair, rng = Pair.of(*PAIRS[number]), np.random.default_rng(number)
    payoffs = np.zeros((runs, 1, 2, 2))
    payoffs[:, 0, :, 1] = pair.coefficients
    absorb, wealth, tally = by_bets(pair, delta), np.zeros(runs), np.zeros((runs, 2, 2))
    stops, waiting, total = np.zeros((2, runs)), [np.arange(runs), np.arange(runs)], 0
    for size in Schedule(first=2).sizes():
        each = max(size // 2, 1)
        total += 2 * each
        yes = rng.binomial(each, pair.rates, size=(runs, 2)).astype(float)
        counts = np.stack([each - yes, yes], axis=-1)
        if len(waiting[0]):
            done = absorb(counts[waiting[0]], None)
            stops[0, waiting[0][done]] = total
            waiting[0] = waiting[0][~done]
            absorb(None, ~done)
        if len(rows := waiting[1]):
            estimate = (tally[rows] + 1.0) / (tally[rows] + 1.0).sum(axis=-1, keepdims=True)
            weights = weights_of(tally[rows].any(axis=-1), counts[rows])
            wealth[rows] += estimate_gains(payoffs[rows], np.zeros((len(rows), 1)), estimate, weights, counts[rows])
            tally += counts
            done = wealth[rows] >= np.log(1 / delta)
            stops[1, rows[done]] = total
            waiting[1] = rows[~done]
        if not len(waiting[0]) and not len(waiting[1]):
            break
    mean = stops[1].mean()
    return float(stops[0].mean() / mean), float((stops[0] - stops[1]).std() / np.sqrt(runs) / mean)


def compare_alone(risks: Sequence[float], runs: int) -> None:
    """Print for each risk how the bets compare with those of a single bettor who goes by the estimate."""
    with ProcessPoolExecutor() as pool:
        for delta in risks:
            found = list(pool.map(beside_alone, [(number, delta, runs) for number in range(len(PAIRS))]))
            ratios = [ratio for ratio, _ in found]
            worst = int(np.argmax(ratios))
            print(
                f"{delta:>8g}  beside the estimate alone: mean {np.mean(ratios):.4f}, least {min(ratios):.4f}, worst "
                f"{ratios[worst]:.4f} +- {found[worst][1]:.4f} for {PAIRS[worst][0]:.3g} / {PAIRS[worst][1]:.3g}",
                flush=True,
            )


@dataclass(frozen=True)
class Optimum:
    """What the best test can reach that does not know how far away the truth is, by dynamic programming.

    Evidence about a distance ``d`` is a Brownian motion with drift ``d`` or ``-d``. A test stops and says which; where
    the drift is 0, each answer is wrong, and may ever be given with probability ``delta``. Among all such tests, the
    one that takes least time on average over a prior on the distances stops as soon as stopping, at a price, costs no
    more than going on. Both costs are computed backwards under the drift 0, on a grid of log time and of the motion
    over the root of time, whose steps are then all alike. The price is chosen such that the risk is ``delta``.

    Attributes
    ----------
    delta
        The risk.
    distances
        The distances, in any unit: only their ratios matter.
    """

    delta: float
    distances: Floats

    STEP = 0.02
    """Each time is this much longer than the last, as a share: looks of batches that are 2% of what came before."""

    WIDTH = 0.04
    """The width of the grid's cells."""

    @property
    def least(self) -> float:
        """The least mean time times ``d^2 / 2`` of a test that knows the distance: kl(delta, 1 - delta)."""
        return float(limit(self.delta, 1.0))

    def over_the_limit(self, prior: Floats) -> Floats:
        """The mean time of the best test for a prior over the least of a test that knows the distance, by distance."""
        need = np.log(1.0 / self.delta)
        first, last = 0.02 / self.distances.max() ** 2, 60.0 * need / self.distances.min() ** 2
        times = first * np.exp(self.STEP * np.arange(int(np.log(last / first) / self.STEP) + 2))
        reach = np.ceil((np.sqrt(2.0 * need) + 5.0) / self.WIDTH)
        at = np.arange(-reach, reach + 1) * self.WIDTH
        kept = np.exp(-0.5 * self.STEP)
        moves = np.exp(-0.5 * (at - kept * at[:, None]) ** 2 / (1.0 - kept**2))
        moves /= moves.sum(axis=1, keepdims=True)
        drift, pace = self.distances[:, None] * np.sqrt(times)[:, None, None], 0.5 * self.distances**2
        # The likelihood of each distance over that of no drift: the mean of both signs.
        ratio = np.exp(np.logaddexp(drift * at, -drift * at) - np.log(2.0) - 0.5 * drift**2)
        waits = np.diff(times)
        costs = np.einsum("p,tpz->tz", prior * pace, ratio[:-1]) * waits[:, None]
        low, high = need - 6.0, need + 8.0
        while high - low > 1e-3:
            price = np.exp(0.5 * (low + high))
            value, stops = np.zeros(len(at)), np.zeros((len(waits), len(at)), dtype=bool)
            for k in range(len(waits) - 1, -1, -1):
                going = costs[k] + moves @ value
                stops[k], value = going >= price, np.minimum(going, price)
            share, risk = np.exp(-0.5 * at * at), 0.0
            share, mean = share / share.sum(), np.full(len(self.distances), first)
            for k, wait in enumerate(waits):
                risk += 0.5 * share[stops[k]].sum()
                share = np.where(stops[k], 0.0, share)
                mean += wait * (ratio[k] @ share)
                share = share @ moves
            low, high = (float(np.log(price)), high) if risk > self.delta else (low, float(np.log(price)))
        return np.asarray(mean * pace / self.least)

    @classmethod
    def of(cls, delta: float, span: float = 50.0, distances: int = 25) -> Optimum:
        """Distances up to ``span`` times as large as the least, evenly spread on a logarithmic scale."""
        return cls(delta, np.exp(np.linspace(0.0, np.log(span), distances)))

    def averages(self, rounds: int = 1) -> tuple[float, float]:
        """The least average over the distances, and the least worst case, as far as so many rounds find it."""
        prior = np.full(len(self.distances), 1.0 / len(self.distances))
        found = self.over_the_limit(prior)
        average, worst = float(found.mean()), float(found.max())
        for _ in range(rounds - 1):
            # More weight to the distances at which this test takes longest.
            prior = prior * found**4
            prior /= prior.sum()
            found = self.over_the_limit(prior)
            worst = min(worst, float(found.max()))
        return average, worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--risks", type=float, nargs="+", default=DELTAS)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/limit.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/limit.svg"))
    parser.add_argument("--curve", type=Path, help="draw them by risk, too, such as docs/images/limit-risks.svg")
    parser.add_argument("--alone", type=int, metavar="RUNS", help="only compare with a single bettor, in so many runs")
    parser.add_argument("--optimum", action="store_true", help="only say what a test could reach that knows no truth")
    arguments = parser.parse_args()
    if arguments.optimum:
        for delta in arguments.risks:
            average, worst = Optimum.of(delta).averages(8)
            print(f"{delta:>8g}  any test, truth unknown: average {average:.3f}, minimax {worst:.3f}", flush=True)
        return
    if arguments.alone:
        compare_alone(arguments.risks, arguments.alone)
        return
    began, rows = time.perf_counter(), []
    print(f"{'risk':>8}  {'method':<15} {'geometric mean':>14} {'least':>7} {'worst':>7}   worst pair")
    for delta in arguments.risks:
        for name, method in METHODS.items():
            ratios = []
            for number, (minority, majority) in enumerate(PAIRS):
                pair = Pair.of(minority, majority)
                least = pair.limit(delta)
                mean, error = mean_draws(method, pair, delta, arguments.repetitions, seed=number)
                ratios.append(mean / least)
                rows.append(
                    {"delta": delta, "method": name, "minority": minority, "majority": majority, "limit": least,
                     "mean": mean, "standard_error": error, "over_limit": mean / least}
                )  # fmt: skip
            worst = int(np.argmax(ratios))
            middle = float(np.exp(np.mean(np.log(ratios))))
            print(
                f"{delta:>8g}  {name:<15} {middle:>14.3f} {min(ratios):>7.2f} {max(ratios):>7.2f}   "
                f"{PAIRS[worst][0]:.3g} / {PAIRS[worst][1]:.3g}",
                flush=True,
            )
    print(f"{len(PAIRS)} pairs, {arguments.repetitions} repetitions each, {time.perf_counter() - began:.0f} s")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"ratio": RATIO, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    chart(rows).save(str(arguments.chart))
    if arguments.curve is not None:
        curve(rows).save(str(arguments.curve))


if __name__ == "__main__":
    main()

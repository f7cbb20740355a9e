"""How near the checks come to the information-theoretic limit.

    python -m benchmarks.limit [--repetitions 300] [--risks 1e-10 ...] [--json FILE] [--chart docs/images/limit.svg]
                               [--curve docs/images/limit-risks.svg]
    python -m benchmarks.limit --alone 2500

For 43 pairs of rates and the claim P[F] / P[M] >= 0.8, at four risks: the mean number of draws of each method over the
least that any method with that risk can take on average, kl(delta, 1 - delta) / D. Draws come from two streams in equal
shares, in batches of 1% of what came before; a run ends only when the method decides. ``--alone`` compares the bets
with those of a single bettor who goes by the estimate, in so many runs of each pair on the same draws.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--risks", type=float, nargs="+", default=DELTAS)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/limit.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/limit.svg"))
    parser.add_argument("--curve", type=Path, help="draw them by risk, too, such as docs/images/limit-risks.svg")
    parser.add_argument("--alone", type=int, metavar="RUNS", help="only compare with a single bettor, in so many runs")
    arguments = parser.parse_args()
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

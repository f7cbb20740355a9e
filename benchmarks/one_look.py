"""Intervals for one look at two to four groups: coverage over simulated tables, and width beside the asymptotic one.

    python -m benchmarks.one_look [--tables 10000] [--json FILE]

A ratio and a difference of two rates, each interval at risk 0.05: both ends together, so that it must hold the truth
in at least 95% of all tables, whatever the rates and however few people. Coverage needs no interval: an end misses
the truth exactly where the table proves that the quantity lies beyond it, and more yes in the first group prove more.
So it is also computed over all tables that there are, by sums of binomials: 10,000 tables show it to a fifth of a
percent only, and a method that is exact to the last table is seen below 95% in every other run of them.
Widths are those of tables with exactly these rates, over the interval of the delta method: ``estimate +- 1.96
standard errors``, of the quantity itself and not of its logarithm. The asymptotic interval's own coverage stands
beside ours, on the same tables; so does a ratio without a value, 0 in 0 women, which counts as held by both.
Quantities of three and four rates have a simulated coverage only.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from isonomia.evidence.one_look import RateFraction, lower_end, proves_above, upper_end

Floats = NDArray[np.float64]

DELTA = 0.05
RATIO = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
DIFFERENCE = RateFraction(0.0, (1.0, -1.0))
KINDS = {"ratio": RATIO, "difference": DIFFERENCE}

WIDTHS = (
    ((1000, 1000), (0.24, 0.3)),
    ((200, 800), (0.24, 0.3)),
    ((100, 1900), (0.5, 0.6)),
    ((1000, 1000), (0.04, 0.05)),
)
SEVERAL = (
    ("difference of differences", (1.0, -1.0, -1.0, 1.0), (1250, 1250, 1250, 1250), (0.3, 0.24, 0.5, 0.4)),
    ("difference of differences", (1.0, -1.0, -1.0, 1.0), (300, 700, 1500, 2500), (0.3, 0.24, 0.5, 0.4)),
    ("difference of differences", (1.0, -1.0, -1.0, 1.0), (1250, 1250, 1250, 1250), (0.03, 0.02, 0.04, 0.05)),
    ("rate less a mean of two", (-0.5, -0.5, 1.0), (1000, 2000, 2000), (0.3, 0.24, 0.5)),
)
SIZES = ((30, 30), (30, 300), (300, 300), (1000, 1000), (5000, 5000))
RATES = ((0.01, 0.02), (0.05, 0.05), (0.24, 0.3), (0.5, 0.6), (0.99, 0.9))


def asymptotic(kind: str, yes: Floats, sizes: tuple[int, int]) -> tuple[Floats, Floats]:
    """The interval of the delta method, for many tables of shape ``(tables, 2)``; no number without an error."""
    u, v = (yes / np.asarray(sizes)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "ratio":
            centre = u / v
            error = centre * np.sqrt((1 - u) / (u * sizes[0]) + (1 - v) / (v * sizes[1]))
        else:
            centre = u - v
            error = np.sqrt(u * (1 - u) / sizes[0] + v * (1 - v) / sizes[1])
        reach = -float(ndtri(DELTA / 2)) * error
        return centre - reach, centre + reach


def widths() -> list[dict[str, Any]]:
    """Widths of tables with exactly these rates."""
    rows = []
    for sizes, rates in WIDTHS:
        yes = [round(n * p) for n, p in zip(sizes, rates, strict=True)]
        for kind, fraction in KINDS.items():
            began = time.process_time()
            low, high = (end(fraction, yes, sizes, DELTA / 2) for end in (lower_end, upper_end))
            seconds = time.process_time() - began
            least, greatest = asymptotic(kind, np.asarray([yes], dtype=float), sizes)
            width, theirs = high - low, float(greatest[0] - least[0])
            rows.append(
                {
                    "kind": kind,
                    "sizes": sizes,
                    "rates": rates,
                    "width": width,
                    "times": width / theirs,
                    "seconds": seconds,
                }
            )
    return rows


def several(tables: int) -> list[dict[str, Any]]:
    """The same of three and four rates: width, time, and how often intervals hold the truth over simulated tables."""
    rows = []
    for kind, top, sizes, rates in SEVERAL:
        fraction, truth = RateFraction(0.0, top), float(np.dot(top, rates))
        yes = [round(n * p) for n, p in zip(sizes, rates, strict=True)]
        began = time.process_time()
        low, high = (end(fraction, yes, sizes, DELTA / 2) for end in (lower_end, upper_end))
        seconds = time.process_time() - began
        error = np.sqrt(sum(a**2 * p * (1 - p) / n for a, p, n in zip(top, rates, sizes, strict=True)))
        rng, missed = np.random.default_rng(sizes), 0
        for _ in range(tables):
            drawn = rng.binomial(sizes, rates).tolist()
            missed += proves_above(fraction, drawn, sizes, DELTA / 2, truth)
            missed += proves_above(fraction.negated, drawn, sizes, DELTA / 2, -truth)
        times = float((high - low) / (-2.0 * ndtri(DELTA / 2) * error))
        found = {"width": high - low, "times": times, "seconds": seconds, "tables": tables}
        rows.append({"kind": kind, "sizes": sizes, "rates": rates, **found, "holds": 1.0 - missed / max(tables, 1)})
    return rows


def coverage(kind: str, sizes: tuple[int, int], rates: tuple[float, float], tables: int) -> dict[str, Any]:
    """How often both intervals hold the truth: over simulated tables, and over all tables there are."""
    fraction = KINDS[kind]
    truth = rates[0] / rates[1] if kind == "ratio" else rates[0] - rates[1]
    rng = np.random.default_rng([*sizes, *(round(1000 * rate) for rate in rates)])
    yes = np.stack([rng.binomial(n, p, tables) for n, p in zip(sizes, rates, strict=True)], axis=-1)
    weights = binom.pmf(np.arange(sizes[1] + 1), sizes[1], rates[1])
    # Counts so rare are left out of the sum, and taken as missed; those that were drawn are always there.
    likely = np.flatnonzero(weights > NEGLIGIBLE / sizes[1])
    seconds = np.arange(min(likely[0], yes[:, 1].min()), max(likely[-1], yes[:, 1].max()) + 1)
    too_high = _borders(
        seconds, sizes[0], lambda first, second: proves_above(fraction, (first, second), sizes, DELTA / 2, truth)
    )
    # The greatest first count that is too low is one less than the least that is not.
    too_low = (
        _borders(
            seconds,
            sizes[0],
            lambda first, second: not proves_above(fraction.negated, (first, second), sizes, DELTA / 2, -truth),
        )
        - 1
    )
    missed = binom.sf(too_high - 1, sizes[0], rates[0]), binom.cdf(too_low, sizes[0], rates[0])
    exact = [float(np.dot(weights[seconds], each) + 1.0 - weights[seconds].sum()) for each in missed]
    ends = np.stack([too_high, too_low], axis=-1)[yes[:, 1] - seconds[0]]
    found = np.stack([yes[:, 0] >= ends[:, 0], yes[:, 0] <= ends[:, 1]], axis=-1)
    low, high = asymptotic(kind, yes.astype(float), sizes)
    theirs = ~((low > truth) | (high < truth))
    return {
        "kind": kind,
        "sizes": sizes,
        "rates": rates,
        "tables": tables,
        "too_high": float(found[:, 0].mean()),
        "too_low": float(found[:, 1].mean()),
        "holds": float(1.0 - found.any(axis=1).mean()),
        "exact_too_high": exact[0],
        "exact_too_low": exact[1],
        "exact_holds": 1.0 - sum(exact),
        "asymptotic_holds": float(theirs.mean()),
    }


NEGLIGIBLE = 1e-6
"""The probability of all counts together that are left out of an exact sum."""


def _borders(seconds: NDArray[np.int64], most: int, proved: Callable[[int, int], bool]) -> NDArray[np.int64]:
    """For each second count the least first one from which on something is proved; ``most + 1`` where it never is.

    Borders rise with the second count, by about as much each time. So the search begins where the last two point to.
    """
    borders: list[int] = []
    for second in seconds.tolist():
        if len(borders) < 2:
            low, high = -1, most + 1
        else:
            guess, step = min(2 * borders[-1] - borders[-2], most + 1), 1
            low, high = guess - 1, guess
            while high <= most and not proved(high, second):
                low, high, step = high, min(high + step, most + 1), 2 * step
            step = 1
            while low >= 0 and low < high and proved(low, second):
                low, high, step = max(low - step, -1), low, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if proved(middle, second) else (middle, high)
        borders.append(high)
    return np.asarray(borders)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/one_look.json"))
    arguments = parser.parse_args()
    few = max(arguments.tables // 25, 1)  # each of these takes as long as many of the others
    found: dict[str, Any] = {"delta": DELTA, "widths": widths(), "several": several(few), "coverage": []}
    for row in found["several"]:
        print(
            f"{row['kind']} {row['sizes']} {row['rates']}: {row['times']:.3f} times the asymptotic width, "
            f"{1000 * row['seconds']:.0f} ms, holds {row['holds']:.1%} of {row['tables']:,} tables"
        )
    for row in found["widths"]:
        print(
            f"{row['kind']:>10} {row['sizes']!s:>13} {row['rates']!s:>13}: width {row['width']:.4f}, "
            f"{row['times']:.3f} times the asymptotic one, {1000 * row['seconds']:.0f} ms"
        )
    for kind in KINDS:
        for sizes in SIZES:
            for rates in RATES:
                row = coverage(kind, sizes, rates, arguments.tables)
                found["coverage"].append(row)
                print(
                    f"{kind:>10} {sizes!s:>13} {rates!s:>13}: holds {row['holds']:.2%} of {row['tables']:,} tables, "
                    f"exactly {row['exact_holds']:.3%} (too high {row['exact_too_high']:.3%}, too low "
                    f"{row['exact_too_low']:.3%}); asymptotic {row['asymptotic_holds']:.2%}",
                    flush=True,
                )
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

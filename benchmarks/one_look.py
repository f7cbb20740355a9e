"""Intervals for one look at two groups: coverage over simulated tables, and width beside the asymptotic interval.

    python -m benchmarks.one_look [--tables 10000] [--json FILE]

A ratio and a difference of two rates, each interval at risk 0.05: both ends together, so that it must hold the truth
in at least 95% of all tables, whatever the rates and however few people. Coverage needs no interval: an end misses
the truth exactly where the table proves that the quantity lies beyond it, and more yes in the first group prove more.
Widths are those of tables with exactly these rates, over the interval of the delta method: ``estimate +- 1.96
standard errors``, of the quantity itself and not of its logarithm. The asymptotic interval's own coverage stands
beside ours, on the same tables; so does a ratio without a value, 0 in 0 women, which counts as held by both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from isonomia.evidence.one_look import RateFraction, interval_of, proves_above

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
            low, high = interval_of(fraction, yes, sizes, DELTA)
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


def coverage(kind: str, sizes: tuple[int, int], rates: tuple[float, float], tables: int) -> dict[str, Any]:
    """How often both intervals hold the truth."""
    fraction = KINDS[kind]
    truth = rates[0] / rates[1] if kind == "ratio" else rates[0] - rates[1]
    rng = np.random.default_rng([*sizes, *(round(1000 * rate) for rate in rates)])
    yes = np.stack([rng.binomial(n, p, tables) for n, p in zip(sizes, rates, strict=True)], axis=-1)

    least, most = int(yes[:, 0].min()), int(yes[:, 0].max())

    @cache
    def borders(second: int) -> tuple[int, int]:
        """The least first count that is too high for the truth, and the greatest that is too low."""
        too_high = _least(least, most, lambda first: proves_above(fraction, (first, second), sizes, DELTA / 2, truth))
        not_too_low = _least(
            least, most, lambda first: not proves_above(fraction.negated, (first, second), sizes, DELTA / 2, -truth)
        )
        return too_high, not_too_low - 1

    ends = np.asarray([borders(int(second)) for second in yes[:, 1]])
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
        "asymptotic_holds": float(theirs.mean()),
    }


def _least(least: int, most: int, proved: Callable[[int], bool]) -> int:
    """The least count from which on something is proved; one more than the most where it never is."""
    low, high = least - 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proved(middle) else (middle, high)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/one_look.json"))
    arguments = parser.parse_args()
    found: dict[str, Any] = {"delta": DELTA, "widths": widths(), "coverage": []}
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
                    f"{kind:>10} {sizes!s:>13} {rates!s:>13}: holds {row['holds']:.2%} of {row['tables']:,} tables "
                    f"(too high {row['too_high']:.2%}, too low {row['too_low']:.2%}); asymptotic "
                    f"{row['asymptotic_holds']:.2%}",
                    flush=True,
                )
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

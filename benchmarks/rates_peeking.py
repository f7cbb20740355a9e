"""How often intervals for a group's rate miss it: at a fixed number of people, and at any of many looks.

Both kinds of interval read the same draws. Fairlearn's bootstrap draws all rows again, as many as there are, and takes
quantiles of the group's rate. What the rate of a group needs of such a resample are two numbers, the group's size and
its yes, which are binomial; drawing these two instead of all rows gives the same distribution, thousands of times
faster. ``benchmarks.rates_peers`` holds it against Fairlearn itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.binomial import clopper_pearson
from isonomia.evidence.confidence_sequences import anytime_interval

__all__ = ["DELTA", "QUANTILES", "Setting", "bootstrap", "fixed", "peeking"]

Floats = NDArray[np.float64]

DELTA = 0.05
QUANTILES = (DELTA / 2, 1 - DELTA / 2)
SHARE = 0.5
"""The group's share of all people."""
SIZES = (100, 400, 2_000, 10_000)
RATES = (0.05, 0.3)
BATCH, LOOKS, PEEKED_RATE = 100, 100, 0.3


@dataclass(frozen=True, slots=True)
class Setting:
    """How many simulated audits there are, and how many resamples each bootstrap interval has."""

    runs: int
    resamples: int


def bootstrap(
    yes: Floats, size: Floats, people: int, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The percentile interval of each group's rate, from all rows drawn again so many times."""
    again = rng.binomial(people, (size / people)[:, None], size=(len(size), resamples))
    hits = rng.binomial(again, (yes / np.maximum(size, 1))[:, None])
    rates = np.where(again > 0, hits / np.maximum(again, 1), np.nan)
    low, high = np.nanquantile(rates, QUANTILES, axis=1)
    return low, high


def fixed(setting: Setting, seed: int = 0) -> list[dict[str, Any]]:
    """Width and coverage where the number of people was fixed beforehand, and looked at once.

    ``ours`` may be looked at at any time, ``once`` is what ``looks="once"`` gives for a leaf.
    """
    rows = []
    for rate in RATES:
        for people in SIZES:
            rng = np.random.default_rng([seed, people, int(1000 * rate)])
            size = rng.binomial(people, SHARE, setting.runs).astype(float)
            yes = rng.binomial(size.astype(int), rate).astype(float)
            kinds = {
                "ours": anytime_interval(yes, size, DELTA),
                "once": clopper_pearson(yes, size, DELTA),
                "bootstrap": bootstrap(yes, size, people, setting.resamples, rng),
            }
            rows.append({"rate": rate, "people": people, **_described(kinds, rate)})
    return rows


def _described(kinds: dict[str, tuple[Floats, Floats]], rate: float) -> dict[str, float]:
    found = {}
    for name, (low, high) in kinds.items():
        found[f"{name}_width"] = float(np.mean(high - low))
        found[f"{name}_coverage"] = float(np.mean((low <= rate) & (rate <= high)))
    return found


def peeking(setting: Setting, seed: int = 1) -> list[dict[str, Any]]:
    """The share of audits in which an interval missed the true rate at this look or an earlier one.

    Somebody who looks after every batch and stops at the first interval that leaves out the value that they hope to
    refute errs as often as that.
    """
    rng = np.random.default_rng(seed)
    size, yes = np.zeros(setting.runs), np.zeros(setting.runs)
    missed = {"ours": np.zeros(setting.runs, dtype=bool), "bootstrap": np.zeros(setting.runs, dtype=bool)}
    rows = []
    for look in range(1, LOOKS + 1):
        came = rng.binomial(BATCH, SHARE, setting.runs)
        size += came
        yes += rng.binomial(came, PEEKED_RATE)
        intervals = {
            "ours": anytime_interval(yes, size, DELTA),
            "bootstrap": bootstrap(yes, size, look * BATCH, setting.resamples, rng),
        }
        for name, (low, high) in intervals.items():
            missed[name] |= (low > PEEKED_RATE) | (high < PEEKED_RATE)
        rows.append({"look": look, "people": look * BATCH, **{name: float(bad.mean()) for name, bad in missed.items()}})
    return rows

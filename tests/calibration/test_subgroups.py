"""Searched subgroups: the share of wrong names, and of wrong limits, where some lie on the boundary."""

from __future__ import annotations

import numpy as np

import isonomia as iso

RATES = {("F", "old"): 0.5, ("F", "young"): 0.35, ("M", "old"): 0.5, ("M", "young"): 0.5}
"""Three of the smallest subgroups lie on the threshold of 0.5, one far below it."""


def test_of_named_subgroups_and_of_their_limits_the_share_of_wrong_ones_is_within_its_level() -> None:
    runs, fdr, rng = 1000, 0.2, np.random.default_rng(3)
    cells = list(RATES)
    truth = {f"sex == '{sex}', age == '{age}'": rate for (sex, age), rate in RATES.items()}
    truth |= {f"sex == '{sex}'": np.mean([RATES[sex, age] for age in ("old", "young")]) for sex in "FM"}
    truth |= {f"age == '{age}'": np.mean([RATES[sex, age] for sex in "FM"]) for age in ("old", "young")}
    wrong = np.zeros(3)
    for _ in range(runs):
        who = np.repeat(np.arange(4), 60)
        hired = rng.random(len(who)) < np.asarray([RATES[cell] for cell in cells])[who]
        rows = {"sex": [cells[k][0] for k in who], "age": [cells[k][1] for k in who], "hired": hired}
        found = list(iso.groups.search(iso.Sample(rows), ["sex", "age"], "P[hired | group] >= 0.5", depth=2, fdr=fdr))
        if found:
            rates = np.asarray([truth[item.group] for item in found])
            low, high = np.asarray([(item.low, item.high) for item in found]).T
            wrong += [np.mean(rates >= 0.5), np.mean(low > rates), np.mean(high < rates)]
    # Shares between 0 and 1 whose mean is at most fdr: the mean of a thousand exceeds it by 0.05 with probability 1e-2.
    assert (wrong / runs <= fdr + 0.05).all()

"""Bets and regions on the same draws: never opposite verdicts, and bets are usually first."""

from __future__ import annotations

import numpy as np

from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.region import region_for
from isonomia.spec.parser import parse_formula

FORMULAS = [
    "P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8",
    "abs(P[hired | sex == 'F'] - P[hired | sex == 'M']) <= 0.2",
    "P[hired | sex == 'F'] >= 0.3 and P[hired | sex == 'M'] >= 0.3",
    "P[hired | sex == 'F'] < 0.3 or P[hired | sex == 'M'] - P[hired | sex == 'F'] <= 0.05",
]
LEAVES = tuple(parse_formula(FORMULAS[0]).first.__getattribute__(side) for side in ("left", "right"))
RANGES = dict.fromkeys(LEAVES, (0.0, 1.0))


def run(evidence, draws, most=20_000):
    state, n, answers = evidence.begin(), 0, []
    while n < most:
        size = max(10, n // 20)
        tallies = {c: c.grid.tally([draws[c.leaves[0]][n : n + size]]) for c in evidence.channels}
        state, n = evidence.step(state, tallies), n + size
        answers.append(evidence.decision(state))
        if answers[-1] is not None:
            return answers[-1], n
    return None, most


def test_bets_and_regions_never_disagree_and_bets_mostly_stop_first():
    rng, sooner, totals, seen = np.random.default_rng(9), [], [], []
    for text in FORMULAS:
        formula = parse_formula(text)
        bets = bets_for(formula, RANGES, [None], 1e-4)
        region = region_for(formula, LEAVES, RANGES, [None], 1e-4)
        for _ in range(12):
            rates = rng.uniform(0.1, 0.9, size=2)
            draws = {leaf: rng.random(25_000) < rate for leaf, rate in zip(LEAVES, rates, strict=True)}
            one, other = run(bets, draws), run(region, draws)
            assert {one[0], other[0]} != {True, False}
            sooner.append(one[1] <= other[1])
            totals.append((one[1], other[1]))
            seen.append(one[0])
    assert {True, False} <= set(seen)
    assert np.mean(sooner) > 0.8
    assert np.mean([a for a, _ in totals]) < np.mean([b for _, b in totals])

"""Projection bets beside the betting tests of Chugg et al., "Auditing Fairness by Betting" (NeurIPS 2023).

    python -m benchmarks.betting_peers

Both see the same pairs of people, one of either group at a time, and look after every pair, until they say that the
rates differ by more than is allowed. Both keep the risk at all times. The rival's wealth against "a exceeds b by at
most e" is a product of ``1 + bet * (a - b - e) / (1 + e)``; its bet follows the online Newton step of Cutkosky and
Orabona (2018) and stays between 0 and a half; two such wealths, one for either direction, share the risk.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.bets import begin, step
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import leaves_of

Floats = NDArray[np.float64]

SETTINGS = ((0.5, 0.3, 0.0), (0.3, 0.2, 0.0), (0.1, 0.05, 0.0), (0.5, 0.4, 0.05), (0.8, 0.6, 0.1), (0.24, 0.30, 0.0))
"""The two rates, and by how much they may differ."""

STEP = 2.0 / (2.0 - np.log(3.0))
"""The rate at which the online Newton step learns."""


def by_newton_steps(pairs: Floats, margin: float, delta: float) -> NDArray[np.intp]:
    """After how many pairs of the shape ``(runs, pairs, 2)`` the rival rejects; after all where it never does."""
    difference = pairs[:, :, 0] - pairs[:, :, 1]
    stops = np.full(len(pairs), pairs.shape[1])
    for sign in (1.0, -1.0):
        gains = (sign * difference - margin) / (1.0 + margin)
        bet, spread, wealth = np.zeros(len(pairs)), np.ones(len(pairs)), np.zeros(len(pairs))
        for index in range(pairs.shape[1]):
            gain = gains[:, index]
            wealth += np.log1p(bet * gain)
            won = (wealth >= np.log(2.0 / delta)) & (stops > index + 1)
            stops[won] = index + 1
            slope = gain / (1.0 + bet * gain)
            spread += slope * slope
            bet = np.clip(bet + STEP * slope / spread, 0.0, 0.5)
    return stops


def by_projection(pairs: Floats, margin: float, delta: float) -> NDArray[np.intp]:
    """After how many pairs the bets of a check refute that the rates differ by at most the margin."""
    formula = parse_formula(f"abs(P[y | g == 'a'] - P[y | g == 'b']) <= {margin}")
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta)
    assert evidence is not None
    (test,) = evidence.in_favour
    state, running = begin(test.unsliced, len(pairs)), np.arange(len(pairs))
    stops = np.full(len(pairs), pairs.shape[1])
    for index in range(pairs.shape[1]):
        yes = pairs[running, index]
        state = step(test.unsliced, state, np.stack([1.0 - yes, yes], axis=-1))
        won = state.peak >= np.log(1.0 / delta)
        stops[running[won]] = index + 1
        running, state = running[~won], state.rows(~won)
        if not len(running):
            break
    return stops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=6_000)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/betting_peers.json"))
    arguments = parser.parse_args()
    began, rows = time.perf_counter(), []
    print(f"{'rates':>12} {'margin':>7} {'Chugg et al.':>13} {'bets':>8} {'ratio':>6}")
    for number, (first, second, margin) in enumerate(SETTINGS):
        rng = np.random.default_rng(number)
        pairs = (rng.random((arguments.runs, arguments.pairs, 2)) < (first, second)).astype(float)
        theirs, ours = (
            2.0 * float(method(pairs, margin, arguments.delta).mean()) for method in (by_newton_steps, by_projection)
        )
        rows.append({"rates": [first, second], "margin": margin, "theirs": theirs, "ours": ours})
        print(
            f"{first:g} / {second:g}".rjust(12),
            f"{margin:>7g} {theirs:>13,.0f} {ours:>8,.0f} {ours / theirs:>6.2f}",
            flush=True,
        )
    totals = [sum(row[key] for row in rows) for key in ("theirs", "ours")]
    print(f"{'together':>12} {'':>7} {totals[0]:>13,.0f} {totals[1]:>8,.0f} {totals[1] / totals[0]:>6.2f}")
    print(f"{arguments.runs} runs each, at risk {arguments.delta:g}; {time.perf_counter() - began:.0f} s")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"delta": arguments.delta, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

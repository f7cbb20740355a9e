"""What overlapping groups cost: slices, folds and split confidence regions side by side.

    python -m benchmarks.overlap [--repetitions 20] [--json benchmarks/results/overlap.json]

The claim P[x | a] >= 0.8 P[x | b] in worlds where a and b share people and both rates are 0.3: mean draws until the
right answer, on the same streams of people.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import isonomia as iso
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.protocol import Channel, Evidence, Tallies
from isonomia.evidence.region import region_for
from isonomia.spec.tree import leaves_of

WORLDS = {
    "30% of all people against all": (0.3, 0.0, 1.0),
    "10% of all people against all": (0.1, 0.0, 1.0),
    "50% against 30%, half of those in both": (0.5, 0.15, 0.15),
}
RATE = 0.3


def draw(world: tuple[float, float, float], n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """People with membership of a and of b, and one event. A world is P(a), P(b only), P(b | a) (1 where b is all)."""
    in_a, b_only, share = world
    a = rng.random(n) < in_a
    everybody = share == 1.0
    b = (
        np.ones(n, bool)
        if everybody
        else np.where(a, rng.random(n) < share / in_a, rng.random(n) < b_only / (1 - in_a))
    )
    return {"a": a, "b": b, "x": rng.random(n) < RATE}


def counted(channel: Channel, people: dict[str, np.ndarray], folds: np.ndarray) -> np.ndarray:
    """The tally of one channel; every leaf asks for x."""
    if channel.crossing:
        groups = [people[given.name] for given in channel.crossing]  # type: ignore[union-attr]
        leaves = [people["x"] & people[leaf.given.name] for leaf in channel.leaves]  # type: ignore[union-attr]
        return channel.grid.tally([*groups, *leaves])
    chosen = people[channel.given.name]  # type: ignore[union-attr]
    if channel.fold is not None:
        chosen = chosen & (folds == channel.fold.index)
    return channel.grid.tally([people["x"][chosen]])


def draws_until_decided(evidence: Evidence, world: tuple[float, float, float], seed: int) -> int:  # type: ignore[type-arg]
    """Mean draws of one method in batches that grow by 3%."""
    rng, state, n = np.random.default_rng(seed), evidence.begin(), 0
    while evidence.decision(state) is None:
        size = max(8, int(0.03 * n))
        n += size
        people, folds = draw(world, size, rng), rng.integers(0, 2, size)
        tallies: Tallies = {channel: counted(channel, people, folds) for channel in evidence.channels}
        state = evidence.step(state, tallies)
    if evidence.decision(state) is not True:
        raise AssertionError("the claim holds in every one of these worlds")
    return n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/overlap.json"))
    arguments = parser.parse_args()
    formula = iso.parse("P[x | a] >= 0.8 * P[x | b]").formula
    leaves = leaves_of(formula)
    ranges = dict.fromkeys(leaves, (0.0, 1.0))
    rows = []
    print(f"{'world':<42} {'risk':>6} {'slices':>9} {'folds':>9} {'regions':>9}")
    for name, world in WORLDS.items():
        for delta in (1e-6, 0.05):
            ways = {
                "slices": bets_for(formula, ranges, (None,), delta),
                "folds": bets_for(formula, ranges, (None,), delta, slices=False),
                "regions": region_for(formula, leaves, ranges, (None,), delta),
            }
            means = {
                way: float(
                    np.mean([draws_until_decided(evidence, world, seed) for seed in range(arguments.repetitions)])
                )
                for way, evidence in ways.items()
                if evidence is not None
            }
            rows.append({"world": name, "delta": delta, **means})
            print(f"{name:<42} {delta:>6g} " + " ".join(f"{mean:>9,.0f}" for mean in means.values()), flush=True)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

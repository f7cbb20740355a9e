"""Few labels and a judge: errors and labels needed: ``python -m benchmarks.labels [--runs 2000] [--once]``.

The first table has its truth on the boundary of the claim, so that each decision against it is an error; the error rate
must stay below the risk of 5%, looked at after every batch. In its last lines the claim is moved by a fifth of the
distance that the bets could tell apart, as if a bound were that much too tight, and the error rate must show it. The
second table has the labels needed to show a true claim: 0.75 where the truth is 0.8, with one row in ten labeled. With
``--once`` there is one look, at the end, and the second table has how often that claim is shown, beside any look.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.labels import LabelBatch, LabelStep, LabelTests

DELTA = 0.05
ROWS = 3000
BATCHES = 50
"""At one look; a check has more, which takes longer and changes little."""


@dataclass(frozen=True)
class World:
    """Where rows, labels and judge come from.

    ``rates`` has the rate of each group, ``accuracy`` how often the judge agrees; a judge that is ``biased`` says yes
    to half of the last group whatever the label is, and ``varying`` probabilities depend on its answer and on chance.
    """

    rates: tuple[float, ...]
    chance: float
    accuracy: float
    biased: bool = False
    varying: bool = False

    def draw(self, rng: np.random.Generator, rows: int) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
        """Groups, labels, answers of the judge, probabilities, and which rows are labeled."""
        group = rng.integers(0, len(self.rates), rows)
        label = rng.random(rows) < np.asarray(self.rates)[group]
        judge = np.where(rng.random(rows) < self.accuracy, label, ~label)
        if self.biased:
            judge |= (group == len(self.rates) - 1) & (rng.random(rows) < 0.5)
        chances = np.full(rows, self.chance)
        if self.varying:
            chances = np.clip(self.chance * np.where(judge, 2.0, 0.5) * rng.choice([0.5, 1.0, 1.5], rows), 0.02, 1.0)
        return group, label, judge, chances, rng.random(rows) < chances

    def batches(
        self, rng: np.random.Generator, rows: int = ROWS, growth: float = 1.25, first: int = 10, *, judged: bool = True
    ) -> Iterator[tuple[LabelBatch, int]]:
        """Rows in batches that grow, each with how many labels it has; without a judge, all its answers are alike.

        A growth of 1 makes all batches as large as the first.
        """
        group, label, judge, chances, labeled = self.draw(rng, rows)
        start = 0
        while start < rows:
            stop = min(rows, max(start + first, int(growth * start)))
            part = slice(start, stop)
            answers = judge[part] if judged else np.zeros(stop - start, dtype=bool)
            values = np.zeros((stop - start, len(self.rates)))
            values[np.arange(stop - start), group[part]] = label[part] & labeled[part]
            keys = np.stack([group[part], answers, labeled[part]], axis=1).astype(np.intp)
            yield LabelBatch.of(keys, chances[part], values), int(labeled[part].sum())
            start = stop


def against(rates: Sequence[float], shift: float = 0.0) -> LabelTests:
    """Both sides of the boundary: of one rate, or of the ratio of two; moved so that the truth lies beyond it."""
    if len(rates) == 1:
        slopes, bounds = np.asarray([[1.0], [-1.0]]), np.asarray([rates[0], -rates[0]])
    else:
        ratio = rates[0] / rates[1]
        slopes, bounds = np.asarray([[1.0, -ratio], [-1.0, ratio]]), np.zeros(2)
    return LabelTests(tuple(range(len(rates))), slopes, bounds - shift, DELTA)


def refuted(
    world: World, tests: LabelTests, rows: int, seed: int, *, once: bool, growth: float = 1.25
) -> NDArray[np.bool_]:
    """Which hypotheses some rows refute, at any look or at one, whose batches are as large as those of a check."""
    rng = np.random.default_rng(seed)
    if once:
        tests, batches = replace(tests, deadline=float(rows)), world.batches(rng, rows, 1.0, rows // BATCHES)
    else:
        batches = world.batches(rng, rows, growth)
    return tests.run(LabelStep.all(batch for batch, _ in batches))


def errors(world: World, runs: int, shift: float = 0.0, rows: int = ROWS, *, once: bool = False) -> tuple[float, float]:
    """How often each side is refuted."""
    tests = against(world.rates, shift)
    low, high = np.mean([refuted(world, tests, rows, run, once=once) for run in range(runs)], axis=0)
    return float(low), float(high)


def power(accuracy: float, runs: int, rows: int, *, once: bool) -> float:
    """How often 0.75 is shown where the rate is 0.8 and one row in ten is labeled."""
    world, tests = World((0.8,), 0.1, accuracy), against((0.75,))
    return float(np.mean([refuted(world, tests, rows, run, once=once, growth=1.05)[0] for run in range(runs)]))


def labels_needed(accuracy: float, runs: int, *, judged: bool = True, growth: float = 1.05) -> float:
    """The mean number of labels until 0.75 is shown where the rate is 0.8 and one row in ten is labeled."""
    world, tests, needed = World((0.8,), 0.1, accuracy), against((0.75,)), []
    for run in range(runs):
        wealth, labels, step = tests.begin(), 0, None
        for batch, more in world.batches(np.random.default_rng(run), 30_000, growth, 8, judged=judged):
            step = LabelStep(batch) if step is None else step.then(batch)
            wealth, labels = tests.step(wealth, step), labels + more
            if tests.refuted(wealth)[0]:
                break
        needed.append(labels)
    return float(np.mean(needed))


WORLDS = [
    World(rates, chance, accuracy, biased, varying)
    for rates in ((0.75,), (0.4, 0.5))
    for chance, accuracy, biased, varying in (
        (0.05, 0.9, False, False),
        (0.05, 0.95, True, True),
        (0.1, 0.5, False, False),
        (0.1, 0.95, False, False),
        (0.2, 0.9, True, False),
        (0.2, 0.8, True, True),
        (0.5, 0.9, False, True),
        (0.5, 1.0, False, False),
    )
]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--once", action="store_true", help="one look at the end")
    options = parser.parse_args()
    runs, once = options.runs, options.once
    print(f"{'rates':>12} {'p(label)':>9} {'accuracy':>9} {'biased':>7} {'varying':>8} {'errors':>15}")
    for world in WORLDS:
        low, high = errors(world, runs, once=once)
        line = f"{world.rates!s:>12} {world.chance:>9} {world.accuracy:>9} {world.biased:>7} {world.varying:>8}"
        print(f"{line} {low:>7.4f} {high:>7.4f}", flush=True)
    for shift in (0.02, 0.03):
        low, high = errors(World((0.75,), 0.5, 0.95), runs, shift, once=once)
        print(f"a bound {shift} too tight: {low:.3f} {high:.3f}", flush=True)
    for accuracy, rows in product((0.5, 0.9), (2000, 4000)) if once else ():
        shown = [power(accuracy, runs, rows, once=each) for each in (True, False)]
        print(f"judge of accuracy {accuracy}, {rows} rows: shown in {shown[0]:.3f}, at any look in {shown[1]:.3f}")
    if once:
        return
    alone = labels_needed(0.9, runs // 4, judged=False)
    print(f"labels alone: {alone:.0f}")
    for accuracy in (0.8, 0.9, 0.95):
        needed = labels_needed(accuracy, runs // 4)
        print(f"judge of accuracy {accuracy}: {needed:.0f} labels, {needed / alone:.3f} of labels alone", flush=True)


if __name__ == "__main__":
    main()

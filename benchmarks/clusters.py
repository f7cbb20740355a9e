"""Errors and power where rows belong together: ``python -m benchmarks.clusters [--runs 1000]``.

Every line has its truth on the boundary of the claim, so that each decision against it is an error; the error rate must
stay below the risk of 5%. The last table has claims that are true, and the median number of clusters until they are
shown, next to the information limit of clusters that are known to be drawn like these.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from isonomia.evidence.cluster_claims import ClusterEvidence
from isonomia.evidence.clusters import ClusterBatch
from isonomia.spec.property import parse
from isonomia.spec.tree import leaves_of

Counts = NDArray[np.int64]

ONE = "P[y] >= 0.7"
TWO = "P[y | g == 'F'] >= 0.8 * P[y | g == 'M']"
DELTA = 0.05


def sizes_of(kind: str, rng: np.random.Generator, clusters: int, largest: int) -> Counts:
    """How many rows each cluster has."""
    if kind == "equal":
        return np.full(clusters, largest)
    return np.maximum(1, (largest * rng.random(clusters) ** 3).astype(int))


def cluster_rates(rng: np.random.Generator, rates: tuple[float, ...], correlation: float, n: int) -> list[NDArray]:
    """The rate of each leaf in each cluster: one chance for all leaves of a cluster, with this correlation of rows."""
    if correlation == 0.0:
        return [np.full(n, rate) for rate in rates]
    spread, chance = (1.0 - correlation) / correlation, rng.random(n)
    return [beta.ppf(chance, rate * spread, (1.0 - rate) * spread) for rate in rates]


def draw(
    rng: np.random.Generator, clusters: int, largest: int, kind: str, rates: tuple[float, ...], correlation: float
) -> tuple[NDArray, NDArray]:
    """Rows and sums of each cluster, for one leaf or for two groups that share clusters."""
    total = sizes_of(kind, rng, clusters, largest)
    own = cluster_rates(rng, rates, correlation, clusters)
    women = rng.binomial(total, 0.5)
    rows = [total] if len(rates) == 1 else [women, total - women]
    sums = [rng.binomial(n, rate) for n, rate in zip(rows, own, strict=True)]
    return np.stack(rows, axis=-1).astype(float), np.stack(sums, axis=-1).astype(float)


def batches(rows: NDArray, sums: NDArray, growth: float) -> list[ClusterBatch]:
    """Clusters in batches that grow."""
    found, start = [], 0
    while start < len(rows):
        stop = start + max(1, int((growth - 1.0) * start))
        found.append(ClusterBatch.of(rows[start:stop], sums[start:stop]))
        start = stop
    return found


def evidence(text: str, largest: float, deadline: int | None = None) -> ClusterEvidence:
    """The evidence for a claim."""
    formula = parse(text).formula
    leaves = leaves_of(formula)
    return ClusterEvidence(formula, leaves, dict.fromkeys(leaves, (0.0, 1.0)), DELTA, largest, deadline)


def decided(test: ClusterEvidence, history: list[ClusterBatch], wanted: bool) -> float:
    """After how many clusters a claim is answered in a certain way; infinite if never."""
    state = test.begin()
    for batch in history:
        state = test.step(state, batch)
        if test.decision(state) is wanted:
            return state.clusters
    return np.inf


def errors(runs: int, tell: Callable[[str], None]) -> None:
    """Error rates on the boundary."""
    tell("| claim | looks | rows of a cluster | correlation | errors |\n|---|---|---|---|---|")
    for text, rates in ((ONE, (0.7,)), (TWO, (0.4, 0.5))):
        for largest in (2, 10, 50):
            for kind in ("equal", "unequal"):
                for correlation in (0.0, 0.3, 0.6):
                    for looks in ("any", "once"):
                        clusters = 100 if largest < 50 else 40
                        test = evidence(text, largest, clusters if looks == "once" else None)
                        wrong = 0
                        for run in range(runs):
                            drawn = draw(np.random.default_rng(run), clusters, largest, kind, rates, correlation)
                            history = batches(*drawn, 1.1 if looks == "any" else 1.04)
                            # On the boundary either answer is wrong for a truth next to it: count the worse side.
                            wrong += decided(test, history, True) < np.inf
                        tell(f"| {text} | {looks} | {largest}, {kind} | {correlation} | {wrong / runs:.1%} |")


def power(runs: int, tell: Callable[[str], None]) -> None:
    """How many clusters it takes where the claim is true: 0.48 and 0.50 against 0.8, correlation 0.3."""
    tell("| rows of a cluster | clusters, median |\n|---|---|")
    for largest in (10, 50, 200):
        found = []
        for run in range(runs):
            drawn = draw(np.random.default_rng(run), 500, largest, "equal", (0.48, 0.5), 0.3)
            found.append(decided(evidence(TWO, largest), batches(*drawn, 1.03), True))
        tell(f"| {largest} | {np.median(found):.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    tell = lambda line: print(line, flush=True)  # noqa: E731
    power(min(runs, 300), tell)
    errors(runs, tell)


if __name__ == "__main__":
    main()

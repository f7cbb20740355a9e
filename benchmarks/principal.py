"""How many people it takes to find principal unfairness, and how near that is to the limit.

    python -m benchmarks.principal [--repetitions 1000] [--json benchmarks/results/principal.json]
    python -m benchmarks.principal --seconds [--before DIRECTORY]

The distribution is Table 4 of the paper, on which Definition 2 is violated by 0.01, with both attribute values equally
frequent. People come one by one in batches of a fiftieth of those before; a run ends when the violation is proved. For
several risks: the mean number of people of each method over the least that any method with that risk can take on
average, kl(delta, 1 - delta) / D, with D the information distance to what fair worlds can produce.

With ``--seconds``: the processor time of checks of whole tables; with ``--before``, a checkout of another commit, also
the ratio to its time, each in processes of its own that take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

import isonomia as iso
from isonomia.evidence.bets import Wealth
from isonomia.evidence.fair_worlds import fair_set
from isonomia.evidence.identified.bets import begin, certified_distance, step
from isonomia.evidence.identified.identified_set import IdentifiedSet
from isonomia.evidence.planning import limit
from isonomia.evidence.strata.worlds import TableShape, definition_effects

Floats = NDArray[np.float64]
Evidence = Callable[[IdentifiedSet, Wealth], Floats]

TABLE_4 = np.asarray([[0.53, 0.04, 0.11, 0.32], [0.90, 0.02, 0.03, 0.05]])
DELTAS = (0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
GROWTH = 0.02
FIRST = 8


def by_bets(_: IdentifiedSet, state: Wealth) -> Floats:
    """Projection bets: the largest log-wealth so far."""
    return state.peak


def by_region(identified: IdentifiedSet, state: Wealth) -> Floats:
    """The Dirichlet-multinomial region: the identified set's distance from the sample's shares, less the regret."""
    draws = state.tally.sum(axis=-1)
    total = draws.sum(axis=-1)
    shares = state.tally / np.maximum(draws, 1.0)[..., None]
    distance = total * certified_distance(identified, shares, draws / total[:, None], tolerance=1e-7)
    half = 0.5 * identified.cells
    best = xlogy(state.tally, state.tally).sum(axis=(-2, -1)) - xlogy(draws, draws).sum(axis=-1)
    mixed = (gammaln(state.tally + 0.5) - gammaln(0.5)).sum(axis=(-2, -1))
    mixed += (gammaln(half) - gammaln(draws + half)).sum(axis=-1)
    return np.asarray(distance - (best - mixed))


METHODS: dict[str, Evidence] = {"bets": by_bets, "region": by_region}


def stopping_times(identified: IdentifiedSet, repetitions: int, seed: int) -> dict[str, Floats]:
    """When each method first reaches each risk: shape ``(risks, repetitions)``."""
    rng, state, total = np.random.default_rng(seed), begin(identified, repetitions), 0
    stops = {name: np.full((len(DELTAS), repetitions), np.nan) for name in METHODS}
    needs = np.log(1.0 / np.asarray(DELTAS))
    while any(np.isnan(stop).any() for stop in stops.values()):
        size = max(FIRST, int(GROWTH * total))
        total += size
        first = rng.binomial(size, 0.5, size=repetitions)
        members = (first, size - first)
        counts = np.stack([rng.multinomial(n, row) for n, row in zip(members, TABLE_4, strict=True)], axis=1)
        state = step(identified, state, counts.astype(float))
        for name, evidence in METHODS.items():
            reached = evidence(identified, state)[None, :] >= needs[:, None]
            stops[name] = np.where(np.isnan(stops[name]) & reached, total, stops[name])
    return stops


TABLES: dict[str, tuple[int, tuple[int, int, int], int, dict[str, Any]]] = {
    "4 groups, 4 outcomes, 3 decisions, all rows": (2000, (4, 4, 3), 1, {"census": True}),
    "3 groups, 3 outcomes": (1000, (3, 3, 2), 1, {}),
    "4 subgroups": (400, (2, 2, 2), 4, {}),
    "4 subgroups, within 0.1": (400, (2, 2, 2), 4, {"within": 0.1}),
}


def seconds_of(name: str) -> float:
    """The processor time of one check."""
    rows, (groups, outcomes, decisions), subgroups, options = TABLES[name]
    rng = np.random.default_rng(0)
    a, y, g = (rng.integers(count, size=rows) for count in (groups, outcomes, subgroups))
    s = np.minimum(decisions - 1, y * decisions // outcomes + (rng.random(rows) < 0.3))
    words = ["no", "perhaps", "yes"][:decisions]
    table = {"a": a, "y": y, "s": np.asarray(words)[s], "g": g}
    census = options.get("census", False)
    rule = iso.PrincipalFairness(
        attribute="a",
        outcome="y",
        prediction="s",
        given=["g"] if subgroups > 1 else [],
        values={"s": words},
        within=options.get("within", 0.0),
    )
    people = iso.Census(table) if census else iso.Sample(table)
    began = time.process_time()
    iso.check(rule, population=people, delta=0.05, seed=1)
    return time.process_time() - began


def seconds(before: Path | None, rounds: int = 3) -> None:
    """The table of processor times, the least of some rounds."""
    sources = {"now": Path(iso.__file__).parents[1]} | ({} if before is None else {"before": before / "src"})
    times: dict[str, dict[str, float]] = {name: {} for name in TABLES}
    for _ in range(rounds):
        for which, source in sources.items():
            environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parents[1]}"}
            call = "from benchmarks.principal import *; seconds_of('4 subgroups')"
            call += "; import json; print(json.dumps({name: seconds_of(name) for name in TABLES}))"
            run = subprocess.run([sys.executable, "-c", call], env=environment, check=True, capture_output=True)
            for name, took in json.loads(run.stdout).items():
                times[name][which] = min(took, times[name].get(which, took))
    for name, took in times.items():
        ratio = "" if before is None else f"  before {took['before']:6.2f} s, ratio {took['now'] / took['before']:.3f}"
        print(f"{name:<45} {took['now']:6.2f} s{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/principal.json"))
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--before", type=Path)
    arguments = parser.parse_args()
    if arguments.seconds:
        seconds(arguments.before)
        return
    began, rows = time.perf_counter(), []
    shape = TableShape()
    identified = fair_set(shape, definition_effects(shape, 2))
    nats = float(certified_distance(identified, TABLE_4[None], np.full((1, 2), 0.5))[0])
    stops = stopping_times(identified, arguments.repetitions, seed=0)
    print(f"{'risk':>8}  {'method':<8} {'limit':>9} {'mean':>9} {'+-':>6} {'over limit':>10}")
    for name, times in stops.items():
        for delta, people in zip(DELTAS, times, strict=True):
            least, mean = limit(delta, nats), float(people.mean())
            error = float(people.std() / np.sqrt(len(people)))
            rows.append({"delta": delta, "method": name, "limit": least, "mean": mean, "standard_error": error,
                         "over_limit": mean / least})  # fmt: skip
            print(f"{delta:>8g}  {name:<8} {least:>9.0f} {mean:>9.0f} {error:>6.0f} {mean / least:>10.2f}")
    print(f"D = {nats:.4g} nats a person, {arguments.repetitions} runs, {time.perf_counter() - began:.0f} s")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"table": TABLE_4.tolist(), "nats": nats, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

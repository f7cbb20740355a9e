"""Naming groups: error rates at every look with twenty groups, and the time of a search over ten thousand subgroups.

    python -m benchmarks.groups [--repetitions 2000] [--json benchmarks/results/groups.json]

Twenty groups share a reference group, so their tests depend on each other. In each world some groups lie on the
boundary, where errors are most frequent. A family errs where one of its names is *ever* wrong; a share of wrong names
is that of a person who stops as soon as one is. The search goes through Adult, found through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.multiple import closed_average, e_bh, locked

GROUPS, DELTA, REFERENCE, SHARE = 20, 0.05, 0.5, 0.8
EDGE = SHARE * REFERENCE
WORLDS = {
    "all on the boundary": np.full(GROUPS, EDGE),
    "16 on the boundary, 2 hold, 2 violate": np.repeat([EDGE, 0.55, 0.25], [16, 2, 2]),
    "10 a little short, 10 on the boundary": np.repeat([EDGE - 1e-9, EDGE], [10, 10]),
}
DATA = Path(os.environ.get("ISONOMIA_DATA", "../shared/data")) / "adult" / "adult.data.gz"
NAMES = "age workclass weight education years marital occupation relationship race sex gain loss hours country income"
COLUMNS = tuple(NAMES.split(" "))
ATTRIBUTES = ("sex", "race", "education", "marital", "occupation", "relationship", "age", "hours", "workclass")

Floats = NDArray[np.float64]


def sizes(total: int = 40_000) -> Iterator[int]:
    """Batches that grow by 8% of what came before, as those of a check at most do."""
    drawn = 0
    while drawn < total:
        size = max(40, int(0.08 * drawn))
        drawn += size
        yield size


def looks(rates: Floats, direction: float, repetitions: int, seed: int) -> Iterator[Floats]:
    """The log wealths against one kind of hypothesis after every batch: shape ``(repetitions, groups)``."""
    payoffs = [[np.asarray([0.0, direction]), np.asarray([0.0, -direction * SHARE])]]
    process = EProcess.of(payoffs, [0.0], [np.ones(2)] * 2)
    rng, shape = np.random.default_rng(seed), (repetitions, GROUPS)
    state = begin(process, repetitions * GROUPS)
    for size in sizes():
        members = rng.multinomial(size, [0.025] * GROUPS + [0.5], size=repetitions)
        yes = rng.binomial(members, [*rates, REFERENCE])
        cells = np.stack([members - yes, yes], axis=-1).astype(float)
        pairs = np.stack([cells[:, :GROUPS], np.broadcast_to(cells[:, GROUPS:], (*shape, 2))], axis=2)
        state = step(process, state, pairs.reshape(-1, 2, 2))
        yield state.log_wealth.reshape(shape)


def errors(rates: Floats, repetitions: int, seed: int) -> dict[str, float]:
    """How often a family errs in either direction, and the share of wrong names under the worst stopping."""
    truth = {1.0: rates < EDGE, -1.0: rates >= EDGE}  # the groups that must not be named, by direction
    found: dict[str, float] = {}
    for direction, wrong in truth.items():
        named, crossed = np.zeros((repetitions, GROUPS), dtype=bool), np.full((repetitions, GROUPS), np.inf)
        share, stopped = np.zeros(repetitions), np.zeros(repetitions, dtype=bool)
        for logs in looks(rates, direction, repetitions, seed):
            values = logs
            if direction > 0:
                crossed = np.where(np.isinf(crossed) & (logs >= np.log(1 / DELTA)), logs, crossed)
                values = locked(logs, crossed, DELTA)
            named |= closed_average(values, DELTA, together=None if direction > 0 else True)
            for run in np.flatnonzero(~stopped & (values.max(axis=1) > np.log(1 / DELTA))):
                picked = e_bh(np.exp(np.minimum(values[run], 700.0)), DELTA)
                share[run] = picked[wrong].sum() / max(picked.sum(), 1)
                stopped[run] = bool(picked[wrong].any())
        kind = "holds" if direction > 0 else "violated"
        found[f"wrongly {kind}"] = float(named[:, wrong].any(axis=1).mean()) if wrong.any() else 0.0
        clear = ~wrong & (rates != EDGE)
        found[f"rightly {kind}"] = float(named[:, clear].mean()) if clear.any() else 1.0
        found[f"share of wrong {kind}"] = float(share.mean())
    return found


def adult() -> dict[str, list[Any]]:
    """The table, with ages and hours in a few classes."""
    with gzip.open(DATA, "rt") as text:
        rows = [row for row in csv.reader(text, skipinitialspace=True) if len(row) == len(COLUMNS)]
    table: dict[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(COLUMNS)}
    age, hours = np.asarray(table["age"], dtype=int), np.asarray(table["hours"], dtype=int)
    ages = ["below 30", "30 to 44", "45 to 59"]
    table["age"] = np.select([age < 30, age < 45, age < 60], ages, "60 and over").tolist()
    table["hours"] = np.select([hours < 35, hours <= 40], ["part time", "full time"], "over time").tolist()
    table["high"] = [income == ">50K" for income in table["income"]]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/groups.json"))
    arguments = parser.parse_args()
    result: dict[str, Any] = {"delta": DELTA, "repetitions": arguments.repetitions, "worlds": {}}
    for number, (name, rates) in enumerate(WORLDS.items()):
        result["worlds"][name] = errors(rates, arguments.repetitions, 900 + number)
        print(name, {key: round(value, 4) for key, value in result["worlds"][name].items()}, flush=True)
    if DATA.exists():
        people = iso.Sample(adult())
        began = time.perf_counter()
        found = iso.groups.search(people, ATTRIBUTES, "P[high | group] / P[high | not group] >= 0.8", at_least=20)
        result["search"] = {
            "subgroups": found.searched,
            "found": len(found),
            "people": found.people,
            "seconds": time.perf_counter() - began,
        }
        print(result["search"])
        print(found)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Whether memory stays where it is: checks of every kind for minutes on end, and many runs in one store.

Run: python -m benchmarks.memory [--seconds 600] [--runs 200] [--json FILE]

One process checks without a pause; its memory is read after every round of checks. The first fifth of the time is for
caches to fill; after it, the memory may grow by 5% at most. Then an audit runs again and again in one store: the store
may grow by the same for every run, and memory not at all; ``runs --prune`` must bring the store back. Exit code 1 where
anything grows.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import begin_run, run_checks
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import NullObserver
from isonomia.records.store import Store

MOST_GROWTH = 0.05
AUDIT = """
[population]
sample = "people.csv"

[[property]]
check = "P[prediction == 1 | sex == 'F'] - P[prediction == 1 | sex == 'M'] <= 0.2"

[[property]]
check = "P[priors > 1] >= 0.1"
"""


def megabytes() -> float:
    """The memory that this process has now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1]) / 1e3
    raise SystemExit("there is no /proc to read the memory from")


def people(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """A table of so many people."""
    return {
        "sex": rng.choice(["F", "M"], n),
        "income": rng.uniform(0.0, 100.0, n),
        "priors": rng.integers(0, 6, n),
        "prediction": rng.integers(0, 2, n),
        "passed": rng.integers(0, 2, n),
    }


def model(table: dict[str, Any]) -> Any:
    """A model that looks at two columns."""
    return (np.asarray(table["income"]) > 10.0 * np.asarray(table["priors"])).astype(int)


def one_round(number: int) -> None:
    """One check of each kind, of other people every time."""
    table = people(400, np.random.default_rng(number))
    asked = {name: table[name] for name in ("sex", "income", "priors", "passed")}
    changes = iso.interventions.Interventions.from_toml(
        '[features.priors]\nkind = "integer"\nlow = 0\nhigh = 5\ndirection = "down"\n', "changes.toml"
    )
    ratio = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"
    iso.check(ratio, model, iso.Sample(asked), seed=number)
    iso.check(f"E[income] <= {50 + number % 7}", population=iso.Census(table), seed=number)
    iso.check(iso.safety.monotone("priors", up=(1, 2), output="not higher"), model, iso.Sample(asked), seed=number)
    share = iso.Responsiveness(changes, target=1, at_least=0.2)
    iso.check(share, model, iso.Census({name: asked[name][:20] for name in asked}), seed=number)
    principal = iso.PrincipalFairness(attribute="sex", outcome="passed")
    iso.check(principal, population=iso.Census(table), seed=number)


def checks(seconds: float) -> dict[str, Any]:
    """Check for so long, and read the memory after every round."""
    began, rounds, seen = time.monotonic(), 0, []
    while (spent := time.monotonic() - began) < seconds or rounds < 10:
        one_round(rounds)
        rounds += 1
        gc.collect()
        seen.append((round(spent, 1), round(megabytes(), 1)))
    later = [memory for _, memory in seen[len(seen) // 5 :]]
    return {"rounds": rounds, "seen": seen, "after a fifth": later[0], "at the end": later[-1], "most": max(later)}


def many_runs(count: int) -> dict[str, Any]:
    """Run one audit so often in one store, and prune it."""
    with tempfile.TemporaryDirectory() as place:
        folder, table = Path(place), people(300, np.random.default_rng(0))
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        (folder / "people.csv").write_text("\n".join(lines) + "\n")
        (folder / "audit.toml").write_text(AUDIT)
        store, seen = Store(folder / "records"), []
        for number in range(count):
            file = read_audit_file(folder / "audit.toml")
            planned = plan_audit(file, number, Permissions())
            run_checks(
                store, begin_run(store, file, planned, number), planned, lambda _: NullObserver(), lambda *_: None
            )
            gc.collect()
            seen.append((round(megabytes(), 1), round(store.path.stat().st_size / 1e3, 1)))
        store.prune([run.id for run in store.runs()[1:]])
        after = store.path.stat().st_size / 1e3
    fifth = seen[count // 5]
    return {
        "runs": count,
        "memory after a fifth": fifth[0],
        "memory at the end": seen[-1][0],
        "kB a run": round((seen[-1][1] - fifth[1]) / max(1, count - count // 5 - 1), 2),
        "store at the end, kB": seen[-1][1],
        "store pruned to one run, kB": round(after, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    checked, run = checks(arguments.seconds), many_runs(arguments.runs)
    points = checked["seen"]
    print(f"{'seconds':>8}{'MB':>9}")
    for seconds, memory in points[:: max(1, len(points) // 10)]:
        print(f"{seconds:>8.0f}{memory:>9.1f}")
    for key, value in {**{key: value for key, value in checked.items() if key != "seen"}, **run}.items():
        print(f"{key}: {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"checks": checked, "runs": run}, indent=1) + "\n")
    flat = checked["most"] <= (1 + MOST_GROWTH) * checked["after a fifth"]
    flat &= run["memory at the end"] <= (1 + MOST_GROWTH) * run["memory after a fifth"]
    sys.exit(0 if flat and run["store pruned to one run, kB"] < 0.5 * run["store at the end, kB"] else 1)


if __name__ == "__main__":
    main()

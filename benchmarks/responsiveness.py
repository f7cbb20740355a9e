"""How fast whole populations are audited for responsiveness.

    python -m benchmarks.responsiveness [--json benchmarks/results/responsiveness.json]

German credit: all 1,000 people, a logistic and a gradient-boosted model, delta 0.05, threshold 0.1, once with every
reachable point looked at and once by draws alone. Default of credit-card clients: all 30,000 people, real features, so
that everybody is decided by draws. Fitting the models and reading the files are not part of the times. The data are
found through ISONOMIA_DATA, and what is absent is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.reach import CREDIT, GERMAN, credit_interventions, german_interventions
from isonomia.interventions import Interventions
from isonomia.populations import Table, read_table

DELTA, SHARE = 0.05, 0.1


def models(people: Table, outcome: str) -> Iterator[tuple[str, Any, list[str]]]:
    """A logistic and a gradient-boosted model of an outcome, with the columns that they take."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names = [name for name in people.names if name != outcome]
    table = np.column_stack([people.column(name).astype(float) for name in names])
    labels = people.column(outcome)
    yield "logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(table, labels), names
    yield "boosted", HistGradientBoostingClassifier(random_state=0).fit(table, labels), names


def games(people: Table, rules: Interventions, outcome: str) -> list[dict[str, Any]]:
    """The costly kind of claim: nobody reaches default by more than a tenth, so that most must be shown fixed."""
    found = []
    for name, model, features in models(people, outcome):
        claim = iso.responsiveness.gaming(rules, 1, at_most=SHARE)
        found.append({"data": "credit, gaming", "model": name, **timed(claim, model, people, features)})
    return found


def timed(claim: iso.Responsiveness, model: Any, people: Table, features: list[str]) -> dict[str, Any]:
    """How many people are of which kind, what it cost, and how long it took."""
    began = time.perf_counter()
    verdict = iso.check(claim, model, iso.Census(people), delta=DELTA, seed=0, features=features)
    seconds = time.perf_counter() - began
    cost = {"points": verdict.samples, "rows asked": verdict.details["distinct"], "seconds": seconds}
    return {**verdict.details["counts"], **cost}


def audit(
    data: str, people: Table, rules: Interventions, outcome: str, target: int, listed: int
) -> list[dict[str, Any]]:
    """One row for each model: the time, the points, and how many people are of which kind."""
    found = []
    for name, model, features in models(people, outcome):
        claim = iso.Responsiveness(rules, target, at_least=SHARE, most_listed=listed)
        found.append({"data": data, "model": name, **timed(claim, model, people, features)})
    return found


LIMITS = {"german": 5.0, "credit": 120.0}
"""Seconds that everybody's audit may take."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/responsiveness.json"))
    arguments = parser.parse_args()
    rows = []
    for path in (GERMAN, CREDIT):
        if not path.exists():
            print(f"{path} is not here; set ISONOMIA_DATA")
    if GERMAN.exists():
        people = read_table(str(GERMAN))
        for label, listed in (("german, listed", 10**6), ("german, drawn", 0)):
            rows += audit(label, people, german_interventions(people), "good_customer", 1, listed)
    if CREDIT.exists():
        people = read_table(str(CREDIT))
        rules = credit_interventions(people)
        rows += audit("credit", people, rules, "will_default_next_month", 0, 500)
        rows += games(people, rules, "will_default_next_month")
    heads = ("data", "model", "people", "responsive", "fixed", "undecided", "exact", "points", "rows asked", "seconds")
    print("  ".join(f"{head:>14}" for head in heads))
    for row in rows:
        print("  ".join(f"{row[head]:>14.2f}" if head == "seconds" else f"{row[head]!s:>14}" for head in heads))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"delta": DELTA, "share": SHARE, "rows": rows}, indent=1) + "\n", "utf-8")
    slow = [row for row in rows if row["seconds"] > LIMITS[row["data"].split(",")[0]]]
    sys.exit(f"slower than it must be: {slow}" if slow else 0)


if __name__ == "__main__":
    main()

"""How fast reachable sets are listed and drawn from.

    python -m benchmarks.reach [--json benchmarks/results/reach.json]

German credit: the intervention model of Table 3 of the responsiveness paper, all reachable points of 1,000 people, and
1,000 uniform draws for each. Default of credit-card clients: payments and balances as linked features, 30,000 people.
A tight block: a budget over three real features, for 100 people. Coupled blocks: 5 to 20 shares of one person that add
up to 1, and 500 people with three amounts and a whole number that add up to 20; their ratio to 5 shares says that there
is no cliff. Each figure is the least of several runs, in seconds of processor time; reading the file is not part of it.
The data are found through ISONOMIA_DATA, and what is absent is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from isonomia.interventions import (
    Condition,
    Feature,
    IfThen,
    Interventions,
    Linear,
    Linkage,
    ReachableSets,
    Thermometer,
)
from isonomia.populations import Table, read_table

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data"))
GERMAN = DATA / "german" / "german_36.csv"
_MOST_POINTS = 1e7
CREDIT = DATA / "credit" / "credit_data.csv.gz"


def german_interventions(people: Table) -> Interventions:
    """Table 3 of the responsiveness paper: what applicants can change now, and that years pass with it."""
    free = ("YearsEmployed_geq_1", "HasGuarantor", "History*Installments", "CheckingAcct_*", "SavingsAcct_*")
    draft = Interventions(Interventions.draft(people, leave_out="good_customer").features)
    return (
        draft.set("*", actionable=False)
        .set(free, actionable=True, direction="up")
        .set("Age", low=None, high=None)  # years pass at any age
        .set("YearsAtResidence", low=0, high=7, actionable=True, direction="up", rise=2)
        .constrain(
            Linkage("YearsAtResidence", ("Age",)),
            Linkage("YearsEmployed_geq_1", ("Age",)),
            Thermometer(("CheckingAcct_exists", "CheckingAcct_geq_0"), "up"),
            Thermometer(("SavingsAcct_exists", "SavingsAcct_geq_100"), "up"),
        )
    )


def credit_interventions(people: Table) -> Interventions:
    """Clients pay off what is late, pay more, owe less, or get a higher limit; a late payment is not a due one."""
    months = (0, 2, 3, 4, 5, 6)
    draft = Interventions(Interventions.draft(people, leave_out="will_default_next_month").features)
    return (
        draft.set("*", actionable=False)
        .set("pay_*_months_delayed", actionable=True, direction="down")
        .set("pay_*_is_paid_duly", actionable=True, direction="up")
        .set("limit_bal", actionable=True, direction="up", rise_share=0.2)
        .set("bill_amt*", actionable=True, direction="down", fall_share=0.1)
        .set("pay_amt*", actionable=True, direction="up", rise_share=0.1)
        .constrain(
            *(
                IfThen(Condition(f"pay_{j}_is_paid_duly", "==", 1), Condition(f"pay_{j}_months_delayed", "==", 0))
                for j in months
            )
        )
    )


def tight_interventions() -> tuple[Interventions, Table]:
    """Three shares that must add up to what they add up to now, for 100 people."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=100)
    features = tuple(Feature(name, "real", 0, 1) for name in "xyz")
    rules = Interventions(features, (Linear(tuple("xyz"), (1, 1, 1), "==", 1),))
    return rules, Table.of({name: shares[:, j] for j, name in enumerate("xyz")})


def coupled_interventions(count: int) -> tuple[Interventions, Table]:
    """Shares of one person that must add up to 1."""
    names = tuple(f"x{j}" for j in range(count))
    rules = Interventions(tuple(Feature(name, "real", 0, 1) for name in names), (Linear(names, (1,) * count, "==", 1),))
    return rules, Table.of({name: np.full(1, 1 / count) for name in names})


def mixed_interventions() -> tuple[Interventions, Table]:
    """Three amounts and a whole number that must add up to 20, for 500 people."""
    rng = np.random.default_rng(0)
    amounts, number = rng.dirichlet(np.ones(3), 500) * 10, rng.integers(0, 5, 500)
    features = (*(Feature(name, "real", 0, 20) for name in "abc"), Feature("k", "integer", 0, 9))
    people = {"a": amounts[:, 0], "b": amounts[:, 1], "c": 20 - amounts[:, 0] - amounts[:, 1] - number, "k": number}
    return Interventions(features, (Linear(tuple("abck"), (1,) * 4, "==", 20),)), Table.of(people)


def least(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    """The least time of several runs, and what the last one gave."""
    seconds = []
    for _ in range(times):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return min(seconds), found


def figures(name: str, rules: Interventions, people: Table, draws: int, times: int = 5) -> list[dict[str, Any]]:
    """Time for the sets, for every point where they can be listed, and for draws."""
    seconds, sets = least(lambda: rules.reach(people), times)
    rows = [{"data": name, "people": people.rows, "work": "reachable sets, not built", "rows": 0, "seconds": seconds}]
    if sets.counts().sum() <= _MOST_POINTS:
        seconds, found = least(lambda: every_point(rules.reach(people)), times)
        rows.append({"data": name, "people": people.rows, "work": "every point", "rows": found, "seconds": seconds})
    seconds, found = least(lambda: len(rules.reach(people).sample(draws, np.random.default_rng(0))), times)
    rows.append(
        {"data": name, "people": people.rows, "work": f"{draws:,} draws each", "rows": found, "seconds": seconds}
    )
    return rows


def every_point(sets: ReachableSets) -> int:
    return sum(len(points) for points in sets.chunks())


LIMITS = {
    ("german", "every point"): 0.5,
    ("german", "1,000 draws each"): 2.0,
    ("8 coupled", "400 draws each"): 0.05,
    ("20 coupled", "400 draws each"): 1.0,
    ("mixed", "400 draws each"): 1.0,
}
"""Seconds that the work may take."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/reach.json"))
    arguments = parser.parse_args()
    rows = figures("tight budget", *tight_interventions(), draws=1_000)
    for count in (5, 8, 12, 20):
        rows += figures(f"{count} coupled", *coupled_interventions(count), draws=400)
    rows += figures("mixed", *mixed_interventions(), draws=400, times=3)
    first = next(row["seconds"] for row in rows if row["data"] == "5 coupled" and row["rows"])
    for path in (GERMAN, CREDIT):
        if not path.exists():
            print(f"{path} is not here; set ISONOMIA_DATA")
    if GERMAN.exists():
        people = read_table(str(GERMAN))
        rows += figures("german", german_interventions(people), people, draws=1_000)
    if CREDIT.exists():
        people = read_table(str(CREDIT))
        rows += figures("credit", credit_interventions(people), people, draws=30, times=3)
    print(f"{'data':<14} {'people':>7}  {'work':<28} {'rows':>12} {'seconds':>9}")
    for row in rows:
        print(f"{row['data']:<14} {row['people']:>7,}  {row['work']:<28} {row['rows']:>12,} {row['seconds']:>9.4f}")
    slowest = next(row["seconds"] for row in rows if row["data"] == "20 coupled" and row["rows"])
    print(f"20 coupled features take {slowest / first:.1f} times as long as 5")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    slow = [row for row in rows if row["seconds"] > LIMITS.get((row["data"], row["work"]), float("inf"))]
    sys.exit(f"slower than it must be: {slow}" if slow else 0)


if __name__ == "__main__":
    main()

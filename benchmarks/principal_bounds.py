"""How long the bounds of principal fairness take, and how near the fast way is to the certified one.

    python -m benchmarks.principal_bounds [--tables 10000] [--json benchmarks/results/principal_bounds.json]

All bounds of random tables with two attribute values, predictions and outcomes: Proposition 1, the unnormalised effects
alone, jointly and with one of them at zero, the normalised ones, Definitions 3 and 4, and the verdict. In closed form
for all tables at once, and by linear programs with checked certificates for some of them; the largest difference
between the two; then one table each of larger shapes by linear programs, and the repairs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.closed_form import ClosedBounds, closed_bounds, proposition_1
from isonomia.evidence.strata.bounds import Bounds, effect_bounds, fair_world, normalised_bounds
from isonomia.evidence.strata.repair import OBJECTIVES, repair
from isonomia.evidence.strata.worlds import Observed, PrincipalEffect, TableShape, everyone, outcome_under, unaffected

Floats = NDArray[np.float64]

BINARY = TableShape()
ONE, ZERO, BOTH = (PrincipalEffect(unaffected(BINARY, y)) for y in (1, 0, None))
SHAPES = (
    TableShape(2, 3, 2),
    TableShape(2, 2, 3),
    TableShape(3, 2, 2),
    TableShape(2, 3, 3),
    TableShape(4, 2, 2),
    TableShape(3, 3, 3),
)


def random_tables(count: int, shape: TableShape, seed: int) -> Floats:
    """Uneven tables: many of them are unfair."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(shape.cells, 0.4), size=(count, shape.attributes)).reshape(count, *shape.table)


def by_programs(observed: Observed) -> dict[str, object]:
    """Every bound with its certificate, named as in ``ClosedBounds``."""
    return {
        "tau_1_unnormalised": effect_bounds(observed, ONE),
        "tau_0_unnormalised": effect_bounds(observed, ZERO),
        "tau_unnormalised": effect_bounds(observed, BOTH),
        "tau_1_given_tau_0_zero": effect_bounds(observed, ONE, zero=[ZERO]),
        "tau_0_given_tau_1_zero": effect_bounds(observed, ZERO, zero=[ONE]),
        "tau_1": normalised_bounds(observed, ONE),
        "tau_0": normalised_bounds(observed, ZERO),
        "tau": normalised_bounds(observed, BOTH),
        "counterfactual": effect_bounds(observed, PrincipalEffect(everyone(BINARY))),
        "equalized_odds": effect_bounds(observed, PrincipalEffect(outcome_under(BINARY, 1))),
    }


def difference(closed: ClosedBounds, number: int, programs: dict[str, object]) -> float:
    """The largest difference of an end; infinite where only one of the two has bounds."""
    worst = 0.0
    for name, found in programs.items():
        ends = getattr(closed, name)[number]
        if isinstance(found, Bounds):
            worst = max(worst, float(np.nan_to_num(np.abs(ends - [found.lower, found.upper]), nan=np.inf).max()))
        elif not np.isnan(ends).all():
            worst = np.inf
    return worst


def timed(work: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def show(rows: list[dict[str, object]], what: str, tables: int, seconds: float, note: str = "") -> None:
    rows.append({"what": what, "tables": tables, "seconds": seconds, "note": note})
    print(f"{what:<46} {tables:>7} {seconds:>9.3f} {seconds / tables * 1e3:>12.4f}   {note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--checked", type=int, default=200, help="how many of them also by linear programs")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/principal_bounds.json"))
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    print(f"{'what':<46} {'tables':>7} {'seconds':>9} {'ms a table':>12}")

    tables = random_tables(arguments.tables, BINARY, seed=1)
    seconds, _ = timed(lambda: proposition_1(tables))
    show(rows, "Proposition 1", len(tables), seconds)
    seconds, closed = timed(lambda: closed_bounds(tables))
    assert isinstance(closed, ClosedBounds)
    show(
        rows, "all bounds and the verdict, closed form", len(tables), seconds, f"{closed.violated.mean():.1%} violated"
    )

    some = [Observed.of(table) for table in tables[: arguments.checked]]
    seconds, found = timed(lambda: [by_programs(observed) for observed in some])
    assert isinstance(found, list)
    worst = max(difference(closed, number, programs) for number, programs in enumerate(found))
    show(rows, "all bounds, linear programs with certificates", len(some), seconds, f"largest difference {worst:.1e}")

    for shape in SHAPES:
        observed = Observed.of(random_tables(1, shape, seed=2)[0])
        effect = PrincipalEffect(unaffected(shape))
        seconds, _ = timed(lambda o=observed, e=effect: (effect_bounds(o, e), normalised_bounds(o, e)))  # type: ignore[misc]
        show(rows, f"tau' and tau, shape {shape.table}", 1, seconds, f"{shape.worlds} worlds")
        seconds, _ = timed(lambda o=observed: fair_world(o, 1))  # type: ignore[misc]
        show(rows, f"verdict, shape {shape.table}", 1, seconds)

    unfair = [Observed.of(table) for table in tables[closed.violated][: arguments.checked]]
    for objective in OBJECTIVES:
        seconds, _ = timed(lambda o=objective: [repair(observed, 2, objective=o) for observed in unfair])  # type: ignore[misc]
        show(rows, f"repair, objective {objective!r}", len(unfair), seconds)

    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"rows": rows, "difference": worst}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

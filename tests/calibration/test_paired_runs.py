"""Two runs that stopped when it suited them, paired row by row: the risk is kept, and one look would not keep it."""

from __future__ import annotations

import numpy as np
from simulation import most_errors

import isonomia as iso
from isonomia.audits.paired_runs import not_worse
from isonomia.audits.rates.by_row import JoinedRuns, RunRows
from isonomia.audits.rates.question import ask_about
from isonomia.models.adapt import adapt

RUNS, ROWS, DELTA = 60, 160, 0.05
MODEL = adapt(lambda rows: np.asarray(rows["x"]), ["x"])
QUESTION = ask_about(iso.parse("P[prediction == 1] >= 0.5"), iso.Sample({"x": [0, 1]}), MODEL, {})


def joined(rng: np.random.Generator, gap: float = 0.0) -> JoinedRuns:
    """Runs that both end at the first row after which the new one seems to be better, or worse, by 2.1 deviations."""
    cells = rng.choice(4, ROWS, p=[0.5, 0.15, 0.15 + gap, 0.2 - gap])  # both right, only new, only old, neither
    new, old = np.isin(cells, (0, 1)).astype(float), np.isin(cells, (0, 2)).astype(float)
    total, spread = np.cumsum(new - old), np.sqrt(np.cumsum(new != old))
    ends = np.flatnonzero((np.abs(total) > 2.1 * spread) & (np.arange(ROWS) >= 15))
    n = int(ends[0]) + 1 if len(ends) else ROWS
    return JoinedRuns(QUESTION, *(RunRows(each[None, :n], np.arange(n)) for each in (new, old)))


def wrong(number: int, *, once: bool) -> tuple[bool, bool]:
    """Whether *holds* and *violated* are said, on the boundary of both."""
    verdict = not_worse(joined(np.random.default_rng(number)), None, 0.0, DELTA, once=once)
    return verdict.holds is True, verdict.holds is False


def test_rows_of_two_runs_are_paired_at_the_stated_risk_wherever_they_stopped() -> None:
    said = np.asarray([wrong(number, once=False) for number in range(RUNS)])
    assert said.sum(axis=0).max() <= most_errors(RUNS, DELTA)
    # What this test is worth: one look at the same rows, as if their number had been fixed, fails it.
    naive = np.asarray([wrong(number, once=True) for number in range(RUNS)])
    assert naive.sum() > most_errors(RUNS, DELTA)


def test_a_run_that_is_clearly_worse_is_found_out() -> None:
    rng, found = np.random.default_rng(1), []
    for _ in range(6):
        cells = rng.choice(3, 400, p=[0.6, 0.3, 0.1])  # both right, only old, only new
        sides = [np.isin(cells, (0, which)).astype(float) for which in (2, 1)]
        runs = JoinedRuns(QUESTION, *(RunRows(each[None], np.arange(400)) for each in sides))
        found.append(not_worse(runs, None, 0.02, DELTA, once=False).holds)
    assert found.count(False) >= 5

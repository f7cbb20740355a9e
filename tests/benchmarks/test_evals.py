"""Stored results of evals: what early stopping and clusters make of real ones."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.evals import DATA, joined, pairs_of, read_wins

import isonomia as iso

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the evals are not here; set ISONOMIA_DATA")


def test_trials_of_one_task_are_not_counted_as_independent() -> None:
    table = str(DATA / "tau_airline_gpt4o.csv")
    claim = "P[reward == 1] <= 0.5"
    by_trial = iso.check(claim, population=iso.Sample(table), looks="once")
    by_task = iso.check(claim, population=iso.Sample(table, cluster="task"), looks="once")
    assert (by_trial.answer, by_task.answer) == ("holds", "undecided")


def test_pairs_of_models_are_decided_early_and_as_all_items_say() -> None:
    wins = read_wins()
    found = []
    for judge, first, second in pairs_of(wins, 40)[::10]:
        new, old = joined(wins[judge][first], wins[judge][second])
        people = iso.Sample({"a": new, "b": old})
        verdict = iso.check(iso.evals.better(), {"new": "a", "old": "b"}, people, delta=0.05)
        assert verdict.holds in (None, bool(new.sum() > old.sum()))
        found.append(verdict.samples / len(new))
    assert np.mean(found) < 0.7

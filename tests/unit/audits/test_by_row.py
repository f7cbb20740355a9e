"""Two recorded checks, joined row by row: the same answers as from the rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.paired_runs import MemoryJournal

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.paired_runs import RecordedCheck, paired
from isonomia.engine.parameters import NullObserver
from isonomia.errors import RecordError

RNG = np.random.default_rng(3)
ROWS = 300
TABLE = {
    "group": RNG.choice(["a", "b"], ROWS),
    "label": RNG.integers(0, 2, ROWS),
    "task": np.arange(ROWS) // 3,
    "old": RNG.integers(0, 2, ROWS),
    "new": RNG.integers(0, 2, ROWS),
    "old_score": RNG.random(ROWS),
    "new_score": RNG.random(ROWS),
}


class Stored:
    """A model that gives the answers in its two columns."""

    classes_ = np.asarray([0, 1])

    def predict(self, rows: Any) -> Any:
        return np.asarray(rows, dtype=float)[:, 0].astype(int)

    def predict_proba(self, rows: Any) -> Any:
        score = np.asarray(rows, dtype=float)[:, 1]
        return np.stack([1 - score, score], axis=1)


def recorded(side: str, claim: str, people: iso.Sample, **options: Any) -> RecordedCheck:
    check = new_check(claim, Stored(), people, features=[side, f"{side}_score"], seed=1, **options)
    journal = MemoryJournal()
    verdict = run_check(replace(check, journal=journal), NullObserver())
    return RecordedCheck(check, verdict, journal.entries)


def pair_of(claim: str, people: iso.Sample, **options: Any) -> tuple[RecordedCheck, RecordedCheck]:
    old, new = (recorded(side, claim, people, **options) for side in ("old", "new"))
    return old, new


def right(side: str, rows: Any = slice(None)) -> float:
    return float(np.mean((TABLE[side] == TABLE["label"])[rows]))


A, B = TABLE["group"] == "a", TABLE["group"] == "b"
ORACLES: dict[str, Callable[[str], float]] = {
    "P[prediction == label] >= 0.3": right,
    "P[prediction == label] <= 0.8": right,
    "E[score from 0 to 1] >= 0.3": lambda side: float(np.mean(TABLE[f"{side}_score"])),
    "P[prediction == label | group == 'a'] - P[prediction == label | group == 'b'] >= -0.5": lambda side: (
        right(side, A) - right(side, B)
    ),
    "P[prediction == label] >= P[label == 1] - 0.4": right,
    "P[label == 1 | prediction == 1] >= 0.2": lambda side: float(np.mean(TABLE["label"][TABLE[side] == 1])),
}


@pytest.mark.parametrize(
    ("claim", "clusters"), [*((claim, False) for claim in ORACLES), *((claim, True) for claim in list(ORACLES)[:3:2])]
)
def test_pairs_are_those_of_the_rows_themselves(claim: str, clusters: bool) -> None:
    people = iso.Sample(TABLE, cluster="task" if clusters else None)
    found = paired(*pair_of(claim, people, looks="once"), 0.02, 0.05)
    assert found.verdict is not None
    assert found.rows == ROWS
    (one,) = found.verdict.expressions
    assert one.estimate == pytest.approx(ORACLES[claim]("new") - ORACLES[claim]("old"))
    assert (one.relation, one.threshold) == ((">=", -0.02) if ">=" in claim else ("<=", 0.02))
    assert one.low < one.estimate < one.high


def test_the_answer_is_that_of_a_check_of_both_models_at_once() -> None:
    found = paired(*pair_of("P[prediction == label] >= 0.3", iso.Sample(TABLE), looks="once"), 0.02, 0.05)
    answers = {side: (TABLE[side] == TABLE["label"]).astype(int) for side in ("new", "old")}
    own = iso.check(iso.evals.not_worse(), {"new": "new", "old": "old"}, iso.Sample(answers), looks="once", seed=1)
    assert found.verdict is not None
    ends = [[(each.low, each.high) for each in verdict.expressions] for verdict in (found.verdict, own)]
    assert ends[0] == ends[1]
    difference = answers["new"] - answers["old"]
    assert found.changed == (int(np.sum(difference < 0)), int(np.sum(difference > 0)))


def test_rows_up_to_the_earlier_end_are_paired() -> None:
    claim = "P[prediction == label] >= 0.3"
    old, new = pair_of(claim, iso.Sample(TABLE))
    found = paired(old, new, 0.02, 0.05)
    assert found.rows == min(old.verdict.samples, new.verdict.samples) < ROWS
    assert found.verdict is not None
    assert found.verdict.looks == "any"
    mixed = paired(recorded("old", claim, iso.Sample(TABLE), looks="once"), new, 0.02, 0.05)
    assert (mixed.rows, mixed.early) == (new.verdict.samples, True)


@pytest.mark.parametrize(
    "claim", ["0.2 <= P[prediction == label] <= 0.9", "P[label == 1] >= 0.1", "not P[prediction == label] <= 0.1"]
)
def test_a_property_without_a_worse_direction_is_refused(claim: str) -> None:
    old, new = pair_of(claim, iso.Sample(TABLE))
    with pytest.raises(RecordError):
        paired(old, new, 0.02, 0.05)

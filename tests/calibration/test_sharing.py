"""Checks that share their people and the model's answers: each keeps its own risk, although they are dependent.

The truth lies on the boundary of all claims but one, where errors are most likely; each looks after every batch and
stops when it likes, so that they stop at different times, on people that others saw before them. Over ``REPETITIONS``
audits the number of wrong answers of each check is binomial with at most ``DELTA``. A check is accepted up to the
number that such a variable exceeds with probability at most ``1e-6 / len(CLAIMS)``, so that all together raise a false
alarm with probability at most ``1e-6``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.people import SharedPeople
from isonomia.engine.parameters import NullObserver
from isonomia.models import adapt
from isonomia.models.session import open_session

DELTA = 0.05
REPETITIONS = 60
BUDGET = 2000

# What is claimed, and the answer that would be wrong. 0.3 of the women and half of the men are predicted 1.
CLAIMS = {
    "P[prediction == 1 | sex == 'F'] > 0.3": "holds",
    "P[prediction == 1 | sex == 'F'] >= 0.3": "violated",
    "P[prediction == 1 | sex == 'M'] - P[prediction == 1 | sex == 'F'] > 0.2": "holds",
    "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.6": "violated",
    "P[prediction == 1] > 0.4": "holds",
    "P[prediction == 1] >= 0.25": "violated",  # far from its boundary: it stops early, every time
}


def _draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"sex": rng.choice(["F", "M"], n), "points": rng.random(n)}


def _model(table: dict[str, Any]) -> Any:
    return (np.asarray(table["points"]) < np.where(np.asarray(table["sex"]) == "F", 0.3, 0.5)).astype(int)


def _answers(seed: int) -> list[tuple[str, int]]:
    """One audit: the answers of all claims about one pool, and how many people each took."""
    population, model = iso.Generator(_draw), adapt(_model)
    sharing = SharedPeople(population, open_session(model), seed, want_prediction=True, want_score=False)
    found = []
    for text in CLAIMS:
        check = new_check(text, model, population, delta=DELTA, budget=BUDGET, seed=seed, growth=1.3)
        verdict = run_check(replace(check, sharing=sharing), NullObserver())
        found.append((verdict.answer, verdict.samples))
    return found


@cache
def _audits() -> list[list[tuple[str, int]]]:
    return [_answers(seed) for seed in range(REPETITIONS)]


MOST = int(binom.isf(1e-6 / len(CLAIMS), REPETITIONS, DELTA))


@pytest.mark.parametrize("text", CLAIMS)
def test_each_check_of_a_pool_errs_no_more_often_than_its_risk(text: str) -> None:
    place = list(CLAIMS).index(text)
    wrong = sum(audit[place][0] == CLAIMS[text] for audit in _audits())
    assert wrong <= MOST, f"{wrong} of {REPETITIONS} audits answered {text} wrongly; at most {MOST} were expected"


def test_any_error_of_a_pool_is_no_more_likely_than_the_sum_of_the_risks() -> None:
    wrong = sum(
        any(answer == bad for (answer, _), bad in zip(audit, CLAIMS.values(), strict=True)) for audit in _audits()
    )
    assert wrong <= int(binom.isf(1e-6, REPETITIONS, DELTA * len(CLAIMS)))


def test_the_checks_of_a_pool_stop_at_different_times() -> None:
    stops = [{samples for answer, samples in audit if answer != "undecided"} | {BUDGET} for audit in _audits()]
    assert sum(len(times) > 1 for times in stops) >= 0.9 * REPETITIONS, "else nothing was tried"

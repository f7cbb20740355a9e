"""What one table says if it is taken for the truth."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import isonomia as iso
from isonomia.audits.principal.findings import answer_of
from isonomia.audits.principal.question import PrincipalQuestion, ask_about
from isonomia.evidence.strata.worlds import Observed, effect_row, observation, stratum_row

ROWS = {"sex": ["F", "M"], "passed": [0, 1], "prediction": [0, 1]}


def question(**changed: Any) -> PrincipalQuestion:
    return ask_about(iso.PrincipalFairness(attribute="sex", outcome="passed", **changed), iso.Sample(ROWS), None)


def observed(counts: np.ndarray) -> Observed:
    return Observed.from_counts(counts.reshape(2, 2, 2))


def tables(number: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.asarray([rng.multinomial(200, rng.dirichlet(np.full(4, 0.6)), size=2) for _ in range(number)]) + 0.0


def feasible(asked: PrincipalQuestion, counts: np.ndarray, rows: list[np.ndarray], bounds: list[float]) -> bool:
    """Whether some world produces the table under inequalities: SciPy's own program, nothing of ours but the worlds."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    seen = observation(asked.shape).reshape(-1, asked.shape.worlds)
    found = linprog(np.zeros(seen.shape[1]), np.asarray(rows), bounds, seen, shares.ravel())
    return bool(found.status == 0)


@pytest.mark.parametrize(("within", "normalised"), [(0.0, False), (0.0973, False), (0.0373, True)])
def test_the_answer_is_that_of_a_search_over_worlds(within: float, normalised: bool) -> None:
    answers = set()
    for definition, counts in product((1, 2, 3, 4), tables(25)):
        asked = question(definition=definition, within=within, normalised=normalised)
        mass = [stratum_row(asked.shape, each.stratum) if normalised else np.ones(16) for each in asked.effects]
        rows = [effect_row(asked.shape, each) for each in asked.effects]
        signed = [sign * row - within * part for row, part in zip(rows, mass, strict=True) for sign in (1.0, -1.0)]
        fair = feasible(asked, counts, signed, [0.0] * len(signed))
        unfair = fair and any(feasible(asked, counts, [-row], [-1e-5]) for row in signed)
        expected = False if not fair else None if unfair else True
        assert answer_of(asked, observed(counts)).holds is expected
        answers.add(expected)
    assert answers >= ({False, None} if within == 0.0 else {True, False, None})


def test_a_violation_comes_with_a_proof() -> None:
    counts = np.asarray([[53.0, 4, 11, 32], [90, 2, 3, 5]])
    found = answer_of(question(definition=2), observed(counts))
    assert found.holds is False
    assert found.proof is not None
    assert found.proof.violation > 1e-3
    assert found.reaches[0].unnormalised == pytest.approx((-0.13, -0.01))


def test_a_table_that_contradicts_an_assumption_answers_nothing() -> None:
    counts = np.asarray([[0.0, 10, 0, 90], [90, 0, 10, 0]])
    found = answer_of(question(assumptions=["outcome never falls"]), observed(counts))
    assert found.contradicts
    assert found.holds is None


def test_an_assumption_can_make_a_table_decide() -> None:
    counts = np.asarray([[60.0, 5, 5, 30], [50, 5, 15, 30]])
    assert answer_of(question(definition=1), observed(counts)).holds is None
    assert answer_of(question(definition=1, assumptions=["outcome never changes"]), observed(counts)).holds is False

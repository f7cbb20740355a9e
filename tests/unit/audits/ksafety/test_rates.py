"""What random cases prove."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.audits.ksafety.evidence import CaseEvidence, CaseEvidenceState, CaseTally, rate_evidence


def masks(*rows: list[int]) -> np.ndarray:
    return np.array(rows, dtype=bool)


def step(
    evidence: CaseEvidence, state: CaseEvidenceState, violates: np.ndarray, failed: np.ndarray
) -> CaseEvidenceState:
    """Cases taken in: for each ``ensures`` which of them violate it, and which failed."""
    counts = len(failed), int(violates.any(axis=0).sum()), int(failed.sum())
    cells = evidence.cells(violates, failed)
    return evidence.settle(state, CaseTally(violates.sum(axis=1).tolist(), *counts, cells=cells))


@pytest.mark.parametrize(("eps", "delta"), [(0.001, 0.05), (0.01, 1e-6), (0.5, 0.5)])
def test_the_least_number_of_good_cases_is_needed(eps: float, delta: float) -> None:
    evidence = rate_evidence([None], eps, delta)
    n = evidence.needed
    assert (1 - eps) ** n <= delta < (1 - eps) ** (n - 1)
    state = step(evidence, evidence.begin(), masks([0] * (n - 1)), np.zeros(n - 1, dtype=bool))
    assert evidence.decision(state) is None
    assert evidence.decision(step(evidence, state, masks([0]), masks([0])[0])) is True
    assert evidence.proved(n) <= eps < evidence.proved(n - 1)


def test_one_violation_refutes_and_one_failure_leaves_it_open() -> None:
    evidence = rate_evidence([None, None], 0.1, 0.05)
    good = step(evidence, evidence.begin(), masks([0] * 100, [0] * 100), np.zeros(100, dtype=bool))
    assert evidence.decision(good) is True
    assert evidence.decision(step(evidence, good, masks([0], [1]), masks([0])[0])) is False
    assert evidence.decision(step(evidence, good, masks([0], [0]), masks([1])[0])) is None


def test_a_rate_of_one_is_no_rate() -> None:
    assert rate_evidence([1.0, 0.9], 0.1, 0.05).strict == (0,)


def test_bets_decide_rates_both_ways() -> None:
    rng = np.random.default_rng(1)
    for share, answer in ((0.02, True), (0.3, False)):
        evidence = rate_evidence([0.9], 0.001, 1e-3)
        state = evidence.begin()
        for _ in range(100):
            state = step(evidence, state, rng.random((1, 50)) < share, np.zeros(50, dtype=bool))
        assert evidence.decision(state) is answer


def test_cases_that_fail_count_against_holds_and_not_as_violations() -> None:
    evidence = rate_evidence([0.9], 0.001, 1e-3)
    state = evidence.begin()
    for _ in range(100):
        state = step(evidence, state, np.zeros((1, 50), dtype=bool), np.arange(50) < 20)
    assert evidence.decision(state) is None

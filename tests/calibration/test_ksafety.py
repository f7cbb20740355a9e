"""Error rates of sampled k-safety checks with the truth on the boundary, and proof that a wrong bound is noticed.

The cases are drawn by the audit itself: from a census with replacement, from the rows of a sample, and from a
generator, with preconditions that reject some draws and more of the violating ones. The share of violating cases is
known exactly, by listing every case. One long run of independent cases is cut into many short ones.

Acceptance is stated in :mod:`simulation`: a share that is exactly a number fails with probability at most 1e-6, and
with fixed seeds it either always does or never.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom
from simulation import FALSE_ALARM, MANY, REPETITIONS, batches, most_errors, two_streams
from simulation import peaks as peaks_of

import isonomia as iso
from isonomia.audits.ksafety.evidence import CaseEvidence, CaseTally, rate_evidence
from isonomia.audits.ksafety.sampling import SampledCases
from isonomia.audits.ksafety.setup import SafetySetup
from isonomia.audits.protocol import Check
from isonomia.engine.loop import Plan
from isonomia.models.adapt import adapt
from isonomia.models.session import open_session

Violations = NDArray[np.bool_]

SPEC = """
input x1;
var v := x1.a + randInt(0, x1.width);
requires v <= 9;
var x2 := setFeat(x1, "a", v);
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 == d2;
"""
# Wider choices from larger starts are rejected more often, so that drawing inputs by their weight would not do.
PEOPLE = {"a": np.arange(10), "width": np.array([1, 2, 2, 3, 4, 5, 6, 7, 8, 9])}
CASES = 700_000
KINDS = ("census", "sample", "generator")


def model(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return (table["a"] >= 8).astype(int)


def drawn(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    who = rng.integers(0, 10, n)
    return {name: values[who] for name, values in PEOPLE.items()}


def population(kind: str, cases: int) -> Any:
    """The ten people; a sample of as many as it takes to have so many cases; or a program that draws them."""
    if kind == "census":
        return iso.Census(PEOPLE)
    if kind == "generator":
        return iso.Generator(drawn)
    return iso.Sample(drawn(3 * cases, np.random.default_rng(77)))


@cache
def share() -> float:
    """The share of cases that violate, exactly."""
    verdict = iso.check(iso.safety.property(SPEC), model, iso.Census(PEOPLE), seed=1)
    assert verdict.exact
    assert verdict.details["cases"]["rejected"] > 0
    estimate = verdict.leaves[0].estimate
    assert estimate is not None
    return estimate


@cache
def violations(kind: str, n: int) -> Violations:
    """Which of ``n`` random cases violate, as the audit draws them."""
    prop = iso.safety.property(SPEC)
    check = Check(prop, open_session(adapt(model)), population(kind, n), seed=11 + KINDS.index(kind))
    batch, judgements = SampledCases(SafetySetup(check)).draw(Plan(0, 0, 3 * n if kind == "sample" else n, (1.0,)))
    assert batch.rejected > n // 20
    found = np.concatenate([judgement.violating for judgement in judgements])
    assert len(found) >= n
    return found[:n]


def evidence(delta: float) -> CaseEvidence:
    """The claim at its boundary: the share of violating cases is exactly ``eps``."""
    return rate_evidence([None], share(), delta)


def wrongly_held(kind: str, delta: float, cases: int) -> int:
    """How many of the repetitions say *holds* after so many cases each."""
    bound = evidence(delta)
    cut = violations(kind, CASES)[: REPETITIONS * cases].reshape(REPETITIONS, cases)
    states = [bound.settle(bound.begin(), tallied(bound, row)) for row in cut]
    return sum(not state.tally.violating for state in states)


def tallied(bound: CaseEvidence, violating: Violations) -> CaseTally:
    """The counts of cases, none of which failed, for a specification with one ``ensures``."""
    bad = int(np.count_nonzero(violating))
    cells = bound.cells(violating[None], np.zeros(len(violating), dtype=bool))
    return CaseTally([bad], tested=len(violating), violating=bad, cells=cells)


def cases_for(delta: float) -> int:
    return evidence(delta).needed


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_violating_cases_is_the_exact_one_although_draws_are_rejected(kind: str) -> None:
    found = violations(kind, CASES)
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(found), share())
    assert low <= found.sum() <= high


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_holds_is_said_at_the_boundary_with_the_chance_that_is_computed(kind: str, delta: float) -> None:
    n = cases_for(delta)
    assert (1 - share()) ** n <= delta
    wrong = wrongly_held(kind, delta, n)
    assert wrong <= most_errors(REPETITIONS, delta)
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPETITIONS, (1 - share()) ** n)
    assert low <= wrong <= high


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_a_fifth_fewer_cases_exceed_the_risk(kind: str, delta: float) -> None:
    assert wrongly_held(kind, delta, int(0.8 * cases_for(delta))) > most_errors(REPETITIONS, delta)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_check_says_holds_at_the_boundary_as_seldom(kind: str) -> None:
    delta, repetitions = 0.3, 150
    # Edge cases find these violations at once, and would leave nothing to err about.
    prop = iso.safety.property(SPEC, eps=share(), enumerate=False, edge_cases=False)
    checked = population("generator" if kind == "sample" else kind, 0)
    answers = []
    for seed in range(repetitions):
        people = iso.Sample(drawn(60, np.random.default_rng(5_000 + seed))) if kind == "sample" else checked
        answers.append(iso.check(prop, model, people, delta=delta, seed=seed).answer)
    assert answers.count("undecided") == 0
    chance = (1 - share()) ** cases_for(delta)
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], repetitions, chance)
    assert low <= answers.count("holds") <= high


# ---------------------------------------------------------------- a required rate, looked at after every batch


@cache
def peaks() -> NDArray[np.float64]:
    """The largest log-wealth against either side of a claim that is true with nothing to spare, in many repetitions."""
    bets = rate_evidence([1.0 - share()], 0.001, 0.05).bets
    assert bets is not None
    processes = [test.unsliced for test in (*bets.against, *bets.in_favour)]
    sizes = batches(100_000, growth=0.05)
    return peaks_of(processes, two_streams([share()]), sizes, np.random.default_rng(12), MANY)


@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_a_required_rate_is_wrongly_decided_with_at_most_the_risk_in_both_directions(delta: float) -> None:
    for peak in peaks():
        assert np.sum(peak >= np.log(1.0 / delta)) <= most_errors(MANY, delta)


@pytest.mark.parametrize("delta", [0.01, 0.003])
def test_a_required_rate_decided_at_a_threshold_a_fifth_too_low_exceeds_the_risk(delta: float) -> None:
    # Each direction errs with probability at most delta, so one of the two does with at most twice that.
    either = peaks().max(axis=0)
    assert np.sum(either >= np.log(1.0 / delta)) <= most_errors(MANY, 2.0 * delta)
    assert np.sum(either >= 0.8 * np.log(1.0 / delta)) > most_errors(MANY, 2.0 * delta)


# ---------------------------------------------------------------- power


def test_as_many_cases_are_needed_as_the_guide_says_and_no_more() -> None:
    assert rate_evidence([None], 0.001, 0.05).needed == 2_995
    prop = iso.safety.property(SPEC, enumerate=False)
    verdict = iso.check(prop, lambda table: np.zeros(len(table["a"])), iso.Census(PEOPLE), seed=1)
    assert (verdict.answer, verdict.details["cases"]["tested"]) == ("holds", 2_995)
    assert verdict.samples == 2_995 + verdict.details["edge_cases"]["tried"]


def test_a_required_rate_far_from_the_truth_is_decided_within_few_cases() -> None:
    # Twice as many violations as are allowed, and half as many. Measured: 280 to 560 cases.
    for factor, answer in ((0.5, "violated"), (2.0, "holds")):
        text = SPEC.replace("d1 == d2;", f"d1 == d2 in {1.0 - factor * share():.6f} of cases;")
        prop = iso.safety.property(text, enumerate=False)
        verdicts = [iso.check(prop, model, iso.Census(PEOPLE), seed=seed) for seed in range(12)]
        assert [verdict.answer for verdict in verdicts] == [answer] * 12
        assert np.mean([verdict.samples for verdict in verdicts]) < 1_000

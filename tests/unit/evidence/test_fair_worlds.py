"""Deciding a definition about worlds from draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.evidence.fair_worlds import fair_worlds
from isonomia.evidence.strata.worlds import TableShape, assume
from raising import raises

BINARY = TableShape()
UNFAIR = np.asarray([[0.2, 0.1, 0.6, 0.1], [0.8, 0.1, 0.05, 0.05]])
OPEN = np.full((2, 4), 0.25)
RARE = np.asarray([[0.56, 0.40, 0.02, 0.02], [0.60, 0.36, 0.02, 0.02]])


def play(evidence, tables, batches=12, size=50):
    """Draws that fall into the cells in proportion, a row a subgroup."""
    state = evidence.begin(len(tables))
    for _ in range(batches):
        state = evidence.step(state, np.round(size * np.asarray(tables)))
    return state


@pytest.mark.parametrize("definition", [1, 2])
def test_each_subgroup_gets_its_own_decision(definition):
    evidence = fair_worlds(BINARY, definition, 1e-3, margin=0.15)
    state = play(evidence, [UNFAIR, OPEN, RARE], batches=40)
    assert evidence.decisions(state) == (False, None, True)
    assert evidence.violated(state).tolist() == [True, False, False]
    assert evidence.holds(state).tolist() == [False, False, True]


def test_progress_grows_towards_one():
    evidence = fair_worlds(BINARY, 2, 1e-6)
    early, late = play(evidence, [UNFAIR], 2, 20), play(evidence, [UNFAIR], 4, 20)
    assert 0.0 < evidence.progress(early)[0] < evidence.progress(late)[0] <= 1.0


def test_counterfactual_fairness_is_decided_by_the_prediction_alone():
    evidence = fair_worlds(BINARY, 3, 1e-3, margin=0.1)
    equal = np.asarray([[0.4, 0.1, 0.3, 0.2], [0.1, 0.4, 0.25, 0.25]])
    apart = np.asarray([[0.4, 0.3, 0.2, 0.1], [0.1, 0.3, 0.4, 0.2]])
    assert evidence.decisions(play(evidence, [equal, apart], batches=60)) == (True, False)


def test_equalized_odds_conditions_on_the_outcome_under_the_reference():
    evidence = fair_worlds(BINARY, 4, 1e-3)
    # Nearly all of those with Y(0) = 1 are selected under 0, and hardly anybody is under 1.
    table = np.asarray([[0.15, 0.02, 0.03, 0.8], [0.45, 0.45, 0.05, 0.05]])
    assert evidence.decisions(play(evidence, [table], batches=10)) == (False,)


def test_more_categories_are_decided_by_the_same_program():
    shape = TableShape(3, 2, 2)
    evidence = fair_worlds(shape, 2, 1e-3)
    table = np.asarray([[0.05, 0.05, 0.85, 0.05], [0.9, 0.04, 0.03, 0.03], [0.86, 0.05, 0.05, 0.04]])
    assert evidence.decisions(play(evidence, [table], batches=20)) == (False,)


def test_where_the_assumptions_are_refuted_no_answer_is_given():
    evidence = fair_worlds(BINARY, 2, 1e-3, assumptions=assume(BINARY, "outcome never falls"))
    falls = np.asarray([[0.1, 0.1, 0.1, 0.7], [0.7, 0.1, 0.1, 0.1]])
    state = play(evidence, [falls], batches=20)
    assert evidence.contradicted(state).tolist() == [True]
    assert evidence.decisions(state) == (None,)


def test_assumptions_can_make_a_violation_visible():
    # If the attribute affects nobody's outcome, definition 2 is that predictions are equally distributed.
    table = np.asarray([[0.4, 0.3, 0.1, 0.2], [0.2, 0.1, 0.3, 0.4]])
    free = fair_worlds(BINARY, 2, 1e-3)
    assert free.decisions(play(free, [table], batches=30)) == (None,)
    assumed = fair_worlds(BINARY, 2, 1e-3, assumptions=assume(BINARY, "outcome never changes"))
    assert assumed.decisions(play(assumed, [table], batches=30)) == (False,)


def test_assumptions_that_contradict_each_other_or_the_definition_are_refused():
    impossible = (*assume(BINARY, "P[S0 == 1] >= 0.6"), *assume(BINARY, "P[S0 == 1] <= 0.5"))
    with raises(UsageError, name="assumptions"):
        fair_worlds(BINARY, 2, 0.05, assumptions=impossible)
    apart = assume(BINARY, "P[S1 == 1] - P[S0 == 1] >= 0.1")
    with pytest.raises(UsageError, match="violated by assumption"):
        fair_worlds(BINARY, 3, 0.05, assumptions=apart)


@pytest.mark.parametrize(
    ("delta", "margin", "words"),
    [(0.0, 0.0, "delta"), (1.0, 0.0, "delta"), (0.05, -0.1, "margin"), (0.05, 1.0, "margin")],
)
def test_a_risk_or_margin_out_of_range_is_refused(delta, margin, words):
    with pytest.raises(UsageError, match=words):
        fair_worlds(BINARY, 2, delta, margin=margin)


def test_a_normalised_margin_cannot_be_proved_where_the_stratum_may_be_empty():
    # The outcome may be opposite for everybody, so nobody need be in the stratum.
    opposite = np.asarray([[0.45, 0.45, 0.05, 0.05], [0.45, 0.45, 0.05, 0.05]])
    shares = fair_worlds(BINARY, 2, 0.05, margin=0.3)
    assert shares.decisions(play(shares, [opposite], batches=40)) == (True,)
    within = fair_worlds(BINARY, 2, 0.05, margin=0.3, normalised=True)
    assert within.decisions(play(within, [opposite], batches=40)) == (None,)


def test_a_margin_within_the_stratum_is_passed_sooner_than_the_same_one_in_the_whole_population():
    # The effect is at least 0.4 in size in the whole population, and at least 0.53 within the stratum.
    decisions = []
    for normalised in (False, True):
        evidence = fair_worlds(BINARY, 2, 1e-3, margin=0.42, normalised=normalised)
        decisions.append(evidence.decisions(play(evidence, [UNFAIR], batches=30, size=100)))
    assert decisions == [(None,), (False,)]


def test_progress_towards_fairness_is_that_of_the_piece_that_lags():
    evidence = fair_worlds(BINARY, 2, 1e-3, margin=0.15)
    start, late = evidence.begin(1), play(evidence, [RARE], batches=40)
    assert evidence.progress(start).tolist() == [0.0]
    middle = play(evidence, [RARE], batches=3)
    least = min(float(piece.peak[0]) for piece in middle.unfair)
    assert evidence.progress(middle)[0] == pytest.approx(max(least, float(middle.fair.peak[0])) / np.log(1000))
    assert 0.0 < evidence.progress(middle)[0] < 1.0
    assert evidence.progress(late).tolist() == [1.0]
    violated = play(evidence, [UNFAIR], batches=40)
    assert violated.fair.peak[0] > evidence.need
    assert evidence.progress(violated).tolist() == [1.0]


def test_what_is_needed_is_the_logarithm_of_the_risk():
    evidence = fair_worlds(BINARY, 2, 1e-3)
    assert evidence.need == pytest.approx(np.log(1000))
    nothing = evidence.begin(3)
    assert evidence.holds(nothing).tolist() == evidence.contradicted(nothing).tolist() == [False] * 3
    assert evidence.holds(nothing).dtype == evidence.contradicted(nothing).dtype == np.bool_


def test_a_wealth_of_exactly_what_is_needed_suffices():
    evidence = fair_worlds(BINARY, 2, 1e-3, margin=0.15)
    start = evidence.begin(1)
    enough = np.full(1, evidence.need)
    won = replace(start, unfair=tuple(replace(piece, peak=enough) for piece in start.unfair))
    assert evidence.holds(won).tolist() == [True]
    assert evidence.violated(replace(start, fair=replace(start.fair, peak=enough))).tolist() == [True]

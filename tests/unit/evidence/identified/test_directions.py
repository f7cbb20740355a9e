"""The direction of an effect, proved by bets."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.evidence.fair_worlds import directions, fair_worlds
from isonomia.evidence.strata.assumptions import assume
from isonomia.evidence.strata.effects import PrincipalEffect, definition_effects, unaffected
from isonomia.evidence.strata.worlds import TableShape

BINARY = TableShape()
EFFECT = PrincipalEffect(unaffected(BINARY))
LOW = np.asarray([[0.2, 0.1, 0.6, 0.1], [0.8, 0.1, 0.05, 0.05]])  # predicted 1 more often under attribute value 0
TABLES = np.stack([LOW, LOW[::-1], np.full((2, 4), 0.25)])


def play(evidence, batches):
    state = evidence.begin(3)
    for _ in range(batches):
        state = evidence.step(state, np.round(40 * TABLES))
    return state


def test_the_sign_tells_which_attribute_value_is_favoured_and_is_unknown_where_both_are_possible():
    evidence = directions(BINARY, [EFFECT], 1e-6)
    assert evidence.signs(play(evidence, 12)).tolist() == [[-1], [1], [0]]


def test_each_effect_of_a_definition_has_its_own_sign():
    # The violation is among those with outcome 0; of the others nothing can be known.
    evidence = directions(BINARY, definition_effects(BINARY, 1), 1e-3)
    assert evidence.signs(play(evidence, 12)).tolist() == [[-1, 0], [1, 0], [0, 0]]


def test_the_direction_is_known_about_when_the_violation_is():
    sides, definition = directions(BINARY, [EFFECT], 1e-6), fair_worlds(BINARY, 2, 1e-6)
    wealth = max(state.log_wealth[0] for state in play(sides, 12))
    assert wealth == pytest.approx(play(definition, 12).fair.log_wealth[0], rel=0.01)


def test_effects_can_be_compared_with_another_value_than_zero():
    evidence = directions(BINARY, [EFFECT], 1e-3, value=-0.9)
    assert evidence.signs(play(evidence, 12)).tolist() == [[1], [1], [1]]


@pytest.mark.parametrize(("normalised", "sign"), [(False, 1), (True, 0)])
def test_a_value_is_one_of_the_whole_population_or_of_the_stratum(normalised, sign):
    # The sharp bounds of the first table begin at -0.7 in the whole population, and at -0.92 within the stratum.
    evidence = directions(BINARY, [EFFECT], 1e-3, value=-0.82, normalised=normalised)
    assert evidence.signs(play(evidence, 40))[0].tolist() == [sign]


def test_an_assumption_can_tell_the_direction():
    table = np.asarray([[[0.4, 0.3, 0.1, 0.2], [0.2, 0.1, 0.3, 0.4]]])
    found = []
    for assumptions in ((), assume(BINARY, "outcome never changes")):
        evidence = directions(BINARY, [EFFECT], 1e-3, assumptions=assumptions)
        state = evidence.begin()
        for _ in range(12):
            state = evidence.step(state, np.round(40 * table))
        found.append(evidence.signs(state).tolist())
    assert found == [[[0]], [[1]]]


def test_a_risk_out_of_range_is_refused():
    with pytest.raises(UsageError, match="delta"):
        directions(BINARY, [EFFECT], 1.0)

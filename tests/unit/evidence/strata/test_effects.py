"""Effects within strata, and the definitions of fairness."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.evidence.strata.worlds import (
    PrincipalEffect,
    Stratum,
    TableShape,
    definition_effects,
    effect_row,
    everyone,
    fairness_rows,
    outcome_under,
    stratum_row,
    unaffected,
    worlds,
)
from raising import raises

BINARY = TableShape()


def named(**weights: float) -> np.ndarray:
    """A row over the 16 worlds from the paper's names, w_{s0 s1 y0 y1}."""
    row = np.zeros(16)
    for name, weight in weights.items():
        row[int(name.removeprefix("w"), 2)] = weight
    return row


def table_1() -> np.ndarray:
    """A world distribution with the margins of the paper's Table 1: S(0) and S(1) independent within each stratum."""
    high = {(1, 1): (50, 50, 200), (0, 1): (170, 30, 200), (1, 0): (30, 70, 100), (0, 0): (150, 150, 200)}
    weights = np.zeros(16)
    for number, ((s0, s1), (y0, y1)) in enumerate(worlds(BINARY)):
        one, zero, people = high[(int(y1), int(y0))]
        weights[number] = people * np.prod([k / people if s else 1 - k / people for s, k in ((s1, one), (s0, zero))])
    return weights / 700


def test_the_papers_effects() -> None:
    assert np.array_equal(effect_row(BINARY, PrincipalEffect(unaffected(BINARY, 1))), named(w0111=1, w1011=-1))
    assert np.array_equal(effect_row(BINARY, PrincipalEffect(unaffected(BINARY, 0))), named(w0100=1, w1000=-1))
    both = effect_row(BINARY, PrincipalEffect(unaffected(BINARY)))
    assert np.array_equal(both, named(w0100=1, w0111=1, w1000=-1, w1011=-1))


def test_the_papers_table_1_is_fair_by_definitions_1_and_2_but_not_by_3() -> None:
    world = table_1()
    assert np.abs(fairness_rows(BINARY, 1) @ world).max() < 1e-15
    assert np.abs(fairness_rows(BINARY, 2) @ world).max() < 1e-15
    assert fairness_rows(BINARY, 3) @ world == pytest.approx(4 / 7 - 3 / 7)


def test_definition_4_conditions_on_the_outcome_under_the_first_attribute_value() -> None:
    (effect,) = definition_effects(BINARY, 4)
    assert effect.stratum == outcome_under(BINARY, 1) == Stratum(frozenset({(1, 0), (1, 1)}))


def test_definitions_2_and_3_agree_where_the_attribute_affects_no_outcome() -> None:
    # Theorem 1 of the paper: on the worlds with Y(0) = Y(1) the equations are the same.
    kept = stratum_row(BINARY, unaffected(BINARY)) > 0
    assert np.array_equal(fairness_rows(BINARY, 2)[:, kept], fairness_rows(BINARY, 3)[:, kept])


@pytest.mark.parametrize("definition", [1, 2, 3, 4])
def test_a_prediction_that_ignores_the_attribute_is_fair(definition: int) -> None:
    # Lemma 1 of the paper, for three values of everything.
    shape = TableShape(3, 3, 3)
    same = (np.diff(worlds(shape)[:, 0]) == 0).all(-1)
    assert not fairness_rows(shape, definition)[:, same].any()


@pytest.mark.parametrize(("definition", "count"), [(1, 3 * 2 * 2), (2, 2 * 2), (3, 2 * 2), (4, 2 * 2 * 2)])
def test_more_values_give_an_equation_for_each_contrast(definition: int, count: int) -> None:
    rows = fairness_rows(TableShape(3, 3, 3), definition)
    assert len(rows) == count == np.linalg.matrix_rank(rows)


def test_everyone_is_in_the_stratum_of_everyone() -> None:
    assert stratum_row(BINARY, everyone(BINARY)).tolist() == [1.0] * 16


def test_an_effect_is_that_of_the_second_attribute_value_on_the_second_prediction_unless_said() -> None:
    stratum = everyone(BINARY)
    assert PrincipalEffect(stratum) == PrincipalEffect(stratum, attribute=1, reference=0, prediction=1)
    assert outcome_under(BINARY, 1) == outcome_under(BINARY, 1, attribute=0)
    turned = effect_row(BINARY, PrincipalEffect(stratum, attribute=0, reference=1))
    assert np.array_equal(turned, -effect_row(BINARY, PrincipalEffect(stratum)))


def test_the_last_value_of_everything_exists_and_the_next_does_not() -> None:
    shape = TableShape(3, 4, 2)
    last = PrincipalEffect(unaffected(shape, 1), attribute=2, reference=2, prediction=3)
    assert not effect_row(shape, last).any()
    assert stratum_row(shape, outcome_under(shape, 1, 2)).sum() == shape.worlds / 2
    for wrong, words in (
        (PrincipalEffect(last.stratum, attribute=3), "attribute between 0 and 2, but got 3"),
        (PrincipalEffect(last.stratum, reference=3), "attribute between 0 and 2, but got 3"),
        (PrincipalEffect(last.stratum, prediction=4), "prediction between 0 and 3, but got 4"),
        (
            PrincipalEffect(Stratum(frozenset({(0, 1, 2)}))),
            r"patterns of 3 outcomes between 0 and 1, but got \(0, 1, 2\)",
        ),
        (
            PrincipalEffect(Stratum(frozenset({(0, -1, 0)}))),
            r"patterns of 3 outcomes between 0 and 1, but got \(0, -1, 0\)",
        ),
    ):
        with pytest.raises(UsageError, match=words):
            effect_row(shape, wrong)
    with raises(UsageError, "attribute", 0, 2, 3):
        outcome_under(shape, 1, 3)


def test_what_does_not_exist_is_refused() -> None:
    with raises(UsageError, "outcome", 0, 1, 2):
        unaffected(BINARY, 2)
    with raises(UsageError, "attribute", 0, 1, -1):
        effect_row(BINARY, PrincipalEffect(unaffected(BINARY), attribute=-1))
    with raises(UsageError, 2, 0, (1, 1, 1)):
        stratum_row(BINARY, Stratum(frozenset({(1, 1, 1)})))
    with raises(UsageError, 1, 2, 3, 4, 5):
        definition_effects(BINARY, 5)  # type: ignore[arg-type]

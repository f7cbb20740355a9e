"""Assumptions by name and as expressions."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import SpecError, UsageError
from isonomia.evidence.strata.worlds import ASSUMPTIONS, LinearAssumption, TableShape, assume, worlds
from raising import raises

BINARY = TableShape()


def excluded(constraint: LinearAssumption, shape: TableShape = BINARY) -> set[str]:
    """The worlds that a constraint ``row @ w <= 0`` without negative entries forbids, as digits s0 s1 y0 y1."""
    assert constraint.bound == 0.0
    assert (constraint.row >= 0.0).all()
    return {
        "".join(map(str, world.ravel())) for world, weight in zip(worlds(shape), constraint.row, strict=True) if weight
    }


@pytest.mark.parametrize("shape", [BINARY, TableShape(3, 2, 4)])
@pytest.mark.parametrize("name", ASSUMPTIONS)
def test_every_name_excludes_something(name: str, shape: TableShape) -> None:
    for constraint in assume(shape, name):
        assert constraint.row.shape == (shape.worlds,)
        assert constraint.row.max() > 0.0


def test_monotone_outcomes_leave_no_one_whose_outcome_falls() -> None:
    (constraint,) = assume(BINARY, "outcome never falls")
    assert excluded(constraint) == {"0010", "0110", "1010", "1110"}


def test_no_one_is_harmed_leaves_no_one_whose_prediction_falls() -> None:
    (constraint,) = assume(BINARY, "no one is harmed")
    assert excluded(constraint) == {"1000", "1001", "1010", "1011"}


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("outcome never falls", "P[Y0 > Y1] <= 0"),
        ("outcome never rises", "P[Y0 < Y1] <= 0"),
        ("outcome never changes", "P[Y0 != Y1] <= 0"),
        ("no one is harmed", "P[S1 < S0] <= 0"),
        ("no one is favoured", "P[S1 > S0] <= 0"),
        # The paper's outlook: w_1010 >= w_0110.
        ("protect the reference", "P[S0==1 and S1==0 and Y0==1 and Y1==0] >= P[S0==0 and S1==1 and Y0==1 and Y1==0]"),
        ("protect the others", "P[S0 < S1 and Y0 < Y1] >= P[S0 > S1 and Y0 < Y1]"),
    ],
)
def test_a_name_is_short_for_an_expression(name: str, expression: str) -> None:
    (one,), (other,) = assume(BINARY, name), assume(BINARY, expression)
    assert np.array_equal(one.row, other.row)
    assert one.bound == other.bound


def test_with_three_attribute_values_monotone_means_along_the_order() -> None:
    shape = TableShape(3, 2, 2)
    (constraint,) = assume(shape, "outcome never falls")
    assert excluded(constraint, shape) == {
        "".join(map(str, world.ravel())) for world in worlds(shape) if list(world[1]) != sorted(world[1])
    }


def test_a_condition_is_multiplied_out() -> None:
    (one,), (other,) = (
        assume(BINARY, "P[S1 == 1 | Y0 == 1] >= 0.3"),
        assume(BINARY, "P[S1 == 1 and Y0 == 1] - 0.3 * P[Y0 == 1] >= 0"),
    )
    assert one.row == pytest.approx(other.row, abs=1e-15)


def test_a_constant_counts_for_every_world() -> None:
    (constraint,) = assume(BINARY, "P[Y0 > Y1] <= 5%")
    falls = worlds(BINARY)[:, 1, 0] > worlds(BINARY)[:, 1, 1]
    assert constraint.row == pytest.approx(np.where(falls, 0.95, -0.05))


def test_a_chain_an_absolute_value_and_a_mean_are_several_constraints() -> None:
    assert len(assume(BINARY, "0.1 <= P[Y0 > Y1] <= 0.2")) == 2
    assert len(assume(BINARY, "abs(P[S0 == 1] - P[S1 == 1]) <= 0.1 and P[Y0 < Y1] <= 0.5")) == 3
    (constraint,) = assume(TableShape(2, 2, 3), "E[Y1 - Y0] >= 0")
    every = worlds(TableShape(2, 2, 3))
    assert np.array_equal(-constraint.row, every[:, 1, 1] - every[:, 1, 0])


def test_labels_stand_for_numbers() -> None:
    (constraint,) = assume(BINARY, "P[Y0 == 'good' and Y1 == 'bad'] <= 0", ((0, 1), ("bad", "good")))
    assert excluded(constraint) == {"0010", "0110", "1010", "1110"}
    with raises(UsageError, 2, "bad", "fair", "good"):
        assume(BINARY, "P[Y0 == 'good'] <= 0", ((0, 1), ("bad", "fair", "good")))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("outcome never fall", "Did you mean 'outcome never falls'"),
        ("P[Y2 == 1] <= 0", "no column 'Y2'"),
        ("P[Y0 == 1] / P[Y1 == 1] <= 0.5", "a sum of multiples of probabilities"),
        ("P[Y0 == 1] * P[Y1 == 1] <= 0.5", "a sum of multiples of probabilities"),
        ("E[Y0] / E[Y1] <= 0.5", "a sum of multiples of probabilities"),
        ("abs(E[Y0]) * P[Y1 == 1] >= 0.5", "not convex|a sum of multiples of probabilities"),
        ("P[S0 == 1 | Y0 == 1] <= P[S1 == 1 | Y1 == 1]", "different conditions"),
        ("P[Y0 == 1] <= 0.5 or P[Y1 == 1] <= 0.5", "not convex"),
        ("for y in {0, 1}: P[Y0 == y] <= 0.5", "no `for`"),
    ],
)
def test_what_is_not_linear_is_refused(words: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        assume(BINARY, words)

"""Shadows: what is left of the worlds, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.evidence.identified.identified_set import IdentifiedSet
from isonomia.evidence.strata.worlds import TableShape, observation
from raising import raises

TWO_CELLS = np.asarray([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])


def test_worlds_that_a_constraint_rules_out_are_left_out():
    identified = IdentifiedSet.of(TWO_CELLS, below=(np.asarray([[0.0, 1.0, 0.0]]), np.zeros(1)))
    assert identified.worlds == 2
    assert identified.kept_worlds.tolist() == [0, 2]
    assert identified.possible_cells.tolist() == [[True, False]]
    assert len(identified.below) == 0


def test_ruling_out_one_world_can_rule_out_another():
    # The second row allows world 1 only as much probability as world 2 has, which the first leaves none.
    rows = np.asarray([[0.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    assert IdentifiedSet.of(TWO_CELLS, below=(rows, np.zeros(2))).kept_worlds.tolist() == [0]


def test_equations_that_follow_from_others_are_left_out():
    rows = np.asarray([[1.0, -1.0, 0.0], [2.0, -2.0, 0.0], [0.0, 0.0, 0.0]])
    assert len(IdentifiedSet.of(TWO_CELLS, equal=(rows, np.zeros(3))).equal) == 1


def test_contradictions_make_an_identified_set_empty():
    rows = np.asarray([[1.0, 1.0, 1.0]])
    assert IdentifiedSet.of(TWO_CELLS, equal=(rows, np.asarray([0.5]))).is_empty()
    assert IdentifiedSet.of(TWO_CELLS, below=(rows, np.zeros(1))).is_empty()
    assert not IdentifiedSet.of(TWO_CELLS).is_empty()


def test_the_probabilities_of_the_worlds_sum_to_one_and_to_nothing_else():
    rows = np.ones((1, 3))
    assert not IdentifiedSet.of(TWO_CELLS, below=(rows, np.asarray([1.5]))).is_empty()
    assert IdentifiedSet.of(TWO_CELLS, below=(-rows, np.asarray([-1.5]))).is_empty()


@pytest.mark.parametrize("shown", [[0.0] * 4, [1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [2.0, -1.0, 0.0, 0.0]])
def test_a_world_must_show_one_cell_of_every_channel(shown):
    broken = observation(TableShape()).copy()
    broken[0, :, 3] = shown
    with raises(UsageError, name="observation"):
        IdentifiedSet.of(broken)


def test_a_table_must_have_channels_cells_and_worlds():
    with raises(UsageError, 2, 3, name="observation"):
        IdentifiedSet.of(TWO_CELLS[0])


def test_constraints_must_have_a_column_a_world():
    with raises(UsageError, "equal", 3, (1, 4)):
        IdentifiedSet.of(TWO_CELLS, equal=(np.zeros((1, 4)), np.zeros(1)))

"""Observed tables are checked once, at the door."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import DataError
from isonomia.evidence.strata.worlds import Observed, TableShape, checked_tables, tally
from raising import raises

EVEN = np.full((2, 2, 2), 0.25)


def changed(**entries: float) -> np.ndarray:
    table = EVEN.copy()
    for name, value in entries.items():
        table[tuple(int(digit) for digit in name.removeprefix("at"))] = value
    return table


def test_counts_become_shares() -> None:
    observed = Observed.from_counts([[[1, 1], [1, 1]], [[6, 2], [2, 2]]])
    assert observed.probabilities[1].ravel() == pytest.approx([0.5, 1 / 6, 1 / 6, 1 / 6], abs=1e-15)
    assert observed.shares.tolist() == [0.25, 0.75]
    assert observed.shape == TableShape()


def test_what_was_checked_cannot_be_changed_afterwards() -> None:
    given = EVEN.copy()
    observed = Observed.of(given, [0.5, 0.5])
    for array in (observed.probabilities, observed.shares):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    given[0] = 0.0
    assert (observed.probabilities == EVEN).all()


def test_a_stack_of_one_table_is_checked_like_the_table() -> None:
    assert (checked_tables(EVEN[None]) == EVEN[None]).all()
    with raises(DataError, (1, 2, 1, 2)):
        checked_tables(EVEN[None, :, :1])


def test_people_are_counted() -> None:
    counts = tally(TableShape(2, 3, 2), [0, 1, 1, 1], [2, 0, 0, 1], [1, 1, 1, 0])
    assert counts.tolist() == [[[0, 0], [0, 0], [0, 1]], [[0, 2], [1, 0], [0, 0]]]


def test_rounded_probabilities_are_rescaled() -> None:
    table = Observed.of(changed(at000=0.25 + 5e-10)).probabilities
    assert abs(table[0].sum() - 1.0) < 1e-15


def test_a_tiny_cell_counts_as_empty() -> None:
    assert Observed.of(changed(at000=1e-12, at001=0.5 - 1e-12)).probabilities[0, 0, 0] == 0.0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (EVEN[:1], "one attribute value there is nothing to compare"),
        (changed(at011=0.2), r"the sum is (np\.float64\()?0\.95\)? at index \(0,\)"),
        (changed(at100=np.nan), r"got .*nan\)? at index \(1, 0, 0\)"),
        (changed(at100=-0.1), r"got .*-0\.1\)? at index \(1, 0, 0\)"),
        (EVEN[0], r"got shape \(2, 2\)"),
        ([["a", "b"]], "table of numbers"),
    ],
)
def test_what_is_no_conditional_distribution_is_refused(table: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        checked_tables(table)  # type: ignore[arg-type]


def test_one_person_of_an_attribute_value_is_enough_to_count() -> None:
    observed = Observed.from_counts([[[1, 0], [0, 0]], [[0, 2], [1, 0]]])
    assert observed.probabilities.ravel() == pytest.approx([1, 0, 0, 0, 0, 2 / 3, 1 / 3, 0])
    assert observed.shares.tolist() == [0.25, 0.75]


def test_an_attribute_value_with_nobody_is_refused() -> None:
    with pytest.raises(DataError, match="value 1 has no one"):
        Observed.from_counts([[[1, 2], [3, 4]], [[0, 0], [0, 0]]])


def test_negative_counts_are_refused() -> None:
    with raises(DataError, 3, 1, 2, 4, -1):
        Observed.from_counts([[[1, 2], [3, 4]], [[1, -1], [1, 1]]])


def test_many_tables_are_not_one() -> None:
    with raises(DataError, 3, ("attribute", "prediction", "outcome"), 4):
        Observed.of(np.stack([EVEN, EVEN]))


def test_shares_that_are_none_are_refused() -> None:
    with raises(DataError, 2, 0.5, 0.6):
        Observed.of(EVEN, [0.5, 0.6])

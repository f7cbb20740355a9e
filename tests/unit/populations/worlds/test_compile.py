import numpy as np
import pytest

from isonomia.errors import DataError
from isonomia.populations.worlds.compile import in_double_precision, truth_values
from isonomia.spec.fairsquare.tree import Reference


@pytest.mark.parametrize(
    "value", [3, True, np.int8(3), np.float32(0.5), np.asarray([1, 2]), np.asarray([True, False]), np.asarray(2)]
)
def test_numbers_are_taken_in_double_precision(value):
    found = np.asarray(in_double_precision(value))
    assert found.dtype == np.float64
    assert np.array_equal(found, np.asarray(value, dtype=float))


def test_whole_numbers_do_not_overflow():
    large = in_double_precision(np.asarray([10**10]))
    assert (large * large).tolist() == [1e20]


@pytest.mark.parametrize("value", ["a", np.asarray(["a"], dtype=object), np.asarray([None])])
def test_text_is_no_number(value):
    with pytest.raises(DataError, match="expected a number for arithmetic"):
        in_double_precision(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (np.asarray([True, False]), [True, False]), (np.asarray([1, 0]), [True, False]), (1.0, True)],
)
def test_zero_and_one_count_as_truth_values(value, expected):
    found = np.asarray(truth_values(value, Reference("x")))
    assert found.dtype == np.bool_
    assert found.tolist() == expected


@pytest.mark.parametrize("value", [np.asarray([1, 2]), np.asarray([0.5]), np.asarray(["yes"], dtype=object), np.nan])
def test_nothing_else_is_a_condition(value):
    with pytest.raises(DataError, match="expected true or false as a condition, but 'x' holds"):
        truth_values(value, Reference("x"))

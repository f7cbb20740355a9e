"""Values as numbers."""

from __future__ import annotations

import numpy as np

from isonomia.audits.principal.question import Coding, coding_of
from isonomia.errors import DataError
from raising import raises


def test_values_are_numbered_ascending() -> None:
    coding = coding_of("sex", [np.asarray(["M", "F", "M"], dtype=object)])
    assert coding.values == ("F", "M")
    assert coding.codes(np.asarray(["M", "M", "F"], dtype=object)).tolist() == [1, 1, 0]


def test_an_order_is_kept() -> None:
    coding = coding_of("risk", [np.asarray([1, 2]), np.asarray([3])], order=[3, 1, 2])
    assert coding.codes(np.asarray([1, 2, 3])).tolist() == [1, 2, 0]


def test_a_value_outside_the_order_is_refused() -> None:
    with raises(DataError, "risk", (1, 2), 3):
        coding_of("risk", [np.asarray([1, 3])], order=[1, 2])


def test_one_value_is_refused() -> None:
    with raises(DataError, 2, "sex", "['F']"):
        coding_of("sex", [np.asarray(["F", "F"], dtype=object)])


def test_a_missing_value_is_refused_with_its_row() -> None:
    with raises(DataError, "prediction", 1, 3, 2):
        Coding("prediction", (0.0, 1.0)).codes(np.asarray([0.0, 1.0, np.nan]))


def test_an_unknown_value_is_refused() -> None:
    with raises(DataError, "F", "M", "X", "sex"):
        Coding("sex", ("F", "M")).codes(np.asarray(["F", "X"], dtype=object))

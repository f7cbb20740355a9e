"""Fractions in records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from isonomia.errors import DataError
from isonomia.records.journal import exact_fraction


@pytest.mark.parametrize("value", [Fraction(3, 4), Fraction(-7), Fraction(10**300, 7**200)])
def test_a_fraction_that_python_wrote_is_read_again(value: Fraction) -> None:
    assert exact_fraction(str(value)) == value


@pytest.mark.parametrize("text", ["1e999999999", "1/0", "0x10", "", "1.5", " 1", "1" * 5000, None, 3, "1/-3", "٣"])
def test_nothing_else_is_read(text: Any) -> None:
    with pytest.raises(DataError, match="expected a fraction"):
        exact_fraction(text)

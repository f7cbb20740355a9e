"""Distinct violations are counted as a set of tuples counts them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.records.violations import DistinctCount, digests

WHOLE = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
REAL = st.sampled_from([0.0, -0.0, 0.5, 1.0]) | st.floats(allow_nan=False)
ROWS = st.lists(st.tuples(WHOLE, WHOLE, REAL), max_size=30)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(ROWS, st.integers(0, 2)), max_size=6))
def test_the_count_is_that_of_a_set(batches: list[tuple[list[tuple[int, int, float]], int]]) -> None:
    count, expected = DistinctCount(), set()
    for rows, salt in batches:
        columns = [np.array([row[place] for row in rows], dtype=kind) for place, kind in enumerate((int, int, float))]
        count.add(digests(columns, salt))
        expected |= {(salt, *row) for row in rows}
        assert len(count) == len(expected)
    assert count.exact

"""Rows of a table at the ends of its columns."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.populations.domains import tables
from isonomia.populations.domains.tables import rows_at_ends, table_domain
from isonomia.populations.table import Table


def found(*columns: np.ndarray, most: int = 64, seed: int = 0) -> list[int]:
    return [int(row) for row in rows_at_ends(columns, most, np.random.default_rng(seed))]


def texts(*values: object) -> np.ndarray:
    return np.fromiter(values, dtype=object, count=len(values))


def test_smallest_largest_zero_and_missing_numbers_are_ends() -> None:
    assert sorted(found(np.array([3.0, -2.0, 0.0, 7.0, np.nan, 1.0]))) == [1, 2, 3, 4]


def test_each_of_few_values_is_an_end_and_of_many_texts_the_shortest_and_the_longest() -> None:
    assert {row % 3 for row in found(texts("a", "b", None, "a", "b", None))} == {0, 1, 2}
    many = texts(*("x" * (5 + number) for number in range(20)), "", None)
    assert set(found(many)) == {20, 19, 21}
    assert set(found(np.array([True, True, False]))) == {0, 1, 2}


def test_a_row_at_many_ends_comes_before_rows_at_one() -> None:
    rng = np.random.default_rng(5)
    columns = [rng.integers(1, 9, 300) for _ in range(4)]
    for column in columns:
        column[17], column[170] = 0, 9
    for seed in range(10):
        assert set(found(*columns, most=8, seed=seed)) >= {17, 170}


def test_every_end_has_its_turn() -> None:
    numbers = [np.roll(np.arange(50), 3 * shift) for shift in range(8)]
    wanted = {int(place) for column in numbers for place in (column.argmin(), column.argmax())}
    assert set(found(*numbers)) >= wanted


def test_rows_at_the_same_ends_do_not_crowd_out_others() -> None:
    same = np.zeros(500, dtype=int)
    same[400:], same[499] = 1, 2
    other = np.arange(500) % 7
    chosen = found(same, other, most=8)
    assert 499 in chosen
    assert len({(same[row], other[row]) for row in chosen}) >= 6


def test_no_more_rows_than_wanted_and_none_twice() -> None:
    columns = [np.random.default_rng(column).integers(0, 4, 200) for column in range(6)]
    chosen = found(*columns, most=16)
    assert len(chosen) == len(set(chosen)) == 16


def test_without_any_end_rows_are_taken_at_random() -> None:
    assert len(set(found(np.full(10, 3), most=4))) == 4
    assert found(np.full(3, np.nan)) != []
    assert found() == found(np.zeros(0)) == []


def test_the_outermost_rows_of_a_long_table_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LOOKED_THROUGH", 100)
    rng = np.random.default_rng(2)
    columns = [rng.normal(size=5_000), rng.permutation(5_000), np.full(5_000, np.nan)]
    wanted = {int(place) for column in columns[:2] for place in (column.argmin(), column.argmax())}
    assert set(found(*columns)) >= wanted


def test_a_table_looks_at_the_rows_and_columns_that_the_model_is_given() -> None:
    table = Table.of({"a": np.arange(10), "right": np.arange(10)[::-1] % 5})
    domain = table_domain(table, {}, {}, "right", {})
    rows = np.array([3, 4, 5, 8], dtype=np.intp)
    assert set(domain.edge_cases(rows, 2, np.random.default_rng(0)).tolist()) == {3, 8}

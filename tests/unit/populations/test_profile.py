"""Columns in short."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pytest

from isonomia.populations.profile import ColumnProfile, profile_of, signs_of_repeats
from isonomia.populations.table import Table


def profile(values: Any, name: str = "x") -> ColumnProfile:
    return profile_of(Table.of({name: values}), name)


def boxed(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    ("values", "kind", "missing"),
    [
        ([None, None], "nothing", 2),
        ([True, None, False], "truth", 1),
        (["a", 3, None], "other", 1),
        (["b", "a", "b"], "text", 0),
        (["2020-01-31", "2021-12-01"], "date", 0),
        ([2**60, None, 7], "whole", 1),
        ([2**70, None, 7], "other", 1),
    ],
)
def test_a_column_of_objects_is_told_by_what_it_holds(values: Any, kind: str, missing: int) -> None:
    column = profile(boxed(values))
    assert (column.kind, column.missing) == (kind, missing)


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (np.asarray([True, False]), "truth", "true or false"),
        ([1, 2, 2], "whole", "whole numbers from 1 to 2"),
        ([1.0, np.nan, 2.0], "whole", "whole numbers from 1 to 2, missing in 1 of 3 rows"),
        ([0.5, np.inf], "number", "numbers from 0.5 to 0.5, missing in 1 of 2 rows"),
        ([np.nan, np.nan], "nothing", "no value at all"),
        (["b", "a"], "text", "2 different texts"),
        (np.asarray(["2020-01-31", "2021-12-01"], dtype="datetime64[s]"), "date", "dates"),
        (boxed(["a", 3]), "other", "neither numbers nor truth values nor texts"),
    ],
)
def test_a_column_in_words(values: Any, kind: str, words: str) -> None:
    column = profile(values)
    assert (column.kind, column.words()) == (kind, words)


def test_values_are_counted_in_order() -> None:
    assert list(profile(["b", "a", "b"]).counts.items()) == [("a", 1), ("b", 2)]
    assert list(profile([10.0, 9.0, 9.0]).counts.items()) == [(9.0, 2), (10.0, 1)]
    many = profile(np.arange(1001))
    assert (many.counts, many.varieties, many.low, many.high) == ({}, 1001, 0.0, 1000.0)
    assert isnan(profile(["a"]).low)
    assert isnan(profile(["a"]).high)


def test_a_column_tells_people_apart_by_its_name_or_by_texts_that_all_differ() -> None:
    assert profile(np.arange(10), "customer_id").identifier
    assert not profile(np.arange(10), "amount").identifier
    assert not profile([1, 1, 1, 2, 2, 2], "id").identifier
    assert profile([f"t{j}" for j in range(21)]).identifier
    assert not profile([f"t{j}" for j in range(20)]).identifier


def test_a_number_column_with_infinite_values_is_looked_at_without_a_warning() -> None:
    rng = np.random.default_rng(1)
    table = Table.of({"income": np.where(rng.random(100) < 0.5, np.inf, rng.random(100)), "y": rng.integers(0, 2, 100)})
    signs = signs_of_repeats(table)
    assert not any("income" in sign for sign in signs)

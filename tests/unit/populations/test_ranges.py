"""People of whom only the ranges of their features are known."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import isonomia as iso
from isonomia.errors import UsageError
from isonomia.populations.ranges import Ranges
from raising import raises

FEATURES = {"age": (18, 20), "weight": (0.5, 2.0), "sex": ["F", "M"]}


def rows(table: dict[str, Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(np.asarray(column).tolist() for column in table.values()), strict=True))


def test_draws_stay_in_their_ranges_and_reach_both_ends_of_whole_numbers() -> None:
    table = Ranges(FEATURES)(3_000, np.random.default_rng(1))
    assert set(table["age"].tolist()) == {18, 19, 20}
    assert set(table["sex"].tolist()) == {"F", "M"}
    assert 0.5 <= table["weight"].min() < 0.51
    assert 1.99 < table["weight"].max() <= 2.0
    assert table["age"].dtype.kind == "i"


def test_draws_are_uniform_and_independent() -> None:
    n = 60_000
    table = Ranges(FEATURES)(n, np.random.default_rng(2))
    low, high = binom.ppf([5e-8, 1 - 5e-8], n, 1 / 12)  # 12 cells: a false alarm in less than 1e-6 of seeds
    for age, sex, heavy in product((18, 19, 20), ("F", "M"), (True, False)):
        hit = (table["age"] == age) & (table["sex"] == sex) & ((table["weight"] > 1.25) == heavy)
        assert low <= hit.sum() <= high


def test_few_edge_cases_are_all_there_are() -> None:
    found = rows(Ranges(FEATURES).edge_cases(64, np.random.default_rng(0)))
    assert sorted(found) == sorted(product((18, 20), (0.5, 2.0), ("F", "M")))


def test_zero_is_an_edge_case_where_it_lies_between_and_nowhere_else() -> None:
    people = Ranges({"change": (-1.0, 3.0), "debt": (0, 9), "rate": (2, 2)})
    found = rows(people.edge_cases(64, np.random.default_rng(0)))
    assert sorted(found) == sorted(product((-1.0, 0.0, 3.0), (0, 9), (2,)))


def test_of_many_edge_cases_every_pair_of_ends_occurs() -> None:
    features = {f"x{number}": (0, 9) for number in range(12)}
    table = Ranges(features).edge_cases(64, np.random.default_rng(0))
    found = rows(table)
    assert len(found) == len(set(found)) == 64
    assert {(0,) * 12, (9,) * 12} <= set(found)
    for one, other in combinations(table, 2):
        assert set(zip(table[one].tolist(), table[other].tolist(), strict=True)) == set(product((0, 9), repeat=2))


def test_a_generator_of_ranges_is_told_from_one_of_others() -> None:
    prints = [iso.Generator(Ranges({"age": ends})).fingerprint() for ends in ((18, 90), (18, 90), (18, 91), (18.0, 90))]
    assert len(set(prints)) == 3
    assert prints[0] == prints[1]


def test_ranges_serve_rates_too() -> None:
    verdict = iso.check("P[age >= 54] >= 0.4", population=iso.Generator(Ranges({"age": (18, 90)})), seed=1)
    assert verdict.answer == "holds"


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"age": (90, 18)},
        {"age": (18,)},
        {"age": [18, 90, [1]][:0]},
        {"age": (0.0, float("inf"))},
        {"age": (True, False)},
        {"age": (0, 2**70)},
        {"age": "18-90"},
        None,
    ],
)
def test_what_is_no_range_is_refused_with_what_came(said: Any) -> None:
    with raises(UsageError, name="age" if said else "ranges"):
        Ranges(said)

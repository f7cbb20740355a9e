"""Combinations of levels."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from isonomia.populations.ranges import combined


@pytest.mark.parametrize("levels", [[1], [3], [2, 3], [4, 1, 2, 8]])
def test_few_combinations_are_all_there_are(levels: list[int]) -> None:
    found = combined(levels, 64, np.random.default_rng(0)).tolist()
    assert sorted(map(tuple, found)) == sorted(product(*map(range, levels)))


@pytest.mark.parametrize(("levels", "most"), [([3] * 4, 64), ([2] * 20, 64), ([4, 3] * 6, 64), ([8, 8, 8], 128)])
def test_many_combinations_are_as_many_as_wanted_and_have_every_pair(levels: list[int], most: int) -> None:
    found = combined(levels, most, np.random.default_rng(1))
    assert len({tuple(row) for row in found.tolist()}) == len(found) == most
    assert found[0].tolist() == [0] * len(levels)
    assert found[1].tolist() == [1] * len(levels)
    for one, other in combinations(range(len(levels)), 2):
        pairs = {tuple(pair) for pair in found[:, [one, other]].tolist()}
        assert pairs == set(product(range(levels[one]), range(levels[other])))


def test_a_greedy_choice_covers_pairs_sooner_than_chance() -> None:
    def missing(rows: np.ndarray) -> int:
        pairs = combinations(range(10), 2)
        return sum(9 - len({tuple(pair) for pair in rows[:, list(pair)].tolist()}) for pair in pairs)

    greedy = [missing(combined([3] * 10, 18, np.random.default_rng(seed))) for seed in range(20)]
    chance = [missing(np.random.default_rng(seed).integers(0, 3, (18, 10))) for seed in range(20)]
    assert np.mean(greedy) < 0.6 * np.mean(chance)


def test_where_hardly_any_are_left_the_search_for_new_ones_ends() -> None:
    assert 2 <= len(combined([2] * 7, 127, np.random.default_rng(0))) <= 127


def test_one_combination_is_the_first() -> None:
    assert combined([2, 2], 1, np.random.default_rng(0)).tolist() == [[0, 0]]

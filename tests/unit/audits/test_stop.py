"""A check that goes on after it has decided: until its interval is narrow, or until everybody was counted."""

from __future__ import annotations

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import UsageError

CLAIM = "P[y | g == 'a'] / P[y | g == 'b'] >= 0.5"


@pytest.fixture(scope="module")
def people() -> iso.Sample:
    rng = np.random.default_rng(0)
    group = np.where(rng.random(4_000) < 0.5, "a", "b")
    return iso.Sample({"g": group, "y": rng.random(4_000) < np.where(group == "a", 0.24, 0.30)})


def test_it_goes_on_until_the_interval_is_narrow_or_nobody_is_left(people: iso.Sample) -> None:
    decided = iso.check(CLAIM, population=people, seed=1)
    precise = iso.check(CLAIM, population=people, seed=1, stop="precise", width=0.4)
    everybody = iso.check(CLAIM, population=people, seed=1, stop="all")
    assert decided.answer == precise.answer == everybody.answer == "holds"
    assert decided.samples < precise.samples < everybody.samples == 4_000
    widths = [high - low for low, high in (decided.interval, precise.interval, everybody.interval)]
    assert widths[0] > 0.4 >= widths[1] > widths[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "precice", "width": 0.1}, "Did you mean 'precise'"),
        ({"stop": "precise"}, "expected width together with stop='precise'"),
        ({"width": 0.1}, "expected width together with stop='precise'"),
        ({"stop": "precise", "width": -1.0}, "a number above 0"),
        ({"stop": "all", "looks": "once"}, "leave out one of them"),
    ],
)
def test_what_does_not_go_together_is_refused(people: iso.Sample, options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        iso.check(CLAIM, population=people, **options)


def test_everybody_of_a_population_without_end_takes_a_budget() -> None:
    coins = iso.Generator(lambda n, rng: {"y": rng.random(n) < 0.5})
    with pytest.raises(UsageError, match="give a budget"):
        iso.check("P[y] >= 0.1", population=coins, stop="all")
    assert iso.check("P[y] >= 0.1", population=coins, stop="all", budget=3_000, seed=1).samples == 3_000


def test_only_rates_go_on(people: iso.Sample) -> None:
    claim = iso.safety.monotone("y")
    with pytest.raises(UsageError, match="for properties about rates"):
        iso.check(claim, population=people, stop="all")

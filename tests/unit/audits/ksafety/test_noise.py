"""Models that answer at random: what must always be true is refused, and flips beyond their own noise are decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from known_people import PEOPLE, RISING, at_least_three
from numpy.typing import NDArray

import isonomia as iso
from isonomia.errors import SpecError, UsageError
from raising import raises

Columns = dict[str, NDArray[Any]]

NAMES = {"name": np.repeat(["Emily", "Lakisha"], 4_000), "cv": np.tile(np.arange(4_000), 2)}


class Coin:
    """Says yes with a probability that depends on the name alone."""

    def __init__(self, emily: float = 0.5, lakisha: float = 0.5, seed: int = 0) -> None:
        self.chances, self.rng, self.asked = {"Emily": emily, "Lakisha": lakisha}, np.random.default_rng(seed), 0

    def __call__(self, table: Columns) -> NDArray[Any]:
        self.asked += len(table["name"])
        chances = np.array([self.chances[name] for name in table["name"]])
        return np.where(self.rng.random(len(chances)) < chances, "YES", "NO")


def flips(model: Any, eps: float = 0.05, population: Any = None, **options: Any) -> iso.Verdict:
    people = iso.Sample(NAMES) if population is None else population
    return iso.check(iso.safety.flips("name", eps=eps), model, people, seed=1, random_model=True, **options)


@pytest.mark.parametrize("population", [iso.Sample(NAMES), iso.Census(NAMES)])
def test_what_must_always_be_true_is_refused_of_a_coin(population: Any) -> None:
    with raises(UsageError, name="random_model"):
        iso.check(iso.safety.invariant_to("name"), Coin(), population, seed=1, random_model=True)


@pytest.mark.parametrize("population", [None, iso.Census(NAMES)])
def test_a_coin_does_not_flip_beyond_its_noise(population: Any) -> None:
    verdict = flips(Coin(), population=population)
    assert (verdict.answer, verdict.risk) == ("holds", 0.05)
    (compared,) = verdict.expressions
    assert compared.low <= 0.0 <= compared.high <= 0.05 == compared.threshold
    assert not any("this time" in assumption for assumption in verdict.assumptions)


def test_a_model_that_reads_the_name_flips_beyond_its_noise_and_the_cases_shown_did_so_again() -> None:
    verdict = flips(Coin(0.95, 0.2))
    assert (verdict.answer, verdict.risk) == ("violated", 0.05)
    assert verdict.expressions[0].low >= 0.05
    assert verdict.counterexamples
    for item in verdict.counterexamples:
        assert item["outputs"]["d1"] != item["outputs"]["d2"]
        assert not item["minimal"]


def test_a_reference_that_is_a_coin_hides_no_change() -> None:
    """Noise measured at the unchanged record alone would exceed the changes: P[change] = P[asked again] = 1/2."""
    prop = iso.safety.property(
        'input x1; var x2 := setFeat(x1, "name", "Lakisha"); requires x1.name == "Emily"; output d1; output d2;'
        "{ d1 = predict(x1); d2 = predict(x2) } ensures d1 == d2 up to noise + 0.05;"
    )
    verdict = iso.check(prop, Coin(0.5, 1.0), iso.Sample(NAMES), seed=1, random_model=True)
    assert verdict.answer == "violated"
    assert verdict.expressions[0].low <= 0.25 <= verdict.expressions[0].high


def test_each_case_asks_four_times_however_often_a_record_repeats() -> None:
    model = Coin()
    verdict = flips(model, population=iso.Census({"name": np.array(["Emily", "Lakisha"])}), budget=200)
    shown_again = 4 * 10  # at most ten counterexamples
    assert 4 * verdict.details["cases"]["tested"] <= model.asked <= 4 * verdict.details["cases"]["tested"] + shown_again


def test_a_rate_claimed_of_a_random_model_rests_on_an_answer_of_its_own_for_every_case() -> None:
    people = iso.Census({"name": np.array(["Emily", "Lakisha"])})
    prop = iso.safety.property(str(iso.safety.invariant_to("name")).replace("d1 == d2;", "d1 == d2 in 40% of cases;"))
    verdict = iso.check(prop, Coin(), people, seed=1, random_model=True)
    assert verdict.method == "tests", "every case was not tried once: its answer is random"
    assert verdict.answer == "holds"
    assert verdict.leaves[0].low <= 0.5 <= verdict.leaves[0].high


def test_a_deterministic_model_has_no_noise_and_the_claim_is_about_the_share_of_changes() -> None:
    text = RISING.replace("ensures d1 <= d2;", "ensures d1 <= d2 up to noise + 10%;")
    verdict = iso.check(iso.safety.property(text), at_least_three, iso.Census(PEOPLE), seed=1)
    assert verdict.answer == "holds"
    assert verdict.details["noise"] == {"changes": 0.0, "again": 0.0}


def test_numbers_that_never_repeat_need_a_tolerance() -> None:
    rng = np.random.default_rng(0)

    def noisy(table: Columns) -> NDArray[Any]:
        return rng.normal(np.where(table["name"] == "Emily", 0.0, 2.0))

    with raises(UsageError, "tolerance=0.1", 37):
        flips(noisy)
    prop = iso.safety.flips("name", eps=0.05, tolerance=1.5)
    assert iso.check(prop, noisy, iso.Sample(NAMES), seed=1, random_model=True).answer == "violated"
    same = iso.check(prop, lambda table: rng.normal(size=len(table["name"])), iso.Sample(NAMES), random_model=True)
    assert same.answer in {"holds", "undecided"}


@pytest.mark.parametrize(
    "ensures",
    ["ensures d1 == d2 up to noise + 2%; ensures d1 <= d2;", "ensures d1 == 1 up to noise + 2%;"],
)
def test_noise_needs_one_condition_on_two_answers(ensures: str) -> None:
    text = RISING.replace("ensures d1 <= d2;", ensures)
    with pytest.raises(SpecError, match="two outputs"):
        iso.check(iso.safety.property(text), at_least_three, iso.Census(PEOPLE), seed=1)


@pytest.mark.parametrize("eps", [-0.1, 1.0, True, "0.1"])
def test_a_margin_is_a_share(eps: Any) -> None:
    with pytest.raises(UsageError):
        iso.safety.flips("name", eps=eps)


def test_every_case_cannot_be_tried_once_where_answers_are_random() -> None:
    prop = iso.safety.flips("name", enumerate=True)
    with raises(UsageError, "enumerate=False"):
        iso.check(prop, Coin(), iso.Census(NAMES), seed=1, random_model=True)

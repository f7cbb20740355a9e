"""A verdict says no more than is so: counts, required rates, what is exact, and on what it rests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from known_people import PEOPLE, RISING, spared_at_six
from numpy.typing import NDArray

import isonomia as iso
from isonomia.records import Verdict
from raising import raises

HEAD = "input x1;\noutput d1;\n{ d1 = predict(x1) }\n"
FOUR = iso.Census({"a": [0, 1, 2, 3]})


def check(text: str, model: Any, population: Any, budget: int | None = None, **options: Any) -> Verdict:
    return iso.check(iso.safety.property(text, **options), model, population, seed=1, budget=budget)


def one(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.ones(len(table["a"]), dtype=int)


def one_at_zero(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.where(np.asarray(table["a"]) == 0, 1, 2)


def test_violations_of_fresh_inputs_are_distinct_although_draws_are_rejected() -> None:
    def people(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"a": rng.integers(0, 4, n), "c": rng.normal(size=n)}  # no two people alike

    text = "input x1;\nvar v := randInt(0, 1);\nrequires x1.a == 3;\n" + HEAD.removeprefix("input x1;\n")
    text += "ensures d1 > v + 1;\n"
    verdict = check(text, one, iso.Generator(people), enumerate=False, stop_early=False, budget=3000)
    assert verdict.details["cases"]["rejected"] > 3000  # so that batches are drawn in several pieces
    found = verdict.details["violations"]
    assert (found["cases"], found["distinct"], found["inputs"]) == (3000, 3000, 3000)


def test_a_required_rate_in_percent_is_met_by_exactly_as_many_cases() -> None:
    thousand = iso.Census({"a": list(range(1000))})
    assert check(HEAD + "ensures d1 == 2 in 99.9% of cases;\n", one_at_zero, thousand).answer == "holds"
    assert check(HEAD + "ensures d1 == 2 in 99.91% of cases;\n", one_at_zero, thousand).answer == "violated"


@pytest.mark.parametrize(
    ("imported", "drawn"),
    [
        ("from random import gauss", "gauss(0, 1)"),
        ("import random as luck", "luck.gauss(0, 1)"),
        ("import numpy.random as luck", "luck.normal()"),
        ("from os import urandom as bits", "bits(1)[0] - 128"),
    ],
)
def test_a_block_that_draws_under_another_name_is_not_taken_for_exact(imported: str, drawn: str) -> None:
    text = f"input x1;\noutput d1;\n{{\n    {imported}\n    d1 = predict(x1) + ({drawn} > 0)\n}}\nensures d1 == 1;\n"
    verdict = check(text, one, iso.Census({"a": [0]}), allow_code=True)
    assert (verdict.answer, verdict.method) == ("violated", "tests")


def test_functions_that_were_brought_along_are_assumed_to_draw_nothing() -> None:
    text = "input x1;\nvar v := share(x1.a);\noutput d1;\n{ d1 = predict(x1) }\nensures v <= d1;\n"
    told = "share always gives the same result for the same arguments"
    assert told in check(text, one, FOUR, functions={"share": lambda a: a / 9, "other": lambda a: a}).assumptions
    assert told not in check(HEAD + "ensures d1 == 1;\n", one, FOUR, functions={"share": lambda a: a}).assumptions


def test_a_known_counterexample_of_other_people_says_so() -> None:
    first = check(RISING, spared_at_six, iso.Census(PEOPLE))
    again = check(RISING, spared_at_six, iso.Census(PEOPLE), known=first.counterexamples)
    fewer = iso.Sample({name: values[:1] for name, values in PEOPLE.items()})
    elsewhere = check(RISING, spared_at_six, fewer, known=first.counterexamples)
    assert again.answer == elsewhere.answer == "violated"
    told = [any("none of them is among the given inputs" in item for item in v.remarks) for v in (again, elsewhere)]
    assert told == [False, True]
    assert not any("holds for all but" in item for item in elsewhere.remarks)


def test_a_stored_choice_between_whole_numbers_is_no_choice() -> None:
    def halves(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        return (np.asarray(table["priors"]) % 1 == 0).astype(int)

    first = check(RISING, spared_at_six, iso.Census(PEOPLE)).counterexamples[0]
    assert check(RISING, halves, iso.Census(PEOPLE), known=[{**first, "choices": [1.5]}]).answer == "holds"


def test_a_causal_model_of_real_people_is_refused_with_what_to_give_instead() -> None:
    world = iso.Causal({"a": "gaussian(0, 1)"})
    with raises(iso.UsageError, name="population"):
        check(HEAD + "ensures d1 == 1;\n", one, world.about(iso.Sample({"a": [0.5, 1.5]})))


CHOOSES = "input x1;\nvar v := randInt(0, 2);\noutput d1;\n{ d1 = predict(x1) }\n"


def test_cases_of_a_sample_and_random_ones_besides_are_told_apart() -> None:
    people = iso.Sample({"a": list(range(40))})
    broken = check(CHOOSES + "ensures d1 + v > 1;\n", one_at_zero, people)
    cases = broken.details["cases"]
    assert (broken.answer, cases["tested"], cases["further"], broken.samples) == ("violated", 120, 40, 160)
    assert broken.stopped == "all 120 cases of these rows were tried, and 40 random ones in addition"
    assert any("is estimated from the 40 random cases, one per row" in item for item in broken.remarks)
    kept = check(CHOOSES + "ensures d1 + v >= 1;\n", one_at_zero, people)
    cases = kept.details["cases"]
    assert cases["tested"] + cases["further"] == kept.samples
    told = f"all 120 were tried. They are a sample of the population, so {cases['tested']:,} random cases were"
    assert any(told in item for item in kept.remarks)


def test_two_bounds_of_a_share_are_told_apart() -> None:
    def people(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"a": rng.integers(0, 4, n)}

    verdict = check(HEAD + "ensures d1 == 1;\n", one, iso.Generator(people), budget=2000, eps=1e-4, edge_cases=False)
    (told,) = [item for item in verdict.remarks if "showed no violation" in item]
    by_itself = 1 - 0.05 ** (1 / 2000)
    assert verdict.answer == "undecided"
    assert verdict.interval[1] > by_itself
    assert f"which proves that it holds for all but {by_itself:.3g} of the cases, at the risk 0.05" in told
    assert told.endswith("the interval of the share must also cover the case of violations, so it is wider")

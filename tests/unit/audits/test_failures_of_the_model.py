"""Every failure of the model counts, in every step of every audit: no answer forgets one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isonomia as iso
from isonomia.interventions import Feature, Interventions
from raising import raises

Model = Callable[[Mapping[str, Any]], NDArray[Any]]


def fails_at(age: int) -> Model:
    def model(table: Mapping[str, Any]) -> NDArray[Any]:
        ages = np.asarray(table["age"])
        if (ages == age).any():
            raise ValueError(f"no table for the age {age}")
        return (ages > 30).astype(int)

    return model


RISES = iso.safety.monotone("age", up=(1, 5), eps=0.2)
SIXTY = {"age": np.arange(60) // 2 + 20, "sex": ["F", "M"] * 30, "repaid": [0, 1, 1] * 20}


@pytest.mark.parametrize("seed", range(6))
def test_ksafety_of_a_sample_remembers_what_failed_while_its_rows_were_listed(seed: int) -> None:
    verdict = iso.check(RISES, fails_at(54), iso.Sample(SIXTY), seed=seed)
    assert verdict.answer == "undecided"
    assert any("no table for the age 54" in remark for remark in verdict.remarks)
    assert iso.check(RISES, fails_at(0), iso.Sample(SIXTY), seed=seed).answer == "holds"


def test_ksafety_remembers_an_edge_case_that_failed() -> None:
    draws = iso.Generator(iso.Ranges({"age": (20, 50)}))
    rises = iso.safety.monotone("age", up=(0.0, 5.0), at_most=100, eps=0.2)

    def model(table: Mapping[str, Any]) -> NDArray[Any]:
        ages = np.asarray(table["age"])
        if (ages == 55.0).any():  # the last age with the largest change, exactly, which no draw meets
            raise ValueError("no table for the age 55")
        return (ages > 30).astype(int)

    verdict = iso.check(rises, model, draws, seed=1)
    assert verdict.details["edge_cases"]["failed"] > 0
    assert verdict.answer == "undecided"
    assert any("no table for the age 55" in remark for remark in verdict.remarks)


def test_ksafety_remembers_a_known_counterexample_on_which_the_model_fails_now() -> None:
    def falls(table: Mapping[str, Any]) -> NDArray[Any]:
        return (np.asarray(table["age"]) != 54).astype(int)

    people = iso.Sample(SIXTY)
    before = iso.check(RISES, falls, people, seed=1)
    assert before.answer == "violated"
    known = iso.safety.monotone(
        "age", up=(1, 5), eps=0.2, enumerate=False, edge_cases=False, known=before.counterexamples
    )

    def now(table: Mapping[str, Any]) -> NDArray[Any]:
        ages = np.asarray(table["age"])
        if len(ages) <= 2 and (ages == 54).any():
            raise ValueError("no table for the age 54")
        return (ages > 30).astype(int)

    verdict = iso.check(known, now, people, seed=1)
    assert verdict.answer == "undecided"
    assert any("no table for the age 54" in remark for remark in verdict.remarks)


@pytest.mark.parametrize("population", [iso.Sample, iso.Census, lambda data: iso.Census(data, exact=False)])
def test_rates_stop_at_a_model_that_raises(population: Callable[[Any], Any]) -> None:
    with raises(iso.ModelError, "fails_at", "age", 24, cause=ValueError):
        iso.check("P[prediction == 1] >= 0.5", fails_at(24), population(SIXTY), seed=1)


@pytest.mark.parametrize("population", [iso.Sample, iso.Census])
def test_principal_fairness_stops_at_a_model_that_raises(population: Callable[[Any], Any]) -> None:
    fair = iso.PrincipalFairness(attribute="sex", outcome="repaid", within=0.5)
    with raises(iso.ModelError, "fails_at", "age", "sex", "repaid", 24, cause=ValueError):
        iso.check(fair, fails_at(24), population(SIXTY), seed=1)


@pytest.mark.parametrize("reached", [24, 52])
def test_responsiveness_stops_at_a_model_that_raises(reached: int) -> None:
    # 24 is the age of a person, 52 one that somebody can only reach.
    changes = Interventions((Feature("age", "integer", 20, 60),))
    claim = iso.Responsiveness(changes, 1, at_least=0.1)
    with raises(iso.ModelError, reached, "age", cause=iso.ModelError):
        iso.check(claim, fails_at(reached), iso.Census({"age": SIXTY["age"]}), seed=1)


class SilentError(Exception):
    """Does not even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("error", [SilentError, GeneratorExit, SystemExit])
def test_whatever_a_model_or_a_draw_raises_is_told(error: type[BaseException]) -> None:
    def raising(*_: Any) -> Any:
        raise error

    with raises(iso.ModelError, cause=error):
        iso.check("P[prediction == 1] >= 0.5", raising, iso.Sample(SIXTY), seed=1)
    with raises(iso.DataError, cause=error):
        iso.check("P[x] >= 0.5", population=iso.Generator(raising), seed=1)

"""Targets that the model may never give, because they are misspelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.interventions import Feature, Interventions

STEPS = Interventions((Feature("income", "integer", 0, 9), Feature("age", "integer", 0, 99, actionable=False)))
REAL = Interventions((Feature("income", "real", 0.0, 9.0), Feature("age", "integer", 0, 99, actionable=False)))
PEOPLE = {"income": [0, 5, 9], "age": [20, 40, 60]}
CLAIMS = [{"at_least": 0.1}, {"at_most": 0.1}]


def grants(table: Any) -> Any:
    old = (np.asarray(table["income"]) >= 8) & (np.asarray(table["age"]) >= 50)
    return np.where(old, "granted", "denied")


def ask(target: Any, model: Any = grants, actions: Any = STEPS, people: Any = PEOPLE, **options: Any) -> Any:
    return iso.check(iso.Responsiveness(actions, target, **options), model, iso.Census(people), seed=0)


@pytest.mark.parametrize("actions", [STEPS, REAL])
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_misspelled_target_leaves_either_claim_undecided(claim: Any, actions: Any) -> None:
    verdict = ask("grantd", actions=actions, **claim)
    assert (verdict.answer, verdict.risk, verdict.counterexamples) == ("undecided", 0.0, ())
    assert verdict.stopped == "no point that was checked has the target, which may be misspelled"
    assert "These people get 'denied', 'granted'. Did you mean 'granted'?" in verdict.remarks[0]
    assert verdict.details["counts"]["undecided"] == 3


@pytest.mark.parametrize("target", [["grantd", "appproved"], "prediction == 'grantd' and income > 3"])
def test_every_way_to_name_a_class_can_be_misspelled(target: Any) -> None:
    assert ask(target, at_most=0.1).answer == "undecided"


def test_what_everything_differs_from_may_be_misspelled_as_well() -> None:
    assert ask("prediction != 'grantd'", at_least=0.1).answer == "undecided"
    assert ask("prediction != 'granted'", at_least=0.1).answer == "holds"


def test_a_class_of_somebody_whom_it_is_not_about_is_one() -> None:
    verdict = ask("granted", at_least=0.1, who="age < 50")
    assert (verdict.answer, verdict.method) == ("violated", "exact")
    assert ask("granted", at_most=0.1, who="age < 50").answer == "holds"


@pytest.mark.parametrize(("claim", "answer"), list(zip(CLAIMS, ["violated", "holds"], strict=True)))
def test_yes_and_no_are_classes_of_a_model_that_answers_so(claim: Any, answer: str) -> None:
    never = lambda table: np.zeros(len(table["income"]), dtype=int)  # noqa: E731
    assert ask(1, never, **claim).answer == answer
    assert ask(True, lambda table: never(table).astype(bool), **claim).answer == answer
    assert ask(2, never, **claim).answer == "undecided"


@pytest.mark.parametrize(("claim", "answer"), list(zip(CLAIMS, ["violated", "holds"], strict=True)))
def test_a_model_that_says_its_classes_leaves_no_doubt(claim: Any, answer: str) -> None:
    class Denies:
        classes_ = np.array(["denied", "granted"])

        def predict(self, table: Any) -> Any:
            return np.full(len(table), "denied")

    assert ask("granted", Denies(), **claim).answer == answer


def test_a_condition_that_names_no_class_cannot_be_misspelled() -> None:
    level = lambda table: np.asarray(table["income"], dtype=float)  # noqa: E731
    assert ask((20, None), level, at_most=0.1).answer == "holds"
    assert ask("prediction > 20", level, at_least=0.1).answer == "violated"


def test_rows_that_it_is_not_about_need_no_answer() -> None:
    def picky(table: Any) -> Any:
        if np.isnan(np.asarray(table["age"], dtype=float)).any():
            raise ValueError("no age")
        return grants(table)

    people = {"income": [0, 5], "age": [20.0, np.nan]}
    only = Interventions((Feature("income", "integer", 0, 9),))
    verdict = ask("grantd", picky, only, people, at_most=0.1, rows=0)
    assert verdict.answer == "undecided"
    assert "These people get nothing" in verdict.remarks[0]

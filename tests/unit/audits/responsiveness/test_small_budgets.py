"""Budgets that do not suffice for everybody are spent on the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.responsiveness import sampling
from isonomia.interventions import Feature, Interventions
from isonomia.models.adapt import adapt
from isonomia.models.session import ModelSession
from isonomia.models.steady import Steadiness

STEPS = Interventions((Feature("income", "integer", 0, 9), Feature("age", "integer", 0, 99, actionable=False)))
REAL = Interventions((Feature("income", "real", 0.0, 9.0), Feature("age", "integer", 0, 99, actionable=False)))
PEOPLE = {"income": [0] * 50, "age": [20] * 20 + [60] * 30}


def old_only(table: Any) -> Any:
    return ((np.asarray(table["income"]) >= 8) & (np.asarray(table["age"]) >= 30)).astype(int)


def test_who_can_be_listed_within_the_budget_is_decided() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_most=0.5)
    verdict = iso.check(claim, old_only, iso.Census(PEOPLE), budget=305, seed=0)
    assert (verdict.answer, verdict.stopped, verdict.samples) == ("undecided", "the budget is spent", 300)
    assert verdict.details["people"]["exact"] == [True] * 30 + [False] * 20
    assert verdict.details["counts"] == {"people": 50, "responsive": 0, "fixed": 30, "undecided": 20, "exact": 30}
    assert "20 people are undecided: none of the points that they can reach was checked" in verdict.remarks


def test_who_needs_more_than_is_left_does_not_keep_the_budget_from_others() -> None:
    upwards = Interventions((Feature("income", "integer", 0, 99, direction="up"), STEPS.features[1]))
    people = {"income": [95, 0, 96, 90, 98], "age": [60] * 5}  # who can reach 5, 100, 4, 10 and 2 points
    claim = iso.Responsiveness(upwards, 1, at_least=0.9)
    verdict = iso.check(claim, old_only, iso.Census(people), budget=15, seed=0)
    assert verdict.details["people"]["n"] == [5, 0, 4, 0, 2]
    assert (verdict.answer, verdict.stopped, verdict.samples) == ("undecided", "the budget is spent", 11)


def test_a_violation_within_the_budget_is_found_and_told_with_those_who_are_left() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_least=0.1)
    verdict = iso.check(claim, old_only, iso.Census(PEOPLE), budget=255, seed=0)
    assert (verdict.answer, verdict.risk, verdict.samples) == ("violated", 0.0, 250)
    assert verdict.stopped == "20 people violate it; the budget was spent before 25 others were decided"


def test_a_budget_for_part_of_a_round_is_spent_on_the_first_people() -> None:
    claim = iso.Responsiveness(REAL, 1, at_least=0.05)
    verdict = iso.check(claim, old_only, iso.Census(PEOPLE), budget=8 * 50 + 8 * 10 + 7, seed=0)
    assert verdict.samples == 8 * 60
    assert verdict.details["people"]["n"] == [16] * 10 + [8] * 40


def test_a_fixed_number_of_draws_is_taken_whole_or_not_at_all() -> None:
    claim = iso.Responsiveness(REAL, 1, at_least=0.03, draws=400)
    verdict = iso.check(claim, old_only, iso.Census(PEOPLE), budget=10_300, seed=0)
    assert verdict.details["people"]["n"] == [400] * 25 + [0] * 25
    assert verdict.details["people"]["answer"] == ["fixed"] * 20 + ["responsive"] * 5 + ["undecided"] * 25
    assert (verdict.details["people"]["low"][-1], verdict.details["people"]["high"][-1]) == (0.0, 1.0)


@pytest.mark.parametrize("budget", [1, 9, 10, 11, 499, 500, 501])
def test_no_budget_is_ever_overdrawn(budget: int) -> None:
    for actions in (STEPS, REAL):
        claim = iso.Responsiveness(actions, 1, at_least=0.1)
        verdict = iso.check(claim, old_only, iso.Census(PEOPLE), budget=budget, seed=0)
        assert verdict.samples <= budget


def test_more_budget_never_changes_what_was_counted_of_those_before() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_least=0.1)
    whole = iso.check(claim, old_only, iso.Census(PEOPLE), seed=0).details["people"]["share"]
    for budget in (10, 55, 333):
        some = iso.check(claim, old_only, iso.Census(PEOPLE), budget=budget, seed=0).details["people"]["share"]
        assert some == whole[: budget // 10] + [None] * (50 - budget // 10)


def test_portions_begin_small_where_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_FIRST_TIMED", 20)
    asked: list[int] = []

    def model(table: Any) -> Any:
        asked.append(len(table["age"]))
        return np.arange(len(table["age"])) % 2  # never the same, so that nobody looks for equal rows

    people = {"income": [0] * 50, "age": list(range(50))}
    claim = iso.Responsiveness(STEPS, 1, at_least=0.01)
    quiet = ModelSession(adapt(model), steady=Steadiness(_due=2**62, _first=None))  # nothing is asked a second time
    iso.check(claim, quiet, iso.Census(people), budget="1000s", seed=0)
    assert asked[:5] == [20, 20, 40, 80, 160]


def test_those_whom_draws_did_not_decide_are_told_apart_from_those_who_break_it() -> None:
    people = {"income": [0.0, 0.0], "age": [20, 60]}  # one has no way, the other exactly the share of the claim
    claim = iso.Responsiveness(REAL, 1, at_least=1 / 9, most_draws=400)
    verdict = iso.check(claim, old_only, iso.Census(people), seed=1, delta=1e-3)
    assert verdict.answer == "violated"
    assert verdict.stopped == "1 person violates it; 1 other was not decided by 400 draws each"


def test_draws_without_the_target_are_all_told() -> None:
    claim = iso.responsiveness.preclusion(REAL, 1, who="age < 30")
    verdict = iso.check(claim, old_only, iso.Census({"income": [0.0, 0.0], "age": [20, 60]}), seed=0)
    (found,) = verdict.counterexamples
    (draws,) = verdict.details["people"]["n"]
    assert (found["point"], found["reaching"], found["looked_at"]) == (None, 0, draws + 500)
    least = next(remark for remark in verdict.remarks if "calling a person fixed by draws takes" in remark)
    assert int(least.split("at least ")[1].split(" ")[0].replace(",", "")) <= draws
    assert any("among 500 further draws" in remark for remark in verdict.remarks)

"""Claims about all people together: their average share, and the share of people for whom a claim fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.responsiveness.shares import DecisionRule, PointsByPerson, SharedClaim
from isonomia.audits.responsiveness.view import VIEW
from isonomia.errors import DataError, UsageError
from isonomia.interventions import Feature, Interventions, Linear
from isonomia.records.display.view import TableBlock

STEPS = Interventions((Feature("x", "integer", 0, 9, direction="up"),))
PEOPLE = {"x": [0, 3, 8, 9, 9, 5], "sex": ["F", "M", "F", "M", "F", "M"]}
SHARES = np.asarray([2 / 10, 2 / 7, 1, 1, 1, 2 / 5])


def rich(table: Any) -> Any:
    return (np.asarray(table["x"]) >= 8).astype(int)


def checked(population: Any = None, actions: Interventions = STEPS, **options: Any) -> iso.Verdict:
    prop = iso.Responsiveness(actions, 1, **{"at_least": 0.3, **options})
    return iso.check(prop, rich, iso.Census(PEOPLE) if population is None else population, seed=0)


def test_the_average_of_listed_people_is_exact() -> None:
    verdict = checked(average=True, at_least=0.6, by="sex")
    (item,) = verdict.expressions
    assert item.low == item.high == item.estimate == pytest.approx(SHARES.mean())
    assert (verdict.answer, verdict.risk, verdict.method) == ("holds", 0.0, "exact")
    by_sex = {item["group"]["sex"]: item["quantity"]["estimate"] for item in verdict.details["groups"]}
    assert by_sex == pytest.approx({"F": SHARES[[0, 2, 4]].mean(), "M": SHARES[[1, 3, 5]].mean()})
    assert checked(average=True, at_least=None, at_most=0.6).answer == "violated"


def test_the_average_of_drawn_people_lies_in_its_interval_and_is_decided_early() -> None:
    verdict = checked(average=True, at_least=0.5, most_listed=0)
    (item,) = verdict.expressions
    assert verdict.answer == "holds"
    assert item.low <= SHARES.mean() <= item.high
    assert len(set(verdict.details["people"]["n"])) == 1
    assert verdict.samples < 6 * 200
    mixed = checked(average=True, at_least=0.5, most_listed=5)
    assert mixed.expressions[0].low <= SHARES.mean() <= mixed.expressions[0].high


@pytest.mark.parametrize("listed", [500, 0])
def test_the_share_of_people_who_fail_is_counted(listed: int) -> None:
    few = checked(failing_at_most=0.4, most_listed=listed, by="sex")
    (item,) = few.expressions
    assert few.answer == "holds"
    assert item.low <= 2 / 6 <= item.high
    assert checked(failing_at_most=0.2, most_listed=listed).answer == "violated"
    assert "share of people" in item.text


def test_a_sample_is_about_its_population() -> None:
    many = {"x": np.tile(PEOPLE["x"], 50)}
    census, sample = (checked(kind(many), failing_at_most=0.36) for kind in (iso.Census, iso.Sample))
    assert census.answer == "holds"
    assert sample.answer == "undecided"
    assert sample.expressions[0].low < 1 / 3 < sample.expressions[0].high
    assert checked(iso.Sample(many), failing_at_most=0.45).answer == "holds"
    average = checked(iso.Sample(many), average=True, at_least=0.5)
    assert average.answer == "holds"
    assert average.expressions[0].low < SHARES.mean() < average.expressions[0].high


@pytest.mark.parametrize("budget", [3, 90, 200])
def test_a_spent_budget_leaves_a_valid_interval(budget: int) -> None:
    prop = iso.Responsiveness(STEPS, 1, average=True, at_least=0.64, most_listed=0)
    verdict = iso.check(prop, rich, iso.Census(PEOPLE), seed=0, budget=budget)
    (item,) = verdict.expressions
    assert verdict.answer == "undecided"
    assert item.low <= SHARES.mean() <= item.high


@pytest.mark.parametrize(
    "options",
    [
        {"average": True, "one_is_enough": True},
        {"average": True, "failing_at_most": 0.1},
        {"average": 1},
        {"failing_at_most": 0.0},
        {"failing_at_most": 1.5},
        {"failing_at_most": 0.1, "control": "discovery"},
    ],
)
def test_contradictory_claims_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        iso.Responsiveness(STEPS, 1, at_least=0.3, **options)


def test_reports_show_the_quantity_by_group() -> None:
    verdict = checked(failing_at_most=0.4, by="sex")
    (table,) = (block for block in VIEW.blocks(verdict) if isinstance(block, TableBlock))
    assert [row[0] for row in table.rows] == ["F", "M"]
    assert "without" in checked(failing_at_most=0.4, one_is_enough=True).expressions[0].text


def claim(sampled: bool, **options: Any) -> SharedClaim:
    prop = iso.Responsiveness(STEPS, 1, **options)
    return SharedClaim(prop, 0.05, sampled, DecisionRule.of(prop, 0.05))


def test_groups_of_a_census_add_up() -> None:
    counts = PointsByPerson.empty(4, np.ones(4, dtype=bool))
    rule = DecisionRule.of(iso.Responsiveness(STEPS, 1, at_least=0.3), 0.05)
    counts = counts.drawn(np.arange(4), 50, np.asarray([50.0, 50, 0, 0]), rule)
    item = claim(False, at_least=0.3, average=True).expression(counts)
    assert item.estimate == 0.5
    assert item.low < 0.5 < item.high


@pytest.mark.parametrize("who", [None, "prediction == 0"])
def test_invalid_people_are_left_out_and_counted(who: str | None) -> None:
    people = {"x": [0.0, np.nan, 8.0, 2.5, 99.0, 9.0, 4.0], "sex": list("FMFMFMF")}

    def strict(table: Any) -> Any:
        assert np.isfinite(table["x"]).all()
        return rich(table)

    prop = iso.Responsiveness(STEPS, 1, at_least=0.1, skip_invalid=True, who=who, by="sex")
    verdict = iso.check(prop, strict, iso.Census(people), seed=0)
    assert verdict.details["skipped"] == 3
    assert verdict.details["people"]["row"] == ([0, 2, 5, 6] if who is None else [0, 6])
    assert any("left out" in remark for remark in verdict.remarks)
    with pytest.raises(DataError) as caught:
        iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1, who=who), rich, iso.Census(people), seed=0)
    assert caught.value.row == 1


def test_a_fixed_number_of_draws_goes_with_features_of_two_values() -> None:
    changes = Interventions((Feature("x", "real", 0, 10), Feature("on", "binary")))
    props = iso.responsiveness.by_feature(changes, 1, draws=402)
    model = lambda table: (np.asarray(table["x"]) + 5 * np.asarray(table["on"]) >= 8).astype(int)  # noqa: E731
    found = {
        name: iso.check(prop, model, iso.Census({"x": [5.0], "on": [0]}), seed=0).details["people"]
        for name, prop in props.items()
    }
    assert (found["on"]["share"], found["on"]["exact"]) == ([0.5], [True])
    assert (found["x"]["n"], found["x"]["exact"]) == ([402], [False])


@pytest.mark.parametrize("sense", ["==", "<="])
def test_a_sum_of_rounded_data_may_miss_its_bound_by_the_tolerance(sense: Any) -> None:
    features = tuple(Feature(name, "real", 0, 1) for name in "abc")
    shares = {"a": [0.3333], "b": [0.3333], "c": [0.3335]}
    with pytest.raises(DataError):
        Interventions(features, (Linear(tuple("abc"), (1, 1, 1), sense, 1),)).reach(shares)
    rule = Linear(tuple("abc"), (1, 1, 1), sense, 1, tolerance=0.001)
    sums = Interventions(features, (rule,)).reach(shares).sample(500, np.random.default_rng(0)).values.sum(1)
    assert (sums <= 1.001 + 1e-9).all()
    assert sense == "<=" or (sums >= 0.999 - 1e-9).all()

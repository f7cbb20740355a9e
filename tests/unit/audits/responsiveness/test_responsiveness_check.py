"""Checking responsiveness of small models whose shares are known."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.interventions import Feature, Interventions, Linkage, Memory, Noise
from isonomia.interventions.features import PersonError
from isonomia.records import Verdict
from isonomia.records.display.view import view_of
from isonomia.report.terminal import people_table, points_table
from raising import raises

STEPS = Interventions((Feature("income", "integer", 0, 9), Feature("age", "integer", 0, 99, actionable=False)))
PEOPLE = {"income": [0, 5, 9], "age": [20, 40, 60]}


def rich(table: Any) -> Any:
    return (np.asarray(table["income"]) >= 8).astype(int)


def old_only(table: Any) -> Any:
    return ((np.asarray(table["income"]) >= 8) & (np.asarray(table["age"]) >= 30)).astype(int)


def drawn(features: tuple[Feature, ...] = STEPS.features, **options: Any) -> iso.Responsiveness:
    return iso.Responsiveness(Interventions(features), 1, most_listed=0, **options)


def test_shares_of_listed_people_are_exact() -> None:
    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.2), rich, iso.Census(PEOPLE))
    assert (verdict.answer, verdict.method, verdict.risk) == ("holds", "exact", 0.0)
    assert verdict.details["people"]["share"] == [0.2, 0.2, 0.2]
    assert verdict.details["people"]["n"] == [10, 10, 10]
    assert verdict.samples == 30


def test_a_share_equal_to_the_threshold_meets_both_claims() -> None:
    assert iso.check(iso.Responsiveness(STEPS, 1, at_least=0.2), rich, iso.Census(PEOPLE)).holds is True
    assert iso.check(iso.Responsiveness(STEPS, 1, at_most=0.2), rich, iso.Census(PEOPLE)).holds is True
    assert iso.check(iso.Responsiveness(STEPS, 1, at_most=0.19), rich, iso.Census(PEOPLE)).holds is False
    assert iso.check(iso.Responsiveness(STEPS, 1, at_least=0.21), rich, iso.Census(PEOPLE)).holds is False


def test_a_fixed_person_is_named_and_counted_by_group() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_least=0.1, by="age")
    verdict = iso.check(claim, old_only, iso.Census(PEOPLE))
    assert verdict.answer == "violated"
    assert verdict.details["counts"] == {"people": 3, "responsive": 2, "fixed": 1, "undecided": 0, "exact": 3}
    assert [item["fixed"] for item in verdict.details["groups"]] == [1, 0, 0]
    assert verdict.counterexamples[0]["person"] == 0
    assert verdict.counterexamples[0]["point"] is None


def test_counterexamples_are_the_nearest_points_and_make_a_table() -> None:
    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_most=0.1), rich, iso.Census({"income": [5], "age": [40]}))
    nearest = verdict.counterexamples[0]
    assert nearest["changed"] == {"income": [5, 8]}
    assert nearest["distance"] == pytest.approx(3 / 9)
    assert points_table(verdict) == {
        "person": [0, 0],
        "reaching": [2, 2],
        "looked at": [10, 10],
        "distance": pytest.approx([3 / 9, 4 / 9]),
        "prediction": [1, 1],
        "from income": [5, 5],
        "to income": [8, 9],
        "from age": [40, 40],
        "to age": [40, 40],
    }


def test_a_person_with_two_ways_among_four_hundred_is_not_precluded() -> None:
    steps = Interventions((Feature("x", "integer", 0, 399),))
    last_two = lambda table: (np.asarray(table["x"]) >= 398).astype(int)  # noqa: E731
    verdict = iso.check(iso.responsiveness.preclusion(steps, 1), last_two, iso.Census({"x": [0]}))
    assert (verdict.answer, verdict.risk) == ("holds", 0.0)
    assert (verdict.details["relation"], verdict.details["threshold"]) == (">", 0.0)
    assert (
        iso.check(iso.responsiveness.preclusion(steps, 1, below=0.01), last_two, iso.Census({"x": [0]})).holds is False
    )


@pytest.mark.parametrize("control", ["family", "discovery"])
def test_one_draw_that_reaches_the_target_is_a_way_whatever_the_share(control: str) -> None:
    real = Interventions((Feature("x", "real", 0.0, 1.0),))
    seldom = lambda table: (np.abs(np.asarray(table["x"]) - 0.31) < 0.001).astype(int)  # noqa: E731
    claim = iso.responsiveness.preclusion(real, 1, control=control)
    found, precluded = 0, 0
    for seed in range(20):
        verdict = iso.check(claim, seldom, iso.Census({"x": [0.0]}), seed=seed)
        reaching, answer = verdict.details["people"]["reaching"][0], verdict.details["people"]["answer"][0]
        later = any("found a way" in remark for remark in verdict.remarks)
        assert (answer == "responsive") == (reaching > 0 or later) == (verdict.answer == "holds")
        assert verdict.risk == (0.0 if reaching or later else 0.05)
        found, precluded = found + (reaching > 0), precluded + (answer == "fixed")
    assert found
    assert precluded  # its share of 0.002 is below 0.01, which is what draws can show


def test_a_fixed_number_of_draws_where_everything_is_listed_is_not_needed() -> None:
    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1, draws=50), old_only, iso.Census(PEOPLE), seed=0)
    assert verdict.method == "exact"
    assert any("no draws were needed" in remark for remark in verdict.remarks)


def test_a_table_of_points_names_who_has_no_way_and_leaves_other_columns_out() -> None:
    people = iso.Census({**PEOPLE, "id": ["a", "b", "c"], "defaulted": [1, 0, 0]})
    verdict = iso.check(iso.responsiveness.preclusion(STEPS, 1), old_only, people)
    assert points_table(verdict, ("id", ["a", "b", "c"])) == {
        "id": ["a"],
        "person": [0],
        "reaching": [0],
        "looked at": [10],
        "distance": [None],
        "from income": [0],
        "to income": [None],
        "from age": [20],
        "to age": [None],
    }
    assert people_table(verdict, ("id", ["a", "b", "c"]))["id"] == ["a", "b", "c"]


@pytest.mark.parametrize("control", ["family", "discovery"])
def test_draws_reach_the_same_names_as_listing(control: str) -> None:
    rng = np.random.default_rng(0)
    people = {"income": rng.integers(0, 1_000, 40), "age": rng.integers(0, 60, 40)}
    features = (Feature("income", "integer", 0, 9_999), STEPS.features[1])
    model = lambda table: (  # noqa: E731
        (np.asarray(table["income"]) >= 5_000) & (np.asarray(table["age"]) >= 30)
    ).astype(int)
    claim = drawn(features, at_least=0.1, control=control)
    verdict = iso.check(claim, model, iso.Census(people), seed=3)
    expected = np.where(people["age"] >= 30, "responsive", "fixed")
    assert verdict.details["people"]["answer"] == expected.tolist()
    assert verdict.method == "bets"
    assert verdict.risk == 0.05
    by_draws = np.asarray(verdict.details["people"]["n"])
    assert by_draws[expected == "responsive"].max() < 60
    assert by_draws.max() < 300


def test_a_person_drawn_from_as_often_as_they_have_points_is_settled_exactly() -> None:
    verdict = iso.check(drawn(at_least=0.2), rich, iso.Census(PEOPLE), seed=0)
    assert verdict.details["people"]["exact"] == [True, True, True]
    assert verdict.details["people"]["share"] == [0.2, 0.2, 0.2]


def test_a_share_on_the_threshold_stays_undecided_within_its_draws() -> None:
    features = (Feature("income", "real", 0.0, 1.0),)
    claim = drawn(features, at_least=0.5, most_draws=300)
    model = lambda table: (np.asarray(table["income"]) >= 0.5).astype(int)  # noqa: E731
    verdict = iso.check(claim, model, iso.Census({"income": [0.1]}), delta=1e-6, seed=1)
    assert (verdict.answer, verdict.stopped) == ("undecided", "300 draws did not decide it")
    low, high = verdict.interval
    assert low < 0.5 < high


def test_a_fixed_number_of_draws_has_clopper_pearson_intervals() -> None:
    from isonomia.evidence.binomial import clopper_pearson

    claim = iso.Responsiveness(Interventions((Feature("x", "real", 0.0, 1.0),)), 1, at_least=0.1, draws=200)
    model = lambda table: (np.asarray(table["x"]) >= 0.5).astype(int)  # noqa: E731
    verdict = iso.check(claim, model, iso.Census({"x": [0.2]}), seed=1)
    people = verdict.details["people"]
    low, high = clopper_pearson(people["reaching"], people["n"], 0.05)
    assert (verdict.method, people["n"]) == ("binomial", [200])
    assert verdict.interval == (low[0], high[0])
    assert verdict.answer == "holds"


def test_too_few_draws_are_refused_before_anything_is_drawn() -> None:
    asked: list[int] = []

    def model(table: Any) -> Any:
        asked.append(1)
        return np.zeros(len(table["x"]), dtype=int)

    real = Interventions((Feature("x", "real", 0.0, 1.0),))
    with raises(iso.UsageError, "draws=20", 0.1, 29):
        iso.check(iso.Responsiveness(real, 1, at_least=0.1, draws=20), model, iso.Census({"x": [0.2]}))
    assert not asked


def test_targets_can_depend_on_the_person() -> None:
    level = lambda table: np.asarray(table["income"], dtype=float)  # noqa: E731
    verdict = iso.check(iso.Responsiveness(STEPS, "prediction < own", at_least=0.3), level, iso.Census(PEOPLE))
    assert verdict.details["people"]["share"] == [0.0, 0.5, 0.9]
    verdict = iso.check(iso.responsiveness.affordability(STEPS, "age", at_least=0.3), level, iso.Census(PEOPLE))
    assert verdict.holds is True


@pytest.mark.parametrize(
    ("target", "share"),
    [([1, 2], 0.5), ({2}, 0.2), ((1, None), 0.5), ((0, 1), 0.8), ("prediction >= 2", 0.2), (0, 0.5)],
)
def test_every_kind_of_target_counts_the_right_points(target: Any, share: float) -> None:
    grade = lambda table: np.digitize(np.asarray(table["income"]), [5, 8])  # noqa: E731
    verdict = iso.check(iso.Responsiveness(STEPS, target, at_least=0.1), grade, iso.Census({"income": [3], "age": [1]}))
    assert verdict.details["people"]["share"] == [share]


def test_only_those_with_a_prediction_are_looked_at() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 0 and age > 30")
    verdict = iso.check(claim, rich, iso.Census(PEOPLE))
    assert verdict.details["people"]["row"] == [1]


@pytest.mark.parametrize("claim", [{"at_least": 0.1}, {"at_most": 0.1}])
def test_a_condition_that_nobody_meets_leaves_either_claim_undecided(claim: Any) -> None:
    nobody = iso.check(iso.Responsiveness(STEPS, 1, who="age > 90", **claim), rich, iso.Census(PEOPLE))
    assert (nobody.answer, nobody.holds, nobody.samples) == ("undecided", None, 0)
    assert nobody.remarks[0].startswith("no row meets age > 90")


def test_looking_at_all_points_of_people_drawn_from_before_keeps_to_the_budget() -> None:
    many = Interventions((Feature("x", "integer", 0, 599),))
    model = lambda table: (np.asarray(table["x"]) >= 500).astype(int)  # noqa: E731
    claim = iso.Responsiveness(many, 1, at_least=1 / 6, most_listed=100)  # the share itself: draws do not decide it
    people = iso.Census({"x": [0] * 5})
    whole = iso.check(claim, model, people, seed=0)
    assert (whole.answer, whole.risk) == ("holds", 0.0)
    for budget in (3_500, 4_500, 6_000):
        verdict = iso.check(claim, model, people, budget=budget, seed=0)
        assert verdict.samples <= budget < whole.samples
        assert (verdict.answer, verdict.stopped) == ("undecided", "the budget is spent")


def test_draws_without_the_target_do_not_say_that_no_point_has_it() -> None:
    many = Interventions((Feature("x", "integer", 0, 599),))
    claim = iso.responsiveness.preclusion(many, 1)
    verdict = iso.check(
        claim, lambda table: (np.asarray(table["x"]) == 599).astype(int), iso.Census({"x": [0]}), seed=0
    )
    assert verdict.details["people"]["reaching"] == [0]
    assert any("no point that was checked has prediction == 1" in remark for remark in verdict.remarks)
    assert not any("no point at all" in remark for remark in verdict.remarks)


def test_feature_responsiveness_frees_one_feature_at_a_time() -> None:
    two = Interventions((Feature("a", "binary"), Feature("b", "binary"), Feature("c", "binary", actionable=False)))
    model = lambda table: ((np.asarray(table["a"]) == 1) | (np.asarray(table["c"]) == 1)).astype(int)  # noqa: E731
    claims = iso.responsiveness.by_feature(two, 1)
    shares = {
        name: iso.check(claim, model, iso.Census({"a": [0], "b": [0], "c": [0]})).details["people"]["share"][0]
        for name, claim in claims.items()
    }
    assert shares == {"a": 0.5, "b": 0.0}


def test_linkages_and_noise_are_part_of_what_is_reached() -> None:
    linked = Interventions(
        (Feature("a", "integer", 0, 4), Feature("b", "integer", 0, 9, actionable=False)), (Linkage("a", ("b",)),)
    )
    model = lambda table: (np.asarray(table["b"]) >= 3).astype(int)  # noqa: E731
    verdict = iso.check(iso.Responsiveness(linked, 1, at_least=0.3), model, iso.Census({"a": [0], "b": [0]}))
    assert verdict.details["people"]["share"] == [0.4]
    shaken = Interventions((Feature("b", "real", 0, 9, actionable=False),), (), (Noise(("b",), (1.0,)),))
    steady = iso.check(iso.responsiveness.stability(shaken), model, iso.Census({"b": [8.0]}), seed=0)
    assert steady.holds is True
    assert steady.details["people"]["exact"] == [False]


def test_equal_rows_are_asked_about_once() -> None:
    asked: list[int] = []

    def model(table: Any) -> Any:
        asked.append(len(table["income"]))
        return rich(table)

    iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1), model, iso.Census({"income": [1, 2, 3], "age": [9, 9, 9]}))
    assert asked[0] == 10
    assert sum(asked[1:]) <= 10  # some of them again, to see whether the model changes its mind


def test_the_same_seed_gives_the_same_verdict_whatever_the_workers() -> None:
    features = (Feature("income", "real", 0, 9), STEPS.features[1])
    claim = drawn(features, at_least=0.2)
    found = [iso.check(claim, rich, iso.Census(PEOPLE), seed=5, workers=workers).to_dict() for workers in (1, 3)]
    for item in found:
        del item["seconds"]
    assert found[0] == found[1]


def test_a_budget_ends_it_undecided() -> None:
    claim = drawn((Feature("income", "real", 0, 9), STEPS.features[1]), at_least=0.11)
    verdict = iso.check(claim, rich, iso.Census(PEOPLE), seed=5, budget=30)
    assert (verdict.answer, verdict.stopped) == ("undecided", "the budget is spent")
    assert verdict.samples <= 30


def test_a_verdict_survives_json_and_gives_a_table_of_people() -> None:
    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.5), rich, iso.Census(PEOPLE))
    again = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert again == verdict
    assert people_table(again)["row"] == [0, 1, 2]


def test_the_terminal_shows_counts_and_counterexamples() -> None:
    from io import StringIO

    from rich.console import Console

    from isonomia.report.terminal import show

    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_most=0.1, by="age"), rich, iso.Census(PEOPLE))
    stream = StringIO()
    show(verdict, Console(file=stream, width=120))
    assert "age = 40" in stream.getvalue()
    assert "income 5 -> 8" in stream.getvalue()
    assert "points" in str(verdict)


def test_bad_people_and_contradictions_are_refused_in_words() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_least=0.1)
    with raises(PersonError, "income", "missing", row=1):
        iso.check(claim, rich, iso.Census({"income": [1.0, np.nan], "age": [1, 2]}))
    whom = iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 0")
    with raises(PersonError, "income", "missing", row=1):
        iso.check(whom, rich, iso.Census({"income": [1.0, np.nan], "age": [1, 2]}))
    with raises(iso.UsageError, name="population"):
        iso.check(claim, rich, iso.Generator(lambda n, rng: {"income": rng.integers(0, 9, n), "age": [1] * n}))
    with raises(iso.UsageError, name="model"):
        iso.check(claim, None, iso.Census(PEOPLE))


def test_somebody_who_breaks_a_rule_is_named_by_their_row_of_the_table() -> None:
    people = {"income": [1, 3, 12, 4], "age": [20, 30, 40, 50]}
    for options in ({"who": "age > 25"}, {"rows": [1, 2]}, {"who": "age > 25", "rows": [3, 2]}, {}):
        claim = iso.Responsiveness(STEPS, 1, at_least=0.1, **options)
        with raises(PersonError, 0, 9, 12, row=2):
            iso.check(claim, rich, iso.Census(people))
    missing = {"income": [1.0, 3.0, np.nan, 4.0], "age": [20, 30, 40, 50]}
    for options in ({"who": "age > 25"}, {"rows": [1, 2]}, {"who": "prediction == 0", "rows": [1, 2]}, {}):
        claim = iso.Responsiveness(STEPS, 1, at_least=0.1, **options)
        with raises(PersonError, "income", "missing", row=2):
            iso.check(claim, rich, iso.Census(missing))


def test_contradictory_constraints_are_named() -> None:
    from isonomia.interventions import Linear

    clash = STEPS.constrain(Linear(("income",), (1.0,), ">=", 6), Linear(("income",), (1.0,), "<=", 2))
    with raises(iso.UsageError, "income", 6, 2):
        iso.check(iso.Responsiveness(clash, 1, at_least=0.1), rich, iso.Census(PEOPLE))


def test_a_point_that_the_model_fails_on_is_shown() -> None:
    def model(table: Any) -> Any:
        if (np.asarray(table["income"]) == 7).any():
            raise ValueError("seven")
        return rich(table)

    with raises(iso.ModelError, 0, 2, 7, 1) as caught:
        iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1), model, iso.Census({"income": [2], "age": [33]}))
    assert "'age': 33" in str(caught.value)


def test_some_rows_are_looked_at_under_their_own_numbers() -> None:
    claim = iso.Responsiveness(STEPS, 1, at_least=0.1, rows=[2, 0])
    verdict = iso.check(claim, old_only, iso.Census(PEOPLE))
    assert verdict.details["people"]["row"] == [2, 0]
    assert verdict.details["people"]["answer"] == ["responsive", "fixed"]
    assert verdict.counterexamples[0]["person"] == 0
    assert verdict.counted == "points"
    one = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=1), old_only, iso.Census(PEOPLE))
    assert one.expressions[0].text == "share of the person in row 1"
    assert one.interval == (0.2, 0.2)
    both = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=[0, 1], who="age > 30"), rich, iso.Census(PEOPLE))
    assert both.details["people"]["row"] == [1]


@pytest.mark.parametrize("rows", [-1, [], [0.5], ["x"], [True], "12x"])
def test_rows_that_are_none_are_refused(rows: Any) -> None:
    with raises(UsageError, 0, name="rows"):
        iso.Responsiveness(STEPS, 1, at_least=0.1, rows=rows)


def test_a_row_beyond_the_table_is_refused() -> None:
    with raises(UsageError, 0, 2, 3):
        iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=3), rich, iso.Census(PEOPLE))


def test_a_class_that_the_model_never_predicts_is_refused_where_it_says_which_it_does() -> None:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier().fit(np.asarray([[0, 20], [9, 20]]), ["no", "yes"])
    for options in ({"target": "ye"}, {"target": "yes", "who": "prediction == 'noo'"}):
        claim = iso.Responsiveness(STEPS, at_least=0.1, **options)
        with raises(SpecError, "no", "yes"):
            iso.check(claim, tree, iso.Census(PEOPLE), features=["income", "age"])


def test_a_target_that_no_point_has_is_pointed_out() -> None:
    never = lambda table: np.zeros(len(table["income"]), dtype=int)  # noqa: E731
    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1), never, iso.Census(PEOPLE))
    assert verdict.answer == "violated"
    assert any("no point at all has prediction == 1" in remark for remark in verdict.remarks)


def test_ctrl_c_before_anything_is_counted_is_undecided() -> None:
    def interrupts(table: Any) -> Any:  # noqa: ARG001
        raise KeyboardInterrupt

    claim = iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 0")
    verdict = iso.check(claim, interrupts, iso.Census(PEOPLE))
    assert (verdict.answer, verdict.stopped, verdict.samples) == ("undecided", "interrupted", 0)


def test_a_memory_saves_other_models_and_other_runs_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    coupled = Interventions(
        (Feature("a", "integer", 0, 4), Feature("b", "integer", 0, 4)),
        (Linkage("a", ("b",), (1.0,), keep_bounds=True),),
    )
    people, memory = {"a": [0, 1, 2], "b": [0, 0, 1]}, Memory()

    def claim(known: Memory) -> iso.Responsiveness:
        return iso.Responsiveness(coupled, 1, at_least=0.1, memory=known)

    first = iso.check(claim(memory), lambda table: (table["a"] >= 3).astype(int), iso.Census(people))
    assert memory.known
    stored = Memory.from_bytes(memory.to_bytes())
    expected = iso.check(
        iso.Responsiveness(coupled, 1, at_least=0.1), lambda table: (table["b"] >= 2).astype(int), iso.Census(people)
    )

    def searched(*_: Any) -> Any:
        raise AssertionError("searched again")

    monkeypatch.setattr("isonomia.interventions.parts.enumerate_moves", searched)
    again = iso.check(claim(memory), lambda table: (table["a"] >= 3).astype(int), iso.Census(people))
    assert again.details["people"] == first.details["people"]
    other = iso.check(claim(stored), lambda table: (table["b"] >= 2).astype(int), iso.Census(people))
    assert other.details["people"] == expected.details["people"]
    with raises(UsageError, name="memory"):
        iso.Responsiveness(coupled, 1, at_least=0.1, memory={})


def test_all_points_that_decide_are_there_and_not_the_nearest_alone() -> None:
    people = iso.Census(PEOPLE)
    most = iso.check(iso.Responsiveness(STEPS, 1, at_most=0.1), rich, people)
    found = [(item["person"], item["from"]["income"], item["to"]["income"]) for item in most.violations()]
    assert sorted(found) == [(row, now, income) for row, now in enumerate([0, 5, 9]) for income in (8, 9)]
    least = iso.check(iso.Responsiveness(STEPS, 1, at_least=0.1), old_only, people)
    points = list(least.violations())
    assert [(item["person"], item["to"]["income"], item["target"]) for item in points] == [
        (0, income, False) for income in range(10)
    ]
    assert list(least.violations().to_frame("polars").columns) == [
        "person", "target", "distance", "prediction", "from income", "to income", "from age", "to age",
    ]  # fmt: skip


def test_points_of_those_whose_points_are_drawn_are_different_from_each_other() -> None:
    verdict = iso.check(drawn(at_most=0.1), rich, iso.Census(PEOPLE), seed=1)
    found = [(item["person"], item["to"]["income"]) for item in verdict.violations()]
    assert sorted(found) == [(row, income) for row in range(3) for income in (8, 9)]


def test_the_model_is_asked_for_all_points_only_where_somebody_wants_them() -> None:
    asked = []

    def watched(table: Any) -> Any:
        asked.append(len(table["income"]))
        return rich(table)

    verdict = iso.check(iso.Responsiveness(STEPS, 1, at_most=0.1), watched, iso.Census(PEOPLE))
    before = len(asked)
    assert pickle.loads(pickle.dumps(verdict)).violations().names  # those that it shows
    assert len(asked) == before
    assert len(verdict.violations()) == 6
    assert len(asked) > before


@pytest.mark.parametrize("who", ["sex == 'Man'", "sex in {'F', 'Man'}", "age == 20 and sex != 'Man'"])
def test_a_value_that_nobody_has_is_an_error_that_names_the_nearest(who: str) -> None:
    rules = Interventions((Feature("income", "integer", 0, 9),))
    people = iso.Census({"income": [1, 5, 9], "sex": ["F", "M", "Men"], "age": [20, 30, 40]})
    with raises(SpecError, "sex", "M", "F", "Man", at="'Man'", meant="Men"):
        iso.check(iso.Responsiveness(rules, 1, at_least=0.1, who=who), lambda rows: np.ones(len(rows["sex"])), people)


TWEETS = (Feature("tweets", "integer", 0, 10, direction="up"), Feature("urls", "integer", 0, 1_000, actionable=False))


@pytest.mark.parametrize(("jointly", "share"), [(False, 3 / 11), (True, 1 / 11)])
@pytest.mark.parametrize("listed", [500, 0])
def test_an_action_is_drawn_before_its_effect_unless_they_are_drawn_jointly(
    jointly: bool, share: float, listed: int
) -> None:
    rules = Interventions(TWEETS, (Linkage("tweets", ("urls",), sense="<=", jointly=jointly),))
    claim = iso.Responsiveness(rules, 1, at_least=0.2, most_listed=listed)
    verdict = iso.check(claim, lambda rows: rows["tweets"] <= 2, iso.Census({"tweets": [0], "urls": [0]}), seed=0)
    assert verdict.answer == ("violated" if jointly else "holds")
    found = verdict.details["people"]
    if listed:
        assert found["share"] == pytest.approx([share])
        assert found["reaching"] == [6]
        assert verdict.method == "exact"
    else:
        assert found["low"][0] <= share <= found["high"][0]


@pytest.mark.parametrize("listed", [500, 0])
def test_nobody_is_called_responsive_through_a_point_that_is_out_of_range(listed: int) -> None:
    features = (Feature("arrests", "binary", direction="down"), Feature("felony", "binary", actionable=False))
    people = iso.Census({"arrests": [0, 1], "felony": [0, 0]})

    def claim(clip: bool) -> iso.Responsiveness:
        rules = Interventions(features, (Linkage("arrests", ("felony",), clip=clip),))
        return iso.Responsiveness(rules, 1, at_least=0.1, most_listed=listed, most_draws=200, rows=[1])

    with pytest.raises(DataError) as caught:
        iso.check(claim(False), lambda rows: rows["felony"] < 0, people, seed=0)
    assert caught.value.row == 1
    verdict = iso.check(claim(True), lambda rows: (rows["felony"] < 0) | (rows["arrests"] > 1), people, seed=0)
    assert verdict.details["people"]["reaching"] == [0]


def test_a_counterexample_uses_labels_and_says_which_changes_are_not_advised() -> None:
    people = {"savings": [0, 0, 2], "asked": [5, 5, 5]}
    features = (
        Feature("savings", "integer", 0, 9, direction="up", rise=4, label="money in the account"),
        Feature("asked", "integer", 1, 9, fall=3, direction="down", sensible=False),
    )

    def lends(table: Any) -> Any:
        return (np.asarray(table["savings"]) - np.asarray(table["asked"]) >= -2).astype(int)

    prop = iso.Responsiveness(Interventions(features), 1, at_most=0.1)
    verdict = iso.check(prop, lends, iso.Census(people))
    assert verdict.answer == "violated"
    first = [item for item in verdict.counterexamples if item["person"] == 0]
    assert first[0]["changed"] == {"savings": [0, 3]}  # though asking for two less and saving one is as near
    assert "sensible" not in first[0]
    assert any(item.get("sensible") is False for item in first)
    views = list(view_of(verdict).counterexamples(verdict))
    view = next(each for each in views if "money in the account 0 → 3" in each.title)
    assert view.notes
    assert all("not advised" in note for note in view.notes)

"""The audit from `iso.check` to the verdict, on people whose worlds are known."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from simulated_worlds import FAIR, UNFAIR, drawing, mixture

import isonomia as iso
from isonomia.audits.principal.findings import SubgroupWealth, find
from isonomia.audits.principal.question import ask_about
from isonomia.audits.principal.view import sampled_remarks
from isonomia.errors import DataError, ModelError, SpecError, UsageError
from raising import raises


def fairness(**changed: Any) -> iso.PrincipalFairness:
    return iso.PrincipalFairness(**({"attribute": "sex", "outcome": "passed"} | changed))


def rows(weights: Any, n: int, seed: int = 0) -> dict[str, Any]:
    return drawing(weights)(n, np.random.default_rng(seed))


@pytest.mark.parametrize("definition", [1, 2, 3])
def test_a_world_that_is_unfair_by_construction_is_found_out(definition: Any) -> None:
    verdict = iso.check(fairness(definition=definition), population=iso.Generator(drawing(UNFAIR)), seed=1)
    assert (verdict.answer, verdict.risk, verdict.method) == ("violated", 0.05, "bets")
    assert verdict.samples < 2000
    # The gap is told from guaranteed limits, and those of a sample as small as this cover both directions.
    unknown = "which one is unfair is not known" if definition == 1 else "does not show which way it goes"
    assert any(unknown in remark for remark in verdict.remarks)
    assert not any("the gap is at least" in remark for remark in verdict.remarks)


def test_the_direction_is_the_other_one_where_the_values_are_declared_the_other_way_round() -> None:
    prop = fairness(definition=2, values={"sex": ["M", "F"]})
    verdict = iso.check(prop, population=iso.Census(rows(UNFAIR, 500)), seed=1)
    assert verdict.interval[1] < -0.4
    assert any("more frequent with sex='M' than with sex='F'" in remark for remark in verdict.remarks)
    assert any("sex: 0 is 'M', 1 is 'F'" in words for words in verdict.assumptions)


def test_a_margin_can_be_proved() -> None:
    verdict = iso.check(fairness(definition=2, within=0.6), population=iso.Generator(drawing(FAIR)), seed=1)
    assert (verdict.answer, verdict.risk) == ("holds", 0.05)
    low, high = verdict.details["subgroups"][0]["effects"][0]["interval"]
    assert low <= 0.0 <= high


def test_without_a_margin_a_fair_world_is_undecided_and_the_verdict_says_why() -> None:
    verdict = iso.check(fairness(), population=iso.Sample(rows(FAIR, 800)), seed=1)
    assert (verdict.answer, verdict.risk, verdict.stopped) == ("undecided", 0.0, "the sample ran out")
    assert any("covers zero proves nothing" in remark for remark in verdict.remarks)
    assert any("without a margin no sample can prove fairness" in remark for remark in verdict.remarks)
    assert any("plug-in verdict" in remark and "no guarantee" in remark for remark in verdict.remarks)


def test_only_the_unfair_subgroup_is_named() -> None:
    population = iso.Generator(drawing({"fair": FAIR, "unfair": UNFAIR}))
    verdict = iso.check(fairness(given=["school"]), population=population, delta=1e-3, seed=2)
    answers = {item["where"]["school"]: item["answer"] for item in verdict.details["subgroups"]}
    assert verdict.answer == "violated"
    assert answers == {"fair": "undecided", "unfair": "violated"}
    assert any(remark.startswith("school='unfair': ") for remark in verdict.remarks)
    assert not any(remark.startswith("school='fair': ") for remark in verdict.remarks)
    assert any("Holm" in remark for remark in verdict.remarks)


def test_the_models_predictions_are_used_where_there_is_a_model() -> None:
    def unfair(batch: Any) -> Any:
        return (np.asarray(batch["sex"]) == "M").astype(int)

    people = rows(mixture(w0000=0.7, w1111=0.3), 600)
    del people["prediction"]
    verdict = iso.check(fairness(definition=2), unfair, iso.Sample(people), seed=0)
    assert verdict.answer == "violated"
    assert verdict.model["name"].startswith("test_the_models")
    with raises(ModelError, 8, 1):
        iso.check(fairness(), lambda _: [1], iso.Sample(people), seed=0)
    with raises(DataError, 0, 1, 2, "prediction"):
        iso.check(fairness(), lambda batch: [2] * len(batch["sex"]), iso.Sample(people), seed=0)


def test_a_census_is_exact() -> None:
    verdict = iso.check(fairness(definition=2), population=iso.Census(rows(UNFAIR, 500)))
    assert (verdict.answer, verdict.risk, verdict.exact, verdict.samples) == ("violated", 0.0, True, 500)
    assert verdict.details["subgroups"][0]["certificate"] > 0.01
    assert any("proof" in remark for remark in verdict.remarks)
    wide = iso.check(fairness(definition=2, within=0.9), population=iso.Census(rows(UNFAIR, 500)))
    assert (wide.answer, wide.risk) == ("holds", 0.0)
    open_ = iso.check(fairness(definition=2), population=iso.Census(rows(FAIR, 500)))
    assert (open_.answer, open_.risk) == ("undecided", 0.0)


def test_a_census_that_is_drawn_ends_with_everybody_where_draws_do_not_decide() -> None:
    verdict = iso.check(fairness(), population=iso.Census(rows(FAIR, 300), exact=False), seed=0)
    assert (verdict.method, verdict.samples, verdict.stopped) == ("exact", 600, "all rows were counted")
    quick = iso.check(fairness(), population=iso.Census(rows(UNFAIR, 3000), exact=False), seed=0)
    assert (quick.method, quick.answer) == ("bets", "violated")
    assert quick.samples < 3000


def test_the_same_seed_gives_the_same_verdict() -> None:
    checks = [
        iso.check(fairness(given=["school"]), population=iso.Sample(rows({"A": FAIR, "B": UNFAIR}, 400)), seed=7)
        for _ in range(2)
    ]
    first, second = (verdict.to_dict() | {"seconds": 0} for verdict in checks)
    assert first == second


def test_a_verdict_survives_json() -> None:
    verdict = iso.check(fairness(given=["school"], within=0.1), population=iso.Sample(rows(UNFAIR, 300)), seed=0)
    again = iso.Verdict.from_dict(json.loads(json.dumps(verdict.to_dict(), allow_nan=False)))
    assert again == verdict
    assert again.details["subgroups"][0]["counts"] == verdict.details["subgroups"][0]["counts"]


def test_confidence_bounds_enclose_the_samples_own() -> None:
    verdict = iso.check(fairness(given=["school"]), population=iso.Sample(rows({"A": FAIR, "B": FAIR}, 600)), seed=0)
    for item in verdict.details["subgroups"]:
        for effect in item["effects"]:
            for kind in ("", "_within_stratum"):
                (low, high), (inner, outer) = effect[f"interval{kind}"], effect[f"plug_in{kind}"]
                assert low <= inner + 1e-6
                assert outer - 1e-6 <= high


def test_a_subgroup_with_nobody_to_compare_is_silent_in_a_sample_and_refused_in_a_census() -> None:
    people = rows({"A": UNFAIR, "B": UNFAIR}, 600)
    people["sex"][people["school"] == "B"] = "F"
    verdict = iso.check(fairness(given=["school"]), population=iso.Sample(people), seed=0)
    assert verdict.answer == "violated"
    assert any("no row with sex='M' was sampled from school='B'" in remark for remark in verdict.remarks)
    assert verdict.details["subgroups"][1]["effects"][0]["plug_in"] is None
    assert verdict.details["subgroups"][1]["answer"] == "undecided"
    with raises(DataError, "school='B'", "M"):
        iso.check(fairness(given=["school"]), population=iso.Census(people))


def test_a_silent_subgroup_keeps_the_answer_from_being_holds() -> None:
    people = rows({"A": FAIR, "B": FAIR}, 4000)
    prop = fairness(given=["school"], definition=2, within=0.3)
    assert iso.check(prop, population=iso.Sample(people), seed=0).answer == "holds"
    people["sex"][people["school"] == "B"] = "F"
    assert iso.check(prop, population=iso.Sample(people), seed=0).answer == "undecided"


def test_a_subgroup_that_no_pilot_draw_showed_joins_late() -> None:
    usual = drawing({"A": FAIR, "B": FAIR})

    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        people = usual(n, rng)
        # The pilot draws come in one piece of 10,000 and the audit's own in smaller ones.
        people["school"][:] = "A" if n == 10_000 else people["school"]
        return people

    verdict = iso.check(fairness(given=["school"]), population=iso.Generator(draw), budget=2000, seed=0)
    assert [item["where"]["school"] for item in verdict.details["subgroups"]] == ["A", "B"]
    assert sum(item["people"] for item in verdict.details["subgroups"]) == verdict.samples == 2000


def test_streams_by_the_attribute_are_as_good_as_one() -> None:
    by_sex = {"sex == 'F'": drawing(UNFAIR, 0.0), "sex == 'M'": drawing(UNFAIR, 1.0)}
    verdict = iso.check(fairness(definition=2), population=iso.Generator(by_sex), seed=0)
    counts = np.asarray(verdict.details["subgroups"][0]["counts"])
    assert verdict.answer == "violated"
    assert abs(int(counts[0].sum()) - int(counts[1].sum())) <= 1


def test_refuted_assumptions_leave_no_answer() -> None:
    worlds = mixture(w0010=0.8, w1111=0.2)
    prop = fairness(assumptions=["outcome never falls"])
    verdict = iso.check(prop, population=iso.Generator(drawing(worlds)), seed=0)
    assert (verdict.answer, verdict.stopped) == ("undecided", "the assumptions are refuted")
    assert any("contradict the assumptions" in remark for remark in verdict.remarks)
    exact = iso.check(prop, population=iso.Census(rows(worlds, 500)))
    assert exact.answer == "undecided"
    assert any("contradict the assumptions" in remark for remark in exact.remarks)


def test_more_than_two_values_are_audited_by_the_same_program() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, size=900)
    people = {
        "origin": np.asarray(["x", "y", "z"], dtype=object)[group],
        "grade": np.zeros(900, dtype=int),
        "decision": np.asarray(["no", "wait", "yes"], dtype=object)[np.where(group == 2, 2, rng.integers(0, 2, 900))],
    }
    prop = iso.PrincipalFairness(
        attribute="origin", outcome="grade", prediction="decision", values={"grade": [0, 1]}, definition=2
    )
    verdict = iso.check(prop, population=iso.Census(people))
    assert verdict.answer == "violated"
    assert "tau'('yes', 'z' - 'x')" in verdict.intervals
    assert verdict.intervals["tau'('yes', 'z' - 'x')"][0] > 0.9


def test_options_of_rates_are_refused() -> None:
    with raises(UsageError, "method='auto'", "method='region'"):
        iso.check(fairness(), population=iso.Sample(rows(FAIR, 10)), method="region")
    with raises(UsageError, name="property"):
        iso.plan(fairness(), {})  # type: ignore[arg-type]


def test_bad_columns_are_refused_before_anything_is_asked() -> None:
    people = rows(FAIR, 50) | {"prediction": np.asarray([np.nan] * 5 + [1.0] * 45)}
    with raises(DataError, 5, 50, "prediction"):
        iso.check(fairness(), population=iso.Sample(people))
    with raises(DataError, 2, "sex", "['F']"):
        iso.check(fairness(), population=iso.Sample(rows(FAIR, 50) | {"sex": ["F"] * 50}))
    with raises(SpecError, "sex", "prediction", name="town"):
        iso.check(fairness(given=["town"]), population=iso.Sample(rows(FAIR, 50)))


def test_ctrl_c_ends_with_what_is_known() -> None:
    usual, seen = drawing(FAIR), []

    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        seen.append(n)
        if len(seen) > 30:
            raise KeyboardInterrupt
        return usual(n, rng)

    verdict = iso.check(fairness(), population=iso.Generator(draw), seed=0)
    assert (verdict.answer, verdict.stopped) == ("undecided", "interrupted")
    assert verdict.samples > 0


def steady_outcomes(n: int) -> dict[str, Any]:
    """People whose outcome does not depend on the attribute, although its shares in a sample differ by chance."""
    rng = np.random.default_rng(3)
    sex, passed = rng.choice(["F", "M"], n), rng.integers(0, 2, n)
    favoured = rng.random(n) < np.where(sex == "M", 0.8, 0.3)
    school = np.where(rng.random(n) < 0.5, "A", "B")
    return {"sex": sex, "passed": passed, "prediction": favoured.astype(int), "school": school}


def test_shares_that_contradict_an_assumption_by_chance_have_no_plug_in_verdict() -> None:
    people = iso.Sample(steady_outcomes(3000))
    verdict = iso.check(fairness(assumptions=["outcome never changes"]), population=people, seed=1)
    assert (verdict.answer, verdict.details["subgroups"][0]["plug_in"]) == ("violated", "undecided")
    (told,) = [remark for remark in verdict.remarks if "plug-in verdict" in remark]
    assert told.endswith("is none: taken for the truth, the shares contradict the assumptions, if only by chance")
    by_school = iso.check(fairness(assumptions=["outcome never changes"], given=["school"]), population=people, seed=1)
    (told,) = [remark for remark in by_school.remarks if "plug-in verdict" in remark]
    assert "is none: in every subgroup, taken for the truth" in told


def test_the_direction_is_told_from_the_intervals_where_the_shares_contradict_an_assumption() -> None:
    prop = fairness(definition=2, assumptions=["outcome never changes"])
    sure = iso.Sample(rows(UNFAIR, 100))
    question = ask_about(prop, sure, None)
    counts = np.asarray([[[35_000.0, 35_010, 15_000, 15_000], [10_000.0, 10_000, 40_000, 40_000]]])
    (found,) = find(question, [()], counts, [False], [SubgroupWealth(9.0, 9.0, None)], 0.05)
    assert found.table is not None
    assert found.table.contradicts
    told = sampled_remarks(question, False, [found], 0.05, False)[0]
    assert "prediction=1 is more frequent with sex='M' than with sex='F'" in told
    assert "the gap is at least" in told


@pytest.mark.parametrize("given", [[], ["school"]])
def test_the_size_of_a_gap_is_told_from_guaranteed_limits_and_never_from_shares(
    given: list[str],
) -> None:
    for seed in range(4):
        people = {**rows(UNFAIR, 100 + 200 * seed)}
        people["school"] = np.arange(len(people["sex"])) % 2
        verdict = iso.check(fairness(given=given), population=iso.Sample(people), seed=seed)
        effects = [effect for item in verdict.details["subgroups"] for effect in item["effects"]]
        proved = max(max(effect["interval"][0], -effect["interval"][1]) for effect in effects)
        for remark in verdict.remarks:
            size = re.search(r"gap is at least ([0-9.e-]+) percentage", remark)
            assert size is None or float(size.group(1)) <= 100 * proved + 1e-9
        for effect in effects:
            if effect["interval"][0] <= 0 <= effect["interval"][1]:
                assert "may go either way" in effect["direction"]


def test_the_plug_in_verdict_without_assumptions_is_as_it_was() -> None:
    verdict = iso.check(fairness(), population=iso.Sample(rows(UNFAIR, 800)), seed=1)
    assert any(remark.endswith("has no guarantee, is: violated") for remark in verdict.remarks)

"""The rates audit, from a property to its verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import isonomia as iso
from effort import effort
from isonomia.audits.rates.intervals import LeafKnowledge
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.evidence.normal_form import compared
from isonomia.evidence.protocol import LeafTally
from isonomia.evidence.region import Region
from isonomia.spec.text import to_text
from isonomia.spec.tree import leaves_of
from raising import raises

RATIO = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"


def people(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"sex": np.where(rng.random(n) < 0.4, "F", "M"), "x": rng.random(n), "race": rng.choice(["a", "b", "c"], n)}


def hires(women: float, men: float) -> Callable[[Any], Any]:
    return lambda table: (np.asarray(table["x"]) < np.where(np.asarray(table["sex"]) == "F", women, men)).astype(int)


def table(n: int, seed: int = 0) -> dict[str, Any]:
    return people(n, np.random.default_rng(seed))


@pytest.mark.parametrize(("women", "answer"), [(0.5, "holds"), (0.3, "violated")])
@pytest.mark.parametrize("method", ["auto", "bets", "region", "verifair"])
def test_every_method_gives_the_right_answer(women: float, answer: str, method: str) -> None:
    verdict = iso.check(RATIO, hires(women, 0.5), iso.Generator(people), delta=1e-6, seed=3, method=method)
    assert verdict.answer == answer
    assert verdict.risk == 1e-6
    assert verdict.method == ("bets" if method == "auto" else method)


def test_bets_take_fewer_people_than_a_region_and_a_region_fewer_than_verifair() -> None:
    spent = {
        method: iso.check(RATIO, hires(0.46, 0.5), iso.Generator(people), delta=1e-8, seed=1, method=method).samples
        for method in ("bets", "region", "verifair")
    }
    assert spent["bets"] < spent["region"] < spent["verifair"]


def test_the_same_seed_gives_the_same_verdict_whatever_the_number_of_workers() -> None:
    verdicts = [
        iso.check(RATIO, hires(0.44, 0.5), iso.Generator(people), delta=1e-3, seed=5, workers=workers)
        for workers in (1, 3)
    ]
    first, second = ({**verdict.to_dict(), "seconds": 0} for verdict in verdicts)
    assert first == second


def test_another_seed_gives_another_run() -> None:
    runs = [iso.check(RATIO, hires(0.44, 0.5), iso.Generator(people), delta=1e-3, seed=seed) for seed in (1, 2)]
    assert runs[0].leaves != runs[1].leaves


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_the_kind_of_table_does_not_matter(kind: Callable[[Any], Any]) -> None:
    data = {name: column.tolist() for name, column in table(3000).items()}
    verdict = iso.check(RATIO, hires(0.5, 0.5), iso.Sample(kind(data)), delta=0.05, seed=1)
    reference = iso.check(RATIO, hires(0.5, 0.5), iso.Sample(table(3000)), delta=0.05, seed=1)
    assert (verdict.answer, verdict.samples, verdict.leaves) == (reference.answer, reference.samples, reference.leaves)


def test_a_sample_uses_each_row_once_and_may_end_undecided() -> None:
    asked: list[float] = []

    def model(batch: Any) -> Any:
        asked.extend(batch["x"].tolist())
        return hires(0.4, 0.5)(batch)

    data = table(400)
    verdict = iso.check(RATIO, model, iso.Sample(data), delta=1e-6, seed=1)
    assert verdict.answer == "undecided"
    assert verdict.holds is None
    assert verdict.risk == 0
    assert verdict.stopped == "the sample ran out"
    assert verdict.samples == len(data["x"])
    assert set(asked) == set(data["x"].tolist())
    asked.clear()
    iso.check(RATIO, model, iso.Sample(data), delta=1e-6, seed=1, random_model=True)  # nothing is asked for twice
    assert sorted(asked) == sorted(data["x"].tolist())
    low, high = verdict.interval
    assert low < 0.8 < high


def test_a_census_is_exact_and_a_tie_counts_as_written() -> None:
    data = {"sex": ["F"] * 5 + ["M"] * 4, "hired": [1, 1, 0, 0, 0, 1, 1, 0, 0]}
    text = "P[hired | sex == 'F'] / P[hired | sex == 'M'] {} 0.8"
    assert iso.check(text.format(">="), population=iso.Census(data)).answer == "holds"
    verdict = iso.check(text.format(">"), population=iso.Census(data))
    assert verdict.answer == "violated"
    assert verdict.exact
    assert verdict.risk == 0
    assert verdict.interval == (0.8, 0.8)


def test_a_census_needs_no_range_for_a_mean() -> None:
    verdict = iso.check("E[pay] >= 2", population=iso.Census({"pay": [1.0, 2.0, 3.0]}))
    assert verdict.answer == "holds"
    assert verdict.leaves[0].estimate == 2.0


def test_rows_drawn_without_replacement_end_exact_when_used_up() -> None:
    data = table(300)
    exact = iso.check(RATIO, hires(0.41, 0.5), iso.Census(data))
    verdict = iso.check(RATIO, hires(0.41, 0.5), iso.Census(data, exact=False), delta=1e-12, seed=1)
    assert verdict.answer == exact.answer
    assert verdict.method == "exact"
    assert verdict.samples == 300
    assert [leaf.estimate for leaf in verdict.leaves] == pytest.approx([leaf.estimate for leaf in exact.leaves])


def test_drawing_without_replacement_is_cheaper_than_independent_draws() -> None:
    data = table(4000)
    spent = []
    for population in (iso.Census(data, exact=False), iso.Generator(people)):
        runs = [iso.check(RATIO, hires(0.46, 0.5), population, delta=0.01, seed=seed) for seed in range(8)]
        assert {run.answer for run in runs} == {"holds"}
        spent.append(np.mean([run.samples for run in runs]))
    assert spent[0] < spent[1]


def test_a_sampled_census_with_groups_made_by_the_model_draws_with_replacement() -> None:
    text = "P[sex == 'F' | prediction == 1] >= 0.2"
    verdict = iso.check(text, hires(0.5, 0.5), iso.Census(table(2000), exact=False), delta=1e-3, seed=1)
    assert verdict.answer == "holds"
    assert not any("without replacement" in remark for remark in verdict.remarks)


def test_overlapping_conditions_are_handled_and_the_verdict_says_how() -> None:
    text = "P[prediction == 1 | sex == 'F'] / P[prediction == 1] >= 0.8"
    verdict = iso.check(text, hires(0.5, 0.5), iso.Generator(people), delta=1e-6, seed=1)
    assert verdict.answer == "holds"
    assert any("overlap" in remark for remark in verdict.remarks)


def test_several_events_of_one_group_are_one_bet() -> None:
    text = "P[x < 0.5 | sex == 'F'] - P[x < 0.3 | sex == 'F'] >= 0.1"
    verdict = iso.check(text, population=iso.Generator(people), delta=1e-6, seed=1)
    assert verdict.answer == "holds"
    assert any("share a group" in remark for remark in verdict.remarks)


def test_a_formula_that_is_not_linear_is_decided_by_a_region() -> None:
    text = "P[prediction == 1 | sex == 'F'] * P[prediction == 1 | sex == 'M'] <= 0.4"
    verdict = iso.check(text, hires(0.5, 0.5), iso.Generator(people), delta=1e-6, seed=1)
    assert (verdict.answer, verdict.method) == ("holds", "region")
    assert any("branch and bound" in remark for remark in verdict.remarks)
    with raises(iso.UsageError, "F", "M", 0.4, "method='auto'"):
        iso.check(text, hires(0.5, 0.5), iso.Generator(people), method="bets")


def test_a_variance_is_bet_on_and_by_a_region_where_groups_overlap() -> None:
    verdict = iso.check("E[x * x] - E[x] ** 2 <= 0.1", population=iso.Generator(people), ranges={"x": (0, 1)}, seed=1)
    assert (verdict.answer, verdict.method) == ("holds", "bets")
    assert any("square" in remark for remark in verdict.remarks)
    overlapping = "E[x * x | sex == 'F'] - E[x | race == 'a'] ** 2 >= 0.9"
    verdict = iso.check(overlapping, population=iso.Generator(people), ranges={"x": (0, 1)}, seed=1)
    assert (verdict.answer, verdict.method) == ("violated", "region")


def test_every_group_is_compared() -> None:
    text = "for g in race except 'a': abs(P[x < 0.4 | race == g] - P[x < 0.4 | race == 'a']) <= 0.1"
    verdict = iso.check(text, population=iso.Generator(people), delta=1e-3, seed=1)
    assert verdict.answer == "holds"
    assert len(verdict.expressions) == 2


def test_a_group_that_turns_up_late_stops_the_run() -> None:
    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"g": rng.choice(["a", "b"], n), "x": rng.random(n)}

    with raises(iso.DataError, "a", "b", "g"):
        iso.check("for v in g: P[x < 0.5 | g == v] >= 0.49", population=iso.Generator(draw, values={"g": ["a"]}))


def test_a_group_that_never_appears_leaves_it_undecided_and_says_so() -> None:
    declared = {"sex": ["F", "M", "X"]}
    for population in (iso.Sample(table(200), values=declared), iso.Census(table(200), values=declared)):
        verdict = iso.check("P[x < 0.5 | sex == 'X'] >= 0.2", population=population, seed=1)
        assert verdict.answer == "undecided"
        assert any("met sex == 'X', so nothing is known" in remark for remark in verdict.remarks)
        assert (verdict.leaves[0].n, verdict.leaves[0].estimate) == (0, None)


@pytest.mark.parametrize("exact", [True, False])
def test_a_denominator_that_is_zero_in_a_census_is_an_error(exact: bool) -> None:
    with pytest.raises(iso.DataError, match="denominator that is not zero"):
        iso.check(
            RATIO, lambda batch: np.zeros(len(batch["x"]), dtype=int), iso.Census(table(500), exact=exact), seed=1
        )


@pytest.mark.parametrize("looks", ["any", "once", 3])
def test_a_denominator_that_is_zero_in_a_sample_leaves_the_ratio_undecided(looks: str | int) -> None:
    verdict = iso.check(RATIO, hires(0.5, 0.0), iso.Sample(table(500)), looks=looks, seed=1)
    assert verdict.answer == "undecided"
    assert any("may have no value" in remark for remark in verdict.remarks)
    (ratio,) = verdict.expressions
    assert ratio.low <= 0.8 <= ratio.high


def test_verdict_and_interval_of_overlapping_groups_agree_and_the_interval_holds_its_estimate() -> None:
    rng, decided = np.random.default_rng(54), 0
    for seed in range(12):
        share, c = rng.uniform(0.1, 0.6), float(np.round(rng.uniform(-0.3, 0.2), 2))
        a = rng.random(400) < share
        rows = {"a": a, "h": rng.random(400) < 0.5 - rng.uniform(0.0, 0.3) * a}
        text = f"P[h | a] - P[h] >= {c}" if seed % 2 else f"P[h | a] / P[h] >= {c + 0.9}"
        verdict = iso.check(text, population=iso.Sample(rows), delta=0.1, seed=seed)
        (gap,) = verdict.expressions
        assert gap.estimate is not None
        if verdict.holds is not None:
            decided += 1
            assert gap.low >= gap.threshold if verdict.holds else gap.high <= gap.threshold
            assert gap.low <= gap.estimate <= gap.high
    assert decided >= 6


def test_a_denominator_not_yet_seen_keeps_a_generator_undecided_within_its_budget() -> None:
    model = hires(0.5, 0.0)
    verdict = iso.check(RATIO, model, iso.Generator(people), budget=2000, seed=1)
    assert verdict.answer == "undecided"
    assert any("may have no value" in remark for remark in verdict.remarks)


def test_an_interruption_ends_undecided_with_what_is_known() -> None:
    calls = []

    def model(batch: Any) -> Any:
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt
        return hires(0.4, 0.5)(batch)

    verdict = iso.check(RATIO, model, iso.Generator(people), delta=1e-9, seed=1)
    assert (verdict.answer, verdict.stopped) == ("undecided", "interrupted")
    assert verdict.leaves[0].n > 0


def test_the_model_is_asked_once_a_batch() -> None:
    rows: list[int] = []

    def model(batch: Any) -> Any:
        rows.append(len(batch["x"]))
        return hires(0.5, 0.5)(batch)

    verdict = iso.check(RATIO, model, iso.Generator(people), delta=1e-3, seed=1, random_model=True)
    assert sum(rows) == verdict.samples


def test_a_mean_needs_a_range_and_a_value_outside_it_stops_the_run_with_the_row() -> None:
    population = iso.Sample(table(500))
    with raises(iso.SpecError, "F", 100, at="E[x | sex == 'F']"):
        iso.check("E[x | sex == 'F'] >= 0.4", population=population)
    assert iso.check("E[x from 0 to 1 | sex == 'F'] >= 0.3", population=population, seed=1).answer == "holds"
    declared = iso.check("E[2 * x | sex == 'F'] >= 0.6", population=population, ranges={"x": (0, 1)}, seed=1)
    assert declared.answer == "holds"
    with raises(iso.DataError, 0, 0.5, 1):
        iso.check("E[x from 0 to 0.5] >= 0.4", population=population, seed=1)


def test_a_missing_number_in_a_mean_is_an_error_that_says_how_to_leave_it_out() -> None:
    data = {"pay": [1.0, np.nan, 3.0] * 50}
    with raises(iso.DataError, "pay", 0, "pay=None"):
        iso.check("E[pay from 0 to 5] >= 1", population=iso.Sample(data), seed=1)
    verdict = iso.check("E[pay from 0 to 5 | pay is not missing] >= 1", population=iso.Sample(data), seed=1)
    assert verdict.answer == "holds"


def test_scores_have_a_known_range() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=2000), "b": rng.normal(size=2000)})
    model = LogisticRegression().fit(frame, frame["a"] > 0)
    frame["sex"] = rng.choice(["F", "M"], 2000)
    text = "abs(E[score | sex == 'F'] - E[score | sex == 'M']) <= 0.2"
    assert iso.check(text, model, iso.Sample(frame), delta=0.01, seed=1).answer == "holds"


def _streams(women: float, men: float) -> iso.Generator:
    def of(sex: str, rate: float) -> Callable[[int, np.random.Generator], dict[str, Any]]:
        return lambda n, rng: {"sex": np.full(n, sex), "hired": rng.random(n) < rate}

    return iso.Generator({"sex == 'F'": of("F", women), "sex == 'M'": of("M", men)})


def test_groups_drawn_separately_get_draws_where_they_matter() -> None:
    text = "P[hired | sex == 'F'] - P[hired | sex == 'M'] >= 0.4"
    verdict = iso.check(text, population=_streams(0.5, 0.02), delta=1e-10, seed=1)
    women, men = (leaf.n for leaf in verdict.leaves)
    assert verdict.answer == "holds"
    assert women > 2 * men


def test_a_stream_that_gives_the_wrong_people_is_an_error() -> None:
    population = iso.Generator({"sex == 'F'": people, "sex == 'M'": people})
    with raises(iso.DataError, "F", 0, "sex='M'"):
        iso.check("P[x < 0.5 | sex == 'F'] >= 0.3", population=population, seed=1)


def test_a_stream_that_no_leaf_asks_for_is_not_drawn() -> None:
    def unwanted(n: int, rng: np.random.Generator) -> dict[str, Any]:
        raise AssertionError(f"{n} draws by {rng} in vain")

    def women(n: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"sex": np.full(n, "F"), "hired": rng.random(n) < 0.5}

    population = iso.Generator({"sex == 'F'": women, "sex == 'M'": unwanted}, names=["sex", "hired"])
    assert iso.check("P[hired | sex == 'F'] >= 0.3", population=population, delta=1e-3, seed=1).answer == "holds"


def test_a_leaf_that_no_stream_serves_is_refused_with_the_streams() -> None:
    with raises(iso.SpecError, "F", "M", at="P[hired]"):
        iso.check("P[hired] >= 0.3", population=_streams(0.5, 0.5))


def test_constants_need_nobody() -> None:
    verdict = iso.check("1 >= 0.5", population=iso.Sample(table(10)))
    assert (verdict.answer, verdict.samples, verdict.risk) == ("holds", 0, 0)


def test_a_claim_that_no_rate_can_break_is_decided_at_once() -> None:
    verdict = iso.check("P[x < 0.5] >= -1", population=iso.Generator(people), delta=1e-9, seed=1)
    assert verdict.answer == "holds"
    assert verdict.samples < 10


def test_stored_predictions_need_no_model() -> None:
    data = {"prediction": [1, 0] * 500, "sex": ["F", "F", "M", "M"] * 250}
    assert iso.check(RATIO, population=iso.Census(data)).answer == "holds"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0}, "delta=0"),
        ({"delta": 1}, "delta=1"),
        ({"delta": 2}, "delta=2"),
        ({"delta": "0.1"}, "delta='0.1'"),
        ({"method": "bet"}, "Did you mean 'bets'"),
        ({"growth": 1.0}, "growth="),
        ({"seed": -1}, "seed=-1"),
        ({"ranges": {"x": (1, 0)}}, "low < high"),
        ({"ranges": {"x": 5}}, "low < high"),
        ({"ranges": {"x": ("a", "b")}}, "low < high"),
        ({"ranges": [1]}, "expected ranges"),
        ({"budget": [1]}, "expected budget"),
        ({"budget": 0.5}, "expected budget"),
        ({"budget": ""}, "expected budget"),
        ({"budget": "10 20"}, "expected budget"),
        ({"population": None}, "expected a population"),
        ({"population": people}, r"Generator\(draw\)"),
        ({"population": 3}, "of type int"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named_with_its_value(options: dict[str, Any], message: str) -> None:
    arguments = {"population": table(20)} | options
    with pytest.raises(iso.UsageError, match=message):
        iso.check("P[x < 0.5] >= 0.1", **arguments)


def test_a_property_must_be_text_or_a_property() -> None:
    with raises(iso.UsageError, 3, name="property"):
        iso.check(3, population=table(20))  # type: ignore[arg-type]


def test_python_operators_and_text_give_the_same_verdict() -> None:
    sex, prediction = iso.col("sex"), iso.prediction
    made = iso.P(prediction == 1, given=sex == "F") / iso.P(prediction == 1, given=sex == "M") >= 0.8
    assert made == iso.parse(RATIO)
    verdicts = [iso.check(prop, hires(0.5, 0.5), iso.Generator(people), seed=1) for prop in (made, RATIO)]
    assert verdicts[0].leaves == verdicts[1].leaves


def test_a_plan_names_the_cost_and_the_limit() -> None:
    guesses = {"P[h | s == 'F']": 0.3, "P[h | s == 'M']": 0.3}
    plan = iso.plan("P[h | s == 'F'] / P[h | s == 'M'] >= 0.8", guesses, delta=1e-6)
    assert plan.answer == "holds"
    assert plan.early < plan.samples < plan.late
    assert plan.limit < plan.samples
    assert plan.samples / plan.limit < 1.5
    assert "no method" in str(plan)


@pytest.mark.parametrize(
    ("text", "guesses", "word"),
    [
        ("P[new] - P[old] >= -0.05", {"P[new]": 0.6, "P[old]": 0.6}, "independent"),
        ("E[x from 0 to 10] >= 4", {"E[x from 0 to 10]": 5.0}, "ends of their range"),
    ],
)
def test_a_plan_claims_no_limit_where_the_guesses_do_not_say_how_much_one_draw_tells(
    text: str, guesses: dict[str, float], word: str
) -> None:
    plan = iso.plan(text, guesses)
    assert np.isnan(plan.limit)
    assert "no method" not in str(plan)
    assert word in plan.caveat


def test_paired_answers_may_take_fewer_people_than_events_that_are_independent() -> None:
    rng = np.random.default_rng(1)
    old = rng.random(4000) < 0.6
    rows = {"old": old, "new": np.where(rng.random(4000) < 0.97, old, ~old)}
    verdict = iso.check("P[new] - P[old] >= -0.05", population=iso.Sample(rows), seed=1)
    independent = iso.plan("P[new] - P[old] >= -0.05", {"P[new]": 0.6, "P[old]": 0.6})
    assert verdict.answer == "holds"
    assert verdict.samples < 0.5 * independent.samples


def test_a_plan_on_the_boundary_says_that_nothing_decides_it() -> None:
    plan = iso.plan("P[h] >= 0.3", {"P[h]": 0.3})
    assert (plan.answer, plan.samples) == ("undecided", float("inf"))


@pytest.mark.parametrize(
    ("guesses", "shares", "message"),
    [
        ({}, {}, "expected a guess for"),
        (None, {}, "expected guesses"),
        ({"P[h | g]": "0.5"}, {}, "expected guesses"),
        ({"P[h | g]": 1.5}, {}, "strictly between 0 and 1"),
        ({"P[q]": 0.5}, {}, "has no leaf"),
        ({"h": 0.5}, {}, "wrap it|expected a leaf"),
        ({"P[h | g]": 0.5}, {"q": 0.5}, "has no condition"),
        ({"P[h | g]": 0.5}, {"g": 1.5}, "share between 0 and 1"),
    ],
)
def test_a_guess_that_makes_no_sense_is_refused(
    guesses: dict[str, float], shares: dict[str, float], message: str
) -> None:
    with pytest.raises(iso.IsonomiaError, match=message):
        iso.plan("P[h | g] >= 0.3", guesses, shares=shares)


def test_a_plan_agrees_with_what_checks_then_take() -> None:
    plan = iso.plan(
        RATIO,
        {"P[prediction == 1 | sex == 'F']": 0.5, "P[prediction == 1 | sex == 'M']": 0.5},
        shares={"sex == 'F'": 0.4, "sex == 'M'": 0.6},
        delta=1e-4,
    )
    taken = [
        iso.check(RATIO, hires(0.5, 0.5), iso.Generator(people), delta=1e-4, seed=seed).samples for seed in range(30)
    ]
    error = np.std(taken) / np.sqrt(len(taken))
    assert abs(np.mean(taken) - plan.samples) < 4 * error


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("P[x < 0.5 | sex == 'F'] >= 0.8 * P[x < 0.5]", "for each possible value"),
        ("E[x from 0 to 1 | sex == 'F'] >= 0.8 * E[x from 0 to 1]", "for each possible value"),
        ("P[x < 0.5 | sex == 'F'] >= 0.8 * P[x < 0.5 | race == 'a']", "for each possible value"),
        ("for g in race: P[x < 0.5 | race == g] >= 0.8 * P[x < 0.5]", "for each possible value"),
        ("P[x < 0.5 | sex == 'F'] + P[x < 0.5 | race == 'a'] >= 1.5 * P[x < 0.5]", "3 random folds"),
    ],
)
def test_overlap_is_met_by_slices_and_where_that_fails_by_folds(text: str, way: str) -> None:
    verdict = iso.check(text, population=iso.Generator(people), delta=1e-3, seed=1)
    assert verdict.answer == "holds"
    assert any(way in remark for remark in verdict.remarks)


def test_a_number_far_from_zero_is_as_good_as_one_near_it() -> None:
    near, far = (
        iso.check(
            f"E[x + {offset} from {offset} to {offset + 1} | sex == 'F'] >= {offset + 0.4}",
            population=iso.Generator(people),
            delta=1e-6,
            seed=1,
        )
        for offset in (0, 1_000_000)
    )
    assert far.answer == near.answer == "holds"
    assert abs(far.samples - near.samples) <= 0.05 * near.samples


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("text", ["0.5 / (P[x < 2] / P[x > 2]) <= 0.8", "P[x > 2] / P[x > 2] <= 2"])
def test_a_denominator_that_cancels_must_differ_from_zero_too(exact: bool, text: str) -> None:
    with pytest.raises(iso.DataError, match="denominator that is not zero"):
        iso.check(text, population=iso.Census(table(300), exact=exact), seed=1)
    assert iso.check(text, population=iso.Sample(table(300)), seed=1).answer == "undecided"


@pytest.mark.parametrize(
    "population",
    [
        lambda data: iso.Sample(data, values={"sex": ["F", "M", "X"]}),
        lambda data: iso.Census(data, values={"sex": ["F", "M", "X"]}),
        lambda data: iso.Census(data, exact=False, values={"sex": ["F", "M", "X"]}),
        lambda _: iso.Generator(people),
    ],
)
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("P[x < 0.5] >= 0.2 or P[x < 0.5 | sex == 'X'] >= 0.5", "holds"),
        ("P[x < 0.5] >= 0.9 and P[x < 0.5 | sex == 'X'] >= 0.5", "violated"),
        ("P[x < 0.5] >= 0.2 and P[x < 0.5 | sex == 'X'] >= 0.5", "undecided"),
    ],
)
def test_an_empty_group_matters_only_where_the_answer_turns_on_it(
    population: Callable[[Any], Any], text: str, answer: str
) -> None:
    verdict = iso.check(text, population=population(table(500)), budget=3000, seed=1)
    assert verdict.answer == answer
    assert any("met sex == 'X', so nothing is known" in remark for remark in verdict.remarks)


def test_a_pipeline_that_transforms_in_place_does_not_change_the_people() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, 2000), "income": rng.normal(50, 10, 2000)})
    hired = (frame["age"] - 40) / 20 + (frame["income"] - 50) / 10 + rng.normal(size=2000) > 0
    rates = []
    for copies in (True, False):
        for data in (frame, frame.to_numpy()):
            model = make_pipeline(StandardScaler(copy=copies), LogisticRegression()).fit(data.copy(), hired)
            condition = "age >= 1" if data is frame else "x0 >= 1"
            verdict = iso.check(f"P[prediction | {condition}] <= 0.6", model, iso.Census(data.copy()))
            rates.append(verdict.leaves[0].estimate)
    assert len(set(rates)) == 1


@pytest.mark.parametrize("rows", [1, 3, 6, 7, 10])
@pytest.mark.parametrize("value", [0.1, 0.2, 0.3, 0.7])
def test_a_tie_of_means_is_a_tie_as_written(rows: int, value: float) -> None:
    census = iso.Census({"a": [value] * rows})
    assert iso.check(f"E[a] <= {value} and E[a] >= {value}", population=census).answer == "holds"
    assert iso.check(f"E[a] < {value} or E[a] > {value}", population=census).answer == "violated"


def test_a_sampled_census_asks_everybody_rather_than_draw_without_end() -> None:
    census = iso.Census({"z": [0, 1] * 30, "a": [0, 0, 1, 1] * 15}, exact=False)
    verdict = iso.check("P[z == 1] - P[z == 1 | a == 1] <= 0", population=census, seed=1)
    assert (verdict.answer, verdict.method, verdict.samples) == ("holds", "exact", 120)


def test_an_event_that_never_happens_is_pointed_out() -> None:
    text = "P[prediction == 'granted' | sex == 'F'] - P[prediction == 'granted' | sex == 'M'] >= -0.2"
    model = lambda batch: np.where(batch["x"] > 0.5, "yes", "no")  # noqa: E731
    for population in (iso.Sample(table(500)), iso.Census(table(500))):
        verdict = iso.check(text, model, population, seed=1)
        assert any("spelled as in the model's answers" in remark for remark in verdict.remarks)


def test_a_for_over_a_column_of_numbers_is_refused() -> None:
    with raises(iso.SpecError, 200, 500, at="x"):
        iso.check("for v in x: P[sex == 'F' | x == v] >= 0.1", population=iso.Sample(table(500)))


def test_a_plan_runs_over_listed_values_only() -> None:
    guesses = {"P[h | s == 'F']": 0.3, "P[h | s == 'M']": 0.4}
    assert iso.plan("for g in {'F', 'M'}: P[h | s == g] >= 0.1", guesses, delta=0.01).answer == "holds"
    with raises(iso.UsageError, "for", ("a", "b")):
        iso.plan("for g in s: P[h | s == g] >= 0.1", guesses)


def test_overlapping_means_are_shown_within_a_moment() -> None:
    with effort() as spent:
        verdict = iso.check(
            "abs(E[x from 0 to 1 | race == 'a'] - E[x from 0 to 1]) <= 0.1",
            population=iso.Sample(table(2000)),
            seed=1,
            budget=100,
        )
        assert verdict.interval[0] <= 0 <= verdict.interval[1]
    assert spent.seconds < 10


def test_categories_with_an_order_are_not_compared_by_their_letters() -> None:
    levels = ["low", "mid", "high"]
    columns = {"edu": levels * 50, "hired": [0, 0, 1] * 50}
    frames = [
        pd.DataFrame({**columns, "edu": pd.Categorical(columns["edu"], categories=levels, ordered=True)}),
        pl.DataFrame(columns, schema_overrides={"edu": pl.Enum(levels)}),
    ]
    for frame in frames:
        with raises(iso.SpecError, "edu", "low", "mid", "high", at="edu >= 'mid'"):
            iso.check("P[hired == 1 | edu >= 'mid'] >= 0.4", population=iso.Census(frame))
        text = "P[hired == 1 | edu in {'mid', 'high'}] >= 0.4"
        assert iso.check(text, population=iso.Census(frame)).answer == "holds"


def test_a_range_of_a_misspelled_column_is_refused():
    people = iso.Census({"age": [30, 40]})
    with raises(UsageError, "agee", meant="age"):
        iso.check("P[age > 1] >= 0.5", population=people, ranges={"agee": (0, 100)})


def test_a_risk_without_a_reciprocal_is_refused():
    with raises(UsageError, 1e-300, 1e-320):
        iso.check("P[a] >= 0.5", population=iso.Census({"a": [1, 0]}), delta=1e-320)


def test_an_observer_without_its_methods_is_refused():
    with raises(UsageError, name="observer"):
        iso.check("P[a] >= 0.5", population=iso.Census({"a": [1, 0]}), observer=print)


def test_a_budget_can_be_a_numpy_integer():
    assert iso.check("P[x > 0.5] >= 0.5", population=iso.Generator(people), budget=np.int64(50), seed=1).samples == 50


@pytest.mark.parametrize(
    "quantity",
    [
        "P[a | g] - P[b | g]",
        "abs(P[a | g] - P[b | g])",
        "2 * P[a | g] / (1 + P[b | g])",
        "max(P[a | g], P[b | g], P[c])",
        "P[a | g] / P[b | g] - 0.5 * P[c]",
    ],
)
def test_the_interval_over_separate_allowances_is_what_a_search_finds(quantity):
    tree = next(compared(iso.parse(f"{quantity} >= 0").formula))[0]
    counts = {"P[a | g]": (30.0, 50.0), "P[b | g]": (45.0, 35.0), "P[c]": (100.0, 20.0)}
    tallies = {leaf: LeafTally((0.0, 1.0), counts[to_text(leaf)]) for leaf in leaves_of(tree)}
    searched = Region(tallies, tuple((leaf,) for leaf in tallies), 0.05).quantity_interval(tree)
    found = LeafKnowledge(tallies, (None,), 0.05).expression(tree, ">=", 0.0)
    assert (found.low, found.high) == pytest.approx(searched, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    "text", ["P[prediction == 'Yes'] >= 0", "P['Yes' == prediction] >= 0", "P[prediction in {'no', 'Yes'}] >= 0"]
)
def test_a_class_that_the_model_never_predicts_is_refused(text: str) -> None:
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    with raises(SpecError, ("no", "yes"), "DecisionTreeClassifier", name="Yes", meant="yes"):
        iso.check(text, model, iso.Census({"x": [0.0, 1.0]}))
    right = text.replace("'Yes'", "'yes'")
    assert iso.check(right, model, iso.Census({"x": [0.0, 1.0]})).answer == "holds"


@pytest.mark.parametrize("population", [iso.Sample, lambda table: iso.Census(table, exact=False)])
def test_a_number_in_the_table_outside_of_its_range_is_an_error_whether_it_is_drawn_or_not(population):
    claims = "E[y from 0 to 1] <= 0.9", "E[y + 0 from 0 to 1 | g == 'a'] <= 0.9"
    few = {"y": [0.0] * 3_900 + [1e6] * 100, "g": ["b"] * 3_890 + ["a"] * 110}
    for claim in claims:  # it was said to hold after 4 people, of a mean of 25,000
        with raises(DataError, 0, 1, 3900):
            iso.check(claim, population=population(few), seed=1)
    others = {"y": [0.0] * 3_900 + [1e6] * 100, "g": ["a"] * 3_900 + ["b"] * 100}
    assert iso.check(claims[1], population=population(others), seed=1).holds
    scores = {"score": [0.2] * 999 + [7.0]}
    with raises(DataError, 7, 999, "score"):
        iso.check("E[score from 0 to 1] <= 0.9", population=population(scores), seed=1)

"""Checking k-safety properties from the call to the verdict."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import numpy as np
import pytest
from known_people import PEOPLE, RISING, at_least_three, not_repeated, spared_at_six
from numpy.typing import NDArray

import isonomia as iso
from isonomia.errors import DataError, ModelError, SpecError, UsageError
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.table import Table
from isonomia.records import Verdict
from isonomia.wording import chance
from raising import raises

CENSUS = iso.Census(PEOPLE)


def check(text: str, model: Any = at_least_three, population: Any = CENSUS, **options: Any) -> Verdict:
    asked = {name: options.pop(name) for name in ("delta", "budget", "features", "random_model") if name in options}
    return iso.check(iso.safety.property(text, **options), model, population, seed=1, **asked)


def test_a_property_that_every_case_has_holds_exactly() -> None:
    verdict = check(RISING)
    assert (verdict.answer, verdict.risk, verdict.method, verdict.exact) == ("holds", 0.0, "exact", True)
    # 4 choices each, of which 1, 1 and 2 lead past seven for the last two people (4 + 4 and 5 + 3, 5 + 4).
    assert verdict.details["cases"] | {"inputs": None} == {
        "tested": 21,
        "rejected": 3,
        "without_choice": 0,
        "vacuous": 0,
        "failed": 0,
        "inputs": None,
    }
    assert verdict.counterexamples == ()
    assert verdict.interval == (0.0, 0.0)


def test_a_violation_is_shown_with_inputs_outputs_and_what_differs() -> None:
    verdict = check(RISING, spared_at_six)
    assert (verdict.answer, verdict.risk) == ("violated", 0.0)
    # From 3, 4 and 5 one choice each leads to six.
    assert verdict.details["violations"] == {
        "cases": 3,
        "distinct": 3,
        "inputs": 3,
        "by_ensures": {"d1 <= d2": 3},
    }
    first = verdict.counterexamples[0]
    assert first["inputs"] == {"x1": {"age": 70, "priors": 5, "city": "A", "right": 1}}
    assert first["differs"] == {"x2": {"priors": [5, 6]}}
    assert (first["outputs"], first["choices"], first["rows"]) == ({"d1": 1, "d2": 0}, [1], {"x1": 5})
    assert (first["violates"], first["minimal"]) == (["d1 <= d2"], True)
    assert [item["choices"] for item in verdict.counterexamples] == [[1], [2], [3]]


def test_the_exact_rate_weighs_every_input_alike_and_rejected_choices_with_it() -> None:
    verdict = check(RISING, spared_at_six)
    assert verdict.leaves[0].estimate == pytest.approx(3 / 21)
    uneven = RISING.replace("randInt(1, 4)", "randInt(1, 6 - v1)").replace("requires v2 <= 7;", "")
    # 5 choices at 1 prior, 4 at 2, ...; only the change to six violates, from 3, 4 and 5: 1/3, 1/2 and 1 of six people.
    assert check(uneven, spared_at_six).leaves[0].estimate == pytest.approx((1 / 3 + 1 / 2 + 1) / 6)


def test_a_verdict_goes_through_json() -> None:
    verdict = check(RISING, spared_at_six)
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))).counterexamples == verdict.counterexamples


def test_random_cases_find_the_violation_and_a_counterexample_is_proof() -> None:
    verdict = check(RISING, spared_at_six, enumerate=False)
    assert (verdict.answer, verdict.risk, verdict.method) == ("violated", 0.0, "tests")
    assert verdict.counterexamples[0]["differs"] == {"x2": {"priors": [5, 6]}}


def test_random_cases_without_a_violation_prove_all_but_eps() -> None:
    verdict = check(RISING, enumerate=False, eps=0.01, delta=1e-3)
    assert (verdict.answer, verdict.risk) == ("holds", 1e-3)
    needed = int(np.ceil(np.log(1e-3) / np.log(0.99)))
    assert verdict.details["cases"]["tested"] == needed
    assert verdict.samples == needed + verdict.details["edge_cases"]["tried"]
    assert any("all but 0.01" in remark for remark in verdict.remarks)
    assert verdict.expressions[0].settled is True


def test_too_few_random_cases_are_undecided_and_say_what_they_prove() -> None:
    verdict = check(RISING, enumerate=False, budget=100)
    assert (verdict.answer, verdict.samples) == ("undecided", 100)
    assert any(f"all but {chance(1 - 0.05 ** (1 / 90))}" in remark for remark in verdict.remarks)  # 10 were edge cases


def test_rejected_draws_cost_no_budget() -> None:
    verdict = check(RISING, enumerate=False, budget=100, stop_early=False)
    assert verdict.details["cases"]["tested"] == 100
    assert verdict.details["cases"]["rejected"] > 0


def test_a_sample_is_searched_completely_but_proves_only_what_a_sample_can() -> None:
    verdict = check(RISING, population=iso.Sample(PEOPLE))
    assert verdict.answer == "undecided"
    assert any("all 21 were tried" in remark for remark in verdict.remarks)
    assert check(RISING, spared_at_six, iso.Sample(PEOPLE)).answer == "violated"
    many = {name: np.tile(values, 600) for name, values in PEOPLE.items()}
    assert check(RISING, population=iso.Sample(many), eps=0.01).answer == "holds"


def test_people_without_end_are_drawn() -> None:
    def draw(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"age": rng.integers(18, 80, n), "priors": rng.integers(0, 9, n)}

    verdict = check(RISING, population=iso.Generator(draw), eps=0.01)
    assert verdict.answer == "holds"
    assert check(RISING, spared_at_six, iso.Generator(draw)).answer == "violated"


@pytest.mark.parametrize(("rate", "answer"), [("85%", "holds"), ("86%", "violated")])
def test_a_required_rate_is_decided_exactly(rate: str, answer: str) -> None:
    # 3 of 21 violate, each as likely as any other: 85.7% do not.
    verdict = check(RISING.replace("d1 <= d2", f"d1 <= d2 in {rate} of cases"), spared_at_six)
    assert (verdict.answer, verdict.risk) == (answer, 0.0)


@pytest.mark.parametrize(("rate", "answer"), [("70%", "holds"), ("95%", "violated")])
def test_a_required_rate_is_decided_by_bets_on_random_cases(rate: str, answer: str) -> None:
    text = RISING.replace("d1 <= d2", f"d1 <= d2 in {rate} of cases")
    verdict = check(text, spared_at_six, enumerate=False, delta=1e-4)
    assert (verdict.answer, verdict.risk) == (answer, 1e-4)


def test_two_inputs_make_every_pair_a_case() -> None:
    text = "input x1; input x2; requires x1.priors < x2.priors; output a; output b;"
    verdict = check(text + "{ a = predict(x1); b = predict(x2) } ensures a <= b;")
    assert verdict.details["cases"]["tested"] == 15
    assert verdict.answer == "holds"


def test_the_model_is_asked_once_a_batch_and_output() -> None:
    calls = []

    def counted(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        calls.append(len(table["priors"]))
        return at_least_three(table)

    check(RISING, not_repeated(counted))
    assert calls == [6, 21], "each person once, although 21 cases begin with one"


def test_labels_are_not_shown_to_the_model() -> None:
    seen: set[str] = set()

    def looks(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        seen.update(table)
        return at_least_three(table)

    text = "input x1; output d1; { d1 = predict(x1) } ensures d1 == label(x1);"
    assert check(text, looks, label="right").answer == "holds"
    assert seen == {"age", "priors", "city"}


def test_a_vacuous_property_holds_and_says_so() -> None:
    verdict = check(RISING.replace("d1 <= d2;", "d1 == 7 ==> d1 <= d2;"))
    assert verdict.answer == "holds"
    assert verdict.details["cases"]["vacuous"] == 21
    assert any("all cases" in remark and "nothing" in remark for remark in verdict.remarks)


def test_invariance_tries_every_other_value_of_a_column_of_text() -> None:
    def by_city(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        return np.array([city == "C" for city in table["city"]])

    verdict = iso.check(iso.safety.invariant_to("city"), by_city, CENSUS, seed=1)
    assert verdict.details["cases"]["tested"] == 12
    assert verdict.details["violations"]["cases"] == 7  # five may move to C, one may leave it for A or B
    assert iso.check(iso.safety.invariant_to("city"), at_least_three, CENSUS, seed=1).answer == "holds"


def test_levels_of_text_count_as_numbers() -> None:
    table = {"level": ["low", "high", "mid"]}
    text = 'input x1; var x2 := setFeat(x1, "level", x1.level + 1); requires x1.level < 2; output d; output e;'
    text += "{ d = predict(x1); e = predict(x2) } ensures d != e;"
    seen: list[str] = []

    def remembers(given: dict[str, NDArray[Any]]) -> NDArray[Any]:
        seen.extend(given["level"])
        return given["level"]

    verdict = check(text, not_repeated(remembers), iso.Census(table), orders={"level": ["low", "mid", "high"]})
    assert verdict.answer == "holds"
    assert seen == ["low", "mid", "mid", "high"]


def test_a_function_of_ones_own_transforms_one_case_at_a_time() -> None:
    prop = iso.safety.implies_after(lambda row: {**row, "priors": row["priors"] + 1}, label="right")
    assert iso.check(prop, at_least_three, CENSUS, seed=1).answer == "holds"


def test_known_counterexamples_are_tried_first() -> None:
    known = check(RISING, spared_at_six).counterexamples
    again = check(RISING, spared_at_six, known=known)
    assert again.answer == "violated"
    assert again.samples == len(known)
    assert again.counterexamples[0]["differs"] == {"x2": {"priors": [5, 6]}}
    assert check(RISING, at_least_three, known=known).answer == "holds"
    assert check(RISING, at_least_three, iso.Census({"priors": [1]}), known=known).answer == "holds"


def test_a_known_counterexample_proves_nothing_of_a_census_that_does_not_have_it() -> None:
    known = check(RISING, spared_at_six).counterexamples
    without = {name: column[:2] for name, column in PEOPLE.items()}
    assert check(RISING, spared_at_six, iso.Census(without)).answer == "holds"
    assert check(RISING, spared_at_six, iso.Census(without), known=known).answer == "holds"
    assert check(RISING, spared_at_six, iso.Sample(without), known=known).answer == "violated"


def test_known_counterexamples_must_be_some() -> None:
    with raises(UsageError, "a", name="known"):
        check(RISING, known=[{"a": 1}])


def test_the_same_seed_gives_the_same_verdict_whatever_the_number_of_workers() -> None:
    def told(verdict: Verdict) -> dict[str, Any]:
        return {key: value for key, value in verdict.to_dict().items() if key != "seconds"}

    prop = iso.safety.property(RISING, enumerate=False, stop_early=False)
    one, two = (iso.check(prop, spared_at_six, CENSUS, seed=3, budget=500, workers=n) for n in (1, 3))
    assert told(one) == told(two)


# ---------------------------------------------------------------- bad input


def test_a_division_by_zero_that_is_written_out_is_refused() -> None:
    with pytest.raises(SpecError, match="divides by zero"):
        check(RISING.replace("v1 + randInt(1, 4)", "v1 / 0 + randInt(1, 4)"))


def test_a_division_by_zero_in_some_cases_is_counted_and_leaves_it_undecided() -> None:
    verdict = check(RISING.replace("requires v2 <= 7;", "requires 10 / v1 >= 0 || v1 < 0;"))
    assert verdict.answer == "undecided"
    assert verdict.details["cases"]["failed"] == 4
    assert verdict.details["failures"] == {"a division by zero (line 5)": 4}
    assert verdict.interval == (0.0, pytest.approx(4 / 24))


def test_a_division_by_zero_that_a_condition_keeps_away_does_no_harm() -> None:
    assert check(RISING.replace("requires v2 <= 7;", "requires v1 != 0 && 10 / v1 > 1;")).answer == "holds"
    assert check(RISING.replace("d1 <= d2;", "v1 != 0 ==> 10 / v1 > 1;")).answer == "holds"


def test_a_model_that_raises_on_some_rows_is_reported_and_the_others_count() -> None:
    def fragile(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        if (table["priors"] == 7).any():
            raise ZeroDivisionError("seven")
        return spared_at_six(table)

    verdict = check(RISING, fragile)
    assert verdict.answer == "violated"
    assert verdict.details["violations"]["cases"] == 3
    assert verdict.details["cases"]["failed"] == 3
    assert any("seven" in reason for reason in verdict.details["failures"])


def test_a_model_that_raises_on_some_rows_cannot_be_said_to_hold() -> None:
    def fragile(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        if (table["priors"] == 7).any():
            raise ValueError("seven")
        return at_least_three(table)

    assert check(RISING, fragile).answer == "undecided"
    assert check(RISING, fragile, enumerate=False, budget=5000).answer == "undecided"


def test_a_model_that_always_raises_is_an_error() -> None:
    def broken(_: object) -> NDArray[Any]:
        raise RuntimeError("out of order")

    with raises(ModelError, 18, cause=RuntimeError):
        check(RISING, broken, iso.Census({name: np.tile(values, 3) for name, values in PEOPLE.items()}))


@pytest.mark.parametrize("enumerate", [None, False])
@pytest.mark.parametrize("condition", ["v2 <= -1", "v1 > 99"])
def test_a_precondition_that_nothing_satisfies_is_found(condition: str, enumerate: bool | None) -> None:  # noqa: A002
    with pytest.raises(SpecError, match="no case meets the preconditions"):
        check(RISING.replace("v2 <= 7", condition), enumerate=enumerate)


def test_a_sample_that_meets_no_precondition_is_found_too() -> None:
    with raises(SpecError, 6, 0, at="requires v1 > 99;"):
        check(RISING.replace("v2 <= 7", "v1 > 99"), population=iso.Sample(PEOPLE), enumerate=False)


def test_an_empty_source_of_inputs_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        check(RISING, population=iso.Census({"priors": []}))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('getFeat(x1, "priors")', 'getFeat(x1, "prior")', ("no feature 'prior'", "Did you mean 'priors'", "line 2")),
        ('getFeat(x1, "priors")', "getFeat(x1, 4)", ("number 4", "0 to 3", "line 2")),
        ('getFeat(x1, "priors")', "getFeat(x1, -1)", ("number -1",)),
        ('getFeat(x1, "priors")', "x1.prior", ("Did you mean",)),
        ('getFeat(x1, "priors")', "getFeat(x1, v0)", ("not declared",)),
        ('getFeat(x1, "priors")', "getFeat(x1, 1.5)", ("whole number",)),
        ('getFeat(x1, "priors")', "getFeat(x1)", ("takes 2 arguments",)),
        ('getFeat(x1, "priors")', "getFeat(3, 1)", ("expected a record",)),
        ('getFeat(x1, "priors")', "getFeet(x1, 1)", ("no function `getFeet`", "Did you mean 'getFeat'")),
        ("v2 <= 7", 'v2 <= "many"', ("cannot be compared",)),
        ("v2 <= 7", "x1 <= x2", ("records are equal or not",)),
        ("v2 <= 7", "x1 == v1", ("compare a feature",)),
        ("v2 <= 7", "x1", ("true or false",)),
        ("v2 <= 7", "x1.city && v1 == 1", ("compare it",)),
        ("v2 <= 7", "x1.city * 2 == 1", ("cannot be computed",)),
        ("v2 <= 7", "-x1.city == 1", ("no meaning",)),
        ("v2 <= 7", "abs(x1.city) == 1", ("takes numbers",)),
        ('setFeat(x1, "priors", v2)', 'setFeat(x1, "city", v2)', ("cannot be set",)),
        ('setFeat(x1, "priors", v2)', "x1[city := v2]", ("cannot be set",)),
        ("d1 <= d2", "d1 <= label(x1)", ("label='COLUMN'",)),
    ],
)
def test_what_cannot_mean_anything_for_the_data_is_refused(before: str, after: str, words: tuple[str, ...]) -> None:
    with pytest.raises((SpecError, DataError)) as caught:
        check(RISING.replace(before, after))
    for word in words:
        assert word in str(caught.value)


def test_a_model_is_needed() -> None:
    with raises(UsageError, name="model"):
        iso.check(iso.safety.property(RISING), None, CENSUS)


def test_every_case_cannot_be_tried_where_they_have_no_end() -> None:
    text = RISING.replace("randInt(1, 4)", "randReal(1, 4)")
    with raises(UsageError, name="enumerate"):
        check(text, enumerate=True)
    assert check(text, eps=0.01).method == "tests"


def test_a_budget_below_the_number_of_cases_means_random_cases() -> None:
    assert check(RISING, budget=23).method == "tests"
    assert check(RISING, budget=24).method == "exact"  # the three that are rejected must be looked at, too


def test_a_check_out_of_time_keeps_the_violation_it_has_seen() -> None:
    many = iso.Census({"priors": np.arange(5000) % 6})
    slow = RISING.replace("randInt(1, 4)", "randInt(1, 100)").replace("v2 <= 7", "v2 <= 200")
    verdict = check(slow, spared_at_six, many, budget="0.000001s")
    assert (verdict.answer, verdict.risk, verdict.method) == ("violated", 0.0, "tests")
    undecided = check(slow, at_least_three, many, budget="0.000001s")
    assert (undecided.answer, undecided.interval) == ("undecided", (0.0, 1.0))


def test_a_domain_stands_in_for_a_population() -> None:
    table = table_domain(Table.of(PEOPLE), {}, {}, "right", {})
    assert check(RISING, spared_at_six, table).details["violations"]["cases"] == 3
    assert check("input x1; output d; { d = predict(x1) } ensures d == label(x1);", population=table).answer == "holds"
    with raises(UsageError, name="groups"):
        check(RISING, population=table, label="right")


def test_the_options_of_rates_are_refused() -> None:
    with raises(UsageError, "region", name="method"):
        iso.check(iso.safety.property(RISING), at_least_three, CENSUS, method="region")


def test_an_import_is_only_run_with_permission() -> None:
    text = "import math;\n" + RISING.replace("v1 + randInt", "floor(v1 + 0.5) + randInt")
    with raises(SpecError, "floor", "math", "allow_code=True", at="floor(v1 + 0.5)"):
        check(text)
    assert check(text, allow_code=True).answer == "holds"


def test_numbers_of_a_frame_keep_their_types() -> None:
    pandas = pytest.importorskip("pandas")
    kinds = set()

    def typed(frame: Any) -> Any:
        kinds.add(str(frame.dtypes["priors"]))
        return (frame["priors"] >= 3).to_numpy().astype(int)

    frame = pandas.DataFrame({"priors": [1, 2, 5], "age": [20.0, 30.0, 40.0]})
    assert check(RISING, typed, iso.Census(frame)).answer == "holds"
    assert kinds == {"int64"}


def test_progress_is_told() -> None:
    told = count()

    class Watcher:
        def begin(self, text: str) -> None:
            assert "x1" in text

        def advance(self, progress: Any) -> None:
            assert "violations" in progress.progress_text()
            next(told)

        def end(self) -> None:
            next(told)

    iso.check(iso.safety.property(RISING), at_least_three, CENSUS, seed=1, observer=Watcher())
    assert next(told) == 2

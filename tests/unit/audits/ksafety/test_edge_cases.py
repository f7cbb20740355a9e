"""Cases that went wrong once, or easily could: failures, several ensures, samples, known counterexamples."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from known_people import PEOPLE, RISING, at_least_three, spared_at_six
from numpy.typing import NDArray

import isonomia as iso
from isonomia.audits.ksafety.functions import FunctionAlwaysRaisedError
from isonomia.errors import SpecError
from isonomia.records import Verdict
from raising import raises

HEAD = "input x1;\noutput d1;\n{ d1 = predict(x1) }\n"
FOUR = iso.Census({"a": [0, 1, 2, 3], "c": [1.0, None, 3.0, 4.0]})


def check(text: str, model: Any, population: Any = FOUR, **options: Any) -> Verdict:
    asked = {name: options.pop(name) for name in ("delta", "budget") if name in options}
    return iso.check(iso.safety.property(text, **options), model, population, seed=1, **asked)


def one(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.ones(len(table["a"]), dtype=int)


def one_at_zero(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.where(table["a"] == 0, 1, 2)


def words(table: dict[str, NDArray[Any]]) -> list[str]:
    return ["yes"] * len(table["a"])


def test_a_violation_counts_although_another_ensures_has_no_value_there() -> None:
    verdict = check(HEAD + "ensures d1 == 2;\nensures 10 / x1.a > 1;\n", one)
    assert verdict.answer == "violated"
    assert verdict.details["violations"]["by_ensures"] == {"d1 == 2": 4, "10 / x1.a > 1": 0}
    assert verdict.details["cases"]["failed"] == 1
    assert (verdict.leaves[0].low, verdict.leaves[0].high) == (1.0, 1.0)
    assert (verdict.leaves[1].low, verdict.leaves[1].high) == (0.0, 0.25)


def test_a_case_that_fails_in_the_condition_of_an_implication_is_counted_once() -> None:
    verdict = check(HEAD + "ensures 10 / x1.a > 1 ==> d1 == 1;\n", one)
    assert verdict.details["failures"] == {"a division by zero (line 4)": 1}


def test_a_case_that_fails_twice_for_one_reason_is_counted_once() -> None:
    def fragile(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        if (table["a"] == 0).any():
            raise ValueError("zero")
        return one(table)

    verdict = check("input x1;\noutput d1;\n{ d1 = predict(x1) + predict(x1) }\nensures d1 == 2;\n", fragile)
    assert verdict.details["failures"] == {"the model raised ValueError: zero": 1}


@pytest.mark.parametrize("enumerate", [None, False])
def test_a_range_that_cannot_be_computed_fails_and_is_not_dropped(enumerate: bool | None) -> None:  # noqa: A002
    # For nobody but the first is the range unknown; with one of the fallback's ends it would look empty.
    text = "input x1;\nvar v := randInt(10 / x1.a - 10, 3);\noutput d1;\n{ d1 = predict(x1) }\nensures v <= d1 + 2;\n"
    verdict = check(text, one, enumerate=enumerate, budget=None if enumerate is None else 3000)
    assert verdict.answer == "undecided"
    assert verdict.details["cases"]["failed"] > 0
    assert "a division by zero (line 2)" in verdict.details["failures"]


def test_a_range_without_end_fails() -> None:
    text = "input x1;\nvar v := randReal(0, x1.a);\noutput d1;\n{ d1 = predict(x1) }\nensures v >= d1 - 1;\n"
    verdict = check(text, one, iso.Census({"a": [1.0, np.inf]}), budget=100)
    assert verdict.details["failures"].keys() == {"randReal(...) needs finite ends (line 2)"}


def test_numbers_that_are_asked_of_texts_fail_with_a_word() -> None:
    verdict = check("input x1;\noutput d1;\n{ d1 = abs(predict(x1)) }\nensures d1 >= 0;\n", words)
    assert verdict.details["failures"] == {"abs(...) takes numbers, but got something else (line 3)": 4}


@pytest.mark.parametrize("condition", ["!d1", "d1 && true", "true && d1", "!(d1 || false)", "d1 ==> false"])
def test_a_text_is_neither_true_nor_false_inside_a_condition_either(condition: str) -> None:
    verdict = check(HEAD + f"ensures {condition};\n", words)
    assert (verdict.answer, verdict.details["cases"]["failed"]) == ("undecided", 4)


def test_a_text_is_neither_true_nor_false() -> None:
    verdict = check(HEAD + "ensures d1;\n", words)
    assert verdict.answer == "undecided"
    assert "expected something true or false, but got a text (line 4)" in verdict.details["failures"]


def test_a_violation_in_a_sample_is_proof_but_its_share_is_only_estimated() -> None:
    rows = iso.Sample({"a": [0, 1, 2, 3] * 50})
    verdict = check(HEAD + "ensures d1 == 2;\n", one_at_zero, rows)
    assert (verdict.answer, verdict.risk, verdict.exact) == ("violated", 0.0, False)
    assert verdict.details["violations"]["cases"] == 50
    low, high = verdict.interval or (0.0, 0.0)
    assert 0.1 < low < 0.25 < high < 0.4


def test_a_known_counterexample_of_a_required_rate_proves_nothing() -> None:
    text = HEAD + "ensures d1 == 2 in 50% of cases;\nensures d1 < 9;\n"
    first = check(text, one_at_zero)
    assert (first.answer, len(first.counterexamples)) == ("holds", 1)
    assert check(text, one_at_zero, known=first.counterexamples).answer == "holds"


@pytest.mark.parametrize(
    "stale",
    [
        {"inputs": {"x1": {"a": 1}}, "choices": [1]},
        {"inputs": {"x1": None}, "choices": [1]},
        {"inputs": [], "choices": [1]},
        {"inputs": {"x1": {name: values.tolist()[0] for name, values in PEOPLE.items()}}, "choices": []},
        {"inputs": {"x1": {name: values.tolist()[0] for name, values in PEOPLE.items()}}, "choices": ["a"]},
        {"inputs": {"x1": {name: values.tolist()[0] for name, values in PEOPLE.items()}}, "choices": None},
    ],
)
def test_a_stored_counterexample_that_no_longer_fits_is_passed_over(stale: dict[str, Any]) -> None:
    assert check(RISING, at_least_three, iso.Census(PEOPLE), known=[stale]).answer == "holds"


def test_always_in_percent_is_always() -> None:
    verdict = check(HEAD + "ensures d1 == 1 in 100% of cases;\n", one, enumerate=False)
    assert (verdict.answer, verdict.expressions[0].settled) == ("holds", True)


def test_a_function_that_raises_for_some_is_counted_and_for_all_is_an_error() -> None:
    text = "input x1;\nvar v := share(x1.a);\noutput d1;\n{ d1 = predict(x1) }\nensures v <= d1;\n"
    verdict = check(text, one, functions={"share": lambda a: 1 / a})
    assert verdict.details["failures"] == {"share(...) raised ZeroDivisionError: division by zero (line 2)": 1}
    with raises(FunctionAlwaysRaisedError, "share(...)", "ZeroDivisionError"):
        check(text, one, iso.Census({"a": [0] * 9}), functions={"share": lambda a: 1 / a})


def test_a_violation_that_does_not_occur_again_is_said_and_not_shown() -> None:
    rng = random.Random(1)
    text = "input x1;\nvar v := luck(x1.a);\noutput d1;\n{ d1 = predict(x1) }\nensures v < d1;\n"
    verdict = check(
        text, one, iso.Census({"a": list(range(40))}), functions={"luck": lambda a: 0 * a + 1.2 * rng.random()}
    )
    assert verdict.answer == "violated"
    assert len(verdict.counterexamples) < 10
    assert any("did not occur when the same case was computed again" in remark for remark in verdict.remarks)


def test_a_precondition_that_is_hardly_ever_met_gives_up_when_the_time_is_up() -> None:
    text = "input x1;\nvar v := randReal(0, 1);\nrequires v < 0.00002;\n" + HEAD.removeprefix("input x1;\n")
    verdict = check(text + "ensures d1 == 1;\n", one, budget="0.3s")
    assert verdict.answer == "undecided"
    assert verdict.seconds < 5


def test_an_exception_in_code_names_the_line_of_the_file() -> None:
    block = "    for _ in range(1):\n        d1 = predict(x1)\n    d1 = 1 // getFeat(x1, 0)\n"
    text = f"// first\ninput x1;\noutput d1;\n{{\n{block}}}\nensures d1 <= 1;\n"
    verdict = check(text, one, allow_code=True)
    assert list(verdict.details["failures"]) == [
        "the block raised ZeroDivisionError: integer division or modulo by zero (line 7)"
    ]


def test_a_block_that_never_ends_is_pointed_at_where_it_was() -> None:
    text = "input x1;\noutput d1;\n{\n    d1 = 0\n    while True:\n        d1 += 1\n}\nensures d1 == 1;\n"
    with pytest.raises(SpecError) as caught:
        check(text, one, allow_code=True, seconds=0.2)
    assert caught.value.place is not None
    assert caught.value.place.line in {5, 6}


def test_the_number_of_distinct_violations_is_that_of_the_listing() -> None:
    verdict = check(RISING, spared_at_six, iso.Census(PEOPLE), enumerate=False, stop_early=False, budget=2000)
    assert verdict.details["violations"] | {"cases": 0, "by_ensures": {}} == {
        "cases": 0,
        "distinct": 3,
        "inputs": 3,
        "by_ensures": {},
    }

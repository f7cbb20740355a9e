"""Blocks that are run as Python."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from known_people import PEOPLE, RISING, at_least_three, not_repeated, spared_at_six
from numpy.typing import NDArray

import isonomia as iso
from isonomia.errors import SpecError
from isonomia.records import Verdict
from raising import raises

CENSUS = iso.Census(PEOPLE)
PLAIN = "    d1 = predict(x1)\n    d2 = predict(x2)"
LOOP = "    answers = []\n    for x in (x1, x2):\n        answers.append(predict(x))\n    d1, d2 = answers"


def with_block(block: str) -> str:
    return RISING.replace(PLAIN, block)


def check(block: str, model: Any = spared_at_six, **options: Any) -> Verdict:
    asked = {name: options.pop(name) for name in ("budget", "random_model") if name in options}
    prop = iso.safety.property(with_block(block), allow_code=options.pop("allow_code", True), **options)
    return iso.check(prop, model, CENSUS, seed=1, **asked)


def counts(verdict: Verdict) -> object:
    return verdict.answer, verdict.details["cases"], verdict.details["violations"], verdict.counterexamples


@pytest.mark.parametrize(
    "block",
    [
        LOOP,
        "    d1, d2 = [predict(x) for x in (x1, x2)]",
        "    def ask(x):\n        return predict(x)\n    d1 = ask(x1)\n    d2 = ask(x2)",
        "    d1 = 0\n    while d1 < predict(x1):\n        d1 += 1\n    d2 = predict(x2)",
        "    d1 = predict(x1)\n    if v1 > 99:\n        d2 = 0\n    else:\n        d2 = predict(setFeat(x1, 1, v2))",
        "    d2 = max(predict(x2) for _ in range(3))\n    d1 = (lambda x: predict(x))(x1)",
    ],
)
def test_code_gives_what_the_plain_block_gives(block: str) -> None:
    assert counts(check(block)) == counts(check(PLAIN, allow_code=False))


def test_the_questions_of_all_cases_are_asked_together() -> None:
    calls = []

    def counted(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        calls.append(len(table["priors"]))
        return at_least_three(table)

    check(LOOP, not_repeated(counted))
    assert calls == [6, 21]


def test_cases_that_ask_different_numbers_of_questions_wait_for_no_one() -> None:
    block = "    d1, d2 = 0, 0\n    for x in [x1] * v1:\n        d1 += predict(x)\n"
    block += "    for x in [x2] * v1:\n        d2 += predict(x)"
    calls = []

    def counted(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        calls.append(len(table["priors"]))
        return at_least_three(table)

    assert check(block, not_repeated(counted)).answer == "holds"
    assert len(calls) == 10  # the case with five priors asks ten times, and the others ask along with it


def test_a_record_can_be_read() -> None:
    assert check("    d1 = x1['priors']\n    d2 = getFeat(x2, 1) if x1 != x2 else 0").answer == "holds"


def test_code_needs_permission_and_the_message_says_why() -> None:
    with pytest.raises(SpecError) as caught:
        check(LOOP, allow_code=False)
    for word in ("a list", "allow_code=True", "--allow-code", "anything that you can do", "line 9, column 15"):
        assert word in str(caught.value)


def test_draws_inside_the_block_are_repeatable_and_part_of_the_case() -> None:
    block = (
        "    rises = [randInt(0, 1) for _ in range(4)]\n    d1 = predict(x1)\n    d2 = predict(x2) - (sum(rises) == 4)"
    )
    first, again = (check(block, at_least_three, stop_early=False, budget=600) for _ in range(2))
    assert first.method == "tests"
    assert counts(first) == counts(again)
    share = first.details["violations"]["cases"] / 600
    assert abs(share - 1 / 16) < 5 * (1 / 16 / 600) ** 0.5
    replayed = check(block, at_least_three, known=first.counterexamples)
    assert replayed.answer == "violated"
    assert replayed.samples == len(first.counterexamples)


def test_a_block_that_never_ends_is_stopped() -> None:
    before = threading.active_count()
    with raises(SpecError, 0.2, at="while True:"):
        check("    d1, d2 = 0, 0\n    while True:\n        d1 += 1", seconds=0.2)
    for _ in range(50):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_block_that_raises_in_some_cases_is_counted() -> None:
    verdict = check("    d1 = predict(x1)\n    d2 = 1 // (v2 - 3)\n    d2 = [predict(x2)][0]", at_least_three)
    assert verdict.answer == "undecided"
    assert verdict.details["cases"]["failed"] == 3
    assert any("ZeroDivisionError" in reason for reason in verdict.details["failures"])


def test_an_output_that_is_not_set_in_some_cases_is_counted() -> None:
    verdict = check("    d1 = predict(x1)\n    if v2 != 3:\n        d2 = predict(x2)", at_least_three)
    assert verdict.details["failures"] == {"the block did not set d2": 3}


def test_a_model_that_raises_inside_code_is_counted() -> None:
    def fragile(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        if (table["priors"] == 7).any():
            raise ValueError("seven")
        return at_least_three(table)

    verdict = check(LOOP, fragile)
    assert verdict.details["failures"] == {"the model raised ValueError: seven": 3}


def test_asking_about_something_else_than_a_record_is_said() -> None:
    verdict = check("    d1 = predict(3)\n    d2 = [1][0]", at_least_three)
    assert any("takes a record" in reason for reason in verdict.details["failures"])


def test_plain_draws_that_depend_on_an_answer_make_it_code() -> None:
    block = "    d1 = predict(x1)\n    d2 = randInt(d1, 3)"
    with raises(SpecError, name="allow_code"):
        check(block, allow_code=False)
    assert check(block, at_least_three, eps=0.01).answer == "holds"


def test_plain_draws_in_the_block_are_tried_in_every_way() -> None:
    verdict = check(
        "    d1 = randInt(0, 1)\n    d2 = predict(setFeat(x1, 'priors', randInt(0, 2))) + 1", at_least_three
    )
    assert (verdict.method, verdict.details["cases"]["tested"]) == ("exact", 21 * 6)


def test_a_name_that_is_set_again_has_its_latest_value() -> None:
    verdict = check(
        "    a = 1\n    d1 = predict(x1) + a\n    a = 2\n    d2 = predict(x2) + a\n    d1 = d1 + a",
        at_least_three,
        allow_code=False,
    )
    # d1 is p1 + 3 and d2 is p2 + 2: violated wherever the prediction does not rise.
    rising = sum(p < 3 <= p + step for p in PEOPLE["priors"] for step in (1, 2, 3, 4) if p + step <= 7)
    assert verdict.details["violations"]["cases"] == 21 - rising


def test_many_cases_side_by_side_are_as_one_after_another() -> None:
    many = iso.Census({name: np.tile(values, 120) for name, values in PEOPLE.items()})
    prop = iso.safety.property(with_block(LOOP), allow_code=True)
    plain = iso.safety.property(RISING)
    one, other = (iso.check(item, spared_at_six, many, seed=1) for item in (prop, plain))
    assert one.details["cases"]["tested"] == 120 * 21
    assert counts(one) == counts(other)


def test_a_row_that_a_block_returns_is_in_the_verdict() -> None:
    text = """
input x1;
var x2 := setFeat(x1, "age", 3);
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = (x2)
}
ensures d1 == d2 in 90% of cases;
"""
    people = iso.Census({"age": [20, 50, 60], "sex": ["F", "M", "F"]})
    model = lambda table: (np.asarray(table["age"]) > 40).astype(int)  # noqa: E731
    verdict = iso.check(iso.safety.property(text), model, people, seed=1).to_dict()
    assert verdict["answer"] == "violated"
    assert verdict["counterexamples"]

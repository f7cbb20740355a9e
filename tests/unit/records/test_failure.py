"""The message of a property that failed: what a person needs in the log of a test run, and nothing that breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from isonomia.audits.registry import Verdict
from isonomia.records.display.text import failure_text, headline
from isonomia.records.verdict import Expression, LeafRecord

KSAFETY, RESPONSIVENESS = {"audit": "k-safety"}, {"audit": "responsiveness"}

SAFETY = {
    "inputs": {"x1": {"age": 30, "priors": 2, "name": "Ann"}},
    "rows": {"x1": 17},
    "choices": [1],
    "variables": {},
    "outputs": {"d1": 0, "d2": 1},
    "differs": {"x2": {"priors": [2, 3]}},
    "violates": ["d2 <= d1"],
    "minimal": True,
}
PERSON = {
    "person": 4,
    "looked_at": 12,
    "every": True,
    "reaching": 1,
    "distance": 0.5,
    "changed": {"income": [20, 35], "savings": [0, 1]},
    "prediction": 1,
    "point": {"income": 35, "savings": 1},
}


def verdict(**given: Any) -> Verdict:
    known: dict[str, Any] = {
        "text": "P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8",
        "answer": "violated",
        "delta": 0.05,
        "risk": 0.05,
        "method": "bets",
        "samples": 312,
        "leaves": (),
        "expressions": (),
        "stopped": "decided",
        "assumptions": (),
        "remarks": (),
        "seed": 123,
        "seconds": 0.1,
    }
    return Verdict(**(known | given))


def violated_cases(*counterexamples: dict[str, Any], **given: Any) -> Verdict:
    return verdict(details=KSAFETY, counterexamples=counterexamples, **given)


def test_the_first_line_is_the_answer_and_the_name() -> None:
    assert failure_text(verdict(name="four fifths")).split("\n")[0] == "violated: four fifths"
    assert headline(verdict()) == "violated: P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8"
    assert len(headline(verdict(name="x" * 500))) <= 70


def test_estimate_and_interval_stand_against_the_threshold_with_the_rates_they_are_made_of() -> None:
    ratio = Expression("P[a] / P[b]", ">=", 0.8, 0.6123, 0.55, 0.67)
    leaves = (LeafRecord("P[a]", 100, 0.3, 0.2, 0.4), LeafRecord("P[b]", 90, 0.5, 0.4, 0.6))
    told = failure_text(verdict(expressions=(ratio,), leaves=leaves))
    assert "    P[a] / P[b]\n      0.6123 in [0.55, 0.67]; it must be >= 0.8\n" in told
    assert "P[a]: 0.3 in [0.2, 0.4], n = 100" in told


def test_what_is_violated_comes_before_what_holds() -> None:
    fine = Expression("fine", ">=", 0.5, 0.9, 0.8, 1.0)
    bad = Expression("bad", ">=", 0.5, 0.1, 0.0, 0.2)
    told = failure_text(verdict(expressions=(*[fine] * 6, bad)))
    assert told.index("bad") < told.index("fine")
    assert "and 3 more quantities" in told


def test_the_runs_of_a_counterexample_stand_side_by_side() -> None:
    told = failure_text(violated_cases(SAFETY, SAFETY, SAFETY, population={"kind": "sample"}))
    assert "counterexample 1 of 3, the smallest of them\n" in told
    assert "            x1 (row 17)  x2 (changed)\n    priors  2            3\n" in told
    assert "    the model said: d1 = 0, d2 = 1\n    not true: d2 <= d1\n" in told
    assert "Ann" not in told
    assert "verdict.counterexamples has the others" in told


def test_the_smallest_counterexample_is_shown_wherever_it_stands() -> None:
    large = SAFETY | {"rows": {"x1": 1}, "features_changed": 2, "distance": 0.1}
    small = SAFETY | {"rows": {"x1": 2}, "features_changed": 1, "distance": 0.9}
    smaller = SAFETY | {"rows": {"x1": 3}, "features_changed": 1, "distance": 0.2}
    told = failure_text(violated_cases(large, small, smaller))
    assert "x1 (row 3)" in told


def test_a_share_of_which_nothing_is_known_is_not_told_beside_a_counterexample() -> None:
    unknown = Expression("share of cases that violate `d2 <= d1`", "<=", 0.0, None, 0.0, 1.0)
    assert "share that" not in failure_text(violated_cases(SAFETY, expressions=(unknown,)))
    assert "it has no estimate; it must be <= 0" in failure_text(verdict(expressions=(unknown,)))


def test_three_runs_have_three_columns_and_equal_ones_are_named() -> None:
    case = SAFETY | {"differs": {"x2": {"priors": [2, 3]}, "x3": {"age": [30, 31]}, "x4": {}}}
    told = failure_text(violated_cases(case))
    assert "x1 (row 17)  x2 (changed)  x3 (changed)" in told
    assert "    priors  2            3             2\n    age     30           30            31\n" in told
    assert "x4 is the same record as x1" in told


def test_a_long_text_has_lines_of_its_own() -> None:
    review = "a film that never ends " * 8
    case = SAFETY | {"differs": {"x2": {"text": [review, review + "again"], "stars": [1, 2]}}}
    told = failure_text(violated_cases(case))
    assert "    text\n      x1 (row 17): 'a film that never ends" in told
    assert "    stars  1            2\n" in told


def test_what_a_domain_says_in_words_is_not_quoted() -> None:
    case = SAFETY | {"differs": {"x2": {"pixels": ["as in image 17", "49 of 64 differ"]}}, "variables": {"v1": 8}}
    told = failure_text(violated_cases(case, population={"kind": "domain", "what": "image"}))
    assert "            x1 (image 17)  x2 (changed)\n    pixels  as it was      49 of 64 differ\n" in told
    assert "    chosen at random: 1\n    where v1 = 8\n    the model said: d1 = 0, d2 = 1\n" in told


def test_a_person_is_shown_beside_the_nearest_point() -> None:
    counts = {"people": 9, "responsive": 8, "fixed": 1, "undecided": 0, "exact": 9}
    details = {"audit": "responsiveness", "counts": counts}
    told = failure_text(verdict(counterexamples=(PERSON, PERSON), counted="points", details=details))
    assert "of 9 people: 8 responsive, 1 fixed, 0 undecided" in told
    assert "the person in row 4: 1 of this person's 12 options leads to the target" in told
    assert "             row 4  nearest\n    income   20     35\n    savings  0      1\n" in told
    assert "\ncounterexample\n" in told  # two points of one person


def test_a_person_without_a_point_is_told_in_a_sentence() -> None:
    alone = PERSON | {"point": None, "changed": {}, "reaching": 0}
    told = failure_text(verdict(details=RESPONSIVENESS, counterexamples=(alone,), counted="points"))
    assert "the person in row 4: none of this person's 12 options leads to the target" in told


def test_a_counterexample_of_a_kind_yet_unknown_is_shown_by_its_values() -> None:
    told = failure_text(verdict(counterexamples=({"image": 7, "label": "cat"},)))
    assert "image  7\n" in told
    assert "label  'cat'\n" in told


def test_seed_and_command_repeat_it() -> None:
    told = failure_text(verdict(), "pytest 'tests/test_a.py::test_it' --isonomia-seed 123")
    assert told.endswith(
        "to repeat it\n    seed=123, delta=0.05\n    pytest 'tests/test_a.py::test_it' --isonomia-seed 123"
    )


def test_an_undecided_one_says_that_nothing_is_claimed_and_what_to_do() -> None:
    told = failure_text(verdict(answer="undecided", risk=0.0, stopped="the sample ran out"))
    assert told.startswith("undecided: ")
    assert "Undecided after 312 samples (the sample ran out). Nothing is claimed." in told
    assert "larger budget" in told
    assert "undecided='pass'" in told
    # A risk that is raised after looking is not the risk of anything.
    assert "larger delta" not in told
    assert "delta is chosen before the first look and must not change" in " ".join(told.split())


HOSTILE = "\x1b[31mred\x1b[0m \u202e evil \r\n::error::x " + "very_long_word" * 40


@pytest.mark.parametrize(
    "given",
    [
        {"text": HOSTILE, "name": HOSTILE},
        {"text": "input x1;\n" * 200},
        {"remarks": (HOSTILE,) * 40},
        {"expressions": (Expression(HOSTILE, "<=", 0.0, None, float("-inf"), float("inf")),) * 50},
        {
            "details": {"audit": "k-safety"},
            "counterexamples": (SAFETY | {"differs": {HOSTILE: {HOSTILE: [HOSTILE, [HOSTILE] * 99]}}},),
        },
        {
            "details": {"audit": "k-safety"},
            "counterexamples": (SAFETY | {"differs": {"x2": {f"f{k}": [k, -k] for k in range(500)}}},),
        },
        {
            "details": {"audit": "k-safety"},
            "counterexamples": (SAFETY | {"differs": {f"x{j}": {"f": [1, j]} for j in range(2, 30)}},),
        },
        {
            "details": {"audit": "k-safety"},
            "counterexamples": (SAFETY | {"outputs": {HOSTILE: HOSTILE}, "violates": [HOSTILE]},),
        },
        {
            "details": {"audit": "responsiveness"},
            "counterexamples": (PERSON | {"changed": {HOSTILE: [None, HOSTILE]}},),
        },
        {"counterexamples": ({HOSTILE: HOSTILE},)},
    ],
)
def test_whatever_the_data_hold_the_message_is_short_narrow_and_plain(given: dict[str, Any]) -> None:
    told = failure_text(verdict(**given))
    lines = told.split("\n")
    assert max(map(len, lines)) <= 96
    assert len(lines) < 150
    assert not {character for character in told if not character.isprintable()} - {"\n"}
    assert "\u202e" not in told
    assert not any(line.startswith("::") for line in lines)


def test_numbers_of_a_counterexample_are_rounded_unless_that_hides_what_differs() -> None:
    case = SAFETY | {"differs": {"x2": {"income": [1 / 3, 2 / 3], "share": [0.3, 0.1 + 0.2]}}, "outputs": {"d": 2 / 3}}
    told = failure_text(violated_cases(case))
    assert "    income  0.333333     0.666667\n    share   0.3          0.30000000000000004\n" in told
    assert "the model said: d = 0.666667" in told


def test_the_risk_that_repeats_it_has_every_digit() -> None:
    told = failure_text(verdict(delta=0.01 / 3, remarks=("at most 0.00334",)))
    assert f"seed=123, delta={0.01 / 3!r}" in told
    assert "at most 0.00334" in told

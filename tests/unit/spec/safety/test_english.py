"""A specification in plain words."""

from __future__ import annotations

import pytest

import isonomia as iso

RUNS = "output d1;\noutput d2;\n{\n    d1 = predict(x1)\n    d2 = predict(x2)\n}\n"


def said(before: str, ensures: str, runs: str = RUNS) -> str:
    return iso.safety.property(f"input x1;\n{before}\n{runs}ensures {ensures};\n").explain()


@pytest.mark.parametrize(
    ("prop", "sentence"),
    [
        (iso.safety.monotone("savings", up=(1, 3)), "Raising savings by 1 to 3 never lowers the prediction."),
        (
            iso.safety.monotone(3, down=2, output="not higher", at_most=20, at_least=0, ask="score"),
            "Lowering feature 3 by 2, while it stays at most 20 and at least 0, never raises the score.",
        ),
        (iso.safety.robust(["a", "b"], 0.5), "Moving a and b by up to 0.5 either way never changes the prediction."),
        (
            iso.safety.robust(["a", "b"], {"a": 1, "b": 2}, whole=True),
            "Moving a by up to 1 and b by up to 2 either way, in whole steps, never changes the prediction.",
        ),
        (
            iso.safety.invariant_to("sex"),
            "Setting sex to any other value that occurs never changes the prediction.",
        ),
        (
            iso.safety.implies_after("blur", label="digit"),
            "Where the prediction is right after blur, the prediction of the original input is right too.",
        ),
    ],
)
def test_a_named_property_explains_itself_in_one_plain_sentence(prop: iso.safety.Safety, sentence: str) -> None:
    assert prop.explain() == sentence


def test_a_specification_says_what_is_varied_and_what_must_be_true() -> None:
    before = (
        'var before := getFeat(x1, "late");\nvar after := before + randInt(1, 3);\n'
        'var x2 := setFeat(x1, "late", after);\nrequires after <= 6;'
    )
    assert said(before, "d2 <= d1") == (
        "Take any x1. Let x2 be x1 with late raised by 1 to 3. Only cases with x2.late <= 6 count. "
        "Then the prediction for x2 must not be higher than that for x1."
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("getFeat(x1, 2) - 1", "f2 lowered by 1"),
        ("getFeat(x1, 2) + randReal(-0.5, 0.5)", "f2 moved by up to 0.5 either way"),
        ("getFeat(x1, 2) + randInt(-1, 3)", "f2 moved by -1 to 3"),
        ("randFeat(x1, 2)", "f2 set to any value that occurs"),
        ("randInt(0, 9)", "f2 set to 0 to 9"),
        ("7", "f2 set to 7"),
        # Of another feature than the one that is set, nothing is raised.
        ("getFeat(x1, 1) + 1", "f2 set to x1.f1 + 1"),
        ("randFeat(x1, 1)", "f2 set to randFeat(x1, 1)"),
    ],
)
def test_a_change_of_a_feature_is_told_as_what_it_is(value: str, words: str) -> None:
    assert f"Let x2 be x1 with {words}." in said(f"var x2 := setFeat(x1, 2, {value});", "d1 == d2")


def test_a_number_that_is_used_twice_keeps_its_name() -> None:
    before = (
        'var r := randInt(1, 3);\nvar m := setFeat(x1, "a", getFeat(x1, "a") + r);\n'
        'var x2 := setFeat(m, "b", getFeat(x1, "b") - r);'
    )
    assert (
        "Let r be any whole number from 1 to 3. Let m be x1 with a raised by r. Let x2 be m with b lowered by r."
        in said(before, "d1 == d2")
    )


def test_a_number_that_two_features_are_set_to_keeps_its_name() -> None:
    before = 'var r := randInt(1, 3);\nvar m := setFeat(x1, "a", r);\nvar x2 := setFeat(m, "b", r);'
    assert "Let r be any whole number from 1 to 3. Let m be x1 with a set to r. Let x2 be m with b set to r." in said(
        before, "d1 == d2"
    )


def test_a_number_that_is_drawn_up_to_a_variable_stands_as_it_is_written() -> None:
    before = "var n := 3;\nvar x2 := setFeat(x1, 2, getFeat(x1, 2) + randInt(-n, n));"
    assert "Let n be 3. Let x2 be x1 with f2 raised by randInt(-n, n)." in said(before, "d1 == d2")


def test_features_behind_a_dot_and_in_brackets_are_told_like_the_functions_of_the_same_meaning() -> None:
    dotted = said("var before := x1.a;\nvar x2 := x1[a := before + randInt(1, 3)];", "d1 <= d2")
    called = 'var before := getFeat(x1, "a");\nvar x2 := setFeat(x1, "a", before + randInt(1, 3));'
    assert dotted == said(called, "d1 <= d2")
    assert "Let x2 be x1 with a raised by 1 to 3." in dotted


def test_within_a_longer_condition_features_and_changes_stand_as_they_are_written() -> None:
    before = 'var x2 := x1;\nrequires !(getFeat(x1, "a") == -x1.b);\nrequires x1[b := getFeat(x2, "c")].a < 3;'
    assert "Only cases with !(x1.a == -x1.b) and x1[b := x2.c].a < 3 count." in said(before, "d1 == d2")


@pytest.mark.parametrize(
    "block", ["d1 = predict(x1) + 1\nd2 = predict(x2)", "d1 = predict(x1)\nd1 += 1\nd2 = predict(x2)"]
)
def test_an_output_that_is_computed_from_an_answer_is_not_called_the_answer(block: str) -> None:
    runs = f"output d1;\noutput d2;\n{{\n{block}\n}}\n"
    told = said("var x2 := x1;", "d1 <= d2", runs)
    assert told.endswith("Then d1 <= d2 must be true, where d2 is the prediction for x2.")


def test_an_answer_for_what_only_the_block_names_is_not_told_as_one_for_a_record() -> None:
    runs = "output d1;\noutput d2;\n{\ny = x1\nd1 = predict(y)\ny = x2\nd2 = predict(y)\n}\n"
    assert said("var x2 := x1;", "d1 <= d2", runs).endswith("Then d1 <= d2 must be true.")


def test_a_value_of_a_record_that_was_changed_before_is_not_called_raised() -> None:
    before = 'var m := setFeat(x1, "a", 5);\nvar x2 := setFeat(m, "a", getFeat(x1, "a") + 1);'
    assert "Let x2 be m with a set to x1.a + 1." in said(before, "d1 == d2")


def test_a_condition_without_words_stands_as_it_is_written_with_what_the_outputs_are() -> None:
    told = said("var x2 := blur(x1);\nvar v1 := label(x1);", "d2 == v1 ==> d1 == v1 in 0.9 of cases")
    assert told == (
        "Take any x1. Let x2 be blur(x1). Let v1 be the right answer for x1. "
        "Then d2 == v1 ==> d1 == v1 must be true in at least 90% of cases, "
        "where d1 is the prediction for x1 and d2 is the prediction for x2."
    )


def test_a_block_of_code_does_not_keep_a_specification_from_being_told() -> None:
    runs = "output d1;\noutput d2;\n{\n    for i in range(2):\n        d1 = d2 = predict(x1)\n}\n"
    assert said("var x2 := x1;", "d1 <= d2", runs).endswith("Then d1 <= d2 must be true.")


def test_variables_that_double_each_time_are_told_at_once() -> None:
    doubled = "\n".join(f"var v{k + 1} := v{k} + v{k};" for k in range(200))
    told = said(f"var v0 := 1;\n{doubled}\nvar x2 := setFeat(x1, 0, v200);", "d1 == d2")
    assert len(told) < 10_000

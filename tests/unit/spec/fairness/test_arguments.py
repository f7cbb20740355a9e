import math

import numpy as np
import pytest

from isonomia.errors import SpecError, UsageError
from isonomia.spec import col, fairness, other, prediction, score
from isonomia.spec.operators import pair_function
from raising import raises

PAIR = ("sex", "F", "M")
dp, individual = fairness.demographic_parity, fairness.individual

REFUSED = {
    "neither": (lambda: dp(*PAIR), "give exactly one of ratio and difference"),
    "both": (lambda: dp(*PAIR, ratio=0.8, difference=0.1), "but got ratio=0.8 and difference=0.1"),
    "ratio 0": (lambda: dp(*PAIR, ratio=0), "ratio must be a number above 0 and at most 1"),
    "ratio 80": (lambda: dp(*PAIR, ratio=80), "but it is 80 of type int"),
    "ratio text": (lambda: dp(*PAIR, ratio="0.8"), "but it is '0.8' of type str"),
    "ratio truth": (lambda: dp(*PAIR, ratio=True), "but it is True of type bool"),
    "ratio nan": (lambda: dp(*PAIR, ratio=math.nan), "but it is nan of type float"),
    "difference": (lambda: dp(*PAIR, difference=-0.1), "difference must be a number from 0 to 1"),
    "of means": (
        lambda: fairness.regression_parity(*PAIR, difference=-1),
        "difference must be a number of at least 0,",
    ),
    "infinite": (lambda: fairness.regression_parity(*PAIR, difference=math.inf), "but it is inf of type float"),
    "one end": (lambda: fairness.regression_parity(*PAIR, difference=1, low=0), "low and high go together"),
    "attribute": (lambda: dp(3, "F", "M", ratio=0.8), "attribute must be the name of a column"),
    "empty attribute": (lambda: dp([], ratio=0.8), "attribute must name one column or several different ones"),
    "attribute twice": (lambda: dp(["sex", "sex"], ratio=0.8), "several different ones, but it is ['sex', 'sex']"),
    "no majority": (lambda: dp("sex", "F", ratio=0.8), "minority is 'F', but majority is not given"),
    "too much": (lambda: dp(*PAIR, groups=["F", "M"], ratio=0.8), "minority and groups cannot go together"),
    "same": (lambda: dp("sex", "F", "F", ratio=0.8), "must be different groups, but both are 'F'"),
    "one group": (lambda: dp("sex", groups=["F", "F"], ratio=0.8), "at least two different groups"),
    "only majority": (lambda: dp("sex", majority="F", groups=["F"], ratio=0.8), "a group other than the majority"),
    "groups text": (lambda: dp("sex", groups="FM", ratio=0.8), "groups must be a list of groups, but it is 'FM'"),
    "groups number": (lambda: dp("sex", groups=3, ratio=0.8), "groups must be a list of groups, but it is 3"),
    "short": (lambda: dp(["sex", "race"], "F", ("M", "A"), ratio=0.8), "minority must hold one value for each of sex"),
    "long": (lambda: dp("sex", groups=[("F", "B"), "M"], ratio=0.8), "every one of groups must hold one value"),
    "no value": (lambda: dp("sex", None, math.nan, ratio=0.8), "for a missing value write .is_missing()"),
    "decision": (lambda: dp(*PAIR, ratio=0.8, decision=3), "decision must be the name of a column"),
    "twice said": (
        lambda: dp(*PAIR, ratio=0.8, favourable=score > 0.5, decision="hired"),
        "so decision must not be given",
    ),
    "given": (lambda: dp(*PAIR, ratio=0.8, given=True), "given must be a condition"),
    "outcome": (lambda: fairness.equal_opportunity(*PAIR, outcome=None, ratio=0.8), "outcome must be the name of a"),
    "half": (
        lambda: fairness.accuracy_parity(*PAIR, outcome="y", positive=1, ratio=0.8),
        "positive and favourable go together",
    ),
    "unconditional": (lambda: fairness.conditional_parity(*PAIR, ratio=0.8), "otherwise it is demographic_parity"),
    "strata": (
        lambda: fairness.conditional_parity(*PAIR, strata="sex", ratio=0.8),
        "strata must be other columns than attribute, but both name 'sex'",
    ),
    "mediators": (
        lambda: fairness.path_specific(*PAIR, mediators="sex", shortfall=0.1),
        "mediators must be other columns than attribute",
    ),
    "no mediators": (lambda: fairness.path_specific(*PAIR, mediators=[], shortfall=0.1), "mediators must name one"),
    "shortfall": (lambda: fairness.path_specific(*PAIR, mediators="school", shortfall=2), "shortfall must be a number"),
    "share": (lambda: fairness.counterfactual(*PAIR, share=95), "share must be a number above 0 and at most 1"),
    "a version of a version": (
        lambda: fairness.causal(*PAIR, difference=0.1, favourable=other(score) > 0.5),
        "`other.score` speaks of another version",
    ),
    "share of pairs": (lambda: individual({"age": 1}, share=0), "share must be a number above 0"),
    "lipschitz": (lambda: individual({"age": 1}, share=0.9, lipschitz=0), "lipschitz must be a number above 0,"),
    "no distance": (lambda: individual({}, share=0.9), "distance names no column"),
    "scale": (lambda: individual({"age": 0}, share=0.9), "distance['age'] must be a number above 0 (or 'differs'"),
    "kind": (lambda: individual({"sex": "equal"}, share=0.9), "must be a number or 'differs', but it is 'equal'"),
    "one person": (lambda: individual("age / 50", share=0.9), "distance must refer to `other`"),
    "one person's": (lambda: individual(col("age"), share=0.9), "but it is `age`"),
    "a number": (lambda: individual(3, share=0.9), "distance must be scales of columns"),
    "no columns": (lambda: individual(max, share=0.9), "columns must say which columns"),
    "columns": (lambda: individual({"age": 1}, share=0.9, columns=["age"]), "columns is only for a Python function"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_named_with_its_value(case):
    call, reason = REFUSED[case]
    with pytest.raises(UsageError) as caught:
        call()
    assert reason in str(caught.value)


@pytest.mark.parametrize("ratio", [1, 1.0, np.float64(0.5), np.int64(1), 1e-9])
def test_a_ratio_is_any_number_up_to_1(ratio):
    assert str(dp(*PAIR, ratio=ratio)).endswith(f">= {float(ratio):g}")


@pytest.mark.parametrize("difference", [0, 1, np.float32(0.5)])
def test_a_difference_of_rates_is_any_number_from_0_to_1(difference):
    assert str(dp(*PAIR, difference=difference)).endswith(f"<= {float(difference):g}")


def test_a_condition_that_cannot_be_read_is_pointed_at():
    with raises(SpecError, "=", "==", at="="):
        dp(*PAIR, ratio=0.8, given="age = 3")


def test_no_shortfall_is_written_without_a_sign():
    prop = fairness.path_specific(*PAIR, mediators="school", shortfall=0)
    assert str(prop).endswith(">= 0")


def test_a_function_of_two_people_is_a_distance():
    def apart(person, second):
        return abs(person["age"] - second["age"])

    prop = individual(apart, columns=["age"], share=0.9, decision=prediction)
    assert str(prop) == "P[abs(prediction - other.prediction) <= apart(person, other)] >= 0.9"


def test_a_term_can_be_the_distance_and_a_scale_of_1_is_left_out():
    by_term = individual(abs(col("age") - other("age")), share=0.9)
    assert by_term == individual({"age": 1}, share=0.9)
    assert str(by_term) == "P[abs(score - other.score) <= abs(age - other.age)] >= 0.9"
    assert "/ 2.5 +" in str(individual({"age": 2.5, "hours": 1}, share=0.9))


def test_both_people_of_a_pair_meet_the_condition():
    prop = individual({"age": 1}, share=0.9, given="sex == 'F' and not (age in {1, 2} or x is missing)")
    assert str(prop).endswith(
        "| sex == 'F' and not (age in {1, 2} or x is missing) and other.sex == 'F' and "
        "not (other.age in {1, 2} or other.x is missing)] >= 0.9"
    )


def test_every_kind_of_term_is_taken_to_the_other_version():
    term = abs(-col("a") + 2 * col("b")) > score["x"]
    prop = fairness.counterfactual(*PAIR, share=0.9, decision=term)
    changed = "abs(-do(sex = 'M').a + 2 * do(sex = 'M').b) > do(sex = 'M').score['x']"
    assert str(prop) == f"P[(abs(-a + 2 * b) > score['x']) == ({changed}) | sex == 'F'] >= 0.9"


def test_a_distance_between_two_people_has_no_other_version():
    term = pair_function(abs, ["age"], name="apart") > 1
    with raises(UsageError, "apart(person, other)"):
        fairness.counterfactual(*PAIR, share=0.9, decision=term)

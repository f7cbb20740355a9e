import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import isonomia as iso
from isonomia.spec import fairness, parse, score

PAIR = ("sex", "F", "M")
OPTIONS = {
    "accuracy_parity": {"outcome": "y", "ratio": 0.9},
    "causal": {"difference": 0.1},
    "conditional_parity": {"strata": "job", "ratio": 0.8},
    "counterfactual": {"share": 0.9},
    "counterfactual_effect": {"difference": 0.1},
    "demographic_parity": {"ratio": 0.8},
    "equal_opportunity": {"outcome": "y", "ratio": 0.8},
    "equalized_odds": {"outcome": "y", "difference": 0.1},
    "no_causal_discrimination": {"share": 0.9},
    "path_specific": {"mediators": "school", "shortfall": 0.1},
    "predictive_equality": {"outcome": "y", "difference": 0.1},
    "predictive_parity": {"outcome": "y", "difference": 0.1},
    "regression_parity": {"difference": 0.1},
}
OF_GROUPS = sorted(OPTIONS)


def make(name, *groups, **more):
    return getattr(fairness, name)(*groups, **OPTIONS[name], **more)


def test_the_tests_cover_the_whole_catalogue():
    assert set(fairness.__all__) == {*OPTIONS, "calibration", "four_fifths", "individual"}


@pytest.mark.parametrize("module", [info.name for info in pkgutil.iter_modules(fairness.__path__)])
def test_the_examples_print_what_they_say(module):
    found = importlib.import_module(f"isonomia.spec.fairness.{module}")
    assert not doctest.testmod(found, optionflags=doctest.NORMALIZE_WHITESPACE).failed


@pytest.mark.parametrize("name", sorted(fairness.__all__))
def test_every_property_says_what_it_does_not_imply_who_proposed_it_and_how_it_prints(name):
    page = inspect.getdoc(getattr(fairness, name))
    assert "It does **not** imply" in page
    assert "References\n" in page
    assert f">>> print({name}(" in page


SHARED = {"attribute", "minority", "majority", "groups", "given", "ratio", "difference", "favourable", "decision"}


@pytest.mark.parametrize("name", sorted(fairness.__all__))
def test_every_parameter_is_documented_by_the_function_or_with_those_that_all_share(name):
    function = getattr(fairness, name)
    own = inspect.getdoc(function).partition("Parameters\n----------\n")[2].partition("\nReferences\n")[0]
    documented = {word for line in own.splitlines() if not line.startswith(" ") for word in line.split(", ")} - {""}
    parameters = set(inspect.signature(function).parameters)
    assert documented <= parameters <= documented | SHARED
    assert ("those that these properties share" in inspect.getdoc(function)) == (parameters != documented)


def test_the_shared_parameters_are_documented_once():
    assert all(f"``{name}``" in fairness.__doc__ for name in SHARED)


GROUPS = {
    "a pair": PAIR,
    "every group": ("sex",),
    "every combination": (["sex", "race"],),
}


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("name", OF_GROUPS)
def test_a_property_is_read_back_from_its_text_and_can_be_said_in_words(name, groups):
    prop = make(name, *GROUPS[groups])
    assert parse(str(prop)) == prop
    assert len(prop.explain()) > 40
    assert prop.name.split(" by ")[1].startswith("sex and race" if groups == "every combination" else "sex")


@pytest.mark.parametrize("name", OF_GROUPS)
def test_a_further_condition_is_part_of_every_leaf(name):
    prop = make(name, *PAIR, given="age >= 18")
    assert str(prop).count("age >= 18") == str(prop).count("P[") + str(prop).count("E[")
    assert prop == make(name, *PAIR, given=iso.col("age") >= 18)


def test_properties_join_and_take_other_names():
    both = fairness.four_fifths("race") & ~fairness.individual({"age": 10}, share=0.9).named("alike")
    assert str(both).startswith("(for g in race: ")
    assert parse(str(both)) == both


def test_text_is_a_value_of_the_decision_and_a_condition_is_a_condition():
    by_value = fairness.demographic_parity(*PAIR, ratio=0.8, favourable="yes", decision="loan")
    assert str(by_value) == "P[loan == 'yes' | sex == 'F'] / P[loan == 'yes' | sex == 'M'] >= 0.8"
    by_condition = fairness.demographic_parity(*PAIR, ratio=0.8, favourable=score["good"] > 0.5)
    assert str(by_condition) == "P[score['good'] > 0.5 | sex == 'F'] / P[score['good'] > 0.5 | sex == 'M'] >= 0.8"


def test_accuracy_can_pair_values_that_differ():
    prop = fairness.accuracy_parity(*PAIR, outcome="y", positive="paid", favourable=1, difference=0.1)
    right = "prediction == 1 and y == 'paid' or not prediction == 1 and y != 'paid'"
    assert str(prop) == f"abs(P[{right} | sex == 'F'] - P[{right} | sex == 'M']) <= 0.1"


def test_equalized_odds_of_many_groups_is_one_claim_for_each_pair():
    prop = fairness.equalized_odds("race", outcome="y", ratio=0.8, decision="d")
    assert str(prop) == (
        "for g in race: for h in race except g: "
        "P[d == 1 | race == g and y == 1] >= 0.8 * P[d == 1 | race == h and y == 1] and "
        "P[d == 1 | race == g and y != 1] >= 0.8 * P[d == 1 | race == h and y != 1]"
    )


def test_inside_each_the_variables_do_not_clash():
    prop = iso.each("city", lambda g: fairness.four_fifths("race", given=iso.col("city") == g))
    assert str(prop).startswith("for g2 in city: for g in race: for h in race except g: ")
    assert "race == g and city == g2" in str(prop)
    assert parse(str(prop)) == prop


def test_a_column_called_like_a_variable_stays_a_column():
    prop = fairness.four_fifths("g", decision="h")
    assert str(prop) == "for g in `g`: for h in `g` except g: P[`h` == 1 | `g` == g] >= 0.8 * P[`h` == 1 | `g` == h]"
    table = {"g": ["a", "a", "b", "b"], "h": [1, 1, 1, 0]}
    assert iso.check(prop, population=iso.Census(table)).answer == "violated"


def test_nobody_selected_satisfies_the_four_fifths_rule_and_one_group_without_anybody_violates_it():
    sexes = ["F", "F", "M", "M"]
    prop = fairness.four_fifths("sex", decision="hired")
    assert iso.check(prop, population=iso.Census({"sex": sexes, "hired": [0, 0, 0, 0]})).answer == "holds"
    assert iso.check(prop, population=iso.Census({"sex": sexes, "hired": [0, 0, 0, 1]})).answer == "violated"


def test_the_catalogue_is_loaded_when_it_is_first_used():
    program = (
        "import sys, isonomia; assert 'isonomia.spec.fairness' not in sys.modules; "
        "isonomia.fairness.four_fifths('race'); assert 'isonomia.spec.fairness' in sys.modules; "
        "assert not {'scipy', 'lark'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert iso.fairness is fairness

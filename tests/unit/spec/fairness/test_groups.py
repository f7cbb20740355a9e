import pytest

from isonomia.spec.fairness import causal, conditional_parity, counterfactual, demographic_parity, four_fifths

RATE = "P[hired == 1 | {}]"


def text(*groups, **options):
    return str(demographic_parity(*groups, decision="hired", **{"ratio": 0.8, **options}))


def test_a_minority_is_compared_with_a_majority():
    assert text("sex", "F", "M") == "P[hired == 1 | sex == 'F'] / P[hired == 1 | sex == 'M'] >= 0.8"
    assert text("sex", "F", "M", ratio=None, difference=0.1) == (
        "abs(P[hired == 1 | sex == 'F'] - P[hired == 1 | sex == 'M']) <= 0.1"
    )


def test_every_other_group_is_compared_with_a_majority():
    assert text("race", majority="A") == (
        "for g in race except 'A': P[hired == 1 | race == g] / P[hired == 1 | race == 'A'] >= 0.8"
    )


@pytest.mark.parametrize("groups", [["B", "C"], ["A", "B", "C", "B"], ("B", "C")])
def test_the_groups_listed_are_compared_with_a_majority(groups):
    assert text("race", majority="A", groups=groups) == (
        "for g in {'B', 'C'}: P[hired == 1 | race == g] / P[hired == 1 | race == 'A'] >= 0.8"
    )


def test_groups_listed_alone_are_compared_with_each_other():
    assert text("race", groups=["A", "B"]) == (
        "for g in {'A', 'B'}: for h in {'A', 'B'} except g: "
        "P[hired == 1 | race == g] >= 0.8 * P[hired == 1 | race == h]"
    )


def test_combinations_of_attributes_are_groups():
    ff, mm = "P[hired == 1 | sex == 'F' and old == true]", "P[hired == 1 | sex == 'M' and old == false]"
    assert text(["sex", "old"], ("F", True), ("M", False)) == f"{ff} / {mm} >= 0.8"
    assert text(["sex", "old"], groups=[("F", True), ["M", False]]) == f"{ff} >= 0.8 * {mm} and {mm} >= 0.8 * {ff}"
    assert text(["sex", "old"], majority=("M", False)) == (
        f"for g1 in sex: for g2 in old: P[hired == 1 | sex == g1 and old == g2] / {mm} >= 0.8"
    )
    assert text(["sex", "old"], majority=("M", False), groups=[("F", True), ("M", False)]) == f"{ff} / {mm} >= 0.8"


def test_a_list_of_one_attribute_is_that_attribute():
    assert text(["sex"], "F", "M") == text("sex", "F", "M") == text(["sex"], ("F",), ("M",))


def test_strata_stand_outside_and_may_be_combined():
    prop = conditional_parity("sex", strata=["job", "age"], difference=0.2, decision="hired")
    assert str(prop) == (
        "for s1 in job: for s2 in age: for g in sex: for h in sex except g: "
        "P[hired == 1 | sex == g and job == s1 and age == s2] - P[hired == 1 | sex == h and job == s1 and age == s2]"
        " <= 0.2"
    )
    assert prop.name == "conditional parity by sex within job and age"


def test_versions_set_every_attribute_of_a_combination():
    assert str(counterfactual(["sex", "race"], ("F", "B"), ("M", "A"), share=0.9)) == (
        "P[prediction == do(sex = 'M', race = 'A').prediction | sex == 'F' and race == 'B'] >= 0.9"
    )
    assert str(causal("sex", ratio=0.8)) == (
        "for g in sex: for h in sex except g: P[do(sex = g).prediction == 1] >= 0.8 * P[do(sex = h).prediction == 1]"
    )


def test_numbers_and_truth_values_name_groups():
    assert "sex == 0" in str(four_fifths(["sex", "x"], groups=[(0, 1.5), (1, 2.5)]))
    assert text("old", True, False) == "P[hired == 1 | old == true] / P[hired == 1 | old == false] >= 0.8"

import pytest

from isonomia.errors import SpecError
from isonomia.spec.operators import E, col, pair_function
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    Do,
    Literal,
    Other,
    Output,
    Setting,
    check_names,
    columns_of,
    leaves_of,
    outputs_of,
    versions_of,
)
from raising import raises

FORMULA = parse_formula("for g in race: P[prediction == 1 | race == g] / P[a] >= 0.8 and E[score + b] > P[a]")


def test_leaves_come_once_in_order_of_appearance():
    assert [to_text(leaf) for leaf in leaves_of(FORMULA)] == ["P[prediction == 1 | race == g]", "P[a]", "E[score + b]"]


def test_columns_include_those_a_for_runs_over():
    assert columns_of(FORMULA) == ("race", "a", "b")


def test_outputs_come_once():
    assert outputs_of(FORMULA) == (Output("prediction"), Output("score"))


def test_known_names_pass():
    check_names(FORMULA, ["race", "a", "b"], has_model=True)
    check_names(FORMULA, ["race", "a", "b", "prediction", "score"], has_model=False)


def test_an_unknown_column_is_pointed_at_with_the_nearest_name():
    with raises(SpecError, "a", "sex", "age", name="gender", at="gender") as caught:
        check_names(parse_formula("P[a | gender == 'F'] > 0"), ["a", "sex", "age"], has_model=True)
    assert caught.value.place is not None
    assert caught.value.place.start == 6
    assert caught.value.name == "gender"
    with raises(SpecError, name="incone", meant="income", at="incone"):
        check_names(parse_formula("E[incone] > 0"), ["income", "age"], has_model=True)


@pytest.mark.parametrize("output", ["prediction", "score", "score['x']"])
def test_an_output_needs_a_model_or_a_column(output):
    with raises(SpecError, name=output.split("[")[0], at=output):
        check_names(parse_formula(f"P[{output} == 1] > 0"), ["a"], has_model=False)


VERSIONS = parse_formula(
    "for g in sex: P[a == do(sex = g, e as if (r = 1)).prediction | b == other.c] > E[do(sex = 'M').d + other.score] "
    "and P[prediction == other.prediction | other.sex == 'F'] > 0"
)
MAN = Do((Setting("sex", Literal("M")),))


def test_names_are_told_apart_by_version():
    assert columns_of(VERSIONS) == ("sex", "a", "b")
    assert columns_of(VERSIONS, Other()) == ("c", "sex")
    assert columns_of(VERSIONS, MAN) == ("d",)
    assert outputs_of(VERSIONS) == (Output("prediction"),)
    assert outputs_of(VERSIONS, Other()) == (Output("score", None, Other()), Output("prediction", None, Other()))
    assert outputs_of(VERSIONS, MAN) == ()


def test_versions_come_once_in_order_of_appearance():
    assert [to_text(version) for version in versions_of(VERSIONS)] == [
        "do(sex = g, e as if r = 1)",
        "other",
        "do(sex = 'M')",
    ]
    assert versions_of(FORMULA) == ()


def test_a_function_of_two_people_uses_its_columns_of_both():
    formula = (E(pair_function(lambda a, b: a["x"] - b["x"], ["x", "y"]) + col("z")) > 0).formula
    assert columns_of(formula) == ("x", "y", "z")
    assert columns_of(formula, Other()) == ("x", "y")
    assert columns_of(formula, MAN) == ()
    assert versions_of(formula) == (Other(),)
    with raises(SpecError, "x", "z", name="y"):
        check_names(formula, ["x", "z"], has_model=True)


def test_known_names_of_versions_pass():
    check_names(VERSIONS, ["sex", "a", "b", "c", "d", "e", "r"], has_model=True)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("P[other.incone > 3] > 0", 2),
        ("P[do(incone = 3).sex == 'F'] > 0", 5),
        ("P[do(incone as if sex = 'F').sex == 'F'] > 0", 5),
        ("P[do(sex as if incone = 3).sex == 'F'] > 0", 15),
        ("P[do(sex = 'M').incone > 3] > 0", 2),
    ],
)
def test_an_unknown_name_in_a_version_is_pointed_at_with_the_nearest_name(text, start):
    with raises(SpecError, name="incone", meant="income") as caught:
        check_names(parse_formula(text), ["income", "sex"], has_model=True)
    assert caught.value.place is not None
    assert caught.value.place.start == start


@pytest.mark.parametrize("output", ["other.prediction", "do(a = 1).score", "other.score['x']"])
def test_an_output_of_a_version_needs_a_model_or_a_column(output):
    with raises(SpecError, name=output.split(".")[-1].split("[")[0], at=output):
        check_names(parse_formula(f"P[{output} == 1] > 0"), ["a"], has_model=False)
    if "[" not in output:
        check_names(parse_formula(f"P[{output} == 1] > 0"), ["a", "prediction", "score"], has_model=False)


@pytest.mark.parametrize("name", ["prediction", "score"])
def test_a_column_named_as_the_models_answer_is_told_from_it(name):
    with raises(SpecError, f"isonomia.{name}", name=name):
        check_names(parse_formula(f"P[`{name}` == 1] > 0"), ["a"], has_model=True)

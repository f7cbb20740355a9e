import pytest

from isonomia.errors import SpecError
from isonomia.spec.names import check_names, columns_of, leaves_of, outputs_of
from isonomia.spec.parse import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import Output

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
    with pytest.raises(SpecError, match=r"no column 'gender'.*'sex', 'age'") as caught:
        check_names(parse_formula("P[a | gender == 'F'] > 0"), ["a", "sex", "age"], has_model=True)
    assert caught.value.place is not None
    assert caught.value.place.start == 6
    with pytest.raises(SpecError, match="Did you mean 'income'"):
        check_names(parse_formula("E[incone] > 0"), ["income", "age"], has_model=True)


@pytest.mark.parametrize("output", ["prediction", "score", "score['x']"])
def test_an_output_needs_a_model_or_a_column(output):
    with pytest.raises(SpecError, match="pass a model, or a table that has a column"):
        check_names(parse_formula(f"P[{output} == 1] > 0"), ["a"], has_model=False)

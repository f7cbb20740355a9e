from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from isonomia.errors import DataError, SpecError
from isonomia.spec.columns import plain
from isonomia.spec.evaluate import Batch, evaluate, numbers, truth
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Comparison, Literal, Mean, Member, Rate, Variable
from raising import raises

COLUMNS = {
    "age": np.array([10, 20, 30, 40]),
    "x": np.array([0.0, 1.0, np.nan, -2.0]),
    "single": np.array([0.1, 0.2, np.nan, 0.4], np.float32),
    "sex": np.array(["F", "M", None, "F"], object),
    "fixed": np.array(["F", "M", "", "F"]),
    "strings": np.array(["F", "M", "", "F"], np.dtypes.StringDType()),
    "hired": np.array([True, False, True, False]),
    "flag": np.array([1, 0, 1, 0]),
    "maybe": np.array([True, None, False, True], object),
    "money": np.array([Decimal("1.5"), None, Decimal(2), Decimal(3)], object),
    "boxed": np.array([1, 2.5, None, 4], object),
    "day": np.array(["2020-01-01", "2021-06-01", "NaT", "2022-01-01"], "datetime64[D]"),
    "dates": np.array([date(2020, 1, 1), None, date(2021, 1, 1), date(2022, 1, 1)], object),
    "empty": np.array([None, None, None, None], object),
    "half": np.array([0.5, 1.0, np.nan, 2.0], np.float16),
    "boxed_truth": np.array([True, np.True_, False, False], object),
    "nan_text": np.array(["F", float("nan"), "M", "F"], object),
}
BATCH = Batch(4, COLUMNS)


def event(text):
    formula = parse_formula(f"P[{text}] > 0.5")
    assert isinstance(formula, Comparison)
    assert isinstance(formula.first, Rate)
    return formula.first.event


def term(text):
    formula = parse_formula(f"E[{text}] > 0.5")
    assert isinstance(formula, Comparison)
    assert isinstance(formula.first, Mean)
    return formula.first.term


def who(text, batch=BATCH):
    result = truth(event(text), batch)
    assert result.dtype == np.bool_
    assert result.shape == (batch.rows,)
    return "".join("1" if value else "0" for value in result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age < 25", "1100"),
        ("25 > age", "1100"),
        ("15 <= age < 40", "0110"),
        ("age != 20", "1011"),
        ("age in {10, 30.0}", "1010"),
        ("age < 1000000000000000000000000000000", "1111"),
        ("hired < 1000000000000000000000000000000", "1111"),
        ("single == 0.1", "1000"),
        ("single < 1e300", "1101"),
        ("single > -1e300", "1101"),
        ("x < 100000000000000000000000000000000000000000000", "1101"),
        ("sex == 'F'", "1001"),
        ("fixed == 'F'", "1001"),
        ("strings == 'F'", "1001"),
        ("nan_text == 'F'", "1001"),
        ("nan_text != 'F'", "0010"),
        ("sex > 'F'", "0100"),
        ("fixed <= 'F'", "1011"),
        ("sex in {'F', 'x'}", "1001"),
        ("sex == fixed", "1101"),
        ("hired", "1010"),
        ("not hired", "0101"),
        ("hired == true", "1010"),
        ("hired == 1", "1010"),
        ("hired == flag", "1111"),
        ("flag", "1010"),
        ("maybe", "1001"),
        ("maybe == true", "1001"),
        ("maybe == false", "0010"),
        ("boxed > 2", "0101"),
        ("money >= 2", "0011"),
        ("day >= '2021-01-01'", "0101"),
        ("day == '2020'", "1000"),
        ("day in {'2020-01-01', '2022-01-01T00:00'}", "1001"),
        ("dates >= '2021-01-01'", "0011"),
        ("day <= dates", "1001"),
        ("x > age - 20", "1100"),
        ("abs(x) == 2 or max(x, 1) == 1", "1101"),
        ("min(x, age, 0) < 0", "0001"),
        ("age / x > 5", "1100"),
        ("true", "1111"),
        ("1 < 2 and 'a' < 'b'", "1111"),
        ("1 + 1 == age / 5", "1000"),
        ("(age < 25) == hired", "1001"),
        ("empty == 'F' or empty == 3 or empty == sex", "0000"),
    ],
)
def test_conditions_on_whole_columns(text, expected):
    assert who(text) == expected


@pytest.mark.parametrize("column", ["x", "sex", "day"])
def test_a_missing_value_satisfies_no_comparison(column):
    value = {"x": "1", "sex": "'M'", "day": "'2021-06-01'"}[column]
    for relation in ("==", "!=", "<", "<=", ">", ">="):
        assert who(f"{column} {relation} {value}")[2] == "0"
        assert who(f"{value} {relation} {column}")[2] == "0"
        assert who(f"{column} {relation} {column}")[2] == "0"
    assert who(f"{column} in {{{value}}}") == "0100"
    assert who(f"{column} != {value}") == "1001"
    assert who(f"{column} is missing") == "0010"
    assert who(f"{column} is not missing") == "1101"


def test_not_is_plain_negation_so_it_is_true_of_missing_values():
    assert who("not (x == 1)") == "1011"
    assert who("x not in {1}") == "1011"
    assert who("not maybe") == "0110"


def test_arithmetic_with_a_missing_value_is_missing_and_division_by_zero_makes_no_noise():
    np.testing.assert_equal(numbers(term("age / x"), BATCH), [np.inf, 20.0, np.nan, -20.0])
    np.testing.assert_equal(numbers(term("x / x"), BATCH), [np.nan, 1.0, np.nan, 1.0])
    np.testing.assert_equal(numbers(term("min(x, 0)"), BATCH), [0.0, 0.0, np.nan, -2.0])
    assert who("x / x is missing") == "1010"


def test_numbers_are_floats_and_truth_values_count_as_0_and_1():
    for text in ("hired", "age < 25", "3", "age", "-x", "maybe"):
        result = numbers(term(text), BATCH)
        assert result.dtype == np.float64
        assert result.shape == (4,)
    assert numbers(term("hired"), BATCH).tolist() == [1, 0, 1, 0]
    assert numbers(term("true"), BATCH).tolist() == [1, 1, 1, 1]


def test_a_literal_is_spread_over_the_rows():
    assert evaluate(Literal("a"), BATCH).tolist() == ["a"] * 4
    assert evaluate(Literal(2), BATCH).tolist() == [2] * 4


def test_an_empty_batch_gives_empty_answers():
    batch = Batch(0, {"a": np.array([], object), "b": np.array([])})
    assert who("a == 'F' and b < 3 or a == 3", batch) == ""
    assert numbers(term("a + b"), batch).shape == (0,)


@pytest.mark.parametrize(
    ("text", "start", "fragments"),
    [
        ("sex == 1", 7, ["`sex` is text (for example 'F'), but 1 is a number", "write '1' in quotes"]),
        ("age == '10'", 7, ["`age` is number (for example 10), but '10' is text", "drop the quotes"]),
        ("sex == true", 7, ["but true is a truth value; expected text, such as 'F'"]),
        ("age in {10, 'x'}", 12, ["'x' is text"]),
        ("day > 3", 6, ["`day` is time", "a date in quotes"]),
        ("day > 'soon'", 6, ["'soon' is not a date or time", "'2024-03-31'"]),
        ("age == sex", 0, ["`age` is number and `sex` is text", "cannot be compared"]),
        ("sex + 1 > 2", 0, ["`sex` is text; expected a number"]),
        ("'a' * 2 > age", 0, ["'a' is text; expected a number"]),
        ("1 == 'a'", 0, ["1 and 'a' cannot be compared"]),
        ("sex", 0, ["`sex` is text, so it is not a condition"]),
        ("age + 1", 0, ["`age + 1` is not a condition"]),
        ("'a'", 0, ["is not a condition"]),
        ("nowhere == 1", 0, ["there is no column `nowhere`"]),
        ("prediction == 1", 0, ["there is no `prediction`"]),
        ("score > 1", 0, ["there is no `score`"]),
    ],
)
def test_kinds_that_do_not_fit_are_pointed_at(text, start, fragments):
    with pytest.raises(SpecError) as caught:
        truth(event(text), BATCH)
    assert all(fragment in str(caught.value) for fragment in fragments), str(caught.value)
    assert caught.value.place is not None
    assert caught.value.place.start == start + 2


def test_a_number_column_as_a_condition_must_hold_only_0_and_1():
    with raises(DataError, "age", 10):
        truth(event("age"), BATCH)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (np.array(["a", 1], object), [1, "int", "a", "str"]),
        (np.array([1j, 2j]), ["complex128"]),
        (np.array([date(2020, 1, 1), 1], object), ["int", "date"]),
        (np.array([b"a", b"b"]), ["|S1"]),
        (np.array([(1,), (2, 3)], object), ["(1,)", "tuple"]),
    ],
)
def test_a_column_of_no_single_kind_is_refused(values, shown):
    with raises(DataError, "odd", *shown):
        truth(event("odd == 1"), Batch(2, {"odd": values}))


def test_a_variable_without_a_value_is_refused():
    with pytest.raises(SpecError, match="expand the formula"):
        evaluate(Variable("g"), BATCH)
    with pytest.raises(SpecError, match="`g` is a variable that stands for no value yet"):
        evaluate(Member(Column("age"), (Literal(10), Variable("g"))), BATCH)


def test_prediction_is_the_models_or_else_the_column_of_that_name():
    column = {"prediction": np.array([1, 1])}
    assert who("prediction == 1", Batch(2, column)) == "11"
    assert who("prediction == 1", Batch(2, column, prediction=np.array([0, 1]))) == "01"
    assert who("prediction == 'yes'", Batch(2, {}, prediction=np.array(["no", "yes"]))) == "01"
    assert who("`prediction` == 1", Batch(2, column, prediction=np.array([0, 1]))) == "11"


def test_score_alone_is_the_only_one_or_the_second_of_two():
    pair = Batch(2, {}, score=np.array([[0.9, 0.1], [0.2, 0.8]]), classes=("bad", "good"))
    assert who("score > 0.5", pair) == "01"
    assert who("score['bad'] > 0.5", pair) == "10"
    assert who("score > 0.5", Batch(2, {}, score=np.array([0.9, 0.1]))) == "10"
    assert who("score > 0.5", Batch(2, {"score": np.array([0.9, 0.1])})) == "10"


@pytest.mark.parametrize("label", ["1", "1.0", "'1'"])
def test_a_class_is_found_leniently(label):
    batch = Batch(1, {}, score=np.array([[0.1, 0.9]]), classes=(0, 1))
    assert who(f"score[{label}] > 0.5", batch) == "1"


def test_an_unclear_class_is_refused_with_the_list():
    batch = Batch(1, {}, score=np.array([[0.1, 0.2, 0.7]]), classes=("a", "b", "c"))
    with raises(SpecError, "a", "b", "c", "score['a']", 3, at="score"):
        truth(event("score > 0.5"), batch)
    with raises(SpecError, "d", "a", "b", "c", at="score['d']"):
        truth(event("score['d'] > 0.5"), batch)
    with raises(SpecError, "score", at="score['d']"):
        truth(event("score['d'] > 0.5"), Batch(1, {}, score=np.array([0.1])))


def test_half_precision_is_widened_and_keeps_its_values():
    assert truth(event("half > 0.5"), BATCH).tolist() == [False, True, False, True]
    assert plain(COLUMNS["half"], "half").dtype == np.float32


def test_truth_values_in_boxes_are_truth_values():
    assert plain(COLUMNS["boxed_truth"], "boxed_truth").dtype == np.bool_
    assert truth(event("boxed_truth"), BATCH).tolist() == [True, True, False, False]


def test_a_value_itself_may_be_asked_whether_it_is_in_a_set():
    assert truth(event("'x' in {'x', 'y'}"), BATCH).all()
    assert not truth(event("3 in {1, 2}"), BATCH).any()


@pytest.mark.parametrize("values", [[2**53 + 1, None], [2**53 + 1, 0.5]])
def test_large_whole_numbers_that_would_be_rounded_are_refused(values):
    with raises(DataError, 2, name="x"):
        plain(np.array(values, object), "x")

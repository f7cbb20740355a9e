"""Row expressions about other versions of the people of a batch, and functions of two people."""

import numpy as np
import pytest

from isonomia.errors import DataError, SpecError
from isonomia.spec.evaluate import Batch, evaluate, numbers, truth
from isonomia.spec.operators import do, other, pair_function
from isonomia.spec.parser import parse_condition
from isonomia.spec.tree import Other
from raising import raises

MAN = do(sex="M").version
SECOND = Batch(
    3, {"age": np.array([30.0, np.nan, 5.0]), "sex": np.array(["F", "M", None], object)}, np.array([1, 1, 0])
)
AS_MAN = Batch(
    3, {"age": np.array([11, 21, 31])}, np.array([0, 1, 1]), np.array([[0.4, 0.6], [0.1, 0.9], [1, 0]]), (0, 1)
)
BATCH = Batch(
    3,
    {"age": np.array([10, 20, 30]), "sex": np.array(["F", "F", "M"], object), "hired": np.array([1, 0, 1])},
    np.array([1, 1, 1]),
    np.array([0.2, 0.5, 0.9]),
    versions={Other(): SECOND, MAN: AS_MAN},
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("other.age > age", [True, False, False]),
        ("other.age is missing", [False, True, False]),
        ("other.age != age", [True, False, True]),
        ("not (other.age == age)", [True, True, True]),
        ("sex == other.sex", [True, False, False]),
        ("other.prediction", [True, True, False]),
        ("prediction == do(sex = 'M').prediction", [False, True, True]),
        ("do(sex = 'M').age == age + 1", [True, True, True]),
        ("do(sex = 'M').score > score", [True, True, False]),
        ("do(sex = 'M').score[0] >= 0.4 and other.age in {30, 5}", [True, False, True]),
    ],
)
def test_each_part_is_read_off_the_version_it_speaks_of(text, expected):
    assert truth(parse_condition(text), BATCH).tolist() == expected


def test_a_version_without_a_model_has_the_column_of_that_name():
    second = Batch(1, {"prediction": np.array([0])})
    batch = Batch(1, {"prediction": np.array([1])}, versions={Other(): second})
    assert evaluate(parse_condition("prediction - other.prediction"), batch).tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("do(sex = 'F').age > 3", "`do(sex = 'F').age` is about the same person under other conditions"),
        ("do(age as if sex = 'M').prediction == 1", "needs a causal model of the population"),
        ("other.hired == 1", "there is no column `hired` of `other`"),
        ("other.score > 0", "there is no `other.score`"),
        ("do(sex = 'M').score['x'] > 0", "the model has no class 'x'"),
        ("other.age == 'x'", "`other.age` is number"),
    ],
)
def test_what_a_version_does_not_have_is_said_with_its_place(text, message):
    with pytest.raises(SpecError) as caught:
        truth(parse_condition(text), BATCH)
    assert message in str(caught.value)
    assert caught.value.place is not None


def test_people_who_are_not_paired_have_no_second_person():
    with pytest.raises(
        SpecError, match=r"`other\.prediction` speaks of a second person, but people are not drawn in pairs"
    ):
        truth(parse_condition("other.prediction == 1"), Batch(1, {}, np.array([1])))


def test_a_version_about_another_number_of_people_is_refused():
    batch = Batch(2, {}, versions={Other(): SECOND})
    with raises(DataError, "other", 2, 3):
        evaluate(parse_condition("other.age"), batch)


# ---------------------------------------------------------------------------- functions of two people


def gap(person, second):
    return np.abs(person["age"] - second["age"])


PAIRED = Batch(3, BATCH.columns, versions={Other(): AS_MAN})


def test_a_function_of_two_people_is_evaluated_on_the_columns_of_both():
    near = pair_function(gap, ["age"])
    assert numbers((2 * near + 1).node, PAIRED).tolist() == [3, 3, 3]
    assert truth((near <= other("age") - 20).node, PAIRED).tolist() == [False, True, True]


def test_a_function_of_two_people_sees_only_its_columns_and_cannot_change_them():
    seen = []

    def spoil(person, second):
        seen.extend([sorted(person), sorted(second)])
        person["age"][0] = 0
        return person["age"]

    with raises(DataError, "spoil", cause=ValueError):
        numbers(pair_function(spoil, ["age"]).node, PAIRED)
    assert seen == [["age"], ["age"]]
    assert BATCH.columns["age"][0] == 10


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (lambda a, b: a["hours"] + b["hours"], KeyError),
        (lambda a: a, TypeError),
        (lambda a, b: int(b["age"][0]) // (a["age"][0] - a["age"][0]).item(), ZeroDivisionError),
    ],
)
def test_a_function_of_two_people_that_raises_is_named(function, cause):
    with raises(DataError, "apart", cause.__name__, cause=cause):
        numbers(pair_function(function, ["age"], name="apart").node, PAIRED)


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        (1.0, [3, 1.0, "float"]),
        (None, [3, "NoneType"]),
        (np.arange(2), [3, "int64", "(2,)"]),
        (np.ones((3, 1)), [3, "float64", (3, 1)]),
        (["x", "y", "z"], [3, "<U1"]),
        ([1, [2], 3], [(1, "[2]", 3)]),
        ([1, 2j, 3], [3, "complex128"]),
        ([1, np.nan, 3], [1, "nan"]),
        ([1, 2, np.inf], [2, "inf"]),
    ],
)
def test_a_function_of_two_people_that_gives_no_numbers_is_named(returned, shown):
    with raises(DataError, "apart", *shown):
        numbers(pair_function(lambda *_: returned, ["age"], name="apart").node, PAIRED)


def test_a_function_of_two_people_needs_pairs_and_its_columns():
    with pytest.raises(SpecError, match=r"`gap\(person, other\)` speaks of a second person"):
        numbers(pair_function(gap, ["age"]).node, Batch(3, BATCH.columns))
    with raises(SpecError, "hired", "gap"):
        numbers(pair_function(gap, ["age", "hired"]).node, PAIRED)
    with pytest.raises(SpecError, match="is not a condition"):
        truth(pair_function(gap, ["age"]).node, PAIRED)

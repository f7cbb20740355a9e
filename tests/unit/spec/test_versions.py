import numpy as np
import pytest

from isonomia.errors import SpecError, UsageError
from isonomia.spec.operators import E, P, as_if, col, do, each, other, pair_function, prediction, score
from isonomia.spec.property import parse
from raising import raises

SAID_TWICE = [
    (P(prediction == do(sex="M")(prediction), given=col("sex") == "F") >= 0.95,
     "P[prediction == do(sex = 'M').prediction | sex == 'F'] >= 0.95"),
    (P(do(school=as_if(sex="M"))(prediction) == 1) >= 0.5, "P[do(school as if sex = 'M').prediction == 1] >= 0.5"),
    (E(do(sex="M")(score) - score) <= 0.05, "E[do(sex = 'M').score - score] <= 0.05"),
    (P(abs(score - other(score)) <= abs(col("age") - other("age")) / 50) >= 0.95,
     "P[abs(score - other.score) <= abs(age - other.age) / 50] >= 0.95"),
    (each("sex", lambda g: P(prediction == do(sex=g, e=as_if(sex=g))(prediction)) >= 0.9),
     "for g in sex: P[prediction == do(sex = g, e as if sex = g).prediction] >= 0.9"),
    (P(do({"years of age": np.int64(30)}, sex="M")(col("a b")) > 0) > 0,
     "P[do(`years of age` = 30, sex = 'M').`a b` > 0] > 0"),
    (P(do(x=as_if({"a b": True, "c": -1.5}))("prediction") > 0) > 0,
     "P[do(x as if (`a b` = true, c = -1.5)).`prediction` > 0] > 0"),
    (P(other(score)["good"] > other(score["bad"])) > 0, "P[other.score['good'] > other.score['bad']] > 0"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "text"), SAID_TWICE, ids=[text for _, text in SAID_TWICE])
def test_versions_in_python_and_in_text_make_the_same_property(made, text):
    assert str(made) == text
    assert made == parse(text)


def test_a_version_shows_what_it_says():
    assert repr(other) == "PersonVersion(other)"
    assert repr(do(e=as_if(sex="M"))) == "PersonVersion(do(e as if sex = 'M'))"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: do(), "changes nothing"),
        (lambda: do(e=as_if()), "`e as if` sets nothing"),
        (lambda: do({"sex": "F"}, sex="M"), "`sex` occurs twice in do(...)"),
        (lambda: do(e=as_if(e=1)), "write `e = ...`"),
        (lambda: each(other("race"), lambda g: P(prediction == g) > 0), "a `for` runs over a column of the population"),
    ],
)
def test_what_text_cannot_say_of_versions_python_cannot_either(wrong, message):
    with pytest.raises(SpecError) as caught:
        wrong()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (lambda: do("sex"), ["sex", "str"]),
        (lambda: do({1: "M"}), [1, "int"]),
        (lambda: do(sex=None), ["None", "NoneType"]),
        (lambda: do(sex=col("race")), ["race"]),
        (lambda: as_if(sex=as_if(race=1)), ["as_if(...)"]),
        (lambda: other(3), [3, "int"]),
        (lambda: other(col("age") + 1), ["age + 1"]),
        (lambda: other(do(sex="M")("age")), ["do(sex = 'M').age"]),
        (lambda: other("age")["x"], ["score"]),
        (lambda: pair_function("age", ["age"]), ["function", "age"]),
        (lambda: pair_function(max, "age"), ["columns", "age"]),
        (lambda: pair_function(max, 3), ["columns", 3]),
        (lambda: pair_function(max, []), ["columns"]),
        (lambda: pair_function(max, [3]), ["columns", "[3]"]),
        (lambda: pair_function(max, ["age"], name="in"), ["name", "in"]),
        (lambda: pair_function(max, ["age"], name="a b"), ["name", "a b"]),
    ],
)
def test_a_wrong_argument_of_a_version_is_refused_with_its_value(wrong, shown):
    with raises(UsageError, *shown):
        wrong()


def test_a_function_of_two_people_has_its_own_name_or_the_one_given():
    def apart(person, second):
        return abs(person["age"] - second["age"])

    assert repr(pair_function(apart, ["age"])) == "Term(apart(person, other))"
    assert repr(pair_function(apart, ["age"], name="gap")) == "Term(gap(person, other))"
    assert repr(pair_function(lambda *_: 0, ["age"])) == "Term(distance(person, other))"
    assert pair_function(apart, ["age"]).node == pair_function(apart, ["age", "age"]).node
    with pytest.raises(SpecError, match="can only be used from Python"):
        parse(str(P(pair_function(apart, ["age"]) <= 1) >= 0.5))

import doctest
import importlib
from datetime import UTC, date, datetime

import numpy as np
import pytest

from isonomia.errors import SpecError, UsageError
from isonomia.spec.operators import E, P, col, each, maximum, minimum, prediction, score
from isonomia.spec.parser import parse_formula
from isonomia.spec.property import Property, parse

a, b, c = col("a"), col("b"), col("c")

SAID_TWICE = [
    (P(prediction == 1, given=col("sex") == "F") / P(prediction == 1) >= 0.8,
     "P[prediction == 1 | sex == 'F'] / P[prediction == 1] >= 0.8"),
    (abs(E(score["good"], given=a) - E(score)) <= 0.05, "abs(E[score['good'] | a] - E[score]) <= 0.05"),
    ((P(a) > 0.5) & (P(b) > 0.5) & ~(P(c) > 0.5), "P[a] > 0.5 and P[b] > 0.5 and not P[c] > 0.5"),
    ((P(a) > 0.5) | (P(b) > 0.5), "P[a] > 0.5 or P[b] > 0.5"),
    ((P(a) > 0.5).implies(P(b) > 0.5), "P[a] > 0.5 ==> P[b] > 0.5"),
    (P(a).between(0.1, 0.2), "0.1 <= P[a] <= 0.2"),
    (P(a) >= 0.8, "P[a] >= 0.8"),
    (np.float64(0.8) * P(a) < np.int64(1), "0.8 * P[a] < 1"),
    (np.float64(0.8) <= P(a), "P[a] >= 0.8"),
    (1 - P(a) + 2 > 3 / P(b) - 1, "1 - P[a] + 2 > 3 / P[b] - 1"),
    (-(P(a) ** 2) > 2 + P(b), "-P[a] ** 2 > 2 + P[b]"),
    (minimum(P(a), 1) > maximum(0, P(b), P(c)), "min(P[a], 1) > max(0, P[b], P[c])"),
    (E(col("income"), low=0, high=1e5) > 3, "E[income from 0 to 100000] > 3"),
    (E(2 * a - b / 3 + -c + abs(1 - a)) > 0, "E[2 * a - b / 3 + -c + abs(1 - a)] > 0"),
    (E(minimum(a, 1)) > E(maximum(a, b)), "E[min(a, 1)] > E[max(a, b)]"),
    (P((a < 1) & (b != "x") & ~c | True) > 0, "P[a < 1 and b != 'x' and not c or true] > 0"),
    (P(a.isin(["x", 1, np.str_("y")]), given=b.is_missing()) > 0, "P[a in {'x', 1, 'y'} | b is missing] > 0"),
    (P(a) * 2 > 0, "P[a] * 2 > 0"),
    (E(1 + a * 2 - 3 / b) > 0, "E[1 + a * 2 - 3 / b] > 0"),
    (P(True & a) > P(False | b), "P[true and a] > P[false or b]"),
    (P(~a.isin([1])) > 0, "P[a not in {1}] > 0"),
    (P(np.int64(3) < a) > 0, "P[a > 3] > 0"),
    (P(a == np.bool_(True)) > 0, "P[a == true] > 0"),
    (P(a >= date(2020, 1, 31)) > 0, "P[a >= '2020-01-31'] > 0"),
    (P(True) > 0, "P[true] > 0"),
    (P(col("hours per week") > 1.0) > 0, "P[`hours per week` > 1.0] > 0"),
    (each("race", lambda g: P(a, given=col("race") == g) > 0, excluding=["white"]),
     "for g in race except 'white': P[a | race == g] > 0"),
    (each(["x", "y"], lambda value: P(a == value) > 0), "for value in {'x', 'y'}: P[a == value] > 0"),
    (each(a, lambda g: each(a, lambda h: P(a == g) > P(a == h), excluding=[g])),
     "for g in a: for h in a except g: P[a == g] > P[a == h]"),
    (each("race", lambda race: P(col("race") == race) > 0), "for race in `race`: P[`race` == race] > 0"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "text"), SAID_TWICE, ids=[text for _, text in SAID_TWICE])
def test_operators_and_text_make_the_same_property(made, text):
    assert isinstance(made, Property)
    assert str(made) == text
    assert made == parse(text)


def test_nested_placeholders_of_one_name_are_kept_apart():
    made = each(a, lambda g: each(b, lambda g2: P(a == g2) > 0) & each(b, lambda g: P(b == g) > 0) & (P(a == g) > 0))
    assert parse_formula(str(made)) == made.formula
    assert str(each(a, lambda g: _pair(g))) == "for g2 in a: for g in b: P[a == g2 and b == g] > 0"
    excluding = each(a, lambda g: _pair(g, excluding=[g]))
    assert str(excluding) == "for g in a: for g2 in b except g: P[a == g and b == g2] > 0"


def _pair(outer, excluding=()):
    return each(b, lambda g: P((a == outer) & (b == g)) > 0, excluding=excluding)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: bool(P(a) > 0.5), "&, | and ~"),
        (lambda: 0.1 <= P(a) <= 0.2, "between(low, high)"),
        (lambda: (P(a) > 0.5) and (P(b) > 0.5), "join properties by &"),
        (lambda: bool(a == 1), "join conditions by &"),
        (lambda: bool(P(a)), "not known before it is checked"),
        (lambda: P(a) == 0.5, "abs(x - y) <= tolerance"),
        (lambda: P(a) != 0.5, "abs(x - y) <= tolerance"),
        (lambda: P(a) > "x", "'x' of type str"),
        (lambda: P(a) > a, "Term(a) of type Term"),
        (lambda: P(a) > True, "True of type bool"),
        (lambda: P(a) + float("nan"), "nan of type float"),
        (lambda: P(a) + 10**400, "of type int"),
        (lambda: P("a"), "event must be a term such as col('age') < 25, but it is 'a' of type str"),
        (lambda: P(a, given="b"), "given must be a term"),
        (lambda: E(3), "term must be a term"),
        (lambda: E(a, low=1), "low is 1 and high is None"),
        (lambda: a == None, ".is_missing()"),  # noqa: E711
        (lambda: a == float("nan"), ".is_missing()"),
        (lambda: a < 10**400, "of type int"),
        (lambda: a < [1], "[1] of type list"),
        (lambda: a < P(b), "of type Measure"),
        (lambda: a < datetime(2020, 1, 1, tzinfo=UTC), "without time zone"),
        (lambda: a.isin("xy"), "values must be a list of values, but it is 'xy'"),
        (lambda: a.isin([]), "values is empty"),
        (lambda: a.isin([b]), "here is the term `b`"),
        (lambda: a["x"], "only `score` has classes"),
        (lambda: col(3), "3 of type int"),
        (lambda: col(""), "must be the name of a column"),
        (lambda: each(3, lambda g: P(a == g) > 0), "3 of type int"),
        (lambda: each([], lambda g: P(a == g) > 0), "values is empty"),
        (lambda: each(a + 1, lambda g: P(a == g) > 0), "it is the term `a + 1`"),
        (lambda: each("a", lambda g: P(a == g)), "claim must return a property"),
        (lambda: each("a", lambda g: P(a == g) > 0, excluding="x"), "write excluding=[...]"),
        (lambda: each("a", lambda g: P(a == g) > 0, excluding=[b]), "only hold values, but here is the term `b`"),
        (lambda: (P(a) > 0) & True, "expected a property, but got True of type bool"),
        (lambda: (P(a) > 0).named(3), "3 of type int"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_value_and_what_to_do(wrong, message):
    with pytest.raises(UsageError) as caught:
        wrong()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: P(a) / 0, "divides by zero"),
        (lambda: a / 0, "divides by zero"),
        (lambda: P(a) ** 0.5, "not whole"),
        (lambda: E(a, low=3, high=1), "from 3 to 1"),
        (lambda: sum(([P(a)] * 200), start=P(b)) > 0, "nested more than 100 levels"),
    ],
)
def test_what_text_cannot_say_operators_cannot_either(wrong, message):
    with pytest.raises(SpecError, match=message):
        wrong()


def test_a_term_is_no_sequence():
    with pytest.raises(TypeError):
        list(score)


def test_terms_and_measures_show_what_they_say():
    assert repr(a == 1) == "Term(a == 1)"
    assert repr(P(a)) == "Measure(P[a])"


@pytest.mark.parametrize("module", ["operators", "property", "parser"])
def test_the_examples_in_the_docstrings_are_true(module):
    result = doctest.testmod(importlib.import_module(f"isonomia.spec.{module}"))
    assert result.attempted > 0
    assert result.failed == 0

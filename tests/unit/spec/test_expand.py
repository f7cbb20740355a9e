import numpy as np
import pytest

from isonomia.errors import SpecError
from isonomia.spec.parser import parse_formula
from isonomia.spec.property import Binding, expand, expand_parts, put_values
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Compare, Literal, Rate, Variable
from raising import raises

VALUES = {"wide": tuple(np.array([1, 2])), "race": ("white", "black", "asian"), "n": (1, 2), "one": ("x",), "none": ()}


def written_out(text):
    return to_text(expand(parse_formula(text), lambda column: VALUES[column.name]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for g in n: P[n == g] > 0", "P[n == 1] > 0 and P[n == 2] > 0"),
        ("for g in wide: P[n == g] > 0", "P[n == 1] > 0 and P[n == 2] > 0"),
        ("for g in one: P[a == g] > 0", "P[a == 'x'] > 0"),
        ("for g in {true, 2}: P[a in {g, 5}] > 0", "P[a in {true, 5}] > 0 and P[a in {2, 5}] > 0"),
        (
            "for g in race except 'white': P[a | race == g] > P[a | race == 'white']",
            "P[a | race == 'black'] > P[a | race == 'white'] and P[a | race == 'asian'] > P[a | race == 'white']",
        ),
        ("for g in n except 1.0: P[n == g] > 0", "P[n == 2] > 0"),
        (
            "for g in n: for h in n except g: P[n == g] > P[n == h]",
            "P[n == 1] > P[n == 2] and P[n == 2] > P[n == 1]",
        ),
        ("not (for g in one: P[a == g] > 0) ==> P[b] > 0", "not P[a == 'x'] > 0 ==> P[b] > 0"),
        ("P[b] > 0 or (for g in one: P[a == g] > 0)", "P[b] > 0 or P[a == 'x'] > 0"),
        ("for g in one: -P[a == g] > -1", "-P[a == 'x'] > -1"),
        (
            "for g in one: E[abs(-a) + min(b, c) | not (x == g) and g is missing] ** 2 - max(P[a == g], -1) > 0",
            "E[abs(-a) + min(b, c) | not x == 'x' and 'x' is missing] ** 2 - max(P[a == 'x'], -1) > 0",
        ),
        (
            "for g in n: P[other.n == do(n = g, e as if (n = g, r = 'A')).prediction] > E[do(n = g).n]",
            "P[other.n == do(n = 1, e as if (n = 1, r = 'A')).prediction] > E[do(n = 1).n] and "
            "P[other.n == do(n = 2, e as if (n = 2, r = 'A')).prediction] > E[do(n = 2).n]",
        ),
    ],
)
def test_a_for_becomes_the_conjunction_over_its_values(text, expected):
    assert written_out(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for g in none: P[a == g] > 0", "no value for `g` to run over: every value of column 'none' is missing"),
        ("for g in one except 'x': P[a == g] > 0", "no value for `g` to run over: column 'one' has none but 'x'"),
        ("for g in {'x'} except 'x': P[a == g] > 0", "no value for `g` to run over: the list has none but 'x'"),
        ("for g in race except 'blak': P[a == g] > 0", "'blak' does not occur.*'white', 'black'.*mean 'black'"),
        ("for g in n: for h in race except g: P[a == h] > 0", "excluded value 1 does not occur"),
    ],
)
def test_a_for_over_nothing_or_with_a_stranger_is_refused_at_its_place(text, message):
    with pytest.raises(SpecError, match=message) as caught:
        written_out(text)
    assert caught.value.place is not None


def test_a_variable_that_no_for_binds_is_refused():
    rate = Rate(Compare("==", Column("a"), Variable("g")))
    with raises(SpecError, "for", name="g"):
        put_values(rate, {})


def test_a_for_beside_a_comparison_in_a_for_is_taken_apart_too():
    formula = parse_formula("for g in n: (P[n == g] > 0 and (for h in {'x'}: P[a | n == g and one == h] > 0.1))")
    parts = expand_parts(formula, lambda column: VALUES[column.name])
    found = [([(item.variable, item.value.value) for item in bound], to_text(part)) for bound, part in parts]
    assert found == [
        ([("g", 1)], "P[n == 1] > 0"),
        ([("g", 1), ("h", "x")], "P[a | n == 1 and one == 'x'] > 0.1"),
        ([("g", 2)], "P[n == 2] > 0"),
        ([("g", 2), ("h", "x")], "P[a | n == 2 and one == 'x'] > 0.1"),
    ]
    assert parts[1][0] == (Binding("g", Column("n"), Literal(1)), Binding("h", Column("one"), Literal("x")))

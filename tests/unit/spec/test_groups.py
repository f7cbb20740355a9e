import pytest

from isonomia.spec.analysis import conjuncts, disjoint, implies
from isonomia.spec.operators import pair_function
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Compare, Comparison, Literal, Member, Rate, RowNot, Variable


def row(text):
    formula = parse_formula(f"P[{text}] > 0")
    assert isinstance(formula, Comparison)
    assert isinstance(formula.first, Rate)
    return formula.first.event


def test_conjuncts_are_flat_and_everybody_has_none():
    assert conjuncts(None) == ()
    assert conjuncts(row("a and (b and c)")) == (Column("a"), Column("b"), Column("c"))
    assert len(conjuncts(row("a or b"))) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("c == 'x'", "c == 'y'"),
        ("c == 'x'", "c != 'x'"),
        ("c == 'x'", "not c == 'x'"),
        ("c == 'x'", "c not in {'x', 'y'}"),
        ("c in {'x', 'y'}", "c in {'z'}"),
        ("c == 'x'", "c is missing"),
        ("c != 'x'", "c is missing"),
        ("woman", "not woman"),
        ("woman", "woman == false"),
        ("woman == true", "not woman"),
        ("woman == 1", "woman == 0"),
        ("age < 25", "age >= 25"),
        ("age < 25", "25 <= age"),
        ("age < 25", "age == 30"),
        ("age < 25", "not age < 25"),
        ("age < 25 and woman", "age < 25 and not woman"),
        ("0 <= age < 25", "25 <= age < 50"),
        ("age < 25 or age > 60", "30 <= age <= 40"),
        ("c == 'x' or c == 'y'", "c == 'z' and a"),
        ("x < y", "x >= y"),
        ("x < y", "y < x"),
        ("x + 1 < 3", "x + 1 > 4"),
        ("d < '2020-01-01'", "d >= '2020-01-01'"),
        ("false", "a"),
        ("other.sex == 'F'", "other.sex == 'M'"),
        ("do(e = 1).x < 2", "do(e = 1).x >= 2"),
        ("do(e as if s = 1).hired", "not do(e as if s = 1).hired"),
        ("x < other.x", "x >= other.x"),
        ("prediction == do(s = 1).prediction", "do(s = 1).prediction != prediction"),
    ],
)
def test_conditions_that_exclude_each_other_are_disjoint(a, b):
    assert disjoint(row(a), row(b))
    assert disjoint(row(b), row(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("c == 'x'", "d == 'y'"),
        ("c == 'x'", "c == 'x'"),
        ("c != 'x'", "c != 'y'"),
        ("age <= 25", "age >= 25"),
        ("not age < 25", "not age >= 25"),
        ("c not in {'x'}", "c is missing"),
        ("d == '2020-01-01'", "d == '2020-01-01T00'"),
        ("x == 0.1", "x == 0.1000000000001"),
        ("x == 9007199254740993", "x == 9007199254740992.0"),
        ("age < 25 or woman", "age > 30"),
        ("x <= y", "y <= x"),
        ("other.sex == 'F'", "sex == 'M'"),
        ("other.woman", "not woman"),
        ("other.sex is missing", "sex == 'M'"),
        ("do(s = 1).x < 2", "x >= 2"),
        ("do(s = 1).x < 2", "do(s = 2).x >= 2"),
        ("do(s = 1).x < 2", "do(e as if s = 1).x >= 2"),
        ("do(s = 1).x < 2", "other.x >= 2"),
        ("other.prediction == 1", "prediction == 0"),
        ("other.score > 0.5", "score < 0.5"),
        ("x < other.x", "x > do(s = 1).x"),
        ("x < y", "other.x >= other.y"),
        ("c == 'x'", "c < 3"),
        ("c == 9007199254740994", "c < 3"),
        ("1", "c == 'x'"),
        ("abs(c)", "c == 0"),
    ],
)
def test_conditions_that_one_row_can_satisfy_are_not_disjoint(a, b):
    assert not disjoint(row(a), row(b))
    assert not disjoint(row(b), row(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("sex == 'F'", "other.sex == 'F'"),
        ("sex == 'F'", "other.sex != 'M'"),
        ("do(s = 1).x < 2", "x < 3"),
        ("do(s = 1).x < 2", "do(s = 2).x < 3"),
        ("woman", "other.woman or age < 3"),
    ],
)
def test_what_is_true_of_one_version_implies_nothing_about_another(a, b):
    assert not implies(row(a), row(b))
    assert not implies(row(b), row(a))


def test_functions_of_two_people_are_told_apart_by_what_computes_them():
    near, same, far = ((pair_function(function, ["x"], name="apart") < 2).node for function in (min, min, max))
    assert disjoint(near, RowNot(same))
    assert not disjoint(near, RowNot(far))
    assert not disjoint(near, (pair_function(min, ["x", "y"], name="apart") >= 2).node)


def test_a_set_with_a_variable_and_two_values_compared_exclude_nothing():
    open_set = Member(Column("c"), (Literal("x"), Variable("g")))
    assert not disjoint(open_set, row("c == 'y'"))
    assert disjoint(Member(Column("c"), (Literal("x"),)), row("c == 'y'"))
    assert not disjoint(Compare("==", Literal(1), Literal(2)), row("c == 'y'"))


def test_everybody_is_disjoint_only_from_nobody():
    assert not disjoint(None, row("woman"))
    assert not disjoint(None, None)
    assert disjoint(None, row("woman and not woman"))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("woman and age < 25", "woman"),
        ("age < 25", "age < 30"),
        ("age < 25", "age <= 25 or woman"),
        ("c == 'x'", "c in {'x', 'y'}"),
        ("c == 'x'", "c != 'y'"),
        ("c == 'x'", "c is not missing"),
        ("c == 'x'", "not (c == 'y')"),
        ("age == 20", "10 <= age < 25"),
    ],
)
def test_a_narrower_condition_implies_a_wider_one_and_not_the_reverse(a, b):
    assert implies(row(a), row(b))
    assert not implies(row(b), row(a))


def test_every_condition_implies_that_one_is_somebody():
    assert implies(row("woman"), None)
    assert not implies(None, row("woman"))


def test_a_condition_with_too_many_cases_is_given_up_and_not_guessed():
    many = " and ".join(f"(a{i} == 1 or b{i} == 1)" for i in range(20))
    assert not disjoint(row(many), row("c == 1"))
    assert not disjoint(row(f"({many}) or a == 1"), row("c == 1"))

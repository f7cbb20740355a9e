import pytest

from isonomia.errors import SpecError, UsageError
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import (
    Arithmetic,
    AsIf,
    Column,
    Compare,
    Comparison,
    Constant,
    Do,
    Each,
    Extreme,
    Implies,
    Junction,
    Literal,
    Mean,
    Member,
    Missing,
    Negative,
    Not,
    Other,
    Output,
    Power,
    Rate,
    RowArithmetic,
    RowJunction,
    RowNegative,
    RowNot,
    Setting,
    Variable,
    nodes,
)
from raising import raises

A, B, C = (Comparison(Rate(Column(name)), ((">", Constant(0.5)),)) for name in "abc")
TEXT = {"A": "P[a] > 0.5", "B": "P[b] > 0.5", "C": "P[c] > 0.5"}


def read(text):
    return parse_formula(text.format(**TEXT))


def row(text):
    formula = parse_formula(f"P[{text}] > 0.5")
    assert isinstance(formula, Comparison)
    assert isinstance(formula.first, Rate)
    return formula.first.event


def quantity(text):
    formula = parse_formula(f"{text} > 0.5")
    assert isinstance(formula, Comparison)
    return formula.first


def test_the_four_fifths_rule_reads_as_a_ratio_of_rates():
    formula = parse_formula("P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8")
    women, men = (
        Rate(Compare("==", Output("prediction"), Literal(1)), Compare("==", Column("sex"), Literal(value)))
        for value in ("F", "M")
    )
    assert formula == Comparison(Arithmetic("/", women, men), ((">=", Constant(0.8)),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{A} and {B} and {C}", Junction("and", (A, B, C))),
        ("({A} and {B}) and {C}", Junction("and", (Junction("and", (A, B)), C))),
        ("{A} or {B} and {C}", Junction("or", (A, Junction("and", (B, C))))),
        ("not {A} and {B}", Junction("and", (Not(A), B))),
        ("not not {A}", Not(Not(A))),
        ("{A} ==> {B} ==> {C}", Implies(A, Implies(B, C))),
        ("({A} ==> {B}) ==> {C}", Implies(Implies(A, B), C)),
        ("{A} or {B} ==> {C}", Implies(Junction("or", (A, B)), C)),
        ("(({A}))", A),
        ("# first\n{A} # last", A),
    ],
)
def test_connectives_bind_as_in_python_with_the_arrow_weakest(text, expected):
    assert read(text) == expected


def test_the_body_of_a_for_reaches_as_far_as_it_can():
    everything = Each("g", Column("race"), (), Implies(Junction("or", (A, B)), C))
    assert read("for g in race: {A} or {B} ==> {C}") == everything
    assert read("{A} and for g in race: {A} or {B} ==> {C}") == Junction("and", (A, everything))
    assert read("(for g in race: {A}) or {B}") == Junction("or", (Each("g", Column("race"), (), A), B))


@pytest.mark.parametrize("text", ["except 'x', -1", "except {{'x', -1}}"])
def test_excluded_values_may_stand_in_braces_or_not(text):
    assert read(f"for g in race {text}: {{A}}") == Each("g", Column("race"), (Literal("x"), Literal(-1)), A)


def test_an_inner_for_can_exclude_the_outer_variable():
    formula = parse_formula("for g in race: for h in race except g: P[race == g or race in {h, 'x'}] > 0.5")
    event = RowJunction(
        "or",
        (
            Compare("==", Column("race"), Variable("g")),
            Member(Column("race"), (Variable("h"), Literal("x"))),
        ),
    )
    body = Comparison(Rate(event), ((">", Constant(0.5)),))
    assert formula == Each("g", Column("race"), (), Each("h", Column("race"), (Variable("g"),), body))


def test_a_for_can_run_over_written_values():
    assert read("for g in {{'a', 2, true}}: {A}") == Each("g", (Literal("a"), Literal(2), Literal(True)), (), A)


def test_backticks_always_mean_a_column():
    inside = parse_formula("for g in race: P[`g` == g] > 0.5")
    assert isinstance(inside, Each)
    assert isinstance(inside.body, Comparison)
    assert inside.body.first == Rate(Compare("==", Column("g"), Variable("g")))
    assert row("`prediction`") == Column("prediction")
    assert row(r"`a \` b`") == Column("a ` b")
    assert row("`hours per week` < 3") == Compare("<", Column("hours per week"), Literal(3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("woman", Column("woman")),
        ("not woman", RowNot(Column("woman"))),
        ("a in {'x'}", Member(Column("a"), (Literal("x"),))),
        ("a not in {'x'}", RowNot(Member(Column("a"), (Literal("x"),)))),
        ("a is missing", Missing(Column("a"))),
        ("a is not missing", RowNot(Missing(Column("a")))),
        (
            "0 <= a < 5",
            RowJunction("and", (Compare("<=", Literal(0), Column("a")), Compare("<", Column("a"), Literal(5)))),
        ),
        ("a == true", Compare("==", Column("a"), Literal(True))),
        ("a == 1.0", Compare("==", Column("a"), Literal(1.0))),
        ("a == 1", Compare("==", Column("a"), Literal(1))),
        ("a == -2", Compare("==", Column("a"), Literal(-2))),
        (r"a == 'it\'s\n'", Compare("==", Column("a"), Literal("it's\n"))),
        (r'a == "\u00e9\x41"', Compare("==", Column("a"), Literal("éA"))),
        (
            "-a * 2 > b",
            Compare(">", RowArithmetic("*", RowNegative(Column("a")), Literal(2)), Column("b")),
        ),
        ("score['good'] > 0", Compare(">", Output("score", "good"), Literal(0))),
        ("score[1] > 0", Compare(">", Output("score", 1), Literal(0))),
    ],
)
def test_row_expressions(text, expected):
    assert row(text) == expected


MAN = Setting("sex", Literal("M"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("other.age", Column("age", Other())),
        ("other.`years of age`", Column("years of age", Other())),
        ("other.prediction", Output("prediction", None, Other())),
        ("other.score['good']", Output("score", "good", Other())),
        ("do(sex = 'M').income", Column("income", Do((MAN,)))),
        ("do(age = -3, sex = 'M').score", Output("score", None, Do((Setting("age", Literal(-3)), MAN)))),
        ("do(`a b` = true).x", Column("x", Do((Setting("a b", Literal(True)),)))),
        ("do(e as if sex = 'M').prediction", Output("prediction", None, Do((AsIf("e", (MAN,)),)))),
        (
            "do(x = 1.0, e as if (sex = 'M', r = 'A'), sex = 'M').y",
            Column("y", Do((Setting("x", Literal(1.0)), AsIf("e", (MAN, Setting("r", Literal("A")))), MAN))),
        ),
        ("do(e as if sex = 'M', sex = 'M').y", Column("y", Do((AsIf("e", (MAN,)), MAN)))),
        ("other", Column("other")),
        ("do", Column("do")),
        ("other.other", Column("other", Other())),
        ("do(do = 'x').do", Column("do", Do((Setting("do", Literal("x")),)))),
        ("do(as as if if = 1).if", Column("if", Do((AsIf("as", (Setting("if", Literal(1)),)),)))),
        ("other - (do)", RowArithmetic("-", Column("other"), Column("do"))),
    ],
)
def test_a_column_or_an_answer_can_be_of_another_version(text, expected):
    assert row(text) == expected


def test_a_version_is_part_of_what_is_said():
    assert len({row("age"), row("other.age"), row("do(sex = 'M').age"), row("do(sex = 'F').age")}) == 4
    assert row("do(a = 1).x") != row("do(a = 1.0).x")
    assert row("do(sex = 'M').age") == row("do( sex='M' ) . age")


def test_a_variable_can_be_what_something_is_set_to_but_not_what_is_set():
    formula = parse_formula("for g in sex: P[do(g = g, e as if sex = g).g == other.g] > 0.5")
    assert isinstance(formula, Each)
    assert isinstance(formula.body, Comparison)
    version = Do((Setting("g", Variable("g")), AsIf("e", (Setting("sex", Variable("g")),))))
    assert formula.body.first == Rate(Compare("==", Column("g", version), Column("g", Other())))


def test_a_version_and_its_parts_know_their_places():
    text = "P[do(sex = 'M', e as if sex = 'F').age > 3] > 0.5"
    formula = parse_formula(text)
    found = {type(node): node.place for node in nodes(formula) if isinstance(node, Column | Do | AsIf)}
    written = {kind.__name__: text[place.start : place.end] for kind, place in found.items() if place is not None}
    assert written == {
        "Column": "do(sex = 'M', e as if sex = 'F').age",
        "Do": "do(sex = 'M', e as if sex = 'F')",
        "AsIf": "e as if sex = 'F'",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80%", Constant(0.8)),
        ("0.1%", Constant(0.001)),
        ("7e1%", Constant(0.7)),
        ("1e-3", Constant(0.001)),
        ("-0.5", Constant(-0.5)),
        ("-P[a]", Negative(Rate(Column("a")))),
        ("0.9 ** 2", Power(Constant(0.9), 2.0)),
        ("0.9 ^ 2", Power(Constant(0.9), 2.0)),
        ("0.9 ** 0.5", Power(Constant(0.9), 0.5)),
        ("-P[a] ** 2", Negative(Power(Rate(Column("a")), 2.0))),
        ("P[a] ** -(1 + 1)", Power(Rate(Column("a")), -2.0)),
        ("P[a] ** 2 ** 3", Power(Rate(Column("a")), 8.0)),
        ("P[a] - 1 - 2", Arithmetic("-", Arithmetic("-", Rate(Column("a")), Constant(1)), Constant(2))),
        ("P[a] + 1 * 2", Arithmetic("+", Rate(Column("a")), Arithmetic("*", Constant(1), Constant(2)))),
        ("abs(-1)", Extreme("abs", (Constant(-1),))),
        ("max(1, P[a], 2)", Extreme("max", (Constant(1), Rate(Column("a")), Constant(2)))),
        ("E[x from -1 to 1e5 | a]", Mean(Column("x"), Column("a"), -1.0, 1e5)),
    ],
)
def test_quantities(text, expected):
    assert quantity(text) == expected


def test_a_chain_of_comparisons_is_one_comparison():
    formula = parse_formula("0.8 <= P[a] < 1.25")
    assert formula == Comparison(Constant(0.8), (("<=", Rate(Column("a"))), ("<", Constant(1.25))))


def test_every_node_knows_its_place():
    text = "P[hired | woman] >= 0.8"
    formula = parse_formula(text)
    assert isinstance(formula, Comparison)
    assert isinstance(formula.first, Rate)
    assert isinstance(formula.first.given, Column)
    place = formula.first.given.place
    assert place is not None
    assert (place.start, place.end) == (10, 15)
    assert formula.first.place is not None
    assert text[formula.first.place.start : formula.first.place.end] == "P[hired | woman]"


def test_something_that_is_no_text_is_refused_with_its_type():
    with raises(UsageError, 3, name="text"):
        parse_formula(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "not " * 5000 + "P[a] > 1",
        "-" * 5000 + "P[a] > 1",
        "P[" + "not " * 5000 + "a] > 1",
        "P[" + "-" * 5000 + "a] > 1",
        "1 + " * 5000 + "P[a] > 1",
        "P[a] > 1 ==> " * 1500 + "P[a] > 1",
        "abs(" * 5000 + "1" + ")" * 5000 + " > 1",
    ],
)
def test_deep_nesting_is_an_error_of_the_text(text):
    with raises(SpecError, 100):
        parse_formula(text)


def test_many_operands_are_not_deep():
    assert isinstance(parse_formula(" and ".join(["P[a] > 0.5"] * 2000)), Junction)
    assert parse_formula("(" * 5000 + "P[a] > 0.5" + ")" * 5000) == A

"""Programs that are right, and the trees they are read into."""

import math
from contextlib import suppress

import pytest

from isonomia.errors import SpecError
from isonomia.spec.fairsquare import FairSquareProgram, read_program
from isonomia.spec.fairsquare.tree import (
    Assign,
    BinaryOperation,
    Boolean,
    BooleanOperation,
    Chain,
    Gaussian,
    If,
    LogicalNot,
    Number,
    Reference,
    StepDensity,
    UnaryMinus,
)

LOAN = """\
'''Who asks for a loan.'''

# F comes first in the text, and still sees what popModel draws.
def F():
    'Who gets it.'
    points = 2 * income - 1
    if urban and income > 3 or not urban:
        points = points + 1
    return points > 0
    fairnessTarget(points > 0)

def popModel():
    income = gaussian(4, 2.5)
    place = step([(1, 2, 0.75), (0, 1, 0.25)])
    urban = 0 <= place < 1
    sensitiveAttribute(urban)
    qualified(income > -1)
"""


def body(text: str, decision: str = "pass") -> str:
    """A program whose popModel has the lines of a text."""
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"def popModel():\n{lines}\ndef F():\n    {decision}\n"


def value_of(expression: str) -> object:
    (*_, last) = read_program(body(f"a = 1\nb = True\nx = {expression}")).population
    assert isinstance(last, Assign)
    return last.value


def test_a_program_is_read_into_its_tree() -> None:
    program = read_program(LOAN)
    urban = Chain(Number(0), (("<=", Reference("place")), ("<", Number(1))))
    assert program.population == (
        Assign("income", Gaussian(Number(4), Number(2.5), ("income", 0))),
        Assign("place", StepDensity(((0, 1, 0.25), (1, 2, 0.75)), ("place", 0))),
        Assign("urban", urban),
        Assign("minority", Reference("urban")),
        Assign("qualified", Chain(Reference("income"), ((">", UnaryMinus(Number(1))),))),
    )
    rich = BooleanOperation("and", (Reference("urban"), Chain(Reference("income"), ((">", Number(3)),))))
    points = BinaryOperation("-", BinaryOperation("*", Number(2), Reference("income")), Number(1))
    more = Assign("points", BinaryOperation("+", Reference("points"), Number(1)))
    assert program.decision == (
        Assign("points", points),
        If(BooleanOperation("or", (rich, LogicalNot(Reference("urban")))), (more,)),
        Assign("target", Chain(Reference("points"), ((">", Number(0)),))),
    )


def test_columns_are_the_variables_in_the_order_of_a_run_and_then_the_marks() -> None:
    kinds = read_program(LOAN).kinds
    assert list(kinds) == ["income", "place", "urban", "points", "minority", "qualified", "target"]
    assert {name for name, kind in kinds.items() if kind == "truth"} == {"urban", "minority", "qualified", "target"}


def test_a_variable_that_some_runs_leave_unset_is_no_column() -> None:
    text = "a = gaussian(0, 1)\nif a > 0:\n    b = 1\n    c = 2\nelse:\n    c = 3\n    d = 4"
    assert list(read_program(body(text)).kinds) == ["a", "c"]


def test_an_elif_is_an_if_within_the_else() -> None:
    text = "a = gaussian(0, 1)\nif a > 1:\n    b = 1\nelif a > 0:\n    b = 2\nelse:\n    b = 3"
    nested = "a = gaussian(0, 1)\nif a > 1:\n    b = 1\nelse:\n    if a > 0:\n        b = 2\n    else:\n        b = 3"
    assert read_program(body(text)).population == read_program(body(nested)).population


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        ("1 + 2 * a", BinaryOperation("+", Number(1), BinaryOperation("*", Number(2), Reference("a")))),
        ("(1 + 2) / a", BinaryOperation("/", BinaryOperation("+", Number(1), Number(2)), Reference("a"))),
        ("-a", UnaryMinus(Reference("a"))),
        ("+3", Number(3)),
        ("+a", UnaryMinus(UnaryMinus(Reference("a")))),
        ("True", Boolean(True)),
        ("not b", LogicalNot(Reference("b"))),
        ("b == False", Chain(Reference("b"), (("==", Boolean(False)),))),
        ("a != 1 > -2", Chain(Reference("a"), (("!=", Number(1)), (">", UnaryMinus(Number(2)))))),
        ("b and b and b", BooleanOperation("and", (Reference("b"),) * 3)),
        ("0x10 + 1_000", BinaryOperation("+", Number(16), Number(1000))),
        ("gaussian(a, 0)", Gaussian(Reference("a"), Number(0), ("x", 0))),
        (
            "step([(-1.5, 2 - 3, 1/3), (0, 1, 2/3), (5, 6, 0)])",
            StepDensity(((-1.5, -1, 1 / 3), (0, 1, 2 / 3), (5, 6, 0)), ("x", 0)),
        ),
    ],
)
def test_expressions_keep_the_meaning_they_have_in_python(expression: str, tree: object) -> None:
    assert value_of(expression) == tree


def test_a_variable_may_change_its_kind_from_line_to_line() -> None:
    assert read_program(body("x = gaussian(0, 1)\nx = x > 0")).kinds == {"x": "truth"}


def test_a_variable_may_have_the_name_of_the_column_that_marks_it() -> None:
    program = read_program(
        body("minority = gaussian(0, 1)\nminority = minority > 0\nsensitiveAttribute(minority)\ny = 1")
    )
    assert dict(program.kinds) == {"y": "number", "minority": "truth"}
    assert list(program.kinds) == ["y", "minority"]


def test_a_name_of_a_mark_is_free_where_the_mark_is_not_made() -> None:
    assert list(read_program(body("target = 1\nqualified = target")).kinds) == ["target", "qualified"]


def test_what_follows_a_return_may_be_marks_only() -> None:
    program = read_program(body("x = gaussian(0, 1)", "return x < 0\n    fairnessTarget(x < 0)\n    return\n    pass"))
    assert program.decision == (Assign("target", Chain(Reference("x"), (("<", Number(0)),))),)


def test_byte_order_mark_and_line_ends_make_no_difference() -> None:
    plain = read_program(LOAN)
    assert read_program("\ufeff" + LOAN.replace("\n", "\r\n")) == plain
    assert read_program(LOAN.replace("\n", "\r")) == plain


def test_an_f_that_only_passes_is_enough() -> None:
    assert read_program("def popModel(): x = 1\ndef F(): pass").decision == ()


def test_places_point_at_characters_behind_letters_of_several_bytes() -> None:
    text = body("größe = gaussian(0, 1); año = größe * 2")
    (_, second) = read_program(text).population
    assert isinstance(second, Assign)
    assert second.place is not None
    assert text[second.place.start : second.place.end] == "año = größe * 2"
    assert second.value.place is not None
    assert text[second.value.place.start : second.value.place.end] == "größe * 2"


def test_long_sums_and_long_chains_of_elif_are_read() -> None:
    terms = " + ".join(f"{index} * a" for index in range(200))
    branches = "\n".join(f"elif a < {index}:\n    b = {index}" for index in range(98))
    program = read_program(
        body(f"a = {terms.replace('a', '1')}\nif a < -1:\n    b = -1\n{branches}\nelse:\n    b = 99")
    )
    assert list(program.kinds) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        body("x = " + " + ".join(["1"] * 5000)),
        body("x = " + "+".join(["1"] * 300)),
        body("x = " + "-" * 300 + "1"),
        body("x = " + "-" * 90_000 + "1"),
        body("x = " + "(" * 150 + "1" + "+ 1)" * 150 + " * 2" * 60),
        body("x = " + "(" * 5000 + "1" + ")" * 5000),
        body("x = True\nif x:\n    y = 1\n" + "elif x:\n    y = 1\n" * 150 + "else:\n    y = 1"),
        body("x = True\nif x:\n    y = 1\n" + "elif x:\n    y = 1\n" * 3_000 + "else:\n    y = 1"),
        body("x = True\n" + "\n".join(" " * level + "if x:" for level in range(120)) + "\n" + " " * 120 + "y = 1"),
    ],
    ids=range(9),
)
def test_what_is_nested_too_deeply_is_refused_in_words(text: str) -> None:
    with pytest.raises(SpecError, match="nested too deeply"):
        read_program(text)


def test_a_caller_who_is_deep_in_the_stack_gets_a_spec_error_too() -> None:
    text = body("x = " + " + ".join(["1"] * 190))

    def sink(levels: int) -> object:
        return sink(levels - 1) if levels else read_program(text)

    outcomes = set()
    for levels in range(600, 800, 20):
        # Where the stack is full before the reader is called, Python says so, and the reader has no part in it.
        with suppress(RecursionError):
            try:
                outcomes.add(type(sink(levels)))
            except SpecError as error:
                outcomes.add(str(error).split(":")[1])
    assert " this is nested too deeply" in outcomes
    assert outcomes <= {FairSquareProgram, " this is nested too deeply"}


def test_the_sum_of_rounded_probabilities_is_tolerated_to_a_millionth() -> None:
    program = read_program(body("x = step([(0, 1, 0.3333333), (1, 2, 0.6666667)])"))
    (assignment,) = program.population
    assert isinstance(assignment, Assign)
    assert isinstance(assignment.value, StepDensity)
    assert math.fsum(cell[2] for cell in assignment.value.cells) == pytest.approx(1, abs=1e-6)

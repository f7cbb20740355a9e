"""Equations of causal models: expressions with choices and texts."""

from contextlib import suppress

import pytest

from isonomia.errors import SpecError
from isonomia.spec.fairsquare import read_equation
from isonomia.spec.fairsquare.tree import BinaryOperation, Chain, Choice, Gaussian, Kind, Number, Reference, Text
from raising import raises

KNOWN: dict[str, Kind | None] = {"age": "number", "urban": "truth", "job": "text", "other": None}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("age + 1", "number"),
        ("age > 1", "truth"),
        ("urban == (age > 1)", "truth"),
        ("job", "text"),
        ("job == 'clerk' or job != \"#1\"", "truth"),
        ("'young' if age < 30 else 'old' if age > 60 else job", "text"),
        ("'none' == job if urban else False", "truth"),
        ("1 if urban else gaussian(age, 2)", "number"),
        ("other + 1 if other else other / 2", "number"),
        ("other == 'x' and other < 3", "truth"),
        ("other if urban else 'x'", "text"),
        ("other", "number"),
    ],
)
def test_the_kind_of_an_equation_follows_from_what_it_reads(text: str, kind: Kind) -> None:
    assert read_equation(text, "income", KNOWN)[1] == kind


def test_an_equation_is_read_into_its_tree() -> None:
    expression, _ = read_equation("gaussian(age, 2) if job == 'clerk' else 0", "income", KNOWN)
    clerk = Chain(Reference("job"), (("==", Text("clerk")),))
    assert expression == Choice(clerk, Gaussian(Reference("age"), Number(2), ("income", 0)), Number(0))


def test_an_equation_may_run_over_lines_and_have_comments() -> None:
    text = "\n    age  # in years; it's whole\n    + 1 \\\n    - 2\n"
    expected = BinaryOperation("-", BinaryOperation("+", Reference("age"), Number(1)), Number(2))
    expression, _ = read_equation(text, "income", KNOWN)
    assert expression == expected
    assert expression.place is not None
    assert expression.place.line == 2
    assert text[expression.place.start :].startswith("age")
    assert read_equation(text.replace("\n", "\r\n"), "income", KNOWN)[0] == expected


@pytest.mark.parametrize(
    ("marked", "reason"),
    [
        ("«»", "the equation is empty"),
        ("«»  # nothing\n", "the equation is empty"),
        ("«'clerk'»", "an equation cannot be a text: write a choice"),
        ("«job» + 1", "`job` is a text, but a number is needed here: compare it"),
        ("«job» < 'm'", "`job` is a text, but `<` compares numbers"),
        ("other < «'m'»", "this is a text, but `<` compares numbers"),
        ("«job == 3»", "`==` compares a text with a number"),
        ("not «job»", "compare it, as in `job == 'a'`"),
        ("gaussian(«'m'», 1)", "this is a text, but a number is needed here"),
        ("1 if «age» else 2", "`age` is a number, but a condition must be true or false"),
        ("«1 if urban else 'x'»", "one branch is a number, the other is a text"),
        ("«aeg» + 1", "this equation may read age, urban, job, other. Did you mean 'age'?"),
        ("«income» + 1", "`income` cannot be read here"),
        ("1«)» + (2", "this `)` closes nothing"),
        ("«(»1 + ", "`(` is never closed"),
        ("age ==\n  «'a»\n'", "a text must begin and end on one line"),
        ("age «=» 1", "this cannot be read"),
        ("age\n«age»", "this cannot be read"),
        ("age«;» 1", "this cannot be read"),
        ("«job == 'clerk' != urban»", "`!=` compares a text with a truth value"),
        ("«f'{age}'» == job", "a text cannot stand here"),
        ("age / «0»\n + 1", "this divides by zero"),
        ("ä + age / «0»", "this divides by zero"),
        ("-" * 201 + "«1»", "nested too deeply"),
    ],
)
def test_what_is_no_equation_is_refused_where_it_stands(marked: str, reason: str) -> None:
    start = marked.index("«")
    with pytest.raises(SpecError) as caught:
        read_equation(marked.replace("«", "").replace("»", ""), "income", KNOWN)
    assert reason in str(caught.value)
    assert str(caught.value).startswith("equation of `income`, line ")
    assert caught.value.place is not None
    assert caught.value.place.start == start


def test_an_equation_read_deep_in_the_stack_is_refused_in_words() -> None:
    text = " + ".join(["1"] * 190)

    def sink(levels: int) -> object:
        return sink(levels - 1) if levels else read_equation(text, "income", {})

    said = set()
    for levels in range(600, 1000, 20):
        # Where the stack is full before the reader is called, Python says so, and the reader has no part in it.
        with suppress(RecursionError):
            try:
                sink(levels)
            except SpecError as error:
                said.add(str(error).split(":")[0])
    assert said == {"equation of `income`, line 1, column 1"}


def test_an_equation_that_may_read_nothing_says_so() -> None:
    with raises(SpecError, "income", name="age", at="age"):
        read_equation("age", "income", {})

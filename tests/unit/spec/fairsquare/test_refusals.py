"""Programs that are wrong: the line, the stretch that the carets point at, and the reason."""

import pytest

from isonomia.errors import SpecError
from isonomia.spec.fairsquare import read_program

# Lines of popModel after `a = gaussian(0, 1)` and `b = a > 0`, with the trouble between « and »; then the reason.
STATEMENTS = [
    ("«for i in a: pass»", "a `for` loop cannot stand in a program: repeat its statements"),
    ("«while b: pass»", "a `while` loop cannot stand"),
    ("«import math»", "an import cannot stand in a program: a program can call"),
    ("«from math import pi»", "an import cannot stand"),
    ("x = f(b=1, 2«)»", "this cannot be read: positional argument follows keyword argument"),
    ("«a += 1»", "`a += ...` cannot stand in a program: write `a = a + ...`"),
    ("«a **= 2»", "write `a = a ** ...`"),
    ("«x: int = 1»", "an annotation cannot stand"),
    ("«x, y» = 1, 2", "sets several variables at once"),
    ("«x = y = 1»", "sets two variables at once"),
    ("«a.b» = 1", "only a plain variable can be set"),
    ("«a[0]» = 1", "only a plain variable can be set"),
    ("«step» = 1", "`step` is the name of a function"),
    ("«def g(): pass»", "a function within a function"),
    ("«class A: pass»", "a class cannot stand"),
    ("«global a»", "`global` cannot stand in a program: leave it out"),
    ("«try: a = 1\n    finally: a = 2»", "`try` cannot stand"),
    ("«with a: pass»", "`with` cannot stand"),
    ("«del a»", "`del` cannot stand"),
    ("«assert b»", "use the mark `qualified(...)`"),
    ("«a == 1»", "this value is not used: write `x = ...`"),
    ("«gaussian(0, 1)»", "nothing becomes of this draw"),
    ("«'a remark'»", "write a comment with `#`"),
    ("«print(a)»", "there is no mark `print`, only `sensitiveAttribute`"),
    ("«[i for i in a]»", "a comprehension cannot stand here"),
    ("«return a»\n    x = 1", "what follows this `return` would never run"),
    ("if b:\n        «return a»", "a `return` within an `if` would skip"),
]
MARKS = [
    ("if b:\n        «qualified(b)»", "the mark `qualified` cannot stand within an `if`"),
    ("qualified(b)\n    «qualified(a > 1)»", "`qualified` is marked twice (first on line 4)"),
    ("«qualified(b, a > 1)»", "takes one condition, but got 2"),
    ("«qualified()»", "takes one condition, but got 0"),
    ("qualified(«who=b»)", "leave out `who=`"),
    ("qualified(«a»)", "`a` is a number, but a condition must be true or false"),
    ("x = «qualified»(b)", "`qualified(...)` has no value: it is a mark"),
    ("«qualify(b)»", "Did you mean 'qualified'?"),
    ("«minority = a > 1»\n    sensitiveAttribute(b)", "rename the variable"),
    ("minority = b\n    sensitiveAttribute(minority)\n    «minority = not b»", "rename the variable"),
    ("sensitiveAttribute(b)\n    x = «minority»", "`minority` is the column of a mark, not a variable"),
    (
        "minority = 1\n    sensitiveAttribute(«minority»)",
        "`minority` is a number, but a condition must be true or false",
    ),
]
EXPRESSIONS = [
    ("«lambda: 1»", "a `lambda` cannot stand here"),
    ("«[1, 2]»", "a list cannot stand here"),
    ("«1, 2»", "values separated by commas cannot stand here"),
    ("«{1: 2}»", "a dictionary cannot stand here"),
    ("«(i for i in a)»", "a comprehension cannot stand here"),
    ("«a[0]»", "an element `[...]` cannot stand here"),
    ("«a.real»", "an attribute (a name with a dot) cannot stand here"),
    ("«1 if b else 2»", "write an `if` statement that sets the variable in both branches"),
    ("b and («c := b»)", "`:=` cannot stand here"),
    ("«'text'»", "a text cannot stand here: write categories as numbers"),
    ("«f'{a}'»", "a text cannot stand here"),
    ("«b'text'»", "a text cannot stand here"),
    ("1 + «None»", "`None` cannot stand here"),
    ("«...»", "`...` cannot stand here"),
    ("«3j»", "a complex number cannot stand here"),
    ("«1e999»", "this number is too large"),
    ("«" + "9" * 400 + "»", "this number is too large"),
    ("«a ** 2»", "there is no operator `**`: write a power as a product"),
    ("«a % 2»", "there is no operator `%`"),
    ("«a // 2»", "there is no operator `//`"),
    ("«b & b»", "there is no operator `&`: write `and`"),
    ("«~b»", "there is no operator `~`: write `not`"),
    ("«a is 1»", "there is no comparison `is`: write `==`"),
    ("«a in a»", "there is no comparison `in`: write `x == a or x == b`"),
    ("«Gaussian»(0, 1)", "there is no function `Gaussian`, only `gaussian` and `step`. Did you mean 'gaussian'?"),
    ("«max»(a, 0)", "write it out with an `if`"),
    ("«random.normal»(0, 1)", "only `gaussian` and `step` can be called here"),
    ("gaussian(0, «variance=1»)", "leave out `variance=`"),
    ("gaussian(«*a»)", "a `*` before a value cannot stand here"),
    ("gaussian(«**a»)", "`**` cannot stand in a call"),
    ("«gaussian(0)»", "takes two values, but got 1"),
    ("«gaussian(0, 1, 2)»", "takes two values, but got 3"),
    ("gaussian(0, «-1»)", "a variance cannot be negative, but this is -1"),
    ("gaussian(0, «1 - 3»)", "a variance cannot be negative, but this is -2"),
    ("gaussian(«b», 1)", "`b` is a truth value, but a number is needed here"),
    ("gaussian(0, «1e999»)", "this number is too large"),
    ("«1e308 * 10»", "the value of this constant is too large"),
    ("a / «0»", "this divides by zero"),
    ("a / («2 * 3 - 6»)", "this divides by zero"),
    ("b and 1 / «0.0» > 1", "this divides by zero"),
    ("a + («a > 1»)", "this is a truth value, but a number is needed here"),
    ("-«b»", "`b` is a truth value, but a number is needed here"),
    ("+«b»", "`b` is a truth value, but a number is needed here"),
    ("b or «a»", "`a` is a number, but a condition must be true or false: compare it, as in `a > 0`"),
    ("not («a + 1»)", "this is a number, but a condition must be true or false"),
    ("a < «b»", "`b` is a truth value, but `<` compares numbers"),
    ("«a == b»", "`==` compares a number with a truth value"),
    ("«aa» + 1", "there is no variable `aa` here: a program sets every variable it reads. Did you mean 'a'?"),
    ("«true»", "Did you mean 'True'?"),
]
STEPS = [
    ("«step()»", "takes one list of cells, but got 0"),
    ("step(«a»)", "in square brackets"),
    ("step(«((0, 1, 1),)»)", "in square brackets"),
    ("«step([])»", "at least one cell"),
    ("step([«[0, 1, 1]»])", "each cell of a step is written `(low, high, p)`"),
    ("step([«(0, 1)»])", "each cell of a step is written `(low, high, p)`"),
    ("step([(0, «a», 1)])", "must be constants"),
    ("step([(0, 1, «*a»)])", "must be constants"),
    ("step([(0, 1, «True»)])", "must be constants"),
    ("step([«(2, 1, 1)»])", "2 is not below 1"),
    ("step([«(1, 1, 1)»])", "1 is not below 1"),
    ("step([«(-1e308, 1e308, 1)»])", "too wide"),
    ("step([(0, 2, 0.5), «(1, 3, 0.5)»])", "overlaps the one from 0 to 2 (line 4)"),
    ("step([«(1, 3, 0.5)», (0, 2, 0.5)])", "overlaps the one from 0 to 2"),
    ("step([(0, 1, 1.5), «(1, 2, -0.5)»])", "a probability cannot be negative"),
    ("«step([(0, 1, 0.5), (1, 2, 0.4)])»", "must add up to 1, but these add up to 0.9"),
    ("«step([(0, 1, 0.5), (1, 2, 0.500002)])»", "these add up to 1.000002"),
]
WAYS = [
    ("if b:\n        x = 1\n    y = «x»", "the `if` on line 4 sets it in one branch only"),
    ("if b:\n        x = 1\n    elif a > 1:\n        x = 2\n    y = «x»", "the `elif` on line 6 sets it in one branch"),
    (
        "if b:\n        if a > 1:\n            x = 1\n    else:\n        x = 2\n    y = «x»",
        "the `if` on line 5 sets it",
    ),
    ("y = «x»\n    x = 1", "`x` is read before it is set (it is set on line 5)"),
    ("x = «x» + 1", "`x` is read before it is set"),
    ("if b:\n        x = 1\n    else:\n        y = «x»", "`x` is read before it is set"),
    (
        "«if b»:\n        x = 1\n    else:\n        x = True",
        "`x` is a number where this condition is true and a truth value",
    ),
    ("x = 1\n    «if b»:\n        x = True", "`x` is a truth value where this condition is true and a number"),
    ("if «a»:\n        pass", "`a` is a number, but a condition must be true or false"),
    ("return «nobody»", "there is no variable `nobody`"),
]
SYNTAX = [
    ("x = «(»1 + 2", "`(` is never closed"),
    ("x = 1«)»", "this `)` closes nothing"),
    ("x = [1«)»", "this `)` cannot close a `[`"),
    ("x = «'»abc", "this quotation mark is never closed"),
    ("if b«»\n        x = 1", "a `:` is missing here"),
    ("if b:\n    «x» = 1", "must be indented"),
    ("if «a = 1»: pass", "write `==` to compare"),
    ("x = b &«&» b", "write `and`"),
    ("«1» = a", "write `==` to compare"),
    ("x = a «\u2264» 1", "the character U+2264 has no meaning here"),
]


def refusal(marked: str, **options: str) -> tuple[SpecError, str]:
    """The error for a text, and the stretch of it that « and » enclose."""
    start = marked.index("«")
    stretch = marked[start + 1 : marked.index("»")]
    with pytest.raises(SpecError) as caught:
        read_program(marked.replace("«", "").replace("»", ""), **options)
    assert caught.value.place is not None
    assert caught.value.place.start == start
    return caught.value, stretch


def in_a_program(lines: str) -> str:
    return f"def popModel():\n    a = gaussian(0, 1)\n    b = a > 0\n    {lines}\ndef F():\n    pass\n"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [*STATEMENTS, *MARKS, *WAYS, *((f"x = {lines}", reason) for lines, reason in (*EXPRESSIONS, *STEPS))],
)
def test_what_is_no_program_is_refused_where_it_stands(lines: str, reason: str) -> None:
    marked = in_a_program(lines)
    error, stretch = refusal(marked)
    first = stretch.split("\n")[0]
    line = marked[: marked.index("«")].count("\n") + 1
    row = marked.split("\n")[line - 1].replace("«", "").replace("»", "")
    assert reason in str(error)
    assert str(error).startswith(f"line {line}, column ")
    shown = row if len(row) <= 240 else f"{row[:240]} ..."
    assert f"\n  {shown}\n" in str(error)
    assert str(error).split("\n")[-1].strip() == "^" * min(len(first), 240 - row.index(first))


@pytest.mark.parametrize(("lines", "reason"), SYNTAX)
def test_what_cannot_be_parsed_is_refused_in_words(lines: str, reason: str) -> None:
    error, _ = refusal(in_a_program(lines))
    assert reason in str(error)
    assert str(error).endswith("^")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("«»", "the program is empty"),
        ("«»# only a remark\n", "the program is empty"),
        ("«def popModel»():\n    x = 1\n", "`def F(): pass` is enough where a model is given"),
        ("«def F»():\n    pass\n", "the function `popModel` is missing"),
        ("«def popmodel»(): pass\ndef F(): pass", "Did you mean 'popModel'?"),
        ("def F(): pass\n«def F»(): pass", "`F` is defined twice (first on line 1)"),
        ("«def F»(x): pass", "`F` takes no parameters"),
        ("«def F»(*x): pass", "`F` takes no parameters"),
        ("«def F»(*, x=1): pass", "`F` takes no parameters"),
        ("«def F»() -> int: pass", "an annotation cannot stand"),
        ("@«mark»\ndef F(): pass", "a decorator cannot stand"),
        ("«async def F(): pass»", "an `async` function cannot stand"),
        ("«x = 1»\ndef F(): pass", "this stands outside a function"),
        ("«import math»\ndef F(): pass", "an import cannot stand"),
        ("def F(): pass\n«'late'»", "this stands outside a function"),
        ("def F():\n    x = 1«\0»2", "null character"),
    ],
)
def test_what_is_not_two_functions_is_refused(text: str, reason: str) -> None:
    error, _ = refusal(text)
    assert reason in str(error)


@pytest.mark.parametrize(
    "text", ["def F(): x = '\ud800'", "\udfff", "def F():\n\tif x:\n        y = 1\n", "\0", "\\", "$"]
)
def test_a_text_that_is_no_text_gives_an_error_that_can_be_printed(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_program(text)
    assert str(caught.value).encode()


def test_a_message_begins_with_the_name_of_the_file() -> None:
    error, _ = refusal(in_a_program("x = «y»"), name="loans.fr")
    assert str(error).startswith("loans.fr, line 4, column 9: there is no variable `y`")


def test_columns_count_characters_and_not_bytes() -> None:
    error, _ = refusal(in_a_program("größe = «élan» + 1"))
    assert error.place is not None
    assert error.place.column == 13
    assert str(error).endswith(f"  {' ' * 12}^^^^")


@pytest.mark.filterwarnings("error")
def test_no_warning_of_the_parser_gets_out() -> None:
    for lines in (r"x = «'\d'»", "x = «1if b else 2»"):
        refusal(in_a_program(lines))

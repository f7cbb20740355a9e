"""Plain blocks and code."""

from __future__ import annotations

import pytest

from isonomia.errors import Place, SpecError
from isonomia.spec.nomos import CodeBlock, PlainBlock, read_block
from isonomia.spec.nomos.tree import Binary, FunctionCall, Name, PythonBlock, ScalarLiteral, Unary, Var


def steps(source: str) -> tuple[Var, ...]:
    found = read_block(PythonBlock(source))
    assert isinstance(found, PlainBlock)
    return found.steps


def test_plain_calls_and_arithmetic_become_assignments() -> None:
    source = "d1 = compas.predict(x1)\nd2: int = -d1 // 2 + 3\nd2 += abs(d1) ** 2\na, b = 1, 'two'\npass"
    assert steps(source) == (
        Var("d1", FunctionCall("predict", (Name("x1"),), "compas")),
        Var("d2", Binary("+", Binary("//", Unary("-", Name("d1")), ScalarLiteral(2)), ScalarLiteral(3))),
        Var("d2", Binary("+", Name("d2"), Binary("**", FunctionCall("abs", (Name("d1"),)), ScalarLiteral(2)))),
        Var("a", ScalarLiteral(1)),
        Var("b", ScalarLiteral("two")),
    )


@pytest.mark.parametrize(
    "source",
    [
        "for i in range(3):\n    d1 = i",
        "d1 = [predict(x1)][0]",
        "d1 = predict(x1) if True else 0",
        "import os\nd1 = 1",
        "d1 = (lambda: 1)()",
        "d1 = x1['age']",
        "d1 = predict(x=x1)",
        "d1 = os.path.join(x1)",
        "a, b = b, a",
        "x1.age = 3",
        "print(d1)",
        "d1 = 1 < 2 < 3",
        "d1 = 1j",
        "while True: pass",
        "exec('d1 = 1')",
        "d1 = not 1",
    ],
)
def test_anything_more_is_code(source: str) -> None:
    found = read_block(PythonBlock(source))
    assert isinstance(found, CodeBlock)
    assert found.reason


def test_code_says_what_it_sets_and_reads() -> None:
    found = read_block(PythonBlock("for i in range(3):\n    d1 = compas.randInt(0, i)"))
    assert isinstance(found, CodeBlock)
    assert {"i", "d1"} <= found.names
    assert {"range", "randInt", "compas"} <= found.reads


def test_a_sign_of_plus_and_one_comparison_are_plain() -> None:
    assert steps("d1 = +predict(x1) < 3") == (
        Var("d1", Binary("<", FunctionCall("predict", (Name("x1"),)), ScalarLiteral(3))),
    )


def test_code_reads_what_it_imports_from_a_module() -> None:
    found = read_block(PythonBlock("from compas.tools import rank as r\nfrom . import near\nd1 = r(x1)"))
    assert isinstance(found, CodeBlock)
    assert {"compas", "tools", "rank", "near"} <= found.reads
    assert "" not in found.reads


@pytest.mark.parametrize(
    ("source", "reason"), [("d1 = " + "-" * 100_000 + "1", "nested too deeply"), ("d1 = '\ud800'", "surrogates")]
)
def test_a_block_that_python_gives_up_on_is_refused_with_a_reason(source: str, reason: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_block(PythonBlock(source))
    assert caught.value.args[0].startswith("the block cannot be read as Python: ")
    assert reason in caught.value.args[0]


def test_a_line_that_the_block_does_not_have_is_the_whole_block() -> None:
    whole = Place("{ d1 = 1 }", 1, 9)
    block = PythonBlock("d1 = 1", whole, (2,))
    assert block.line(7) == whole
    line = block.line(1)
    assert line is not None
    assert (line.start, line.end) == (2, 8)

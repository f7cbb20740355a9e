"""Any text at all is a program or a SpecError; and a program that is accepted never reads what is not set."""

import ast
import random
import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from isonomia.errors import SpecError
from isonomia.spec.fairsquare import FairSquareProgram, read_equation, read_program
from isonomia.spec.fairsquare.tree import MARKS, Assign, If, Kind, Statement, draws_of

SETTINGS = settings(max_examples=200, derandomize=True, deadline=1000, database=None)

Known = dict[str, Kind]

# ---------------------------------------------------------------------------- programs that are right

NUMBERS = ("0", "1", "2.5", "1e3", "17", "0.001")
CELLS = ("[(0, 1, 1)]", "[(0,1,0.25), (1,2,0.75)]", "[(2, 3, 0.5), (-1.5, 0, 0.5)]")


def of_kind(known: Known, kind: Kind) -> list[str]:
    return sorted(name for name, its in known.items() if its == kind)


@st.composite
def numbers(draw: st.DrawFn, known: Known, depth: int = 3) -> str:
    leaves = [*NUMBERS, *of_kind(known, "number")]
    shape = draw(st.sampled_from(["leaf", "leaf", "sum", "negative", "normal", "step", "ratio"] if depth else ["leaf"]))
    within = numbers(known, depth - 1) if depth else None
    if within is None or shape == "leaf":
        return draw(st.sampled_from(leaves))
    if shape == "sum":
        return f"({draw(within)} {draw(st.sampled_from('+-*'))} {draw(within)})"
    if shape == "ratio":
        return f"{draw(within)} / {draw(st.sampled_from(NUMBERS[1:]))}"
    if shape == "negative":
        return f"-{draw(within)}"
    if shape == "normal":
        return f"gaussian({draw(within)}, {draw(st.sampled_from(NUMBERS))})"
    return f"step({draw(st.sampled_from(CELLS))})"


@st.composite
def conditions(draw: st.DrawFn, known: Known, depth: int = 2) -> str:
    names = of_kind(known, "truth")
    shape = draw(st.sampled_from(["compare", "name", "join", "not"] if depth else ["compare", "name"]))
    if shape == "name" and names:
        return draw(st.sampled_from(names))
    if shape == "join":
        word = draw(st.sampled_from(["and", "or"]))
        return f"({draw(conditions(known, depth - 1))} {word} {draw(conditions(known, depth - 1))})"
    if shape == "not":
        return f"not ({draw(conditions(known, depth - 1))})"
    sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    return f"{draw(numbers(known, 1))} {sign} {draw(numbers(known, 1))}"


@st.composite
def blocks(draw: st.DrawFn, known: Known, indent: str, depth: int = 2) -> tuple[list[str], Known]:
    """Lines of statements, and what is set for sure behind them; a name's first letter tells its kind."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.sampled_from(["number", "truth", "pass", "if"] if depth else ["number", "truth"]))
        if shape == "if":
            lines.append(f"{indent}if {draw(conditions(known))}:")
            then, sure_then = draw(blocks(dict(known), indent + "    ", depth - 1))
            otherwise, sure_else = draw(blocks(dict(known), indent + "    ", depth - 1))
            with_else = draw(st.booleans())
            lines += [*then, f"{indent}else:", *otherwise] if with_else else then
            known |= {name: kind for name, kind in sure_then.items() if with_else and name in sure_else}
        elif shape == "pass":
            lines.append(f"{indent}pass")
        else:
            name = draw(st.sampled_from(["na", "nb", "nc"] if shape == "number" else ["ta", "tb"]))
            value = draw(numbers(known) if shape == "number" else conditions(known))
            lines.append(f"{indent}{name} = {value}")
            known[name] = "number" if shape == "number" else "truth"
    return lines, known


@st.composite
def programs(draw: st.DrawFn) -> str:
    population, known = draw(blocks({}, "    "))
    decision, known_then = draw(blocks(dict(known), "    "))
    if draw(st.booleans()):
        population.append(f"    sensitiveAttribute({draw(conditions(known))})")
    if draw(st.booleans()):
        decision += [f"    return {draw(numbers(known_then))}", f"    fairnessTarget({draw(conditions(known_then))})"]
    functions = ["\n".join(["def popModel():", *population]), "\n".join(["def F():", *decision])]
    return "\n\n".join(draw(st.permutations(functions))) + "\n"


# ---------------------------------------------------------------------------- programs gone wrong

WORDS = (
    *("lambda", "return", "if", "else:", "elif", "+=", "**", "==", "=", ":", "(", ")", "[", "'", '"', "\\", "#", "\t"),
    *("0", "1e999", "qualified", "minority", "gaussian", "step", "True", "None", "é", "\0", "\ud800", "x", ":=", "\n"),
)


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A program in which a few tokens or lines were deleted, doubled, swapped or replaced."""
    text = draw(programs())
    for _ in range(draw(st.integers(1, 4))):
        by_line = draw(st.booleans())
        parts = text.split("\n") if by_line else re.findall(r"\w+|\s+|.", text, re.DOTALL)
        first = draw(st.integers(0, len(parts) - 1))
        second = draw(st.integers(0, len(parts) - 1))
        match draw(st.sampled_from(["delete", "double", "swap", "replace"])):
            case "delete":
                parts[first : first + 1] = []
            case "double":
                parts[first:first] = [parts[first]]
            case "swap":
                parts[first], parts[second] = parts[second], parts[first]
            case _:
                parts[first] = draw(st.sampled_from(WORDS))
        text = ("\n" if by_line else "").join(parts) or "\n"
    return text


def check_error(error: SpecError) -> None:
    """An error has a place within its text, and can be printed."""
    assert error.place is not None
    assert 0 <= error.place.start <= error.place.end <= len(error.place.text)
    assert str(error).encode()


def outcome(text: str) -> FairSquareProgram | None:
    """The program that a text is; ``None`` where it is refused."""
    try:
        return read_program(text)
    except SpecError as error:
        check_error(error)
        return None


# ---------------------------------------------------------------------------- an oracle: Python itself


class _Stubs(ast.NodeTransformer):
    """Calls get names that no variable has, because a variable may be called like a mark."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        node.func.id = f"_call_{node.func.id}"
        return node


def run_in_python(program: FairSquareProgram, seed: int) -> dict[str, Any]:
    """Run an accepted program's text as Python does, with draws that are often 0 and otherwise large."""
    rng = random.Random(seed)
    tree = ast.parse(program.text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    nodes = [*functions["popModel"].body, *functions["F"].body]
    module = ast.Module([_Stubs().visit(node) for node in nodes if not isinstance(node, ast.Return)], [])
    values: dict[str, Any] = {f"_call_{mark}": lambda *_: None for mark in MARKS}
    values |= {f"_call_{draw}": lambda *_: rng.choice([0, 1, -1000, 1000]) for draw in ("gaussian", "step")}
    exec(compile(ast.fix_missing_locations(module), "program", "exec"), values)
    return {name: value for name, value in values.items() if not name.startswith("_")}


def check_against_python(program: FairSquareProgram) -> None:
    """What is accepted runs, sets every column, and sets it to its kind."""
    for seed in range(6):
        try:
            values = run_in_python(program, seed)
        except (ZeroDivisionError, OverflowError):
            continue
        for name, kind in program.kinds.items():
            if name in values:
                assert isinstance(values[name], bool) == (kind == "truth")
            else:
                assert name in MARKS.values()


def check_sites(statements: tuple[Statement, ...], met: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """No two draws that one run can meet share a site; gives the sites met on the longer of the ways."""
    for statement in statements:
        match statement:
            case Assign(_, value):
                met = [*met, *(draw.site for draw in draws_of(value))]
            case If(condition, then, otherwise):
                met = [*met, *(draw.site for draw in draws_of(condition))]
                ways = [check_sites(then, met), check_sites(otherwise, met)]
                met = list(dict.fromkeys([*ways[0], *ways[1]]))
        assert len(set(met)) == len(met)
    return met


# ---------------------------------------------------------------------------- the claims


@SETTINGS
@given(programs())
def test_every_program_of_the_language_is_read_and_does_what_python_does(text: str) -> None:
    program = read_program(text)
    check_against_python(program)
    check_sites(program.statements, [])


@SETTINGS
@given(mutants())
def test_a_mutilated_program_is_refused_or_still_runs(text: str) -> None:
    program = outcome(text)
    if program is not None:
        check_against_python(program)
        check_sites(program.statements, [])


@SETTINGS
@given(st.text())
@example("\ufeff")
@example("\r\r\n")
@example("def F(): x = '\ud800\0'")
@example("\x0c\x0cdef F():\x0c pass")
def test_any_text_is_a_program_or_a_spec_error(text: str) -> None:
    outcome(text)
    outcome(f"def popModel():\n    x = {text}\ndef F(): pass\n")


@SETTINGS
@given(st.binary(max_size=60))
def test_any_bytes_that_were_taken_for_text_are_refused_or_read(content: bytes) -> None:
    outcome(content.decode("latin-1"))
    outcome(content.decode("utf-8", errors="surrogateescape"))


@SETTINGS
@given(st.lists(st.sampled_from([*WORDS, "def popModel():", "def F():", "\n    ", " ", "x = ", "1", ","]), max_size=30))
def test_any_words_of_the_language_are_a_program_or_a_spec_error(words: list[str]) -> None:
    outcome("".join(words))


@SETTINGS
@given(st.one_of(st.text(), numbers({"a": "number"}), conditions({"a": "number", "b": "truth"}), mutants()))
def test_any_text_is_an_equation_or_a_spec_error(text: str) -> None:
    try:
        expression, kind = read_equation(text, "y", {"a": "number", "b": "truth", "c": "text", "d": None})
    except SpecError as error:
        check_error(error)
    else:
        assert kind in ("number", "truth", "text")
        assert all(draw.site[0] == "y" for draw in draws_of(expression))

"""A transpiler of small programs with planted faults: the system under test of specifications that ask no model.

A program is a text of four kinds of lines, in one of two languages. ``alpha`` says ``repeat 3: a += 2`` and
``when a > 4: b += 1``; ``beta`` says ``for 3 do a += 2`` and ``if a > 4 do b += 1``. The first line has the parameters,
the last one what is returned.

The faults: ``beta`` has a reserved word, ``end``, which is not renamed; ``>=`` becomes ``>``; a loop of no rounds is
left out; and a program with more than three parameters is given up, with nothing as the result.
"""

from __future__ import annotations

import operator
import random
import re
from itertools import product
from typing import NamedTuple

LOOPS = {"alpha": r"repeat (\d+): (\w+) \+= (-?\d+)", "beta": r"for (\d+) do (\w+) \+= (-?\d+)"}
BRANCHES = {
    "alpha": r"when (\w+) (>=|>|<) (-?\d+): (\w+) \+= (-?\d+)",
    "beta": r"if (\w+) (>=|>|<) (-?\d+) do (\w+) \+= (-?\d+)",
}
SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt}
RESERVED = {"alpha": set(), "beta": {"end"}}
ARGUMENTS = (0, 3, 7)


class Loop(NamedTuple):
    times: int
    name: str
    by: int


class Branch(NamedTuple):
    left: str
    sign: str
    right: int
    name: str
    by: int


class SmallProgram(NamedTuple):
    """A program without its language. Its ``repr`` is what is shown of it."""

    parameters: tuple[str, ...]
    lines: tuple[Loop | Branch, ...]
    result: str

    def text(self, language: str) -> str:
        alpha = language == "alpha"
        lines = [f"program {' '.join(self.parameters)}"]
        for line in self.lines:
            if isinstance(line, Loop):
                head = f"repeat {line.times}:" if alpha else f"for {line.times} do"
            else:
                head = f"{'when' if alpha else 'if'} {line.left} {line.sign} {line.right}{':' if alpha else ' do'}"
            lines.append(f"{head} {line.name} += {line.by}")
        return "\n".join([*lines, f"return {self.result}"])


def parsed(text: str | None, language: str) -> SmallProgram | None:
    """The program that a text is; ``None`` where it is none of this language."""
    if text is None:
        return None
    first, *body, last = text.split("\n")
    parameters = tuple(first.split()[1:])
    lines: list[Loop | Branch] = []
    for line in body:
        loop, branch = re.fullmatch(LOOPS[language], line), re.fullmatch(BRANCHES[language], line)
        if loop is not None:
            lines.append(Loop(int(loop[1]), loop[2], int(loop[3])))
        elif branch is not None:
            lines.append(Branch(branch[1], branch[2], int(branch[3]), branch[4], int(branch[5])))
        else:
            return None
    names = {line.name for line in lines} | {line.left for line in lines if isinstance(line, Branch)}
    names.add(last.removeprefix("return "))
    if first.split()[0] != "program" or not names <= set(parameters) or RESERVED[language] & set(parameters):
        return None
    return SmallProgram(parameters, tuple(lines), last.removeprefix("return "))


# ------------------------------------------------------------------------------------------ what a specification calls


def transpile(text: str, source: str, target: str) -> str | None:
    """The same program in another language, or nearly so."""
    program = parsed(text, source)
    if program is None or len(program.parameters) > 3:
        return None
    lines = tuple(
        line._replace(sign=">") if isinstance(line, Branch) and line.sign == ">=" else line
        for line in program.lines
        if not (isinstance(line, Loop) and line.times == 0)
    )
    return program._replace(lines=lines).text(target)


def compiles(text: str | None, language: str) -> bool:
    return parsed(text, language) is not None


def arity(text: str | None, language: str) -> int | None:
    program = parsed(text, language)
    return None if program is None else len(program.parameters)


def loops(text: str | None, language: str) -> int:
    program = parsed(text, language)
    return 0 if program is None else sum(isinstance(line, Loop) for line in program.lines)


def branches(text: str | None, language: str) -> int:
    program = parsed(text, language)
    return 0 if program is None else sum(isinstance(line, Branch) for line in program.lines)


def results(text: str | None, language: str) -> list[int] | None:
    """What the program returns for some arguments."""
    program = parsed(text, language)
    if program is None:
        return None
    return [_result(program, given) for given in product(ARGUMENTS, repeat=min(len(program.parameters), 3))]


def _result(program: SmallProgram, given: tuple[int, ...]) -> int:
    values = dict.fromkeys(program.parameters, 1) | dict(zip(program.parameters, given, strict=False))
    for line in program.lines:
        if isinstance(line, Loop):
            values[line.name] += line.times * line.by
        elif SIGNS[line.sign](values[line.left], line.right):
            values[line.name] += line.by
    return values[program.result]


def add_parameter(text: str, language: str) -> str:
    program = _known(text, language)
    return program._replace(parameters=(*program.parameters, f"q{len(program.parameters)}")).text(language)


def rename_parameter(text: str, language: str) -> str:
    """The first parameter is called ``end`` afterwards, which is a reserved word elsewhere."""
    program = _known(text, language)
    old = program.parameters[0]
    return re.sub(rf"\b{old}\b", "end", program.text(language))


def add_loop(text: str, language: str) -> str:
    program = _known(text, language)
    return program._replace(lines=(Loop(len(program.lines) % 2, program.result, 1), *program.lines)).text(language)


def remove_loop(text: str, language: str) -> str | None:
    """Without its first loop; nothing where it has none."""
    program = _known(text, language)
    place = next((place for place, line in enumerate(program.lines) if isinstance(line, Loop)), None)
    if place is None:
        return None
    return program._replace(lines=program.lines[:place] + program.lines[place + 1 :]).text(language)


def change_condition(text: str, language: str) -> str | None:
    """With another condition in its first branch; nothing where it has none."""
    program = _known(text, language)
    place = next((place for place, line in enumerate(program.lines) if isinstance(line, Branch)), None)
    if place is None:
        return None
    line = program.lines[place]
    assert isinstance(line, Branch)
    new = line._replace(right=line.right + 1)
    return program._replace(lines=(*program.lines[:place], new, *program.lines[place + 1 :])).text(language)


def merge(one: str, other: str) -> str:
    """Both, one behind the other, with the parameters of both under new names."""
    left, right = (_renamed(_known(text, "alpha"), mark) for text, mark in ((one, "l"), (other, "r")))
    return SmallProgram(left.parameters + right.parameters, left.lines + right.lines, left.result).text("alpha")


def _renamed(program: SmallProgram, mark: str) -> SmallProgram:
    text = program.text("alpha")
    for name in program.parameters:
        text = re.sub(rf"\b{name}\b", f"{mark}{name}", text)
    return _known(text, "alpha")


def _known(text: str, language: str) -> SmallProgram:
    program = parsed(text, language)
    assert program is not None
    return program


FUNCTIONS = {
    function.__name__: function
    for function in (
        transpile, compiles, arity, loops, branches, results, add_parameter, rename_parameter, add_loop, remove_loop,
        change_condition, merge,
    )
}  # fmt: skip


def programs(n: int, seed: int = 0) -> list[str]:
    """Different small programs in ``alpha``."""
    rng, texts = random.Random(seed), {}
    while len(texts) < n:
        parameters = tuple(rng.sample("abcdz", rng.randint(1, 4)))
        lines: list[Loop | Branch] = []
        for _ in range(rng.randint(0, 3)):
            name, left = rng.choice(parameters), rng.choice(parameters)
            if rng.random() < 0.5:
                lines.append(Loop(rng.randint(0, 3), name, rng.randint(1, 3)))
            else:
                lines.append(Branch(left, rng.choice(list(SIGNS)), rng.randint(0, 7), name, rng.randint(1, 3)))
        texts[SmallProgram(parameters, tuple(lines), rng.choice(parameters)).text("alpha")] = None
    return list(texts)

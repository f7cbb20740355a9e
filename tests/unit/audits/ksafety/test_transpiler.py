"""Specifications of a transpiler, which ask no model and use ``null``: their counts are those of a plain loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest
from small_transpiler import (
    FUNCTIONS,
    add_loop,
    add_parameter,
    arity,
    branches,
    change_condition,
    compiles,
    loops,
    merge,
    programs,
    remove_loop,
    rename_parameter,
    results,
    transpile,
)

import isonomia as iso

PROGRAMS = programs(60)
CHANGES = {
    "add_parameter": add_parameter,
    "rename_parameter": rename_parameter,
    "add_loop": add_loop,
    "remove_loop": remove_loop,
    "change_condition": change_condition,
}


def beta(text: str | None) -> str | None:
    return None if text is None else transpile(text, "alpha", "beta")


class Run(NamedTuple):
    """Programs and what became of them, each with what can be said of it."""

    x: tuple[str, ...]
    d: tuple[str | None, ...]

    @classmethod
    def of(cls, *texts: str) -> Run:
        return cls(texts, tuple(map(beta, texts)))

    def before(self, function: Callable[[str | None, str], Any], number: int = 0) -> Any:
        return function(self.x[number], "alpha")

    def after(self, function: Callable[[str | None, str], Any], number: int = 0) -> Any:
        return function(self.d[number], "beta")

    def kept(self, function: Callable[[str | None, str], Any], number: int = 0) -> bool:
        return bool(self.before(function, number) == self.after(function, number))

    def alike(self, function: Callable[[str | None, str], Any]) -> bool:
        return bool(self.after(function, 0) == self.after(function, 1))


ALONE: dict[str, Callable[[Run], bool]] = {
    'compiles(x1, "alpha") == compiles(d1, "beta")': lambda run: run.kept(compiles),
    'arity(x1, "alpha") == arity(d1, "beta")': lambda run: run.kept(arity),
    'loops(x1, "alpha") == loops(d1, "beta")': lambda run: run.kept(loops),
    'branches(x1, "alpha") == branches(d1, "beta")': lambda run: run.kept(branches),
    'compiles(d1, "beta") ==> results(x1, "alpha") == results(d1, "beta")': lambda run: (
        not run.after(compiles) or run.kept(results)
    ),
    "d1 != null": lambda run: run.d[0] is not None,
}
PAIRS: dict[str, Callable[[Run], bool]] = {
    'compiles(d1, "beta") == compiles(d2, "beta")': lambda run: run.alike(compiles),
    'arity(d1, "beta") == arity(d2, "beta")': lambda run: run.alike(arity),
    'loops(d1, "beta") < loops(d2, "beta")': lambda run: run.after(loops, 0) < run.after(loops, 1),
    'loops(d1, "beta") > loops(d2, "beta")': lambda run: run.after(loops, 0) > run.after(loops, 1),
    'branches(d1, "beta") == branches(d2, "beta")': lambda run: run.alike(branches),
    'compiles(d1, "beta") && compiles(d2, "beta") ==> results(d1, "beta") == results(d2, "beta")': lambda run: (
        not (run.after(compiles, 0) and run.after(compiles, 1)) or run.alike(results)
    ),
    'compiles(d1, "beta") ==> (!(results(x2, "alpha") == results(d2, "beta")) || results(x1, "alpha") == '
    'results(d1, "beta"))': lambda run: not run.after(compiles) or not run.kept(results, 1) or run.kept(results, 0),
    "d1 == d2": lambda run: run.d[0] == run.d[1],
}
TRIPLES: dict[str, Callable[[Run], bool]] = {
    'compiles(d1, "beta") && compiles(d2, "beta") ==> compiles(d3, "beta")': lambda run: (
        not (run.after(compiles, 0) and run.after(compiles, 1)) or run.after(compiles, 2)
    ),
    'loops(d3, "beta") == loops(d1, "beta") + loops(d2, "beta")': lambda run: (
        run.after(loops, 2) == run.after(loops, 0) + run.after(loops, 1)
    ),
}


def specified(claim: str, inputs: int, made: str = "", requires: str = "", runs: int = 1) -> str:
    lines = ["import transpiler;", *(f"input x{number};" for number in range(1, inputs + 1))]
    lines += [made] if made else []
    lines += [requires] if requires else []
    lines += [f"output d{number};" for number in range(1, runs + 1)]
    calls = [f'd{number} = transpiler.transpile(x{number}, "alpha", "beta")' for number in range(1, runs + 1)]
    return "\n".join([*lines, "{", *calls, "}", f"ensures {claim};", ""])


def check(text: str, inputs: Any = None, **options: Any) -> iso.Verdict:
    domains = {"transpiler": {"inputs": PROGRAMS if inputs is None else inputs, "functions": FUNCTIONS}}
    return iso.check(iso.safety.property(text, domains=domains, **options), seed=1)


def counts(verdict: iso.Verdict) -> tuple[int, int]:
    return verdict.details["cases"]["tested"], verdict.details["violations"]["cases"]


@pytest.mark.parametrize("claim", ALONE)
def test_one_program(claim: str) -> None:
    verdict = check(specified(claim, 1))
    broken = [number for number, text in enumerate(PROGRAMS) if not ALONE[claim](Run.of(text))]
    assert counts(verdict) == (60, len(broken))
    assert sorted(item["rows"]["x1"] for item in verdict.violations()) == broken
    assert (verdict.answer, verdict.details["k"]) == ("violated" if broken else "holds", 1)


@pytest.mark.parametrize(("claim", "change"), list(product(PAIRS, CHANGES)))
def test_a_program_and_its_change(claim: str, change: str) -> None:
    requires = 'requires compiles(x1, "alpha") && x2 != null;'
    verdict = check(specified(claim, 1, f'var x2 := {change}(x1, "alpha");', requires, 2))
    changed = [(text, CHANGES[change](text, "alpha")) for text in PROGRAMS]
    tested = [(x, y) for x, y in changed if y is not None]
    broken = sum(not PAIRS[claim](Run.of(x, y)) for x, y in tested)
    assert counts(verdict) == (len(tested), broken)
    assert verdict.details["k"] == 2
    json.dumps(verdict.to_dict(), allow_nan=False)


@pytest.mark.parametrize("claim", TRIPLES)
def test_two_programs_and_both_together(claim: str) -> None:
    some = PROGRAMS[:12]
    verdict = check(specified(claim, 2, "var x3 := merge(x1, x2);", "", 3), some)
    broken = sum(not TRIPLES[claim](Run.of(x, y, merge(x, y))) for x, y in product(some, some))
    assert counts(verdict) == (144, broken)


def test_a_null_that_is_used_without_asking_is_a_failed_case_with_its_line() -> None:
    text = specified("d1 == 1", 1, 'var x2 := remove_loop(x1, "alpha");', "", 1)
    text = text.replace('d1 = transpiler.transpile(x1, "alpha", "beta")', "d1 = predict(x2)")
    domains = {"transpiler": {"inputs": PROGRAMS, "functions": FUNCTIONS}}
    verdict = iso.check(iso.safety.property(text, domains=domains), lambda texts: [1] * len(texts), seed=1)
    lacking = sum(remove_loop(program, "alpha") is None for program in PROGRAMS)
    assert verdict.details["failures"] == {"predict(...) needs a record, but it is null here (line 6)": lacking}
    assert (verdict.answer, verdict.details["cases"]["failed"]) == ("undecided", lacking)


def test_a_function_is_given_null_as_nothing() -> None:
    text = specified(
        "v1 == 0", 1, 'var x2 := remove_loop(x1, "alpha"); var v1 := loops(x2, "alpha");', "requires x2 == null;"
    )
    assert check(text).answer == "holds"

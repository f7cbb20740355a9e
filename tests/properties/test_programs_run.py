"""A program run on whole columns does what it does for one person at a time, given the same noise.

The oracle goes through the tree for a single person, statement by statement, with plain numbers. The noise is the one
that the whole-column run has kept, by site. Equality is exact: not a bit may differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from one_person import ImpossibleError, Person, one_by_one

from isonomia.errors import DataError, SpecError
from isonomia.populations.worlds.compile import compile_block
from isonomia.populations.worlds.run import PathFrame, StoredNoise, WorldRun
from isonomia.populations.worlds.world import World, check_version
from isonomia.spec.fairsquare import read_program
from isonomia.spec.fairsquare.tree import If, draws_of
from isonomia.spec.tree import AsIf, Do, Literal, Setting

SETTINGS = settings(
    max_examples=120, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
ROWS = 23

# ---------------------------------------------------------------------------- programs

NUMBERS = ("0", "1", "2.5", "0.25", "17")
CELLS = ("[(0, 1, 1)]", "[(0,1,0.25), (1,2,0.75)]", "[(2, 3, 0.5), (-1.5, 0, 0.5)]", "[(0,1,0.5), (1,2,0), (2,3,0.5)]")


@st.composite
def numbers(draw: st.DrawFn, known: dict[str, str], depth: int = 2) -> str:
    leaves = [*NUMBERS, *sorted(name for name in known if known[name] == "number") * 2]
    shape = draw(st.sampled_from(["leaf", "sum", "sum", "ratio", "normal", "normal", "step"])) if depth else "leaf"
    if shape == "leaf":
        return draw(st.sampled_from(leaves))
    within = numbers(known, depth - 1)
    if shape == "sum":
        return f"({draw(within)} {draw(st.sampled_from('+-*'))} -{draw(within)})"
    if shape == "ratio":
        return f"({draw(within)} / {draw(st.sampled_from([*NUMBERS[1:] * 4, *leaves[1:]]))})"
    if shape == "normal":
        variance = draw(st.sampled_from([*NUMBERS * 3, *leaves]))
        return f"gaussian({draw(within)}, {variance})"
    return f"step({draw(st.sampled_from(CELLS))})"


@st.composite
def conditions(draw: st.DrawFn, known: dict[str, str], depth: int = 2) -> str:
    names = sorted(name for name in known if known[name] == "truth")
    shape = draw(st.sampled_from(["compare", "compare", "chain", "name", "join", "not"])) if depth else "compare"
    if shape == "name" and names:
        return draw(st.sampled_from([*names, "True"]))
    if shape == "join":
        word = draw(st.sampled_from(["and", "or"]))
        return f"({draw(conditions(known, depth - 1))} {word} {draw(conditions(known, depth - 1))})"
    if shape == "not":
        return f"not ({draw(conditions(known, depth - 1))})"
    signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    end = f" {draw(signs)} {draw(numbers(known, 0))}" if shape == "chain" else ""
    return f"{draw(numbers(known, 1))} {draw(signs)} {draw(numbers(known, 1))}{end}"


@st.composite
def blocks(draw: st.DrawFn, known: dict[str, str], indent: str, depth: int = 2) -> tuple[list[str], dict[str, str]]:
    """Lines, and what is set for sure behind them."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.sampled_from(["number", "number", "truth", "if"] if depth else ["number", "truth"]))
        if shape == "if":
            lines.append(f"{indent}if {draw(conditions(known))}:")
            then, sure_then = draw(blocks(dict(known), indent + "    ", depth - 1))
            otherwise, sure_else = draw(blocks(dict(known), indent + "    ", depth - 1))
            both = draw(st.sampled_from([True, True, False]))
            lines += [*then, f"{indent}else:", *otherwise] if both else then
            known |= {name: kind for name, kind in sure_then.items() if both and name in sure_else}
        else:
            name = draw(st.sampled_from(["na", "nb", "nc", "nd"] if shape == "number" else ["ta", "tb"]))
            lines.append(f"{indent}{name} = {draw(numbers(known) if shape == 'number' else conditions(known))}")
            known[name] = shape
    return lines, known


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, dict[str, str]]:
    population, known = draw(blocks({}, "    "))
    decision, known = draw(blocks(known, "    "))
    population.append("    sensitiveAttribute(True)") if draw(st.booleans()) else None
    text = "\n".join(["def popModel():", *population, "def F():", *decision, ""])
    program = read_program(text)
    assume(program.kinds)
    return World(program.statements, tuple(program.kinds)), dict(program.kinds)


# ---------------------------------------------------------------------------- whole columns


def in_columns(world: World, kept: StoredNoise, wanted: set[str], fixed: dict[str, Any]) -> dict[str, Any]:
    frame = PathFrame(kept.rows, WorldRun(kept.rows, kept.rng, kept), dict(fixed))
    with np.errstate(all="ignore"):
        compile_block(world.statements, frozenset(wanted), frozenset(fixed)).run(frame)
    return {name: np.broadcast_to(frame.read(name), (kept.rows,)) for name in wanted}


def same(column: Any, people: list[dict[str, Any]], name: str) -> bool:
    return np.array_equal(column, np.asarray([person[name] for person in people]), equal_nan=column.dtype.kind == "f")


def settings_for(kinds: dict[str, str], draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    return {
        name: draw(st.booleans()) if kinds[name] == "truth" else draw(st.sampled_from([0.0, 1.0, -2.5]))
        for name in names
    }


# ---------------------------------------------------------------------------- the claims


@SETTINGS
@given(worlds(), st.data())
def test_columns_are_what_single_persons_come_to_with_the_same_noise(found: Any, data: st.DataObject) -> None:
    world, kinds = found
    kept = StoredNoise(ROWS, np.random.default_rng(data.draw(st.integers(0, 99))))
    names = data.draw(st.lists(st.sampled_from(sorted(kinds)), unique=True, max_size=2))
    fixed = settings_for(kinds, data.draw, names)
    try:
        people = one_by_one(world, kept, [fixed] * ROWS)
    except ImpossibleError:
        # What nobody wants is not computed, so a division by 0 there does no harm.
        assume(False)
    columns = in_columns(world, kept, set(kinds), fixed)
    for name, column in columns.items():
        assert same(column, people, name), name
    some = set(data.draw(st.lists(st.sampled_from(sorted(kinds)), unique=True, min_size=1)))
    for name, column in in_columns(world, kept, some, fixed).items():
        assert same(column, people, name), name


@SETTINGS
@given(worlds())
def test_what_fails_in_columns_fails_for_somebody(found: Any) -> None:
    world, kinds = found
    kept = StoredNoise(ROWS, np.random.default_rng(5))
    try:
        in_columns(world, kept, set(kinds), {})
    except DataError:
        failed = False
        for row in range(ROWS):
            try:
                Person(kept, row, {}).run(world.statements)
            except ImpossibleError:
                failed = True
        assert failed


@SETTINGS
@given(worlds(), st.data())
def test_an_intervention_reruns_each_person_with_their_noise(found: Any, data: st.DataObject) -> None:
    world, kinds = found
    kept = StoredNoise(ROWS, np.random.default_rng(7))
    names = data.draw(st.lists(st.sampled_from(sorted(kinds)), unique=True, min_size=1, max_size=2))
    fixed = settings_for(kinds, data.draw, names)
    version = Do(tuple(Setting(name, Literal(value)) for name, value in fixed.items()))
    try:
        actual = one_by_one(world, kept, [{}] * ROWS)
        changed = one_by_one(world, kept, [fixed] * ROWS)
    except ImpossibleError:
        assume(False)
    columns = {name: np.asarray([person[name] for person in actual]) for name in kinds}
    for name, column in world.rerun(kept, columns, version, tuple(kinds)).items():
        assert same(column, changed, name), name


def noise_bearing(statements: tuple[Any, ...], by_chance: bool = False) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, If):
            chance = by_chance or bool(draws_of(statement.condition))
            found |= noise_bearing(statement.then, chance) | noise_bearing(statement.otherwise, chance)
        elif by_chance or draws_of(statement.value):
            found.add(statement.target)
    return found


@SETTINGS
@given(worlds(), st.data())
def test_a_mediator_is_what_it_would_have_been_with_all_other_noise_bearing_variables_as_they_are(
    found: Any, data: st.DataObject
) -> None:
    world, kinds = found
    assume(len(kinds) >= 3)
    kept = StoredNoise(ROWS, np.random.default_rng(11))
    mediator, changed, also = data.draw(st.permutations(sorted(kinds)))[:3]
    as_if = settings_for(kinds, data.draw, [changed])
    fixed = settings_for(kinds, data.draw, [also]) if data.draw(st.booleans()) else {}
    items = [AsIf(mediator, (Setting(changed, Literal(as_if[changed])),))]
    version = Do((*items, *(Setting(name, Literal(value)) for name, value in fixed.items())))
    try:
        check_version(world, version)
        actual, before = (one_by_one(world, kept, [given] * ROWS) for given in ({}, fixed))
        held = noise_bearing(world.statements) - {mediator, changed}
        inside = [{**{n: p[n] for n in held if n in p}, **as_if} for p in before]
        values = [{**fixed, mediator: p[mediator]} for p in one_by_one(world, kept, inside)]
        expected = one_by_one(world, kept, values)
    except (ImpossibleError, SpecError):
        assume(False)
    columns = {name: np.asarray([person[name] for person in actual]) for name in kinds}
    for name, column in world.rerun(kept, columns, version, tuple(kinds)).items():
        assert same(column, expected, name), name


@SETTINGS
@given(worlds())
def test_drawn_people_under_an_intervention_that_changes_nothing_are_the_people(found: Any) -> None:
    world, kinds = found
    try:
        drawn = world.draw(ROWS, np.random.default_rng(3), tuple(kinds), {Do(()): tuple(kinds)})
    except DataError:
        assume(False)
    for name, column in drawn.versions[Do(())].items():
        assert np.array_equal(column, drawn.columns[name], equal_nan=column.dtype.kind == "f")

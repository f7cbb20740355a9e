"""Causal equations with choices and texts: run in columns, undone, and run again.

The oracle is one person at a time. Undoing the equations must lead back to every value bit by bit, and to the same
counterfactuals as the noise that was drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from one_person import one_by_one

from isonomia.errors import DataError
from isonomia.populations.causal import Causal
from isonomia.populations.worlds.abduction import abduct
from isonomia.populations.worlds.run import StoredNoise
from isonomia.spec.tree import Do, Literal, Setting

SETTINGS = settings(
    max_examples=120, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
ROWS = 29
CELLS = ("[(0, 1, 1)]", "[(0,1,0.25), (1,2,0.75)]", "[(2, 3, 0.5), (-1.5, 0, 0.5)]")


def names_of(known: dict[str, str], kind: str) -> list[str]:
    return [name for name, its in known.items() if its == kind]


@st.composite
def conditions(draw: st.DrawFn, known: dict[str, str]) -> str:
    texts, numbers = names_of(known, "text"), names_of(known, "number")
    if texts and draw(st.booleans()):
        return f"{draw(st.sampled_from(texts))} {draw(st.sampled_from(['==', '!=']))} 'u'"
    left = draw(st.sampled_from([*numbers, "1"]))
    return f"{left} {draw(st.sampled_from(['<', '>=', '!=']))} {draw(st.sampled_from(['0', '1', *numbers]))}"


@st.composite
def plain(draw: st.DrawFn, known: dict[str, str], depth: int = 1) -> str:
    """A number without a draw."""
    leaf = draw(st.sampled_from(["1", "2.5", "0.5", *names_of(known, "number")]))
    if not depth or draw(st.booleans()):
        return leaf
    if draw(st.booleans()):
        return f"({leaf} if {draw(conditions(known))} else {draw(plain(known, 0))})"
    return f"({leaf} {draw(st.sampled_from('+-*'))} {draw(plain(known, 0))})"


@st.composite
def drawn(draw: st.DrawFn, known: dict[str, str], depth: int = 2) -> str:
    """A number with one draw, or one in each arm of a choice."""
    shape = draw(st.sampled_from(["normal", "step", "left", "right", "negative", "choice"][: 6 if depth else 2]))
    match shape:
        case "normal":
            return f"gaussian({draw(plain(known))}, {draw(st.sampled_from(['1', '4', '0.25']))})"
        case "step":
            return f"step({draw(st.sampled_from(CELLS))})"
        case "left":
            return f"({draw(drawn(known, depth - 1))} {draw(st.sampled_from('+-*'))} {draw(plain(known))})"
        case "right":
            return f"({draw(plain(known))} {draw(st.sampled_from('+-*'))} {draw(drawn(known, depth - 1))})"
        case "negative":
            return f"-{draw(drawn(known, depth - 1))}"
        case _:
            arms = draw(drawn(known, depth - 1)), draw(st.one_of(drawn(known, depth - 1), plain(known)))
            return f"({arms[0]} if {draw(conditions(known))} else {arms[1]})"


@st.composite
def models(draw: st.DrawFn) -> tuple[Causal, dict[str, str]]:
    known: dict[str, str] = {}
    equations = {}
    for name in ("a", "b", "c", "d"):
        kind = draw(st.sampled_from(["drawn", "drawn", "plain", "text"] if known else ["drawn"]))
        equations[name] = draw(
            drawn(known)
            if kind == "drawn"
            else plain(known)
            if kind == "plain"
            else conditions(known).map(lambda text: f"'u' if {text} else 'v'")
        )
        known[name] = "text" if kind == "text" else "number"
    return Causal(equations), known


def run(model: Causal, kept: StoredNoise, fixed: dict[str, Any]) -> dict[str, Any]:
    changes = Do(tuple(Setting(name, Literal(value)) for name, value in fixed.items()))
    return model.world.rerun(kept, {}, changes, model.names)


def change(known: dict[str, str], draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(known)))
    values = st.sampled_from(["u", "v"]) if known[name] == "text" else st.sampled_from([0.0, 1.5, -2.0])
    return {name: draw(values)}


@SETTINGS
@given(models(), st.data())
def test_columns_are_what_single_persons_come_to(found: Any, data: st.DataObject) -> None:
    model, known = found
    kept = StoredNoise(ROWS, np.random.default_rng(1))
    fixed = data.draw(st.one_of(st.just({}), st.builds(lambda: change(known, data.draw))))
    people = one_by_one(model.world, kept, [fixed] * ROWS)
    for name, column in run(model, kept, fixed).items():
        assert column.tolist() == [person[name] for person in people], name


@SETTINGS
@given(models(), st.data())
def test_undoing_the_equations_leads_back_to_every_bit_and_to_the_same_counterfactuals(
    found: Any, data: st.DataObject
) -> None:
    model, known = found
    assert model.cannot_be_undone == {}
    kept = StoredNoise(ROWS, np.random.default_rng(2))
    people = run(model, kept, {})
    fixed = change(known, data.draw)
    expected = run(model, kept, fixed)
    try:
        undone = abduct(model.world, people, ROWS)
    except DataError as error:
        # A draw that counts 0 times does not show.
        assume("does not show" not in str(error))
        raise
    for name, column in run(model, undone, {}).items():
        assert np.array_equal(column, people[name]), name
    try:
        again = run(model, undone, fixed)
    except DataError as error:
        assume("tell nothing about" not in str(error))
        raise
    for name, column in again.items():
        if known[name] == "text":
            assert np.mean(column == expected[name]) == 1.0, name
        else:
            np.testing.assert_allclose(column, expected[name], rtol=1e-6, atol=1e-6, err_msg=name)

"""A specification written out reads back the same; whatever else is read is refused in words, never by a crash."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from isonomia.errors import SpecError
from isonomia.spec.nomos import parse_nomos, spec_text
from isonomia.spec.nomos.tree import (
    Binary,
    Ensures,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    PythonBlock,
    Requires,
    ScalarLiteral,
    Spec,
    Unary,
    Update,
    Var,
)

NAMES = st.sampled_from(["x1", "v1"])
FEATURES = st.text(string.ascii_letters + "_", min_size=1, max_size=6).filter(
    lambda name: (
        name
        not in {"import", "input", "output", "var", "requires", "ensures", "true", "false", "null", "in", "of", "cases"}
    )
)
CONSTANTS = st.builds(
    ScalarLiteral,
    st.none() | st.booleans() | st.integers(0, 10**9) | st.floats(0, 1e12, allow_nan=False) | st.text(max_size=8),
)
BINARY = ["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "==>"]


def _grow(part: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return (
        st.builds(Binary, st.sampled_from(BINARY), part, part)
        | st.builds(Unary, st.just("!"), part)
        | st.builds(Unary, st.just("-"), st.builds(Name, NAMES))
        | st.builds(FeatureRead, part, FEATURES)
        | st.builds(Update, part, FEATURES, part)
        | st.builds(FunctionCall, FEATURES, st.lists(part, max_size=3).map(tuple), st.none() | st.just("compas"))
    )


EXPRESSIONS: st.SearchStrategy[Any] = st.recursive(CONSTANTS | st.builds(Name, NAMES), _grow, max_leaves=12)
RATES = st.none() | st.floats(0.001, 1.0)
NOISE = st.none() | st.floats(0.0, 0.999)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, RATES, NOISE)
def test_what_is_written_reads_back_the_same(
    value: Any, required: Any, ensured: Any, rate: float | None, noise: float | None
) -> None:
    spec = Spec(
        ("compas",),
        ("x1", "v1"),
        (Var("w", value), Requires(required)),
        ("d1",),
        PythonBlock("d1 = predict(x1)"),
        (),
        (Ensures(ensured, None, noise) if noise is not None else Ensures(ensured, rate),),
    )
    assert parse_nomos(spec_text(spec)) == spec


GOOD = """import compas;
input x1;
var v1 := getFeat(x1, 1) + randInt(1, 10); // more
var x2 := x1[f1 := v1][priors := "a"];
requires v1 <= 20 && !(x1.f2 == null);
output d1;
{
    d1 = compas.predict(x2) # {
}
/* all */ ensures d1 == 1 ==> v1 != 2 in 99% of cases;
"""
PIECES = [*GOOD.split(), "{", "}", "==>", ":=", ";", "(", ")", "[", "]", '"', "'", "/*", "*/", "\n", "%", "in", "0"]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join) | st.text(max_size=60))
@example("\0")
@example("\ud800")
@example("{" * 1000)
@example("input x1; output d1; { d1 = " + "(" * 300 + "1" + ")" * 300 + " } ensures d1 == 1;")
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    _read_or_refuse(text)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text(max_size=3) | st.sampled_from(PIECES))
def test_a_good_text_with_a_piece_changed_is_read_or_refused_in_words(start: int, cut: int, put: str) -> None:
    _read_or_refuse(GOOD[:start] + put + GOOD[start + cut :])


def _read_or_refuse(text: str) -> None:
    try:
        spec = parse_nomos(text)
    except SpecError:
        return
    assert parse_nomos(spec_text(spec)) == spec

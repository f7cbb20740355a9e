"""Whole batches give what one case at a time gives, and code gives what plain blocks give."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import isonomia as iso
from isonomia.audits.ksafety.cases import CaseRunner, Cases, all_cases
from isonomia.audits.ksafety.compiler import compile_spec
from isonomia.audits.ksafety.evidence import CaseTally
from isonomia.audits.ksafety.functions import RANDOM
from isonomia.models.adapt import adapt
from isonomia.models.session import open_session
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.table import Table
from isonomia.spec.nomos import parse_nomos

SMALL = st.integers(-3, 3)
TABLES = st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=5)
ATOMS = ["v1", "v2", "w", "x1.a", "x2.b", "1", "-2", "0.5"]
SIGNS = ["+", "-", "*", "/"]
TERMS = st.recursive(
    st.sampled_from(ATOMS),
    lambda part: st.builds("({} {} {})".format, part, st.sampled_from(SIGNS), part),
    max_leaves=4,
)
CONDITIONS = st.recursive(
    st.builds("({} {} {})".format, TERMS, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), TERMS),
    lambda part: (
        st.builds("({} {} {})".format, part, st.sampled_from(["&&", "||", "==>"]), part) | st.builds("!{}".format, part)
    ),
    max_leaves=3,
)
OUTPUTS = CONDITIONS.map(lambda text: text.replace("w", "d1").replace("v2", "d2"))


def spec(requires: str, ensures: str, block: str) -> str:
    return (
        "input x1; var v1 := x1.a; var v2 := v1 + randInt(0, 2); var w := randInt(v1, 2) * 2;"
        "var x2 := x1[a := v2][b := w];"
        f"requires {requires}; output d1; output d2;\n{{\n{block}\n}}\nensures {ensures};"
    )


PLAIN = "    d1 = predict(x1)\n    d2 = predict(x2) * 2 - v1"
CODE = "    answers = [predict(x) for x in (x1, x2)]\n    d1 = answers[0]\n    d2 = answers[1] * 2 - v1"


def model(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.where(table["a"] > table["b"], 2, table["a"] % 3)


def runner(text: str) -> CaseRunner:
    return CaseRunner(compile_spec(parse_nomos(text), RANDOM), open_session(adapt(model), watched=False), 10.0, False)


def results(text: str, rows: list[tuple[int, int]], one_by_one: bool) -> Counter[Any]:
    """What becomes of every case, by its choices."""
    table = Table.of({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
    domain, run = table_domain(table, {}, {}, None, {}), runner(text)
    found: Counter[Any] = Counter()
    for cases in all_cases(run, domain, 1e6, CaseTally.empty(1)) or ():
        pieces = [cases.take(np.array([i])) for i in range(len(cases))] if one_by_one else [cases]
        for piece in pieces:
            if len(piece):
                judgement = run.run(domain, piece)
                keys = map(tuple, judgement.cases.keys().tolist())
                found.update(zip(keys, judgement.violating.tolist(), judgement.failed.tolist(), strict=True))
    return found


@settings(max_examples=60, deadline=None)
@given(TABLES, CONDITIONS, OUTPUTS)
def test_a_batch_gives_what_one_case_at_a_time_gives(rows: Any, requires: str, ensures: str) -> None:
    text = spec(requires, ensures, PLAIN)
    assert results(text, rows, one_by_one=False) == results(text, rows, one_by_one=True)


@settings(max_examples=15, deadline=None)
@given(TABLES, CONDITIONS, OUTPUTS)
def test_code_gives_what_a_plain_block_gives(rows: Any, requires: str, ensures: str) -> None:
    plain, code = (results(spec(requires, ensures, block), rows, one_by_one=False) for block in (PLAIN, CODE))
    assert plain == code


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(-2, 4), st.sampled_from(["<=", "==", ">"]))
def test_listing_every_case_is_listing_every_choice(rows: Any, bound: int, sign: str) -> None:
    text = spec(f"v2 + w {sign} {bound}", "d1 <= d2", PLAIN)
    table = Table.of({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
    domain = table_domain(table, {}, {}, None, {})
    parts = all_cases(runner(text), domain, 1e6, CaseTally.empty(1)) or ()
    listed = [key for cases in parts for key in map(tuple, cases.keys().tolist())]
    true = {"<=": int.__le__, "==": int.__eq__, ">": int.__gt__}[sign]
    expected = [
        (index, step, choice)
        for index, (a, _) in enumerate(rows)
        for step, choice in product(range(3), range(a, 3))
        if true(a + step + 2 * choice, bound)
    ]
    assert sorted(listed) == sorted(expected)


@settings(max_examples=10, deadline=None)
@given(TABLES.filter(lambda rows: any(a <= 2 for a, _ in rows)), st.integers(0, 2**31))
def test_random_cases_are_judged_as_listed_ones(rows: Any, seed: int) -> None:
    table = {"a": np.array([row[0] for row in rows]), "b": np.array([row[1] for row in rows])}
    text = spec("true", "d1 <= d2", PLAIN)
    exact = iso.check(iso.safety.property(text), model, iso.Census(table), seed=1)
    drawn = iso.check(
        iso.safety.property(text, enumerate=False, stop_early=False), model, iso.Census(table), seed=seed, budget=2000
    )
    # Every case has a chance of at least one in 5 * 3 * 6, so two thousand draws miss one with probability below 1e-9.
    assert drawn.details["violations"]["distinct"] == exact.details["violations"]["distinct"]
    assert (drawn.answer == "violated") == (exact.answer == "violated")


def test_cases_of_nothing_are_nothing() -> None:
    empty = Cases((np.zeros(0, dtype=np.intp),))
    assert len(empty.take(np.zeros(0, dtype=np.intp))) == 0

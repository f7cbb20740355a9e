"""A pool: the same people for everybody, and each of them asked about once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isonomia as iso
from isonomia.audits.people import SharedPeople, _edges, _parts
from isonomia.models import adapt
from isonomia.models.session import open_session
from isonomia.populations import Table
from isonomia.records.journal import NullJournal


class Counting:
    """A model that counts what it is asked about."""

    def __init__(self) -> None:
        self.rows = self.calls = 0

    def __call__(self, table: dict[str, np.ndarray]) -> np.ndarray:
        values = np.asarray(table["x"])
        self.rows += len(values)
        self.calls += 1
        return (values > 0.3).astype(int)


def _pool(population: iso.Generator, model: Counting) -> SharedPeople:
    return SharedPeople(population, open_session(adapt(model), watched=False), seed=5)


KINDS = {
    "columns": lambda x: {"x": x, "k": np.arange(len(x))},
    "pandas": lambda x: pd.DataFrame({"x": x, "k": np.arange(len(x))}),
    "polars": lambda x: pl.DataFrame({"x": x, "k": np.arange(len(x))}),
    "rows": lambda x: [{"x": value, "k": k} for k, value in enumerate(x.tolist())],
}


def test_blocks_follow_one_another_without_gap_or_overlap() -> None:
    edges = [_edges(number) for number in range(40)]
    assert edges[0][0] == 0
    assert all(first[1] == second[0] for first, second in pairwise(edges))


@given(st.integers(0, 200_000), st.integers(1, 60_000))
def test_parts_cover_exactly_what_was_asked_for(start: int, n: int) -> None:
    covered = [(_edges(number)[0] + first, _edges(number)[0] + last) for number, first, last in _parts(start, n)]
    assert covered[0][0] == start
    assert covered[-1][1] == start + n
    assert all(one[1] == other[0] for one, other in pairwise(covered))
    assert all(0 <= first < last <= _edges(number)[1] - _edges(number)[0] for number, first, last in _parts(start, n))


@pytest.mark.parametrize("kind", ["columns", "pandas", "polars"])
def test_people_do_not_depend_on_who_asks_first_or_in_which_portions(kind: str) -> None:
    def draw(n: int, rng: np.random.Generator) -> object:
        return KINDS[kind](rng.random(n))

    generator = iso.Generator(draw)
    whole = np.asarray(_pool(generator, Counting()).people(0, 30_000).column("x"))
    pool = _pool(generator, Counting())
    pieces = [pool.people(start, n).column("x") for start, n in [(0, 7), (7, 1000), (1007, 28_993)]]
    assert np.array_equal(np.concatenate(pieces), whole)
    late = _pool(generator, Counting()).people(20_000, 50).column("x")
    assert np.array_equal(late, whole[20_000:20_050])


def test_blocks_that_were_let_go_come_back_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.audits.people.KEPT", 2)
    pool = _pool(iso.Generator(lambda n, rng: {"x": rng.random(n)}), Counting())
    first = pool.people(0, 500).column("x").copy()
    pool.people(0, 60_000)
    assert len(pool._blocks) == 2
    assert np.array_equal(pool.people(0, 500).column("x"), first)


@pytest.mark.parametrize("kind", KINDS)
def test_each_person_is_asked_about_once(kind: str) -> None:
    rng = np.random.default_rng(0)
    table, model = KINDS[kind](rng.random(3000)), Counting()

    def asked(batch: object) -> np.ndarray:
        return model({"x": np.array([row["x"] for row in batch])} if isinstance(batch, list) else batch)  # type: ignore[arg-type]

    pool = SharedPeople(iso.Sample(table), open_session(adapt(asked), watched=False), seed=1)
    for portions in ([50, 950, 1000, 5000], [1000, 200, 4000]):  # one check after the other
        start, seen = 0, []
        for n in portions:
            batch = pool.batch(start, n, np.random.default_rng(0))
            answer = pool.model(batch, want_score=False, want_prediction=True)
            assert answer.prediction is not None
            assert np.array_equal(answer.prediction, (batch.column("x") > 0.3).astype(int))
            seen.append(batch.rows)
            start += n
        assert sum(seen) == 3000
    assert model.rows == 3000
    assert pool.people(3000, 10).rows == 0


def test_what_was_not_drawn_from_the_pool_is_asked_about_all_the_same() -> None:
    model = Counting()
    pool = _pool(iso.Generator(lambda n, rng: {"x": rng.random(n)}), model)
    drawn = pool.batch(0, 10, np.random.default_rng(0))
    pool.model(drawn.slice(0, 4), want_score=False, want_prediction=True)
    assert model.rows == 4
    pool.model(drawn, want_score=False, want_prediction=True)
    assert model.rows == 14
    pool.model(drawn, want_score=False, want_prediction=True)
    assert model.rows == 14


def test_a_long_table_is_not_remembered_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.models.session.MAX_REMEMBERED", 250)
    model, table = Counting(), Table.of({"x": np.linspace(0.0, 1.0, 100)})
    session = open_session(adapt(model), watched=False)
    shared = SharedPeople(iso.Census(table), session, seed=1)
    first, second = (session.recorded(NullJournal(), everybody=shared.everybody) for _ in range(2))
    for asking in (first, second):
        for _ in range(4):
            answer = asking(table, want_score=False, want_prediction=True)
            assert answer.prediction is not None
            assert answer.prediction.sum() == 70
    assert len(shared.everybody.known) == 2
    assert model.rows == 400 + 200, "what was not remembered is asked about again"

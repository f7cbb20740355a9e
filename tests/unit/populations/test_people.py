import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import SpecError
from isonomia.populations.protocol import Wanted, people
from isonomia.spec.tree import Do, Literal, Other, Setting

CHANGE = Do((Setting("a", Literal(5.0)),))
PAIRED = Wanted(None, {Other(): None})
BOTH = Wanted(None, {Other(): None, CHANGE: None})
MODEL = iso.Causal({"a": "gaussian(0, 1)", "b": "gaussian(2 * a, 4)"})


def rows(n):
    return {"id": np.arange(n), "x": np.arange(n) * 10.0}


def drawn(population, wanted, start, n, seed=0):
    return people(population.open(np.random.SeedSequence(3), wanted), wanted, start, n, np.random.default_rng(seed), 0)


def test_people_as_they_are_come_alone():
    assert list(drawn(iso.Sample(rows(9)), Wanted(), 0, 4)) == [None]


@pytest.mark.parametrize("size", [1, 3, 10, 50])
@pytest.mark.parametrize("n", [97, 98])
def test_pairs_of_a_sample_are_disjoint_and_use_each_row_once(n, size):
    first, second = [], []
    for start in range(0, n, size):
        found = drawn(iso.Sample(rows(n)), PAIRED, start, size)
        assert found[None].rows == found[Other()].rows
        first += found[None].column("id").tolist()
        second += found[Other()].column("id").tolist()
    assert len(first) == n // 2
    assert len({*first, *second}) == 2 * (n // 2)
    assert first != sorted(first)


def test_rows_of_a_pair_stay_whole():
    found = drawn(iso.Sample(rows(50)), PAIRED, 5, 10)
    for version in (None, Other()):
        assert np.array_equal(found[version].column("x"), found[version].column("id") * 10.0)


@pytest.mark.parametrize("make", [lambda: MODEL, lambda: iso.Generator(lambda n, rng: {"a": rng.normal(size=n)})])
def test_a_second_person_is_independent_of_the_first(make):
    found = drawn(make(), PAIRED, 0, 40_000)
    a, b = found[None].column("a"), found[Other()].column("a")
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(40_000)
    assert not np.any(a == b)


def test_the_first_of_a_pair_comes_in_every_version_in_step():
    sample = MODEL.draw(60, seed=1)
    table = {"a": sample.column("a"), "b": sample.column("b"), "id": np.arange(60)}
    found = drawn(MODEL.about(table), BOTH, 0, 100)
    assert set(found) == {None, Other(), CHANGE}
    assert np.array_equal(found[CHANGE].column("id"), found[None].column("id"))
    shift = 2 * (5.0 - found[None].column("a"))
    np.testing.assert_allclose(found[CHANGE].column("b") - found[None].column("b"), shift, atol=1e-12)
    assert not set(found[None].column("id")) & set(found[Other()].column("id"))


def test_drawn_people_have_their_changed_versions_and_a_second_person():
    found = drawn(MODEL, BOTH, 0, 20_000)
    shift = 2 * (5.0 - found[None].column("a"))
    np.testing.assert_allclose(found[CHANGE].column("b") - found[None].column("b"), shift, atol=1e-12)
    for version in (None, CHANGE):
        assert abs(np.corrcoef(found[version].column("b"), found[Other()].column("b"))[0, 1]) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("make", [lambda: iso.Sample(rows(9)), lambda: iso.Generator(lambda n, _: rows(n))])
def test_what_would_have_been_is_asked_of_a_causal_model_only(make):
    with pytest.raises(SpecError, match="need a causal model"):
        drawn(make(), Wanted(None, {CHANGE: None}), 0, 4)


def test_past_the_end_of_a_sample_there_are_no_pairs():
    found = drawn(iso.Sample(rows(9)), PAIRED, 4, 10)
    assert found[None].rows == found[Other()].rows == 0

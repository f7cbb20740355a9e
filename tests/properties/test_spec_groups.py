"""Whatever is said about two groups from their conditions alone is true on every table."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.spec.analysis import conjuncts, disjoint, implies
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.tree import AsIf, Column, Compare, Do, Literal, Member, Missing, Other, RowJunction, RowNot, Setting

SETTINGS = settings(max_examples=800, derandomize=True, deadline=None, database=None)

NUMBERS = (0, 1, 2, 0.5, 1.0, np.nan)
TEXTS = ("a", "b", "2020-01-01", "2020-01-01T00", None)
TRUTHS = (True, False, None)
MOMENTS = ("2019-06-01", "2020-01-01", "2021-01-01", "NaT")


def table(precision):
    people = list(product(NUMBERS, NUMBERS[:3] + NUMBERS[-1:], TEXTS, TRUTHS, MOMENTS))
    x, y, c, w, d = zip(*people, strict=True)
    columns = {
        "x": np.array(x, precision),
        "y": np.array(y, precision),
        "c": np.array(c, object),
        "w": np.array(w, object),
        "d": np.array(d, "datetime64[D]"),
    }
    # Every version is the same people in another order, so that any two values meet in some row.
    rng = np.random.default_rng(20)
    shuffled = [{name: column[order] for name, column in columns.items()} for order in orders(rng, len(people))]
    versions = {version: Batch(len(people), each) for version, each in zip(VERSIONS, shuffled, strict=True)}
    return Batch(len(people), columns, versions=versions)


def orders(rng, rows):
    return [rng.permutation(rows) for _ in VERSIONS]


VERSIONS = (Other(), Do((Setting("x", Literal(1)),)), Do((AsIf("y", (Setting("x", Literal(1)),)),)))
TABLES = (table(np.float64), table(np.float32))

relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
number = st.sampled_from([0, 1, 2, 0.5, 1.0, 1.5, True, 1 + 1e-12, -1]).map(Literal)
text = st.sampled_from(["a", "b", "c", "2020-01-01", "2020-01-01T00"]).map(Literal)
when = st.sampled_from(["2020", "2020-01-01", "2020-01-01T00", "2020-06-01"]).map(Literal)


def about(terms, literal):
    return st.one_of(
        st.builds(Compare, relations, terms, literal),
        st.builds(Compare, relations, literal, terms),
        st.builds(Member, terms, st.lists(literal, min_size=1, max_size=3).map(tuple)),
        st.builds(Missing, terms),
    )


def of_versions(name):
    """A column of some version of a person; made beforehand, which is much quicker to draw from."""
    return st.sampled_from([Column(name, version) for version in (None, *VERSIONS)])


X, Y, C, D, W = (st.just(Column(name)) for name in "xycdw")
tests = st.one_of(
    about(of_versions("x"), number),
    about(of_versions("c"), text),
    of_versions("w"),
    st.builds(Compare, relations, of_versions("x"), of_versions("x")),
    about(X, number),
    about(X, number),
    about(C, text),
    about(D, when),
    about(W, st.booleans().map(Literal)),
    W,
    st.builds(Compare, relations, X, Y),
    st.builds(Compare, relations, Y, X),
    st.booleans().map(Literal),
)
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(RowNot, inner),
        st.builds(RowJunction, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=4,
)


@SETTINGS
@given(conditions, conditions)
def test_groups_called_disjoint_share_no_row(a, b):
    if disjoint(a, b):
        assert not any((truth(a, batch) & truth(b, batch)).any() for batch in TABLES)
    assert disjoint(a, b) == disjoint(b, a)


@SETTINGS
@given(conditions, conditions)
def test_a_group_called_part_of_another_lies_in_it(a, b):
    if implies(a, b):
        assert not any((truth(a, batch) & ~truth(b, batch)).any() for batch in TABLES)


@SETTINGS
@given(conditions)
def test_a_condition_and_its_negation_are_known_to_be_disjoint(a):
    assert disjoint(a, RowNot(a))
    assert implies(a, a)


@SETTINGS
@given(conditions)
def test_the_conjuncts_mean_what_the_conjunction_means(a):
    parts = np.logical_and.reduce([truth(part, TABLES[0]) for part in conjuncts(a)])
    assert (parts == truth(a, TABLES[0])).all()


@pytest.mark.parametrize("seed", range(5))
def test_tests_of_one_number_are_told_apart_whenever_they_can_be(seed):
    rng = np.random.default_rng(seed)
    signs = ["==", "<", "<=", ">", ">="]
    grid = Batch(9, {"x": np.arange(-1, 3.5, 0.5)})
    for _ in range(200):
        a, b = (Compare(signs[rng.integers(5)], Column("x"), Literal(int(rng.integers(0, 3)))) for _ in range(2))
        apart = not (truth(a, grid) & truth(b, grid)).any()
        assert disjoint(a, b) == apart

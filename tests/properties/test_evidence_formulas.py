"""Random formulas: what is made of them agrees with evaluating them point by point in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isonomia.errors import DataError, SpecError
from isonomia.evidence.exact import BoxIntervals, enclose, exact_truth, exact_value, judge
from isonomia.evidence.hypotheses import hypothesis_of
from isonomia.evidence.normal_form import AllOf, AnyOf, Atom, normal_form
from isonomia.evidence.protocol import LeafTally
from isonomia.evidence.region import Region, decide
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import (
    Arithmetic,
    Column,
    Comparison,
    Constant,
    Extreme,
    Implies,
    Junction,
    Mean,
    Negative,
    Not,
    Power,
    Rate,
    leaves_of,
)

few = settings(derandomize=True, deadline=None, max_examples=300)
A, B, C = (Rate(Column("x"), Column(name)) for name in "abc")
D = Mean(Column("y"), Column("d"), -1.0, 2.0)
RANGES = {A: (0.0, 1.0), B: (0.0, 1.0), C: (0.0, 1.0), D: (-1.0, 2.0)}

leaves = st.sampled_from([A, B, C, D])
# Constants that make ties with random points impossible.
constants = st.integers(-20, 20).map(lambda k: Constant((k + 0.37) / 9.0))


def deeper(inner):
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(["+", "-"]), inner, inner),
        st.builds(Arithmetic, st.just("*"), constants, inner),
        st.builds(Arithmetic, st.just("/"), inner, leaves),
        st.builds(Arithmetic, st.just("/"), inner, st.builds(Arithmetic, st.sampled_from(["+", "-"]), leaves, leaves)),
        st.builds(Negative, inner),
        st.builds(lambda x: Extreme("abs", (x,)), inner),
        st.builds(lambda f, x, y: Extreme(f, (x, y)), st.sampled_from(["min", "max"]), inner, inner),
    )


quantities = st.recursive(leaves | constants, deeper, max_leaves=4)
products = st.builds(Arithmetic, st.just("*"), quantities, quantities) | st.builds(
    Power, quantities, st.sampled_from([-2.0, -1.0, 0.0, 2.0, 3.0])
)
relations = st.sampled_from(["<", "<=", ">", ">="])
comparisons = st.builds(
    lambda first, rest: Comparison(first, tuple(rest)),
    quantities,
    st.lists(st.tuples(relations, quantities), min_size=1, max_size=2),
)
formulas = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Implies, inner, inner),
        st.builds(lambda c, x, y: Junction(c, (x, y)), st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=3,
)
seeds = st.integers(0, 2**32 - 1)


def points(seed: int, count: int = 40):
    """Random points whose coordinates are fractions with a large prime denominator."""
    rng = np.random.default_rng(seed)
    for row in rng.integers(1, 1_000_003, size=(count, 4)):
        yield {
            leaf: Fraction(int(k), 1_000_003) * Fraction(high - low) + Fraction(low)
            for k, (leaf, (low, high)) in zip(row, RANGES.items(), strict=True)
        }


def truth(formula, point):
    try:
        return exact_truth(formula, point)
    except DataError:
        return None


def lenient(formula, positive):
    """The formula with ties on the side of being true, or with ``positive=False`` on that of being false."""
    match formula:
        case Comparison():
            rest = tuple((relation[0] + ("=" if positive else ""), side) for relation, side in formula.rest)
            return Comparison(formula.first, rest)
        case Not():
            return Not(lenient(formula.operand, not positive))
        case Implies():
            return Implies(lenient(formula.premise, not positive), lenient(formula.conclusion, positive))
        case Junction():
            return Junction(formula.connective, tuple(lenient(part, positive) for part in formula.operands))


def has_constants(form):
    """Whether some comparison was one of constants, which is true or false whatever the point."""
    match form:
        case Atom():
            return False
        case AllOf(parts) | AnyOf(parts):
            return not parts or any(map(has_constants, parts))


@few
@given(formula=formulas, seed=seeds)
def test_a_hypothesis_holds_every_point_at_which_its_formula_is_true_or_tied_and_no_other(formula, seed):
    for positive in (True, False):
        try:
            hypothesis = hypothesis_of(formula, RANGES, positive=positive)
        except SpecError:
            assume(False)
        if hypothesis is None:
            continue
        decided, relaxed = has_constants(normal_form(formula, RANGES, positive=positive)), lenient(formula, positive)
        for point in points(seed):
            true = truth(relaxed, point)
            if true is None or (decided and truth(formula, point) is not true):
                continue  # a tie of constants is no tie: it is decided by how it is written
            place = {leaf: float(value) for leaf, value in point.items()}
            slacks = [min((side.slack(place) for side in one.half_spaces), default=1.0) for one in hypothesis.polytopes]
            least = max(slacks, default=-1.0)
            assert least >= -1e-9 if true is positive else least <= 1e-9


def is_true(form, point):
    match form:
        case Atom(quantity):
            return exact_value(quantity, point) >= 0
        case AllOf(parts):
            return all(is_true(part, point) for part in parts)
        case AnyOf(parts):
            return any(is_true(part, point) for part in parts)


bent = st.builds(
    lambda quantity, relation, constant: Comparison(quantity, ((relation, constant),)),
    products | st.builds(Arithmetic, st.just("/"), leaves | constants, quantities),
    relations,
    constants,
)


@settings(few, max_examples=200)
@given(formula=bent | formulas, seed=seeds)
def test_a_normal_form_is_true_where_its_formula_is_and_that_of_the_negation_elsewhere(formula, seed):
    holds, fails = (normal_form(formula, RANGES, positive=positive) for positive in (True, False))
    for point in points(seed, 6):
        try:
            true = exact_truth(formula, point)
            if exact_truth(lenient(formula, True), point) == exact_truth(lenient(formula, False), point):
                assert (is_true(holds, point), is_true(fails, point)) == (true, not true)
        except DataError:
            continue


@few
@given(quantity=quantities | products, seed=seeds, width=st.sampled_from([0.0, 1e-6, 0.1, 1.0]))
def test_an_enclosure_holds_the_value_at_every_point_of_its_box(quantity, seed, width):
    for point in points(seed, 8):
        inside = {leaf: float(value) for leaf, value in point.items()}
        box = {
            leaf: BoxIntervals(
                np.asarray([max(low, inside[leaf] - width)]), np.asarray([min(high, inside[leaf] + width)])
            )
            for leaf, (low, high) in RANGES.items()
        }
        found = enclose(quantity, box)
        try:
            value = exact_value(quantity, {leaf: Fraction(value) for leaf, value in inside.items()})
        except DataError:
            continue
        # A constant is the decimal number that was written, and its nearest float may differ in the last place.
        slack = 1e-9 * (1.0 + abs(float(value)))
        assert found.low[0] - slack <= value <= found.high[0] + slack


@few
@given(formula=formulas, seed=seeds, width=st.sampled_from([1e-6, 0.05, 0.5]))
def test_a_judgement_over_a_box_agrees_with_every_point_of_it(formula, seed, width):
    for point in points(seed, 8):
        true = truth(formula, point)
        box = {
            leaf: BoxIntervals(
                np.asarray([max(low, float(point[leaf]) - width)]), np.asarray([min(high, float(point[leaf]) + width)])
            )
            for leaf, (low, high) in RANGES.items()
        }
        found = judge(formula, box)
        assert not (found.true[0] and found.false[0])
        assert not (found.true[0] and true is False)
        assert not (found.false[0] and true is True)


linear = st.builds(
    lambda coefficients, bound, relation: Comparison(
        Arithmetic(
            "+",
            Arithmetic("*", Constant(coefficients[0] + 0.11), A),
            Arithmetic("*", Constant(coefficients[1] - 0.07), B),
        ),
        ((relation, Constant(bound)),),
    ),
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
    st.floats(-1.0, 1.0).map(lambda value: round(value, 2)),
    relations,
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    formula=linear | st.builds(lambda c, x, y: Junction(c, (x, y)), st.sampled_from(["and", "or"]), linear, linear),
    counts=st.tuples(*[st.integers(0, 200)] * 4),
    together=st.booleans(),
)
def test_branch_and_bound_agrees_with_projections_on_linear_formulas(formula, counts, together):
    tallies = {
        A: LeafTally((0.0, 1.0), tuple(map(float, counts[:2]))),
        B: LeafTally((0.0, 1.0), tuple(map(float, counts[2:]))),
    }
    region = Region(tallies, ((A, B),) if together else ((A,), (B,)), 0.05)
    answers = []
    for positive in (False, True):
        hypothesis = hypothesis_of(formula, region.ranges, positive=positive)
        assert hypothesis is not None
        answers.append(all(region.refutes(polytope) for polytope in hypothesis.polytopes))
    assert not all(answers)
    searched = decide(formula, region)
    # Either may give up at the very edge of the region, but they never contradict one another.
    assert not (searched is True and answers[1])
    assert not (searched is False and answers[0])
    at_centre = judge(
        formula, {leaf: BoxIntervals(*(np.asarray([tally.mean]),) * 2) for leaf, tally in tallies.items()}
    )
    if searched is not None:
        assert not (at_centre.false if searched else at_centre.true)[0]


@given(
    st.tuples(*[st.floats(-3, 3).map(lambda x: round(x, 3))] * 3),
    st.sampled_from(["<=", ">="]),
    st.sampled_from([(0.0, 1.0), (-2.0, 5.0), (100.0, 101.0)]),
    st.integers(0, 2**32 - 1),
)
def test_polytopes_cover_a_comparison_with_a_square_and_little_more(numbers, relation, ends, seed):
    linear, square, limit = numbers
    assume(min(abs(linear), abs(square)) > 0.01)
    formula = parse_formula(f"{linear} * E[t] + {square} * E[s] ** 2 {relation} {limit}")
    t, s = leaves_of(formula)
    ranges = {t: ends, s: ends}
    hypothesis = hypothesis_of(formula, ranges, positive=True, cover=True)
    assert hypothesis_of(formula, ranges, positive=True) is None
    assert hypothesis is not None
    rng = np.random.default_rng(seed)
    for _ in range(20):
        point = {leaf: float(rng.uniform(*ends)) for leaf in (t, s)}
        x = point[s]
        value = linear * point[t] + square * x * x - limit
        outside = value if relation == "<=" else -value
        if outside <= 0.0:
            assert hypothesis.contains(point)
        elif outside > 0.001 * abs(square) * ((x - ends[0]) * (ends[1] - x) + 0.01 * (ends[1] - ends[0]) ** 2):
            assert not hypothesis.contains(point)

"""Draws are uniform: chi-square over what is whole, Kolmogorov-Smirnov over what is real.

Seeds are fixed, and each test would fail with probability 1e-6 if they were drawn afresh.
"""

from __future__ import annotations

from itertools import product
from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from isonomia.interventions import (
    AdditiveLinkage,
    Condition,
    Feature,
    IfChanged,
    IfThen,
    Interventions,
    Linear,
    Linkage,
    MutabilitySwitch,
    OneHot,
    Predicate,
    Thermometer,
)
from isonomia.interventions.blocks import Boxes, blocks_of, tightened
from isonomia.interventions.parts import ListedPoints, PolytopePoints, RejectionPart
from isonomia.interventions.polytopes import LinearSystem, draw_by_proposals, polytope_sampler, slices_of

ALARM = 1e-6


def assert_shares(drawn: Any, expected: Any) -> None:
    """The counts of the labels 0, 1, ... fit the expected shares."""
    shares = np.asarray(expected, dtype=float) / np.sum(expected)
    counts = np.bincount(np.asarray(drawn, dtype=int), minlength=len(shares))
    assert len(counts) == len(shares)
    assert stats.chisquare(counts, shares * counts.sum()).pvalue > ALARM


def assert_law(drawn: Any, distribution: Any) -> None:
    assert stats.kstest(drawn, distribution).pvalue > ALARM


def test_every_point_of_an_enumerated_set_is_equally_likely() -> None:
    bits = tuple(Feature(f"d{j}", "binary") for j in range(4))
    rules = (OneHot(("d0", "d1"), 1, "<="), Thermometer(("d2", "d3")), Linkage("d0", ("n",), (2,)))
    features = (*bits, Feature("n", "integer", 0, 2), Feature("m", "integer", 0, 3))
    sets = Interventions(features, rules).reach({**{bit.name: [0] for bit in bits}, "n": [1], "m": [2]})
    points = sets.points().values
    drawn = sets.sample(30_000, np.random.default_rng(1)).values
    place = {tuple(point): j for j, point in enumerate(points.tolist())}
    assert len(place) == 3 * 3 * 3 * 4
    assert_shares([place[tuple(row)] for row in drawn.tolist()], np.ones(len(points)))


def simplex(low: float, budget: float) -> tuple[Interventions, dict[str, list[float]]]:
    features = (Feature("k", "integer", 0, 3), *(Feature(name, "real", 0, 1) for name in "xyz"))
    rule = Linear(("k", "x", "y", "z"), (low, 1, 1, 1), "<=", budget)
    return Interventions(features, (rule,)), {"k": [0], "x": [0.0], "y": [0.0], "z": [0.0]}


def test_proposals_weigh_whole_values_by_the_volume_of_what_is_real() -> None:
    rules, person = simplex(0.2, 0.9)
    sets = rules.reach(person)
    assert isinstance(sets.parts[0], RejectionPart)
    drawn = sets.sample(20_000, np.random.default_rng(2)).values
    assert_shares(drawn[:, 0], [(0.9 - 0.2 * k) ** 3 for k in range(4)])
    for k in (0, 1):
        part = drawn[drawn[:, 0] == k, 1] / (0.9 - 0.2 * k)
        assert_law(part, stats.beta(1, 3).cdf)


def test_a_box_that_is_nearly_empty_is_drawn_in_by_the_solver() -> None:
    rules, person = simplex(0.01, 0.035)
    sets = rules.reach(person)
    (part,) = sets.parts
    assert isinstance(part, PolytopePoints)
    narrowed = tightened(part.block, np.zeros(4))
    assert narrowed is not None
    assert narrowed[1][1:].max() <= 0.0351
    drawn = sets.sample(5_000, np.random.default_rng(3)).values
    assert_shares(drawn[:, 0], [(0.035 - 0.01 * k) ** 3 for k in range(4)])


def test_pieces_and_proposals_draw_from_the_same_law() -> None:
    rules, _ = simplex(0.2, 0.9)
    (block,) = blocks_of(rules.features, rules.coded())
    start = np.zeros(4)
    boxes = Boxes.of(block, start[None])
    pieces = slices_of(block, start, boxes.low[0], boxes.high[0])
    assert pieces.exact
    volumes = np.asarray([(0.9 - 0.2 * k) ** 3 for k in range(4)])
    assert pieces.shares == pytest.approx(volumes / volumes.sum())
    cut = pieces.draw(8_000, np.random.default_rng(4))
    proposed = draw_by_proposals(block, boxes, 8_000, np.random.default_rng(5))[0]
    for column in range(1, 4):
        assert stats.ks_2samp(cut[:, column], proposed[:, column]).pvalue > ALARM
    assert_shares(cut[:, 0], [(0.9 - 0.2 * k) ** 3 for k in range(4)])


def test_an_equation_is_drawn_from_on_its_plane() -> None:
    features = tuple(Feature(name, "real", 0, 1) for name in "xyz")
    rules = Interventions(features, (Linear(tuple("xyz"), (1, 1, 1), "==", 1),))
    sets = rules.reach({"x": [1.0], "y": [0.0], "z": [0.0]})
    assert isinstance(sets.parts[0], PolytopePoints)
    assert not sets.approximate()[0]
    drawn = sets.sample(10_000, np.random.default_rng(6)).values
    assert drawn.sum(1) == pytest.approx(np.ones(10_000))
    for column in drawn.T:
        assert_law(column, stats.beta(1, 2).cdf)


def test_an_exchange_between_features_of_different_sizes_is_uniform_along_it() -> None:
    features = (Feature("rent", "real", 0, 5_000), Feature("share", "real", 0, 1))
    rule = AdditiveLinkage("rent", ("share",), (-2_000.0,))
    sets = Interventions(features, (rule,)).reach({"rent": [1_000.0], "share": [0.5]})
    drawn = sets.sample(5_000, np.random.default_rng(7)).values
    assert drawn[:, 0] == pytest.approx(1_000 - 2_000 * (drawn[:, 1] - 0.5))
    assert_law(drawn[:, 1], stats.uniform(0, 1).cdf)


def test_thin_slabs_chosen_by_a_switch_weigh_as_much_as_they_are_thick() -> None:
    features = (Feature("b", "binary"), Feature("x", "real", 0, 100), Feature("y", "real", 0, 1))
    rules = (
        IfThen(Condition("b", "==", 0), Condition("x", "<=", 0.01)),
        IfThen(Condition("b", "==", 1), Condition("x", ">=", 99.97)),
        Linear(("x", "y"), (0, 1), ">=", 0),
    )
    sets = Interventions(features, rules).reach({"b": [0], "x": [0.0], "y": [0.0]})
    assert isinstance(sets.parts[0], PolytopePoints)
    drawn = sets.sample(8_000, np.random.default_rng(8)).values
    assert_shares(drawn[:, 0], [1, 3])
    on = drawn[:, 0] == 1
    assert_law((drawn[on, 1] - 99.97) / 0.03, "uniform")
    assert_law(drawn[~on, 1] / 0.01, "uniform")
    assert_law(drawn[:, 2], "uniform")


def test_a_rule_about_changes_of_real_features_is_cut_at_its_condition() -> None:
    features = (Feature("x", "real", 0, 1), Feature("y", "real", 0, 1))
    rule = IfChanged(Condition("x", ">=", 0.75), Condition("y", ">=", 0.5))
    sets = Interventions(features, (rule,)).reach({"x": [0.0], "y": [0.0]})
    drawn = sets.sample(4_000, np.random.default_rng(9)).values
    # Below the condition y stays: a line, which has no area. All the mass is on the rectangle above it.
    assert_law((drawn[:, 0] - 0.75) / 0.25, "uniform")
    assert_law((drawn[:, 1] - 0.5) / 0.5, "uniform")


def test_pieces_of_lower_dimension_have_no_mass_as_with_proposals() -> None:
    features = (Feature("b", "binary"), Feature("x", "real", 0, 1))
    sets = Interventions(features, (MutabilitySwitch("b", ("x",)),)).reach({"b": [0], "x": [0.0]})
    drawn = sets.sample(500, np.random.default_rng(10)).values
    assert (drawn[:, 0] == 0).all()
    assert_law(drawn[:, 1], "uniform")


@pytest.mark.parametrize("sense", ["<=", ">="])
def test_effects_of_their_own_size_are_uniform_among_the_allowed_ones(sense: Any) -> None:
    features = (Feature("s", "real", -1, 1), Feature("t", "real", -1, 1, actionable=False))
    rules = Interventions(features, (Linkage("s", ("t",), (1,), sense),))
    (block,) = blocks_of(rules.features, rules.coded())
    boxes = Boxes.of(block, np.zeros((1, 2)))
    cut = slices_of(block, np.zeros(2), boxes.low[0], boxes.high[0]).draw(6_000, np.random.default_rng(11))
    s, t = cut.T
    assert (s * t >= 0).all()
    small, large = (t, s) if sense == "<=" else (s, t)
    assert (np.abs(small) <= np.abs(large) + 1e-9).all()
    assert_law(np.abs(large), stats.beta(2, 1).cdf)
    assert_shares(s > 0, [1, 1])


def test_a_predicate_inside_a_tight_block_is_respected() -> None:
    features = (Feature("x", "real", 0, 1_000), Feature("y", "real", 0, 1_000))
    rules = (Linear(("x", "y"), (1, 1), "==", 10), Predicate("x * y <= 9"))
    sets = Interventions(features, rules).reach({"x": [0.0], "y": [10.0]})
    assert isinstance(sets.parts[0], PolytopePoints)
    x = sets.sample(4_000, np.random.default_rng(12)).values[:, 0]
    assert ((x <= 1 + 1e-9) | (x >= 9 - 1e-9)).all()
    assert_law(np.where(x > 5, x - 8, x), stats.uniform(0, 2).cdf)


def test_the_people_of_one_table_are_drawn_from_their_own_sets() -> None:
    rules, _ = simplex(0.2, 0.9)
    people = {"k": [0, 3, 1], "x": [0.0, 0.1, 0.3], "y": [0.0, 0.0, 0.3], "z": [0.0, 0.0, 0.0]}
    limited = rules.set("x", rise=0.05, fall=0.05).set("k", actionable=False)
    drawn = limited.reach(people).sample(2_000, np.random.default_rng(13))
    for person, k in enumerate(people["k"]):
        mine = drawn.values[drawn.owner == person]
        assert (mine[:, 0] == k).all()
        assert (np.abs(mine[:, 1] - people["x"][person]) <= 0.05).all()
        assert (mine @ [0.2, 1, 1, 1] <= 0.9 + 1e-9).all()


def cube_corner(d: int) -> LinearSystem:
    """The points of the unit cube with a sum of at most 1: volume 1 / d!."""
    rows = np.vstack([np.eye(d), -np.eye(d), np.ones((1, d))])
    return LinearSystem(rows, np.concatenate([np.ones(d), np.zeros(d), [1.0]]), np.zeros((0, d)), np.zeros(0))


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_volumes_up_to_six_dimensions_are_exact(d: int) -> None:
    shape = polytope_sampler(cube_corner(d))
    assert shape is not None
    assert shape.exact
    assert np.exp(shape.log_volume) == pytest.approx(1 / factorial(d), rel=1e-9)
    drawn = shape.draw(4_000, np.random.default_rng(d))
    for column in drawn.T:
        assert_law(column, stats.beta(1, d).cdf)


def test_a_cube_is_cut_into_simplices_that_fill_it() -> None:
    for d in (2, 3, 5):
        rows = np.vstack([np.eye(d), -np.eye(d)])
        shape = polytope_sampler(
            LinearSystem(rows, np.concatenate([np.full(d, 2.0), np.zeros(d)]), np.zeros((0, d)), np.zeros(0))
        )
        assert shape is not None
        assert np.exp(shape.log_volume) == pytest.approx(2.0**d)
        cells = (shape.draw(4_000, np.random.default_rng(0)) // 1).astype(int) @ (2 ** np.arange(d))
        assert_shares(cells, np.ones(2**d))


def test_an_empty_polytope_is_none_and_a_flat_one_is_found_to_be_flat() -> None:
    one = np.asarray([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    none = np.zeros((0, 2)), np.zeros(0)
    assert polytope_sampler(LinearSystem(one, np.asarray([1.0, -2.0, 1.0, 0.0]), *none)) is None
    flat = polytope_sampler(LinearSystem(one, np.asarray([1.0, -1.0, 3.0, 0.0]), *none))
    assert flat is not None
    assert flat.dimension == 1
    assert np.exp(flat.log_volume) == pytest.approx(3)
    point = polytope_sampler(LinearSystem(one, np.asarray([1.0, -1.0, 3.0, -3.0]), *none))
    assert point is not None
    assert (point.dimension, point.log_volume) == (0, 0.0)
    assert point.draw(2, np.random.default_rng(0)) == pytest.approx(np.asarray([[1, 3], [1, 3]]))


def test_beyond_six_dimensions_walks_come_near_the_uniform_law_and_the_volume_and_say_so() -> None:
    d = 7
    shape = polytope_sampler(cube_corner(d))
    assert shape is not None
    assert not shape.exact
    assert np.exp(shape.log_volume) * factorial(d) == pytest.approx(1, rel=0.25)
    drawn = shape.draw(2_000, np.random.default_rng(1))
    assert drawn.min() >= -1e-9
    assert drawn.sum(1).max() <= 1 + 1e-9
    for column in drawn.T:
        assert_law(column, stats.beta(1, d).cdf)


def test_a_large_block_of_whole_numbers_is_uniform_too() -> None:
    from isonomia.interventions.parts import solve

    features = tuple(Feature(name, "integer", 0, 4) for name in "abc")
    rules = Interventions(features, (Linear(tuple("abc"), (1, 1, 1), "<=", 5),))
    (block,) = blocks_of(rules.features, rules.coded())
    (part,) = solve(block, np.zeros((1, 3)), most_moves=10)
    assert isinstance(part, RejectionPart)
    points = [point for point in product(range(5), repeat=3) if sum(point) <= 5]
    place = {tuple(map(float, point)): j for j, point in enumerate(points)}
    drawn = part.draw(20_000, np.random.default_rng(14))[0]
    assert_shares([place[tuple(row)] for row in drawn.tolist()], np.ones(len(points)))


def test_a_block_of_which_almost_nothing_is_allowed_is_listed_by_the_solver() -> None:
    from isonomia.interventions.parts import solve

    features = tuple(Feature(f"d{j}", "binary") for j in range(14))
    rules = Interventions(features, (OneHot(tuple(f.name for f in features)),))
    (block,) = blocks_of(rules.features, rules.coded())
    start = np.eye(14)[:1]
    (part,) = solve(block, start, most_moves=1)
    assert isinstance(part, ListedPoints)
    assert part.counts().tolist() == [14]


def test_a_boundary_that_a_strict_condition_leaves_out_has_no_mass() -> None:
    features = (Feature("x", "real", -1, 2), Feature("y", "real", -1, 2, direction="up"))
    rule = IfChanged(Condition("y", "<", 0), Condition("x", "!=", 0))
    sets = Interventions(features, (rule,)).reach({"x": [0.0], "y": [0.0]})
    drawn = sets.sample(2_000, np.random.default_rng(15)).values
    assert (drawn[:, 0] == 0).all()
    assert_law(drawn[:, 1] / 2, "uniform")


def test_pieces_on_a_boundary_that_the_constraints_forbid_are_dropped() -> None:
    features = tuple(Feature(name, "real", 0, 1) for name in "xyz")
    # x stays at 0.5 or below, so the condition is never met and z stays; rows alone would let z go where x is 0.5.
    rules = (
        Linear(("x", "y"), (1, 1), "==", 1),
        IfChanged(Condition("x", ">", 0.5), Condition("z", ">=", 0.5)),
        Linear(("x", "y"), (1, 0), "<=", 0.5),
    )
    sets = Interventions(features, rules).reach({"x": [0.0], "y": [1.0], "z": [0.0]})
    drawn = sets.sample(1_000, np.random.default_rng(16)).values
    assert (drawn[:, 2] == 0).all()
    assert_law(drawn[:, 0] / 0.5, "uniform")


def test_a_source_that_cannot_move_counts_once() -> None:
    features = (
        Feature("s", "real", 0, 1, direction="up"),
        Feature("t", "binary", actionable=False),
        Feature("x", "real", 0, 1),
    )
    rules = Interventions(features, (Linkage("s", ("t",), (-1,), "<="), Linear(("s", "x"), (0, 1), ">=", 0)))
    (block,) = blocks_of(rules.features, rules.coded())
    start = np.asarray([1.0, 0.0, 0.0])
    boxes = Boxes.of(block, start[None])
    pieces = slices_of(block, start, boxes.low[0], boxes.high[0])
    assert len(pieces.slices) == 1
    assert pieces.draw(5, np.random.default_rng(0))[:, :2].tolist() == [[1, 0]] * 5


def test_a_choice_that_leaves_nothing_to_real_features_is_not_made() -> None:
    """Each rule can be met with the switch on, and not both: x + y is at least 1.9 and x - y at least 0.2."""
    features = (Feature("on", "binary"), Feature("x", "real", 0, 1), Feature("y", "real", 0, 1))
    rules = (Linear(("on", "x", "y"), (-1.0, 1.0, 1.0), ">=", 0.9), Linear(("x", "y"), (1.0, -1.0), ">=", 0.2))
    interventions = Interventions(features, rules)
    (block,) = blocks_of(features, rules)
    start = np.asarray([0.0, 0.7, 0.3])
    found = slices_of(block, start, np.zeros(3), np.ones(3))
    assert [one.acted[0] for one in found.slices] == [0.0]
    drawn = interventions.reach({"on": [0], "x": [0.7], "y": [0.3]}).sample(2_000, np.random.default_rng(9)).values
    assert (drawn[:, 0] == 0).all()
    # A triangle with a corner at (0.55, 0.35) and its largest y, 0.8, at the end of x.
    assert drawn[:, 2].max() > 0.75
    assert (drawn[:, 1] + drawn[:, 2] >= 0.9 - 1e-9).all()

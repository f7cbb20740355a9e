"""The solver: what it finds is checked, what it rules out stays ruled out."""

from __future__ import annotations

import numpy as np
import pytest

from effort import effort
from isonomia.errors import NumericalError
from isonomia.interventions import Constraint, Feature, Interventions, Linear, Linkage, OneHot
from isonomia.interventions.blocks import FeatureBlock, blocks_of, tightened
from isonomia.interventions.parts import RejectionPart, solve
from isonomia.interventions.polytopes import slices_of

REAL = tuple(Feature(name, "real", 0, 10) for name in "xy")


def block(features: tuple[Feature, ...], *constraints: Constraint) -> FeatureBlock:
    (found,) = blocks_of(features, constraints)
    return found


def test_ranges_are_drawn_in_to_what_the_rows_allow() -> None:
    one = block(REAL, Linear(("x", "y"), (1, 2), "<=", 1))
    ends = tightened(one, np.zeros(2))
    assert ends is not None
    assert ends[0] == pytest.approx([0, 0])
    assert ends[1] == pytest.approx([1, 0.5], abs=1e-5)
    assert (ends[1] >= [1, 0.5]).all()


def test_a_kept_bound_is_that_of_the_feature_and_not_of_the_drawn_in_box() -> None:
    features = (Feature("s", "real", 0, 1), Feature("t", "real", 0, 10))
    rules = Linkage("s", ("t",), (5,), keep_bounds=True), Linear(("s", "t"), (0, 1), ">=", 9)
    one = block(features, *rules)
    start = np.asarray([0.0, 9.5])
    ends = tightened(one, start)
    assert ends is not None
    pieces = slices_of(one, start, *ends)
    acted = pieces.draw(500, np.random.default_rng(0))
    ended = acted[:, 1] + 5 * acted[:, 0]
    assert ((ended >= 9 - 1e-9) & (ended <= 10 + 1e-9)).all()
    assert acted[:, 0].max() > 0.9  # only because t's own action may take it far below 9


def test_too_many_pieces_are_refused_with_what_to_do() -> None:
    features = (Feature("x", "real", 0, 1), *(Feature(f"n{j}", "integer", 0, 99) for j in range(3)))
    one = block(features, Linear(tuple(f.name for f in features), (1, 1, 1, 1), "<=", 300))
    boxes = one.ranges(np.zeros((1, 4)))
    with pytest.raises(NumericalError, match="more than 100,000 pieces; give the whole features fewer values"):
        slices_of(one, np.zeros(4), boxes[0][0], boxes[1][0])


def test_a_huge_block_is_not_grown_in_vain() -> None:
    features = (
        Feature("tweets", "integer", 0, 35_000, direction="up"),
        Feature("urls", "integer", 0, 13_013, actionable=False),
    )
    rules = Interventions(features, (Linkage("tweets", ("urls",), (1,), "<="),))
    rng = np.random.default_rng(0)
    people = {"tweets": rng.integers(0, 3_000, 2_000), "urls": rng.integers(0, 3_000, 2_000)}
    with effort() as spent:
        sets = rules.reach(people)
        drawn = sets.sample(20, rng)
    assert spent.seconds < 5
    assert isinstance(sets.parts[0], RejectionPart)
    change = drawn.values - np.column_stack([people["tweets"], people["urls"]])[drawn.owner]
    assert (change >= 0).all()
    assert (change[:, 1] <= change[:, 0]).all()


def test_a_long_one_hot_encoding_is_listed_though_its_box_is_huge() -> None:
    features = tuple(Feature(f"d{j}", "binary") for j in range(40))
    sets = Interventions(features, (OneHot(tuple(f.name for f in features)),)).reach(
        {f.name: [int(j == 3)] for j, f in enumerate(features)}
    )
    assert sets.count(0) == 40


def test_rows_that_no_whole_numbers_satisfy_are_recognised() -> None:
    # HiGHS with its presolve gives up on this one.
    features = (
        Feature("a", "integer", -1, -1, actionable=False),
        Feature("b", "integer", -1, 1, actionable=False),
        Feature("c", "integer", 0, 0),
    )
    rule = Linear(("a", "b", "c"), (0.5, -1, -1), "==", 0)
    assert Interventions(features, (rule,)).contradiction() == (rule,)


def test_one_feature_of_too_many_values_is_refused_before_they_are_written_out() -> None:
    features = (Feature("x", "real", 0, 1), Feature("n", "integer", 0, 10_000_000))
    one = block(features, Linear(("x", "n"), (1, 1), "<=", 10_000_000))
    with pytest.raises(NumericalError, match="give the whole features fewer values"):
        slices_of(one, np.zeros(2), np.zeros(2), np.asarray([1.0, 1e7]))


def test_rows_that_nothing_satisfies_allow_no_move_and_leave_everybody_where_they_are() -> None:
    one = block(REAL, Linear(("x", "y"), (1, 1), ">=", 30))
    start = np.asarray([10.0, 10.0])
    assert tightened(one, start) is None
    (part,) = solve(one, start[None])
    assert part.counts().tolist() == [1]
    assert part.draw(3, np.random.default_rng(0)).tolist() == [[[10, 10]] * 3]


def test_a_box_that_the_rows_rule_out_leaves_only_staying_put() -> None:
    features = (Feature("x", "real", 0, 1), Feature("n", "integer", 0, 9))
    one = block(features, Linear(("x", "n"), (0, 1), "<=", 3), Linear(("x", "n"), (1, 1), "<=", 9))
    pieces = slices_of(one, np.zeros(2), np.asarray([0.0, 5.0]), np.asarray([1.0, 5.0]))
    assert [piece.dimension for piece in pieces.slices] == [0]
    assert pieces.draw(2, np.random.default_rng(0)).tolist() == [[0, 0]] * 2

"""Reachable sets: counted without being built, listed in order, taken apart, stored."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import NumericalError, UsageError
from isonomia.interventions import (
    Condition,
    Feature,
    IfThen,
    Interventions,
    Linear,
    Linkage,
    Memory,
    OneHot,
    Predicate,
    ReachableSets,
)
from isonomia.interventions import blocks as enumeration
from isonomia.interventions import polytopes as proposals
from isonomia.interventions.blocks import blocks_of
from isonomia.interventions.parts import ListedPoints, PolytopePoints, RangePart, RejectionPart
from raising import raises

COUNT = Feature("count", "integer", 0, 4)
DUMMIES = tuple(Feature(f"d{j}", "binary") for j in range(3))
AGE = Feature("age", "integer", 18, 90, actionable=False)
RULES = Interventions((COUNT, *DUMMIES, AGE), (OneHot(("d0", "d1", "d2")), Linkage("count", ("age",))))
PEOPLE = {
    "count": [0, 4, 2],
    "d0": [1, 0, 0],
    "d1": [0, 1, 0],
    "d2": [0, 0, 1],
    "age": [30, 40, 50],
    "name": list("xyz"),
}


def sets() -> ReachableSets:
    return RULES.reach(PEOPLE)


def test_points_are_counted_without_being_built() -> None:
    wide = Interventions(tuple(Feature(f"f{j}", "integer", 0, 9_999) for j in range(20)))
    found = wide.reach({f"f{j}": [5] for j in range(20)})
    assert found.count(0) == 10_000**20
    assert found.counts()[0] == pytest.approx(1e80)
    with raises(UsageError, 1e80):
        found.points()
    with raises(UsageError, 45, 40, "most=40"):
        sets().points(most=40)


def test_the_points_of_a_person_lie_together_and_are_all_different() -> None:
    points = sets().points()
    assert points.owner.tolist() == [0] * 15 + [1] * 15 + [2] * 15
    assert len(np.unique(np.column_stack([points.owner, points.values]), axis=0)) == 45
    assert (points.values[:, 4] - points.values[:, 0] == np.repeat([30, 36, 48], 15)).all()


def test_some_points_can_be_taken_in_any_order() -> None:
    points = sets().points()
    some = points.take(np.asarray([44, 0]))
    assert some.owner.tolist() == [2, 0]
    assert np.array_equal(some.values, points.values[[44, 0]])


def test_the_points_of_a_huge_product_are_gone_through_a_few_at_a_time() -> None:
    wide = Interventions(tuple(Feature(f"f{j}", "integer", 0, 9) for j in range(12)))
    first = next(wide.reach({f"f{j}": [5] for j in range(12)}).chunks(1_000))
    assert len(np.unique(first.values, axis=0)) == len(first) == 1_000


@pytest.mark.parametrize("size", [1, 7, 15, 20, 100])
def test_chunks_are_the_points_in_order(size: int) -> None:
    parts = list(sets().chunks(size))
    assert max(map(len, parts)) <= size
    assert np.array_equal(np.concatenate([part.values for part in parts]), sets().points().values)
    assert np.array_equal(np.concatenate([part.owner for part in parts]), sets().points().owner)


def test_points_become_a_table_with_the_peoples_other_columns() -> None:
    table = sets().points([2, 0]).table()
    assert table.names == tuple(PEOPLE)
    assert table.column("name").tolist() == ["z"] * 15 + ["x"] * 15
    assert table.column("count").dtype == np.int64
    assert sets().points([1]).columns(["age", "name"]).names == ("age", "name")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_points_are_a_table_of_the_peoples_own_kind_with_the_same_values_as_plain_columns(kind: str) -> None:
    library = pytest.importorskip(kind)
    people = library.table(PEOPLE) if kind == "pyarrow" else library.DataFrame(PEOPLE)
    points = RULES.reach(people).points([2, 0])
    table = points.table()
    assert isinstance(table.native, type(people))
    assert table.names == points.columns().names == tuple(PEOPLE)
    for name in table.names:
        assert table.column(name).tolist() == points.columns().column(name).tolist()
    assert table.column("name").tolist() == ["z"] * 15 + ["x"] * 15
    assert set(table.column("count").tolist()) == {0, 1, 2, 3, 4}


def test_some_people_are_taken_in_any_order_and_more_than_once() -> None:
    taken = sets().take([2, 2, 0])
    assert np.array_equal(taken.points([1]).values, sets().points([2]).values)
    assert np.array_equal(taken.points([2]).values, sets().points([0]).values)
    with raises(UsageError, 0, 2, "[3]"):
        sets().take([3])


def test_draws_of_some_people_say_whose_they_are_and_lie_among_their_points() -> None:
    drawn = sets().sample(50, np.random.default_rng(0), [2, 0])
    assert drawn.owner.tolist() == [2] * 50 + [0] * 50
    for person in (0, 2):
        reachable = set(map(tuple, sets().points([person]).values.tolist()))
        assert set(map(tuple, drawn.values[drawn.owner == person].tolist())) <= reachable
    assert drawn.table().column("name").tolist() == ["z"] * 50 + ["x"] * 50


def test_the_same_seed_gives_the_same_draws() -> None:
    first, second = (sets().sample(9, np.random.default_rng(7)).values for _ in range(2))
    assert np.array_equal(first, second)


def test_people_who_are_alike_in_a_block_share_its_points() -> None:
    many = {name: values * 100 for name, values in PEOPLE.items()}
    (listed,) = [
        part for part in RULES.reach(many).parts if isinstance(part, ListedPoints) and len(part.block.columns) == 3
    ]
    assert len(listed.table) == 9


def test_what_does_nothing_but_receive_effects_does_not_tell_people_apart() -> None:
    people = {**{name: values * 50 for name, values in PEOPLE.items()}, "age": list(range(18, 168))}
    parts = [part for part in RULES.reach(people).parts if isinstance(part, ListedPoints) and part.block.pushed]
    assert len(parts[0].table) == 15


def test_a_memory_is_used_and_stored_and_changes_nothing() -> None:
    memory = Memory()
    first = RULES.reach(PEOPLE, memory).points().values
    again = Memory.from_bytes(memory.to_bytes())
    assert {name: set(kept) for name, kept in again.known.items()} == {n: set(k) for n, k in memory.known.items()}
    assert np.array_equal(RULES.reach(PEOPLE, again).points().values, first)
    assert np.array_equal(RULES.reach(PEOPLE).points().values, first)
    assert sum(map(len, again.known.values())) == sum(map(len, memory.known.values())) == 6


def test_a_memory_is_not_used_for_another_constraint() -> None:
    memory = Memory()
    RULES.reach(PEOPLE, memory)
    loose = Interventions(RULES.features, (OneHot(("d0", "d1", "d2"), 1, "<="), RULES.constraints[1]))
    assert loose.reach(PEOPLE, memory).counts().tolist() == [20, 20, 20]


def test_a_large_block_of_whole_numbers_is_drawn_from_by_proposals() -> None:
    features = tuple(Feature(name, "integer", 0, 999) for name in "xyz")
    found = Interventions(features, (Linear(tuple("xyz"), (1, 1, 1), "<=", 999),)).reach({n: [0, 9] for n in "xyz"})
    assert [type(part) for part in found.parts] == [RejectionPart]
    assert found.count(0) is None
    with pytest.raises(UsageError, match="cannot be listed"):
        found.points()
    drawn = found.sample(3_000, np.random.default_rng(0))
    assert (drawn.values.sum(1) <= 999).all()
    assert drawn.values.mean(0) == pytest.approx([249.75] * 3, abs=15)


def test_real_features_that_nothing_couples_are_drawn_from_their_ranges() -> None:
    found = Interventions((Feature("x", "real", 0, 10, rise_share=0.1, fall_share=0.1),)).reach({"x": [5.0, 0.0]})
    assert isinstance(found.parts[0], RangePart)
    assert found.count(0) is None
    assert found.count(1) == 1
    drawn = found.sample(1_000, np.random.default_rng(0))
    mine = drawn.values[drawn.owner == 0]
    assert mine.min() >= 4.5
    assert mine.max() <= 5.5
    assert mine.min() == pytest.approx(4.5, abs=0.01)
    assert (drawn.values[drawn.owner == 1] == 0).all()


def test_linkages_in_a_circle_are_drawn_from_by_their_actions() -> None:
    features = (Feature("x", "real", 0, 1), Feature("y", "real", 0, 1))
    rules = Interventions(features, (Linkage("x", ("y",)), Linkage("y", ("x",))))
    drawn = rules.reach({"x": [0.0], "y": [0.0]}).sample(20_000, np.random.default_rng(0)).values
    assert np.allclose(drawn[:, 0], drawn[:, 1])
    assert np.mean(drawn[:, 0] <= 1.0) == pytest.approx(0.5, abs=0.02)  # the sum of two uniform actions
    assert np.mean(drawn[:, 0] <= 0.5) == pytest.approx(0.125, abs=0.02)


def test_a_predicate_that_hardly_anything_satisfies_is_given_up_with_a_reason() -> None:
    features = (Feature("x", "real", 0, 1), Feature("y", "real", 0, 1))
    found = Interventions(features, (Predicate("x == 0 or x * y > 1"),)).reach({"x": [0.0], "y": [0.0]})
    with pytest.raises(NumericalError, match="linear"):
        found.sample(10, np.random.default_rng(0))


def test_real_features_that_constraints_leave_no_room_are_listed() -> None:
    features = (Feature("b", "binary"), Feature("x", "real", 0, 1))
    rules = (
        IfThen(Condition("b", "==", 1), Condition("x", "==", 0.5)),
        IfThen(Condition("b", "==", 0), Condition("x", "==", 0)),
    )
    found = Interventions(features, rules).reach({"b": [0], "x": [0.0]})
    assert found.count(0) == 2
    assert found.points().values.tolist() == [[0, 0], [1, 0.5]]
    assert not any(isinstance(part, PolytopePoints | RejectionPart) for part in found.parts)


def test_a_linkage_from_what_nobody_can_act_on_couples_nothing() -> None:
    features = (Feature("s", "integer", 0, 9, actionable=False), Feature("t", "integer", 0, 1_000_000_000))
    found = Interventions(features, (Linkage("s", ("t",)),)).reach({"s": [3], "t": [5]})
    assert found.count(0) == 1_000_000_001
    assert isinstance(found.parts[0], RangePart)


def test_people_of_few_points_are_listed_beside_others_who_are_drawn_from() -> None:
    features = (*(Feature(name, "integer", 0, 999, direction="up") for name in "xyz"), Feature("b", "binary"))
    rules = Interventions(features, (Linear(tuple("xyz"), (1, 1, 1), "<=", 999),))
    found = rules.reach({"x": [333, 0], "y": [333, 0], "z": [332, 0], "b": [0, 1]})
    assert {type(part) for part in found.parts} == {ListedPoints, RejectionPart, RangePart}
    ways = {(333, 333, 332), (334, 333, 332), (333, 334, 332), (333, 333, 333)}
    assert set(map(tuple, found.points([0]).values.tolist())) == {(*way, b) for way in ways for b in (0, 1)}
    again = found.take([1, 0, 1])
    assert again.counts().tolist() == [np.inf, 8, np.inf]
    drawn = again.sample(200, np.random.default_rng(0), [2])
    assert (drawn.values[:, :3].sum(1) <= 999).all()


def test_people_whose_points_are_cut_into_polytopes_are_taken() -> None:
    features = tuple(Feature(name, "real", 0, 1) for name in "xy")
    rules = Interventions(features, (Linear(("x", "y"), (1, 1), "==", 1),))
    found = rules.reach({"x": [0.0, 1.0], "y": [1.0, 0.0]})
    assert {type(part) for part in found.parts} == {PolytopePoints}
    assert found.counts().tolist() == [np.inf, np.inf]
    assert not found.approximate().any()
    taken = found.take([1, 1])
    assert len(taken) == 2
    assert taken.sample(50, np.random.default_rng(0)).values.sum(1) == pytest.approx(np.ones(100))


def test_tables_that_do_not_fit_together_are_grown_one_half_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    features = (*(Feature(name, "integer", 0, 5) for name in "xy"),)
    rules = Interventions(features, (Linear(("x", "y"), (1, 1), "<=", 6),))
    people = {"x": [0, 1, 2, 3, 4], "y": [2, 1, 0, 2, 1]}
    together = rules.reach(people).points()
    monkeypatch.setattr(enumeration, "_TABLE", 40)
    apart = rules.reach(people).points()
    assert np.array_equal(apart.values, together.values)
    assert np.array_equal(apart.owner, together.owner)


def test_proposals_that_are_refused_on_end_are_given_up_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    features = (Feature("x", "real", 0, 1), Feature("y", "real", 0, 1))
    (block,) = blocks_of(features, (Predicate("x * y > 1"),))
    monkeypatch.setattr(proposals, "_MAX_TRIES", 1_000)
    with raises(NumericalError, ("x", "y"), 1024):
        proposals.draw_by_proposals(block, proposals.Boxes.of(block, np.zeros((1, 2))), 5, np.random.default_rng(0))

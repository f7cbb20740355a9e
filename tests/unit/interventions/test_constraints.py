"""Constraints: every file is registered, bad arguments are refused, and what a start breaks is told in words."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isonomia.errors import DataError, SpecError, UsageError
from isonomia.interventions import (
    CONSTRAINTS,
    EFFECTS,
    AdditiveLinkage,
    Condition,
    Constraint,
    Feature,
    IfChanged,
    IfThen,
    Interventions,
    Linear,
    Linkage,
    MutabilitySwitch,
    OneHot,
    Ordinal,
    Predicate,
    Reachability,
    Thermometer,
    constraints,
    effects,
)
from isonomia.interventions.blocks import blocks_of, enumerate_moves, program_of
from raising import raises

AB = (Feature("a", "integer", 0, 3), Feature("b", "integer", 0, 3))


def members(package: Any, attribute: str) -> set[Any]:
    """Every class of a package's files, or of one module, that says what it is called in a file."""
    files = Path(package.__file__).parent.glob("[!_]*.py") if hasattr(package, "__path__") else ()
    modules = [package, *(import_module(f"{package.__name__}.{path.stem}") for path in files)]
    return {
        item
        for module in modules
        for item in vars(module).values()
        if isinstance(item, type) and item.__module__ == module.__name__ and "kind" in vars(item)
        if hasattr(item, attribute)
    }


def test_every_constraint_in_a_file_is_registered_under_its_own_name() -> None:
    assert members(constraints, "takes_categories") == set(CONSTRAINTS.values())
    assert all(kind == constraint.kind for kind, constraint in CONSTRAINTS.items())


def test_every_effect_in_a_file_is_registered_under_its_own_name() -> None:
    assert members(effects, "respond") == set(EFFECTS.values())
    assert all(kind == effect.kind for kind, effect in EFFECTS.items())


BROKEN: list[tuple[Constraint, dict[str, Any], str]] = [
    (OneHot(("a", "b")), {"a": 1, "b": 1}, r"one-hot constraint \(exactly 1 of a, b\): a = 1, b = 1"),
    (OneHot(("a", "b"), 1, "<="), {"a": 2, "b": 0}, "at most 1 of a, b"),
    (Ordinal(("a", "b")), {"a": 0, "b": 0}, "exactly one of the increasing levels a, b"),
    (Thermometer(("a", "b")), {"a": 0, "b": 1}, "a, b are ones followed by zeros"),
    (Reachability(("a", "b"), ((0, 0), (1, 1)), ((1, 1), (0, 1))), {"a": 0, "b": 1}, "is one of 2 listed values"),
    (MutabilitySwitch("a", ("b",)), {"a": 1, "b": 2}, "if a == 1 then b cannot change"),
    (MutabilitySwitch("a", ("b",), 1, True), {"a": 0, "b": 0}, "otherwise one of them must change"),
    (IfThen(Condition("a", "==", 0), Condition("b", ">=", 1)), {"a": 0, "b": 0}, "if a == 0 then b >= 1"),
    (Linear(("a", "b"), (1, 2), "<=", 3), {"a": 2, "b": 1}, r"1 \* a \+ 2 \* b <= 3"),
    (Predicate("a * b <= 1"), {"a": 2, "b": 2}, r"a \* b <= 1"),
]


@pytest.mark.parametrize(("constraint", "values", "told"), BROKEN, ids=lambda part: getattr(part, "kind", ""))
def test_a_start_that_breaks_a_constraint_is_refused_with_its_name_and_the_values(
    constraint: Constraint, values: dict[str, Any], told: str
) -> None:
    with pytest.raises(DataError, match=told) as caught:
        Interventions(AB, (constraint,)).reach({name: [value] for name, value in values.items()})
    assert "row 0" in str(caught.value)
    assert constraint.kind in str(caught.value)
    for name, value in values.items():
        assert f"{name} = {value}" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: OneHot(("a", "a")), "has 'a' twice"),
        (lambda: OneHot(()), "should be names of features"),
        (
            lambda: OneHot(("a",), sense=">="),
            "sense of the one-hot constraint should be one of '==', '<=', but it is '>='",
        ),
        (lambda: OneHot(("a",), limit="one"), "limit of the one-hot constraint should be a finite number"),
        (lambda: Ordinal(("a",), exhaustive=1), "exhaustive of the ordinal constraint should be true or false"),
        (lambda: Reachability(("a",), ((0,), (0,)), ((1, 0), (0, 1))), "should be distinct"),
        (lambda: Reachability(("a",), ((0,), (1,)), ((1, 0),)), "as 2 rows of 2 zeros and ones"),
        (lambda: Reachability(("a", "b"), ((0,),), ((1,),)), "one entry for each of a, b"),
        (lambda: MutabilitySwitch("a", ("a",)), "also one of its targets"),
        (lambda: Linkage("a", ("b",), (1, 2)), "scales of the linkage constraint should be 1 numbers"),
        (lambda: Linkage("a", ("a",)), "also one of its targets"),
        (lambda: AdditiveLinkage("a", ("b", "a")), "also one of its targets"),
        (lambda: Linear(("a",), (float("inf"),), "<=", 1), "should be a finite number, but it is inf"),
        (lambda: IfThen(Condition("a", "==", 1), Condition("a", "==", 2)), "should couple two features"),
        (lambda: IfChanged(Condition("a", "==", 1), Condition("a", "==", 2)), "should couple two features"),
        (lambda: Condition("", "==", 1), "should be a feature's, but it is ''"),
        (lambda: Condition("a", "=", 1), "relation of the conditional constraint should be one of"),
        (lambda: Condition("a", "in", ()), "should be a list with an entry"),
        (lambda: Predicate(), "either a condition or a test"),
        (lambda: Predicate("prediction == 1 and score > 0"), "about features only"),
    ],
)
def test_a_constraint_that_makes_no_sense_is_refused(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make()


def test_a_predicate_with_a_mistake_in_its_text_shows_where() -> None:
    with raises(SpecError, "<=", at="<="):
        Predicate("a <= <= 1")


def test_a_predicate_of_ones_own_sees_where_people_start_and_where_they_end() -> None:
    def no_swap(before: Any, after: Any) -> Any:
        return ~((after["a"] == before["b"]) & (after["b"] == before["a"]) & (before["a"] != before["b"]))

    sets = Interventions(AB, (Predicate(test=no_swap, names=("a", "b")),)).reach({"a": [0], "b": [1]})
    assert sets.count(0) == 15
    assert [1.0, 0.0] not in sets.points().values.tolist()


def test_a_test_that_gives_something_else_than_a_truth_value_a_row_is_refused() -> None:
    rule = Predicate(test=lambda before, after: True, names=("a", "b"))  # noqa: ARG005
    with raises(UsageError, 1, "bool", "()"):
        Interventions(AB, (rule,)).reach({"a": [0], "b": [1]})


JOB = Feature("job", "categorical", values=("none", "clerk", "boss"))


def test_rules_speak_of_categories_by_their_names() -> None:
    rule = IfThen(Condition("job", "in", ("clerk", "boss")), Condition("a", ">=", 2))
    sets = Interventions((JOB, AB[0]), (rule,)).reach({"job": ["none"], "a": [0]})
    table = sets.points().table()
    pairs = set(zip(table.column("job").tolist(), table.column("a").tolist(), strict=True))
    assert pairs == {("none", 0), ("none", 1), ("none", 2), ("none", 3)} | {
        (job, a) for job in ("clerk", "boss") for a in (2, 3)
    }


def test_a_predicate_compares_categories_as_text() -> None:
    sets = Interventions((JOB, AB[0]), (Predicate("job == 'none' or a == 3"),)).reach({"job": ["none"], "a": [0]})
    assert sets.count(0) == 6


def test_reachability_and_switches_take_categories() -> None:
    once = Reachability(("job",), (("none",), ("clerk",), ("boss",)), ((1, 1, 0), (0, 1, 1), (0, 0, 1)))
    assert Interventions((JOB,), (once,)).reach({"job": ["none", "clerk", "boss"]}).counts().tolist() == [2, 2, 1]
    switch = MutabilitySwitch("job", ("a",), "none")
    assert Interventions((JOB, AB[0]), (switch,)).reach({"job": ["clerk"], "a": [1]}).count(0) == 9


def test_an_unknown_category_is_refused_with_the_nearest() -> None:
    with raises(UsageError, "job", "none", "boss", meant="clerk"):
        Interventions((JOB, AB[0]), (IfThen(Condition("job", "==", "clrk"), Condition("a", "==", 1)),))


def test_numbers_are_needed_where_a_constraint_adds_up() -> None:
    with raises(UsageError, name="job"):
        Interventions((JOB, AB[0]), (OneHot(("job", "a")),))


def test_a_linkage_by_at_most_so_much_moves_what_nobody_can_act_on() -> None:
    urls = Feature("urls", "integer", 0, 5, actionable=False)
    tweets = Feature("tweets", "integer", 0, 2)
    sets = Interventions((tweets, urls), (Linkage("tweets", ("urls",), (1,), "<="),)).reach(
        {"tweets": [0], "urls": [4]}
    )
    assert set(map(tuple, sets.points().values.tolist())) == {(0, 4), (1, 4), (1, 5), (2, 4), (2, 5)}
    sets = Interventions((tweets, urls), (Linkage("tweets", ("urls",), (1,), ">="),)).reach(
        {"tweets": [0], "urls": [2]}
    )
    assert set(map(tuple, sets.points().values.tolist())) == {(0, 2), (1, 3), (1, 4), (1, 5), (2, 4), (2, 5)}


def test_such_a_target_must_not_be_actionable_as_well() -> None:
    with pytest.raises(UsageError, match="moves 'b' by its own amount"):
        Interventions(AB, (Linkage("a", ("b",), (1,), "<="),))


def test_linkages_in_a_circle_reach_each_point_once() -> None:
    there, back = Linkage("a", ("b",)), Linkage("b", ("a",))
    sets = Interventions(AB, (there, back)).reach({"a": [0], "b": [0]})
    # Both features change by the sum of the two actions, which is 0 to 6.
    assert sorted(map(tuple, sets.points().values.tolist())) == [(k, k) for k in range(7)]


def test_a_code_that_strays_stays_where_it_is() -> None:
    bits = (Feature("a", "binary"), Feature("b", "binary"))
    sets = Interventions(bits, (Thermometer(("a", "b"), keep_invalid=True),)).reach({"a": [0, 0], "b": [1, 0]})
    assert sets.counts().tolist() == [1, 3]


def test_every_constraint_reads_as_a_sentence() -> None:
    for constraint, _, _ in BROKEN:
        assert all(name in constraint.words() for name in constraint.names)
        assert not constraint.words().endswith(".")


def test_a_condition_that_must_be_numbers_says_so() -> None:
    with raises(UsageError, "a", "x"):
        Interventions(AB, (IfThen(Condition("a", "==", "x"), Condition("b", "==", 1)),))


def test_intervals_of_a_condition_cover_the_range_without_overlap() -> None:
    for relation in ("==", "!=", ">=", "<=", ">", "<"):
        for value in (-1, 0, 1.5, 2, 9):
            condition = Condition("a", relation, value)  # type: ignore[arg-type]
            true, false = condition.intervals(0.0, 3.0, whole=True)
            inside = [[any(a <= v <= b for a, b in part) for v in range(4)] for part in (true, false)]
            assert inside[0] == condition.true(np.arange(4.0)).tolist()
            assert inside[1] == (~condition.true(np.arange(4.0))).tolist()


def test_a_rule_about_the_end_waits_for_everything_that_pushes_it() -> None:
    features = (*AB, Feature("c", "integer", 0, 3), Feature("d", "integer", 0, 3))
    # The rule couples a and b alone, is complete as soon as they are, and yet depends on c and d, which push b.
    rules = (Linear(("a", "b"), (1, 1), "<=", 3), Linkage("c", ("b",)), Linkage("d", ("b",), (-1,)))
    points = Interventions(features, rules).reach({"a": [0], "b": [1], "c": [1], "d": [1]}).points().values
    expected = {
        (a, b + (c - 1) - (d - 1), c, d) for a, b, c, d in product(range(4), repeat=4) if a + b + (c - 1) - (d - 1) <= 3
    }
    assert set(map(tuple, points.tolist())) == expected


def test_a_predicate_asked_of_nobody_answers_nobody() -> None:
    def never(before: object, after: object) -> object:
        raise AssertionError(f"called with {before} and {after}")

    assert Predicate(test=never, names=("a",)).accepts(np.zeros((0, 1))).shape == (0,)


SMALL = (*(Feature(f"n{j}", "integer", 0, 2) for j in range(3)), *(Feature(f"b{j}", "binary") for j in range(3)))


@pytest.mark.parametrize(
    ("rule", "start"),
    [
        (AdditiveLinkage("n0", ("n1", "n2"), (1.0, 2.0), ">=", -1.0), (1, 1, 1)),
        (IfChanged(Condition("n0", ">", 0), Condition("n1", "<=", 0)), (1, 1, 1)),
        (IfChanged(Condition("n0", "!=", 0), Condition("n1", "!=", 1)), (1, 1, 1)),
        (IfChanged(Condition("n0", "<", 0), Condition("n1", ">", 0)), (1, 1, 1)),
        (IfThen(Condition("n0", "!=", 1), Condition("n1", "<", 2)), (1, 1, 1)),
        (IfThen(Condition("n0", "in", (0, 2)), Condition("n1", ">=", 1)), (1, 1, 1)),
        (Linkage("n0", ("n1",), (1.0,), keep_bounds=True), (1, 1, 1)),
        (MutabilitySwitch("n0", ("n1", "n2"), on=2, must_change=True), (1, 1, 1)),
        (Ordinal(("b0", "b1", "b2"), direction="up"), (0, 1, 0)),
        (Ordinal(("b0", "b1", "b2"), exhaustive=False, direction="down"), (0, 1, 0)),
        (Reachability(("n0", "n1"), ((1, 1), (0, 2), (2, 0)), ((1, 1, 0), (0, 1, 1), (0, 0, 1))), (1, 1, 1)),
        (Thermometer(("b0", "b1", "b2"), keep_invalid=True), (0, 1, 0)),
        (Thermometer(("b0", "b1", "b2"), direction="up"), (1, 0, 0)),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_pruned_values_and_linear_rows_allow_what_the_constraint_allows(rule: Any, start: tuple[int, ...]) -> None:
    features = tuple(feature for feature in SMALL if feature.name[0] == rule.names[0][0])
    names = [feature.name for feature in features]
    (block,) = (one for one in blocks_of(features, (rule,)) if one.constraints)
    here = np.asarray([start], dtype=float)[:, list(block.columns)]
    grid = np.asarray(list(product(*(range(int(f.high or 1) + 1) for f in block.features))), dtype=float)
    begin = np.repeat(here, len(grid), axis=0)
    moves = block.moves(begin, grid, *block.ranges(begin))
    at = [[names[j] for j in block.columns].index(name) for name in rule.names]
    holds = rule.holds(moves.only(at))
    assert 0 < holds.sum() < len(grid)

    # Listed with pruning: every move that is allowed, staying put, and no other; one way to each point.
    listed = enumerate_moves(block, here).acted
    allowed = {tuple(point) for point in moves.ended[holds]} | {tuple(here[0])}
    ended = block.moves(np.repeat(here, len(listed), 0), listed, *block.ranges(here)).ended
    assert {tuple(point) for point in ended} == allowed
    assert len(listed) == len(allowed)

    program = program_of(block, here[0])
    choices = np.asarray(list(product((0.0, 1.0), repeat=len(program.whole) - len(here[0]))))
    for point, right in zip(grid, holds, strict=True):
        values = np.column_stack([np.tile(point, (len(choices), 1)), choices]) @ program.matrix.T
        found = ((values >= program.low - 1e-9) & (values <= program.high + 1e-9)).all(1).any()
        assert found == right or (found and not program.exact)


def test_a_condition_written_as_text_is_refused_with_what_to_write() -> None:
    with raises(UsageError, "posts", ">=", "posts >= 1"):
        IfThen("posts >= 1", Condition("n", "==", 1))  # type: ignore[arg-type]
    with raises(UsageError, "posts", ">=", 3):
        IfThen(Condition("n", "==", 1), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("relation", "value", "true"), [(">=", 2, True), ("<", 2, False), ("in", (1, 2), True)])
def test_a_range_of_one_value_is_one_part(relation: Any, value: Any, true: bool) -> None:
    parts = Condition("a", relation, value).intervals(2.0, 2.0, whole=True)
    assert parts == (([(2.0, 2.0)], []) if true else ([], [(2.0, 2.0)]))


def test_rules_about_changes_say_nothing_of_where_people_are() -> None:
    rules = (
        AdditiveLinkage("n0", ("n1",)),
        IfChanged(Condition("n0", ">", 0), Condition("n1", "<=", 0)),
        Linkage("n0", ("n2",), (1.0,), keep_bounds=True),
    )
    assert Interventions(SMALL, rules).contradiction() == ()
    never = Linear(("n0", "n1"), (1.0, 1.0), ">=", 5.0)
    assert Interventions(SMALL, (*rules, never)).contradiction() == (never,)

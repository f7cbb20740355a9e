"""Reachable sets of random small interventions, against brute force over every combination of actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.errors import DataError, UsageError
from isonomia.interventions import (
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
)
from isonomia.interventions.blocks import (
    Boxes,
    blocks_of,
    enumerate_moves,
    program_of,
    tightened,
)
from isonomia.interventions.constraints.base import Moves
from isonomia.interventions.parts import solve
from isonomia.interventions.polytopes import accepted_share, slices_of

SENSES = st.sampled_from(["==", ">=", "<="])
WAYS = st.sampled_from(["both", "up", "down"])
SMALL = st.integers(-2, 2)
COMPARE = {
    "==": lambda a, b: abs(a - b) < 1e-9,
    "!=": lambda a, b: abs(a - b) >= 1e-9,
    ">=": lambda a, b: a >= b - 1e-9,
    "<=": lambda a, b: a <= b + 1e-9,
    ">": lambda a, b: a > b + 1e-9,
    "<": lambda a, b: a < b - 1e-9,
    "in": lambda a, b: any(abs(a - one) < 1e-9 for one in b),
}


@st.composite
def features(draw: st.DrawFn, index: int) -> Feature:
    name, actionable = f"f{index}", draw(st.booleans()) or draw(st.booleans())
    if draw(st.booleans()):
        return Feature(name, "binary", actionable=actionable, direction=draw(WAYS))
    low = draw(st.integers(-2, 0))
    rise, fall = (draw(st.one_of(st.none(), st.integers(0, 2))) for _ in range(2))
    share = draw(st.one_of(st.none(), st.sampled_from([0.5, 1.0])))
    high = low + draw(st.integers(0, 3))
    way = draw(WAYS)  # no limit against it
    rise, share = (None, None) if way == "down" else (rise, share)
    return Feature(name, "integer", low, high, actionable, way, rise, None if way == "up" else fall, share)


@st.composite
def conditions(draw: st.DrawFn, name: str) -> Condition:
    relation = draw(st.sampled_from(sorted(COMPARE)))
    value = tuple(draw(st.lists(SMALL, min_size=1, max_size=2))) if relation == "in" else draw(SMALL)
    return Condition(name, relation, value)  # type: ignore[arg-type]


@st.composite
def constraints(draw: st.DrawFn, known: tuple[Feature, ...], kinds: Sequence[str] = ()) -> Constraint:
    order = draw(st.permutations([feature.name for feature in known]))
    names = tuple(order[: draw(st.integers(2, min(3, len(order))))])
    source, *rest = names
    targets = tuple(rest)
    weights = tuple(float(draw(st.sampled_from([-1, 1, 2, 0.5]))) for _ in names)
    kind = draw(st.sampled_from(kinds or KINDS))
    match kind:
        case "one-hot":
            return OneHot(names, draw(st.integers(0, 2)), draw(st.sampled_from(["==", "<="])))
        case "ordinal":
            return Ordinal(names, draw(st.booleans()), draw(WAYS))
        case "thermometer":
            return Thermometer(names, draw(WAYS), draw(st.booleans()))
        case "reachability":
            values = draw(st.lists(st.tuples(*(SMALL for _ in names)), min_size=2, max_size=5, unique=True))
            matrix = [[draw(st.integers(0, 1)) for _ in values] for _ in values]
            return Reachability(names, tuple(values), tuple(map(tuple, matrix)))
        case "mutability-switch":
            return MutabilitySwitch(source, targets, draw(st.integers(0, 1)), draw(st.booleans()))
        case "if-then":
            return IfThen(draw(conditions(source)), draw(conditions(targets[0])))
        case "if-changed":
            return IfChanged(draw(conditions(source)), draw(conditions(targets[0])))
        case "linkage":
            way = draw(st.sampled_from(["keep_bounds", "clip", "neither"]))
            return Linkage(source, targets, weights[1:], keep_bounds=way == "keep_bounds", clip=way == "clip")
        case "at least":
            sense, jointly = draw(st.sampled_from([">=", "<="])), draw(st.booleans())
            return Linkage(
                source, targets, weights[1:], sense, clip=not jointly and draw(st.booleans()), jointly=jointly
            )
        case "additive-linkage":
            return AdditiveLinkage(source, targets, weights[1:], draw(SENSES), weights[0])
        case "linear":
            return Linear(names, weights, draw(SENSES), draw(SMALL))
        case _:
            return Predicate(f"{source} * {targets[0]} <= {draw(SMALL)} or {source} == {draw(SMALL)}")


KINDS = [
    "one-hot", "ordinal", "thermometer", "reachability", "mutability-switch", "if-then", "if-changed", "linkage",
    "at least", "additive-linkage", "linear", "predicate",
]  # fmt: skip

MIXED = ["mutability-switch", "if-then", "if-changed", "linkage", "at least", "additive-linkage", "linear"]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Interventions, list[int]]:
    known = tuple(draw(features(index)) for index in range(draw(st.integers(2, 4))))
    rules = draw(st.lists(constraints(known), min_size=draw(st.integers(0, 2)), max_size=3))
    freed = {name for rule in rules if isinstance(rule, Linkage) for name in rule.frees}
    known = tuple(
        Feature(f.name, f.kind, f.low, f.high, f.actionable and f.name not in freed, f.direction, f.rise, f.fall)
        if f.name in freed
        else f
        for f in known
    )
    seen: set[str] = set()
    kept = []
    for rule in rules:
        if isinstance(rule, Linkage) and seen & set(rule.frees):
            continue
        seen |= set(rule.frees) if isinstance(rule, Linkage) else set()
        kept.append(rule)
    interventions = Interventions(known, tuple(kept))
    grid = [list(x) for x in product(*(range(int(f.low or 0), int(f.high or 0) + 1) for f in known))]
    # Mostly somebody who is not refused, else little would be tried.
    accepted = [x for x in grid if can_start(interventions, x)]
    return interventions, draw(st.sampled_from(accepted if accepted and draw(st.integers(0, 9)) else grid))


def brute_force(interventions: Interventions, start: list[int]) -> set[tuple[float, ...]] | None:
    """Every reachable point; ``None`` where the start is refused."""
    law = brute_law(interventions, start)
    return None if law is None else set(law)


def brute_law(interventions: Interventions, start: list[int]) -> dict[tuple[float, ...], float] | None:
    """The probability of every reachable point, by trying every combination of actions; ``None`` for a refused start.

    In each block, doing nothing is allowed whatever the rules say. An action is as likely as any other; the effects of
    at least or at most some size that go with it share its probability, unless they are drawn jointly with actions.
    """
    if not can_start(interventions, start):
        return None
    place = {name: j for j, name in enumerate(interventions.names)}
    freed = {name for rule in interventions.constraints if isinstance(rule, Linkage) for name in rule.frees}
    spans = [
        own_actions(f, x, f.actionable or f.name in freed) for f, x in zip(interventions.features, start, strict=True)
    ]
    bounds = [(min(span), max(span)) for span in spans]
    blocks = joined(interventions)
    found: list[tuple[tuple[int, ...], tuple[float, ...]]] = []
    later = {
        name
        for rule in interventions.constraints
        if isinstance(rule, Linkage) and not rule.jointly
        for name in rule.frees
    }
    for actions in product(*spans):
        change = [float(a) for a in actions]
        for rule in interventions.constraints:
            if isinstance(rule, Linkage) and rule.sense == "==":
                for name, scale in zip(rule.targets, rule.scales, strict=True):
                    change[place[name]] += scale * actions[place[rule.source]]
        for rule in interventions.constraints:
            for name in rule.pushes if isinstance(rule, Linkage) and rule.clip else ():
                j = place[name]
                low, high = int(interventions.features[j].low or 0), int(interventions.features[j].high or 0)
                change[j] = min(max(change[j], min(low - start[j], 0)), max(high - start[j], 0))
        still = {name for names in blocks for name in names if not any(actions[place[n]] for n in names)}
        if all(
            rule.names[0] in still
            or allowed(
                rule,
                [start[place[n]] for n in rule.names],
                [actions[place[n]] for n in rule.names],
                [change[place[n]] for n in rule.names],
                [bounds[place[n]] for n in rule.names],
            )
            for rule in interventions.constraints
        ):
            own = tuple(0 if name in later else a for name, a in zip(interventions.names, actions, strict=True))
            found.append((own, tuple(round(x + c, 9) + 0.0 for x, c in zip(start, change, strict=True))))
    effects = Counter(own for own, _ in found)
    law: dict[tuple[float, ...], float] = {}
    for own, point in found:
        law[point] = law.get(point, 0.0) + 1 / (len(effects) * effects[own])
    return law


def joined(interventions: Interventions) -> list[set[str]]:
    """The features in blocks, by merging the names of rules until nothing changes."""
    blocks = [{name} for name in interventions.names]
    for rule in interventions.constraints:
        touched = [block for block in blocks if block & set(rule.names)]
        blocks = [block for block in blocks if block not in touched] + [set().union(*touched)]
    return blocks


def can_start(interventions: Interventions, start: list[int]) -> bool:
    values = dict(zip(interventions.names, start, strict=True))
    return all(may_start(rule, [values[name] for name in rule.names]) for rule in interventions.constraints)


def own_actions(feature: Feature, x: int, free: bool) -> list[int]:
    low, high = int(feature.low or 0) - x, int(feature.high or 0) - x
    if feature.fall is not None:
        low = max(low, -int(feature.fall))
    if feature.rise is not None:
        high = min(high, int(feature.rise))
    if feature.rise_share is not None:
        high = min(high, int(np.floor(feature.rise_share * abs(x) + 1e-12)))
    low = 0 if feature.direction == "up" or not free else low
    high = 0 if feature.direction == "down" or not free else high
    return list(range(low, high + 1))


def level(values: list[float], rule: Ordinal | Thermometer) -> int | None:
    """The level that dummies stand for; ``None`` for none."""
    on = [int(value == 1) for value in values]
    if any(value not in (0, 1) for value in values):
        return None
    if isinstance(rule, Thermometer):
        return sum(on) if on == sorted(on, reverse=True) else None
    if sum(on) > 1 or (sum(on) == 0 and rule.exhaustive):
        return None
    return on.index(1) + 1 if sum(on) else 0


def may_start(rule: Constraint, x: list[float]) -> bool:
    match rule:
        case OneHot():
            return COMPARE[rule.sense](sum(x), rule.limit)
        case Ordinal():
            return level(x, rule) is not None
        case Thermometer():
            return rule.keep_invalid or level(x, rule) is not None
        case Reachability():
            return tuple(x) in rule.values
        case MutabilitySwitch():
            if x[0] == rule.on:
                return all(value == 0 for value in x[1:])
            return not rule.must_change or all(value != 0 for value in x[1:])
        case IfThen():
            return not met(rule.when, x[0]) or met(rule.then, x[1])
        case Linear():
            return COMPARE[rule.sense](sum(w * v for w, v in zip(rule.coefficients, x, strict=True)), rule.bound)
        case Predicate():
            return predicate(rule, x)
        case _:
            return True


def allowed(rule: Constraint, x: list[int], a: Any, c: list[float], own: list[tuple[int, int]]) -> bool:
    acted = [v + w for v, w in zip(x, a, strict=True)]
    ended = [v + w for v, w in zip(x, c, strict=True)]
    match rule:
        case OneHot():
            return COMPARE[rule.sense](sum(acted), rule.limit)
        case Ordinal() | Thermometer():
            before, after = level(list(x), rule), level(acted, rule)
            if before is None:
                return not any(a)
            if after is None:
                return False
            return {"both": True, "up": after >= before, "down": after <= before}[rule.direction]
        case Reachability():
            values = rule.values
            return tuple(acted) in values and bool(rule.matrix[values.index(tuple(x))][values.index(tuple(acted))])
        case MutabilitySwitch():
            changed = any(a[1:])
            return not changed if acted[0] == rule.on else changed or not rule.must_change
        case IfThen():
            return not met(rule.when, ended[0]) or met(rule.then, ended[1])
        case IfChanged():
            return met(rule.then, a[1]) if met(rule.when, a[0]) else a[1] == 0
        case Linkage(sense="=="):
            return not rule.keep_bounds or all(lo <= v <= hi for v, (lo, hi) in zip(c[1:], own[1:], strict=True))
        case Linkage():
            sides = zip(rule.scales, a[1:], own[1:], strict=True)
            return all(sized(rule, s * a[0], e, span) for s, e, span in sides)
        case AdditiveLinkage():
            total = sum(w * v for w, v in zip(rule.coefficients, c[1:], strict=True))
            return COMPARE[rule.sense](rule.weight * a[0], total)
        case Linear():
            return COMPARE[rule.sense](sum(w * v for w, v in zip(rule.coefficients, ended, strict=True)), rule.bound)
        case Predicate():
            return predicate(rule, ended)
        case _:
            raise AssertionError(rule)


def sized(rule: Linkage, push: float, effect: float, span: tuple[int, int]) -> bool:
    if push == 0:
        return effect == 0
    if rule.clip:
        push = min(max(push, span[0]), span[1])
    same_way = effect * push >= 0
    return same_way and (abs(effect) >= abs(push) if rule.sense == ">=" else abs(effect) <= abs(push))


def met(condition: Condition, value: float) -> bool:
    return bool(COMPARE[condition.relation](value, condition.value))


def predicate(rule: Predicate, values: list[float]) -> bool:
    text = rule.condition
    for name, value in zip(rule.names, values, strict=True):
        text = text.replace(name, f"({value})")
    return bool(eval(text))


def starting(interventions: Interventions, start: list[int]) -> dict[str, list[int]]:
    return {name: [value] for name, value in zip(interventions.names, start, strict=True)}


@settings(max_examples=400, deadline=None, derandomize=True)
@given(problems())
def test_exactly_the_points_of_brute_force_are_reached(problem: tuple[Interventions, list[int]]) -> None:
    interventions, start = problem
    expected = brute_force(interventions, start)
    if expected is None:
        with pytest.raises((DataError, UsageError), match=r"breaks|contradict"):
            interventions.reach(starting(interventions, start))
        return
    sets = interventions.reach(starting(interventions, start))
    every = sets.points()
    points = [tuple(map(float, np.round(point, 9) + 0.0)) for point in every.values]
    assert len(set(points)) == len(points) == sets.count(0)
    weights = np.full(len(points), 1 / len(points)) if every.weights is None else every.weights
    found = dict(zip(points, weights.tolist(), strict=True))
    assert found == pytest.approx(brute_law(interventions, start))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems())
def test_draws_have_the_law_of_brute_force(problem: tuple[Interventions, list[int]]) -> None:
    interventions, start = problem
    law = brute_law(interventions, start)
    if law is None:
        return
    sets = interventions.reach(starting(interventions, start))
    large = []
    for block in sets.blocks:
        try:
            block.acting()
        except UsageError:
            return  # an effect that another rule speaks of: it can only be listed
        large += solve(block, np.asarray(start, dtype=float)[None, list(block.columns)], most_moves=0)
    for parts in (sets.parts, tuple(large)):
        drawn = np.round(replace(sets, parts=parts).sample(2_000, np.random.default_rng(0)).values, 9) + 0.0
        counts = Counter(map(tuple, drawn.tolist()))
        assert set(counts) <= set(law)
        # Each count is binomial: it strays by a dozen standard deviations, and ten, with probability below 1e-9.
        assert all(abs(counts[at] - 2_000 * p) < 12 * (2_000 * p) ** 0.5 + 10 for at, p in law.items())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_many_people_at_once_reach_what_each_reaches_alone(problem: tuple[Interventions, list[int]]) -> None:
    interventions, start = problem
    rng = np.random.default_rng(sum(start) + 100)
    rows = [
        [int(rng.integers(int(f.low or 0), int(f.high or 0) + 1)) for f in interventions.features] for _ in range(8)
    ]
    rows = [row for row in (start, *rows) if brute_force(interventions, row) is not None]
    if not rows:
        return
    together = interventions.reach({name: [row[j] for row in rows] for j, name in enumerate(interventions.names)})
    for number, row in enumerate(rows):
        alone = interventions.reach(starting(interventions, row)).points().values
        assert np.array_equal(together.points([number]).values, alone)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_the_solver_narrows_ranges_to_no_less_than_what_enumeration_finds(
    problem: tuple[Interventions, list[int]],
) -> None:
    interventions, start = problem
    if brute_force(interventions, start) is None:
        return
    for block in blocks_of(interventions.features, interventions.coded()):
        here = np.asarray(start, dtype=float)[list(block.columns)]
        moves = enumerate_moves(block, here[None]).acted
        moving = moves[(moves != here).any(1)]
        ends = tightened(block, here)
        if len(moving):
            assert ends is not None
            assert (ends[0] <= moving).all()
            assert (moving <= ends[1]).all()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_pruning_and_linear_rows_lose_no_allowed_move_and_exact_rows_allow_no_other(
    problem: tuple[Interventions, list[int]],
) -> None:
    interventions, start = problem
    if brute_force(interventions, start) is None:
        return
    for block in blocks_of(interventions.features, interventions.coded()):
        here = np.asarray(start, dtype=float)[None, list(block.columns)]
        least, most = block.ranges(here)
        grid = np.asarray(list(product(*(np.arange(a, b + 1) for a, b in zip(least[0], most[0], strict=True)))))
        repeat = [np.repeat(part, len(grid), axis=0) for part in (here, least, most)]
        moves = block.moves(repeat[0], grid, repeat[1], repeat[2])
        box = block.box(repeat[0], grid, grid, repeat[1], repeat[2])
        for constraint, places in block.constraints:
            holds = constraint.holds(Moves.only(moves, places))
            assert (constraint.possible(box.only(places)) | ~holds).all()
        program = program_of(block, here[0])
        holds = np.ones(len(grid), dtype=bool)
        for constraint, places in block.constraints:
            holds &= constraint.holds(moves.only(places))
        for point, right in zip(grid[:12], holds[:12], strict=True):
            found = satisfiable(program, point)
            if found is None:
                continue
            assert found or not right
            assert right or not found or not program.exact


def satisfiable(program: Any, point: np.ndarray[Any, Any]) -> bool | None:
    """Whether the rows can be satisfied with these acted values, by every choice of the binaries; unless too many."""
    binaries = len(program.whole) - len(point)
    if binaries > 10:
        return None
    for choice in product((0.0, 1.0), repeat=binaries):
        values = program.matrix @ np.concatenate([point, choice]) if len(program.low) else np.zeros(0)
        if ((values >= program.low - 1e-9) & (values <= program.high + 1e-9)).all():
            return True
    return False


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems())
def test_a_block_that_is_too_large_to_list_is_drawn_from_where_its_moves_are(
    problem: tuple[Interventions, list[int]],
) -> None:
    interventions, start = problem
    if brute_force(interventions, start) is None:
        return
    for block in blocks_of(interventions.features, interventions.coded()):
        here = np.asarray(start, dtype=float)[None, list(block.columns)]
        moves = enumerate_moves(block, here).acted
        try:
            block.acting()
        except UsageError:
            continue  # an effect that another rule speaks of: it can only be listed
        if block.alone:
            continue
        for part in solve(block, here, most_moves=1):
            drawn = np.round(part.draw(200, np.random.default_rng(0))[0, :, : len(block.columns)], 9) + 0.0
            ends = np.round(block.ended(here, moves), 9) + 0.0
            assert {tuple(row) for row in drawn} <= {tuple(row) for row in ends}


@st.composite
def mixed_problems(draw: st.DrawFn) -> tuple[Interventions, list[float]]:
    """Two or three features, some of them real, with rules that have a linear form."""
    known = []
    for index in range(draw(st.integers(2, 3))):
        real = index == 0 or draw(st.booleans())
        kind = "real" if real else draw(st.sampled_from(["binary", "integer"]))
        low, high = (-1, 2) if kind != "binary" else (None, None)
        known.append(Feature(f"f{index}", kind, low, high, direction=draw(WAYS)))  # type: ignore[arg-type]
    rules = draw(st.lists(constraints(tuple(known), MIXED), min_size=1, max_size=2))
    if sum(isinstance(rule, Linkage) and bool(rule.frees) for rule in rules) > 1:
        rules = rules[:1]
    freed = {name for rule in rules if isinstance(rule, Linkage) for name in rule.frees}
    features = tuple(Feature(f.name, f.kind, f.low, f.high, f.name not in freed, f.direction) for f in known)
    start = [float(draw(st.integers(int(f.low or 0), int(f.high or 1)))) for f in features]
    return Interventions(features, tuple(rules)), start


@settings(max_examples=100, deadline=None, derandomize=True)
@given(mixed_problems())
def test_the_pieces_of_a_mixed_block_hold_as_much_as_proposals_find(problem: tuple[Interventions, list[float]]) -> None:
    interventions, start = problem
    people = {name: [value] for name, value in zip(interventions.names, start, strict=True)}
    if interventions.refusals(people):
        return
    for block in blocks_of(interventions.features, interventions.coded()):
        here = np.asarray(start)[list(block.columns)]
        boxes = Boxes.of(block, here[None])
        if block.alone or block.discrete:
            continue
        rng, tries = np.random.default_rng(0), 20_000
        share = accepted_share(block, boxes, tries, rng)[0]
        pieces = slices_of(block, here, boxes.low[0], boxes.high[0])
        exact = program_of(block, here).exact
        drawn = pieces.draw(200, rng)
        assert not exact or boxes.at(np.zeros(200, dtype=np.intp)).allowed(block, drawn).mean() > 0.99
        spans = boxes.high[0] - boxes.low[0]
        real = [j for j in block.free if not block.features[j].whole and spans[j] > 0]
        if pieces.slices[0].dimension < len(real):
            assert share <= 1e-3
            continue
        whole = np.prod([spans[j] + 1 for j in block.free if block.features[j].whole])
        volume = sum(np.exp(piece.log_volume) for piece in pieces.slices) / whole
        noise = 6 * np.sqrt(volume * max(1 - volume, 0) / tries) + 1e-3
        assert volume >= share - noise
        assert not exact or volume <= share + noise

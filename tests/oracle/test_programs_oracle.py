"""Directed draws against rejected ones, and programs with a rate that is known in closed form."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import isonomia as iso
from isonomia.populations.protocol import Wanted
from isonomia.populations.worlds.source import WorldSource, direction_for
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.tree import Do, Literal, Setting

ALARM = 1e-8  # a hundred comparisons with fixed seeds: a false alarm had a chance below 1e-6
PROGRAM = iso.Program.of(
    """
def popModel():
    sex = step([(0, 1, 0.3307), (1, 2, 0.6693)])
    luck = gaussian(1, 4)
    if sex < 1:
        age = gaussian(30, 25)
        pay = step([(0, 10, 0.9), (10, 20, 0.1)])
    else:
        if luck > 2:
            age = step([(0, 40, 0.5), (50, 90, 0.5)])
        else:
            age = gaussian(50, 100)
        pay = step([(5, 10, 0.7), (10, 20, 0.3)])
    debt = gaussian(pay + age, luck * luck)
    young = age < 20
    sensitiveAttribute(sex < 1)
def F():
    t = debt > 40
    fairnessTarget(t)
"""
)
CAUSAL = iso.Causal(
    {
        "sex": iso.Categories({"F": 0.2, "M": 0.5, "X": 0.3}),
        "age": "gaussian(30, 25)",
        "old": "age > 33",
        "pay": "gaussian(age, 1) if sex == 'F' else step([(20, 30, 0.5), (40, 50, 0.5)])",
        "debt": lambda pay, noise: pay * 0.5 + noise,
    }
)
CONDITIONS = {
    "program": (
        PROGRAM,
        [
            *("sex < 1", "minority", "not minority", "luck > 0 and luck < 2", "luck < 0 or luck > 3", "age > 45"),
            *("young", "not young", "pay > 12", "pay > 8 and age < 35", "age > 30 and minority", "pay < 7 or pay > 18"),
            *("luck > 1 and target", "age > 45 and target"),
        ],
    ),
    "causal": (
        CAUSAL,
        ["sex == 'F'", "sex != 'F'", "sex in {'F', 'X'}", "old == true", "not old", "old and sex != 'M'"],
    ),
}
CASES = [(kind, condition) for kind, (_, conditions) in CONDITIONS.items() for condition in conditions]


def source_of(world, condition):
    return WorldSource(world, Wanted(), (direction_for(world, condition),))


def rejected(world, condition, n, seed):
    drawn = world.draw(n, np.random.default_rng(seed), world.names, {}).columns
    met = truth(condition, Batch(n, drawn))
    return {name: column[met] for name, column in drawn.items()}


def agree(a, b):
    """The chance of samples as different as these, if they come from one distribution."""
    if a.dtype.kind == "f":
        return stats.ks_2samp(a, b).pvalue
    values = sorted({*a.tolist(), *b.tolist()})
    table = [[np.count_nonzero(sample == value) for value in values] for sample in (a, b)]
    return 1.0 if len(values) == 1 else stats.chi2_contingency(table).pvalue


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_directed_draws_have_the_distribution_that_rejection_gives(kind, text):
    world, condition = CONDITIONS[kind][0].world, parse_condition(text)
    n = 20_000
    directed = source_of(world, condition).batch(0, n, np.random.default_rng(1))
    batch = Batch(n, {name: directed.column(name) for name in world.names})
    direction = direction_for(world, condition)
    assert truth(direction.condition, batch).all()
    met = truth(condition, batch)
    reference = rejected(world, condition, 200_000, 2)
    for name in world.names:
        assert agree(batch.columns[name][met], reference[name]) > ALARM, name
    # Two columns together: how the rest hangs on what was directed.
    numbers = [name for name in world.names if batch.columns[name].dtype.kind == "f"]
    for first, second in pairwise(numbers):
        here, there = (batch.columns[n_][met] for n_ in (first, second)), (reference[n_] for n_ in (first, second))
        assert agree(np.add(*map(rank, here)), np.add(*map(rank, there))) > ALARM


def rank(column):
    return stats.rankdata(column) / len(column)


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_people_drawn_directly_keep_every_bit_where_nothing_changes(kind, text):
    world, nothing = CONDITIONS[kind][0].world, Do(())
    source = source_of(world, parse_condition(text))
    opened = type(source)(world, Wanted(None, {nothing: None}), source.directions)
    found = opened.people(0, 3_000, np.random.default_rng(3))
    for name in world.names:
        assert np.array_equal(found[None].column(name), found[nothing].column(name)), name


@pytest.mark.parametrize("text", ["age > 45", "pay > 12 and age < 40"])
def test_people_drawn_directly_and_changed_are_distributed_as_rejected_ones(text):
    world, condition = PROGRAM.world, parse_condition(text)
    change = Do((Setting("sex", Literal(0.5)),))
    source = source_of(world, condition)
    opened = type(source)(world, Wanted(None, {change: None}), source.directions)
    found = opened.people(0, 20_000, np.random.default_rng(4))
    drawn = world.draw(200_000, np.random.default_rng(5), world.names, {change: world.names})
    met = truth(condition, Batch(200_000, drawn.columns))
    for name in world.names:
        assert agree(found[change].column(name), drawn.versions[change][name][met]) > ALARM, name


# ---------------------------------------------------------------------------- rare groups

RARE = iso.Program.of(
    """
def popModel():
    wealth = gaussian(0, 1)
    skill = gaussian(wealth, 1)
    sensitiveAttribute(wealth > 4.26489)
def F():
    t = skill > 4.5
    fairnessTarget(t)
"""
)


def test_a_group_of_one_in_a_hundred_thousand_is_checked_without_waiting_for_it():
    share = stats.norm.sf(4.26489)
    assert share == pytest.approx(1e-5, rel=1e-3)
    rate = stats.norm.expect(lambda w: stats.norm.sf(4.5 - w), lb=4.26489, ub=20) / share
    verdict = iso.check(f"P[target | minority] >= {rate - 0.05}", population=RARE, delta=1e-6, seed=1, method="bets")
    assert verdict.answer == "holds"
    needed_by_rejection = verdict.leaves[0].n / share
    assert verdict.samples * 1_000 <= needed_by_rejection
    assert any("minority are drawn directly" in line for line in verdict.remarks)
    refuted = iso.check(f"P[target | minority] >= {rate + 0.05}", population=RARE, delta=1e-6, seed=2, method="bets")
    assert refuted.answer == "violated"
    assert refuted.leaves[0].low <= rate <= refuted.leaves[0].high


def test_a_rare_group_drawn_in_branches_is_checked_without_waiting_for_it():
    text = """
def popModel():
    place = step([(0, 1, 0.5), (1, 2, 0.5)])
    if place < 1:
        wealth = gaussian(0, 1)
    else:
        wealth = gaussian(-1, 1)
    skill = gaussian(wealth, 1)
    sensitiveAttribute(wealth > 4.26489)
def F():
    t = place < 1
    fairnessTarget(t)
"""
    here, there = stats.norm.sf(4.26489), stats.norm.sf(5.26489)
    rate = here / (here + there)
    population = iso.Program.of(text)
    options = {"population": population, "delta": 1e-6, "seed": 1, "method": "bets"}
    verdict = iso.check(f"P[target | minority] >= {rate - 0.004}", **options)
    assert verdict.answer == "holds"
    assert verdict.samples * 1_000 <= verdict.leaves[0].n / (0.5 * here + 0.5 * there)
    assert any("accepted in proportion" in line for line in verdict.remarks)
    assert iso.check(f"P[target | minority] >= {rate + 0.003}", **options).answer == "violated"


# ---------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = gaussian(10, 4)\n    y = x > 12", stats.norm.sf(1)),  # the second number is the variance
        ("x = step([(0, 1, 0.5), (2, 3, 0), (9, 10, 0.5)])\n    y = x > 9.5", 0.25),
        ("a = gaussian(0, 9)\n    x = gaussian(a, 16)\n    y = x > 5", stats.norm.sf(1)),
        ("a = step([(0, 1, 1)])\n    x = step([(0, 1, 1)])\n    y = a + x < 0.5", 0.125),
        ("y = gaussian(0, 1) > gaussian(0, 3) + 2", stats.norm.sf(1)),
    ],
)
def test_a_rate_known_in_closed_form_lies_in_its_interval(text, expected):
    population = iso.Program.of(f"def popModel():\n    {text}\ndef F():\n    pass\n")
    verdict = iso.check(f"P[y] >= {expected - 0.01}", population=population, delta=1e-6, seed=4)
    assert verdict.holds
    assert verdict.leaves[0].low <= expected <= verdict.leaves[0].high
    assert iso.check(f"P[y] >= {expected + 0.01}", population=population, delta=1e-6, seed=4).answer == "violated"

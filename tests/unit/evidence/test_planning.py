"""Planning before any draw: what needs none, even shares, and what each channel's draws tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import rel_entr

from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.bets import begin, step
from isonomia.evidence.planning import cell_probabilities, default_shares, distance, forecast, limit, truth_at
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Leaf, Mean, Rate, leaves_of

A, B = Rate(Column("x"), Column("a")), Rate(Column("x"), Column("b"))


def bets(text: str, delta: float = 0.01, **options: bool) -> BetEvidence:
    formula = parse_formula(text)
    ranges = {leaf: (2.0, 6.0) if isinstance(leaf, Mean) else (0.0, 1.0) for leaf in leaves_of(formula)}
    found = bets_for(formula, ranges, (None,), delta, **options)
    assert found is not None
    return found


def test_a_claim_that_cannot_fail_costs_nothing() -> None:
    plan = forecast(bets("P[x | a] >= -0.5"), {A: 0.3}, {}, rng=np.random.default_rng(0))
    assert (plan.answer, plan.limit, plan.mean, plan.early, plan.late) == (True, 0.0, 0.0, 0.0, 0.0)


def test_a_group_that_nobody_is_in_is_never_decided() -> None:
    evidence = bets("P[x | a] >= 0.2")
    plan = forecast(evidence, {A: 0.9}, dict.fromkeys(evidence.channels, 0.0), rng=np.random.default_rng(0))
    assert plan.answer is True
    assert plan.limit == plan.mean == plan.early == plan.late == np.inf


def test_even_shares_count_groups_and_folds() -> None:
    assert default_shares(()) == {}
    assert list(default_shares(bets("P[x | a] >= 0.2").channels).values()) == [1.0]
    apart = bets("P[x | s == 'F'] >= 0.8 * P[x | s == 'M']")
    assert list(default_shares(apart.channels).values()) == [0.5, 0.5]
    folded = bets("P[x | a] >= 0.8 * P[x | b]", slices=False)
    assert list(default_shares(folded.channels).values()) == [0.25] * 4


def test_the_limit_is_that_of_garivier_and_kaufmann() -> None:
    delta, nats = 0.01, 0.2
    needed = rel_entr(delta, 1 - delta) + rel_entr(1 - delta, delta)
    assert limit(delta, nats) == pytest.approx(needed / nats)
    assert limit(delta, 0.0) == np.inf


@pytest.mark.parametrize(("mean", "expected"), [(0.3, True), (0.1, False), (0.25, None)])
def test_the_truth_at_given_means_is_open_on_the_boundary(mean: float, expected: bool | None) -> None:
    assert truth_at(bets("P[x | a] >= 0.25"), {A: mean}) is expected


def test_the_truth_of_a_claim_with_two_sides_needs_both() -> None:
    evidence = bets("0.25 <= P[x | s == 'F'] - P[x | s == 'M'] <= 0.5")
    women, men = leaves_of(parse_formula("P[x | s == 'F'] > P[x | s == 'M']"))
    assert truth_at(evidence, {women: 0.75, men: 0.4}) is True
    assert truth_at(evidence, {women: 0.75, men: 0.1}) is False
    assert truth_at(evidence, {women: 0.75, men: 0.25}) is None


def test_a_mean_within_its_range_is_put_at_the_ends() -> None:
    evidence = bets("E[y | a] >= 3")
    (channel,) = evidence.channels
    (leaf,) = channel.leaves
    cells = cell_probabilities(channel, {leaf: 3.0})
    assert cells[[0, -1]].tolist() == [0.75, 0.25]
    assert cells.sum() == 1.0
    assert cells @ channel.grid.values()[:, 0] == pytest.approx(3.0)


def test_the_distance_of_two_events_of_one_group_takes_them_as_independent() -> None:
    (channel,) = bets("P[x | a] >= 0.8 * P[y | a]").against[0].channels
    means = dict(zip(channel.leaves, (0.3, 0.6), strict=True))
    cells = cell_probabilities(channel, means)
    values = channel.grid.values()
    for place, (first, second) in enumerate(values):
        assert cells[place] == pytest.approx((0.3 if first else 0.7) * (0.6 if second else 0.4))


def test_the_distance_is_the_divergence_to_the_boundary_weighted_by_the_shares() -> None:
    evidence = bets("P[x | a] >= 0.2")
    (test,) = evidence.against
    found = distance(test, {A: 0.3}, [0.4])
    nats = rel_entr(0.3, 0.2) + rel_entr(0.7, 0.8)
    assert found.by_channel == pytest.approx([nats], rel=1e-6)
    assert found.total == pytest.approx(0.4 * nats, rel=1e-6)
    inside = distance(test, {A: 0.1}, [0.4])
    assert (inside.total, inside.by_channel.tolist()) == (0.0, [0.0])


@pytest.mark.parametrize("bound", [0.5, 0.95])
def test_draws_that_all_say_yes_stop_every_run_where_the_bets_do(bound: float) -> None:
    evidence = bets(f"P[x | a] >= {bound}", 1e-4)
    (test,) = evidence.against
    process = test.unsliced
    state, n = begin(process), 0
    while state.peak[0] < np.log(1e4):
        size = max(8, int(0.5 * n))
        n += size
        state = step(process, state, np.asarray([[[0.0, size]]]))
    shares = dict.fromkeys(test.channels, 1.0)
    plan = forecast(evidence, {A: 1.0}, shares, repetitions=5, growth=1.5, rng=np.random.default_rng(0))
    assert plan.mean == plan.early == plan.late == n


MIXED = "P[x | s == 'F'] >= (E[y | s == 'M'] - 2) / 4"
"""A rate against a number between 2 and 6: channels with different numbers of cells."""


def women_and_men(claim: str, women: float, men: float) -> tuple[BetEvidence, dict[Leaf, float]]:
    return bets(claim, 1e-4), dict(zip(leaves_of(parse_formula(claim)), (women, men), strict=True))


def test_a_number_at_the_ends_of_its_range_is_as_far_from_a_rate_as_another_rate_is() -> None:
    found = []
    for claim, men in (("P[x | s == 'F'] >= P[x | s == 'M']", 0.3), (MIXED, 2.0 + 4.0 * 0.3)):
        evidence, means = women_and_men(claim, 0.6, men)
        reach = distance(evidence.against[0], means, [0.5, 0.5])
        found.append([reach.total, *sorted(reach.by_channel)])
    assert found[0][0] > 0.01
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_a_number_at_the_ends_of_its_range_is_told_from_a_rate_as_soon_as_another_rate_is() -> None:
    found = []
    for claim, men in (("P[x | s == 'F'] >= P[x | s == 'M']", 0.0), (MIXED, 2.0)):
        evidence, means = women_and_men(claim, 1.0, men)
        shares = dict.fromkeys(evidence.channels, 1.0)
        found.append(forecast(evidence, means, shares, repetitions=3, rng=np.random.default_rng(0)).mean)
    assert 0.0 < found[0] == found[1]


def test_the_hardest_piece_of_a_claim_sets_its_limit_and_its_cost() -> None:
    evidence = bets("P[x | s == 'F'] >= 0.2 and P[x | s == 'M'] >= 0.2", 1e-3)
    women, men = leaves_of(parse_formula("P[x | s == 'F'] > P[x | s == 'M']"))
    shares = dict.fromkeys(evidence.channels, 0.5)
    plan = forecast(evidence, {women: 0.3, men: 0.9}, shares, rng=np.random.default_rng(0))
    nats = 0.5 * (rel_entr(0.3, 0.2) + rel_entr(0.7, 0.8))
    assert plan.limit == pytest.approx(limit(1e-3, nats), rel=1e-6)
    assert plan.mean > plan.limit

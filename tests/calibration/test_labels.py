"""Few labels and a judge: bets on the boundary, how they would show a bound that is too tight, and labels needed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from benchmarks.labels import DELTA, World, against, errors, labels_needed, power
from simulation import most_errors

from isonomia.evidence.labels import LabelBatch, LabelStep, LabelTests

RUNS = 60


@pytest.mark.parametrize(
    "world",
    [
        World((0.75,), 0.05, 0.9),
        World((0.4, 0.5), 0.2, 0.9, biased=True, varying=True),
    ],
)
@pytest.mark.parametrize("once", [False, True])
def test_a_claim_on_the_boundary_is_shown_with_probability_at_most_delta(world: World, once: bool) -> None:
    """At any look or one, on both sides; ``benchmarks.labels`` has 2,000 runs of many such worlds."""
    assert max(errors(world, RUNS, rows=1000, once=once)) <= most_errors(RUNS, DELTA) / RUNS


@pytest.mark.parametrize("once", [False, True])
def test_a_bound_that_is_too_tight_is_noticed(once: bool) -> None:
    """The same bets against a hypothesis from which the truth is a few standard errors away."""
    found = errors(World((0.75,), 0.5, 0.95), 40, shift=0.03, rows=3000, once=once)
    assert min(found) > most_errors(40, DELTA) / 40


def test_one_look_shows_more_than_any_look() -> None:
    """0.75 where the rate is 0.8 and one of 4,000 rows in ten has a label: 95% and 73% over 2,000 runs."""
    alone, any_look = (power(0.9, 40, 4000, once=once) for once in (True, False))
    assert alone > 0.8
    assert alone > any_look


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("rates", [(0.75,), (0.4, 0.5)])
def test_the_expected_factor_is_one_at_most_on_the_boundary_and_more_where_the_bound_is_too_tight(
    rates: tuple[float, ...], once: bool
) -> None:
    """The hypothesis has a first rate of at most 0.05 less; every row that can come, weighed by its probability."""
    world = World(rates, 0.2, 0.8, varying=True)
    history = LabelStep.all(batch for batch, _ in world.batches(np.random.default_rng(5), 600))
    both = against(rates, 0.05)
    tests = LabelTests(both.groups, both.slopes[:1], both.bounds[:1], DELTA)

    def expected(truth: tuple[float, ...]) -> float:
        """The expected factor of a batch with one row of each group."""
        kinds = list(product(range(len(truth)), (0, 1), (0, 1), (0, 1)))
        keys = np.asarray([(group, judge, labeled) for group, judge, _, labeled in kinds], dtype=np.intp)
        chances = np.where(keys[:, 1] == 1, 0.4, 0.1)
        values = np.zeros((len(kinds), len(truth)))
        values[np.arange(len(kinds)), keys[:, 0]] = [label * labeled for _, _, label, labeled in kinds]
        bets = history[-1].then(LabelBatch.of(keys, chances, values)).table(tests.active, tests.groups)
        assert bets is not None
        stakes = bets.stakes(tests.slopes, tests.bounds)
        if once:
            stakes = bets.deadline_stakes(tests.slopes, tests.bounds, -np.full(1, tests.need), 600.0)
        factors = np.zeros(len(truth))
        for number, (group, judge, label, labeled) in enumerate(kinds):
            one = LabelBatch(keys[[number]], chances[[number]], values[[number]], np.ones(1), 1.0)
            weight = (truth[group] if label else 1.0 - truth[group]) * (0.8 if judge == label else 0.2)
            weight *= chances[number] if labeled else 1.0 - chances[number]
            factors[group] += weight * float(np.exp(tests._gains(bets, one, stakes)[0]))
        return float(np.prod(factors))

    boundary, beyond = ((rates[0] - away, *rates[1:]) for away in (0.05, 0.04 if len(rates) == 1 else 0.0))
    assert expected(boundary) <= 1.0 + 1e-9
    if len(rates) == 1:
        assert expected(boundary) == pytest.approx(1.0, abs=1e-9)
    assert expected(beyond) > 1.0 + 2e-5


def test_a_judge_saves_labels_and_a_useless_one_costs_few() -> None:
    """0.75 where the rate is 0.8: the ratios over 500 runs are in ``benchmarks.labels``, 0.52 and 0.36."""
    alone = labels_needed(0.9, 10, judged=False, growth=1.3)
    assert labels_needed(0.95, 10, growth=1.3) < 0.6 * alone
    assert labels_needed(0.5, 5, growth=1.3) < 2.0 * alone

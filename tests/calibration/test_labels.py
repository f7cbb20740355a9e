"""Few labels and a judge: bets on the boundary, how they would show a bound that is too tight, and labels needed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from benchmarks.labels import DELTA, World, against, errors, labels_needed
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
def test_a_claim_on_the_boundary_is_shown_with_probability_at_most_delta(world: World) -> None:
    """At any look, on both sides; ``benchmarks.labels`` has 2,000 runs of sixteen such worlds."""
    assert max(errors(world, RUNS, rows=1000)) <= most_errors(RUNS, DELTA) / RUNS


def test_a_bound_that_is_too_tight_is_noticed() -> None:
    """The same bets against a hypothesis from which the truth is a few standard errors away."""
    found = errors(World((0.75,), 0.5, 0.95), 40, shift=0.03, rows=3000)
    assert min(found) > most_errors(40, DELTA) / 40


@pytest.mark.parametrize("rates", [(0.75,), (0.4, 0.5)])
def test_the_expected_factor_is_one_at_most_on_the_boundary_and_more_where_the_bound_is_too_tight(
    rates: tuple[float, ...],
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
        factors = np.zeros(len(truth))
        for number, (group, judge, label, labeled) in enumerate(kinds):
            one = LabelBatch(keys[[number]], chances[[number]], values[[number]], np.ones(1))
            weight = (truth[group] if label else 1.0 - truth[group]) * (0.8 if judge == label else 0.2)
            weight *= chances[number] if labeled else 1.0 - chances[number]
            factors[group] += weight * float(np.exp(tests._gains(bets, one)[0]))
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

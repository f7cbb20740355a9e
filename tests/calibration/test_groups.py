"""Groups are named at one risk for all of them, after every batch: twenty of them that share a reference group.

The benchmark ``groups`` does the same in more worlds, with two thousand repetitions.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import batches, most_errors, yes_no_process

from isonomia.evidence.bets import begin, step
from isonomia.evidence.multiple import closed_average, closed_e_bh, locked

GROUPS, REPETITIONS, DELTA = 20, 500, 0.05
REFERENCE, SHARE = 0.5, 0.8
SIZES = batches(30_000, single=4, first=100, growth=0.12)

# Sixteen groups on the boundary, where errors are most frequent; two that hold; two that are violated.
RATES = np.repeat([SHARE * REFERENCE, 0.55, 0.25], [16, 2, 2])
HOLDS, VIOLATED = RATES >= SHARE * REFERENCE, RATES < SHARE * REFERENCE


def looks(direction, seed):
    """The log wealths of every group against one kind of hypothesis, look after look: ``(repetitions, groups)``."""
    process = yes_no_process([[direction, -direction * SHARE]], [0.0])
    rng, shape = np.random.default_rng(seed), (REPETITIONS, GROUPS)
    state = begin(process, REPETITIONS * GROUPS)
    for size in SIZES:
        members = rng.multinomial(size, [0.025] * GROUPS + [0.5], size=REPETITIONS)
        yes = rng.binomial(members, [*RATES, REFERENCE])
        cells = np.stack([members - yes, yes], axis=-1).astype(float)
        pairs = np.stack([cells[:, :GROUPS], np.broadcast_to(cells[:, GROUPS:], (*shape, 2))], axis=2)
        state = step(process, state, pairs.reshape(-1, 2, 2))
        yield state.log_wealth.reshape(shape)


@pytest.fixture(scope="module")
def against():
    """Against "it does not hold", as it bets on after a part was laid aside; kept for all looks."""
    crossed, kept = np.full((REPETITIONS, GROUPS), np.inf), []
    for logs in looks(1.0, 71):
        crossed = np.where(np.isinf(crossed) & (logs >= np.log(1 / DELTA)), logs, crossed)
        kept.append(locked(logs, crossed, DELTA))
    return kept


@pytest.fixture(scope="module")
def in_favour():
    return list(looks(-1.0, 72))


def named_at_some_look(kept, *, together):
    named = np.zeros((REPETITIONS, GROUPS), dtype=bool)
    for logs in kept:
        named |= closed_average(logs, DELTA, together=together)
    return named


def test_no_group_is_wrongly_said_to_hold_at_any_look_and_most_that_hold_are_named(against):
    named = named_at_some_look(against, together=None)
    true_ones = HOLDS & (RATES > SHARE * REFERENCE)
    wrong = named[:, ~true_ones].any(axis=1)
    assert wrong.sum() <= most_errors(REPETITIONS, DELTA)
    assert named[:, true_ones].mean() > 0.95  # measured: 1.0


def test_no_group_is_wrongly_said_to_be_violated_at_any_look_and_most_violated_ones_are_named(in_favour):
    named = named_at_some_look(in_favour, together=True)
    assert named[:, HOLDS].any(axis=1).sum() <= most_errors(REPETITIONS, DELTA)
    assert named[:, VIOLATED].mean() > 0.9  # measured: 0.944


def test_the_share_of_wrong_names_is_within_its_level_for_who_stops_at_the_first_wrong_one(in_favour):
    # The worst that a person can do who knows which groups hold: stop when a name is wrong for the first time.
    share, stopped = np.zeros(REPETITIONS), np.zeros(REPETITIONS, dtype=bool)
    names = np.zeros(REPETITIONS)
    for logs in in_favour:
        for run in np.flatnonzero(~stopped):
            named = closed_e_bh(np.exp(np.minimum(logs[run], 700.0)), DELTA)
            names[run], share[run] = named[VIOLATED].sum(), named[HOLDS].sum() / max(named.sum(), 1)
            stopped[run] = bool(named[HOLDS].any())
    # A share lies between 0 and 1, so its mean varies no more than that of an event: the binomial bound is enough.
    assert share.sum() <= most_errors(REPETITIONS, DELTA)
    assert names[~stopped].mean() > 1.9  # measured: 2.0


def test_naming_each_group_at_the_full_risk_would_be_noticed(in_favour):
    # Without the family: each of sixteen groups on the boundary at the full risk.
    alone = np.zeros((REPETITIONS, GROUPS), dtype=bool)
    for logs in in_favour:
        alone |= logs >= np.log(1.0 / DELTA)
    assert alone[:, HOLDS].any(axis=1).sum() > most_errors(REPETITIONS, DELTA)

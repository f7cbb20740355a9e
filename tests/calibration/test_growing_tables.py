"""Tables that grow: how often any of twenty looks is wrong, where the truth is on the boundary.

Wealth is simulated by the thousand, in the batches of :class:`Schedule`. That checks take these batches, in this order,
is shown in ``tests/unit/audits/audit_file/test_growing_tables.py``; ``benchmarks/growing.py`` runs whole checks.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import REPETITIONS, assert_calibrated, most_errors

from isonomia.engine.loop import Schedule
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.bets import begin, step
from isonomia.spec.property import parse
from isonomia.spec.tree import leaves_of

RATE, GAP = "P[x] >= 0.5", "P[x | g == 1] >= P[x | g == 0]"
ENDS = tuple(range(97, 20 * 97 + 1, 97))
"""How many rows the table has at each look: seldom the end of a batch."""


def _largest_at_looks(claim: str, schedule: Schedule, *, kept: bool) -> np.ndarray:
    """The largest log wealth at any of the looks, against a claim that is true with nothing to spare.

    With ``kept``, a look that ends within a batch has the wealth of that part of it; else of the batches before.
    """
    formula = parse(claim).formula
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), 0.05)
    assert evidence is not None
    (test,) = evidence.in_favour
    rng, rows = np.random.default_rng(3), ENDS[-1]
    hit = rng.random((REPETITIONS, rows)) < 0.5
    group = rng.integers(0, 2, (REPETITIONS, rows)) if len(test.channels) > 1 else np.zeros((REPETITIONS, rows), int)

    def counts(start: int, stop: int) -> np.ndarray:
        chosen, hits = group[:, start:stop], hit[:, start:stop]
        cells = [[((chosen == g) & (hits == yes)).sum(axis=1) for yes in (0, 1)] for g in range(len(test.channels))]
        return np.moveaxis(np.asarray(cells, dtype=float), -1, 0)

    state, total, largest = begin(test.unsliced, REPETITIONS), 0, np.zeros(REPETITIONS)
    while total < rows:
        size = schedule.size(total, 1.0)
        for end in ENDS:
            if kept and total < end < total + size:
                largest = np.maximum(largest, step(test.unsliced, state, counts(total, end)).log_wealth)
        if total + size > rows:
            break
        state, total = step(test.unsliced, state, counts(total, total + size)), total + size
        largest = np.maximum(largest, state.log_wealth)
    return largest


@pytest.mark.parametrize(
    ("claim", "schedule", "kept"),
    [
        (RATE, Schedule(first=1), True),
        (GAP, Schedule().along((), whole=True), False),
        (RATE, Schedule(first=1).along(ENDS[:-1]), False),
        (GAP, Schedule().along(ENDS[:-1]), False),
    ],
    ids=["one rate in file order", "two rates in file order", "one rate on record", "two rates on record"],
)
def test_any_of_twenty_looks_at_a_growing_table_is_wrong_with_probability_at_most_delta(
    claim: str, schedule: Schedule, kept: bool
) -> None:
    largest = _largest_at_looks(claim, schedule, kept=kept)
    assert_calibrated(largest)
    errors = int((largest >= np.log(10.0)).sum())
    assert errors <= most_errors(REPETITIONS, 0.1)
    assert errors > 0.3 * 0.1 * REPETITIONS, "most of the risk is used"

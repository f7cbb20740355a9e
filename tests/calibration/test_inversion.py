"""How often an inverted interval ever misses the truth, one side at a time, when somebody looks after every batch.

The interval at any time leaves out what is refuted at that time. So it has ever missed the truth exactly if the bets
against the truth's own value were ever won. These are the bets of a claim with that threshold (see
tests/unit/evidence/test_inversion.py), so how tight they are is measured where bets are.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation import most_errors

from isonomia.evidence.inversion import inversion_for
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Comparison, leaves_of

RUNS = 400
DELTA = 0.2
SIZES = [max(16, int(16 * 1.25**k)) for k in range(24)]


def peaks_at_the_truth(text: str, truth: float, rates: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """The highest log wealth against the truth from below and from above, in each of many runs."""
    formula = parse_formula(f"{text} >= 0.5")
    assert isinstance(formula, Comparison)
    inverted = inversion_for(formula.first, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,))
    assert inverted is not None
    rng, found = np.random.default_rng(11), []
    for _ in range(RUNS):
        history = []
        for size in SIZES:
            members = rng.multinomial(size, np.full(len(rates), 1 / len(rates)))
            yes = rng.binomial(members, rates)
            pairs = zip(inverted.channels, members, yes, strict=True)
            history.append({channel: np.asarray([m - k, k], float) for channel, m, k in pairs})
        at, paths = np.asarray([truth]), inverted.paths(history)
        found.append((float(paths(at, False).max()), float(paths(at, True).max())))
    below, above = np.asarray(found).T
    return below, above


@pytest.mark.parametrize(
    ("text", "truth", "rates"),
    [("P[y | g == 'a'] / P[y | g == 'b']", 0.8, [0.24, 0.30]), ("P[y]", 0.05, [0.05])],
    ids=["ratio", "rate"],
)
def test_an_end_ever_misses_the_truth_with_at_most_its_risk(text: str, truth: float, rates: list[float]) -> None:
    below, above = peaks_at_the_truth(text, truth, rates)
    for peaks in (below, above):
        assert np.sum(peaks >= np.log(1 / DELTA)) <= most_errors(RUNS, DELTA)

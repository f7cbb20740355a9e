"""Where wrong answers take longer, those that come first look better than the model is: order saves the verdict.

A clock of its own says when each answer is there; ``benchmarks.latency`` has 2,000 runs of four such worlds.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.latency import DELTA, World, measured, service
from simulation import most_errors

RUNS = 60


@pytest.mark.parametrize("world", [World(0.7, 60, 40, 30.0), World(0.9, 60, 20, 5.0)])
def test_late_wrong_answers_mislead_only_those_who_use_answers_as_they_come(world: World) -> None:
    """A service's requests, and a task that is stopped early: looked at all along, with the truth on the boundary."""
    found = measured(world, RUNS)
    for name in ("service", "task"):
        assert max(found[f"{name}: more"], found[f"{name}: less"]) <= most_errors(RUNS, DELTA) / RUNS
        assert found[f"{name}, as they come: more"] > most_errors(RUNS, DELTA) / RUNS


def test_requests_are_used_in_their_order_although_their_answers_come_in_another() -> None:
    world = World(0.7, 60, 20, 30.0)
    used, came = service(world, 1)
    assert used.tolist() == world.right(1).tolist() != came.tolist()
    assert np.count_nonzero(used) == np.count_nonzero(came)

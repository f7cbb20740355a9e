"""Guided training: the evidence over the seeds, and where episodes begin."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.guided import Starts, seeds_of, sign_e_process, summary


def test_the_sign_e_process_is_a_martingale_on_the_boundary() -> None:
    """Whatever came before, a fair sign leaves the wealth as it is on average; ties change nothing."""
    for before in ([], [1], [1, 1, -1], [1, 0, 1, 1, 1, 1, 1, 1, 1]):
        now = (sign_e_process(before) or [1.0])[-1]
        up, down, tie = (sign_e_process([*before, sign])[-1] for sign in (1, -1, 0))
        assert (up + down) / 2 == pytest.approx(now, rel=1e-9)
        assert tie == pytest.approx(now, rel=1e-9)


def test_eight_of_eight_are_evidence_and_four_of_eight_are_not() -> None:
    # The integral of 2 (2p)^8 over p from 1/2 to 1 is 2 (2^9 - 1) / (2 * 9).
    assert sign_e_process([1] * 8)[-1] == pytest.approx((2**9 - 1) / 9)
    assert sign_e_process([1, -1] * 4)[-1] < 1


def test_buggy_states_are_begun_with_as_often_as_is_said_and_the_latest_half_of_the_time() -> None:
    starts = Starts(3)
    assert "height_0" in starts.next(1.0)  # none is known yet
    starts.add([{"state": 1.0}])
    starts.add([{"state": 2.0}])
    drawn = [starts.next(0.5).get("state", 0.0) for _ in range(4000)]
    shares = [float(np.mean(np.array(drawn) == value)) for value in (0.0, 1.0, 2.0)]
    assert shares == pytest.approx([0.5, 0.25, 0.25], abs=0.05)


def test_runs_are_compared_seed_by_seed() -> None:
    def run(bugs: int, reward: float) -> dict[str, object]:
        return {"least_bugs": {"bugs": bugs}, "best_reward": {"reward": reward}, "mean_bugs": float(bugs)}

    rows = [
        {"seed": 0, "normal": run(12, 155.0), "guided": run(7, 197.0)},
        {"seed": 1, "normal": run(19, 175.0), "guided": run(19, 174.0)},
        {"seed": 2, "normal": run(5, 10.0), "guided": run(6, 11.0)},
    ]
    found = summary(rows)
    assert (found["fewer bugs"], found["more bugs"], found["higher best reward"]) == (1, 1, 2)
    assert len(found["evidence of fewer bugs"]) == 3
    assert seeds_of("3") == [0, 1, 2]
    assert seeds_of("4:6") == [4, 5]

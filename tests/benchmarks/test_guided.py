"""Guided training: the evidence over the seeds, where episodes begin, and the gradient that policies learn by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.guided import (
    Training,
    best,
    first_weights,
    forward,
    gradient,
    least,
    log_softmax,
    seeds_of,
    sign_e_process,
    summary,
    views,
)
from numpy.typing import NDArray


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


def test_buggy_states_are_begun_with_as_often_as_is_said_the_new_ones_once() -> None:
    training = Training(3, guided=True)
    training.rollouts, training.new = 500, list(range(1200))
    assert [training.start() for _ in range(50)] == [None] * 50  # nothing was tested yet
    training.tests = [{"reward": -1.0}]
    assert training.share == 0.0  # the policy earns nothing yet
    training.tests = [{"reward": 1.0}]
    assert training.share == 0.6
    drawn = [training.start() for _ in range(1000)]
    used = [pair for pair in drawn if pair is not None]
    assert len(used) == len(set(used)) == pytest.approx(600, abs=60)
    assert sorted(used) == training.old
    training.new = []
    drawn = [training.start() for _ in range(2000)]
    assert sum(pair is not None for pair in drawn) == pytest.approx(2000 * 0.6 * 0.6, abs=90)


def test_the_share_rises_by_steps() -> None:
    training = Training(3, guided=True)
    training.tests = [{"reward": 1.0}]
    shares = []
    for training.rollouts in (0, 49, 50, 99, 100, 150, 200, 489):
        shares.append(training.share)
    assert shares == pytest.approx([0, 0, 0.15, 0.15, 0.3, 0.45, 0.6, 0.6])
    training.guided = False
    assert training.share == 0.0


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    flat = first_weights(rng).astype(float)
    flat += rng.normal(0, 0.1, flat.shape)
    actor, critic = views(first_weights(rng))
    assert actor[0].T @ actor[0] == pytest.approx(2 * np.eye(8), abs=1e-5)
    assert critic[4] @ critic[4].T == pytest.approx(np.eye(1), abs=1e-5)
    batch: dict[str, NDArray[Any]] = {
        "seen": rng.normal(size=(64, 8)),
        "action": rng.integers(0, 4, 64),
        "log": np.log(rng.uniform(0.1, 0.4, 64)),
        "advantage": rng.normal(size=64),
        "return": rng.normal(size=64),
    }

    def loss(weights: NDArray[Any]) -> float:
        policy, value = views(weights)
        advantage = (batch["advantage"] - batch["advantage"].mean()) / batch["advantage"].std(ddof=1)
        logs = log_softmax(forward(policy, batch["seen"])[2])[np.arange(64), batch["action"]]
        ratio = np.exp(logs - batch["log"])
        gain = np.minimum(advantage * ratio, advantage * ratio.clip(0.8, 1.2)).mean()
        return float(0.5 * np.mean((forward(value, batch["seen"])[2][:, 0] - batch["return"]) ** 2) - gain)

    found = gradient(flat, batch)
    for place in rng.integers(0, len(flat), 20).tolist():
        step = np.zeros_like(flat)
        step[place] = 1e-6
        assert found[place] == pytest.approx((loss(flat + step) - loss(flat - step)) / 2e-6, abs=1e-6)


def test_runs_are_compared_seed_by_seed() -> None:
    def run(bugs: int, reward: float) -> dict[str, object]:
        test = {"bugs": bugs, "unseen_bugs": 3, "reward": reward}
        return {"least": test, "best": test, "second half": test}

    rows = [
        {"seed": 0, "normal": run(12, 155.0), "guided": run(7, 197.0)},
        {"seed": 1, "normal": run(19, 175.0), "guided": run(19, 174.0)},
        {"seed": 2, "normal": run(5, 10.0), "guided": run(6, 11.0)},
    ]
    found = summary(rows)
    assert (found["fewer bugs"]["yes"], found["fewer bugs"]["no"], found["higher best reward"]["yes"]) == (1, 1, 2)
    assert (found["fewer bugs in unseen states"]["yes"], found["fewer bugs in unseen states"]["no"]) == (0, 0)
    assert len(found["fewer bugs"]["evidence"]) == 3
    assert seeds_of("3") == [0, 1, 2]
    assert seeds_of("4:6") == [4, 5]


def test_a_policy_that_always_crashes_is_no_candidate() -> None:
    tests = [
        {"bugs": 0, "reward": -500.0},
        {"bugs": 9, "reward": 80.0},
        {"bugs": 9, "reward": 90.0},
        {"bugs": 20, "reward": 120.0},
    ]
    assert least(tests) is tests[2]
    assert best(tests) is tests[3]

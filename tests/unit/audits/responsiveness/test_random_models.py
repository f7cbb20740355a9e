"""Shares of points that a model answers at random: over points and answers, each answer a draw of its own."""

from __future__ import annotations

import numpy as np

import isonomia as iso
from isonomia.errors import UsageError
from isonomia.interventions import Feature, Interventions
from raising import raises

CHANGES = Interventions((Feature("x", "integer", 0, 2),))
PEOPLE = iso.Census({"x": np.zeros(20, dtype=int)})


def coin(seed: int, chance: float = 0.5):
    rng = np.random.default_rng(seed)
    return lambda table: (rng.random(len(table["x"])) < chance).astype(int)


def test_points_are_not_listed_once_and_for_all_and_equal_ones_are_asked_about_separately() -> None:
    claim = iso.Responsiveness(CHANGES, 1, at_least=0.2)
    verdict = iso.check(claim, coin(1), PEOPLE, seed=1, random_model=True)
    assert (verdict.answer, verdict.method, verdict.risk) == ("holds", "bets", 0.05)
    assert verdict.details["distinct"] == verdict.details["points"]


def test_a_coin_at_the_boundary_is_decided_with_at_most_the_risk() -> None:
    claim = iso.Responsiveness(CHANGES, 1, at_least=0.5, draws=200)
    found = [
        iso.check(claim, coin(seed), iso.Census({"x": [0]}), seed=seed, delta=0.1, random_model=True).answer
        for seed in range(60)
    ]
    assert max(found.count("holds"), found.count("violated")) <= 14  # of 60 at 0.1: more with probability below 0.001


def test_a_single_lucky_answer_is_no_way() -> None:
    with raises(UsageError, name="random_model"):
        iso.check(iso.responsiveness.preclusion(CHANGES, 1), coin(1), PEOPLE, seed=1, random_model=True)
    claim = iso.responsiveness.preclusion(CHANGES, 1, below=0.3)
    assert iso.check(claim, coin(1), PEOPLE, seed=1, random_model=True).answer == "holds"
    assert iso.check(claim, coin(1, 0.05), PEOPLE, seed=1, random_model=True).answer == "violated"

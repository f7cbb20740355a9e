"""Policies whose actions are several numbers: a walker on two legs against a plain loop over its games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from isonomia.errors import ModelError
from isonomia.populations.domains import Ending, StateChange
from raising import raises

RELAX = """import walker;
input s1;
var s2 := relax(s1);
output o1; output o2;
{
o1, o2 = 0, 0
for _ in range(4):
    rs = walker.randInt(0, 2**32-1)
    o1 += walker.play(s1, rs)
    o2 += walker.play(s2, rs)
}
ensures o1 <= o2;
"""


class Legs:
    """Where the walker is, how it leans, and how rough the ground is."""

    position = lean = roughness = 0.0
    rng: np.random.Generator

    def observed(self) -> NDArray[np.float64]:
        return np.array([self.position, self.lean, self.roughness])


@dataclass(frozen=True)
class Walker:
    """Both legs push; where they do not push alike, or the ground is rough, the walker leans, and falls in the end."""

    steps: int = 30
    continuous: bool = True

    @property
    def changes(self) -> Mapping[str, StateChange]:
        return {"relax": StateChange(lambda state: {"roughness": state["roughness"] / 2})}

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        return {"roughness": np.array([(seed * 7 % 20) / 10 for seed in seeds])}

    def make(self) -> Legs:
        return Legs()

    def begin(self, environment: Legs, state: Mapping[str, Any], rng: np.random.Generator) -> NDArray[np.float64]:
        environment.position = environment.lean = 0.0
        environment.roughness, environment.rng = state["roughness"], rng
        return environment.observed()

    def step(self, environment: Legs, prediction: Any) -> tuple[NDArray[np.float64], float, bool, bool]:
        left, right = prediction
        environment.position += (left + right) / 2
        environment.lean += left - right + environment.roughness * environment.rng.uniform(-1, 1)
        return environment.observed(), 0.0, environment.position >= 10 or abs(environment.lean) > 2, False

    def won(self, environment: Legs, ending: Ending) -> bool:
        return ending.terminated and environment.position >= 10


def careful(observed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pushes against the lean; on even ground it is in too much of a hurry, and leans too far at times."""
    lean, roughness = observed[:, 1], observed[:, 2]
    back = np.where((roughness > 0) & (roughness < 0.4), -1.5, 0.5) * lean
    return np.stack([0.5 - back, 0.5 + back], axis=1)


def check(policy: Any, **options: Any) -> iso.Verdict:
    domain = iso.Games(Walker(), seeds=20)
    prop = iso.safety.property(RELAX, allow_code=True, stop_early=False, **options)
    return iso.check(prop, policy, domain, budget=200, seed=5)


def wins(roughness: float, seed: int) -> bool:
    game, legs = Walker(), Legs()
    observed = game.begin(legs, {"roughness": roughness}, np.random.default_rng(seed))
    for _ in range(game.steps):
        action = careful(observed[None])[0].tolist()
        observed, _, over, _ = game.step(legs, action)
        if over:
            return legs.position >= 10
    return False


def test_games_with_two_numbers_an_action_end_as_in_a_plain_loop() -> None:
    domain = iso.Games(Walker(), seeds=20)
    text = "input s1; output o1; { o1 = play(s1, 11) } ensures o1 == 1;"
    verdict = iso.check(iso.safety.property(text), careful, domain)
    lost = [row for row in range(20) if not wins(float(Walker().states([row])["roughness"][0]), 11)]
    assert sorted(item["rows"]["s1"] for item in verdict.violations()) == lost
    assert 0 < len(lost) < 20


def test_a_smoother_ground_can_be_worse_for_a_bad_policy() -> None:
    verdict = check(careful)
    assert verdict.answer == "violated"
    assert len(verdict.violations()) == verdict.details["violations"]["distinct"] > 3
    for item in verdict.violations():
        assert item["outputs"]["o1"] > item["outputs"]["o2"]
        before, after = item["differs"]["s2"]["roughness"]
        assert after == before / 2


def test_what_the_policy_does_first_can_be_compared() -> None:
    text = (
        "input s1; var s2 := relax(s1); output d1; output d2; { d1 = predict(s1); d2 = predict(s2) } ensures d1 == d2;"
    )
    verdict = iso.check(iso.safety.property(text), careful, iso.Games(Walker(), seeds=20))
    assert verdict.answer == "holds"


def test_an_action_that_is_no_number_is_refused() -> None:
    with raises(ModelError, ("nan", "nan"), 200):
        check(lambda observed: np.full((len(observed), 2), np.nan))

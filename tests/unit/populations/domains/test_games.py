"""Games in lockstep: one question a step, and the same results as one game at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from walking import Walk, onward

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains import Games
from isonomia.populations.table import Table
from raising import raises


def ask_of(policy: Any, sizes: list[int] | None = None) -> Any:
    def ask(table: Table) -> tuple[NDArray[Any], None]:
        if sizes is not None:
            sizes.append(table.rows)
        return policy(table.native), None

    return ask


def everyone(domain: Any) -> Any:
    return domain.inputs(np.arange(domain.size))


def test_the_policy_is_asked_once_a_step_about_the_games_that_are_not_over() -> None:
    domain, sizes = Games(Walk(), seeds=50), []
    wins, why = domain.functions["play"].call(everyone(domain), np.arange(50), ask_of(onward, sizes))
    assert why is None
    assert set(wins.tolist()) == {0, 1}
    assert len(sizes) <= Walk().steps
    assert sizes[0] == 50
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 50


def test_a_game_ends_at_the_limit_of_steps_and_is_lost() -> None:
    domain, sizes = Games(Walk(steps=4), {"goal": [100]}), []
    wins, _ = domain.functions["play"].call(everyone(domain), np.array([3]), ask_of(onward, sizes))
    assert wins.tolist() == [0]
    assert sizes == [1] * 4


def test_rewards_are_those_of_the_same_games() -> None:
    domain, seeds = Games(Walk(), {"goal": [3, 2, 4, -1]}), np.array([3, 4, 5, 6])
    found = {
        name: domain.functions[name].call(everyone(domain), seeds, ask_of(onward))
        for name in ("play", "reward", "last_reward")
    }
    assert [why.tolist() for _, why in found.values()] == [found["play"][1].tolist()] * 3
    assert found["play"][1].tolist() == [None, None, None, "the game raised ValueError: the goal lies behind the start"]
    for number, goal in enumerate([3, 2, 4]):
        walk, field, rewards = Walk(), Walk().make(), []
        observation = walk.begin(field, {"goal": goal}, np.random.default_rng(int(seeds[number])))
        over = False
        while not over and len(rewards) < walk.steps:
            observation, reward, over, _ = walk.step(field, onward(observation[None])[0])
            rewards.append(reward)
        assert [float(values[number]) for values, _ in found.values()] == [
            float(over and field.position >= goal),
            sum(rewards),
            rewards[-1],
        ]


def test_the_same_seed_is_the_same_wind_whatever_the_goal() -> None:
    domain = Games(Walk(), {"goal": [6, 5, 4, 3, 2, 1]})
    for seed in range(30):
        wins, _ = domain.functions["play"].call(everyone(domain), np.full(6, seed), ask_of(onward))
        assert wins.tolist() == sorted(wins.tolist())  # a nearer goal is reached whenever a farther one is


def test_a_state_that_cannot_be_easier_is_marked_and_left_as_it_is() -> None:
    domain = Games(Walk(), {"goal": [1, 5, 1, 2]})
    records, none = domain.functions["relax"].call(everyone(domain), np.arange(4))
    goals = domain.get(records, "goal")[0]
    assert none.tolist() == [True, False, True, False]
    assert goals[[0, 2]].tolist() == [1, 1]
    assert goals[1] < 5
    assert goals[3] == 1


def test_a_change_depends_on_the_state_and_its_seed_only() -> None:
    domain = Games(Walk(), {"goal": [7, 7, 7, 6]})
    together, _ = domain.functions["relax"].call(everyone(domain), np.array([4, 5, 4, 5]))
    goals = domain.get(together, "goal")[0].tolist()
    assert goals[0] == goals[2]
    alone, _ = domain.functions["relax"].call(domain.inputs(np.array([1])), np.array([5]))
    assert domain.get(alone, "goal")[0].tolist() == [goals[1]]


def test_what_the_environment_raises_is_the_reason_of_its_game_only() -> None:
    domain = Games(Walk(trap=2), {"goal": [-1, 1, 6]})
    wins, why = domain.functions["play"].call(
        everyone(domain), np.array([1, 1, 1]), ask_of(lambda x: np.ones(len(x), int))
    )
    assert why.tolist()[0] == "the game raised ValueError: the goal lies behind the start"
    assert why.tolist()[2] == "the game raised RuntimeError: there is a hole in the ground"
    assert (wins[1], why[1]) == (1, None)


def test_a_game_whose_policy_has_no_answer_ends_with_the_reason() -> None:
    def ask(table: Table) -> Any:
        far = table.native[:, 0] >= 2
        why = np.array(["no idea" if one else None for one in far], dtype=object)
        return np.ones(table.rows, int), why if far.any() else None

    domain = Games(Walk(), {"goal": [1, 9]})
    wins, why = domain.functions["play"].call(everyone(domain), np.array([7, 7]), ask)
    assert why.tolist() == [None, "no idea"]
    assert wins[0] == 1


def test_the_first_observation_is_what_predict_is_asked_about() -> None:
    domain = Games(Walk(), {"goal": [4, 6]})
    assert domain.table(everyone(domain)).native.tolist() == [[0.0, 4.0], [0.0, 6.0]]


def test_states_are_shown_and_restored() -> None:
    domain = Games(Walk(), seeds=[5, 9])
    shown = [domain.show(everyone(domain), index) for index in range(2)]
    assert shown == [{"goal": 6}, {"goal": 3}]
    assert domain.equal(domain.restore(shown), everyone(domain)).all()


@pytest.mark.parametrize("given", [{}, {"states": {"goal": [1]}, "seeds": 3}])
def test_either_states_or_seeds_are_needed(given: dict[str, Any]) -> None:
    with raises(UsageError, "seeds", "states"):
        Games(Walk(), **given)


def test_states_need_every_number_that_the_game_begins_with() -> None:
    with raises(DataError, name="goal"):
        Games(Walk(), {"width": [1]})


def test_what_is_no_state_cannot_be_changed() -> None:
    domain = Games(Walk(), seeds=1)
    with raises(DataError, name="relax"):
        domain.functions["relax"].call(np.array([1]), np.array([1]))


@pytest.mark.parametrize("workers", [0, True, 1.5])
def test_workers_are_a_number_of_processes(workers: Any) -> None:
    with raises(UsageError, f"workers={workers}"):
        Games(Walk(), seeds=2, workers=workers)


def test_a_seed_is_a_whole_number_from_0_on() -> None:
    domain = Games(Walk(), seeds=1)
    for seeds in (np.array([0.5]), np.array([-1])):
        with raises(DataError, "seed", seeds.item()):
            domain.functions["play"].call(everyone(domain), seeds, ask_of(onward))
    for name in ("play", "reward"):
        with raises(DataError, name=name):
            domain.functions[name].call(np.array([1]), np.array([1]), ask_of(onward))

"""LunarLander with a given surface: the very game of Gymnasium, and nothing but the surface changes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isonomia as iso
from isonomia.errors import UsageError
from isonomia.populations.domains import Environment, Games, LunarLander
from isonomia.populations.domains.games import Ending
from isonomia.populations.domains.lunar import FLIGHT, HEIGHTS, HIGH, PUSHES, TOP, initial_state
from raising import raises


@pytest.fixture(scope="module")
def gymnasium() -> Any:
    pytest.importorskip("Box2D", reason="LunarLander needs gymnasium[box2d], which is not installed")
    return pytest.importorskip("gymnasium", reason="games need Gymnasium, which is not installed")


def surface(environment: Any) -> NDArray[np.float64]:
    """The heights that the lander can touch, from left to right."""
    polygons = environment.sky_polys
    return np.array([polygons[0][0][1], *(polygon[1][1] for polygon in polygons)])


def begun(state: Any, seed: int = 3) -> tuple[Any, NDArray[Any]]:
    game = LunarLander()
    environment = game.make()
    return environment, game.begin(environment, state, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(6))
def test_an_unchanged_state_is_the_game_of_its_seed_step_by_step(gymnasium: Any, seed: int) -> None:
    plain = gymnasium.make("LunarLander-v3").unwrapped
    rng = np.random.default_rng(seed)
    game = LunarLander()
    ours = game.make()
    first = game.begin(ours, initial_state(rng), rng)
    assert np.array_equal(plain.reset(seed=seed)[0], first)
    actions = np.random.default_rng(100 + seed).integers(0, 4, size=300).tolist()
    for action in actions:
        observation, reward, over, _, _ = plain.step(action)
        again = game.step(ours, action)
        assert np.array_equal(observation, again[0])
        assert (float(reward), over) == again[1:3]
        if over:
            break


def test_an_environment_that_was_played_in_forgets_it(gymnasium: Any) -> None:
    del gymnasium
    game = LunarLander()
    used, fresh = game.make(), game.make()
    states = [initial_state(np.random.default_rng(seed)) for seed in (1, 2)]
    game.begin(used, states[0], np.random.default_rng(5))
    for _ in range(150):
        game.step(used, 2)
    for environment in (used, fresh):
        game.begin(environment, states[1], np.random.default_rng(6))
    for action in [0, 2, 3, 2, 1, 0] * 20:
        assert np.array_equal(game.step(used, action)[0], game.step(fresh, action)[0])


@pytest.mark.parametrize(("change", "sign"), [("relax", -1), ("unrelax", 1)])
def test_the_surface_is_moved_away_from_the_helipad_and_nothing_else(gymnasium: Any, change: str, sign: int) -> None:
    del gymnasium
    for seed in range(20):
        state = initial_state(np.random.default_rng(seed))
        moved = LunarLander().changes[change].call(state, np.random.default_rng(seed))
        assert moved is not None
        assert set(moved) == set(HEIGHTS)
        (before, first), (after, second) = begun(state), begun({**state, **moved})
        step = sign * (surface(after) - surface(before))
        assert (step >= -1e-9).all()
        assert (step[[0, 1, 2, 8, 9, 10]] > 0).all()
        assert np.array_equal(surface(after)[4:7], surface(before)[4:7])  # the helipad
        assert np.array_equal(first, second)
        assert before.lander.position == after.lander.position


def test_a_surface_at_its_limit_cannot_be_moved_further() -> None:
    pushes = dict.fromkeys(PUSHES, 0.0)
    flat, high = ({**dict.fromkeys(HEIGHTS, height), **pushes} for height in (0.0, TOP))
    rng, changes = np.random.default_rng(1), LunarLander().changes
    assert changes["relax"].call(flat, rng) is None
    assert changes["lowered"].call(flat, 1.0) is None
    assert changes["unrelax"].call(high, rng) is None
    assert changes["raised"].call(high, 1.0) is None
    assert changes["raised"].call(flat, 0.0) is None
    assert changes["lowered"].call(high, 1.0) == dict.fromkeys(HEIGHTS, TOP - 1.0)
    assert changes["raised"].call(flat, 99.0) == dict.fromkeys(HEIGHTS, TOP)


def test_states_are_what_the_game_draws_for_itself() -> None:
    columns = LunarLander().states([4, 5])
    assert {name: column[1] for name, column in columns.items()} == initial_state(np.random.default_rng(5))


def steady(observations: NDArray[Any]) -> NDArray[Any]:
    """Keep upright, and brake."""
    tilt = observations[:, 4] + observations[:, 5]
    return np.where(np.abs(tilt) > 0.15, np.where(tilt > 0, 3, 1), np.where(observations[:, 3] < -0.15, 2, 0))


def test_a_game_is_the_same_whenever_it_is_played(gymnasium: Any) -> None:
    del gymnasium
    domain = Games(LunarLander(steps=250), seeds=6)
    play = domain.functions["play"].call
    seeds = np.array([1, 2, 3, 4, 5, 6])

    def ask(table: Any) -> Any:
        return steady(table.native), None

    together = play(domain.inputs(np.arange(6)), seeds, ask)[0].tolist()
    alone = [play(domain.inputs(np.array([i])), seeds[i : i + 1], ask)[0].tolist()[0] for i in range(6)]
    assert together == alone


def test_a_lander_that_falls_has_lost_and_one_that_stands_has_won(gymnasium: Any) -> None:
    del gymnasium
    domain = Games(LunarLander(), seeds=12)
    play, records = domain.functions["play"].call, domain.inputs(np.arange(12))
    fallen = play(records, np.arange(12), lambda table: (np.zeros(table.rows, int), None))[0]
    assert fallen.tolist() == [0] * 12
    assert play(records, np.arange(12), lambda table: (steady(table.native), None))[0].sum() > 0


def test_an_action_that_there_is_not_makes_its_game_fail(gymnasium: Any) -> None:
    del gymnasium
    domain = Games(LunarLander(), seeds=2)
    _, why = domain.functions["play"].call(
        domain.inputs(np.arange(2)), np.arange(2), lambda table: (np.full(table.rows, 7), None)
    )
    assert all(reason.startswith("the game raised AssertionError: 7") for reason in why)


def test_lowering_by_a_chosen_amount_can_be_written_in_a_plain_block(gymnasium: Any) -> None:
    del gymnasium
    text = """input s1; var s2 := lowered(s1, randReal(0.5, 2)); output o1; output o2;
    { o1 = play(s1, 1)
      o2 = play(s2, 1) }
    ensures o1 <= o2 || o1 > o2;"""
    verdict = iso.check(iso.safety.property(text, eps=0.4), steady, Games(LunarLander(steps=60), seeds=5), seed=1)
    assert verdict.answer == "holds"


def test_processes_change_nothing(gymnasium: Any) -> None:
    del gymnasium
    text = """input s1; output o; { o = play(s1, 5) } ensures o == 1;"""
    found = [
        iso.check(
            iso.safety.property(text, enumerate=True),
            lambda x: (x[:, 2] > 0).astype(int),
            Games(Environment("CartPole-v1", win=42, steps=80), seeds=40, workers=workers),
            seed=1,
        )
        for workers in (1, 2)
    ]
    assert found[0].details["violations"] == found[1].details["violations"]
    assert 0 < found[0].details["violations"]["cases"] < 40


LEFT_ALONE = """
import os, signal
import numpy as np
from isonomia.populations.domains import Environment, Games

if __name__ == "__main__":
    domain = Games(Environment("CartPole-v1", win=1), seeds=32, workers=2)

    def ask(table):
        import multiprocessing

        print(*(process.pid for process in multiprocessing.active_children()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    domain.functions["play"].call(domain.inputs(np.arange(32)), np.arange(32), ask)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by a signal")
def test_processes_leave_when_the_program_is_killed(gymnasium: Any, tmp_path: Path) -> None:
    del gymnasium
    program = tmp_path / "left_alone.py"
    program.write_text(LEFT_ALONE, encoding="utf-8")
    # Into a file and not a pipe, which would stay open for as long as a process is left.
    with (tmp_path / "told").open("w") as told:
        subprocess.run([sys.executable, str(program)], stdout=told, stderr=subprocess.DEVNULL, timeout=60, check=False)
    words = (tmp_path / "told").read_text().split()
    assert len(words) == 2
    children = [int(word) for word in words]
    deadline = time.monotonic() + 20
    while any(_runs(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_runs(child) for child in children)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")  # one that has ended but was not waited for has left, too
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


FLYING = LunarLander(flight=True)


def rows_of(columns: Any) -> list[dict[str, float]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def in_flight(environment: Any, heights: list[float]) -> dict[str, float]:
    """What Box2D holds, read body by body."""
    state = dict(zip(FLIGHT[-12:], heights, strict=True))
    for body, side in zip([environment.lander, *environment.legs], ("", "left_", "right_"), strict=True):
        state |= {f"{side}x": body.position.x, f"{side}y": body.position.y, f"{side}angle": body.angle}
        state |= {f"{side}vx": body.linearVelocity.x, f"{side}vy": body.linearVelocity.y}
        state[f"{side}angular_velocity"] = body.angularVelocity
        if side:
            state[f"{side}contact"] = float(body.ground_contact)
    return state


def test_a_lander_in_flight_flies_on_as_it_did(gymnasium: Any) -> None:
    state = rows_of(FLYING.states([7]))[0]
    assert set(state) == set(FLIGHT)
    ours, again = FLYING.make(), FLYING.make()
    first = FLYING.begin(ours, state, np.random.default_rng(7))
    assert np.array_equal(first, gymnasium.make("LunarLander-v3").reset(seed=7)[0])
    for _ in range(60):
        observation = FLYING.step(ours, int(steady(first[None])[0]))[0]
        first = observation
    middle = in_flight(ours, [state[name] for name in FLIGHT[-12:]])
    assert np.allclose(FLYING.begin(again, middle, np.random.default_rng(1)), first, atol=1e-6)
    ours.np_random, again.np_random = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(40):
        action = int(steady(first[None])[0])
        (first, reward, *_), (other, same, *_) = FLYING.step(ours, action), FLYING.step(again, action)
        assert np.allclose(first, other, atol=1e-3)
        assert reward == pytest.approx(same, abs=0.1)


def test_a_lander_in_flight_gets_another_helipad_and_surface(gymnasium: Any) -> None:
    del gymnasium
    environment, rng = FLYING.make(), np.random.default_rng(4)
    for state in rows_of(FLYING.states(range(8))):
        for change, low, high in (("relax", HIGH / 12, HIGH / 4), ("unrelax", HIGH / 4, state["y"] - HIGH / 6)):
            moved = FLYING.changes[change].call(state, rng)
            assert moved is not None
            pad = moved["height_5"]
            assert list(moved) == list(FLIGHT[-12:])
            assert low <= pad <= high
            assert all(0 <= height <= 2 * pad for height in moved.values())
            observation = FLYING.begin(environment, {**state, **moved}, rng)
            assert environment.helipad_y == pad
            assert surface(environment)[4:7] == pytest.approx(0.99 * pad)  # the game weighs neighbors by 0.33
            assert observation[1] == pytest.approx((state["y"] - pad - 0.6) / TOP)
    deep = {**state, "y": HIGH / 4 + HIGH / 6 - 0.01}
    assert FLYING.changes["unrelax"].call(deep, rng) is None


def test_in_flight_only_a_crash_or_leaving_the_view_is_a_loss(gymnasium: Any) -> None:
    del gymnasium
    hovering, crashed, landed = (
        Ending(total=-300.0, last=last, steps=9, terminated=over, truncated=not over)
        for last, over in ((-3.0, False), (-100.0, True), (100.0, True))
    )
    assert [FLYING.won(None, ending) for ending in (hovering, crashed, landed)] == [True, False, True]
    environment = FLYING.make()
    state = rows_of(FLYING.states([1]))[0]
    FLYING.begin(environment, {**state, "x": 20.5}, np.random.default_rng(1))
    assert FLYING.step(environment, 0)[1:3] == (-100.0, True)


def test_a_missing_gymnasium_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with raises(UsageError, "gymnasium[box2d]", cause=ModuleNotFoundError):
        LunarLander().make()


def test_only_the_four_actions_are_offered() -> None:
    with raises(UsageError, name="continuous"):
        LunarLander({"continuous": True}).make()


def test_an_environment_that_does_not_exist_is_named(gymnasium: Any) -> None:
    del gymnasium
    with raises(UsageError, "NoSuchGame-v9", "NoSuchGame"):
        Environment("NoSuchGame-v9", win=1).make()

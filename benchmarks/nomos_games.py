"""LunarLander in the k-safety paper: a lower surface should not cost a landing, and a higher one not win one.

    python -m benchmarks.nomos_games [--tests 300] [--seeds 1] [--workers 2] [--json FILE]

Each case plays ten games from a state and ten from the same state with its surface lowered (Relax, the paper's Fig. 1d)
or raised (Unrelax), with the same seeds: a 20-safety property. The policy is the paper's own, looked for in
``ISONOMIA_DATA`` and never copied; in LunarLander-v3 it earns about 196 a game. The states are those that the game
begins with at seeds 0 to 999.

The paper found 124.5 and 3334.5 distinct violations in 5,000 tests, of 2,380 mid-flight states. The second figure is a
mistake: for two thirds of its pool there was no harder state, and the game was compared with a fresh one. Here a state
without a harder one is turned away. 5,000 tests are 100,000 games. The rows *as published* have the paper's states,
changes (a helipad between H/12 and H/4, or between H/4 and H/6 below the lander, and a surface drawn anew) and wins
(only a reward of -100 loses): for Relax they lead to 97 in 5,000 tests (74 to 125).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import isonomia as iso
from benchmarks.nomos_harder import DATA, Row
from isonomia.populations.domains import Games, LunarLander
from isonomia.populations.domains.games import VectorEnvironment

PUBLISHED = {"Relax": 124.5, "Unrelax": 3334.5}
POOL = 1000
GAMES = 20
"""Games that a case plays."""

SPECIFICATION = """input s1;
var s2 := {change}(s1);
output o1;
output o2;
{{
  o1, o2 = 0, 0
  for _ in range(10):
    rs = randInt(0, MAX_INT)
    o1 += play(s1, rs)
    o2 += play(s2, rs)
}}
# 0-lose, 1-win
ensures {ensures};
"""
SPECIFICATIONS = {
    "Relax": SPECIFICATION.format(change="relax", ensures="o1 <= o2"),
    "Unrelax": SPECIFICATION.format(change="unrelax", ensures="o2 <= o1"),
}


def policy() -> Any:
    """The paper's policy: two layers of 64 with tanh, the action with the largest output.

    Computed in double precision, so that rounding, which differs between a batch and a single game, decides no action.
    """
    names = ("mlp_extractor__policy_net__0", "mlp_extractor__policy_net__2", "action_net")
    with np.load(DATA / "nomos" / "lunar_policy.npz") as stored:
        layers = [(stored[f"{name}__weight"].T.astype(float), stored[f"{name}__bias"].astype(float)) for name in names]

    def lunar_policy(observations: NDArray[Any]) -> NDArray[Any]:
        hidden = np.asarray(observations, dtype=float)
        for weight, bias in layers[:-1]:
            hidden = np.tanh(hidden @ weight + bias)
        weight, bias = layers[-1]
        return np.asarray((hidden @ weight + bias).argmax(axis=1))

    return lunar_policy


def mean_reward(games: int = 100) -> float:
    """What the policy earns a game, from the states of the first seeds."""
    game, act = LunarLander(), policy()
    columns = game.states(range(games))
    bench = VectorEnvironment(game)
    states = [{name: column[i] for name, column in columns.items()} for i in range(games)]
    observations, _ = bench.begin(states, list(range(games)))
    playing = list(range(games))
    while playing:
        observations, ended = bench.step(playing, act(observations).tolist())
        playing = [number for number in playing if number not in ended]
    return float(np.mean(bench.totals))


def pool() -> dict[str, NDArray[Any]]:
    """The paper's mid-flight states."""
    with np.load(DATA / "nomos" / "lunar_pool.npz") as stored:
        return dict(zip(map(str, stored["names"]), stored["states"].T, strict=True))


def tested(name: str, act: Any, workers: int, tests: int, seeds: int, as_published: bool) -> Row:
    """One row: random tests for each seed."""
    if as_published:
        domain = Games(LunarLander(flight=True), pool(), workers=workers)
    else:
        domain = Games(LunarLander(), seeds=POOL, workers=workers)
    prop = iso.safety.property(SPECIFICATIONS[name], allow_code=True, enumerate=False, stop_early=False)
    found, away, seconds = [], [], []
    for seed in range(seeds):
        began = time.perf_counter()
        verdict = iso.check(prop, act, domain, budget=tests, seed=seed)
        seconds.append(time.perf_counter() - began)
        found.append(verdict.details["violations"]["distinct"])
        away.append(verdict.details["cases"]["without_choice"])
    return {
        "benchmark": "LunarLander",
        "property": f"{name}, as published" if as_published else name,
        "model": "rl",
        "specified": 1,
        "violated": any(found),
        "distinct_mean": float(np.mean(found)),
        "tests": tests,
        "seconds": float(np.median(seconds)),
        "seconds_5000": float(np.median(seconds)) * 5000 / tests,
        "exact_violations": None,
        "published_distinct": PUBLISHED[name],
        "turned_away": float(np.mean(away)),
        "games_a_second": tests * GAMES / float(np.median(seconds)),
    }


def run(tests: int = 300, seeds: int = 1, workers: int | None = None) -> list[Row]:
    """Both properties."""
    act, reward = policy(), mean_reward()
    assert 180 < reward < 210, f"the policy was read wrongly: it earns {reward:.1f} a game"
    shared = workers or os.cpu_count() or 1
    # The policy's matrices are small: several threads of the linear algebra would only wait for each other.
    with threadpool_limits(1):
        return [
            tested(name, act, shared, tests, seeds, published) | {"mean_reward": reward}
            for published in (False, True)
            for name in SPECIFICATIONS
        ]


def show(rows: list[Row]) -> None:
    print(f"{'property':<22} {'tests':>6} {'distinct':>9} {'paper, of 5000':>15} {'seconds':>8} {'games/s':>8}")
    for row in rows:
        print(
            f"{row['property']:<22} {row['tests']:>6} {row['distinct_mean']:>9.1f} {row['published_distinct']:>15} "
            f"{row['seconds']:>8.1f} {row['games_a_second']:>8.1f}"
        )
    print(f"the policy earns {rows[0]['mean_reward']:.1f} a game")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/nomos_games.json"))
    arguments = parser.parse_args()
    if not (DATA / "nomos").exists():
        sys.exit(f"the data are not at {DATA / 'nomos'}; set ISONOMIA_DATA")
    rows = run(arguments.tests, arguments.seeds, arguments.workers)
    show(rows)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"tests": arguments.tests, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

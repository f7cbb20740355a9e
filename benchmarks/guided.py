"""Guided training of a policy for LunarLander by the protocol of the k-safety paper (its Table 2 and Fig. 5).

    python -m benchmarks.guided [--seeds 10] [--workers N] [--steps 1000000] [--minutes M] [--folder DIR] [--json FILE]

A policy is trained by PPO with the defaults of stable-baselines3, once as usual and once *guided*, from the same
network and the same episodes. Every five rollouts it is tested on a fixed suite, 800 of the paper's mid-flight states
with two lower surfaces each: a bug is a pair of games, with the same randomness, of which the lower one alone is lost,
and a second such pair. In guided training a growing share of the episodes begins in the states of these bugs.

The paper reports for each run the policy with the fewest bugs, on the suite that guided its training, and the policy
with the highest mean reward of 30 games. Here all policies play, besides, a suite of 800 other states, which guides
nothing. Only policies that earn more than nothing are candidates, as all of the paper's do: one that crashes in every
game has no bugs. Whether *guided has fewer bugs* is tested by a sign e-process over the seeds in order, so that one may
look after each.

The states are looked for in ``ISONOMIA_DATA``. A run goes on where it was stopped: repeat the command with the same
folder until it says that nothing is left. It needs ``gymnasium[box2d]``, but of Isonomia's other dependencies NumPy and
SciPy only.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.domains import LunarLander
from isonomia.populations.domains.games import State, VectorEnvironment

Row = dict[str, Any]
Policy = Callable[[NDArray[Any]], NDArray[Any]]

# The defaults of stable-baselines3.
ROLLOUT, EPOCHS, MINIBATCH = 2048, 10, 64
DISCOUNT, TRACE, CLIP, RATE, NORM = 0.99, 0.95, 0.2, 3e-4, 0.5
HIDDEN = 64

TEST_EVERY = 5
"""Rollouts between tests."""
CASES, RELAXATIONS = 800, 2
GAMES = 30
"""Games whose mean reward is reported."""
SHARE, SHARE_EVERY, MOST = 0.15, 102_400, 0.6
"""By how much the share of episodes that begin in a buggy state rises, after how many steps, and up to what."""
PAPER = {
    "fewer bugs": 8,
    "more bugs": 0,
    "higher best reward": 9,
    "normal": {
        "least": [19, 12, 20, 19, 28, 8, 21, 17, 14, 9],
        "best": [232, 157, 277, 175, 137, 244, 241, 182, 264, 159],
    },
    "guided": {
        "least": [19, 7, 12, 19, 16, 6, 12, 7, 9, 2],
        "best": [262, 197, 279, 185, 168, 256, 264, 222, 242, 217],
    },
}


# Playing


@dataclass(frozen=True)
class Suite:
    """Pairs of a state and the same state with a lower surface."""

    states: list[State]
    easier: list[State]

    def bugs(self, act: Policy) -> tuple[list[int], int]:
        """The pairs that are won above and lost below, twice; and how many games above are won the first time."""
        pairs, won = list(range(len(self.easier))), 0
        for turn in range(2):
            seeds = [2 * (pair // RELAXATIONS) + turn for pair in pairs]
            above = sorted({pair // RELAXATIONS for pair in pairs})
            wins = dict(
                zip(above, play(act, [self.states[i] for i in above], [2 * i + turn for i in above])[0], strict=True)
            )
            won = won or sum(wins.values())
            kept = [k for k, pair in enumerate(pairs) if wins[pair // RELAXATIONS]]
            lost = ~play(act, [self.easier[pairs[k]] for k in kept], [seeds[k] for k in kept])[0]
            pairs = [pairs[k] for k, is_lost in zip(kept, lost, strict=True) if is_lost]
        return pairs, int(won)


@cache
def suites() -> tuple[Suite, Suite]:
    """The suite that guides training, and the one of states that it does not have."""
    with np.load(Path(os.environ.get("ISONOMIA_DATA", "../shared/data")) / "nomos" / "lunar_pool.npz") as stored:
        names, rows = [str(name) for name in stored["names"]], stored["states"]
    rng = np.random.default_rng(2023)
    chosen = [dict(zip(names, row, strict=True)) for row in rows[rng.permutation(len(rows))[: 2 * CASES]].tolist()]
    relax = LunarLander(flight=True).changes["relax"].call
    easier = [{**state, **(relax(state, rng) or {})} for state in chosen for _ in range(RELAXATIONS)]
    half = CASES * RELAXATIONS
    return Suite(chosen[:CASES], easier[:half]), Suite(chosen[CASES:], easier[half:])


_BENCH = VectorEnvironment(LunarLander(flight=True))


def play(act: Policy, states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Whether each game was won, and what it earned."""
    if not states:
        return np.zeros(0, dtype=bool), np.zeros(0)
    observations, ended = _BENCH.begin(states, seeds)
    playing = list(range(len(states)))
    while playing:
        observations, over = _BENCH.step(playing, act(observations).tolist())
        ended |= over
        playing = [number for number in playing if number not in over]
    failures = [how for how in ended.values() if isinstance(how, str)]
    if failures:
        raise RuntimeError(failures[0])
    return np.array([ended[number][0] for number in range(len(states))], dtype=bool), np.array(_BENCH.totals)


def mean_reward(act: Policy) -> float:
    """What a policy earns a game, from states of the game's own."""
    columns = LunarLander(flight=True).states(range(GAMES))
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return float(play(act, [dict(zip(columns, row, strict=True)) for row in rows], range(GAMES))[1].mean())


# The networks: two layers of 64 with tanh each, in one array, so that Adam is a few operations.


def shapes(outputs: int) -> list[tuple[int, ...]]:
    """Weights and biases in order."""
    return [(HIDDEN, 8), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (outputs, HIDDEN), (outputs,)]


def views(flat: NDArray[Any]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """The policy's and the critic's weights and biases as views of one array."""
    parts, at = [], 0
    for shape in shapes(4) + shapes(1):
        size = int(np.prod(shape))
        parts.append(flat[at : at + size].reshape(shape))
        at += size
    return parts[:6], parts[6:]


def first_weights(rng: np.random.Generator) -> NDArray[np.float32]:
    """Orthogonal weights and no biases."""
    flat = np.zeros(sum(int(np.prod(shape)) for shape in shapes(4) + shapes(1)), dtype=np.float32)
    for layers, last in zip(views(flat), (0.01, 1.0), strict=True):
        for weight, gain in zip(layers[::2], (2**0.5, 2**0.5, last), strict=True):
            tall = rng.normal(size=(max(weight.shape), min(weight.shape)))
            q, r = np.linalg.qr(tall)
            q *= np.sign(np.diag(r))
            weight[:] = gain * (q if weight.shape == q.shape else q.T)
    return flat


def forward(layers: Sequence[NDArray[Any]], seen: NDArray[Any]) -> list[NDArray[Any]]:
    """The activities of the hidden layers, and the outputs."""
    first = np.tanh(seen @ layers[0].T + layers[1])
    second = np.tanh(first @ layers[2].T + layers[3])
    return [first, second, second @ layers[4].T + layers[5]]


def backward(
    layers: Sequence[NDArray[Any]],
    gradients: Sequence[NDArray[Any]],
    seen: NDArray[Any],
    active: Any,
    error: NDArray[Any],
) -> None:
    """Write the gradients of the weights, of those of the outputs."""
    inputs = (seen, *active[:2])
    for layer in (2, 1, 0):
        np.matmul(error.T, inputs[layer], out=gradients[2 * layer])
        error.sum(axis=0, out=gradients[2 * layer + 1])
        if layer:
            error = (error @ layers[2 * layer]) * (1 - inputs[layer] ** 2)


def log_softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """The logarithms of the probabilities of the actions."""
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def greedy(flat: NDArray[Any]) -> Policy:
    """The policy that takes the action with the largest output, as it is tested."""
    actor = views(flat)[0]
    return lambda observations: forward(actor, observations)[2].argmax(axis=1)


def gradient(flat: NDArray[Any], batch: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """The gradient of PPO's loss: the clipped objective, and half of the critic's mean squared error."""
    (actor, critic), result = views(flat), np.empty_like(flat)
    down, across = views(result)
    seen, size = batch["seen"], len(batch["action"])
    advantage = batch["advantage"]
    advantage = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-8)
    active, rows = forward(actor, seen), np.arange(size)
    logs = log_softmax(active[2])
    ratio = np.exp(logs[rows, batch["action"]] - batch["log"])
    # Where the clipped ratio is the smaller gain, the objective does not depend on the weights.
    counts = advantage * ratio <= advantage * ratio.clip(1 - CLIP, 1 + CLIP)
    pull = (counts * advantage * ratio / size)[:, None]
    error = np.exp(logs) * pull
    error[rows, batch["action"]] -= pull[:, 0]
    backward(actor, down, seen, active, error)
    active = forward(critic, seen)
    backward(critic, across, seen, active, (active[2] - batch["return"][:, None]) / size)
    return result


# Training


@dataclass
class Training:
    """A run of PPO: all of this is kept, so that it can be stopped after any rollout and taken up again."""

    seed: int
    guided: bool
    flat: NDArray[np.float32] = field(init=False)
    moments: NDArray[np.float32] = field(init=False)
    updates: int = 0
    rollouts: int = 0
    new: list[int] = field(default_factory=list)
    old: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    tests: list[Row] = field(default_factory=list)
    kept: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.rng, self.choice = (np.random.default_rng([self.seed, stream]) for stream in (1, 2))
        self.flat = first_weights(np.random.default_rng([self.seed, 3]))
        self.moments = np.zeros((2, len(self.flat)), dtype=np.float32)

    @property
    def share(self) -> float:
        """How likely it is now that an episode begins in a buggy state."""
        useful = self.guided and self.tests and self.tests[-1]["reward"] > 0
        return min(SHARE * (self.rollouts * ROLLOUT // SHARE_EVERY), MOST) if useful else 0.0

    def start(self) -> int | None:
        """The pair of the suite whose lower state an episode begins in, or ``None`` for a state of the game's own.

        A new one is used once; when none is left, an older one with the same probability again.
        """
        share = self.share
        if self.choice.random() >= share:
            return None
        if self.new:
            pair = self.new.pop(int(self.choice.integers(len(self.new))))
            self.old = sorted({*self.old, pair})
            return pair
        if self.old and self.choice.random() < share:
            return int(self.choice.choice(self.old))
        return None

    def begin(self, environment: Any) -> NDArray[Any]:
        """Begin an episode."""
        pair = self.start()
        environment.np_random = self.rng
        if pair is not None:
            return np.asarray(LunarLander(flight=True).begin(environment, suites()[0].easier[pair], self.rng))
        return np.asarray(environment.reset()[0])

    def run(self, steps: int, until: float, path: Path) -> bool:
        """Train until it is done, or the time is over; whether it is done."""
        environment = LunarLander().make()
        self.observation, self.age, self.total = self.begin(environment), 0, 0.0
        rollouts, began = -(-steps // ROLLOUT), time.perf_counter()
        while self.rollouts < rollouts and time.time() < until:
            self.learn(self.collect(environment))
            self.rollouts += 1
            if self.rollouts % TEST_EVERY == 0:
                self.test()
            if self.rollouts % TEST_EVERY == 0 or self.rollouts == rollouts:
                self.seconds, began = self.seconds + time.perf_counter() - began, time.perf_counter()
                self.save(path)
        return self.rollouts >= rollouts

    def collect(self, environment: Any) -> dict[str, NDArray[Any]]:
        """One rollout, with advantages."""
        actor, critic = views(self.flat)
        seen, rewards = np.zeros((ROLLOUT + 1, 8), dtype=np.float32), np.zeros(ROLLOUT, dtype=np.float32)
        actions, ends = np.zeros(ROLLOUT, dtype=np.int64), np.zeros(ROLLOUT, dtype=bool)
        # The largest of scores with Gumbel noise is a draw from their softmax.
        noise = self.rng.gumbel(size=(ROLLOUT, 4)).astype(np.float32)
        for step in range(ROLLOUT):
            seen[step] = self.observation
            action = int((forward(actor, self.observation)[2] + noise[step]).argmax())
            observation, reward, over, _, _ = environment.step(action)
            self.age, self.total = self.age + 1, self.total + float(reward)
            late = self.age >= 1000
            if late and not over:
                # The game would have gone on: what was still to come counts as much as the critic expects.
                reward += DISCOUNT * float(forward(critic, observation)[2][0])
            actions[step], rewards[step], ends[step] = action, reward, over or late
            if over or late:
                self.returns.append(round(self.total, 2))
                self.age, self.total = 0, 0.0
                observation = self.begin(environment)
            self.observation = observation
        seen[ROLLOUT] = self.observation
        values = forward(critic, seen)[2][:, 0]
        advantages, running = np.zeros(ROLLOUT, dtype=np.float32), 0.0
        going = np.where(ends, 0.0, DISCOUNT)
        errors = rewards + going * values[1:] - values[:-1]
        for step in reversed(range(ROLLOUT)):
            running = float(errors[step] + TRACE * going[step] * running)
            advantages[step] = running
        logs = log_softmax(forward(actor, seen[:-1])[2])[np.arange(ROLLOUT), actions]
        batch = {"seen": seen[:-1], "action": actions, "log": logs, "advantage": advantages}
        return {**batch, "return": advantages + values[:-1]}

    def learn(self, batch: dict[str, NDArray[Any]]) -> None:
        """Ten epochs of PPO's clipped objective, by Adam."""
        first, second = self.moments
        for _ in range(EPOCHS):
            order = self.rng.permutation(ROLLOUT)
            for at in range(0, ROLLOUT, MINIBATCH):
                rows = order[at : at + MINIBATCH]
                slope = gradient(self.flat, {name: array[rows] for name, array in batch.items()})
                slope *= min(1.0, NORM / (float(np.sqrt(slope @ slope)) + 1e-6))
                self.updates += 1
                first += (1 - 0.9) * (slope - first)
                second += (1 - 0.999) * (slope * slope - second)
                spread = np.sqrt(second) / np.float32((1 - 0.999**self.updates) ** 0.5) + np.float32(1e-5)
                self.flat -= np.float32(RATE / (1 - 0.9**self.updates)) * first / spread

    def test(self) -> None:
        """Test the policy on both suites, and remember what it is to remember."""
        act = greedy(self.flat)
        (found, won), (unseen, unseen_won) = (suite.bugs(act) for suite in suites())
        steps = self.rollouts * ROLLOUT
        row = {"steps": steps, "bugs": len(found), "won": won, "unseen_bugs": len(unseen), "unseen_won": unseen_won}
        self.tests.append({**row, "reward": mean_reward(act), "share": self.share})
        if self.guided:
            self.old = sorted({*self.old, *self.new})
            self.new = found
        for name, choose in (("least", least), ("best", best)):
            if choose(self.tests) is self.tests[-1]:
                self.kept[name] = self.flat.copy()

    def save(self, path: Path) -> None:
        """Keep everything but the episode that is under way."""
        path.with_suffix(".new").write_bytes(pickle.dumps(vars(self)))
        os.replace(path.with_suffix(".new"), path)


def least(tests: Sequence[Row]) -> Row:
    """The test with the fewest bugs of a policy that earns more than nothing; of several, the one that earns most."""
    return min(tests, key=lambda test: (test["reward"] <= 0, test["bugs"], -test["reward"]))


def best(tests: Sequence[Row]) -> Row:
    """The test with the highest reward; of several, the one with the fewest bugs."""
    return max(tests, key=lambda test: (test["reward"], -test["bugs"]))


def trained(seed: int, guided: bool, steps: int, folder: Path, until: float) -> bool:
    """Train as far as the time allows; whether the run is done."""
    path = folder / f"{'guided' if guided else 'normal'}_{seed:02}.pickle"
    # A file that this program wrote itself.
    training = Training(seed, guided)
    if path.exists():
        vars(training).update(pickle.loads(path.read_bytes()))
    if not (done := training.run(steps, until, path)):
        return False
    text = {"seed": seed, "guided": guided, "seconds": training.seconds, "returns": training.returns}
    path.with_suffix(".json").write_text(json.dumps({**text, "tests": training.tests}) + "\n", encoding="utf-8")
    print(f"{path.stem}: fewest bugs {least(training.tests)}", flush=True)
    return done


def train_all(seeds: Sequence[int], steps: int, folder: Path, workers: int, minutes: float) -> int:
    """Train in parallel processes; gives how many runs are left."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # small matrices: several threads would only wait for each other
    until = time.time() + 60 * minutes
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        runs = [pool.submit(trained, seed, guided, steps, folder, until) for seed in seeds for guided in (True, False)]
        return sum(not run.result() for run in runs)


# What follows


def sign_e_process(signs: Sequence[int]) -> list[float]:
    """Evidence that +1 is likelier than -1, after each sign; 0, a tie, is no evidence.

    The wealth is the mean likelihood ratio against one half over the uniform distribution of the probability above one
    half: a non-negative supermartingale where +1 is no likelier than -1, so that it ever reaches 1/delta with
    probability at most delta.
    """
    from scipy.special import betainc, betaln

    more = less = 0
    wealth = []
    for sign in signs:
        more, less = more + (sign > 0), less + (sign < 0)
        above_half = 1.0 - betainc(more + 1, less + 1, 0.5)
        log_ratio = np.log(2.0) * (more + less + 1) + betaln(more + 1, less + 1)
        wealth.append(float(np.exp(log_ratio) * above_half))
    return wealth


def table(folder: Path, seeds: Sequence[int]) -> list[Row]:
    """One row a seed, for those whose two runs are done."""
    rows = []
    for seed in seeds:
        row: Row = {"seed": seed}
        for arm in ("normal", "guided"):
            path = folder / f"{arm}_{seed:02}.json"
            if path.exists():
                run = json.loads(path.read_text(encoding="utf-8"))
                tests, half = run["tests"], run["tests"][len(run["tests"]) // 2 :]
                means = {
                    name: float(np.mean([test[name] for test in half])) for name in ("bugs", "unseen_bugs", "reward")
                }
                row[arm] = {"least": least(tests), "best": best(tests), "second half": means, "seconds": run["seconds"]}
        if {"normal", "guided"} <= set(row):
            rows.append(row)
    return rows


COMPARED = {
    "fewer bugs": ("least", "bugs", -1),
    "fewer bugs in unseen states": ("least", "unseen_bugs", -1),
    "fewer bugs on average": ("second half", "bugs", -1),
    "fewer bugs on average in unseen states": ("second half", "unseen_bugs", -1),
    "higher best reward": ("best", "reward", 1),
}
"""The policy with the fewest bugs, the one that earns most, and the mean of the second half of a training."""


def summary(rows: Sequence[Row]) -> Row:
    """How often guided training does better and worse, over the seeds, and the evidence in that."""
    found: Row = {"runs": len(rows), "paper": PAPER}
    for claim, (of, name, sign) in COMPARED.items():
        signs = [int(np.sign(sign * (row["guided"][of][name] - row["normal"][of][name]))) for row in rows]
        found[claim] = {"yes": signs.count(1), "no": signs.count(-1), "evidence": sign_e_process(signs)}
    return found


def show(rows: Sequence[Row], found: Row) -> None:
    arms = ("normal", "guided")
    print(
        f"{'':>4} {'fewest bugs, in unseen states, reward':^48} {'highest reward, bugs':^34} {'mean bugs, unseen':^28}"
    )
    print(f"{'seed':>4} {'normal':>24} {'guided':>23} {'normal':>17} {'guided':>16} {'normal':>14} {'guided':>13}")
    for row in rows:
        least_ = "".join(
            f"{r['bugs']:>8} {r['unseen_bugs']:>7} {r['reward']:>7.1f}" for r in (row[arm]["least"] for arm in arms)
        )
        best_ = "".join(f"{r['reward']:>10.1f} {r['bugs']:>6}" for r in (row[arm]["best"] for arm in arms))
        means = "".join(
            f"{r['bugs']:>7.1f} {r['unseen_bugs']:>6.1f}" for r in (row[arm]["second half"] for arm in arms)
        )
        print(f"{row['seed']:>4} {least_} {best_} {means}")
    for claim in COMPARED if rows else ():
        result = found[claim]
        paper = f" (paper: {PAPER[claim]} of 10)" if claim in PAPER else ""
        print(
            f"guided has {claim} in {result['yes']} of {found['runs']} runs, the opposite in {result['no']}{paper}: "
            f"e = {result['evidence'][-1]:.2f}, at most {max(result['evidence']):.2f}"
        )


def seeds_of(text: str) -> list[int]:
    """``10`` is 0 to 9, ``4:8`` is 4 to 7."""
    first, _, last = text.rpartition(":")
    return list(range(int(first or 0), int(last)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_of, default="10", help="so many from 0 on, or first:behind the last")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of one training")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after these, to go on later")
    parser.add_argument("--folder", type=Path, default=Path("benchmarks/results/guided"))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/guided.json"))
    arguments = parser.parse_args()
    left = train_all(arguments.seeds, arguments.steps, arguments.folder, arguments.workers, arguments.minutes)
    rows = table(arguments.folder, arguments.seeds)
    found = summary(rows)
    show(rows, found)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    written = {"steps": arguments.steps, "left": left, "rows": rows, **found}
    arguments.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print("nothing is left" if not left else f"{left} runs are left: repeat the command", flush=True)
    sys.exit(0 if not left else 3)


if __name__ == "__main__":
    main()

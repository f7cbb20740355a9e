"""Guided training of a policy for LunarLander: episodes that begin where the policy violates a k-safety property.

    python -m benchmarks.guided [--seeds 10] [--workers N] [--steps 1000000] [--minutes M] [--folder DIR] [--json FILE]

The feasibility study of the k-safety paper (its Table 2). A policy is trained by PPO, once as usual and once *guided*:
every five rollouts it is tested, and whenever it lands more often, in ten games, on a surface than on the same surface
lowered, the lowered state is kept. A growing share of the episodes then begins in such states, half of them from
the latest test and half from earlier ones. Both trainings of a seed begin with the same network and the same episodes.

Eight policies of each run are compared, from its second half. Each plays the same games, which no training saw: ten
from each test state and ten from it lowered, with the same seeds. From them come its bugs, states in which it lands
less often with the surface lowered, and its reward. A run counts by its least number of bugs and by its best mean
reward. Whether *guided has fewer bugs* is tested by a sign e-process over the seeds in order, so that one may look
after each. Guided training plays as many steps as normal training does, and those of its tests besides.

A run goes on where it was stopped: repeat the command with the same folder until it says that nothing is left. It needs
torch and ``gymnasium[box2d]``, but of Isonomia's other dependencies NumPy and SciPy only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.domains import LunarLander
from isonomia.populations.domains.games import State, VectorEnvironment
from isonomia.populations.domains.lunar import initial_state

Row = dict[str, Any]
Policy = Callable[[NDArray[Any]], NDArray[Any]]

# Settings with which PPO learns this game within a million steps.
ENVIRONMENTS, ROLLOUT = 16, 1024
EPOCHS, MINIBATCH = 5, 256
DISCOUNT, TRACE, CLIP = 0.999, 0.98, 0.2
RATE, ENTROPY, VALUE, NORM = 6e-4, 0.01, 0.5, 0.5
HIDDEN = 64

GAMES = 10
"""Games from a state, and as many from the same state with its surface lowered, as in the paper's property."""
TEST_EVERY = 5
"""Rollouts between tests in guided training."""
SEARCHED = 32
"""States of one such test."""
SHARE = 0.5
"""The share of episodes that begin in a buggy state at the end of guided training; it grows from 0 in proportion."""
SNAPSHOTS = 8
"""Policies of the second half of a run that are compared."""
TOGETHER = 400
"""Games that are played side by side."""
PART = 20
"""Test states that one task judges a policy by: small enough that a worker soon sees that the time is over."""
PAPER = {"fewer bugs": 8, "more bugs": 0, "higher best reward": 9}


@dataclass(frozen=True)
class Run:
    """One training: a seed, and whether it is guided."""

    seed: int
    guided: bool
    steps: int
    folder: Path

    @property
    def path(self) -> Path:
        """Where its files are."""
        return self.folder / f"{'guided' if self.guided else 'normal'}_{self.seed:02}"

    @property
    def rollouts(self) -> int:
        """How many rollouts it has."""
        return max(self.steps // (ENVIRONMENTS * ROLLOUT), 2)

    @property
    def snapshots(self) -> list[int]:
        """After how many rollouts a policy is kept for comparison."""
        half = self.rollouts // 2
        return sorted({round(float(at)) for at in np.linspace(half + 1, self.rollouts, min(SNAPSHOTS, half))})


# Playing


def lowered(state: State, rng: np.random.Generator) -> State:
    """The state with its surface lowered by a random share."""
    return {**state, **(LunarLander().changes["relax"].call(state, rng) or {})}


def play(act: Policy, states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Whether each game was won, what it earned, and how many steps they had together."""
    won, earned, steps = np.zeros(len(states), dtype=bool), np.zeros(len(states)), 0
    bench = VectorEnvironment(LunarLander())
    for first in range(0, len(states), TOGETHER):
        some = slice(first, first + TOGETHER)
        observations, ended = bench.begin(states[some], seeds[some])
        playing = list(range(len(states[some])))
        while playing:
            observations, over = bench.step(playing, act(observations).tolist())
            ended |= over
            playing = [number for number in playing if number not in over]
        failures = [how for how in ended.values() if isinstance(how, str)]
        if failures:
            raise RuntimeError(failures[0])
        won[some] = [ended[number] for number in range(len(ended))]
        earned[some], steps = bench.totals, steps + sum(bench.steps)
    return won, earned, steps


def buggy(act: Policy, cases: int, rng: np.random.Generator) -> Row:
    """Test a policy on so many random states: those lowered states in which it lands less often than before."""
    states = [initial_state(rng) for _ in range(cases)]
    easier = [lowered(state, rng) for state in states]
    seeds = rng.integers(0, 2**31, size=(cases, GAMES))
    every = [state for state in (*states, *easier) for _ in range(GAMES)]
    won, earned, steps = play(act, every, [int(seed) for seed in (*seeds.ravel(), *seeds.ravel())])
    wins = won.reshape(2, cases, GAMES).sum(axis=2)
    bugs = np.flatnonzero(wins[0] > wins[1])
    return {
        "bugs": len(bugs),
        "states": [easier[index] for index in bugs],
        "reward": float(earned[: cases * GAMES].mean()),
        "won": float(wins[0].mean() / GAMES),
        "steps": steps,
    }


# Training


def networks(seed: int) -> Any:
    """The policy and its critic: two layers of 64 with tanh each, orthogonal at first."""
    import torch
    from torch import nn

    torch.manual_seed(seed)

    def layers(outputs: int, last: float) -> nn.Sequential:
        sizes, gains = (8, HIDDEN, HIDDEN, outputs), (2**0.5, 2**0.5, last)
        parts: list[nn.Module] = []
        for inputs, units, gain in zip(sizes, sizes[1:], gains, strict=False):
            linear = nn.Linear(inputs, units)
            nn.init.orthogonal_(linear.weight, gain)
            nn.init.zeros_(linear.bias)
            parts += [linear, nn.Tanh()]
        return nn.Sequential(*parts[:-1])

    return nn.ModuleDict({"actor": layers(4, 0.01), "critic": layers(1, 1.0)})


def weights(part: Any) -> list[NDArray[Any]]:
    """The weights and biases of a network as arrays, in order."""
    return [value.detach().numpy().astype(np.float64) for value in part.parameters()]


def outputs(arrays: Sequence[NDArray[Any]], observations: NDArray[Any]) -> NDArray[Any]:
    """What a network says: for a few rows, NumPy is several times as fast as torch."""
    hidden = np.asarray(observations, dtype=np.float64)
    for weight, bias in zip(arrays[:-2:2], arrays[1:-2:2], strict=True):
        hidden = np.tanh(hidden @ weight.T + bias)
    return np.asarray(hidden @ arrays[-2].T + arrays[-1])


def greedy(arrays: Sequence[NDArray[Any]]) -> Policy:
    """The policy that takes the action with the largest output, as it is tested."""
    return lambda observations: outputs(arrays, observations).argmax(axis=1)


class Starts:
    """Where episodes begin: in states of the game's own, and in guided training more and more in buggy ones."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.choice = np.random.default_rng([seed, 2])
        self.latest: list[State] = []
        self.earlier: list[State] = []

    def add(self, states: list[State]) -> None:
        """Remember what the latest test found."""
        if states:
            self.earlier += self.latest
            self.latest = states

    def next(self, share: float) -> State:
        """The state that an episode begins in."""
        own = initial_state(self.rng)  # always drawn, so that both trainings of a seed see the same ones
        if not self.latest or self.choice.random() >= share:
            return own
        pool = self.latest if not self.earlier or self.choice.random() < 0.5 else self.earlier
        return pool[int(self.choice.integers(len(pool)))]


class Training:
    """A run of PPO that can be stopped after any rollout and taken up again."""

    def __init__(self, run: Run) -> None:
        import torch

        torch.set_num_threads(1)
        self.run = run
        self.both = networks(run.seed)
        self.optimizer = torch.optim.Adam(self.both.parameters(), lr=RATE, eps=1e-5, fused=True)
        self.starts = Starts(run.seed)
        self.rng = np.random.default_rng([run.seed, 3])
        self.search = np.random.default_rng([run.seed, 4])
        self.done = self.found = self.tested = 0
        self.returns: list[float] = []
        self.game = LunarLander()
        self.environments = [self.game.make() for _ in range(ENVIRONMENTS)]
        self._resume()
        self.observations = np.array([self._begin(environment) for environment in self.environments])
        self.ages, self.totals = np.zeros(ENVIRONMENTS, dtype=int), np.zeros(ENVIRONMENTS)

    @property
    def share(self) -> float:
        """How likely it is now that an episode begins in a buggy state."""
        return SHARE * self.done / self.run.rollouts if self.run.guided else 0.0

    def _begin(self, environment: Any) -> NDArray[Any]:
        state = self.starts.next(self.share)
        rng = np.random.default_rng(self.rng.integers(2**63))
        return np.asarray(self.game.begin(environment, state, rng))

    def go(self, until: float) -> bool:
        """Train until it is done, or the time is over; whether it is done."""
        while self.done < self.run.rollouts:
            if time.time() > until:
                self._save()
                return False
            self._learn(self._collect())
            self.done += 1
            if self.run.guided and self.done % TEST_EVERY == 0 and self.done < self.run.rollouts:
                found = buggy(greedy(weights(self.both["actor"])), SEARCHED, self.search)
                self.starts.add(found["states"])
                self.found, self.tested = self.found + found["bugs"], self.tested + found["steps"]
            if self.done in self.run.snapshots:
                np.savez(self.run.path / f"policy_{self.done:04}.npz", *weights(self.both["actor"]))
            if self.done % TEST_EVERY == 0:
                self._save()
                print(
                    f"{self.run.path.name}: {self.done}/{self.run.rollouts} rollouts, the latest 100 episodes earn "
                    f"{np.mean(self.returns[-100:] or [0]):.0f}, {self.found} buggy states",
                    flush=True,
                )
        self._save()
        return True

    def _collect(self) -> dict[str, NDArray[Any]]:
        """One rollout of all environments in lockstep, with advantages."""
        actor, critic = weights(self.both["actor"]), weights(self.both["critic"])
        shape = (ROLLOUT, ENVIRONMENTS)
        seen = np.zeros((*shape, 8), dtype=np.float32)
        actions, logs = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        rewards, values, ends = np.zeros(shape), np.zeros((ROLLOUT + 1, ENVIRONMENTS)), np.zeros(shape, dtype=bool)
        for step in range(ROLLOUT):
            scores = outputs(actor, self.observations)
            scores -= scores.max(axis=1, keepdims=True)
            scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
            # The largest of scores with Gumbel noise is a draw from their softmax.
            action = (scores + self.rng.gumbel(size=scores.shape)).argmax(axis=1)
            seen[step], actions[step] = self.observations, action
            logs[step] = np.take_along_axis(scores, action[:, None], axis=1)[:, 0]
            values[step] = outputs(critic, self.observations)[:, 0]
            for number, environment in enumerate(self.environments):
                observation, reward, over, _ = self.game.step(environment, action[number])
                self.ages[number] += 1
                self.totals[number] += reward
                late = self.ages[number] >= self.game.steps
                if late and not over:
                    # The game would have gone on: what was still to come counts as much as the critic expects.
                    reward += DISCOUNT * float(outputs(critic, observation[None])[0, 0])
                if over or late:
                    self.returns.append(float(self.totals[number]))
                    self.ages[number], self.totals[number] = 0, 0.0
                    observation = self._begin(environment)
                self.observations[number], rewards[step, number], ends[step, number] = observation, reward, over or late
        values[ROLLOUT] = outputs(critic, self.observations)[:, 0]
        advantages, running = np.zeros(shape), np.zeros(ENVIRONMENTS)
        for step in reversed(range(ROLLOUT)):
            going = 1.0 - ends[step]
            error = rewards[step] + DISCOUNT * values[step + 1] * going - values[step]
            running = error + DISCOUNT * TRACE * going * running
            advantages[step] = running
        batch = {"seen": seen, "action": actions, "log": logs, "advantage": advantages}
        return {name: array.reshape(-1, *array.shape[2:]) for name, array in batch.items()} | {
            "return": (advantages + values[:-1]).ravel()
        }

    def _learn(self, batch: dict[str, NDArray[Any]]) -> None:
        """Some epochs of PPO's clipped objective."""
        import torch

        tensors = {
            name: torch.as_tensor(array if name == "action" else array.astype(np.float32))
            for name, array in batch.items()
        }
        size = len(batch["action"])
        for _ in range(EPOCHS):
            for rows in torch.as_tensor(self.rng.permutation(size)).split(MINIBATCH):
                advantage = tensors["advantage"][rows]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                logs = torch.log_softmax(self.both["actor"](tensors["seen"][rows]), dim=1)
                chosen = logs.gather(1, tensors["action"][rows, None])[:, 0]
                ratio = (chosen - tensors["log"][rows]).exp()
                gain = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
                missed = (self.both["critic"](tensors["seen"][rows])[:, 0] - tensors["return"][rows]).square().mean()
                spread = -(logs.exp() * logs).sum(dim=1).mean()
                self.optimizer.zero_grad()
                (VALUE * missed - gain - ENTROPY * spread).backward()
                torch.nn.utils.clip_grad_norm_(self.both.parameters(), NORM)
                self.optimizer.step()

    def _save(self) -> None:
        """Keep everything but the episodes that are under way."""
        import torch

        kept = (self.both.state_dict(), self.optimizer.state_dict(), self.starts, self.rng, self.search)
        target = self.run.path / "state.pt"
        torch.save((*kept, self.done, self.found, self.tested, self.returns), target.with_suffix(".new"))
        os.replace(target.with_suffix(".new"), target)

    def _resume(self) -> None:
        import torch

        if not (self.run.path / "state.pt").exists():
            return
        # A file that this program wrote itself.
        kept = torch.load(self.run.path / "state.pt", weights_only=False)
        self.both.load_state_dict(kept[0])
        self.optimizer.load_state_dict(kept[1])
        self.starts, self.rng, self.search, self.done, self.found, self.tested, self.returns = kept[2:]


# The tasks of worker processes


def trained(run: Run, until: float) -> tuple[Run, bool]:
    """Train as far as the time allows; whether the run is done."""
    run.path.mkdir(parents=True, exist_ok=True)
    result = run.path / "training.json"
    if not result.exists():
        began = time.perf_counter()
        training = Training(run)
        if not training.go(until):
            return run, False
        found = {"found": training.found, "search_steps": training.tested, "seconds": time.perf_counter() - began}
        result.write_text(json.dumps(found), encoding="utf-8")
    return run, True


def judged(run: Run, snapshot: int, part: int) -> None:
    """Bugs and reward of one policy, on states and games that no training saw and that are the same for all."""
    result = run.path / f"judged_{snapshot:04}_{part:02}.json"
    if result.exists():
        return
    with np.load(run.path / f"policy_{snapshot:04}.npz") as stored:
        arrays = [stored[name] for name in stored.files]
    found = buggy(greedy(arrays), PART, np.random.default_rng([2**40, part]))
    del found["states"]
    result.write_text(json.dumps(found), encoding="utf-8")


def policy_of(run: Run, snapshot: int, parts: int) -> Row | None:
    """What all parts say of one policy; ``None`` where one is missing."""
    files = [run.path / f"judged_{snapshot:04}_{part:02}.json" for part in range(parts)]
    if not all(path.exists() for path in files):
        return None
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("reward", "won")}
    return {"snapshot": snapshot, "bugs": sum(row["bugs"] for row in rows), **means}


# All runs


def run_all(runs: Sequence[Run], workers: int, parts: int, until: float) -> int:
    """Train and judge in parallel processes; gives how many tasks are left."""
    left, waiting = 0, set[Future[Any]]()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # small matrices: several threads would only wait for each other
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        # Guided runs take longest, and come first, so that no core waits for the last of them.
        waiting |= {pool.submit(trained, run, until) for run in sorted(runs, key=lambda run: not run.guided)}
        judging: set[Future[Any]] = set()
        while waiting or judging:
            finished, _ = wait(waiting | judging, timeout=1.0, return_when="FIRST_COMPLETED")
            for future in finished & waiting:
                run, done = future.result()
                left += not done
                if done:
                    judging |= {
                        pool.submit(judged, run, snapshot, part) for snapshot in run.snapshots for part in range(parts)
                    }
            for future in finished & judging:
                left += future.cancelled()
                if not future.cancelled():
                    future.result()
            waiting -= finished
            judging -= finished
            if time.time() > until:
                for future in judging:
                    future.cancel()
    return left


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


def table(runs: Sequence[Run], parts: int) -> list[Row]:
    """One row a seed, for those whose two runs are done."""
    rows = []
    for seed in sorted({run.seed for run in runs}):
        row: Row = {"seed": seed}
        for run in (run for run in runs if run.seed == seed):
            judgements = [policy_of(run, snapshot, parts) for snapshot in run.snapshots]
            policies = [policy for policy in judgements if policy is not None]
            if len(policies) < len(run.snapshots) or not (run.path / "training.json").exists():
                break
            least = min(policies, key=lambda policy: (policy["bugs"], -policy["reward"]))
            best = max(policies, key=lambda policy: (policy["reward"], -policy["bugs"]))
            row["guided" if run.guided else "normal"] = {
                "least_bugs": least,
                "best_reward": best,
                "mean_bugs": float(np.mean([policy["bugs"] for policy in policies])),
                **json.loads((run.path / "training.json").read_text(encoding="utf-8")),
            }
        if {"normal", "guided"} <= set(row):
            rows.append(row)
    return rows


def summary(rows: Sequence[Row]) -> Row:
    """Signs over the seeds, and the evidence in them."""

    def compared(of: str, name: str, sign: int) -> list[int]:
        return [int(np.sign(sign * (row["guided"][of][name] - row["normal"][of][name]))) for row in rows]

    fewer, higher = compared("least_bugs", "bugs", -1), compared("best_reward", "reward", 1)
    mean = [int(np.sign(row["normal"]["mean_bugs"] - row["guided"]["mean_bugs"])) for row in rows]
    return {
        "runs": len(rows),
        "fewer bugs": fewer.count(1),
        "more bugs": fewer.count(-1),
        "higher best reward": higher.count(1),
        "fewer bugs on average": mean.count(1),
        "evidence of fewer bugs": sign_e_process(fewer),
        "evidence of fewer bugs on average": sign_e_process(mean),
        "evidence of a higher best reward": sign_e_process(higher),
        "paper": PAPER,
    }


def show(rows: Sequence[Row], found: Row, cases: int) -> None:
    print(f"{'':>4}   {'fewest bugs':^31}   {'highest reward':^31}   {'mean bugs':^15}")
    print(f"{'seed':>4} {'normal':>15} {'guided':>17} {'normal':>16} {'guided':>17} {'normal':>10} {'guided':>8}")
    for row in rows:
        cells = [row[arm][of] for of in ("least_bugs", "best_reward") for arm in ("normal", "guided")]
        bugs = "".join(f"{cell['bugs']:>8} {cell['reward']:>8.1f}" for cell in cells)
        print(f"{row['seed']:>4} {bugs}   {row['normal']['mean_bugs']:>8.1f} {row['guided']['mean_bugs']:>8.1f}")
    if rows:
        print(f"bugs of {cases} test states; after them the reward of the same policy")
        for name in ("fewer bugs", "more bugs", "higher best reward"):
            print(f"guided has {name} in {found[name]} of {found['runs']} runs (paper: {PAPER[name]} of 10)")
        for name in ("fewer bugs", "fewer bugs on average", "a higher best reward"):
            wealth = found[f"evidence of {name}"]
            peak = max(wealth)
            print(f"evidence of {name}: e = {wealth[-1]:.2f}, at most {peak:.2f}; p = {min(1, 1 / peak):.3f}")


def seeds_of(text: str) -> list[int]:
    """``10`` is 0 to 9, ``4:8`` is 4 to 7."""
    first, _, last = text.rpartition(":")
    return list(range(int(first or 0), int(last)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_of, default="10", help="so many from 0 on, or first:behind the last")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of one training")
    parser.add_argument(
        "--cases", type=int, default=80, help=f"test states, in parts of {PART}; each takes 20 games a policy"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after these, to go on later")
    parser.add_argument("--folder", type=Path, default=Path("benchmarks/results/guided"))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/guided.json"))
    arguments = parser.parse_args()
    until = time.time() + 60 * arguments.minutes
    runs = [
        Run(seed, guided, arguments.steps, arguments.folder / str(arguments.steps))
        for seed in arguments.seeds
        for guided in (False, True)
    ]
    parts = max(arguments.cases // PART, 1)
    left = run_all(runs, arguments.workers, parts, until)
    rows = table(runs, parts)
    found = summary(rows)
    show(rows, found, parts * PART)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    written = {"steps": arguments.steps, "cases": parts * PART, "left": left, "rows": rows, **found}
    arguments.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print("nothing is left" if not left else f"{left} tasks are left: repeat the command", flush=True)
    sys.exit(0 if not left else 3)


if __name__ == "__main__":
    main()

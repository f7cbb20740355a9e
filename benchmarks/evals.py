"""Evals on stored results: ``python -m benchmarks.evals [--pairs 40]``; the data are in ``$ISONOMIA_DATA/evals``.

Pairs of language models that the same judge compared with a baseline on the same 805 instructions: which is better,
decided at 5% as soon as that is possible, and by one look at all 805; the full data's own answer is which of them won
more often. Then an agent on 50 tasks, with four trials each: the trials of a task are one draw. Last, judges in the
place of labels: one judge's answers are the labels, of which a fifth is used, and another judge's are known for all.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

import numpy as np

import isonomia as iso

DATA = Path(os.environ.get("ISONOMIA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "evals"

Wins: TypeAlias = dict[str, dict[str, dict[int, int]]]


def read_wins() -> Wins:
    """By judge and model, whether the model's answer to each item was preferred; unreadable judgments are left out."""
    wins: Wins = defaultdict(lambda: defaultdict(dict))
    with gzip.open(DATA / "alpaca_judged.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            score = float(row["score"] or "nan")
            if 0.0 <= score <= 1.0:
                wins[row["judge"]][row["model"]][int(row["item"])] = int(score > 0.5)
    return wins


def joined(first: dict[int, int], second: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Both columns, for the items that both have."""
    items = sorted(first.keys() & second.keys())
    return np.asarray([first[item] for item in items]), np.asarray([second[item] for item in items])


def pairs_of(wins: Wins, count: int) -> list[tuple[str, str, str]]:
    """Pairs of models of the same judge, at random; equally many of the two judges with the most models."""
    rng, result = np.random.default_rng(1), []
    for judge in sorted(wins, key=lambda each: -len(wins[each]))[:2]:
        models = sorted(wins[judge])
        for _ in range(count // 2):
            first, second = rng.choice(len(models), 2, replace=False)
            result.append((judge, models[first], models[second]))
    return result


def compare_pairs(wins: Wins, count: int) -> None:
    """Is the first better? By early stopping and at one look, against the answer of all items."""
    decided = items = total = agreed = once = once_agreed = 0
    for judge, first, second in pairs_of(wins, count):
        new, old = joined(wins[judge][first], wins[judge][second])
        people, models = iso.Sample({"a": new, "b": old}), {"new": "a", "old": "b"}
        full = bool(new.sum() > old.sum())
        early = iso.check(iso.evals.better(), models, people, delta=0.05)
        look = iso.check(iso.evals.better(), models, people, delta=0.05, looks="once")
        decided, items, total = decided + (early.holds is not None), items + early.samples, total + len(new)
        agreed, once = agreed + (early.holds is full), once + (look.holds is not None)
        once_agreed += look.holds is full
    saved = 1.0 - items / total
    print(f"{count} pairs: {decided} decided early, {agreed} of them as all items say; {saved:.0%} of items saved")
    print(f"one look at all items: {once} decided, {once_agreed} of them as all items say", flush=True)


JUDGES = (
    ("alpaca_eval_cot_gpt4_turbo_fn", ("alpaca_eval_gpt4_turbo_fn", "weighted_alpaca_eval_gpt4_turbo")),
    ("weighted_alpaca_eval_gpt4_turbo", ("alpaca_eval_gpt4",)),
)
"""Judges whose answers are taken for labels, and others in their place: the first two have the same baseline, the last
compares with another one, and hardly agrees."""


def judge_for_label(wins: Wins, first: str, second: str, chance: float = 0.2) -> None:
    """For models that two judges know: the interval of one judge's win rate, with and without the other's answers."""
    narrower, worth, missed, models = [], [], 0, 0
    for number, model in enumerate(sorted(wins[first].keys() & wins[second].keys())):
        label, judge = joined(wins[first][model], wins[second][model])
        human = np.where(np.random.default_rng(number).random(len(label)) < chance, label, np.nan)
        widths = []
        for answers in (judge, np.zeros_like(judge)):
            labels = iso.Labels("human", judge="judge", probability=chance)
            people = iso.Sample({"human": human, "judge": answers}, labels=labels)
            verdict = iso.check("P[human == 1] >= 0.5", population=people, delta=0.05, stop="all", seed=1)
            (rate,) = verdict.leaves
            widths.append(rate.high - rate.low)
            missed += not rate.low <= label.mean() <= rate.high
            worth += [verdict.details["judge"][0]["worth"]] if answers is judge else []
        narrower.append(widths[0] / widths[1])
        models += 1
    print(
        f"{models} models, {second} in the place of {first}: labels worth {np.median(worth):.2f}, intervals "
        f"{np.median(narrower):.2f} times as wide, {missed} of {2 * models} miss the rate of all items",
        flush=True,
    )


def agent() -> None:
    """``P[reward] <= 0.5``, by trials and by tasks."""
    table = str(DATA / "tau_airline_gpt4o.csv")
    for name, people in (("trials", iso.Sample(table)), ("tasks", iso.Sample(table, cluster="task"))):
        verdict = iso.check("P[reward == 1] <= 0.5", population=people, delta=0.05, stop="all")
        low, high = verdict.interval
        decided = iso.check("P[reward == 1] <= 0.5", population=people, delta=0.05, looks="once")
        print(f"by {name}: {verdict.answer}, {low:.3f} to {high:.3f}; one look: {decided.answer}")


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    wins = read_wins()
    compare_pairs(wins, parser.parse_args().pairs)
    agent()
    for first, others in JUDGES:
        for second in others:
            judge_for_label(wins, first, second)


if __name__ == "__main__":
    main()

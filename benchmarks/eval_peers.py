"""Evals by Isonomia and by three other programs, on the same answers: what each guarantees, and how often it errs.

    python -m benchmarks.eval_peers [--runs 1000] [--json FILE]

Peers are truescore, evalstats and AgentAssay; those that are not installed are left out
(``pip install -r benchmarks/peers/requirements-evals.txt``). Each is asked in the way that its documentation gives for
the task, with risk 0.05 for each wrong answer, and so two-sided intervals and tests at 0.1.

* *A gate that looks as answers come*: is the rate at least 0.8, after every tenth of up to 500 answers? At a true rate
  of 0.799 every *yes* is an error; at 0.9 the answers until *yes* are the cost.
* *Two models on the same 500 questions*, one look. Where each is right alone on 5%, every *better* is an error; on 8%
  and 3%, it is power.
* *50 tasks, four trials each*, one look: is the rate above 0.5? It is 0.5, and trials of a task agree with correlation
  0.4. A program without clusters that takes a row for each task is given the mean of its trials.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso

Values = NDArray[Any]
RISK, LOOKS = 0.05, range(10, 501, 10)

GUARANTEES = {
    "isonomia": "finite samples, at every look or one; holds, violated or undecided; clusters; replay of the record",
    "truescore": "one rate: finite samples, at every look; two models: mid-p McNemar, one look, approximate",
    "evalstats": "one look, approximate (Wilson, logit-t, bootstrap), calibrated by simulation",
    "agentassay": "one look: Wilson, approximate; Fisher's exact test of two independent samples, without pairs",
}


# ------------------------------------------------------------------------ a gate: the answers until yes, 0 for never


def _gate_isonomia(right: Values) -> int:
    verdict = iso.check(
        "P[correct] >= 0.8", population=iso.Sample({"correct": right}, order="file"), delta=RISK, seed=1
    )
    return verdict.samples if verdict.holds else 0


def _gate_truescore(right: Values) -> int:
    from truescore.sequential import first_exclusion

    return int(first_exclusion(right, 0.8, direction="above", alpha=RISK) or 0)


def _gate_evalstats(right: Values) -> int:
    import evalstats

    return next((n for n in LOOKS if evalstats.mean_ci(right[:n], alpha=2 * RISK).ci_low >= 0.8), 0)


def _gate_agentassay(right: Values) -> int:
    from agentassay.verdicts.verdict import VerdictFunction

    decide = VerdictFunction(alpha=2 * RISK)
    answers = [bool(each) for each in right]
    return next((n for n in LOOKS if decide.evaluate_single(answers[:n], threshold=0.8).status.value == "pass"), 0)


# ---------------------------------------------------------------------------------- two models: is the new one better?


def _better_isonomia(new: Values, old: Values) -> bool:
    pairs = iso.Sample({"new": new, "old": old})
    verdict = iso.check(iso.evals.better(), {"new": "new", "old": "old"}, pairs, delta=RISK, looks="once", seed=1)
    return bool(verdict.holds)


def _better_truescore(new: Values, old: Values) -> bool:
    from truescore.compare import mcnemar

    found = mcnemar(new, old, alpha=2 * RISK)
    return bool(found.significant and found.difference > 0)


def _better_evalstats(new: Values, old: Values) -> bool:
    import evalstats
    import pandas as pd

    items = list(range(len(new)))
    rows = pd.DataFrame({"model": ["new"] * len(new) + ["old"] * len(old), "item": items * 2, "score": [*new, *old]})
    found = evalstats.compare(evalstats.load_from(rows), factors="model", alpha=2 * RISK).to_frame()["pairwise"].iloc[0]
    return bool(found["significant"] and (found["diff"] > 0) == (found["a"] == "new"))


def _better_agentassay(new: Values, old: Values) -> bool:
    from agentassay.statistics import fisher_exact_regression

    counts = {"baseline_passes": int(new.sum()), "baseline_n": len(new)}
    found = fisher_exact_regression(**counts, current_passes=int(old.sum()), current_n=len(old), alpha=RISK)
    return bool(found.significant)


# --------------------------------------------------------------------------------------- tasks with trials: above 0.5?


def _tasks_isonomia(trials: Values) -> bool:
    tasks = np.repeat(np.arange(len(trials)), trials.shape[1])
    sample = iso.Sample({"correct": trials.ravel(), "task": tasks}, cluster="task")
    return bool(iso.check("P[correct] > 0.5", population=sample, delta=RISK, looks="once", seed=1).holds)


def _tasks_truescore(trials: Values) -> bool:
    from truescore.sequential import confidence_sequence

    return bool(confidence_sequence(trials.mean(axis=1), alpha=RISK, one_sided=True).low > 0.5)


def _tasks_evalstats(trials: Values) -> bool:
    import evalstats

    return bool(evalstats.mean_ci(trials.mean(axis=1), alpha=2 * RISK, rng=1).ci_low > 0.5)


def _tasks_agentassay(trials: Values) -> bool:
    from agentassay.verdicts.verdict import VerdictFunction

    answers = [bool(each) for each in trials.ravel()]
    return bool(VerdictFunction(alpha=2 * RISK).evaluate_single(answers, threshold=0.5).status.value == "pass")


GATES: Mapping[str, Callable[[Values], int]] = {
    "isonomia": _gate_isonomia,
    "truescore": _gate_truescore,
    "evalstats": _gate_evalstats,
    "agentassay": _gate_agentassay,
}
PAIRS: Mapping[str, Callable[[Values, Values], bool]] = {
    "isonomia": _better_isonomia,
    "truescore": _better_truescore,
    "evalstats": _better_evalstats,
    "agentassay": _better_agentassay,
}
TASKS: Mapping[str, Callable[[Values], bool]] = {
    "isonomia": _tasks_isonomia,
    "truescore": _tasks_truescore,
    "evalstats": _tasks_evalstats,
    "agentassay": _tasks_agentassay,
}


def rates(rate: float, runs: int) -> list[Values]:
    """Answers that are right at a rate."""
    return [(np.random.default_rng([1, run]).random(500) < rate).astype(int) for run in range(runs)]


def pairs(new_alone: float, old_alone: float, runs: int) -> list[tuple[Values, Values]]:
    """Answers of two models to the same 500 questions, of which both know 70%."""
    found = []
    for run in range(runs):
        draw = np.random.default_rng([2, run]).random(500)
        both, new = draw < 0.7, (draw >= 0.7) & (draw < 0.7 + new_alone)
        old = draw >= 1.0 - old_alone
        found.append(((both | new).astype(int), (both | old).astype(int)))
    return found


def tasks(runs: int) -> list[Values]:
    """Trials of tasks, with a correlation of 0.4: the rate of each task has a beta distribution."""
    spread = (1.0 / 0.4 - 1.0) / 2.0
    found = []
    for run in range(runs):
        rng = np.random.default_rng([3, run])
        found.append((rng.random((50, 4)) < rng.beta(spread, spread, 50)[:, None]).astype(int))
    return found


def measured(name: str, runs: int) -> dict[str, Any]:
    """What one program does with all of it."""
    gate, better, above = GATES[name], PAIRS[name], TASKS[name]
    false, true = ([gate(right) for right in rates(rate, runs)] for rate in (0.799, 0.9))
    decided = [n for n in true if n]
    return {
        "guarantee": GUARANTEES[name],
        "gate: false yes": float(np.mean([n > 0 for n in false])),
        "gate: yes at 0.9": len(decided) / runs,
        "gate: mean answers": float(np.mean(decided)) if decided else None,
        "pairs: false better": float(np.mean([better(*each) for each in pairs(0.05, 0.05, runs)])),
        "pairs: power": float(np.mean([better(*each) for each in pairs(0.08, 0.03, runs)])),
        "tasks: false yes": float(np.mean([above(each) for each in tasks(runs)])),
    }


def main() -> None:
    """Measure every program that is there, print a table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/eval_peers.json"))
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in GUARANTEES:
        if find_spec(name) is None:
            print(f"{name} is not installed: pip install -r benchmarks/peers/requirements-evals.txt")
            continue
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            found[name] = measured(name, options.runs)
    columns = [key for key in found["isonomia"] if key != "guarantee"]
    print(f"{options.runs:,} runs; risk {RISK}")
    print(f"{'':22}" + "".join(f"{name:>12}" for name in found))
    for column in columns:
        cells = [found[name][column] for name in found]
        print(f"{column:22}" + "".join(f"{'-' if cell is None else f'{cell:.3g}':>12}" for cell in cells))
    for name, each in found.items():
        print(f"{name}: {each['guarantee']}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"runs": options.runs, "programs": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

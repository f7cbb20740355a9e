"""Two recorded runs, paired row by row although both stopped early: ``python -m benchmarks.paired_runs [--runs 2000]``.

Two models are right equally often up to the margin, which is the boundary of *not worse*. Each is checked by itself and
stops as soon as its own answer is known, at a high risk and near the threshold, so that it stops when it was lucky or
unlucky. Then the rows that both used are paired. Each of *holds* and *violated* may be wrong in at most ``delta`` of
the runs. For contrast: one look at the same rows, as if their number had been fixed, and the same with both runs
planned to use every row, where that look is valid.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.paired_runs import RecordedCheck, paired
from isonomia.audits.rates.by_row import recorded_rows
from isonomia.engine.parameters import NullObserver
from isonomia.records.journal import Entry

DELTA, MARGIN = 0.05, 0.05


@dataclass(slots=True)
class MemoryJournal:
    """A journal in memory."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def recall(self, key: str) -> Entry | None:
        """What was kept."""
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        """Keep it."""
        self.entries[key] = make()


def recorded(claim: str, column: str, people: iso.Sample, **options: Any) -> RecordedCheck:
    """A check of a model that gives the column ``answer``, with its journal."""
    check = new_check(claim, lambda rows: np.asarray(rows[column]), people, features=[column], seed=1, **options)
    journal = MemoryJournal()
    verdict = run_check(replace(check, journal=journal), NullObserver())
    return RecordedCheck(check, verdict, journal.entries)


def pair(rng: np.random.Generator, rows: int, clusters: int = 1, gap: float = MARGIN) -> Mapping[str, Any]:
    """Right or not, for both models and each row: the new one is right less often by exactly ``gap``."""
    draws = rng.choice(4, rows, p=[0.6, 0.1, 0.1 + gap, 0.2 - gap])  # both, only new, only old, neither
    draws = np.repeat(draws[: -(-rows // clusters)], clusters)[:rows]
    new, old = np.isin(draws, (0, 1)).astype(int), np.isin(draws, (0, 2)).astype(int)
    return {"new": new, "old": old, "group": np.arange(rows) // clusters}


def one_run(rng: np.random.Generator, rows: int, clusters: int = 1, **options: Any) -> dict[str, str]:
    """What the pairs of two runs say, and one look at the rows that both used."""
    table = pair(rng, rows, clusters)
    people = iso.Sample(table, cluster="group" if clusters > 1 else None)
    old = recorded("P[prediction == 1] >= 0.75", "old", people, **options)
    new = recorded("P[prediction == 1] >= 0.7", "new", people, **options)
    # The same property in both: only then are runs paired, while their own stopping should be as adverse as it can be.
    new = replace(new, verdict=replace(new.verdict, text=old.verdict.text))
    found = paired(old, new, MARGIN, DELTA)
    assert found.verdict is not None
    values = [recorded_rows(each.entries, 1) for each in (new, old)]
    draws = min(each.count for each in values)
    columns = dict(zip(("new", "old"), (each.first(draws).values[0] for each in values), strict=True))
    naive = iso.check(
        f"P[new == 1] - P[old == 1] >= {-MARGIN}", None, iso.Sample(columns), delta=DELTA, looks="once", seed=1
    )
    return {"pairs": found.verdict.answer, "one look": naive.answer}


SETTINGS: dict[str, dict[str, Any]] = {
    "both stop early": {"rows": 200, "delta": 0.4},
    "clusters of four": {"rows": 240, "clusters": 4, "delta": 0.4},
    "every row": {"rows": 200, "looks": "once"},
}


def numbered(number: int, setting: Mapping[str, Any]) -> dict[str, str]:
    """One run, by its number."""
    return one_run(np.random.default_rng(number), **setting)


def errors(runs: int, setting: Mapping[str, Any], jobs: int = 1) -> dict[str, Counter[str]]:
    """How often each answer is given on the boundary."""
    found: dict[str, Counter[str]] = {"pairs": Counter(), "one look": Counter()}
    with ExitStack() as stack:
        pool = None if jobs == 1 else stack.enter_context(ProcessPoolExecutor(jobs))
        mapped = map if pool is None else partial(pool.map, chunksize=10)
        for answers in mapped(partial(numbered, setting=setting), range(runs)):
            for how, answer in answers.items():
                found[how][answer] += 1
    return found


def main() -> None:
    """Print the share of each answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    runs = chosen.runs
    for name, setting in SETTINGS.items():
        for how, counts in errors(runs, setting, chosen.jobs).items():
            shares = ", ".join(f"{answer} {counts[answer] / runs:.2%}" for answer in ("holds", "violated"))
            print(f"{name}, {how}: {shares} of {runs:,} runs; at most {DELTA:.0%} each", flush=True)


if __name__ == "__main__":
    main()

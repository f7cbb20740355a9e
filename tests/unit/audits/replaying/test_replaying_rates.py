"""The statistics of rates and of principal fairness alone: what they decide, and what is refused of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import principal_cases
import pytest
import rates_cases
from rates_cases import PARITY, SAMPLE, model
from repeatable_checks import Notebook

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.verdicts import recorded_model, recorded_population
from isonomia.engine.parameters import NullObserver
from isonomia.records.journal import MissingEntryError, ReadOnlyJournal
from raising import raises

CHECKS = {**rates_cases.CHECKS, **principal_cases.CHECKS}

PROGRAM = """
def popModel():
    sex = step([(0, 1, 0.96), (1, 2, 0.04)])
    points = gaussian(0, 1)
    sensitiveAttribute(sex > 1)

def F():
    t = points
    fairnessTarget(t > 0)
"""


def test_a_program_whose_rare_groups_are_drawn_directly_is_replayed_too() -> None:
    text = "P[points > 0 | sex > 1] / P[points > 0 | sex <= 1] >= 0.8"
    journal, options = Notebook(), {"seed": 2, "method": "bets"}
    population = iso.Program.of(PROGRAM, "people.fr")
    verdict = run_check(new_check(text, None, population, **options).with_journal(journal), NullObserver())
    assert len(journal.entries["population"]["streams"]) == 2
    stand_ins = recorded_model(journal.entries), recorded_population(journal.entries)
    again = run_check(
        new_check(text, *stand_ins, **options).with_journal(ReadOnlyJournal(journal.entries)), NullObserver()
    )
    assert replace(again, seconds=verdict.seconds) == verdict


def test_what_a_cache_had_to_say_is_kept(tmp_path: Path) -> None:
    from isonomia.models.adapt import adapt
    from isonomia.models.cache import Cached

    journal, options = Notebook(), {"seed": 2}
    cached = Cached(adapt(model), tmp_path / "answers.sqlite", "a key")
    verdict = run_check(new_check(PARITY, cached, SAMPLE(), **options).with_journal(journal), NullObserver())
    assert verdict.remarks[-1] == journal.entries["cache"]["remark"]
    stand_ins = recorded_model(journal.entries), recorded_population(journal.entries)
    again = run_check(
        new_check(PARITY, *stand_ins, **options).with_journal(ReadOnlyJournal(journal.entries)), NullObserver()
    )
    assert replace(again, seconds=verdict.seconds) == verdict


@pytest.mark.parametrize("name", ["exact", "principal, exact"])
def test_counts_of_everybody_decide_the_answer(name: str) -> None:
    check = CHECKS[name]()
    verdict, entries = check.run()
    kept = entries["everybody"]
    if name == "exact":
        (n, yes), *rest = kept["totals"]
        changed = {**kept, "totals": [[n, str(int(yes) - 1)], *rest]}
    else:
        ((key, ((first, second, *others), *rest)),) = kept["counts"]
        changed = {**kept, "counts": [[key, [[first + 1, second - 1, *others], *rest]]]}
    assert check.replayed({**entries, "everybody": changed}) != verdict


@pytest.mark.parametrize(
    "changed",
    [
        {"totals": [[10**9, "5"], [3, "1"]]},
        {"totals": [[-1, "0"], [3, "1"]]},
        {"totals": [[5, "0x1p+2000"], [3, "1"]]},
        {"totals": [[5, "inf"], [3, "1"]]},
        {"totals": [[5, "1/0"], [3, "1"]]},
        {"totals": [[5, "5"]]},
    ],
)
def test_counts_that_cannot_be_are_refused(changed: dict[str, Any]) -> None:
    check = CHECKS["exact"]()
    _, entries = check.run()
    entries = {**entries, "everybody": {**entries["everybody"], **changed}}
    with pytest.raises((iso.RecordError, iso.DataError, ValueError, OverflowError, ZeroDivisionError)):
        check.replayed(entries)


@pytest.mark.parametrize("missing", ["exact", "everybody"])
def test_a_missing_statistic_is_not_made_up(missing: str) -> None:
    check = CHECKS["exact"]()
    _, entries = check.run()
    with raises(MissingEntryError, missing):
        check.replayed({key: entry for key, entry in entries.items() if key != missing})


def test_a_journal_that_ends_too_soon_gives_no_answer() -> None:
    check = CHECKS["bets"]()
    _, entries = check.run()
    last = max(int(key.split()[1]) for key in entries if key.startswith("batch "))
    del entries[f"batch {last}"]
    assert check.replayed(entries).stopped == "interrupted"

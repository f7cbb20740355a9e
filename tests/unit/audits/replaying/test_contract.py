"""A journal without the model's answers is enough for the verdict of the check that wrote it, in every field."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.replaying.recompute import refuse_impossible
from isonomia.audits.verdicts import recorded_model, recorded_population
from isonomia.engine.journal import NothingMoreError, ReadOnly
from isonomia.engine.observer import Silent
from isonomia.records.store import ANSWER_PREFIX
from isonomia.records.verdict import Verdict

PROGRAM = """
def popModel():
    sex = step([(0, 1, 0.96), (1, 2, 0.04)])
    points = gaussian(0, 1)
    sensitiveAttribute(sex > 1)

def F():
    t = points
    fairnessTarget(t > 0)
"""


def _people(n: int = 1500) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {
        "sex": rng.choice(["F", "M"], n),
        "band": rng.choice(["low", "high"], n),
        "points": rng.random(n).round(3),
        "passed": rng.integers(0, 2, n),
    }


def _draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"sex": rng.choice(["F", "M"], n), "points": rng.random(n), "passed": rng.integers(0, 2, n)}


def _model(table: Any) -> Any:
    return (np.asarray(table["points"]) > 0.4).astype(int)


@dataclass
class Kept:
    """A journal that keeps entries as the store does, and may end the process after so many of them."""

    entries: dict[str, Any] = field(default_factory=dict)
    most: float = float("inf")

    def recall(self, key: str) -> Any:
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Any]) -> None:
        if len(self.entries) >= self.most:
            raise CutOffError
        assert key not in self.entries
        self.entries[key] = json.loads(json.dumps(make(), allow_nan=False))


class CutOffError(Exception):
    """Stands for the end of a process."""


PARITY = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"
SAMPLE: Callable[[], Any] = lambda: iso.Sample(_people())  # noqa: E731
CENSUS: Callable[[], Any] = lambda: iso.Census(_people())  # noqa: E731
DRAWN: Callable[[], Any] = lambda: iso.Census(_people(), exact=False)  # noqa: E731
UNLIMITED: Callable[[], Any] = lambda: iso.Generator(_draw)  # noqa: E731
FAIR = {"attribute": "sex", "outcome": "passed"}

CHECKS: dict[str, tuple[Any, Callable[[], Any], dict[str, Any]]] = {
    "bets": (PARITY, SAMPLE, {}),
    "undecided": ("P[prediction == 1 | sex == 'F'] >= 0.6", SAMPLE, {}),
    "for every value": ("for g in sex: P[prediction == 1 | sex == g] >= 0.5", SAMPLE, {}),
    "region": ("P[prediction == 1 | sex == 'F'] * P[passed == 1 | sex == 'M'] >= 0.1", SAMPLE, {}),
    "verifair": ("P[prediction == 1] >= 0.4", UNLIMITED, {"method": "verifair"}),
    "a mean": ("E[points | prediction == 1] >= 0.6", SAMPLE, {"ranges": {"points": (0, 1)}}),
    "overlapping groups": ("P[prediction == 1 | sex == 'F'] >= 0.7 * P[prediction == 1 | band == 'low']", SAMPLE, {}),
    "pairs": ("P[prediction == 1 and other.prediction == 0] >= 0.1", SAMPLE, {}),
    "a generator": (PARITY, UNLIMITED, {}),
    "a generator within a budget": ("P[prediction == 1] >= 0.6", UNLIMITED, {"budget": 900}),
    "a budget of time": ("P[prediction == 1] >= 0.6", UNLIMITED, {"budget": "0.02s"}),
    "exact": (PARITY, CENSUS, {}),
    "an exact mean": ("E[points | sex == 'F'] <= 0.52", CENSUS, {}),
    "an exact mean of tenths": ("E[points / 10 | sex == 'F'] <= 0.052", CENSUS, {}),
    "exact with an empty group": ("P[prediction == 1 | band == 'none'] >= 0.5", CENSUS, {}),
    "exact pairs": ("P[prediction > other.prediction] <= 0.3", lambda: iso.Census(_people(60)), {}),
    "constants only": ("1 < 2", CENSUS, {}),
    "without replacement": (PARITY, DRAWN, {}),
    "drawn, then everybody": (
        "P[prediction == 1 | sex == 'F'] >= 1.001 * P[prediction == 1 | band == 'low']",
        lambda: iso.Census(_people(200), exact=False),
        {"delta": 1e-9},
    ),
    "a random model": (PARITY, SAMPLE, {"random_model": True}),
    "principal": (iso.PrincipalFairness(**FAIR, within=0.5), SAMPLE, {}),
    "principal without a margin": (iso.PrincipalFairness(**FAIR), SAMPLE, {}),
    "principal in subgroups": (iso.PrincipalFairness(**FAIR, given=["band"], within=0.5), SAMPLE, {}),
    "principal, unlimited": (iso.PrincipalFairness(**FAIR, within=0.5), UNLIMITED, {"budget": 600}),
    "principal, exact": (iso.PrincipalFairness(**FAIR, within=0.3), CENSUS, {}),
    "principal, exact in subgroups": (iso.PrincipalFairness(**FAIR, given=["band"]), CENSUS, {}),
    "principal, drawn": (iso.PrincipalFairness(**FAIR, within=0.2), DRAWN, {}),
}


def _plain(verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(verdict.to_dict()))
    return {key: value for key, value in told.items() if key != "seconds"}


def _options(said: dict[str, Any]) -> dict[str, Any]:
    return {"seed": 5, **said}


def _live(name: str, journal: Kept) -> Verdict:
    prop, population, said = CHECKS[name]
    return run_check(new_check(prop, _model, population(), **_options(said)).with_journal(journal), Silent())


def _replayed(name: str, entries: dict[str, Any]) -> Verdict:
    prop, _, said = CHECKS[name]
    told = {key: entry for key, entry in entries.items() if not key.startswith(ANSWER_PREFIX)}
    check = new_check(prop, recorded_model(told), recorded_population(told), **_options(said))
    refuse_impossible(check, told)
    return run_check(check.with_journal(ReadOnly(told)), Silent())


@pytest.mark.parametrize("name", CHECKS)
def test_the_statistics_alone_give_the_verdict(name: str) -> None:
    journal = Kept()
    verdict = _live(name, journal)
    assert _plain(_replayed(name, journal.entries)) == _plain(verdict)


def test_a_program_whose_rare_groups_are_drawn_directly_is_replayed_too() -> None:
    text = "P[points > 0 | sex > 1] / P[points > 0 | sex <= 1] >= 0.8"
    journal, options = Kept(), {"seed": 2}
    population = iso.Program.of(PROGRAM, "people.fr")
    verdict = run_check(new_check(text, None, population, **options).with_journal(journal), Silent())
    assert len(journal.entries["population"]["streams"]) == 2
    stand_ins = recorded_model(journal.entries), recorded_population(journal.entries)
    again = run_check(new_check(text, *stand_ins, **options).with_journal(ReadOnly(journal.entries)), Silent())
    assert _plain(again) == _plain(verdict)


def test_what_a_cache_had_to_say_is_kept(tmp_path: Path) -> None:
    from isonomia.models.adapt import adapt
    from isonomia.models.wrappers import Cached

    journal, options = Kept(), {"seed": 2}
    cached = Cached(adapt(_model), tmp_path / "answers.sqlite", "a key")
    verdict = run_check(new_check(PARITY, cached, SAMPLE(), **options).with_journal(journal), Silent())
    assert verdict.remarks[-1] == journal.entries["cache"]["remark"]
    stand_ins = recorded_model(journal.entries), recorded_population(journal.entries)
    again = run_check(new_check(PARITY, *stand_ins, **options).with_journal(ReadOnly(journal.entries)), Silent())
    assert _plain(again) == _plain(verdict)


@pytest.mark.parametrize("name", ["exact", "an exact mean", "principal, exact"])
def test_a_census_that_is_cut_off_after_any_of_its_last_entries_ends_as_the_undisturbed_one(name: str) -> None:
    whole = Kept()
    verdict = _live(name, whole)
    for most in range(max(0, len(whole.entries) - 8), len(whole.entries)):
        journal = Kept(most=most)
        with pytest.raises(CutOffError):
            _live(name, journal)
        journal.most = float("inf")
        assert _plain(_live(name, journal)) == _plain(verdict)
        assert journal.entries.keys() == whole.entries.keys()


@pytest.mark.parametrize("name", ["exact", "principal, exact"])
def test_counts_of_everybody_decide_the_answer(name: str) -> None:
    journal = Kept()
    verdict = _live(name, journal)
    kept = journal.entries["everybody"]
    if name == "exact":
        (n, yes), *rest = kept["totals"]
        changed = {**kept, "totals": [[n, str(int(yes) - 1)], *rest]}
    else:
        ((key, ((first, second, *others), *rest)),) = kept["counts"]
        changed = {**kept, "counts": [[key, [[first + 1, second - 1, *others], *rest]]]}
    again = _plain(_replayed(name, {**journal.entries, "everybody": changed}))
    assert again != _plain(verdict)


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
    journal = Kept()
    _live("exact", journal)
    entries = {**journal.entries, "everybody": {**journal.entries["everybody"], **changed}}
    with pytest.raises((iso.RecordError, iso.DataError, ValueError, OverflowError, ZeroDivisionError)):
        _replayed("exact", entries)


def test_counts_of_principal_fairness_must_add_up() -> None:
    journal = Kept()
    _live("principal, exact", journal)
    entries = {**journal.entries, "everybody": {**journal.entries["everybody"], "people": 7}}
    with pytest.raises(iso.RecordError, match="contradict each other"):
        _replayed("principal, exact", entries)


@pytest.mark.parametrize("missing", ["exact", "everybody"])
def test_a_missing_statistic_is_not_made_up(missing: str) -> None:
    journal = Kept()
    _live("exact", journal)
    with pytest.raises(NothingMoreError, match=missing):
        _replayed("exact", {key: entry for key, entry in journal.entries.items() if key != missing})


def test_a_journal_that_ends_too_soon_gives_no_answer() -> None:
    journal = Kept()
    _live("bets", journal)
    last = max(int(key.split()[1]) for key in journal.entries if key.startswith("batch "))
    del journal.entries[f"batch {last}"]
    assert _replayed("bets", journal.entries).stopped == "interrupted"

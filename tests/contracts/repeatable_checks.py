"""Checks that can be done again and again: cut off at any entry of their journal, or repeated from it alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isonomia.audits.check import new_check, run_check
from isonomia.audits.protocol import Check
from isonomia.audits.replay import refuse_impossible
from isonomia.audits.verdicts import recorded_model, recorded_population
from isonomia.engine.parameters import NullObserver
from isonomia.models.adapt import adapt
from isonomia.models.session import ModelSession
from isonomia.models.steady import Steadiness
from isonomia.records import Verdict
from isonomia.records.journal import ReadOnlyJournal
from isonomia.records.store import ANSWER_PREFIX
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

Entries = dict[str, Any]


@dataclass(slots=True)
class Notebook:
    """A journal in memory that keeps what JSON keeps, like the store; a key can be written once."""

    entries: Entries = field(default_factory=dict)

    def recall(self, key: str) -> Any:
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Mapping[str, Any]]) -> None:
        assert key not in self.entries, f"{key} is written twice"
        self.entries[key] = json.loads(json.dumps(make(), allow_nan=False))


@dataclass
class Repeatable:
    """A check that can be done again and again, and how often its model was called."""

    prop: Any
    model: Any
    population: Any
    options: dict[str, Any]
    calls: int = 0

    def run(self, entries: Mapping[str, Any] | None = None) -> tuple[Verdict, Entries]:
        """Go on from entries, or begin."""
        journal = Notebook(dict(entries or {}))
        verdict = run_check(self.check().with_journal(journal), NullObserver())
        return replace(verdict, seconds=0.0), journal.entries

    def run_without_journal(self) -> Verdict:
        """The verdict of a check that keeps nothing."""
        return replace(run_check(self.check(), NullObserver()), seconds=0.0)

    def check(self) -> Check[Any]:
        def model(rows: Any) -> Any:
            self.calls += 1
            return self.model(rows)

        asked: Any = None if self.model is None else model
        if self._always:
            asked = ModelSession(adapt(model), steady=Steadiness(_due=2**62, _first=None))
        return new_check(self.prop, asked, self.population, **self._options)

    def replayed(self, entries: Mapping[str, Any], prop: Any = None) -> Verdict:
        """Repeat it from what leaves the house, without data, model and permissions."""
        kept = {key: entry for key, entry in entries.items() if not key.startswith(ANSWER_PREFIX)}
        stand_ins = recorded_model(kept), recorded_population(kept)
        check = new_check(self.prop if prop is None else prop, *stand_ins, **self._options)
        refuse_impossible(check, kept)
        verdict = run_check(check.with_journal(ReadOnlyJournal(kept)), NullObserver())
        return replace(verdict, seconds=0.0)

    @property
    def _options(self) -> dict[str, Any]:
        # Nothing is asked twice to see whether the model changes its mind, so that calls can be counted.
        return {"seed": 3, "random_model": not self._always, **self.options}

    @property
    def _always(self) -> bool:
        """Whether the claim means nothing, or something else, for a model that answers at random."""
        if self.model is None or not isinstance(self.prop, Safety):
            return isinstance(self.prop, Responsiveness)
        return any(item.always for item in self.prop.spec.ensures)


def timeless(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Entries without what they cost: a check that is resumed sends fewer rows a second time."""
    costs = ("seconds", "queries")
    return {
        key: {name: value for name, value in entry.items() if name not in costs}
        for key, entry in entries.items()
        if key != "queries"
    }


def resumes_everywhere(check: Repeatable) -> None:
    """Claim: cut off behind any entry, a check goes on to the same verdict and the same entries."""
    whole, entries = check.run()
    resumes_at(range(len(entries) + 1), check, whole, entries)


def resumes_at(cuts: Iterable[int], check: Repeatable, whole: Verdict, entries: Entries) -> None:
    """Claim: a check that was cut off behind so many entries goes on as the whole one did."""
    keys = list(entries)
    for cut in cuts:
        verdict, again = check.run({key: entries[key] for key in keys[:cut]})
        assert verdict == whole, f"cut off before {keys[cut]}" if cut < len(keys) else "cut off at the end"
        assert timeless(again) == timeless(entries)
        assert list(again) == keys


def asks_nothing_at_the_end(check: Repeatable) -> None:
    """Claim: with everything in its journal, a check does not ask the model."""
    _, entries = check.run()
    before = check.calls
    check.run(entries)
    assert check.calls == before

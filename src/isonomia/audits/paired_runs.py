"""Two recorded runs of one audit on the same rows: whether the later one is worse, by a paired test.

Both runs used the rows of their table in the same order, and each stopped when its own answer was known. So the
rows that both used are not a sample of fixed size: their number depends on their values. They are bet on in
the order in which they were used, a pair at a time, which is valid wherever the two runs stopped: the smaller of two
stopping times is one. Only where both were planned to use every row is the test that of one look.

Guarantee: if rows are independent draws, the probability that an answer here is wrong is at most its ``delta``,
whatever made the runs stop. It covers the comparison of these two runs, not the best of many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from isonomia.audits.audit_file.planner import StatedProperty
from isonomia.audits.check import check
from isonomia.audits.protocol import Check
from isonomia.audits.rates.by_row import JoinedRuns, RunRows, recorded_rows
from isonomia.audits.rates.question import ask_about
from isonomia.audits.replay import rebuilt, stand_in
from isonomia.errors import IsonomiaError, RecordError
from isonomia.populations.finite import Sample
from isonomia.populations.protocol import Clusters, facts_of
from isonomia.records.evidence import CheckEvidence, evidence_of
from isonomia.records.journal import Entry, ReadOnlyJournal
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict
from isonomia.spec.property import Property


@dataclass(frozen=True, slots=True)
class PairedProperty:
    """One property of two runs.

    Attributes
    ----------
    name
        Its name.
    verdict
        Whether the later run is not worse by more than the margin; ``None`` where no pairs could be made.
    rows
        How many rows both used.
    changed
        On how many of them the later run is worse, and better, where one rate or mean is compared.
    early
        Whether a run may have stopped before the last row.
    why
        Why no pairs could be made, in words.
    """

    name: str
    verdict: Verdict | None = None
    rows: int = 0
    changed: tuple[int, int] | None = None
    early: bool = False
    why: str = ""


def paired_properties(
    store: Store, before: str, after: str, *, margin: float = 0.02, delta: float = 0.05
) -> list[PairedProperty]:
    """Compare two runs of a store row by row: every property that both could check.

    Parameters
    ----------
    store, before, after
        Where both runs are, and their names.
    margin
        By how much a rate, or any compared quantity, may have become worse.
    delta
        The risk of all comparisons together; each has an equal part.
    """
    names = [store.run(name).id for name in (before, after)]
    sides = [{each.name: each for each in store.checks(name) if each.verdict is not None} for name in names]
    shared = [name for name in sides[1] if name in sides[0]]
    try:
        first, second = (_RecordedRun.of(store, name) for name in names)
    except RecordError as error:
        return [PairedProperty(name, why=str(error)) for name in shared]
    return [_paired(name, first, second, margin, delta / len(shared)) for name in shared]


@dataclass(frozen=True, slots=True)
class RecordedCheck:
    """A check of a record: how it was made, its verdict, and its journal."""

    check: Check[Any]
    verdict: Verdict
    entries: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class _RecordedRun:
    """A run of a store, with what its evidence says of each property."""

    store: Store
    run: str
    stated: Mapping[str, tuple[int, StatedProperty, CheckEvidence]]

    @classmethod
    def of(cls, store: Store, run: str) -> _RecordedRun:
        evidence = evidence_of(store, run)
        both = zip(rebuilt(evidence).stated, evidence.checks, strict=True)
        return cls(store, run, {check.name: (number, each, check) for number, (each, check) in enumerate(both)})

    def recorded(self, name: str) -> RecordedCheck:
        number, stated, evidence = self.stated[name]
        assert evidence.verdict is not None, "only properties with a verdict are compared"
        journal = self.store.journal(self.run, number)
        try:
            entries = dict(journal.entries)
        finally:
            journal.close()
        return RecordedCheck(stand_in(stated, evidence).check, Verdict.from_dict(evidence.verdict), entries)


def _paired(name: str, before: _RecordedRun, after: _RecordedRun, margin: float, delta: float) -> PairedProperty:
    try:
        return replace(paired(before.recorded(name), after.recorded(name), margin, delta), name=name)
    except IsonomiaError as error:
        return PairedProperty(name, why=str(error))


def paired(old: RecordedCheck, new: RecordedCheck, margin: float, delta: float) -> PairedProperty:
    """Compare two recorded checks of a property row by row.

    Raises
    ------
    IsonomiaError
        Where no pairs can be made; it says why.
    """
    _refuse_unlike(old, new)
    made = new.check
    question = ask_about(made.prop, made.population, made.model, made.ranges, ReadOnlyJournal(new.entries))
    rows = [recorded_rows(each.entries, len(question.leaves)) for each in (new, old)]
    once = all(_planned(each, own) for each, own in zip((new, old), rows, strict=True))
    draws = min(each.count for each in rows)
    if not draws:
        raise RecordError("its record has counts only, and not what each row said: run it again with this version")
    joined = JoinedRuns(question, *(each.first(draws) for each in rows))
    if not joined.same_groups():
        raise RecordError("the same rows are in other groups, though the tables are said to be the same")
    verdict = not_worse(joined, facts_of(made.population).clusters, margin, delta, once=once)
    name = new.verdict.name or new.verdict.text
    verdict = replace(verdict, name=name, model=new.verdict.model, population=new.verdict.population)
    return PairedProperty(name, verdict, joined.new.values.shape[1], joined.changed(), not once)


def not_worse(joined: JoinedRuns, clusters: Clusters | None, margin: float, delta: float, *, once: bool) -> Verdict:
    """Whether the new side of joined runs is not worse; by one look only where the number of draws was fixed."""
    order = "random" if once else "file"
    if clusters is None:
        sample = Sample(joined.table(), order=order)
    else:
        most = clusters.largest if clusters.weigh == "rows" else None
        sample = Sample(joined.table(), order=order, cluster="draw", weigh=clusters.weigh, max_cluster=most)
    how: dict[str, Any] = {"looks": "once"} if once else {"stop": "all"}
    return check(joined.claim(margin), None, sample, delta=delta, **how)


def _refuse_unlike(old: RecordedCheck, new: RecordedCheck) -> None:
    """Refuse two checks whose rows cannot be paired, and say why."""
    if not isinstance(new.check.prop, Property):
        raise RecordError("only properties about rates and means are paired")
    if old.verdict.text != new.verdict.text:
        raise RecordError("the property has changed")
    if new.check.population.kind != "sample":
        raise RecordError(f"only the rows of a sample are paired, and this is a {new.check.population.kind}")
    if old.verdict.population.get("fingerprint") != new.verdict.population.get("fingerprint"):
        raise RecordError(
            "the tables are not the same, by their fingerprints. Tables with answers to the same questions are joined "
            "by a column: isonomia compare OLD.csv NEW.csv --on COLUMN"
        )
    if not old.verdict.model or not new.verdict.model:
        raise RecordError("no model was asked, so both have the same answers")
    if facts_of(new.check.population).labels is not None:
        raise RecordError("only some rows have a label, so that rows are no pairs")
    if old.check.seed != new.check.seed:
        raise RecordError(
            f"the rows came in another order, by the seeds {old.check.seed} and {new.check.seed}: give both audit "
            "files the same seed"
        )


def _planned(each: RecordedCheck, rows: RunRows) -> bool:
    """Whether the number of rows was fixed beforehand; a run that was to use them all, and was cut off, is refused."""
    made, clusters = each.check, facts_of(each.check.population).clusters
    if made.budget.queries < inf or made.budget.seconds < inf or made.budget.costs:
        return False
    if made.stop != "all" and not (made.looks == "once" and (clusters or each.verdict.looks == "once")):
        return False
    whole = made.population.size if clusters is None else clusters.count
    return rows.count == int(min(whole, made.budget.samples))

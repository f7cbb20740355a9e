"""The exact check of a census: everybody is counted, nothing is estimated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isonomia.audits.answers import Asker
from isonomia.audits.pieces import Counter, by_workers
from isonomia.audits.principal.findings import Finding, from_table, subgroup
from isonomia.audits.principal.question import Key, PrincipalQuestion
from isonomia.audits.principal.sampling import Counts, count
from isonomia.audits.rates.census import batch_size
from isonomia.audits.rates.question import narrowed
from isonomia.engine.journal import Blank, Entry, Journal
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import root
from isonomia.errors import DataError
from isonomia.evidence.strata.worlds import Observed
from isonomia.executors import Pool
from isonomia.populations.finite import Census
from isonomia.populations.protocol import Population

KEY = "everybody"
"""The journal key of the counts of everybody."""


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalCensus:
    """The result: a finding for each subgroup, how many people were counted, and whether somebody pressed Ctrl-C."""

    findings: tuple[Finding, ...]
    people: int
    interrupted: bool

    @property
    def holds(self) -> bool | None:
        """``False`` where no fair world produces a subgroup's table; ``True`` where only fair ones produce each."""
        answers = {finding.holds for finding in self.findings}
        if self.interrupted or not answers or any(each.table and each.table.contradicts for each in self.findings):
            return None
        return False if False in answers else True if answers == {True} else None


def count_census(
    question: PrincipalQuestion,
    asker: Asker | None,
    census: Population,
    observer: Observer,
    journal: Journal = Blank(),  # noqa: B008  (it has no state)
    pool: Pool | None = None,
) -> PrincipalCensus:
    """Count every row and answer for every subgroup, without any risk.

    The counts are kept in the journal, and the answer is computed from them, now and in every replay. The workers of a
    pool read the files of a long table for themselves.
    """
    kept = journal.recall(KEY)
    if kept is None:
        people, counts, interrupted = _census_counts(question, asker, census, observer, journal, pool)
        if interrupted:
            return PrincipalCensus((), people, interrupted=True)
        journal.keep(KEY, lambda: _packed(people, counts))
    else:
        people, counts = _unpacked(question, kept)
    keys = sorted(counts, key=in_order)
    return PrincipalCensus(tuple(_finding(question, key, counts) for key in keys), people, interrupted=False)


def _census_counts(
    question: PrincipalQuestion,
    asker: Asker | None,
    census: Population,
    observer: Observer,
    journal: Journal,
    pool: Pool | None,
) -> tuple[int, Counts, bool]:
    """How many people were counted, their counts, and whether somebody pressed Ctrl-C."""
    began, people, counts, size = time.monotonic(), 0, Counts(), census.size
    assert size is not None, "only a population of a known size can be counted"
    try:
        pieces = by_workers(pool, asker, census, Counter(count_rows, question, _packed_piece, _unpacked_piece), journal)
        for rows, found in _batch_by_batch(question, asker, census, 0, size) if pieces is None else pieces:
            for key, seen in found.items():
                counts[key] = counts[key] + seen if key in counts else seen
            people += rows
            observer.advance(Progress(people, size, people / size, time.monotonic() - began, _exactly))
    except KeyboardInterrupt:
        return people, counts, True
    return people, counts, False


def _batch_by_batch(
    question: PrincipalQuestion, asker: Asker | None, census: Population, begin: int, end: int
) -> Iterator[tuple[int, Counts]]:
    """The rows, some at a time: how many they are, and their counts."""
    roles = (*question.prop.roles, *question.given)
    wanted = narrowed(question.wanted, roles, None if asker is None else asker.model, census.names)
    source, at_once = census.open(root(0), wanted), batch_size(census)
    for start in range(begin, end, at_once):
        table = source.batch(start, min(at_once, end - start), np.random.default_rng(0))
        yield table.rows, count(question, table, asker)


def count_rows(question: PrincipalQuestion, asker: Asker | None, census: Census, start: int, stop: int) -> Counts:
    """The counts of some rows of a census."""
    counts = Counts()
    for _, found in _batch_by_batch(question, asker, census, start, stop):
        for key, seen in found.items():
            counts[key] = counts[key] + seen if key in counts else seen
    return counts


def _packed_piece(counts: Counts) -> Entry:
    return {"counts": [[list(key), seen.astype(np.int64).tolist()] for key, seen in counts.items()]}


def _unpacked_piece(entry: Entry) -> Counts:
    return Counts({tuple(key): np.asarray(seen, dtype=float) for key, seen in entry["counts"]})


def _packed(people: int, counts: Counts) -> Entry:
    return {"people": people, **_packed_piece(counts)}


def _unpacked(question: PrincipalQuestion, entry: Entry) -> tuple[int, Counts]:
    shape = question.shape.attributes, question.shape.cells
    counts = _unpacked_piece(entry)
    whole = sum(seen.sum() for seen in counts.values())
    if any(seen.shape != shape or (seen < 0).any() for seen in counts.values()) or whole != entry["people"]:
        raise DataError(
            f"expected counts of shape {shape} that add up to the {entry['people']:,} people of the record, but they "
            f"add up to {whole:,.0f}"
        )
    return entry["people"], counts


def _finding(question: PrincipalQuestion, key: Key, counts: Counts) -> Finding:
    people = counts[key].sum(axis=1)
    if not people.all():
        raise nobody_with(question, key, int(np.argmin(people)))
    return from_table(question, key, Observed.from_counts(counts[key].reshape(question.shape.table)), counts[key])


def nobody_with(question: PrincipalQuestion, key: Key, value: int) -> DataError:
    """The error for a subgroup in which nothing can be compared, since nobody has an attribute value."""
    return DataError(
        f"expected people with every value of {question.attribute.name} in each subgroup, but nobody in "
        f"{subgroup(question, key)} has {question.attribute.values[value]!r}: leave a column out of given, or merge "
        "its values"
    )


def in_order(key: Key) -> tuple[tuple[bool, object], ...]:
    """Numbers before text, each ascending."""
    return tuple((isinstance(value, str), value) for value in key)


def _exactly() -> str:
    return "counting everybody"

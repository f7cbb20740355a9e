"""The exact check of a census: everybody is counted, nothing is estimated."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from isonomia.audits.principal.counting import Counts, Key, count
from isonomia.audits.principal.findings import Finding
from isonomia.audits.principal.question import Question
from isonomia.audits.principal.tables import answer_of
from isonomia.audits.principal.wording import subgroup
from isonomia.audits.rates.asking import Asker
from isonomia.audits.rates.everybody import batch_size
from isonomia.audits.rates.needs import narrowed
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import root
from isonomia.errors import DataError
from isonomia.populations.protocol import Population

__all__ = ["Counted", "count_everybody"]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What everybody came to: a finding a subgroup, how many were counted, and whether somebody pressed Ctrl-C."""

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


def count_everybody(question: Question, asker: Asker | None, census: Population, observer: Observer) -> Counted:
    """Ask about every row and answer for every subgroup, without any risk.

    Raises
    ------
    DataError
        Where nobody in a subgroup has one of the attribute's values: there is nothing to compare them with.
    """
    began, people, counts, size = time.monotonic(), 0, Counts(), census.size
    assert size is not None, "only a population of a known size can be counted"
    try:
        roles = (*question.prop.roles, *question.given)
        wanted = narrowed(question.wanted, roles, None if asker is None else asker.model, census.names)
        source, at_once = census.open(root(0), wanted), batch_size(census)
        for start in range(0, size, at_once):
            table = source.batch(start, at_once, np.random.default_rng(0))
            for key, seen in count(question, table, asker).items():
                counts[key] = counts[key] + seen if key in counts else seen
            people += table.rows
            observer.advance(Progress(people, size, people / size, time.monotonic() - began, _exactly))
    except KeyboardInterrupt:
        return Counted((), people, interrupted=True)
    keys = sorted(counts, key=_order)
    return Counted(tuple(_finding(question, key, counts) for key in keys), people, interrupted=False)


def _finding(question: Question, key: Key, counts: Counts) -> Finding:
    people = counts[key].sum(axis=1)
    if not people.all():
        missing = question.attribute.values[int(np.argmin(people))]
        raise DataError(
            f"expected people with every value of {question.attribute.name} in each subgroup, but nobody in "
            f"{subgroup(question, key)} has {missing!r}: leave a column out of given, or merge its values"
        )
    table = answer_of(question, counts[key])
    unknown = (None,) * len(question.effects)
    return Finding(
        key,
        counts[key],
        table.holds,
        table,
        tuple(reach.unnormalised for reach in table.reaches) or unknown,
        tuple(reach.normalised for reach in table.reaches) or unknown,
        None,
    )


def _order(key: Key) -> tuple[tuple[bool, object], ...]:
    """Numbers before text, each ascending."""
    return tuple((isinstance(value, str), value) for value in key)


def _exactly() -> str:
    return "counting everybody"

"""Cases judged by the workers of an executor, functions and code of a specification included.

This is for specifications that never query the model: their functions are the system under test. Workers get cases with
all their choices made, and give back which of them violate. What was computed for these is computed again here, since
values of many kinds would have to travel. What cannot be done this way is done by the caller: a case that fails, an
error, or values of other types than in the other slices, so that the verdict is always that of one process.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseResults, CaseRunner, Cases
from isonomia.audits.ksafety.evaluate import MOST_TEXT, Booleans, CaseEvaluation, CaseValues, GivenChoices
from isonomia.audits.ksafety.functions import call_function
from isonomia.errors import IsonomiaError, UnreliableModelError, UsageError
from isonomia.executors import Pool, TaskContext
from isonomia.models.parallel import borders
from isonomia.populations.domains import Domain, TableRecords

_lock = threading.RLock()
"""Threads of one process share the functions of a specification, which may not be thread-safe."""


@dataclass(frozen=True, slots=True, eq=False)
class CaseContext:
    """What a worker needs for all cases of a check."""

    runner: CaseRunner
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSlice:
    """The result of some of the cases.

    Attributes
    ----------
    violates, vacuous, changed, pairs
        As in :class:`CaseResults`.
    fine
        Whether every case was accepted again, and none failed.
    types
        The types of the values that were computed.
    characters
        How many characters the concatenated texts have.
    """

    violates: NDArray[np.bool_]
    vacuous: Booleans
    changed: NDArray[np.float64]
    pairs: NDArray[np.intp]
    fine: bool
    types: tuple[Any, ...]
    characters: int


def judge_slice(context: CaseContext, cases: Cases) -> JudgedSlice:
    """Judge cases in a worker."""
    with _lock:
        judgement = context.runner.run(context.domain, cases)
    return JudgedSlice(
        judgement.violates,
        judgement.vacuous,
        judgement.changed,
        judgement.pairs,
        len(judgement.cases) == len(cases) and not judgement.failed.any() and not judgement.reasons,
        _types(judgement.batch),
        judgement.batch.characters,
    )


def _types(batch: CaseEvaluation) -> tuple[Any, ...]:
    """The types of all values: those of a column, and of the changed columns of records."""
    types: list[Any] = [None if kind is None else kind.kind if kind.kind in "USO" else kind.str for kind in batch.types]
    for name, value in batch.values.items():
        if isinstance(value.data, TableRecords):
            types.append((name, {column: values.dtype.kind for column, values in value.data.changed.items()}))
    return tuple(types)


@dataclass(slots=True, eq=False)
class CaseWorkers:
    """Judges cases by workers, until something has to be done by the caller.

    Attributes
    ----------
    pool, shared
        The workers, and what they need for all cases.
    off
        Whether something could not be done by workers, so that all is done here from then on.
    """

    pool: Pool
    shared: TaskContext
    off: bool = False

    def judge(self, runner: CaseRunner, domain: Domain, cases: Cases) -> CaseResults | None:
        """Judge accepted cases; ``None`` where they have to be judged by this process."""
        if self.off or domain is not self.shared.value.domain or not len(cases):
            return None
        parts = [cases.take(np.arange(*edges, dtype=np.intp)) for edges in pairwise(borders(len(cases)))]
        try:
            tasks = self.pool.begin(judge_slice, self.shared, parts, list(map(len, parts)))
        except UsageError as error:
            self.pool.stay_here("the cases are computed", error)
            self.off = True
            return None
        try:
            judged = self._joined(runner, domain, cases, list(tasks.results()))
        except UnreliableModelError:  # such as workers that end again and again: this process would end, too
            raise
        except IsonomiaError:  # raised again by this process, for the first case that it concerns
            judged = None
        self.off = judged is None
        return judged

    def _joined(
        self, runner: CaseRunner, domain: Domain, cases: Cases, slices: Sequence[JudgedSlice]
    ) -> CaseResults | None:
        """The slices as one result, with the values of the cases that violate; ``None`` where they do not fit."""
        alike = len({str(part.types) for part in slices}) == 1
        if not alike or sum(part.characters for part in slices) > MOST_TEXT or not all(part.fine for part in slices):
            return None
        violates = np.concatenate([part.violates for part in slices], axis=1)
        bad = np.flatnonzero(violates.any(axis=0))
        values: dict[str, CaseValues] = {}
        if len(bad):
            again = replace(runner, workers=None).run(domain, cases.take(bad))
            if _types(again.batch) != slices[0].types or not np.array_equal(again.violates, violates[:, bad]):
                return None
            positions = np.zeros(len(cases), dtype=np.intp)  # of a case that does not violate, no value is used
            positions[bad] = np.arange(len(bad))
            values = {name: value.take(positions) for name, value in again.batch.values.items()}
        return CaseResults(
            cases,
            CaseEvaluation(len(cases), domain, values, GivenChoices(()), call_function),
            violates,
            np.zeros(len(cases), dtype=bool),
            np.concatenate([part.vacuous for part in slices]),
            Counter(),
            np.concatenate([part.changed for part in slices], axis=1),
            np.concatenate([part.pairs for part in slices]),
        )

"""Questions of many cases as one: a call for a whole batch, and the answer of each case from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isonomia.audits.ksafety.evaluate import Batch
from isonomia.audits.ksafety.namespace import Asking
from isonomia.audits.ksafety.supply import Given
from isonomia.audits.ksafety.values import Value, is_column
from isonomia.populations.columns import column_from
from isonomia.spec.nomos.tree import Call, Name

__all__ = ["gathered"]


def gathered(questions: Sequence[Asking], batch: Batch) -> list[tuple[Any, str | None]]:
    """Answer questions to one function, with equally many arguments each, by one call.

    Returns
    -------
    list
        For each question its answer as a plain value, and why there is none; ``None`` where there is one.
    """
    width = len(questions[0].arguments)
    known = {
        f"argument {place}": _joined([question.arguments[place] for question in questions], batch)
        for place in range(width)
    }
    seeds = np.array([question.seed for question in questions], dtype=np.int64)
    together = Batch(len(questions), batch.domain, known, Given([seeds]), batch.call, batch.ask)
    found = batch.call(together, Call(questions[0].what, tuple(Name(name) for name in known)))
    return list(zip(found.data.tolist(), _reasons(together, found), strict=True))


def _joined(values: Sequence[Value], batch: Batch) -> Value:
    """One argument of every case, records or a column."""
    if all(is_column(value) for value in values):
        return Value(column_from([value.data.tolist()[0] for value in values], "an argument"))
    return Value(batch.domain.concatenate([value.data for value in values]))


def _reasons(together: Batch, found: Value) -> list[str | None]:
    """Why a case has no answer: the first thing that went wrong for it."""
    reasons: list[str | None] = [None] * together.n
    if found.bad is not None:
        for place in np.flatnonzero(found.bad).tolist():
            told = (why for why, bad in together.faults if bad[place])
            reasons[place] = next(told, "there is no answer for it")
    return reasons

"""Asking the model about records, and finding out which ones it cannot answer for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.values import Answered, joined
from isonomia.audits.rates.asking import Asker
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.populations.domains import Domain
from isonomia.populations.table import Table

__all__ = ["Questioner"]

PROBES = 8
"""Rows that are asked about one by one, once a batch has failed, before all of them are."""


@dataclass(slots=True)
class Questioner:
    """Asks a model about whole batches.

    A batch on which the model raises is halved until the rows are found that it cannot answer for. A model that fails
    on every row is an error of its own; one that fails on some is part of what the audit reports.

    Attributes
    ----------
    asker
        The model.
    calls, rows
        How often it was called, and about how many rows in all.
    """

    asker: Asker
    calls: int = 0
    rows: int = 0

    def __call__(self, what: str, domain: Domain, records: Any) -> Answered:
        """The model's answers for records, or for a table of what it is to be given: predictions, or scores.

        Raises
        ------
        ModelError
            Where it answers for none of them.
        """
        if isinstance(records, Table):
            return self._answers(what, records)
        same = domain.unique(records)
        if same is None:
            return self._in_pieces(what, domain, records)
        first, back = np.unique(same, return_index=True, return_inverse=True)[1:]
        if len(first) == len(same):
            return self._in_pieces(what, domain, records)
        return self._in_pieces(what, domain, records.take(first)).take(back.reshape(-1))

    def _in_pieces(self, what: str, domain: Domain, records: Any) -> Answered:
        """Large records, such as images, are made and put to the model as many at a time as the domain says."""
        n, most = len(records), getattr(domain, "together", None)
        if most is None or n <= most:
            return self._answers(what, domain.table(records))
        places = [np.arange(start, min(start + most, n), dtype=np.intp) for start in range(0, n, most)]
        return joined([self._answers(what, domain.table(records.take(part))) for part in places])

    def _answers(self, what: str, table: Table) -> Answered:
        try:
            return Answered(self._asked(what, table))
        except UnreliableModelError:
            raise
        except ModelError as error:
            if self._fails_everywhere(what, table):
                raise error from error.__cause__
        parts = self._halved(what, table)
        good = next((part for part in parts if isinstance(part, np.ndarray)), np.zeros(1))
        answers = np.concatenate([good[:1] if isinstance(part, str) else part for part in parts])
        why = [reason for part in parts for reason in ([part] if isinstance(part, str) else [None] * len(part))]
        return Answered(answers, np.fromiter(why, dtype=object, count=len(why)))

    def _asked(self, what: str, table: Table) -> NDArray[Any]:
        self.calls += 1
        self.rows += table.rows
        answer = self.asker(table, want_score=what == "score", want_prediction=what == "predict")
        if what == "predict":
            assert answer.prediction is not None
            return answer.prediction
        assert answer.score is not None
        if answer.score.ndim == 2 and answer.score.shape[1] != 2:
            raise ModelError(
                f"score(...) is one number a case, but {self.asker.model.name} gives one for each of "
                f"{answer.score.shape[1]} classes: use predict(...)"
            )
        return answer.score if answer.score.ndim == 1 else answer.score[:, -1]

    def _fails_everywhere(self, what: str, table: Table) -> bool:
        """Whether the model fails on each of a few rows, so that it is the model and not the rows."""
        places = np.unique(np.linspace(0, table.rows - 1, PROBES).astype(int)).tolist()
        if len(places) < PROBES:
            return False  # too few rows to tell; each is asked about anyway
        return not any(self._answers_for(what, table.slice(index, index + 1)) for index in places)

    def _answers_for(self, what: str, table: Table) -> bool:
        try:
            self._asked(what, table)
        except UnreliableModelError:
            raise
        except ModelError:
            return False
        return True

    def _halved(self, what: str, table: Table) -> list[NDArray[Any] | str]:
        """The answers in pieces; a text stands for a single row without one, and says why."""
        try:
            return [self._asked(what, table)]
        except UnreliableModelError:
            raise
        except ModelError as error:
            if table.rows == 1:
                cause = error.__cause__
                return [f"the model raised {type(cause).__name__}: {cause}" if cause else "the model gave no answer"]
        middle = table.rows // 2
        return self._halved(what, table.slice(0, middle)) + self._halved(what, table.slice(middle, table.rows))

"""Asking the model about a batch, in threads where that is wished for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.table import Table

__all__ = ["Asker"]


@dataclass(slots=True)
class Asker:
    """A model, and how many threads ask it side by side.

    A batch is cut into as many parts as there are threads, and the answers are joined again. Since the model answers
    for each person alone, the outcome does not depend on the number of threads.
    """

    model: Model
    workers: int = 1
    _pool: ThreadPoolExecutor | None = field(default=None, repr=False)

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Ask about every row of a table."""
        parts = min(self.workers, table.rows)
        if parts == 1:
            return ask(self.model, table, want_score, want_prediction)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=self.workers)
        edges = np.linspace(0, table.rows, parts + 1).astype(int).tolist()
        pieces = [table.slice(start, stop) for start, stop in pairwise(edges)]
        answers = list(self._pool.map(lambda piece: ask(self.model, piece, want_score, want_prediction), pieces))
        return _joined(answers, self.model)

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _joined(answers: list[Answer], model: Model) -> Answer:
    classes = answers[0].classes
    if any(answer.classes != classes for answer in answers):
        raise ModelError(f"{model.name} named its classes differently for different people of one batch")
    return Answer(
        _concatenated([answer.prediction for answer in answers]),
        _concatenated([answer.score for answer in answers]),
        classes,
    )


def _concatenated(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    found = [part for part in parts if part is not None]
    return np.concatenate(found) if found else None

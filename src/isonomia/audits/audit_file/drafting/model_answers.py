"""What a model says of itself, and what it answers when it is asked about some rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.audit_file.drafting.columns import Column
from isonomia.errors import ModelError
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Asked", "asked_model", "some_rows"]

_ROWS = 400
"""About so many people a model is asked about for a draft."""
_CLASSES = 20
"""More different whole numbers than this are no classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What was learnt by asking.

    Attributes
    ----------
    model
        The model, with the features that it was found to take.
    features
        The columns that it has to be given by name, where it does not say so itself and not all are right.
    reads
        The columns that it reads; ``None`` where it takes whatever there is.
    rows
        The people whom it was asked about.
    answer
        What it answered.
    classes
        What it can predict, where these are classes; empty for numbers.
    scores
        One score for each row, that of the second of two classes; ``None`` where it gives none or several.
    probability
        Whether scores lie between 0 and 1 by the model's own word.
    random
        Whether it answered the same rows differently.
    speed
        Rows in a second.
    """

    model: Model
    features: tuple[str, ...] | None
    reads: tuple[str, ...] | None
    rows: Table
    answer: Answer
    classes: tuple[Value, ...]
    scores: NDArray[np.float64] | None
    probability: bool
    random: bool
    speed: float

    @property
    def predictions(self) -> NDArray[Any] | None:
        """What it predicted; ``None`` where it gives scores only."""
        return self.answer.prediction


def some_rows(table: Table) -> Table:
    """Rows from everywhere in a table, and for every column with a missing value one in which it is missing."""
    chosen = set(np.linspace(0, table.rows - 1, min(_ROWS, table.rows)).astype(int).tolist())
    for name in table.names[:_ROWS]:
        column = table.column(name)
        if column.dtype.kind in "fO":
            gaps = (k for k, value in enumerate(column) if plain_value(value) is None)
            chosen.update([gap] if (gap := next(gaps, None)) is not None else [])
    return table.take(np.asarray(sorted(chosen), dtype=np.intp))


def asked_model(
    opened: Callable[[Sequence[str] | None], Model],
    rows: Table,
    columns: Mapping[str, Column],
    outcome: str | None,
    features: tuple[str, ...] | None = None,
) -> Asked:
    """Ask a model about some rows; where it does not say which columns it takes, try what is plausible.

    Parameters
    ----------
    opened
        Opens the model with features, or without.
    rows
        The people to ask about.
    columns
        What the table has.
    outcome
        The column that looks like the outcome, which a model is seldom given.
    features
        The columns that it is to be given, where the user says so.

    Raises
    ------
    ModelError
        What the model says when it is given the whole table, where nothing else works either.
    """
    model = opened(features)
    try:
        return _asked(model, features, rows)
    except ModelError as error:
        if getattr(model, "reads", None) is not None:
            raise
        for plausible in _plausible(columns, outcome):
            try:
                return _asked(opened(plausible), tuple(plausible), rows)
            except ModelError:
                continue
        raise error


def _plausible(columns: Mapping[str, Column], outcome: str | None) -> list[list[str]]:
    """Lists of columns that a model may have been fitted on, the longest first."""
    inputs = [name for name, column in columns.items() if name != outcome and column.kind not in ("nothing", "other")]
    known = [name for name in inputs if not columns[name].identifier]
    numbers = [name for name in known if columns[name].kind in ("whole", "number", "truth")]
    return [features for features in (inputs, known, numbers) if features]


def _asked(model: Model, features: tuple[str, ...] | None, rows: Table) -> Asked:
    began = monotonic()
    answer = _answer(model, rows)
    speed = rows.rows / max(monotonic() - began, 1e-4)
    again = _answer(model, rows.slice(0, 20))
    scores = _one_score(answer)
    probability = scores is not None and model.score_range == (0.0, 1.0)
    return Asked(
        model,
        features,
        features if features is not None else getattr(model, "reads", None),
        rows,
        answer,
        _classes(model, answer.prediction),
        scores,
        probability,
        not _alike(answer, again),
        speed,
    )


def _answer(model: Model, rows: Table) -> Answer:
    """Everything that it answers: predictions, scores, or both."""
    try:
        prediction = ask(model, rows, want_score=False, want_prediction=True).prediction
    except ModelError:
        return ask(model, rows, want_score=True, want_prediction=False)  # one that gives scores only is no failure
    try:
        scored = ask(model, rows, want_score=True, want_prediction=False)
    except ModelError:
        return Answer(prediction)
    return Answer(prediction, scored.score, scored.classes)


def _one_score(answer: Answer) -> NDArray[np.float64] | None:
    if answer.score is None or answer.score.ndim == 1:
        return answer.score
    return answer.score[:, 1] if answer.score.shape[1] == 2 else None


def _classes(model: Model, predictions: NDArray[Any] | None) -> tuple[Value, ...]:
    if model.classes:
        return model.classes
    if predictions is None:
        return ()
    seen = sorted({plain_value(value) for value in predictions}, key=lambda value: (isinstance(value, str), value))
    if predictions.dtype.kind == "f":
        coded = all(value == round(value) and 0 <= value < 10 for value in seen)  # classes as numbers begin at 0 or 1
        return tuple(seen) if coded else ()
    return tuple(seen) if len(seen) <= _CLASSES else ()


def _alike(first: Answer, again: Answer) -> bool:
    pairs = ((first.prediction, again.prediction), (first.score, again.score))
    return all(a is None or b is None or _equal(a[: len(b)], b) for a, b in pairs)


def _equal(first: NDArray[Any], again: NDArray[Any]) -> bool:
    """Whether answers are the same but for rounding, which may depend on the size of the batch."""
    if first.dtype.kind == "f":
        return bool(np.allclose(first, again, rtol=1e-5, atol=1e-8))
    return bool(np.all(first == again))

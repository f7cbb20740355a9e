"""Ask a model, and believe nothing of its answer that was not checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, IsonomiaError, ModelError
from isonomia.models.outputs import array_from
from isonomia.models.protocol import Answer, Model
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["ask"]

# How far rounding may carry a score out of its range; within that it is moved back, beyond it is an error.
_ROUNDING = 1e-6
# How far the probabilities of one row may be from one in all: many services round to three or four digits.
_ROUNDED = 5e-3
_SHOWN = 8


def ask(model: Model, table: Table, want_score: bool, want_prediction: bool) -> Answer:
    """Ask a model about a batch, once, and check what it answers.

    Parameters
    ----------
    model
        The model, as :func:`isonomia.models.adapt` gives it.
    table
        The batch, of at least one row.
    want_score, want_prediction
        What is needed of the answer.

    Returns
    -------
    Answer
        What was wanted and nothing else: finite, with one entry for each row, scores inside the model's range.

    Raises
    ------
    ModelError
        When the model raises, gives nothing for what is wanted, gives the wrong number of answers or the wrong
        shape, or when an answer is missing, not finite, or outside the model's range.
    """
    if table.rows == 0:
        raise DataError(f"the batch for {model.name} has no rows. Ask about at least one.")
    answer = _called(model, table, want_score, want_prediction)
    prediction = _prediction(model, table, answer.prediction) if want_prediction else None
    if not want_score:
        return Answer(prediction)
    score = _score(model, table, answer.score)
    return Answer(prediction, score, _classes(model, score, answer.classes))


def _called(model: Model, table: Table, want_score: bool, want_prediction: bool) -> Answer:
    try:
        return model.answer(table, want_score=want_score, want_prediction=want_prediction)
    except IsonomiaError:
        raise
    except (Exception, SystemExit) as error:
        # A model that leaves the program would otherwise end the audit with whatever exit code it likes.
        raise ModelError(
            f"{model.name} raised {type(error).__name__} when asked about {table.rows:,} rows of the columns "
            f"{', '.join(map(repr, table.names[:_SHOWN]))}{', ...' if len(table.names) > _SHOWN else ''}: {error}"
        ) from error


def _prediction(model: Model, table: Table, raw: NDArray[Any] | None) -> NDArray[Any]:
    if raw is None:
        raise ModelError(
            f"{model.name} should give a prediction for each row, but gives scores only. "
            "Audit its score, or wrap it in a function that turns the scores into predictions."
        )
    prediction = array_from(raw)
    if prediction.ndim != 1:
        raise ModelError(
            f"{model.name} should give one prediction for each of {table.rows:,} rows, "
            f"but gave {_told(raw, prediction)}."
        )
    _check_length(model, table, "predictions", len(prediction))
    _refuse(model, table, "prediction", prediction, _unusable(prediction), "text, a truth value or a finite number")
    return prediction


def _score(model: Model, table: Table, raw: NDArray[Any] | None) -> NDArray[np.float64]:
    if raw is None:
        raise ModelError(
            f"{model.name} gives no score: it has neither predict_proba nor decision_function, nor returns "
            "floating-point numbers. Audit its prediction instead."
        )
    score = array_from(raw)
    if score.dtype.kind not in "biuf" or score.ndim not in (1, 2):
        raise ModelError(
            f"{model.name} should give a score for each row, or for each row and class, but gave {_told(raw, score)}."
        )
    score = score.astype(np.float64)
    _check_length(model, table, "scores", len(score))
    _refuse(model, table, "score", score, ~np.isfinite(score), "a finite number")
    return _inside(model, table, score)


def _inside(model: Model, table: Table, score: NDArray[np.float64]) -> NDArray[np.float64]:
    if model.score_range is None:
        return score
    low, high = model.score_range
    outside = (score < low - _ROUNDING) | (score > high + _ROUNDING)
    _refuse(model, table, "score", score, outside, f"between {low:g} and {high:g}")
    if score.ndim == 2 and (low, high) == (0.0, 1.0):
        _check_sums(model, table, score)
    return np.clip(score, low, high)


def _check_sums(model: Model, table: Table, score: NDArray[np.float64]) -> None:
    """A column for each class, from 0 to 1, claims to be the probabilities of classes that exclude each other."""
    # By a product, since summing along a short axis takes many times as long.
    wrong = np.abs(score @ np.ones(score.shape[1]) - 1.0) > _ROUNDED
    if wrong.any():
        total = score[int(np.argmax(wrong))].sum()
        _refuse(
            model,
            table,
            "score",
            score,
            wrong,
            f"probabilities with a sum of 1, not of {total:.6g} (where a person can be of several classes at once, "
            "wrap the model in a function that returns the score of one of them)",
        )


def _classes(model: Model, score: NDArray[np.float64], classes: tuple[Value, ...]) -> tuple[Value, ...]:
    if score.ndim == 1:
        return ()
    width = score.shape[1]
    if not classes and width == 2:
        return (0, 1)
    if len(classes) != width:
        raise ModelError(
            f"{model.name} gave scores in {width} columns, but names {len(classes)} classes: {classes!r}. "
            "There should be one class for each column, as classes_ of an estimator names them."
        )
    return classes


def _check_length(model: Model, table: Table, what: str, came: int) -> None:
    if came != table.rows:
        raise ModelError(
            f"{model.name} should give {table.rows:,} {what}, one for each row, but gave {came:,}. "
            "A model must answer for every row of its batch, in order."
        )


def _unusable(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.asarray(~np.isfinite(column))
    if column.dtype.kind in "biu" or set(map(type, column.tolist())) <= {str, bool, int}:
        return np.zeros(len(column), dtype=bool)
    return np.array([not _is_usable(value) for value in column], dtype=bool)


def _is_usable(value: object) -> bool:
    return isinstance(value, str | bool | int) or (isinstance(value, float) and bool(np.isfinite(value)))


def _refuse(model: Model, table: Table, what: str, values: NDArray[Any], refused: NDArray[Any], expected: str) -> None:
    if not refused.any():
        return
    rows = refused if refused.ndim == 1 else refused.any(axis=1)
    first = int(np.argmax(rows))
    raise ModelError(
        f"{model.name} should give {what}s that are {expected}, but row {first} of the batch got "
        f"{values[first].tolist() if isinstance(values[first], np.ndarray | np.generic) else values[first]!r} "
        f"({int(rows.sum()):,} of {table.rows:,} rows are like that). "
        f"The row: {table.shown(first)}."
    )


def _told(raw: object, array: NDArray[Any]) -> str:
    if array.ndim == 0:
        return f"a single {type(raw).__name__ if not isinstance(raw, np.ndarray) else array.item()!r}"
    return f"an array of shape {array.shape} and type {array.dtype}"

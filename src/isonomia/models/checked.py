"""Checks of a model's answers, of whether they stay the same, and of the options that models take.

:func:`ask` is the only way to ask a model. :func:`first_change` compares two answers about the same rows. The functions
``checked_...`` read the options that several kinds of model have in common; their errors name the option.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from time import sleep
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, IsonomiaError, ModelError, UnreliableModelError, UsageError, nearest
from isonomia.models.meter import send
from isonomia.models.protocol import Answer, Model
from isonomia.populations.table import TENSORS, Table, column_from, is_tensor_like, offers, plain_value
from isonomia.spec.columns import as_floats, first, host, is_tensor, missing_in, namespace, some
from isonomia.spec.tree import Value
from isonomia.wording import plural, words_of

T = TypeVar("T")

# How far rounding may carry a score out of its range: up to that it is clipped, beyond that it is an error.
_ROUNDING = 1e-6
# How far the sum of a row's probabilities may be from one: many services round to three or four digits.
_ROUNDED_SUM = 5e-3
_MAX_NAMES = 8


def ask(model: Model, table: Table, want_score: bool, want_prediction: bool) -> Answer:
    """Query a model about a batch, once, and check its answer.

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
        What was requested and nothing else: finite, with one entry for each row, scores inside the model's range.

    Raises
    ------
    ModelError
        When the model raises, gives nothing for what is requested, gives the wrong number of answers or the wrong
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
        with _one_thread(table.rows):
            return send(model, table, want_score=want_score, want_prediction=want_prediction)
    except IsonomiaError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        # A model that calls sys.exit would otherwise end the audit with an exit code of its own.
        raise ModelError(
            f"{model.name} raised {type(error).__name__} when queried about {plural(table.rows, 'row')} of the columns "
            f"{', '.join(map(repr, table.names[:_MAX_NAMES]))}"
            f"{', ...' if len(table.names) > _MAX_NAMES else ''}: {words_of(error)}"
        ) from error


WAITS = (0.5, 1.0, 2.0)
"""Seconds before each further call of a model in Python that lost a connection; they cannot change an answer."""


def kept_trying(call: Callable[[], T], who: str) -> T:
    """Call a model in Python, and again if a connection broke or timed out inside it, as for a service.

    It is recognized by a ``ConnectionError`` or ``TimeoutError`` that was raised, or that led to what was raised.

    Raises
    ------
    UnreliableModelError
        When it still happens at the last call: it says nothing about the rows.
    """
    for wait in (*WAITS, None):
        try:
            return call()
        except Exception as error:
            if not _lost_connection(error):
                raise
            if wait is None:
                raise UnreliableModelError(
                    f"{who} lost its connection in {len(WAITS) + 1} attempts; the last time, it raised "
                    f"{type(error).__name__}: {words_of(error)}"
                ) from error
        sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def _lost_connection(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, is a connection that broke."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        if isinstance(error, IsonomiaError):
            return False  # our own clients have tried again themselves
        if isinstance(error, ConnectionError | TimeoutError):
            return True
        visited.add(id(error))
        error = error.__cause__ or error.__context__
    return False


SMALL = 10_000
"""Batches of up to this many rows are computed with one OpenMP thread."""


def _one_thread(rows: int) -> AbstractContextManager[Any]:
    """Let OpenMP use one thread for a small batch: a check makes many calls, and threads wait for each other in each.

    On a busy machine that took most of a check's time. Only the calling thread is limited, and each person's answer is
    computed separately, so nothing else changes. Without threadpoolctl, which scikit-learn imports, nothing is limited.
    """
    threadpoolctl = sys.modules.get("threadpoolctl")
    if threadpoolctl is None or rows > SMALL:
        return nullcontext()
    limit: AbstractContextManager[Any] = _loaded_libraries(len(sys.modules)).limit(limits=1, user_api="openmp")
    return limit


@lru_cache(maxsize=1)
def _loaded_libraries(_modules: int) -> Any:
    """The libraries with thread pools; searched again, which takes milliseconds, when more modules are imported."""
    return sys.modules["threadpoolctl"].ThreadpoolController()


def _prediction(model: Model, table: Table, raw: NDArray[Any] | None) -> NDArray[Any]:
    if raw is None:
        raise ModelError(
            f"{model.name} gives no prediction, only scores: audit its score, or wrap it in a function that predicts."
        )
    prediction = array_from(raw, on_device=table.kind == TENSORS)
    if prediction.ndim != 1:
        raise ModelError(
            f"{model.name} should give one prediction for each of {table.rows:,} rows, "
            f"but gave {_array_text(raw, prediction)}."
        )
    check_length(model, table, "predictions", len(prediction))
    if is_tensor(prediction) or prediction.dtype.kind not in "biu":  # these types cannot hold missing values
        _refuse(model, table, "prediction", prediction, _unusable(prediction), "text, a truth value or a finite number")
    return prediction


def _score(model: Model, table: Table, raw: NDArray[Any] | None) -> NDArray[np.float64]:
    if raw is None:
        raise ModelError(
            f"{model.name} gives no score: it has neither predict_proba nor decision_function, nor returns "
            "floating-point numbers. Audit its prediction instead.",
            name="score",
        )
    score = array_from(raw, on_device=table.kind == TENSORS)
    if (not is_tensor(score) and score.dtype.kind not in "biuf") or score.ndim not in (1, 2):
        raise ModelError(
            f"{model.name} should give a score for each row, or for each row and class, "
            f"but gave {_array_text(raw, score)}."
        )
    score = as_floats(score) if is_tensor(score) else score.astype(np.float64)
    check_length(model, table, "scores", len(score))
    _refuse(model, table, "score", score, _not_finite(score), "a finite number")
    return _inside(model, table, score)


def _inside(model: Model, table: Table, score: NDArray[np.float64]) -> NDArray[np.float64]:
    if model.score_range is None:
        return score
    low, high = model.score_range
    outside = (score < low - _ROUNDING) | (score > high + _ROUNDING)
    _refuse(model, table, "score", score, outside, f"between {low:g} and {high:g}")
    if score.ndim == 2 and (low, high) == (0.0, 1.0):
        _check_sums(model, table, score)
    return namespace(score).clip(score, low, high) if is_tensor(score) else np.clip(score, low, high)


def _check_sums(model: Model, table: Table, score: NDArray[np.float64]) -> None:
    """Scores by class in the range 0 to 1 claim to be probabilities of exclusive classes: they must sum to 1."""
    # As a product, since summing along a short axis takes many times as long.
    ones = namespace(score).ones_like(score[0]) if is_tensor(score) else np.ones(score.shape[1])
    wrong = abs(score @ ones - 1.0) > _ROUNDED_SUM
    if some(wrong):
        total = float(score[first(wrong)].sum())
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
        raise ModelError(f"{model.name} gave scores in {width} columns, but names {len(classes)} classes: {classes!r}.")
    return classes


def check_length(model: Model, table: Table, what: str, length: int) -> None:
    """Refuse more or fewer predictions or scores than rows."""
    if length != table.rows:
        raise ModelError(f"{model.name} should give {table.rows:,} {what}, one for each row, but gave {length:,}.")


def _not_finite(values: Any) -> Any:
    """Which numbers are missing or infinite, wherever they are."""
    if not is_tensor(values):
        return ~np.isfinite(values)
    xp = namespace(values)
    return ~xp.isfinite(values) if xp.isdtype(values.dtype, "real floating") else missing_in(values)


def _unusable(column: NDArray[Any]) -> NDArray[np.bool_]:
    if is_tensor(column):
        unusable: NDArray[np.bool_] = _not_finite(column)
        return unusable
    if column.dtype.kind == "f":
        return np.asarray(~np.isfinite(column))
    if column.dtype.kind in "biu" or set(map(type, column.tolist())) <= {str, bool, int}:
        return np.zeros(len(column), dtype=bool)
    return np.array([not _is_usable(value) for value in column], dtype=bool)


def _is_usable(value: object) -> bool:
    if isinstance(value, tuple):  # the numbers of one action, or the answers of several models
        return all(map(_is_usable, value))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and bool(np.isfinite(value)))


def _refuse(model: Model, table: Table, what: str, values: NDArray[Any], refused: NDArray[Any], expected: str) -> None:
    if not some(refused):
        return
    refused, values = host(refused), host(values)
    rows = refused if refused.ndim == 1 else refused.any(axis=1)
    index = int(np.argmax(rows))
    raise ModelError(
        f"{model.name} should give {what}s that are {expected}, but row {index} of the batch got "
        f"{values[index].tolist() if isinstance(values[index], np.ndarray | np.generic) else values[index]!r} "
        f"({int(rows.sum()):,} of {table.rows:,} rows are like that). "
        f"The row: {table.shown(index)}."
    )


def _array_text(raw: object, array: NDArray[Any]) -> str:
    if array.ndim == 0:
        return f"a single {type(raw).__name__ if not isinstance(raw, np.ndarray) else array.item()!r}"
    return f"an array of shape {array.shape} and type {array.dtype}"


def array_from(raw: Any, *, on_device: bool = False) -> NDArray[Any]:
    """Make an array of what a model returned, keeping its shape; a single column is flattened.

    One-dimensional values follow the conventions of a table's column: text as objects, ``None`` where missing. A tensor
    stays a tensor only if ``on_device``.
    """
    if is_tensor_like(raw):
        tensor = raw.detach() if offers(raw, "detach") else raw
        if on_device:
            column: NDArray[Any] = tensor[:, 0] if tensor.ndim == 2 and tensor.shape[1] == 1 else tensor
            return column
        raw = host(tensor)
    if isinstance(raw, str | bytes | dict) or not offers(raw, "__len__"):
        return np.asarray(raw, dtype=object) if not isinstance(raw, np.ndarray) else raw
    nested = isinstance(raw, list | tuple) and len(raw) > 0 and np.ndim(raw[0]) > 0
    shape = np.shape(raw) if offers(raw, "shape") else None
    if nested or (shape is not None and len(shape) != 1):
        array = np.asarray(raw)
        return column_from(array[:, 0], "prediction") if array.ndim == 2 and array.shape[1] == 1 else array
    return column_from(raw, "prediction")


def score_from(array: NDArray[Any]) -> NDArray[np.float64] | None:
    """A model's output as a score; ``None`` unless it consists of floating-point numbers."""
    if is_tensor(array):
        return as_floats(array) if namespace(array).isdtype(array.dtype, "real floating") else None
    return array.astype(np.float64) if array.dtype.kind == "f" else None


# In a batch of another size, single-precision sums may be in another order: that is rounding, not another answer.
_RELATIVE, _ABSOLUTE = 1e-4, 1e-6


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """A row whose answer changed, and both answers in words."""

    row: int
    before: str
    after: str


def first_change(first: Answer, again: Answer) -> AnswerChange | None:
    """The first row whose answer changed by more than rounding; ``None`` if none did.

    A label has changed if it differs at all; a number, if it differs by more than 1e-4 of itself plus 1e-6.
    """
    pairs = ("prediction", first.prediction, again.prediction), ("score", first.score, again.score)
    for what, before, after in pairs:
        if before is None or after is None:
            continue
        old, new = (host(array_from(value, on_device=True)) for value in (before, after))
        differs = _differs(old, new)
        if differs.any():
            row = int(np.argmax(differs))
            return AnswerChange(row, f"the {what} {_value_text(old, row)}", _value_text(new, row))
    return None


def _differs(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    if before.shape != after.shape:
        return np.ones(max(len(before), 1), dtype=bool)
    if before.dtype.kind == "f" or after.dtype.kind == "f":
        try:
            differs = ~np.isclose(
                after.astype(np.float64), before.astype(np.float64), rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True
            )
        except (TypeError, ValueError):  # numbers before, words after
            differs = np.asarray(before != after)
    else:
        differs = np.asarray(before != after)
    return np.asarray(differs if differs.ndim == 1 else differs.reshape(len(before), -1).any(axis=1))


def _value_text(array: NDArray[Any], row: int) -> str:
    if row >= len(array):
        return "nothing"
    value = array[row]
    return str(value.tolist()) if isinstance(value, np.ndarray) else repr(plain_value(value))


_OUTPUTS = ("logits", "probabilities", "values", "labels")


def option_error(option: str, expected: str, value: object, hint: str = "") -> UsageError:
    """Say what an option should be and what it is."""
    return UsageError(f"{option} should be {expected}, but is {value!r}.{hint}", name=option)


def checked_features(features: Sequence[str] | None) -> tuple[str, ...] | None:
    """Read the names of the columns that a model is given: a list, or the ``columns`` of a data frame."""
    if features is None:
        return None
    names = tuple(features) if isinstance(features, Iterable) and not isinstance(features, str | Mapping) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise option_error("features", "a list of at least one column's name", features)
    return tuple(map(str, names))


def checked_classes(classes: Sequence[Any] | None) -> tuple[Value, ...]:
    """Read the classes of a model, in the order of its scores; empty if not given."""
    if classes is None:
        return ()
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise option_error("classes", "a list, such as ['no', 'yes']", classes)
    labels = tuple(plain_value(label) for label in classes)
    wrong = [label for label in labels if not isinstance(label, str | bool | int | float)]
    if wrong or len(set(labels)) != len(labels) or len(labels) == 1:
        raise option_error("classes", "two or more different texts, numbers or truth values", list(classes))
    return labels


def checked_output(output: str | None) -> str | None:
    """Read what a model's numbers stand for."""
    if output is not None:
        check_choice("output", output, _OUTPUTS)
    return output


def checked_score_range(value: Sequence[float] | None) -> tuple[float, float] | None:
    """Read the least and the greatest score that a model can give; ``None`` if not given."""
    if value is None:
        return None
    pair = isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(end, int | float) for end in value)
    if not pair or not value[0] < value[1]:
        raise option_error("score_range", "the least and the greatest score, such as (0, 1)", value)
    return float(value[0]), float(value[1])


def check_number(option: str, value: Any, least: float, *, whole: bool = False, above: bool = False) -> None:
    """Refuse what is not a finite number of at least ``least``, or ``above`` it."""
    fine = isinstance(value, int if whole else int | float) and not isinstance(value, bool) and isfinite(value)
    if not fine or value < least or (above and value == least):
        kind = "a whole number" if whole else "a number"
        raise option_error(option, f"{kind} {'above' if above else 'of at least'} {least}", value)


def check_choice(option: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise option_error(option, f"one of {', '.join(choices)}", value, nearest(str(value), choices))

"""What an answer from outside says: predictions and scores out of JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError
from isonomia.models.outputs import score_from
from isonomia.models.protocol import Answer
from isonomia.models.services_path import brief
from isonomia.populations.columns import column_from
from isonomia.spec.tree import Value

__all__ = ["Said", "answer_of", "check_classes", "labels", "scores"]


@dataclass(frozen=True, slots=True)
class Said:
    """What was said about some rows, as plain values; ``None`` for what was not looked for."""

    predictions: list[Any] | None = None
    scores: list[Any] | None = None


def check_classes(classes: Sequence[Value]) -> tuple[Value, ...]:
    """Make sure that classes are a list of distinct labels.

    Raises
    ------
    UsageError
        Where they are not.
    """
    plain = isinstance(classes, list | tuple) and all(isinstance(label, str | bool | int | float) for label in classes)
    if not plain or len(set(classes)) != len(classes):
        raise UsageError(f"classes should be a list of distinct labels, such as ['no', 'yes'], but is {classes!r}.")
    return tuple(classes)


def labels(found: Any, rows: int, classes: Sequence[Value], where: str) -> list[Any]:
    """One prediction a row, each one of the classes where these are declared.

    Raises
    ------
    ModelError
        Where there are more or fewer, or something else.
    """
    values = _one_a_row(found, rows, "predictions", where)
    known = {label: label for label in classes}
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str | bool | int | float):
            raise ModelError(f"expected a label or a number at {where}, but row {row} got {brief(value)}")
        if known and value is not None and value not in known:
            raise ModelError(
                f"expected one of the classes {list(classes)!r} at {where}, but row {row} got {value!r}. "
                "Declare the labels as the model gives them."
            )
    return [known.get(value, value) for value in values] if known else values


def scores(found: Any, rows: int, classes: Sequence[Value], where: str) -> list[Any]:
    """One score a row, or one for each class, in their order.

    Raises
    ------
    ModelError
        Where there are more or fewer, or something that is no number.
    """
    values = _one_a_row(found, rows, "scores", where)
    read = [_score(value, row, classes, where) for row, value in enumerate(values)]
    widths = {len(value) if isinstance(value, list) else 0 for value in read}
    if len(widths) > 1:
        raise ModelError(f"expected as many scores for every row at {where}, but there are {sorted(widths)} of them")
    return read


def answer_of(said: Said, classes: tuple[Value, ...], *, want_score: bool, want_prediction: bool) -> Answer:
    """Make arrays of what was said; predictions that are floating-point numbers are scores too."""
    prediction = None if said.predictions is None else column_from(said.predictions, "prediction")
    score: NDArray[np.float64] | None = None
    if want_score and said.scores is not None:
        score = np.array(said.scores, dtype=np.float64)
    elif want_score and prediction is not None:
        score = score_from(prediction)
    by_class = score is not None and score.ndim == 2
    return Answer(prediction if want_prediction else None, score, classes if by_class else ())


def _one_a_row(found: Any, rows: int, what: str, where: str) -> list[Any]:
    if not isinstance(found, list):
        raise ModelError(f"expected a list of {rows:,} {what} at {where}, but {brief(found)} came")
    if len(found) != rows:
        raise ModelError(f"expected {rows:,} {what} at {where}, one for each row, but {len(found):,} came")
    return found


def _score(value: Any, row: int, classes: Sequence[Value], where: str) -> Any:
    if isinstance(value, dict):
        by_name = {str(key): number for key, number in value.items()}
        if not classes or set(by_name) != {str(label) for label in classes}:
            raise ModelError(
                f"expected a score for each of the classes {list(classes)!r} at {where}, but row {row} got "
                f"{brief(value)}. Declare all classes: classes=[...]."
            )
        value = [by_name[str(label)] for label in classes]
    if isinstance(value, list):
        if classes and len(value) != len(classes):
            raise ModelError(
                f"expected {len(classes)} scores a row at {where}, for the classes {list(classes)!r}, but row {row} "
                f"got {brief(value)}"
            )
        return [_number(item, row, where) for item in value]
    return _number(value, row, where)


def _number(value: Any, row: int, where: str) -> float:
    if value is None:
        return float("nan")  # refused where the answer is checked, with the row
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelError(f"expected a number at {where}, but row {row} got {brief(value)}")
    return float(value)

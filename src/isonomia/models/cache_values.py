"""Answers as bytes, and back, bit by bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.models.protocol import Answer
from isonomia.populations.columns import column_from
from isonomia.spec.tree import Value

__all__ = ["Stored", "prediction_of", "score_of", "stored_predictions", "stored_scores"]

Stored: TypeAlias = tuple[str, bytes]
"""What kind of value it is, and its bytes."""

_PLAIN = "plain"


def stored_predictions(predictions: NDArray[Any]) -> list[Stored]:
    """Each prediction by itself: numbers in their own type, everything else as JSON."""
    if predictions.dtype.kind in "biuf":
        kind, data, width = predictions.dtype.str, predictions.tobytes(), predictions.dtype.itemsize
        return [(kind, data[i : i + width]) for i in range(0, len(data), width)]
    return [(_PLAIN, json.dumps(value).encode()) for value in predictions.tolist()]


def prediction_of(found: Sequence[Stored]) -> NDArray[Any]:
    """The array that these predictions were; a common one where they were stored with different types."""
    kinds = {kind for kind, _ in found}
    if len(kinds) == 1 and _PLAIN not in kinds:
        return np.frombuffer(bytearray().join(data for _, data in found), dtype=np.dtype(kinds.pop()))
    values = [json.loads(data) if kind == _PLAIN else np.frombuffer(data, kind)[0].item() for kind, data in found]
    if kinds == {_PLAIN}:
        return np.fromiter(values, dtype=object, count=len(values))
    return column_from(values, "prediction")


def stored_scores(answer: Answer) -> list[Stored]:
    """Each row of scores by itself, with the classes that its numbers belong to."""
    assert answer.score is not None
    score = np.ascontiguousarray(answer.score, dtype="<f8")
    kind, data, width = json.dumps(answer.classes), score.tobytes(), score.nbytes // len(score)
    return [(kind, data[i : i + width]) for i in range(0, len(data), width)]


def score_of(found: Sequence[Stored]) -> tuple[NDArray[np.float64], tuple[Value, ...]] | None:
    """The scores and their classes; ``None`` where some were stored with other classes than the rest."""
    if len({(kind, len(data)) for kind, data in found}) != 1:
        return None
    classes = tuple(json.loads(found[0][0]))
    score = np.frombuffer(b"".join(data for _, data in found), dtype="<f8").astype(np.float64)
    return (score.reshape(len(found), len(classes)) if classes else score), classes

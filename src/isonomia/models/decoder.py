"""Predictions and scores from the plain numbers of a network or of an ensemble of trees.

Their meaning is never guessed from the values in a batch, since the next batch might look different. Unless told:

- whole numbers, truth values and text are labels;
- one number per row is a value: prediction and score at once;
- several numbers per row are scores, one for each class, unchanged; the prediction is the class with the greatest.

*Logits* are turned into probabilities, several per row by softmax and a single one by the logistic function. A single
*probability* is the second class's. The prediction is then the likeliest class, the first in a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError
from isonomia.models.checked import array_from
from isonomia.models.meter import send
from isonomia.models.protocol import Answer, AroundModel, Model
from isonomia.populations.table import Table, plain_value
from isonomia.spec.columns import host, namespace
from isonomia.spec.tree import Value


@dataclass(frozen=True, slots=True)
class OutputDecoder:
    """What the numbers of a model stand for, and so how to make an answer from them.

    Attributes
    ----------
    output
        ``"logits"``, ``"probabilities"``, ``"values"``, ``"labels"``, or ``None`` if not given.
    classes
        The classes in the order of the numbers; empty for 0, 1, 2, ...
    """

    output: str | None = None
    classes: tuple[Value, ...] = ()

    @property
    def score_range(self) -> tuple[float, float] | None:
        """From 0 to 1 for probabilities; ``None`` otherwise."""
        return (0.0, 1.0) if self.output in {"logits", "probabilities"} else None

    @property
    def identity(self) -> str:
        """What a fingerprint says of it; this text must never change."""
        return f"Reading(output={self.output!r}, classes={self.classes!r})"

    def answer(self, raw: NDArray[Any], name: str, *, want_score: bool, want_prediction: bool) -> Answer:
        """Make an answer from the numbers for a batch, one for each row, or one for each row and class.

        Raises
        ------
        ModelError
            When the shape does not fit what the numbers are said to be, or the classes.
        """
        numbers = raw[:, 0] if raw.ndim == 2 and raw.shape[1] == 1 else raw
        if numbers.ndim not in (1, 2):
            raise ModelError(
                f"{name} should give one number a row, or one a row and class, but gave an array of shape "
                f"{raw.shape}. Wrap it in a function that returns the part to audit."
            )
        output = self.output or _default_output(numbers)
        if output in {"labels", "values"}:
            return self._one_a_row(numbers, name, output, want_score, want_prediction)
        score = _scores(numbers, output)
        classes = self._classes(score.shape[1], name)
        prediction = _classes_at(classes, np.argmax(score, axis=1)) if want_prediction else None
        return Answer(prediction, score if want_score else None, classes if want_score else ())

    def answer_there(self, raw: Any, name: str, *, want_score: bool, want_prediction: bool) -> Answer:
        """The same for a tensor. Its answer stays on the device, except for labels, named classes and single logits."""
        numbers = raw[:, 0] if raw.ndim == 2 and raw.shape[1] == 1 else raw
        xp = namespace(numbers)
        floating = xp.isdtype(numbers.dtype, "real floating")
        several = numbers.ndim == 2 and self.output != "labels"
        if self.classes or numbers.ndim > 2 or not floating or not (several or self.output in {None, "values"}):
            return self.answer(host(raw), name, want_score=want_score, want_prediction=want_prediction)
        score = xp.astype(numbers, xp.float64, copy=False)
        if not several:
            return Answer(score if want_prediction else None, score if want_score else None)
        if self.output == "values":
            return self.answer(host(raw), name, want_score=want_score, want_prediction=want_prediction)
        if self.output == "logits":
            weights = xp.exp(score - xp.max(score, axis=1, keepdims=True))
            score = weights / xp.sum(weights, axis=1, keepdims=True)
        prediction = xp.argmax(score, axis=1) if want_prediction else None
        return Answer(prediction, score if want_score else None, tuple(range(score.shape[1])) if want_score else ())

    def _one_a_row(
        self, numbers: NDArray[Any], name: str, output: str, want_score: bool, want_prediction: bool
    ) -> Answer:
        if numbers.ndim == 2:
            raise ModelError(
                f"{name} gave {numbers.shape[1]} numbers per row, but its output is declared as {output}, one "
                "per row. Say output='probabilities' or output='logits', or wrap the model in a function."
            )
        if output == "values":
            values = numbers.astype(np.float64)
            return Answer(values if want_prediction else None, values if want_score else None)
        return Answer(self._labels(numbers, name) if want_prediction else None)

    def _labels(self, numbers: NDArray[Any], name: str) -> NDArray[Any]:
        labels = numbers
        if labels.dtype.kind == "f":
            if not np.array_equal(labels, np.round(labels)):
                raise ModelError(f"{name} should give labels, but gave {labels[labels != np.round(labels)][0]!r}.")
            labels = labels.astype(np.int64)
        if not self.classes or labels.dtype.kind not in "biu":
            return array_from(labels)
        if labels.min() < 0 or labels.max() >= len(self.classes):
            raise ModelError(
                f"{name} gave label {labels.max() if labels.max() >= len(self.classes) else labels.min()}, but there "
                f"are {len(self.classes)} classes, counted from 0: {list(self.classes)!r}."
            )
        return _classes_at(self.classes, labels.astype(np.intp))

    def _classes(self, width: int, name: str) -> tuple[Value, ...]:
        if self.classes and len(self.classes) != width:
            raise ModelError(
                f"{name} gave scores of {width} classes, but classes names {len(self.classes)}: "
                f"{list(self.classes)!r}. Name one for each, in the model's order."
            )
        return self.classes or tuple(range(width))


class DecoderAdapter:
    """What adapters whose numbers are read by a decoder have in common."""

    __slots__ = ()

    decoder: OutputDecoder

    @property
    def score_range(self) -> tuple[float, float] | None:
        """From 0 to 1 for probabilities and logits; ``None`` otherwise."""
        return self.decoder.score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes; empty where they are unknown, or numbers are predicted."""
        return self.decoder.classes

    def describe(self) -> str:
        """Say in one line what it is."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def _classes_at(classes: tuple[Value, ...], indices: NDArray[np.intp]) -> NDArray[Any]:
    """The class at each index, as a column."""
    kinds = {type(label) for label in classes}
    column = np.array(classes) if kinds in ({int}, {bool}, {float}) else np.fromiter(classes, object, len(classes))
    return np.asarray(column[indices])


def classes_from(labels: Any) -> tuple[Value, ...]:
    """The ``classes_`` of an estimator as plain values."""
    return tuple(plain_value(label) for label in labels)


def _default_output(numbers: NDArray[Any]) -> str:
    if numbers.dtype.kind != "f":
        return "labels"
    return "values" if numbers.ndim == 1 else "scores"


def _scores(numbers: NDArray[Any], output: str) -> NDArray[np.float64]:
    score = numbers.astype(np.float64)
    if output == "logits":
        score = _logistic(score) if score.ndim == 1 else _softmax(score)
    return np.column_stack([1.0 - score, score]) if score.ndim == 1 else score


def _logistic(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    # Only exponentials of numbers up to 0, which cannot overflow.
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1.0, small) / (1.0 + small)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class VectorAnswers(AroundModel):
    """A model that answers with several numbers for each row, such as a policy with continuous actions.

    An array with a column for each number is its prediction, one tuple per row; other models' would be scores by class.
    """

    model: Model

    score_range = None  # actions are not scores

    classes = ()

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """The model's answer as a prediction, whether the model calls it score or prediction."""
        del want_score, want_prediction
        array = vectors_from(self.model, table)
        if array.ndim != 2:
            return Answer(prediction=array)
        column = np.empty(len(array), dtype=object)
        column[:] = [tuple(row) for row in array.tolist()]
        return Answer(prediction=column)


def vectors_from(model: Model, table: Table) -> NDArray[Any]:
    """A model's numbers for each row, whether it calls them score or prediction."""
    raw = send(model, table, want_score=True, want_prediction=False).score
    if raw is None:
        raw = send(model, table, want_score=False, want_prediction=True).prediction
    return array_from(raw)

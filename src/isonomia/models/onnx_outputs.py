"""Which output of an ONNX model is its label, which its scores, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.onnx_inputs import NUMPY_TYPES
from isonomia.models.outputs import array_from
from isonomia.models.protocol import Answer
from isonomia.models.readings import Reading
from isonomia.spec.tree import Value

__all__ = ["Outputs", "outputs_of"]


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs that are read.

    Attributes
    ----------
    label
        The output with the predicted labels; ``None`` where there is none.
    score
        The output with the scores, or with whatever numbers the model gives; ``None`` likewise.
    reading
        How its numbers are read, with the classes.
    """

    label: str | None
    score: str | None
    reading: Reading

    def wanted(self, want_score: bool, want_prediction: bool) -> list[str]:
        """The outputs that have to be computed."""
        if self.label is None or self.score is None:
            return [name for name in (self.label, self.score) if name is not None]
        needed = {self.score: want_score, self.label: want_prediction}
        return [name for name, needs in needed.items() if needs]

    def read(self, came: dict[str, Any], name: str, *, want_score: bool, want_prediction: bool) -> Answer:
        """Make an answer of what the runtime returned."""
        if self.label is None or self.score is None:
            alone = next(iter(came.values()))
            return self.reading.read(np.asarray(alone), name, want_score=want_score, want_prediction=want_prediction)
        label = array_from(np.asarray(came[self.label])) if want_prediction else None
        if not want_score:
            return Answer(label)
        score, classes = self._scores(came[self.score], name)
        if label is not None and classes:
            _check_labels(name, label, classes)
        return Answer(label, score, classes)

    def _scores(self, raw: Any, name: str) -> tuple[NDArray[np.float64], tuple[Value, ...]]:
        if isinstance(raw, list):  # a ZipMap: a mapping from class to probability for each row
            classes = tuple(raw[0])
            return np.array([[row[label] for label in classes] for row in raw], dtype=np.float64), classes
        numbers = np.asarray(raw, dtype=np.float64)
        if numbers.ndim == 1 or numbers.shape[1] == 1:
            return numbers.reshape(-1), ()
        classes = self.reading.classes
        if len(classes) != numbers.shape[1]:
            raise ModelError(
                f"{name} gives {numbers.shape[1]} scores a row, but does not say to which classes they belong"
                f"{f' (named are {list(classes)!r})' if classes else ''}. Name them in order: classes=[...]."
            )
        if self.reading.output != "logits":
            return numbers, classes
        answer = self.reading.read(numbers, name, want_score=True, want_prediction=False)
        return numbers if answer.score is None else answer.score, classes


def outputs_of(
    nodes: Sequence[Any],
    file: str,
    found: Sequence[tuple[Value, ...]],
    *,
    prediction: str | None,
    score: str | None,
    output: str | None,
    classes: tuple[Value, ...],
) -> Outputs:
    """Find out what each output of a model is.

    Parameters
    ----------
    nodes
        What the runtime says of the outputs.
    file
        The model's name, for messages.
    found
        The lists of class labels in the file.
    prediction, score
        The names of the outputs, where the user said so.
    output, classes
        What the numbers stand for, and the classes, likewise.

    Raises
    ------
    UsageError
        When a named output does not exist, or when there is no telling which is which.
    """
    by_name = {node.name: node for node in nodes}
    for wanted in (prediction, score):
        if wanted is not None and wanted not in by_name:
            raise UsageError(
                f"{file} has no output {wanted!r}; its outputs are {_told(nodes)}.{nearest(wanted, by_name)}"
            )
    if prediction is None and score is None:
        prediction, score = _guessed(nodes, file)
    named = classes or _only(found)
    if output is None and prediction is not None and score is not None:
        output = "probabilities" if "prob" in score.lower() else None
    return Outputs(prediction, score, Reading(output, named))


def _guessed(nodes: Sequence[Any], file: str) -> tuple[str | None, str | None]:
    labels = [node.name for node in nodes if _is_label(node)]
    scores = [node.name for node in nodes if not _is_label(node)]
    if len(labels) > 1 or len(scores) > 1:
        raise UsageError(
            f"{file} has several outputs that could be meant: {_told(nodes)}. "
            "Name those to audit: prediction='...' for labels, score='...' for numbers, or one of them."
        )
    return (labels[0] if labels else None), (scores[0] if scores else None)


def _is_label(node: Any) -> bool:
    return NUMPY_TYPES.get(node.type, "float")[:5] != "float" and not node.type.startswith("seq")


def _only(found: Sequence[tuple[Value, ...]]) -> tuple[Value, ...]:
    return found[0] if len(found) == 1 else ()


def _check_labels(name: str, label: NDArray[Any], classes: tuple[Value, ...]) -> None:
    unknown = set(label.tolist()) - set(classes)
    if unknown:
        raise ModelError(
            f"{name} predicted {unknown.pop()!r}, which is none of its classes {list(classes)!r}. "
            "Name the right ones in order: classes=[...]."
        )


def _told(nodes: Sequence[Any]) -> str:
    return ", ".join(f"{node.name} ({node.type} {list(node.shape)})" for node in nodes)

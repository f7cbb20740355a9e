"""Which column goes where, what comes out.

Which columns of a table go into which input of an ONNX model.

Which output of an ONNX model is its label, which its scores, and what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.checked import array_from
from isonomia.models.inputs import columns_for, converted, matrix
from isonomia.models.protocol import Answer
from isonomia.models.readings import Reading
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = [
    "NUMPY_TYPES",
    "Input",
    "Outputs",
    "arrange",
    "check_known",
    "fed",
    "fixed_rows",
    "input_of",
    "outputs_of",
    "read_columns",
    "whole_batch",
]


NUMPY_TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    **{f"tensor({sign}int{width})": f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)},
    "tensor(bool)": "bool",
    "tensor(string)": "object",
}
"""The element types of ONNX tensors that a table can fill, as NumPy calls them."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input of an ONNX model.

    Attributes
    ----------
    name
        Its name in the file.
    dtype
        Its element type, as NumPy calls it.
    shape
        Its dimensions, the rows first; ``None`` where any number will do.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    @property
    def width(self) -> int | None:
        """How many columns it takes; ``None`` for any number."""
        return 1 if len(self.shape) == 1 else self.shape[1] if len(self.shape) == 2 else None

    @property
    def takes_one_column(self) -> bool:
        """Whether it takes a single column."""
        return self.width == 1


def input_of(node: Any, file: str) -> Input:
    """Read what the runtime says of an input.

    Raises
    ------
    UsageError
        When its type is one that no column has.
    """
    if node.type not in NUMPY_TYPES:
        raise UsageError(
            f"{file} takes {node.type} in its input {node.name!r}, which no table has. "
            f"Understood are: {', '.join(NUMPY_TYPES)}."
        )
    shape = tuple(size if isinstance(size, int) and size > 0 else None for size in node.shape)
    return Input(node.name, NUMPY_TYPES[node.type], shape)


def fixed_rows(inputs: Sequence[Input]) -> int | None:
    """How many rows a model takes at once, where the file fixes that."""
    sizes = {entry.shape[0] for entry in inputs if entry.shape} - {None}
    return sizes.pop() if sizes else None


def arrange(
    name: str,
    inputs: Sequence[Input],
    table: Table,
    features: tuple[str, ...] | None,
    said: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    """Say which columns go into which input, in order.

    Parameters
    ----------
    name
        The model's name, for messages.
    inputs
        The model's inputs.
    table
        The batch.
    features
        The columns that the user named, in the model's order.
    said
        The columns of each input, where the user said so.

    Raises
    ------
    ModelError, UsageError
        When a column is missing, or when there is no telling which ones to give.
    """
    if said:
        return {entry.name: _said(name, entry, table, said) for entry in inputs}
    if len(inputs) == 1:
        alone = inputs[0]
        by_name = features is None and alone.takes_one_column and alone.name in table.names
        return {alone.name: columns_for(name, table, (alone.name,) if by_name else features, alone.width)}
    if not all(entry.takes_one_column for entry in inputs):
        told = ", ".join(f"{entry.name} {list(entry.shape)}" for entry in inputs)
        raise UsageError(
            f"{name} has several inputs with several columns each ({told}). Say which columns go where: "
            f"inputs={{{inputs[0].name!r}: [...], ...}}."
        )
    own = tuple(entry.name for entry in inputs)
    columns = columns_for(name, table, features or own, len(inputs))
    return {entry.name: (column,) for entry, column in zip(inputs, columns, strict=True)}


def read_columns(
    inputs: Sequence[Input], features: tuple[str, ...] | None, said: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...] | None:
    """The columns that :func:`arrange` would choose; ``None`` where that depends on the table."""
    if said:
        return tuple(dict.fromkeys(column for columns in said.values() for column in columns))
    if features is None and len(inputs) > 1 and all(entry.takes_one_column for entry in inputs):
        return tuple(entry.name for entry in inputs)
    return features


def _said(name: str, entry: Input, table: Table, said: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if entry.name not in said:
        raise UsageError(f"{name} has an input {entry.name!r}, but inputs does not say which columns go into it.")
    return columns_for(f"input {entry.name!r} of {name}", table, said[entry.name], entry.width)


def check_known(name: str, inputs: Sequence[Input], said: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse columns for an input that does not exist."""
    own = [entry.name for entry in inputs]
    for wanted in said:
        if wanted not in own:
            raise UsageError(f"{name} has no input {wanted!r}; its inputs are {', '.join(own)}.{nearest(wanted, own)}")


def fed(
    name: str, inputs: Sequence[Input], table: Table, columns: Mapping[str, tuple[str, ...]]
) -> dict[str, NDArray[Any]]:
    """Fill every input of a model from the columns of a table.

    Raises
    ------
    ModelError
        When a column does not fit the type of its input, or a batch without columns its shape.
    """
    return {entry.name: _filled(name, entry, table, columns[entry.name]) for entry in inputs}


def _filled(name: str, entry: Input, table: Table, columns: tuple[str, ...]) -> NDArray[Any]:
    if len(entry.shape) > 2:
        raise ModelError(
            f"{name} takes arrays of {len(entry.shape)} dimensions in its input {entry.name!r}, but a table has two. "
            "Give it a population of such arrays, such as images."
        )
    if len(entry.shape) == 1:
        return converted(name, columns[0], table.column(columns[0]), entry.dtype)
    return matrix(name, table, columns, entry.dtype)


def whole_batch(name: str, inputs: Sequence[Input], batch: Any) -> dict[str, NDArray[Any]]:
    """Give a batch that has no columns, such as images, to the one input of a model."""
    if len(inputs) != 1 or not isinstance(batch, np.ndarray):
        raise ModelError(
            f"{name} has {len(inputs)} inputs, and the population gives a {type(batch).__name__} of records. "
            "A model of records should have one input, and the records should be an array."
        )
    entry = inputs[0]
    given = batch.reshape(len(batch), -1) if len(entry.shape) == 2 else batch
    fits = len(given.shape) == len(entry.shape) and all(
        wanted in (None, came) for wanted, came in zip(entry.shape[1:], given.shape[1:], strict=True)
    )
    if not fits:
        raise ModelError(
            f"{name} takes arrays of shape {list(entry.shape)} in its input {entry.name!r}, but the records make an "
            f"array of shape {list(batch.shape)}."
        )
    return {entry.name: given.astype(entry.dtype)}


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

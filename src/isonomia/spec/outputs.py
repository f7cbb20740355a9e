"""What the model answered, as an array: its predictions, its scores, or the scores of one class."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from isonomia.errors import SpecError
from isonomia.spec.batch import Batch, as_version
from isonomia.spec.columns import plain
from isonomia.spec.lexemes import value_text
from isonomia.spec.text import to_text
from isonomia.spec.tree import Output, Value

__all__ = ["output_values"]


def output_values(row: Output, batch: Batch) -> NDArray[Any]:
    """The model's answer for each person, in the version meant; without one, the column of that name.

    Raises
    ------
    SpecError
        Where there is neither, where it is not clear which class's score is meant, or where the batch has no such
        version of its people.
    """
    batch = as_version(row, row.version, batch)
    answered = batch.prediction if row.name == "prediction" else batch.score
    if answered is None:
        return _from_column(row, batch)
    if row.name == "score" and answered.ndim == 2:
        return answered[:, _index(row, batch, answered.shape[1])]
    if row.label is not None:
        raise SpecError(f"the model gives one score for each person: write `score`, not `{to_text(row)}`", row.place)
    return plain(answered, row.name)


def _from_column(row: Output, batch: Batch) -> NDArray[Any]:
    if row.name in batch.columns and row.label is None:
        return plain(batch.columns[row.name], row.name)
    message = f"there is no `{to_text(row)}`: the model gives no {row.name}, and there is no column of that name"
    raise SpecError(message, row.place)


def _index(row: Output, batch: Batch, count: int) -> int:
    classes = batch.classes or tuple(range(count))
    listed = ", ".join(value_text(value) for value in classes)
    if row.label is None:
        if count == 2:
            return 1
        first = value_text(classes[0])
        raise SpecError(
            f"the model scores {count} classes ({listed}): say which one, as in `score[{first}]`", row.place
        )
    for index, value in enumerate(classes):
        if _same_class(row.label, value):
            return index
    raise SpecError(f"the model has no class {value_text(row.label)}; its classes are {listed}", row.place)


def _same_class(written: Value, actual: Value) -> bool:
    return written == actual or str(written) == str(actual)

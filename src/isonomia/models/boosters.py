"""What gradient-boosted trees of XGBoost and LightGBM share: their input, their output, and the check of their files.

They take one matrix, with categories as the codes that they were fitted with. The objective says what their numbers
stand for; if it is unknown, they are probabilities for a classifier and values otherwise.

Both libraries trust the sizes and indices in a file. A wrong one can take all memory, read beyond an array, or never
end, so files are checked before they are opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError
from isonomia.models.checked import checked_classes
from isonomia.models.decoder import classes_from
from isonomia.models.inputs import converted, matrix, refuse
from isonomia.populations.table import Table, plain_value
from isonomia.spec.tree import Value
from isonomia.wording import first_few

Categories = Mapping[str, tuple[Value, ...]]
"""The categories of each column that has some, in the order of their codes 0, 1, 2, ..."""


def coded_matrix(
    name: str, table: Table, columns: tuple[str, ...], categories: Categories, dtype: str, *, new_is_missing: bool
) -> NDArray[Any]:
    """Put columns side by side in the model's order, categories as their codes.

    A category that the model has never seen counts as missing (NaN) or is refused, as ``new_is_missing`` says.
    """
    if not categories:
        return matrix(name, table, columns, dtype)
    by_column = np.empty((len(columns), table.rows), dtype)
    for index, column in enumerate(columns):
        values = table.column(column)
        if column in categories:
            codes = _codes(values, categories[column])
            if not new_is_missing:
                refuse(name, column, values, codes < 0, f"the categories {first_few(categories[column])}")
            by_column[index] = np.where(codes < 0, np.nan, codes)
        else:
            by_column[index] = converted(name, column, values, dtype)
    return np.ascontiguousarray(by_column.T)


def named_classes(model: Any, classes: Sequence[Any] | None, *, is_estimator: bool) -> tuple[Value, ...]:
    """The classes as the user names them, else as an estimator knows them; empty if neither says."""
    return checked_classes(classes) or (classes_from(getattr(model, "classes_", ())) if is_estimator else ())


def output_of(
    outputs: Mapping[str, str | None], objective: str, named: tuple[Value, ...], *, is_estimator: bool
) -> str | None:
    """What the numbers of a booster stand for, looked up by its objective.

    With other objectives, a classifier gives the second class's number, which its ``predict`` compares with a half.
    """
    return outputs.get(objective, "probabilities" if named and is_estimator else "values")


def described(
    what: str, source: str, objective: str, takes: Sequence[str] | None, width: int, classes: tuple[Value, ...]
) -> str:
    """A booster in one line: what it is, where it came from, what it takes and gives."""
    columns = first_few(takes) if takes else f"{width} columns without names"
    gives = f"; gives {first_few(classes)}" if classes else ""
    origin = f" {source}" if source else ""
    return f"{what}{origin} ({objective}): takes {columns}{gives}"


def _codes(values: NDArray[Any], categories: tuple[Value, ...]) -> NDArray[np.float64]:
    """The index of each value among the categories; NaN if it is missing, -1 if it is not among them."""
    code = {category: float(index) for index, category in enumerate(categories)}
    plain = (plain_value(value) for value in values.tolist())
    return np.array([np.nan if value is None else code.get(value, -1.0) for value in plain])


MOST_FEATURES = 1 << 24
"""The maximum number of columns that a file may declare. Some memory is taken for each when a row is predicted."""


def check_size(what: str, value: object, most: int) -> int:
    """A whole number that a file declares, from 0 to ``most``; anything else is refused."""
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) <= most):
        raise ModelError(f"{what} should be a whole number from 0 to {most:,}, but is {text[:40]}")
    return int(text)


def check_tree(what: str, children: NDArray[np.int64], nodes: int, features: NDArray[np.int64], width: int) -> None:
    """Refuse children that make no tree, and columns that do not exist.

    ``children`` are those of all inner nodes, numbered from the root, 0. Each must be the child of one node only, and
    none may be the root; then every way from the root ends, after at most ``nodes`` steps.
    """
    inside = bool(np.all((children > 0) & (children < nodes)))
    if not inside or len(np.unique(children)) < len(children):
        raise ModelError(f"{what} is not a tree: a child does not exist, or has two parents")
    if bool(np.any((features < 0) | (features >= width))):
        raise ModelError(f"{what} reads a column that does not exist: there are {width:,}")

"""Evaluating row expressions on whole columns: a batch of people, what the model said about them, and other versions.

Conventions
-----------
* A missing value (NaN, None, NaT) satisfies no comparison, not even ``!=``, and is a member of no set. Only
  ``is missing`` sees it. ``not`` turns true into false and false into true and nothing else, so ``not (c == 1)`` and
  ``c not in {1}`` are true where ``c`` is missing, while ``c != 1`` is false there.
* Arithmetic is in double precision, with missing in, missing out. A division by zero gives an infinity, or a missing
  value for 0 / 0.
* A column of truth values can stand as a condition and be compared with ``true`` or with 1. A column of numbers can
  stand as a condition where all its values are 0, 1 or missing; missing counts as false.
* Text is compared with text, letter by letter; a time with an ISO 8601 text or another time.
* Another version of a person is a batch of its own, in step with the first; a missing value there is like any other.
* Columns may be tensors: then their own array library evaluates, on their device, in the same precision.
* ``score`` alone means the only score, or that of the second of two classes.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError
from isonomia.spec import tree
from isonomia.spec.columns import (
    as_floats,
    compare,
    equal_any,
    host,
    is_tensor,
    kind_of,
    missing,
    namespace,
    plain,
    together,
)
from isonomia.spec.text import to_text, value_text

Array: TypeAlias = NDArray[Any]
Truth: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a row expression is evaluated on.

    Attributes
    ----------
    rows
        How many people the batch has.
    columns
        The table's columns that the property names, each of length ``rows``.
    prediction
        The model's prediction for each person; ``None`` without a model, and then ``prediction`` means a column of
        that name.
    score
        The model's score for each person, of shape ``(rows,)``, or ``(rows, classes)``; ``None`` without one.
    classes
        The class that each column of a two-dimensional ``score`` belongs to.
    versions
        Other versions of the same people, in the same order: for ``other`` the second person of each pair, for
        ``do(...)`` the same person under the changes. Each has as many rows.
    outputs
        What each of several models answers for each person.
    known
        Conditions that were evaluated already, by the engine that holds the table.
    """

    rows: int
    columns: Mapping[str, NDArray[Any]]
    prediction: NDArray[Any] | None = None
    score: NDArray[np.float64] | None = None
    classes: tuple[tree.Value, ...] = field(default=())
    versions: Mapping[tree.Version, Batch] = field(default_factory=dict)
    outputs: Mapping[tree.Output, NDArray[Any]] = field(default_factory=dict)
    known: Mapping[tree.Row, Truth] = field(default_factory=dict)
    _plain: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)

    def column(self, name: str) -> NDArray[Any]:
        """One of ``columns`` as :func:`~isonomia.spec.columns.plain` gives it, computed once."""
        if name not in self._plain:
            self._plain[name] = plain(self.columns[name], name)
        return self._plain[name]


def evaluate(row: tree.Row, batch: Batch) -> Array:
    """The value of a row expression for each person of a batch; no variable of a ``for`` may be left in it.

    Treat the result as read-only: it may be a column of the batch itself.
    """
    values = _values(row, batch)
    return values if values.ndim else np.full(batch.rows, values)


def truth(row: tree.Row, batch: Batch) -> Truth:
    """Whether a condition is true, for each person of a batch."""
    values = _truth(row, batch)
    return values if values.ndim else np.full(batch.rows, values)


def numbers(row: tree.Row, batch: Batch) -> NDArray[np.float64]:
    """The number that a term is, for each person of a batch; truth values count as 0 and 1."""
    values = _number(row, batch)
    return values if values.ndim else np.full(batch.rows, values)


def _values(row: tree.Row, batch: Batch) -> Array:
    match row:
        case tree.Column():
            return _column(row, batch)
        case tree.Output():
            return _output_values(row, batch)
        case tree.PairCall():
            return _pair_values(row, batch)
        case tree.Literal():
            return np.asarray(row.value, dtype=object if isinstance(row.value, str) else None)
        case tree.Variable():
            raise SpecError(
                f"`{row.name}` is a variable that stands for no value yet: expand the formula", row.place, name=row.name
            )
        case tree.RowNegative() | tree.RowArithmetic() | tree.Call():
            with np.errstate(all="ignore"):
                return _arithmetic(row, batch)
        case _:
            return _truth(row, batch)


def _column(row: tree.Column, batch: Batch) -> Array:
    people = _as_version(row, row.version, batch)
    if row.name not in people.columns:
        whose = "" if row.version is None else f" of `{to_text(row.version)}`"
        raise SpecError(f"there is no column `{row.name}`{whose}", row.place)
    return people.column(row.name)


def _arithmetic(row: tree.RowNegative | tree.RowArithmetic | tree.Call, batch: Batch) -> NDArray[np.float64]:
    match row:
        case tree.RowNegative():
            return -_number(row.operand, batch)
        case tree.RowArithmetic():
            left, right = together([_number(row.left, batch), _number(row.right, batch)])
            return _array(tree.OPERATIONS[row.sign](left, right))
        case tree.Call():
            arguments = [_number(argument, batch) for argument in row.arguments]
            if row.function == "abs":
                return _array(abs(arguments[0]))
            return _array(reduce(_smaller if row.function == "min" else _larger, arguments))


def _array(values: Any) -> NDArray[Any]:
    """The result of arithmetic as an array; for single values, NumPy does not return one."""
    array: NDArray[Any] = values if is_tensor(values) else np.asarray(values)
    return array


def _smaller(left: Any, right: Any) -> Any:
    """The smaller of two numbers; missing where one is."""
    xp, sides = _alike(left, right)
    return xp.minimum(*sides)


def _larger(left: Any, right: Any) -> Any:
    """The larger of two numbers; missing where one is."""
    xp, sides = _alike(left, right)
    return xp.maximum(*sides)


def _alike(left: Any, right: Any) -> tuple[Any, list[Any]]:
    """The functions for two arrays of numbers, and both arrays in that library."""
    tensor = next((side for side in (left, right) if is_tensor(side)), None)
    if tensor is None:
        return np, [left, right]
    xp = namespace(tensor)
    sides = together([left, right])
    return xp, [xp.full_like(tensor, side) if isinstance(side, int | float) else side for side in sides]


def _number(row: tree.Row, batch: Batch) -> NDArray[np.float64]:
    values = _values(row, batch)
    if isinstance(row, tree.Literal):
        if isinstance(row.value, str):
            raise SpecError(f"{to_text(row)} is text; expected a number", row.place)
        return np.asarray(row.value, np.float64)
    if kind_of(values) not in {"number", "truth"}:
        raise SpecError(f"`{to_text(row)}` is {kind_of(values)}; expected a number", tree.place_of(row))
    return as_floats(values) if is_tensor(values) else values.astype(np.float64, copy=False)


def _truth(row: tree.Row, batch: Batch) -> Truth:
    if batch.known and row in batch.known:
        return batch.known[row]
    match row:
        case tree.Compare():
            return compare(row, _values(row.left, batch), _values(row.right, batch))
        case tree.Member():
            return equal_any(row, _values(row.operand, batch))
        case tree.Missing():
            return missing(_values(row.operand, batch))
        case tree.RowNot():
            return ~_truth(row.operand, batch)
        case tree.RowJunction():
            join = operator.and_ if row.connective == "and" else operator.or_
            return _array(reduce(join, together([_truth(operand, batch) for operand in row.operands])))
        case tree.Literal(bool() as value):
            return np.asarray(value)
        case tree.Column() | tree.Output():
            return _as_condition(row, _values(row, batch))
        case _:
            raise SpecError(f"`{to_text(row)}` is not a condition: compare it with something", tree.place_of(row))


def _as_condition(row: tree.Column | tree.Output, values: Array) -> Truth:
    kind = kind_of(values)
    if kind == "truth":
        return values
    if kind != "number":
        raise SpecError(f"`{to_text(row)}` is {kind}, so it is not a condition: compare it", row.place)
    ones = values == 1
    odd = ~(ones | (values == 0) | missing(values))
    if bool(odd.any()):
        value = values[odd][0].item()
        raise DataError(f"`{to_text(row)}` is a condition; expected 0 or 1, but got {value!r}: compare it with a value")
    return _array(ones)


# ---------------------------------------------------------------------------- versions of a person


def _as_version(node: tree.Column | tree.Output | tree.PairCall, version: tree.Version | None, batch: Batch) -> Batch:
    """The people of a batch in the version that a part of an expression is about; ``None`` is as they are."""
    if version is None:
        return batch
    if version not in batch.versions:
        raise SpecError(_absent(node, version), node.place)
    changed = batch.versions[version]
    if changed.rows != batch.rows:
        raise DataError(f"expected {batch.rows:,} people for `{to_text(version)}`, but got {changed.rows:,}")
    return changed


def _absent(node: tree.Column | tree.Output | tree.PairCall, version: tree.Version) -> str:
    if isinstance(version, tree.Other):
        return f"`{to_text(node)}` speaks of a second person, but people are not drawn in pairs here"
    return (
        f"`{to_text(node)}` is about the same person under other conditions, but `{to_text(version)}` is "
        "unknown here: it needs a causal model of the population"
    )


# ---------------------------------------------------------------------------- the model's answers


def _output_values(row: tree.Output, batch: Batch) -> NDArray[Any]:
    """The model's answer for each person, in the version meant; without one, the column of that name."""
    batch = _as_version(row, row.version, batch)
    if row.model is not None:
        if row not in batch.outputs:
            raise SpecError(
                f"there is no `{to_text(row)}`: no model is called {row.model!r}", row.place, name=row.model
            )
        return plain(batch.outputs[row], row.name)
    answered = batch.prediction if row.name == "prediction" else batch.score
    if answered is None:
        return _from_column(row, batch)
    if row.name == "score" and answered.ndim == 2:
        return answered[:, _index(row, batch, answered.shape[1])]
    if row.label is not None:
        raise SpecError(f"the model gives one score for each person: write `score`, not `{to_text(row)}`", row.place)
    return plain(answered, row.name)


def _from_column(row: tree.Output, batch: Batch) -> NDArray[Any]:
    if row.name in batch.columns and row.label is None:
        return plain(batch.columns[row.name], row.name)
    message = f"there is no `{to_text(row)}`: the model gives no {row.name}, and there is no column of that name"
    raise SpecError(message, row.place)


def _index(row: tree.Output, batch: Batch, count: int) -> int:
    classes = batch.classes or tuple(range(count))
    listed = ", ".join(value_text(value) for value in classes)
    if row.label is None:
        if count == 2:
            return 1
        first = value_text(classes[0])
        raise SpecError(f"the model scores {count} classes ({listed}): say which, as in `score[{first}]`", row.place)
    for index, value in enumerate(classes):
        if row.label == value or str(row.label) == str(value):
            return index
    raise SpecError(f"the model has no class {value_text(row.label)}; its classes are {listed}", row.place)


# ---------------------------------------------------------------------------- functions of two people


def _pair_values(node: tree.PairCall, batch: Batch) -> NDArray[np.float64]:
    """The number that a Python function computes for every pair of people, checked before it is used.

    The function sees read-only columns in the form that row expressions see them, so it cannot change what is audited.
    """
    second = _as_version(node, tree.Other(), batch)
    people = [_columns_for(node, person) for person in (batch, second)]
    try:
        returned = node.function(*people)
    except Exception as error:
        message = f"the function `{node.name}` of two people raised {type(error).__name__}: {error}. It gets mappings"
        raise DataError(f"{message} from a column's name to an array of {batch.rows:,} values") from error
    return _checked_numbers(node, returned, batch.rows)


def _columns_for(node: tree.PairCall, person: Batch) -> dict[str, NDArray[Any]]:
    absent = [name for name in node.columns if name not in person.columns]
    if absent:
        raise SpecError(f"there is no column `{absent[0]}`, which the function `{node.name}` needs", node.place)
    columns = {name: host(plain(person.columns[name], name)).view() for name in node.columns}
    for column in columns.values():
        column.flags.writeable = False
    return columns


def _checked_numbers(node: tree.PairCall, returned: Any, rows: int) -> NDArray[np.float64]:
    expected = f"expected the function `{node.name}` of two people to return {rows:,} finite numbers, one for each pair"
    try:
        array = np.asarray(returned)
    except ValueError:
        raise DataError(f"{expected}, but it returned {returned!r}") from None
    if not array.shape:
        raise DataError(f"{expected}, but it returned {returned!r} of type {type(returned).__name__}")
    if array.shape != (rows,) or array.dtype.kind not in "biuf":
        raise DataError(f"{expected}, but it returned an array of {array.dtype} of shape {array.shape}")
    values = array.astype(np.float64)
    odd = ~np.isfinite(values)
    if odd.any():
        raise DataError(f"{expected}, but for pair {int(np.argmax(odd)):,} of the batch it is {values[odd][0]}")
    return values

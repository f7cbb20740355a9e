"""Changes to arrays, as functions that a specification may call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains.arrays import ArrayRecords, Step, Values
from isonomia.populations.domains.protocol import Function


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that says how much.

    Attributes
    ----------
    name
        What it is called in messages.
    default
        Its value if a specification leaves it out; ``None`` if it must be given.
    least, most
        The range of the parameter; a case with a value outside it is rejected.
    """

    name: str
    default: float | None = None
    least: float = -np.inf
    most: float = np.inf


@dataclass(frozen=True, slots=True)
class Change:
    """Something that can be done to arrays.

    Attributes
    ----------
    apply
        Takes values, a column for each parameter and, if it is random, a column of seeds; returns values. See ``Step``.
    parameters
        How much; those with a default come last.
    random
        Whether it is random.
    """

    apply: Callable[..., Values]
    parameters: tuple[Parameter, ...] = ()
    random: bool = False


def functions_of(changes: Mapping[str, Change], what: str) -> dict[str, Function]:
    """The functions of a domain whose records are ``what``, such as ``"image"``."""
    return {name: _function(name, change, what) for name, change in changes.items()}


def _function(name: str, change: Change, what: str) -> Function:
    needed = sum(parameter.default is None for parameter in change.parameters)
    min_n, max_n = 1 + needed, 1 + len(change.parameters)
    return Function(
        partial(_note, name, change, what),
        takes=min_n if min_n == max_n else (min_n, max_n),
        gives="record",
        random=change.random,
    )


def _note(name: str, change: Change, what: str, records: Any, *columns: Any) -> Any:
    """The records with the change recorded; and, if any, the cases for which it is not possible."""
    if not isinstance(records, ArrayRecords):
        raise DataError(f"{name}(...) changes a {what}, but its first argument is not one", name=name)
    given, seeds = (columns[:-1], columns[-1:]) if change.random else (columns, ())
    usable = np.ones(len(records), dtype=bool)
    numbers = []
    for index, parameter in enumerate(change.parameters):
        column = given[index] if index < len(given) else np.full(len(records), parameter.default)
        numbers.append(_usable(name, parameter, column, usable))
    step = Step(name, change.apply, (*numbers, *seeds))
    return records.then(step) if usable.all() else (records.then(step), ~usable)


def _usable(name: str, parameter: Parameter, column: Any, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A parameter as valid numbers; ``usable`` becomes false for cases whose number was not valid."""
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "biuf":
        raise DataError(f"{name}(...) takes a number as {parameter.name}, but got something else", name=parameter.name)
    number = column.astype(np.float64)
    good = np.isfinite(number) & (number >= parameter.least) & (number <= parameter.most)
    usable &= good
    harmless = (
        parameter.default if parameter.default is not None else float(np.clip(0, parameter.least, parameter.most))
    )
    return np.where(good, number, harmless)


def own_changes(
    functions: Mapping[str, Any], finish: Callable[[str, Any, NDArray[Any]], NDArray[Any]]
) -> dict[str, Change]:
    """The user's changes, each a ``Change`` or a Python function of one array and numbers.

    ``finish`` takes the function's name, its result and its argument, and returns an array that may be stored.
    """
    return {name: _own(name, function, finish) for name, function in functions.items()}


def _own(name: str, function: Any, finish: Callable[[str, Any, NDArray[Any]], NDArray[Any]]) -> Change:
    if isinstance(function, Change):
        return function
    if not callable(function):
        raise UsageError(
            f"expected {name!r} to be a function of one array, but it is a {type(function).__name__}", name=name
        )
    listed = list(inspect.signature(function).parameters.values())
    if not listed or any(item.kind not in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD) for item in listed):
        raise UsageError(f"expected {name!r} to take an array and perhaps numbers, each by position", name=name)
    defaults = [None if item.default is item.empty else item.default for item in listed[1:]]
    if any(not (value is None or isinstance(value, int | float)) for value in defaults):
        raise UsageError(
            f"expected the other arguments of {name!r} to be numbers, but their defaults are {defaults}", name=name
        )
    parameters = tuple(
        Parameter(item.name, None if value is None else float(value))
        for item, value in zip(listed[1:], defaults, strict=True)
    )
    return Change(partial(_one_by_one, name, function, finish), parameters)


def _one_by_one(
    name: str,
    function: Callable[..., Any],
    finish: Callable[[str, Any, NDArray[Any]], NDArray[Any]],
    values: Values,
    *columns: NDArray[np.float64],
) -> Values:
    results = []
    for value, *numbers in zip(values, *(column.tolist() for column in columns), strict=True):
        try:
            result = function(value.copy(), *numbers)
        except Exception as error:
            raise DataError(f"{name}(...) raised {type(error).__name__}: {error}") from error
        results.append(finish(name, result, value))
    return np.stack(results) if isinstance(values, np.ndarray) else results


def each_distinct(
    change: Callable[..., NDArray[Any]], values: NDArray[Any], *columns: NDArray[np.float64]
) -> NDArray[Any]:
    """Apply a change that works on whole stacks once for each combination of parameters that occurs."""
    choices, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    if len(choices) == 1:
        return change(values, *choices[0].tolist())
    changed = np.empty_like(values)
    order = np.argsort(which.reshape(-1), kind="stable")
    edges = np.searchsorted(which.reshape(-1)[order], np.arange(len(choices) + 1))
    for index, choice in enumerate(choices.tolist()):
        rows = order[edges[index] : edges[index + 1]]
        changed[rows] = change(values[rows], *choice)
    return changed

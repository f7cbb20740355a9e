"""Functions that a domain, a property or an import brings along: called for whole batches, or one case at a time."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import Batch, evaluate
from isonomia.audits.ksafety.values import Answered, Booleans, Value, either
from isonomia.errors import DataError, IsonomiaError, UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.domains import Function
from isonomia.populations.table import Table
from isonomia.spec.nomos.tree import Call

__all__ = ["answered", "as_function", "call_custom"]

ENOUGH = 8
"""A function that raises in all of so many cases is itself at fault, and not the cases."""


def as_function(value: Any, written: int | None = None) -> Function:
    """A function of the domain, as it is or made of a Python function of one case.

    Parameters
    ----------
    value
        The function.
    written
        How many arguments a specification writes; it takes so many where it can, and otherwise as many as it must have.

    Raises
    ------
    UsageError
        Where it is no function, or does not say what it takes.
    """
    if isinstance(value, Function):
        return value
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"expected a Python function of one case or a Function, but {value!r} came: {error}") from None
    if written is not None and _takes(signature, written):
        return Function(value, written, single=True)
    least = next((n for n in range(len(signature.parameters) + 1) if _takes(signature, n)), 0)
    return Function(value, least, single=True)


def _takes(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True


def call_custom(batch: Batch, call: Call, function: Function) -> Value:
    """Call a function for every case of a batch."""
    values = [evaluate(argument, batch) for argument in call.arguments]
    bad = either(*(value.bad for value in values))
    arguments = [value.data for value in values]
    if function.random:
        seeds, _ = batch.supply.choose("seed", np.zeros(batch.n), np.zeros(batch.n))
        arguments.append(seeds)
    if function.asks:
        arguments.append(partial(_predictions, batch))
    if function.single:
        result, worse = _one_by_one(batch, call, function, arguments, bad)
        return Value(result, either(bad, worse))
    try:
        result = function.call(*arguments)
    except IsonomiaError:
        raise
    except Exception as error:
        raise DataError(f"{call.function}(...) raised {type(error).__name__}: {error}") from error
    if function.asks:
        return answered(batch, Answered(*result), bad)
    if isinstance(result, tuple):
        result, none = result
        batch.empty |= none if bad is None else none & ~bad
        bad = either(bad, none if none.any() else None)
    return Value(_checked(batch, call, result), bad)


def _checked(batch: Batch, call: Call, result: Any) -> Any:
    found = column_from(result, f"{call.function}(...)") if isinstance(result, list) else result
    if not hasattr(found, "__len__") or len(found) != batch.n:
        told = f"{len(found):,}" if hasattr(found, "__len__") else f"a {type(found).__name__}"
        raise DataError(
            f"expected {call.function}(...) to give a result for each of {batch.n:,} cases, but {told} came"
        )
    return found


def _predictions(batch: Batch, table: Table) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """What a function of the domain asks the model."""
    assert batch.ask is not None
    found = batch.ask("predict", table)
    return found.data, found.why


def answered(batch: Batch, found: Answered, bad: Booleans | None) -> Value:
    """Answers as a value; why there is none is noted, unless there was nothing to ask about in the first place."""
    for why in dict.fromkeys(() if found.why is None else found.why):
        if why is not None and found.why is not None:
            here = np.asarray(found.why == why, dtype=bool)
            batch.fault(here if bad is None else here & ~bad, str(why), None)
    return Value(found.data, either(bad, found.bad))


def _one_by_one(
    batch: Batch, call: Call, function: Function, arguments: list[Any], bad: Booleans | None
) -> tuple[Any, Booleans | None]:
    """Call a function of one case for every case, and say in which it raised.

    A record is handed over, and comes back, as its plain values, or as the object that it is.
    """
    results: list[Any] = [None] * batch.n
    why: dict[str, list[int]] = {}
    skipped = np.zeros(batch.n, dtype=bool) if bad is None else bad
    for index in np.flatnonzero(~skipped).tolist():
        try:
            results[index] = function.call(*(_single(batch, argument, index) for argument in arguments))
        except Exception as error:
            why.setdefault(f"{call.function}(...) raised {type(error).__name__}: {error}", []).append(index)
    raised = np.zeros(batch.n, dtype=bool)
    for reason, indices in why.items():
        here = np.zeros(batch.n, dtype=bool)
        here[indices] = True
        raised |= here
        batch.fault(here, reason, call.place)
    if raised.all() and batch.n >= ENOUGH:
        raise DataError(f"{next(iter(why))}. It did so in every case")
    return _gathered(batch, call, function, results, raised | skipped), raised if raised.any() else None


def _gathered(batch: Batch, call: Call, function: Function, results: list[Any], none: Booleans) -> Any:
    """The results as records or as a column; where there is none, any other stands in for it."""
    good = next((result for result, lacks in zip(results, none.tolist(), strict=True) if not lacks), None)
    filled: list[Any] = [good if lacks else result for result, lacks in zip(results, none.tolist(), strict=True)]
    many = getattr(batch.domain, "many", None)
    if many is not None and function.gives in {"record", "anything"}:
        made = many(filled)
        if made is not None:
            return made
    if isinstance(good, Mapping):
        return batch.domain.restore(filled)
    return column_from(filled, f"{call.function}(...)")


def _single(batch: Batch, argument: Any, index: int) -> Any:
    if isinstance(argument, np.ndarray):
        return argument[index : index + 1].tolist()[0]
    one = getattr(batch.domain, "one", batch.domain.show)
    return one(argument, index)

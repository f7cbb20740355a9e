"""The functions of the language, and those of the domain, on whole batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import Batch, evaluate, read_feature, write_feature
from isonomia.audits.ksafety.supply import Way
from isonomia.audits.ksafety.values import Value, either
from isonomia.errors import DataError, IsonomiaError
from isonomia.populations.columns import column_from
from isonomia.populations.domains import Function
from isonomia.spec.nomos.tree import Call, Constant

__all__ = ["BUILT_IN", "RANDOM", "as_function", "call_function", "feature_of"]

BUILT_IN: Mapping[str, int] = {
    "getFeat": 2,
    "setFeat": 3,
    "label": 1,
    "randInt": 2,
    "randReal": 2,
    "randFeat": 2,
    "strConcat": 2,
    "abs": 1,
    "min": 2,
    "max": 2,
    "predict": 1,
    "score": 1,
}
"""The functions of the language, and how many arguments they take."""

RANDOM = frozenset({"randInt", "randReal", "randFeat"})
"""Those that draw."""


def as_function(value: Any) -> Function:
    """A function of the domain, as it is or made of a Python function of one case."""
    if isinstance(value, Function):
        return value
    takes = len(inspect.signature(value).parameters)
    return Function(value, takes, single=True)


def feature_of(call: Call) -> str | int:
    """The feature that ``getFeat``, ``setFeat`` or ``randFeat`` names."""
    node = call.arguments[1]
    assert isinstance(node, Constant)
    assert isinstance(node.value, str | int)
    return node.value


def call_function(batch: Batch, call: Call) -> Value:
    """Call a function by name for every case; a function of the domain goes before one of the language."""
    custom = batch.domain.functions.get(call.function)
    if custom is not None:
        return _custom(batch, call, custom)
    first = evaluate(call.arguments[0], batch)
    match call.function:
        case "getFeat":
            return read_feature(batch, first, feature_of(call), call.place)
        case "setFeat":
            return write_feature(batch, first, feature_of(call), evaluate(call.arguments[2], batch), call.place)
        case "label":
            return Value(batch.domain.label(first.data), first.bad)
        case "predict" | "score":
            assert batch.ask is not None
            found = batch.ask(call.function, first.data)
            for why in dict.fromkeys(() if found.why is None else found.why):
                if why is not None and found.why is not None:
                    batch.fault(np.asarray(found.why == why, dtype=bool), str(why), None)
            return Value(found.data, either(first.bad, found.bad))
        case "randFeat":
            return _any_value(batch, call, first)
        case "abs":
            return Value(np.abs(first.data), first.bad)
        case _:
            return _of_two(batch, call, first, evaluate(call.arguments[1], batch))


def _of_two(batch: Batch, call: Call, first: Value, second: Value) -> Value:
    bad = either(first.bad, second.bad)
    match call.function:
        case "randInt":
            return _chosen(batch, "whole", first, second)
        case "randReal":
            return _chosen(batch, "real", first, second)
        case "min" | "max":
            pick: Callable[..., Any] = np.minimum if call.function == "min" else np.maximum
            return Value(pick(first.data, second.data), bad)
        case _:
            return Value(_joined_text(first.data, second.data), bad)


def _chosen(batch: Batch, way: Way, low: Value, high: Value) -> Value:
    ends = [np.asarray(end.data, dtype=np.float64) for end in (low, high)]
    unknown = either(low.bad, high.bad)
    values, empty = batch.supply.choose(way, *ends)
    batch.empty |= empty if unknown is None else empty & ~unknown
    return Value(values, either(unknown, empty if empty.any() else None))


def _any_value(batch: Batch, call: Call, record: Value) -> Value:
    """One of the values that a feature has somewhere."""
    values = batch.domain.values(batch.domain.feature(feature_of(call)))
    low, high = np.zeros(batch.n), np.full(batch.n, len(values) - 1.0)
    positions, empty = batch.supply.choose("whole", low, high)
    batch.empty |= empty
    column = column_from(list(values), "the values of a feature")[np.clip(positions, 0, len(values) - 1)]
    return Value(column, either(record.bad, empty if empty.any() else None))


def _custom(batch: Batch, call: Call, function: Function) -> Value:
    values = [evaluate(argument, batch) for argument in call.arguments]
    bad = either(*(value.bad for value in values))
    arguments = [value.data for value in values]
    if function.random:
        seeds, _ = batch.supply.choose("seed", np.zeros(batch.n), np.zeros(batch.n))
        arguments.append(seeds)
    try:
        result = _one_by_one(batch, function, arguments) if function.single else function.call(*arguments)
    except IsonomiaError:
        raise
    except Exception as error:
        raise DataError(f"{call.function}(...) raised {type(error).__name__}: {error}") from error
    return Value(column_from(result, f"{call.function}(...)") if isinstance(result, list) else result, bad)


def _one_by_one(batch: Batch, function: Function, arguments: list[Any]) -> Any:
    """Call a function of one case for every case; a record is handed over, and comes back, as its plain values."""
    results = [function.call(*(_single(batch, argument, index) for argument in arguments)) for index in range(batch.n)]
    return batch.domain.restore(results) if results and isinstance(results[0], Mapping) else results


def _single(batch: Batch, argument: Any, index: int) -> Any:
    if isinstance(argument, np.ndarray):
        return argument[index : index + 1].tolist()[0]
    return batch.domain.show(argument, index)


def _joined_text(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    texts = ["".join("" if part is None else str(part) for part in pair) for pair in pairs]
    return np.fromiter(texts, dtype=object, count=len(texts))

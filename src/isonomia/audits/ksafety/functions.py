"""The functions of the language, and those of the domain, on whole batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.calling import answered, call_custom
from isonomia.audits.ksafety.evaluate import Batch, evaluate, read_feature, write_feature
from isonomia.audits.ksafety.supply import Way
from isonomia.audits.ksafety.values import Value, either
from isonomia.populations.columns import column_from
from isonomia.spec.nomos.tree import Call, Constant

__all__ = ["BUILT_IN", "RANDOM", "call_function", "feature_of"]

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


LARGEST = 2.0**62
"""The largest end that a range may have."""


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
        return call_custom(batch, call, custom)
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
            return answered(batch, batch.ask(call.function, first.data), first.bad)
        case "randFeat":
            return _any_value(batch, call, first)
        case "abs":
            number = _number(batch, call, first)
            return Value(np.abs(number.data), number.bad)
        case _:
            return _of_two(batch, call, first, evaluate(call.arguments[1], batch))


def _of_two(batch: Batch, call: Call, first: Value, second: Value) -> Value:
    if call.function == "strConcat":
        return Value(_joined_text(first.data, second.data), either(first.bad, second.bad))
    low, high = _number(batch, call, first), _number(batch, call, second)
    match call.function:
        case "randInt":
            return _chosen(batch, call, "whole", low, high)
        case "randReal":
            return _chosen(batch, call, "real", low, high)
        case _:
            pick: Callable[..., Any] = np.minimum if call.function == "min" else np.maximum
            return Value(pick(low.data, high.data), either(low.bad, high.bad))


def _number(batch: Batch, call: Call, value: Value) -> Value:
    """A value as numbers; what is missing stays so, and anything else has none."""
    if value.data.dtype.kind in "biuf":
        return value
    numbers, other = np.full(batch.n, np.nan), np.zeros(batch.n, dtype=bool)
    for index, item in enumerate(value.data.tolist()):
        if isinstance(item, int | float):
            numbers[index] = item
        else:
            other[index] = item is not None
    worse = other if value.bad is None else other & ~value.bad
    batch.fault(worse, f"{call.function}(...) takes numbers, but something else came", call.place)
    return Value(numbers, either(value.bad, other if other.any() else None))


def _chosen(batch: Batch, call: Call, way: Way, low: Value, high: Value) -> Value:
    ends = [np.asarray(end.data, dtype=np.float64) for end in (low, high)]
    known = either(low.bad, high.bad)
    endless = np.logical_or(*(np.abs(end) > LARGEST for end in ends))
    batch.fault(endless if known is None else endless & ~known, f"{call.function}(...) needs finite ends", call.place)
    unknown = either(known, endless if endless.any() else None)
    if unknown is not None:
        # Nothing can be chosen, and the case has failed; one choice keeps it from being counted many times, or never.
        ends = [np.where(unknown, 0.0, end) for end in ends]
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


def _joined_text(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    texts = ["".join("" if part is None else str(part) for part in pair) for pair in pairs]
    return np.fromiter(texts, dtype=object, count=len(texts))

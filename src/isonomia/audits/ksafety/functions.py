"""Calling functions for a whole batch of cases: those of the language, the domain, a property and its imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import (
    LONGEST_TEXT,
    Answers,
    Booleans,
    ChoiceKind,
    Evaluation,
    Value,
    either,
    evaluate,
    read_feature,
    write_feature,
)
from isonomia.errors import DataError, IsonomiaError
from isonomia.populations.columns import column_from
from isonomia.populations.domains.protocol import Function
from isonomia.populations.table import Table
from isonomia.spec.nomos.tree import FunctionCall, ScalarLiteral

__all__ = ["BUILT_IN", "RANDOM", "call_function"]


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


def call_function(batch: Evaluation, call: FunctionCall) -> Value:
    """Call a function by name for every case; a function of the domain goes before one of the language."""
    custom = batch.domain.functions.get(call.function)
    if custom is not None:
        return _call_custom(batch, call, custom)
    first = evaluate(call.arguments[0], batch)
    match call.function:
        case "getFeat":
            return read_feature(batch, first, _feature_of(call), call.place)
        case "setFeat":
            return write_feature(batch, first, _feature_of(call), evaluate(call.arguments[2], batch), call.place)
        case "label":
            return Value(batch.domain.label(first.data), first.bad)
        case "predict" | "score":
            assert batch.ask is not None
            return _answered(batch, batch.ask(call.function, first.data), first.bad)
        case "randFeat":
            return _any_value(batch, call, first)
        case "abs":
            number = _number(batch, call, first)
            return Value(np.abs(number.data), number.bad)
        case _:
            return _of_two(batch, call, first, evaluate(call.arguments[1], batch))


def _feature_of(call: FunctionCall) -> str | int:
    """The feature that ``getFeat``, ``setFeat`` or ``randFeat`` names."""
    node = call.arguments[1]
    assert isinstance(node, ScalarLiteral)
    assert isinstance(node.value, str | int)
    return node.value


def _of_two(batch: Evaluation, call: FunctionCall, first: Value, second: Value) -> Value:
    if call.function == "strConcat":
        texts, long = _joined_text(first.data, second.data)
        bad = either(first.bad, second.bad)
        worse = long if bad is None else long & ~bad
        batch.fault(worse, f"a text of more than {LONGEST_TEXT:,} characters", call.place)
        return Value(batch.joined(texts, call.place), either(bad, long if long.any() else None))
    low, high = _number(batch, call, first), _number(batch, call, second)
    match call.function:
        case "randInt":
            return _chosen(batch, call, "whole", low, high)
        case "randReal":
            return _chosen(batch, call, "real", low, high)
        case _:
            pick: Callable[..., Any] = np.minimum if call.function == "min" else np.maximum
            return Value(pick(low.data, high.data), either(low.bad, high.bad))


def _number(batch: Evaluation, call: FunctionCall, value: Value) -> Value:
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


def _chosen(batch: Evaluation, call: FunctionCall, kind: ChoiceKind, low: Value, high: Value) -> Value:
    ends = [np.asarray(end.data, dtype=np.float64) for end in (low, high)]
    failed = either(low.bad, high.bad)
    endless = np.logical_or(*(np.abs(end) > LARGEST for end in ends))
    batch.fault(endless if failed is None else endless & ~failed, f"{call.function}(...) needs finite ends", call.place)
    unknown = either(failed, endless if endless.any() else None)
    if unknown is not None:
        # Nothing can be chosen, and the case has failed; one choice keeps it from being counted many times, or never.
        ends = [np.where(unknown, 0.0, end) for end in ends]
    values, empty = batch.choices.choose(kind, *ends)
    batch.empty |= empty if unknown is None else empty & ~unknown
    return Value(values, either(unknown, empty if empty.any() else None))


def _any_value(batch: Evaluation, call: FunctionCall, record: Value) -> Value:
    """One of the values that a feature has somewhere."""
    values = batch.domain.values(batch.domain.feature(_feature_of(call)))
    low, high = np.zeros(batch.n), np.full(batch.n, len(values) - 1.0)
    positions, empty = batch.choices.choose("whole", low, high)
    batch.empty |= empty
    column = column_from(list(values), "the values of a feature")[np.clip(positions, 0, len(values) - 1)]
    return Value(column, either(record.bad, empty if empty.any() else None))


def _joined_text(left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], Booleans]:
    """Texts one behind the other, and where they are too long; nothing is put together there."""
    texts: list[str] = []
    long = np.zeros(len(left), dtype=bool)
    for index, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        parts = ["" if part is None else str(part) for part in pair]
        long[index] = sum(map(len, parts)) > LONGEST_TEXT
        texts.append("" if long[index] else "".join(parts))
    return np.fromiter(texts, dtype=object, count=len(texts)), long


ENOUGH = 8
"""A function that raises in all of so many cases is itself at fault, and not the cases."""


def _call_custom(batch: Evaluation, call: FunctionCall, function: Function) -> Value:
    """Call a function for every case of a batch."""
    values = [evaluate(argument, batch) for argument in call.arguments]
    bad = either(*(value.bad for value in values))
    arguments = [value.data for value in values]
    if function.random:
        seeds, _ = batch.choices.choose("seed", np.zeros(batch.n), np.zeros(batch.n))
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
        return _answered(batch, result, bad)
    if isinstance(result, tuple):
        result, none = result
        batch.empty |= none if bad is None else none & ~bad
        bad = either(bad, none if none.any() else None)
    return Value(_checked(batch, call, result), bad)


def _checked(batch: Evaluation, call: FunctionCall, result: Any) -> Any:
    values = column_from(result, f"{call.function}(...)") if isinstance(result, list) else result
    if not hasattr(values, "__len__") or len(values) != batch.n:
        given = f"{len(values):,}" if hasattr(values, "__len__") else f"a {type(values).__name__}"
        raise DataError(
            f"expected {call.function}(...) to give a result for each of {batch.n:,} cases, but {given} came"
        )
    return values


def _predictions(batch: Evaluation, table: Table) -> Answers:
    """What a function of the domain asks the model."""
    assert batch.ask is not None
    return batch.ask("predict", table)


def _answered(batch: Evaluation, answers: Answers, bad: Booleans | None) -> Value:
    """Answers as a value; why there is none is noted, unless there was nothing to ask about in the first place."""
    data, why = answers
    if why is None:
        return Value(data, bad)
    for reason in dict.fromkeys(why):
        if reason is not None:
            here = np.asarray(why == reason, dtype=bool)
            batch.fault(here if bad is None else here & ~bad, str(reason), None)
    return Value(data, either(bad, np.array([reason is not None for reason in why], dtype=bool)))


def _one_by_one(
    batch: Evaluation, call: FunctionCall, function: Function, arguments: list[Any], bad: Booleans | None
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
    return _as_values(batch, call, function, results, raised | skipped), raised if raised.any() else None


def _as_values(batch: Evaluation, call: FunctionCall, function: Function, results: list[Any], none: Booleans) -> Any:
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


def _single(batch: Evaluation, argument: Any, index: int) -> Any:
    if isinstance(argument, np.ndarray):
        return argument[index : index + 1].tolist()[0]
    one = getattr(batch.domain, "one", batch.domain.show)
    return one(argument, index)

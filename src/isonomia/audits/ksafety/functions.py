"""Calling functions for a whole batch of cases: those of the language, the domain, a property and its imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import (
    LONGEST_TEXT,
    Answers,
    Booleans,
    CaseEvaluation,
    CaseValues,
    ChoiceKind,
    either,
    evaluate,
    is_column,
    present_record,
    read_feature,
    write_feature,
)
from isonomia.errors import DataError, IsonomiaError
from isonomia.populations.domains.protocol import DomainFacts, Function, one_record
from isonomia.populations.table import Table, column_from
from isonomia.spec.nomos.tree import FunctionCall, ScalarLiteral

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
"""Those that draw random values."""

LARGEST = 2.0**62
"""The largest end that a range may have."""


def call_function(batch: CaseEvaluation, call: FunctionCall) -> CaseValues:
    """Call a function by name for every case; a function of the domain takes precedence over one of the language."""
    custom = batch.domain.functions.get(call.function)
    if custom is not None:
        return _call_custom(batch, call, custom)
    first = evaluate(call.arguments[0], batch)
    if call.function in {"label", "predict", "score"}:
        first = present_record(batch, first, f"{call.function}(...)", call.place)
    match call.function:
        case "getFeat":
            return read_feature(batch, first, _feature_of(call), call.place)
        case "setFeat":
            return write_feature(batch, first, _feature_of(call), evaluate(call.arguments[2], batch), call.place)
        case "label":
            return CaseValues(batch.domain.label(first.data), first.bad)
        case "predict" | "score":
            assert batch.ask is not None
            return _answered(batch, batch.ask(call.function, first.data), first.bad)
        case "randFeat":
            return _any_value(batch, call, first)
        case "abs":
            number = _number(batch, call, first)
            return CaseValues(np.abs(number.data), number.bad)
        case _:
            return _of_two(batch, call, first, evaluate(call.arguments[1], batch))


def _feature_of(call: FunctionCall) -> str | int:
    """The feature that ``getFeat``, ``setFeat`` or ``randFeat`` names."""
    node = call.arguments[1]
    assert isinstance(node, ScalarLiteral)
    assert isinstance(node.value, str | int)
    return node.value


def _of_two(batch: CaseEvaluation, call: FunctionCall, first: CaseValues, second: CaseValues) -> CaseValues:
    if call.function == "strConcat":
        for side in (first, second):
            if not is_column(side):
                side = present_record(batch, side, "strConcat(...)", call.place)
                wrong = np.ones(batch.n, dtype=bool)
                batch.note(wrong, side.bad, "strConcat(...) takes texts, not records", call.place)
                return CaseValues(np.full(batch.n, "", dtype=object), wrong)
        texts, long = _joined_text(first.data, second.data)
        why = f"a text of more than {LONGEST_TEXT:,} characters"
        bad = batch.note(long, either(first.bad, second.bad), why, call.place)
        return CaseValues(batch.joined(texts, call.place), bad)
    low, high = _number(batch, call, first), _number(batch, call, second)
    match call.function:
        case "randInt":
            return _chosen(batch, call, "whole", low, high)
        case "randReal":
            return _chosen(batch, call, "real", low, high)
        case _:
            pick: Callable[..., Any] = np.minimum if call.function == "min" else np.maximum
            return CaseValues(pick(low.data, high.data), either(low.bad, high.bad))


def _number(batch: CaseEvaluation, call: FunctionCall, value: CaseValues) -> CaseValues:
    """A value as numbers; a missing value stays missing, and anything else fails."""
    if not is_column(value):
        bad = np.ones(batch.n, dtype=bool)
        batch.note(bad, value.bad, f"{call.function}(...) takes numbers, not records", call.place)
        return CaseValues(np.zeros(batch.n), bad)
    if value.data.dtype.kind in "biuf":
        return value
    numbers, other = np.full(batch.n, np.nan), np.zeros(batch.n, dtype=bool)
    for index, item in enumerate(value.data.tolist()):
        if isinstance(item, int | float):
            numbers[index] = item
        else:
            other[index] = item is not None
    why = f"{call.function}(...) takes numbers, but got something else"
    return CaseValues(numbers, batch.note(other, value.bad, why, call.place))


def _chosen(
    batch: CaseEvaluation, call: FunctionCall, kind: ChoiceKind, low: CaseValues, high: CaseValues
) -> CaseValues:
    ends = [np.asarray(end.data, dtype=np.float64) for end in (low, high)]
    endless = np.logical_or(*(np.abs(end) > LARGEST for end in ends))
    why = f"{call.function}(...) needs finite ends"
    unknown = batch.note(endless, either(low.bad, high.bad), why, call.place)
    if unknown is not None:
        # Nothing can be chosen, and the case has failed; a single choice makes sure that it is counted just once.
        ends = [np.where(unknown, 0.0, end) for end in ends]
    values, empty = batch.choices.choose(kind, *ends)
    batch.empty |= empty if unknown is None else empty & ~unknown
    return CaseValues(values, either(unknown, empty))


def _any_value(batch: CaseEvaluation, call: FunctionCall, record: CaseValues) -> CaseValues:
    """One of the values that a feature has anywhere in the domain."""
    values = batch.domain.values(batch.domain.feature(_feature_of(call)))
    low, high = np.zeros(batch.n), np.full(batch.n, len(values) - 1.0)
    positions, empty = batch.choices.choose("whole", low, high)
    batch.empty |= empty
    column = column_from(list(values), "the values of a feature")[np.clip(positions, 0, len(values) - 1)]
    return CaseValues(column, either(record.bad, empty))


def _joined_text(left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], Booleans]:
    """Concatenated texts, and where they would be too long; they are left out there."""
    texts: list[str] = []
    long = np.zeros(len(left), dtype=bool)
    for index, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        parts = ["" if part is None else str(part) for part in pair]
        long[index] = sum(map(len, parts)) > LONGEST_TEXT
        texts.append("" if long[index] else "".join(parts))
    return np.fromiter(texts, dtype=object, count=len(texts)), long


ENOUGH = 8
"""Where a function raises in all of this many cases, the function is at fault, not the cases."""


class FunctionAlwaysRaisedError(DataError):
    """A function raised in every case of a batch: an error of the audit, unless the cases were chosen, not drawn.

    Attributes
    ----------
    why, cases
        What it raised, and in how many cases.
    """

    def __init__(self, message: str, why: str = "", cases: int = 0) -> None:
        super().__init__(message)
        self.why, self.cases = why, cases


def _call_custom(batch: CaseEvaluation, call: FunctionCall, function: Function) -> CaseValues:
    """Call a function for every case of a batch.

    A function of one case is given ``None`` for a missing record; a function of whole batches cannot be, so such a case
    has failed.
    """
    values = [evaluate(argument, batch) for argument in call.arguments]
    if not function.single:
        lacking = [not is_column(value) and value.null is not None for value in values]
        values = [
            present_record(batch, value, f"{call.function}(...)", call.place) if lacks else value
            for value, lacks in zip(values, lacking, strict=True)
        ]
    bad = either(*(value.bad for value in values))
    if function.random:
        seeds, _ = batch.choices.choose("seed", np.zeros(batch.n), np.zeros(batch.n))
        values.append(CaseValues(seeds))
    if function.single:
        return _one_by_one(batch, call, function, values, bad)
    arguments = [value.data for value in values]
    if function.asks:
        arguments.append(partial(_predictions, batch))
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
        bad = either(bad, none)
    return CaseValues(_checked(batch, call, result), bad)


def _checked(batch: CaseEvaluation, call: FunctionCall, result: Any) -> Any:
    values = column_from(result, f"{call.function}(...)") if isinstance(result, list) else result
    sized = isinstance(values, Sized)
    if not sized or len(values) != batch.n:
        given = f"{len(values):,}" if sized else f"a {type(values).__name__}"
        raise DataError(
            f"expected {call.function}(...) to give a result for each of {batch.n:,} cases, but got {given}"
        )
    return values


def _predictions(batch: CaseEvaluation, table: Table) -> Answers:
    """The model's predictions for a function of the domain."""
    assert batch.ask is not None
    return batch.ask("predict", table)


def _answered(batch: CaseEvaluation, answers: Answers, bad: Booleans | None) -> CaseValues:
    """Answers as a value; why one is missing is noted, unless there was no valid question in the first place."""
    data, why = answers
    if why is None:
        return CaseValues(data, bad)
    for reason in dict.fromkeys(why):
        if reason is not None:
            here = np.asarray(why == reason, dtype=bool)
            batch.note(here, bad, str(reason), None)
    return CaseValues(data, either(bad, np.array([reason is not None for reason in why], dtype=bool)))


def _one_by_one(
    batch: CaseEvaluation, call: FunctionCall, function: Function, values: list[CaseValues], bad: Booleans | None
) -> CaseValues:
    """Call a function of one case for every case, and note in which it raised.

    A record is passed in and returned as its plain values, or as the object that it is; a missing one is ``None``.
    """
    results: list[Any] = [None] * batch.n
    why: dict[str, list[int]] = {}
    skipped = np.zeros(batch.n, dtype=bool) if bad is None else bad
    tried = np.flatnonzero(~skipped).tolist()
    for index in tried:
        try:
            results[index] = function.call(*(_single(batch, value, index) for value in values))
        except Exception as error:
            why.setdefault(f"{call.function}(...) raised {type(error).__name__}: {error}", []).append(index)
    raised = np.zeros(batch.n, dtype=bool)
    for reason, indices in why.items():
        here = np.zeros(batch.n, dtype=bool)
        here[indices] = True
        raised |= here
        batch.fault(here, reason, call.place)
    if tried and raised[tried].all() and len(tried) >= ENOUGH:
        reason = next(iter(why))
        where = f" (line {call.place.line})" if call.place is not None else ""
        raise FunctionAlwaysRaisedError(f"{reason}. It did so in every case", f"{reason}{where}", len(tried))
    made = _as_values(batch, call, function, results, raised | skipped)
    return CaseValues(made.data, either(bad, raised), made.null)


def _as_values(
    batch: CaseEvaluation, call: FunctionCall, function: Function, results: list[Any], none: Booleans
) -> CaseValues:
    """The results as records or as a column; where one is missing, any other stands in for it."""
    present = [result for result, lacks in zip(results, none.tolist(), strict=True) if not lacks]
    good = next((result for result in present if result is not None), None)
    if good is not None:
        gone = np.array([result is None for result in results], dtype=bool)
        filled = [good if lacks else result for result, lacks in zip(results, (gone | none).tolist(), strict=True)]
        records = _as_records(batch, function, filled)
        if records is not None:
            return CaseValues(records, null=either(gone & ~none))
    filled = [good if lacks else result for result, lacks in zip(results, none.tolist(), strict=True)]
    return CaseValues(objects_column(filled, f"{call.function}(...)"))


def _as_records(batch: CaseEvaluation, function: Function, items: list[Any]) -> Any | None:
    """Results as records; ``None`` where they are other values."""
    many = DomainFacts.of(batch.domain).many
    if many is not None:
        return many(items) if function.gives in {"record", "anything"} else None
    if function.gives in {"record", "anything"} and all(isinstance(item, Mapping) for item in items):
        return batch.domain.restore(items)
    return None


def objects_column(values: list[Any], what: str) -> NDArray[Any]:
    """A column of any values: numbers, texts and truth values in their own form, all others as objects."""
    if all(value is None or isinstance(value, str | bool | int | float | np.generic) for value in values):
        return column_from(values, what)
    return np.fromiter(values, dtype=object, count=len(values))


def _single(batch: CaseEvaluation, value: CaseValues, index: int) -> Any:
    if is_column(value):
        return value.data[index : index + 1].tolist()[0]
    if value.null is not None and value.null[index]:
        return None
    return one_record(batch.domain)(value.data, index)

"""Computing expressions for whole batches of cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.operators import arithmetic, compare, missing
from isonomia.audits.ksafety.supply import Supply
from isonomia.audits.ksafety.values import Answered, Booleans, Value, either, is_column, truth
from isonomia.errors import Place
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.scope import CONSTANTS
from isonomia.spec.nomos.tree import Binary, Call, Constant, Expression, Feature, Name, Scalar, Unary, Update

__all__ = ["Batch", "constant_column", "evaluate", "joined", "tested"]


@dataclass(slots=True)
class Batch:
    """A batch of cases while it is computed.

    Attributes
    ----------
    n
        How many cases there are.
    domain
        Where the inputs come from.
    known
        The value of every name so far.
    supply
        Where random choices come from.
    ask
        Asks the model about records: ``ask("predict", records)``; ``None`` before the model may be asked.
    call
        Calls a function of the language or the domain by name.
    empty
        Cases in which a random choice had nothing to choose from.
    faults
        What could not be computed, in words, and for which cases.
    """

    n: int
    domain: Domain
    known: dict[str, Value]
    supply: Supply
    call: Callable[[Batch, Call], Value]
    ask: Callable[[str, Any], Answered] | None = None
    empty: Booleans = field(default_factory=lambda: np.zeros(0, dtype=bool))
    faults: list[tuple[str, Booleans]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.empty = np.zeros(self.n, dtype=bool)

    def fault(self, bad: Booleans | None, why: str, place: Place | None) -> None:
        """Note that something could not be computed for some cases."""
        if bad is not None and bad.any():
            where = f" (line {place.line})" if place is not None else ""
            self.faults.append((f"{why}{where}", bad))


def evaluate(node: Expression, batch: Batch) -> Value:
    """The value of an expression for every case of a batch."""
    match node:
        case Constant():
            return Value(constant_column(node.value, batch.n))
        case Name():
            return batch.known[node.name] if node.name in batch.known else _named(node, batch)
        case Feature():
            return read_feature(batch, evaluate(node.record, batch), node.feature, node.place)
        case Update():
            record, value = evaluate(node.record, batch), evaluate(node.value, batch)
            return write_feature(batch, record, node.feature, value, node.place)
        case Call():
            return batch.call(batch, node)
        case Unary(operator="!"):
            met, none = tested(evaluate(node.operand, batch), batch, node.place)
            return Value(~met, none if none.any() else None)
        case Unary():
            return _arithmetic(
                "-", Value(constant_column(0, batch.n)), evaluate(node.operand, batch), batch, node.place
            )
        case Binary():
            return _binary(node, batch)


def tested(met: Value, batch: Batch, place: Place | None) -> tuple[Booleans, Booleans]:
    """Where a condition is true, and where it has no value; a text is neither true nor false."""
    none = np.zeros(batch.n, dtype=bool) if met.bad is None else met.bad
    if met.data.dtype.kind in "OU":
        texts = np.array([isinstance(item, str) for item in met.data.tolist()], dtype=bool) & ~none
        batch.fault(texts, "a text came where something true or false was expected", place)
        none = none | texts
    return truth(met), none


def read_feature(batch: Batch, record: Value, feature: str | int, place: Place | None) -> Value:
    """A feature of every record."""
    data, bad = batch.domain.get(record.data, batch.domain.feature(feature))
    batch.fault(bad, f"the feature {feature!r} has no single value", place)
    return Value(data, either(record.bad, bad))


def write_feature(batch: Batch, record: Value, feature: str | int, value: Value, place: Place | None) -> Value:
    """Every record with a feature set."""
    name = batch.domain.feature(feature)
    data, bad = batch.domain.set(record.data, name, value.data)
    worse = bad if bad is None or value.bad is None else bad & ~value.bad
    batch.fault(worse, f"the feature {feature!r} cannot be set to such a value", place)
    return Value(data, either(record.bad, value.bad, bad))


def constant_column(value: Scalar, n: int) -> NDArray[Any]:
    """The same value for every case."""
    if isinstance(value, str) or value is None or (isinstance(value, int) and abs(value) >= 2**63):
        column = np.empty(n, dtype=object)
        column[:] = value
        return column
    return np.full(n, value)


def _named(node: Name, batch: Batch) -> Value:
    return Value(constant_column(CONSTANTS[node.name], batch.n))


def _binary(node: Binary, batch: Batch) -> Value:
    left, right = evaluate(node.left, batch), evaluate(node.right, batch)
    match node.operator:
        case "&&" | "||" | "==>":
            sides = (tested(side, batch, node.place) for side in (left, right))
            return joined(node.operator, *(Value(met, none if none.any() else None) for met, none in sides))
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return _compared(node, left, right, batch)
        case _:
            return _arithmetic(node.operator, left, right, batch, node.place)


def joined(sign: str, left: Value, right: Value) -> Value:
    """Left to right: where the left side settles it, it does not matter that the right side has no value."""
    first, second = truth(left), truth(right)
    settled = first if sign == "||" else ~first
    match sign:
        case "&&":
            result = first & second
        case "||":
            result = first | second
        case _:
            result = ~first | second
    right_bad = None if right.bad is None else right.bad & ~settled
    return Value(result, either(left.bad, right_bad))


def _compared(node: Binary, left: Value, right: Value, batch: Batch) -> Value:
    bad = either(left.bad, right.bad)
    if not is_column(left):
        same = batch.domain.equal(left.data, right.data)
        return Value(same if node.operator == "==" else ~same, bad)
    for side, other in ((node.left, right), (node.right, left)):
        if isinstance(side, Constant) and side.value is None:
            gone = missing(other.data)
            return Value(gone if node.operator == "==" else ~gone, bad)
    result, worse, why = compare(node.operator, left.data, right.data)
    return Value(result, _noted(batch, worse, bad, why, node.place))


def _arithmetic(sign: str, left: Value, right: Value, batch: Batch, place: Place | None) -> Value:
    bad = either(left.bad, right.bad)
    result, worse, why = arithmetic(sign, left.data, right.data)
    return Value(result, _noted(batch, worse, bad, why, place))


def _noted(
    batch: Batch, worse: Booleans | None, bad: Booleans | None, why: str, place: Place | None
) -> Booleans | None:
    """Note what went wrong here, but not what follows from something that went wrong before."""
    if worse is not None:
        batch.fault(worse if bad is None else worse & ~bad, why, place)
    return either(bad, worse)

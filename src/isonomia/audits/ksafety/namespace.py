"""What a block that is run as Python finds: its inputs and variables, and functions that ask, read, set and draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from isonomia.audits.ksafety.evaluate import Batch, constant_column
from isonomia.audits.ksafety.functions import BUILT_IN
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.supply import Drawn
from isonomia.audits.ksafety.values import Value, is_column
from isonomia.errors import UsageError
from isonomia.populations.domains import Function
from isonomia.spec.nomos.scope import CONSTANTS
from isonomia.spec.nomos.tree import Call, Constant, Name

__all__ = ["Asking", "Record", "block_names"]


@dataclass(frozen=True, slots=True)
class Asking:
    """A question to the model that waits for others of its kind to be asked together.

    Attributes
    ----------
    what
        The function that asks: ``predict``, ``score``, or one of the domain, such as ``play``.
    arguments
        What it was called with, in this case.
    seed
        What it draws from; 0 where it draws nothing.
    """

    what: str
    arguments: tuple[Value, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One record, as a block sees it: ``x["age"]`` reads a feature."""

    batch: Batch
    data: Any

    def __getitem__(self, feature: str | int) -> Any:
        value, _ = self.batch.domain.get(self.data, self.batch.domain.feature(feature))
        return value.tolist()[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and bool(self.batch.domain.equal(self.data, other.data)[0])


def block_names(program: Program, batch: Batch, case: int, seed: int, ask: Callable[[Asking], Any]) -> dict[str, Any]:
    """Every name that a block may use, for one case."""
    one = np.array([case], dtype=np.intp)
    single = Batch(1, batch.domain, {}, Drawn(np.random.default_rng(seed)), batch.call)
    functions: dict[str, Any] = {
        name: _function(name, single)
        for name in (*BUILT_IN, *batch.domain.functions)
        if name not in {"abs", "min", "max"}
    }
    functions |= {what: _asker(what, ask) for what in ("predict", "score")}
    functions |= {
        name: _player(name, function, single, ask) for name, function in batch.domain.functions.items() if function.asks
    }
    names: dict[str, Any] = {**CONSTANTS, **functions}
    names |= {name: SimpleNamespace(**functions) for name in program.spec.imports}
    for name, value in batch.known.items():
        if name.isidentifier():
            names[name] = _plain(value.take(one), single)
    return names


def _asker(what: str, ask: Callable[[Asking], Any]) -> Callable[[Any], Any]:
    def asked(record: Any) -> Any:
        if not isinstance(record, Record):
            raise UsageError(f"{what}(...) takes a record, but {record!r} of type {type(record).__name__} came")
        return ask(Asking(what, (Value(record.data),)))

    return asked


def _player(name: str, function: Function, batch: Batch, ask: Callable[[Asking], Any]) -> Callable[..., Any]:
    """A function of the domain that asks the model: it waits until all cases have got as far."""

    def asked(*arguments: Any) -> Any:
        seed = 0
        if function.random:
            drawn, _ = batch.supply.choose("seed", np.zeros(1), np.zeros(1))
            seed = int(drawn[0])
        return ask(Asking(name, tuple(_value(argument) for argument in arguments), seed))

    return asked


def _function(name: str, batch: Batch) -> Callable[..., Any]:
    """A function of the language or the domain, for one case."""

    def called(*arguments: Any) -> Any:
        nodes: list[Name | Constant] = []
        batch.known.clear()
        batch.empty[:] = False
        for number, argument in enumerate(arguments):
            if number == 1 and name in {"getFeat", "setFeat", "randFeat"}:
                nodes.append(Constant(argument))
                continue
            batch.known[f"argument {number}"] = _value(argument)
            nodes.append(Name(f"argument {number}"))
        found = batch.call(batch, Call(name, tuple(nodes)))
        if found.bad is not None and found.bad.any():
            raise ValueError(f"{name}(...) has no value here")
        return _plain(found, batch)

    return called


def _value(argument: Any) -> Value:
    return Value(argument.data) if isinstance(argument, Record) else Value(constant_column(argument, 1))


def _plain(value: Value, batch: Batch) -> Any:
    return value.data.tolist()[0] if is_column(value) else Record(batch, value.data)

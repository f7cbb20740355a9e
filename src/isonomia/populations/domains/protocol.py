"""What every domain can do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.table import Table, offers

Kind: TypeAlias = OneOf["record", "number", "text", "truth", "anything"]
"""What a value is, as far as it can be known before anything is computed."""

Marked: TypeAlias = tuple[Any, "NDArray[np.bool_] | None"]
"""Values, and which cases have none; ``None`` if all have one."""

Ask: TypeAlias = "Callable[[Table], tuple[NDArray[Any], NDArray[Any] | None]]"
"""Queries the model about a batch: its predictions, and for each row why it is missing; ``None`` if all have one."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a specification may call.

    Attributes
    ----------
    call
        Takes whole batches, records or columns, and returns one: a result per case. It may also return a pair: the
        results, and which cases have none; such cases are rejected, as by a precondition.
    takes
        How many arguments a specification writes: a number, or the least and the most.
    gives
        What kind of value it returns.
    random
        Whether it is random: then ``call`` gets one more argument, a column of seeds, and its only randomness may come
        from these, so that a case can be repeated.
    single
        Whether ``call`` takes one case at a time instead: slower, but easier to write.
    asks
        Whether it asks the model, as a game asks a policy at every step: then ``call`` gets an :data:`Ask` as its last
        argument, and returns a pair like it: the results, and why one is missing. Only a block may call it, and the
        calls of all cases are gathered into one.
    """

    call: Callable[..., Any]
    takes: int | tuple[int, int]
    gives: Kind = "anything"
    random: bool = False
    single: bool = False
    asks: bool = False


def as_function(value: Any, written: int | None = None) -> Function:
    """A function of the domain, as it is or made from a Python function of one case.

    It takes as many arguments as a specification writes, if it can, and otherwise as few as possible.
    """
    if isinstance(value, Function):
        return value
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"expected a Python function of one case or a Function, but got {value!r}: {error}") from None
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


class Records(Protocol):
    """A batch of records: rows, images, sounds, states."""

    def __len__(self) -> int:
        """How many there are."""

    def take(self, indices: NDArray[np.intp]) -> Records:
        """The records at these positions, in this order."""


class Domain(Protocol):
    """Where inputs come from and what can be done with them.

    Everything works on batches. Transformations give new records and leave the old ones alone.

    A domain may also have ``fingerprint()`` and what :class:`DomainFacts` lists.
    """

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def size(self) -> int:
        """How many inputs there are."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """What a specification may call besides the functions of the language."""

    def inputs(self, indices: NDArray[np.intp]) -> Records:
        """The inputs at these positions."""

    def feature(self, feature: str | int) -> str:
        """The name of a feature, given by name or by number; raises DataError, listing the known ones."""

    def kind(self, feature: str) -> Kind:
        """What kind of value a feature has."""

    def values(self, feature: str) -> tuple[Any, ...]:
        """The values that a feature can be set to, if it has finitely many: those that occur."""

    def get(self, records: Any, feature: str) -> Marked:
        """A feature of every record, and where it has none."""

    def set(self, records: Any, feature: str, values: NDArray[Any]) -> Marked:
        """The same records with a feature set, and where that is impossible."""

    def label(self, records: Any) -> NDArray[Any]:
        """The right answer for every record, if the domain knows it; raises DataError otherwise."""

    def concatenate(self, parts: Sequence[Any]) -> Records:
        """Several batches as one."""

    def equal(self, left: Any, right: Any) -> NDArray[np.bool_]:
        """Which records are the same."""

    def distance(self, left: Any, right: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many features differ, and how far apart they are in total, each feature on its own scale."""

    def show(self, records: Any, index: int) -> dict[str, Any]:
        """One record as plain values that JSON can hold."""

    def restore(self, shown: Sequence[Mapping[str, Any]]) -> Records:
        """The records that were shown; raises DataError if one does not fit."""

    def unique(self, records: Any) -> NDArray[np.intp] | None:
        """A number for each record, the same only for records that the model cannot tell apart; ``None`` if unknown."""

    def table(self, records: Any) -> Table:
        """What the model is given."""


@dataclass(frozen=True, slots=True)
class DomainFacts:
    """What a domain may have beyond the protocol; the defaults are those of one that has nothing.

    Attributes
    ----------
    what
        What one record is called.
    part
        The name under which :meth:`Domain.show` gives the numbers of an array.
    continuous
        Whether the model answers with several numbers for each record.
    together
        The maximum number of records that the model is given at once; ``None`` for any number.
    one
        ``one(records, index)`` is one record as a function of one case takes it; ``None`` for what is shown of it.
    many
        ``many(items)`` makes records of the results of such a function, ``None`` if they are other values.
    edge_cases
        ``edge_cases(rows, most, rng)`` are those of these inputs at the ends of their ranges, at most ``most``.
    difference
        ``difference(before, after, index)`` says where two records differ, as ``[before, after]`` by name, if their
        shown values say too much.
    """

    what: str = "input"
    part: str = "array"
    continuous: bool = False
    together: int | None = None
    one: Callable[[Any, int], Any] | None = None
    many: Callable[[Sequence[Any]], Any] | None = None
    edge_cases: Callable[[NDArray[np.intp], int, np.random.Generator], Any] | None = None
    difference: Callable[[Any, Any, int], Mapping[str, list[Any]]] | None = None

    @classmethod
    def of(cls, domain: Domain) -> DomainFacts:
        """The facts of a domain; a user's own may have any of them."""
        own: dict[str, Any] = {each.name: getattr(domain, each.name, each.default) for each in fields(cls)}
        return cls(**own)


@dataclass(frozen=True, eq=False)
class ExtendedDomain:
    """Does what a domain does, and offers more functions."""

    domain: Domain
    functions: Mapping[str, Function]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.domain, name)


def inner_domain(domain: Any) -> Any:
    """The domain itself, without the functions that were added to it."""
    return domain.domain if isinstance(domain, ExtendedDomain) else domain


def one_record(domain: Domain) -> Callable[[Any, int], Any]:
    """How to take one record out of a batch, as a function of one case takes it."""
    return DomainFacts.of(domain).one or domain.show


def is_domain(value: object) -> bool:
    """Whether something is a domain rather than a population."""
    return offers(value, "inputs", "functions", "feature", "concatenate")

"""Measures: quantities built with Python operators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from isonomia.errors import UsageError
from isonomia.spec import construct
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Comparison, Constant, Quantity, Relation

__all__ = ["Measure", "MeasureLike", "quantity_of"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measure:
    """A number about the population: a rate, a mean, or arithmetic on them.

    The operators ``+ - * / **`` and ``abs`` build larger measures; ``< <= > >=`` and :meth:`between` give a property.
    """

    node: Quantity

    # NumPy's scalars must leave the operators to this class.
    __array_ufunc__: ClassVar[None] = None
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Measure({to_text(self.node)})"

    def __bool__(self) -> NoReturn:
        raise UsageError(f"`{to_text(self.node)}` is not known before it is checked, so it cannot stand in a condition")

    def __eq__(self, other: object) -> NoReturn:
        raise UsageError(
            "quantities known from samples are never shown to be exactly equal: write abs(x - y) <= tolerance"
        )

    def __ne__(self, other: object) -> NoReturn:
        self.__eq__(other)

    def __lt__(self, other: MeasureLike) -> Property:
        return _compare(self, "<", other)

    def __le__(self, other: MeasureLike) -> Property:
        return _compare(self, "<=", other)

    def __gt__(self, other: MeasureLike) -> Property:
        return _compare(self, ">", other)

    def __ge__(self, other: MeasureLike) -> Property:
        return _compare(self, ">=", other)

    def between(self, low: MeasureLike, high: MeasureLike) -> Property:
        """The property that the measure is at least ``low`` and at most ``high``."""
        return Property(Comparison(quantity_of(low), (("<=", self.node), ("<=", quantity_of(high)))))

    def __add__(self, other: MeasureLike) -> Measure:
        return _arithmetic("+", self, other)

    def __radd__(self, other: MeasureLike) -> Measure:
        return _arithmetic("+", other, self)

    def __sub__(self, other: MeasureLike) -> Measure:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: MeasureLike) -> Measure:
        return _arithmetic("-", other, self)

    def __mul__(self, other: MeasureLike) -> Measure:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: MeasureLike) -> Measure:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: MeasureLike) -> Measure:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: MeasureLike) -> Measure:
        return _arithmetic("/", other, self)

    def __pow__(self, exponent: MeasureLike) -> Measure:
        return Measure(construct.power(self.node, quantity_of(exponent)))

    def __neg__(self) -> Measure:
        return Measure(construct.negative(self.node))

    def __abs__(self) -> Measure:
        return Measure(construct.extreme("abs", (self.node,)))


MeasureLike: TypeAlias = Measure | int | float | np.number[Any]


def quantity_of(value: Any) -> Quantity:
    """The quantity that a measure holds, or a constant of a plain number.

    Raises
    ------
    UsageError
        For anything else.
    """
    if isinstance(value, Measure):
        return value.node
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not _is_finite(plain):
        raise UsageError(
            f"expected P(...), E(...), an expression over them or a finite number, but got {value!r} of type "
            f"{type(value).__name__}"
        )
    return Constant(float(plain))


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _compare(left: Measure, relation: Relation, right: Any) -> Property:
    return Property(Comparison(left.node, ((relation, quantity_of(right)),)))


def _arithmetic(sign: construct.Sign, left: Any, right: Any) -> Measure:
    return Measure(construct.arithmetic(sign, quantity_of(left), quantity_of(right)))

"""Equations written in Python: a function of the parents' columns and of noise, or categories without parents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.table import column_from
from isonomia.populations.worlds.run import DisjointIntervals, PathFrame
from isonomia.spec.tree import Value

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal noise.

    Attributes
    ----------
    mean, deviation
        Its mean and its standard deviation.
    """

    mean: float = 0.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (np.isfinite(self.mean) and np.isfinite(self.deviation) and self.deviation > 0):
            raise UsageError(
                f"expected Normal(mean, deviation) with a deviation above 0, but got {self!r}", name="Normal"
            )


@dataclass(frozen=True, slots=True)
class Uniform:
    """Noise that is uniform between two numbers.

    Attributes
    ----------
    low, high
        The two numbers.
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise UsageError(f"expected Uniform(low, high) with low below high, but got {self!r}", name="Uniform")


@dataclass(frozen=True, slots=True)
class Custom:
    """Noise drawn by the user's own function.

    Attributes
    ----------
    draw
        ``draw(n, rng)`` gives one value for each of ``n`` people, drawing with ``rng`` and nothing else.
    """

    draw: Callable[[int, np.random.Generator], Any]


Noise: TypeAlias = Normal | Uniform | Custom

STANDARD = Normal()


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation with a chosen kind of noise, and its inverse.

    Attributes
    ----------
    function
        Gives the variable's column from the columns of its parents, which are the names of its parameters, and from
        ``noise`` if it has a parameter of that name.
    noise
        The distribution of ``noise``.
    inverse
        Gives the noise from ``value`` and the columns of the parents, by name. Without it, counterfactuals cannot be
        computed for real people, only for drawn ones.
    """

    function: Callable[..., Any]
    noise: Noise = STANDARD
    inverse: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Additive:
    """``function(parents) + noise``, which can always be inverted.

    Attributes
    ----------
    function
        Gives the variable's column from the columns of its parents, which are the names of its parameters.
    noise
        What is added; standard normal by default.
    """

    function: Callable[..., Any]
    noise: Noise = STANDARD


@dataclass(frozen=True)
class Categories:
    """One of several values, each with its probability, whatever the other variables are.

    Attributes
    ----------
    shares
        The values and their probabilities, which add up to 1.
    """

    shares: Mapping[Value, float]

    def __post_init__(self) -> None:
        """Check the probabilities."""
        if not isinstance(self.shares, Mapping) or not _are_shares(self.shares.values()):
            raise UsageError(
                "expected Categories({value: probability, ...}), such as Categories({'F': 0.5, 'M': 0.5}), but got "
                f"{self.shares!r}",
                name="Categories",
            )
        if abs(sum(self.shares.values()) - 1.0) > 1e-6:
            raise UsageError(
                f"expected probabilities that add up to 1, but those of {self.shares!r} add up to "
                f"{sum(self.shares.values()):g}",
                name="Categories",
            )

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """The noise, from 0 to 1, at which one value ends and the next begins."""
        sums = np.concatenate([[0.0], np.cumsum(list(self.shares.values()))])
        return np.asarray(sums / sums[-1])

    @cached_property
    def values(self) -> Array:
        """The values, in order."""
        listed = list(self.shares)
        return (
            column_from(listed, "categories")
            if not any(isinstance(value, str) for value in listed)
            else np.asarray(listed, dtype=object)
        )

    def intervals(self, wanted: Iterable[Value]) -> DisjointIntervals:
        """The noise that gives one of the wanted values."""
        chosen = set(wanted)
        pieces = zip(self.shares, self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True)
        return DisjointIntervals(tuple((low, high) for value, low, high in pieces if value in chosen and low < high))

    def at(self, share: NDArray[np.float64]) -> Array:
        """The value for each share of noise."""
        return self.values[np.clip(np.searchsorted(self.edges, share, side="right") - 1, 0, len(self.values) - 1)]

    def noise_behind(self, values: Array) -> NDArray[np.float64]:
        """Noise that gives these values: the middle of the interval, since nothing else depends on where it lies.

        It is NaN where a value is not one of the categories, or is one that never occurs.
        """
        noise = np.full(len(values), np.nan)
        for value, low, high in zip(self.values, self.edges[:-1], self.edges[1:], strict=True):
            if low < high:
                noise[values == value] = 0.5 * (low + high)
        return noise


def _are_shares(shares: Collection[Any]) -> bool:
    numbers = all(isinstance(share, int | float | np.number) for share in shares)
    return bool(shares) and numbers and all(share >= 0 for share in shares)


def mechanism_of(target: str, equation: Callable[..., Any] | Equation | Additive | Categories) -> WorldEquation:
    """Make a mechanism from a Python equation, whose parents are its parameters."""
    if isinstance(equation, Categories):
        return WorldEquation(target, (), equation, takes_noise=False)
    written = equation if isinstance(equation, Equation | Additive) else Equation(equation)
    if not callable(written.function):
        raise UsageError(
            f"expected the equation of {target!r} as text or a function, but got {written.function!r}", name=target
        )
    try:
        parameters = inspect.signature(written.function).parameters
    except (TypeError, ValueError):
        raise UsageError(
            f"expected an equation of {target!r} whose parameters can be read, but {written.function!r} hides them: "
            "wrap it, lambda parent, noise: function(parent, noise)",
            name=target,
        ) from None
    for name, parameter in parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise UsageError(
                f"expected the parents of {target!r} as named parameters of its equation, but {name!r} is {parameter}",
                name=target,
            )
    parents = tuple(name for name in parameters if name != "noise")
    if isinstance(written, Equation) and written.inverse is not None and "value" in parents:
        raise UsageError(
            f"expected parents of {target!r} other than 'value', which is the inverse's parameter for "
            "the value: rename the variable 'value'",
            name="value",
        )
    if isinstance(written, Additive) and "noise" in parameters:
        raise UsageError(
            f"expected Additive(function) of {target!r} without a parameter 'noise': it is added to it", name="noise"
        )
    return WorldEquation(target, parents, written, "noise" in parameters)


@dataclass(frozen=True, slots=True)
class WorldEquation:
    """An equation in a model: the variable that it sets, those that it reads, and whether it takes ``noise``."""

    target: str
    parents: tuple[str, ...]
    equation: Equation | Additive | Categories
    takes_noise: bool

    @property
    def random(self) -> bool:
        """Whether the equation has noise."""
        return self.takes_noise or not isinstance(self.equation, Equation)

    @property
    def lacks_inverse(self) -> bool:
        """Whether there is noise, but no inverse to compute it."""
        return isinstance(self.equation, Equation) and self.takes_noise and self.equation.inverse is None

    def run(self, frame: PathFrame) -> Array:
        """The variable's column."""
        if isinstance(self.equation, Categories):
            return self.equation.at(frame.run.share((self.target, 0), frame))
        arguments = self.arguments(frame)
        if isinstance(self.equation, Additive):
            return np.asarray(self._numbers(arguments, frame.rows) + self.noise(frame))
        if self.takes_noise:
            arguments["noise"] = self.noise(frame)
        return self._called(self.equation.function, arguments, frame.rows)

    def arguments(self, frame: PathFrame) -> dict[str, Any]:
        """The parents' columns."""
        return {name: _read_only(np.asarray(frame.read(name)), frame.rows) for name in self.parents}

    def noise(self, frame: PathFrame) -> Array:
        """The noise of each person."""
        site, stored, rng = (self.target, 0), frame.run.stored, frame.run.rng
        match self._kind_of_noise:
            case Normal(mean, deviation):
                standard = rng.standard_normal(frame.rows) if stored is None else stored.normal(site)
                return np.asarray(mean + deviation * standard)
            case Uniform(low, high):
                share = rng.random(frame.rows) if stored is None else stored.share(site)
                return np.asarray(low + (high - low) * share)
            case Custom():
                drawn = self._custom(frame.rows, rng) if stored is None else stored.other(site, self._custom)
                return _read_only(drawn, frame.rows)

    def abduct(self, frame: PathFrame) -> Array | None:
        """The noise that follows from the values of the target and of its parents; ``None`` without an inverse."""
        value, arguments = np.asarray(frame.read(self.target)), self.arguments(frame)
        if isinstance(self.equation, Categories):
            return self.equation.noise_behind(value)
        if isinstance(self.equation, Additive):
            if value.dtype.kind not in "biuf":
                raise DataError(
                    f"expected numbers for {self.target!r}, but the table has {value[0]!r}", name=self.target
                )
            return np.asarray(value - self._numbers(arguments, frame.rows))
        if self.equation.inverse is None:
            return None
        return self._called(self.equation.inverse, {**arguments, "value": value}, frame.rows, "inverse of the equation")

    def store(self, frame: PathFrame, noise: Array) -> None:
        """Store noise for later runs."""
        stored, site = frame.run.stored, (self.target, 0)
        if stored is None:
            raise AssertionError("abducted noise is always stored")
        match self._kind_of_noise:
            case Normal(mean, deviation):
                stored.normals[site] = np.asarray((noise - mean) / deviation, dtype=float)
            case Uniform(low, high):
                stored.shares[site] = np.asarray((noise - low) / (high - low), dtype=float)
            case Custom():
                stored.others[site] = noise

    @property
    def _kind_of_noise(self) -> Noise:
        return Uniform() if isinstance(self.equation, Categories) else self.equation.noise

    def _custom(self, rows: int, rng: np.random.Generator) -> Array:
        noise = self._kind_of_noise
        if not isinstance(noise, Custom):
            raise AssertionError("only noise of a kind of its own has a function")
        return self._called(noise.draw, {}, rows, "noise", rows, rng)

    def _numbers(self, arguments: dict[str, Any], rows: int) -> Array:
        """The numbers from an ``Additive`` equation, before noise is added."""
        if not isinstance(self.equation, Additive):
            raise AssertionError("noise is added to an Additive only")
        column = self._called(self.equation.function, arguments, rows)
        if column.dtype.kind not in "biuf":
            raise DataError(
                f"the equation of {self.target!r} should give numbers to add noise to, not {column[0]!r}",
                name=self.target,
            )
        return column * 1.0

    def _called(
        self, function: Callable[..., Any], arguments: dict[str, Any], rows: int, what: str = "equation", *more: Any
    ) -> Array:
        name = f"the {what} of {self.target!r}"
        try:
            value = function(*more, **arguments)
        except (Exception, SystemExit) as error:
            raise DataError(
                f"{name} should give a column, but raised {type(error).__name__}: {error}", name=self.target
            ) from error
        if value is None:
            raise DataError(f"{name} should give a column, but gave None: does it return its result?", name=self.target)
        column = column_from(np.full(rows, value) if np.ndim(value) == 0 else value, name)
        if column.shape != (rows,):
            raise DataError(
                f"{name} should give one value for each of {rows:,} people, but has shape {column.shape}",
                name=self.target,
            )
        return column


def _read_only(value: Array, rows: int) -> Array:
    """A read-only column for a function; one value for all is expanded to a column.

    Otherwise NumPy might round differently for the single value than for a column of it.
    """
    column = value.view() if value.ndim else np.full(rows, value)
    column.flags.writeable = False
    return column

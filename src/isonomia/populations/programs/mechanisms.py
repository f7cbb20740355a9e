"""Equations written in Python: a function of the parents' columns and of noise."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.programs.intervals import Intervals
from isonomia.populations.programs.running import Frame
from isonomia.spec.tree import Value

__all__ = ["Additive", "Categories", "Custom", "Equation", "Mechanism", "Noise", "Normal", "Uniform", "mechanism_of"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal noise with a mean and a standard deviation."""

    mean: float = 0.0
    deviation: float = 1.0


@dataclass(frozen=True, slots=True)
class Uniform:
    """Noise that is spread evenly between two numbers."""

    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Custom:
    """Noise from a function ``draw(n, rng)`` of one's own that gives one value a person."""

    draw: Callable[[int, np.random.Generator], Any]


Noise: TypeAlias = Normal | Uniform | Custom


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation with noise of its own kind, and how to undo it.

    Attributes
    ----------
    function
        Gives the variable's column from the columns of its parents, which are the names of its parameters, and from
        ``noise`` where it has a parameter of that name.
    noise
        What ``noise`` is.
    inverse
        Gives the noise from ``value`` and the columns of the parents, by name; without one, counterfactuals of real
        people cannot be computed, those of drawn people can.
    """

    function: Callable[..., Any]
    noise: Noise = Normal()
    inverse: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Additive:
    """``function(parents) + noise``, which can always be undone."""

    function: Callable[..., Any]
    noise: Noise = Normal()


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
        if not self.shares or not all(
            isinstance(share, int | float | np.number) and share >= 0 for share in self.shares.values()
        ):
            raise UsageError(f"expected Categories({{value: probability, ...}}), but {self.shares!r} came")
        if abs(sum(self.shares.values()) - 1.0) > 1e-6:
            raise UsageError(
                f"expected probabilities that add up to 1, but those of {self.shares!r} add up to "
                f"{sum(self.shares.values()):g}"
            )

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """The shares of noise at which one value ends and the next begins, from 0 to 1."""
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

    def intervals(self, wanted: Iterable[Value]) -> Intervals:
        """The noise that gives one of some values."""
        chosen = set(wanted)
        pieces = zip(self.shares, self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True)
        return Intervals(tuple((low, high) for value, low, high in pieces if value in chosen and low < high))

    def at(self, share: NDArray[np.float64]) -> Array:
        """The value for each share of noise."""
        return self.values[np.clip(np.searchsorted(self.edges, share, side="right") - 1, 0, len(self.values) - 1)]

    def noise_behind(self, values: Array) -> NDArray[np.float64]:
        """Noise that gives these values: the middle of what does, since nothing else depends on where it lies.

        It is not a number where a value is none of the categories.
        """
        noise = np.full(len(values), np.nan)
        for value, low, high in zip(self.values, self.edges[:-1], self.edges[1:], strict=True):
            noise[values == value] = 0.5 * (low + high)
        return noise


@dataclass(frozen=True, slots=True)
class Mechanism:
    """An equation with its place in a model: the variable that it sets and those that it reads.

    Attributes
    ----------
    target, parents
        The variable it sets, and the variables it reads.
    equation
        What computes it.
    takes_noise
        Whether the equation's function has a parameter ``noise``.
    """

    target: str
    parents: tuple[str, ...]
    equation: Equation | Additive | Categories
    takes_noise: bool

    @property
    def random(self) -> bool:
        """Whether noise takes part."""
        return self.takes_noise or not isinstance(self.equation, Equation)

    @property
    def abduct_needs_inverse(self) -> bool:
        """Whether there is noise that nobody said how to find out."""
        return isinstance(self.equation, Equation) and self.takes_noise and self.equation.inverse is None

    def run(self, frame: Frame) -> Array:
        """The variable's column."""
        if isinstance(self.equation, Categories):
            return self.equation.at(frame.run.share((self.target, 0), frame))
        arguments = self.arguments(frame)
        if isinstance(self.equation, Additive):
            return np.asarray(self._called(self.equation.function, arguments, frame.rows) + self.noise(frame))
        if self.takes_noise:
            arguments["noise"] = self.noise(frame)
        return self._called(self.equation.function, arguments, frame.rows)

    def arguments(self, frame: Frame) -> dict[str, Any]:
        """The parents' columns."""
        return {name: np.broadcast_to(np.asarray(frame.read(name)), (frame.rows,)) for name in self.parents}

    def noise(self, frame: Frame) -> Array:
        """The noise of everybody."""
        site, kept, rng = (self.target, 0), frame.run.kept, frame.run.rng
        match self._kind_of_noise:
            case Normal(mean, deviation):
                standard = rng.standard_normal(frame.rows) if kept is None else kept.normal(site)
                return np.asarray(mean + deviation * standard)
            case Uniform(low, high):
                share = rng.random(frame.rows) if kept is None else kept.share(site)
                return np.asarray(low + (high - low) * share)
            case Custom(draw):
                return draw(frame.rows, rng) if kept is None else kept.other(site, draw)

    def abduct(self, frame: Frame) -> Array | None:
        """The noise that the values of the target and of its parents betray; ``None`` where there is no telling."""
        value, arguments = np.asarray(frame.read(self.target)), self.arguments(frame)
        if isinstance(self.equation, Categories):
            return self.equation.noise_behind(value)
        if isinstance(self.equation, Additive):
            return np.asarray(value - self._called(self.equation.function, arguments, frame.rows))
        if self.equation.inverse is None:
            return None
        return self._called(self.equation.inverse, {"value": value, **arguments}, frame.rows)

    def keep(self, frame: Frame, noise: Array) -> None:
        """Put noise where a later run finds it."""
        kept, site = frame.run.kept, (self.target, 0)
        if kept is None:
            raise AssertionError("abducted noise is always kept")
        match self._kind_of_noise:
            case Normal(mean, deviation):
                kept.normals[site] = np.asarray((noise - mean) / deviation, dtype=float)
            case Uniform(low, high):
                kept.shares[site] = np.asarray((noise - low) / (high - low), dtype=float)
            case Custom():
                kept.others[site] = noise

    @property
    def _kind_of_noise(self) -> Noise:
        return Uniform() if isinstance(self.equation, Categories) else self.equation.noise

    def _called(self, function: Callable[..., Any], arguments: dict[str, Any], rows: int) -> Array:
        told = f"the equation of {self.target!r}"
        try:
            value = function(**arguments)
        except (Exception, SystemExit) as error:
            raise DataError(f"{told} should give a column, but raised {type(error).__name__}: {error}") from error
        column = column_from(np.full(rows, value) if np.ndim(value) == 0 else value, told)
        if column.shape != (rows,):
            raise DataError(f"{told} should give one value for each of {rows:,} people, but has shape {column.shape}")
        return column


def mechanism_of(target: str, equation: Callable[..., Any] | Equation | Additive | Categories) -> Mechanism:
    """Read the parents of a Python equation off its parameters.

    Raises
    ------
    UsageError
        Where the parameters cannot be read, or are not names of variables.
    """
    if isinstance(equation, Categories):
        return Mechanism(target, (), equation, takes_noise=False)
    made = equation if isinstance(equation, Equation | Additive) else Equation(equation)
    if not callable(made.function):
        raise UsageError(f"expected the equation of {target!r} as text or a function, but {made.function!r} came")
    try:
        parameters = inspect.signature(made.function).parameters
    except (TypeError, ValueError):
        raise UsageError(
            f"expected an equation of {target!r} whose parameters can be read, but {made.function!r} hides them: wrap "
            "it, lambda parent, noise: function(parent, noise)"
        ) from None
    for name, parameter in parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise UsageError(
                f"expected the parents of {target!r} as named parameters of its equation, but {name!r} is {parameter}"
            )
    parents = tuple(name for name in parameters if name != "noise")
    if isinstance(made, Additive) and "noise" in parameters:
        raise UsageError(f"expected Additive(function) of {target!r} without a parameter 'noise': it is added to it")
    return Mechanism(target, parents, made, "noise" in parameters)

"""Equations written in Python: a function of the parents' columns and of noise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.worlds.distributions import Categories, Custom, Noise, Normal, Uniform
from isonomia.populations.worlds.run import Frame

__all__ = ["Additive", "Categories", "Custom", "Equation", "Mechanism", "Noise", "Normal", "Uniform", "mechanism_of"]

Array: TypeAlias = NDArray[Any]

STANDARD = Normal()


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
    noise: Noise = STANDARD
    inverse: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Additive:
    """``function(parents) + noise``, which can always be undone.

    Attributes
    ----------
    function
        Gives the variable's column from the columns of its parents, which are the names of its parameters.
    noise
        What is added; standard normal unless given.
    """

    function: Callable[..., Any]
    noise: Noise = STANDARD


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
            return np.asarray(self._numbers(arguments, frame.rows) + self.noise(frame))
        if self.takes_noise:
            arguments["noise"] = self.noise(frame)
        return self._called(self.equation.function, arguments, frame.rows)

    def arguments(self, frame: Frame) -> dict[str, Any]:
        """The parents' columns."""
        return {name: _read_only(np.asarray(frame.read(name)), frame.rows) for name in self.parents}

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
            case Custom():
                drawn = self._custom(frame.rows, rng) if kept is None else kept.other(site, self._custom)
                return _read_only(drawn, frame.rows)

    def abduct(self, frame: Frame) -> Array | None:
        """The noise that the values of the target and of its parents betray; ``None`` where there is no telling."""
        value, arguments = np.asarray(frame.read(self.target)), self.arguments(frame)
        if isinstance(self.equation, Categories):
            return self.equation.noise_behind(value)
        if isinstance(self.equation, Additive):
            if value.dtype.kind not in "biuf":
                raise DataError(f"expected numbers for {self.target!r}, but the table has {value[0]!r}")
            return np.asarray(value - self._numbers(arguments, frame.rows))
        if self.equation.inverse is None:
            return None
        return self._called(self.equation.inverse, {**arguments, "value": value}, frame.rows, "inverse of the equation")

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

    def _custom(self, rows: int, rng: np.random.Generator) -> Array:
        noise = self._kind_of_noise
        if not isinstance(noise, Custom):
            raise AssertionError("only noise of a kind of its own has a function")
        return self._called(noise.draw, {}, rows, "noise", rows, rng)

    def _numbers(self, arguments: dict[str, Any], rows: int) -> Array:
        """What an equation gives that noise is added to."""
        if not isinstance(self.equation, Additive):
            raise AssertionError("noise is added to an Additive only")
        column = self._called(self.equation.function, arguments, rows)
        if column.dtype.kind not in "biuf":
            raise DataError(f"the equation of {self.target!r} should give numbers to add noise to, not {column[0]!r}")
        return column * 1.0

    def _called(
        self, function: Callable[..., Any], arguments: dict[str, Any], rows: int, what: str = "equation", *more: Any
    ) -> Array:
        told = f"the {what} of {self.target!r}"
        try:
            value = function(*more, **arguments)
        except (Exception, SystemExit) as error:
            raise DataError(f"{told} should give a column, but raised {type(error).__name__}: {error}") from error
        if value is None:
            raise DataError(f"{told} should give a column, but gave None: does it return its result?")
        column = column_from(np.full(rows, value) if np.ndim(value) == 0 else value, told)
        if column.shape != (rows,):
            raise DataError(f"{told} should give one value for each of {rows:,} people, but has shape {column.shape}")
        return column


def _read_only(value: Array, rows: int) -> Array:
    """A column for a function that may not write into it; one value for all is written out.

    Were it not, NumPy might round differently for it than for a column of the same values.
    """
    column = value.view() if value.ndim else np.full(rows, value)
    column.flags.writeable = False
    return column


def mechanism_of(target: str, equation: Callable[..., Any] | Equation | Additive | Categories) -> Mechanism:
    """Read the parents of a Python equation off its parameters."""
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
    if isinstance(made, Equation) and made.inverse is not None and "value" in parents:
        raise UsageError(
            f"expected parents of {target!r} other than 'value', by which its inverse is given the value to undo: "
            "rename the variable 'value'"
        )
    if isinstance(made, Additive) and "noise" in parameters:
        raise UsageError(f"expected Additive(function) of {target!r} without a parameter 'noise': it is added to it")
    return Mechanism(target, parents, made, "noise" in parameters)

"""Several columns that encode one feature: dummies of its levels or of its thresholds, and listed joint values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import (
    TOLERANCE,
    ActionScope,
    Bools,
    Box,
    Floats,
    Form,
    FormRow,
    JointCodes,
    Levels,
    Moves,
    Way,
    check_number,
    check_one_of,
    check_truth,
    coded_value,
    monotone,
    names_of,
)


@dataclass(frozen=True, slots=True)
class OneHot:
    """The acted values of the features add up to exactly or at most the limit.

    Attributes
    ----------
    names
        The features.
    limit
        What they add up to.
    sense
        ``"=="`` for exactly, ``"<="`` for at most.
    """

    kind: ClassVar[str] = "one-hot"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    limit: float = 1
    sense: Literal["==", "<="] = "=="

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        check_number(self.kind, "limit", self.limit)
        check_one_of(self.kind, "sense", self.sense, ("==", "<="))

    def words(self) -> str:
        """The constraint as a sentence."""
        much = "exactly" if self.sense == "==" else "at most"
        return f"{much} {self.limit:g} of {', '.join(self.names)}"

    def coded(self, levels: Levels) -> OneHot:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether the sum is right where the person is."""
        return self._adds_up(start.sum(-1))

    def holds(self, moves: Moves) -> Bools:
        """Whether the sum is right after the person's own action."""
        return self._adds_up(moves.acted.sum(-1))

    def possible(self, box: Box) -> Bools:
        """Whether the sum can be right."""
        under = box.low.sum(-1) <= self.limit + TOLERANCE
        over = box.high.sum(-1) >= self.limit - TOLERANCE
        return np.asarray(under & (over | (self.sense == "<=")))

    def standing(self, scope: ActionScope) -> Form | None:
        """The same rows: the start must satisfy them, too."""
        return self.form(scope)

    def form(self, scope: ActionScope) -> Form:
        """One row."""
        ones = dict.fromkeys(range(len(scope.whole)), 1.0)
        return Form((FormRow(ones, low=self.limit if self.sense == "==" else -np.inf, high=self.limit),))

    def _adds_up(self, total: Floats) -> Bools:
        if self.sense == "<=":
            return np.asarray(total <= self.limit + TOLERANCE)
        return np.asarray(np.abs(total - self.limit) <= TOLERANCE)


class _Encoding(ABC):
    """A constraint that is a list of joint codes, and moves between them."""

    __slots__ = ()

    @abstractmethod
    def codes(self) -> JointCodes:
        """The codes, and which can be reached from which."""

    def coded(self, levels: Levels) -> Self:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether the person is at a code, or need not be."""
        return self.codes().accepts(start)

    def holds(self, moves: Moves) -> Bools:
        """Whether the acted code can be reached."""
        return self.codes().holds(moves)

    def possible(self, box: Box) -> Bools:
        """Whether a code in the box can be reached."""
        return self.codes().possible(box)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """One binary per code."""
        return self.codes().standing()

    def form(self, scope: ActionScope) -> Form:
        """One binary for each code that can be reached."""
        return self.codes().form(scope.start)


@dataclass(frozen=True, slots=True)
class Ordinal(_Encoding):
    """The features are dummies of increasing levels, and the level moves in the allowed direction.

    Exactly one is on where they are ``exhaustive``; otherwise all may be off, which is the level below the first.

    Attributes
    ----------
    names
        The dummies, from the lowest level to the highest.
    exhaustive
        Whether one of them is always on.
    direction
        ``"both"``, ``"up"`` or ``"down"``.
    """

    kind: ClassVar[str] = "ordinal"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    exhaustive: bool = True
    direction: Way = "both"

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        check_truth(self.kind, "exhaustive", self.exhaustive)
        check_one_of(self.kind, "direction", self.direction, ("both", "up", "down"))

    def words(self) -> str:
        """The constraint as a sentence."""
        count = "exactly" if self.exhaustive else "at most"
        way = {"both": "", "up": ", and the level only rises", "down": ", and the level only falls"}[self.direction]
        return f"{count} one of the increasing levels {', '.join(self.names)}{way}"

    def codes(self) -> JointCodes:
        """The levels, and which can be reached from which."""
        count = len(self.names)
        codes = np.eye(count) if self.exhaustive else np.vstack([np.zeros((1, count)), np.eye(count)])
        return JointCodes(codes, monotone(len(codes), self.direction))


@dataclass(frozen=True, slots=True)
class Thermometer(_Encoding):
    """The features are dummies of rising thresholds, so that ones come before zeros.

    With direction ``"up"`` dummies only turn on, with ``"down"`` only off. A person whose values are not such a code is
    refused or, with ``keep_invalid``, stays where they are.

    Attributes
    ----------
    names
        The dummies, from the lowest threshold to the highest.
    direction
        ``"both"``, ``"up"`` or ``"down"``.
    keep_invalid
        Whether a person without such a code stays put instead of being refused.
    """

    kind: ClassVar[str] = "thermometer"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    direction: Way = "both"
    keep_invalid: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        check_one_of(self.kind, "direction", self.direction, ("both", "up", "down"))
        check_truth(self.kind, "keep_invalid", self.keep_invalid)

    def words(self) -> str:
        """The constraint as a sentence."""
        way = {"both": "", "up": ", and only turn on", "down": ", and only turn off"}[self.direction]
        return f"{', '.join(self.names)} are ones followed by zeros{way}"

    def codes(self) -> JointCodes:
        """The codes, and which can be reached from which."""
        count = len(self.names)
        codes = np.tri(count + 1, count, -1)
        return JointCodes(codes, monotone(count + 1, self.direction), self.keep_invalid)


@dataclass(frozen=True, slots=True)
class Reachability(_Encoding):
    """The features together have one of ``values``; the j-th can be reached from the i-th if ``matrix[i][j]`` is 1.

    One step only: values that can be reached in two steps must be in the matrix too.

    Attributes
    ----------
    names
        The features.
    values
        Every possible combination of their values, each as a tuple.
    matrix
        A row and a column for each of ``values``, with 0 and 1.
    """

    kind: ClassVar[str] = "reachability"
    takes_categories: ClassVar[bool] = True

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    matrix: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        object.__setattr__(self, "values", tuple(tuple(value) for value in self.values))
        object.__setattr__(self, "matrix", tuple(tuple(int(entry) for entry in row) for row in self.matrix))
        self._check()

    def words(self) -> str:
        """The constraint as a sentence."""
        return f"({', '.join(self.names)}) is one of {len(self.values)} listed values, reached as its matrix says"

    def coded(self, levels: Levels) -> Self:
        """The same with indices instead of categories."""
        values = tuple(
            tuple(coded_value(self.kind, name, one, levels) for name, one in zip(self.names, value, strict=True))
            for value in self.values
        )
        return replace(self, values=values)

    def codes(self) -> JointCodes:
        """The values, and which can be reached from which."""
        return JointCodes(np.asarray(self.values, dtype=np.float64), np.asarray(self.matrix, dtype=bool))

    def _check(self) -> None:
        count = len(self.values)
        if not count or any(len(value) != len(self.names) for value in self.values):
            expected = (
                f"expected values of the {self.kind} constraint with one entry for each of {', '.join(self.names)}"
            )
            raise UsageError(f"{expected}, but got {self.values!r}", name="values")
        if len(set(self.values)) < count:
            message = f"values of the reachability constraint should be distinct, but they are {self.values!r}"
            raise UsageError(message, name="values")
        if len(self.matrix) != count or any(len(row) != count or not set(row) <= {0, 1} for row in self.matrix):
            expected = f"expected matrix of the {self.kind} constraint as {count} rows of {count} zeros and ones"
            raise UsageError(f"{expected}, but got {self.matrix!r}", name="matrix")

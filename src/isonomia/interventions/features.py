"""One feature of a person: what it is, and how the person can change it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Literal, TypeAlias, get_args

from isonomia.errors import UsageError

__all__ = ["Direction", "Feature", "Kind"]

Kind: TypeAlias = Literal["binary", "integer", "real", "categorical"]
Direction: TypeAlias = Literal["both", "up", "down"]

_LIMITS = ("rise", "fall", "rise_share", "fall_share")


@dataclass(frozen=True, slots=True)
class Feature:
    """What one feature is, and how a person can change it by an action of their own.

    A person at ``x`` can move to every value between the largest of ``low``, ``x - fall`` and
    ``x - fall_share * |x|``, and the smallest of ``high``, ``x + rise`` and ``x + rise_share * |x|``, as far as the
    direction allows. A whole-number feature moves in whole steps.

    Attributes
    ----------
    name
        The column.
    kind
        ``"binary"`` (0 and 1), ``"integer"``, ``"real"`` or ``"categorical"``.
    low, high
        The least and the greatest value; ``None`` is no bound. A binary feature has 0 and 1 unless given.
    actionable
        Whether the person can change it by an action of their own. One that is not may still change as the effect of
        an action on another.
    direction
        ``"both"``, or only ``"up"`` or only ``"down"``. For categories, up is towards the end of ``values``.
    rise, fall
        The largest change in one step, in the feature's own unit; for categories, in places of ``values``.
    rise_share, fall_share
        The largest change as a share of the person's own value: 0.1 is plus or minus 10%.
    values
        The categories, in order where they have one; for the kind ``"categorical"`` only.

    Raises
    ------
    UsageError
        Where the parts do not fit together.
    """

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    actionable: bool = True
    direction: Direction = "both"
    rise: float | None = None
    fall: float | None = None
    rise_share: float | None = None
    fall_share: float | None = None
    values: tuple[str | float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"the name of a feature should be text, but it is {self.name!r}")
        self._one_of("kind", get_args(Kind))
        self._one_of("direction", get_args(Direction))
        if not isinstance(self.actionable, bool):
            raise UsageError(f"{self._where('actionable')} should be true or false, but it is {self.actionable!r}")
        self._check_numbers()
        if self.kind == "binary":
            object.__setattr__(self, "low", 0.0 if self.low is None else self.low)
            object.__setattr__(self, "high", 1.0 if self.high is None else self.high)
        self._check_values()
        if self.low is not None and self.high is not None and self.low > self.high:
            raise UsageError(f"{self._where('low')} is {self.low:g}, above its high, {self.high:g}: swap them")

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers: everything but a real feature; a category is its place in the list."""
        return self.kind != "real"

    def unbounded(self) -> str | None:
        """The way in which an actionable feature has no limit, ``"rise"`` or ``"fall"``; ``None`` where it has both."""
        if self.direction != "down" and self.high is None and self.rise is None and self.rise_share is None:
            return "rise"
        if self.direction != "up" and self.low is None and self.fall is None and self.fall_share is None:
            return "fall"
        return None

    def _one_of(self, field: str, allowed: tuple[str, ...]) -> None:
        value = getattr(self, field)
        if value not in allowed:
            listed = ", ".join(map(repr, allowed))
            raise UsageError(f"{self._where(field)} should be one of {listed}, but it is {value!r}")

    def _check_numbers(self) -> None:
        for field in ("low", "high", *_LIMITS):
            value = getattr(self, field)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise UsageError(
                    f"{self._where(field)} should be a finite number, but it is {value!r}; leave it out for no limit"
                )
            if field in _LIMITS and value < 0:
                raise UsageError(f"{self._where(field)} is the size of a change and at least 0, but it is {value!r}")

    def _check_values(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if self.kind != "categorical":
            if self.values:
                raise UsageError(f"{self._where('values')} are for categories, but the feature is {self.kind}")
            return
        if not self.values or len(set(self.values)) < len(self.values):
            raise UsageError(
                f"{self._where('values')} should list its categories, each once, but they are {list(self.values)!r}"
            )
        if self.low is not None or self.high is not None or self.rise_share is not None or self.fall_share is not None:
            raise UsageError(f"feature {self.name!r} has categories: they have no low, no high and no shares")
        object.__setattr__(self, "low", 0.0)
        object.__setattr__(self, "high", float(len(self.values) - 1))

    def _where(self, field: str) -> str:
        return f"{field} of feature {self.name!r}"


FIELDS = tuple(field.name for field in fields(Feature))
"""Everything that can be said about a feature, in order."""

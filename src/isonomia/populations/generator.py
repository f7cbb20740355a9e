"""A generator: unlimited draws from a program, a fitted density or a simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.errors import DataError, UsageError, nearest
from isonomia.populations.columns import distinct
from isonomia.populations.declaring import declared_values
from isonomia.populations.fingerprint import callable_name, fingerprint_of, identity_of
from isonomia.populations.generator_source import Draw, GeneratorSource, check_columns_of
from isonomia.populations.protocol import Wanted
from isonomia.populations.table import Table
from isonomia.spec.names import columns_of
from isonomia.spec.text import to_text
from isonomia.spec.tree import Row, Value

__all__ = ["Generator"]

_NAMES_DRAWS = 16
_VALUES_DRAWS = 10_000


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Generator:
    """People drawn by a program, as many as are wanted.

    Parameters
    ----------
    draw
        A callable ``draw(n, rng)`` that gives a table of ``n`` rows, drawing with the NumPy generator ``rng``
        and nothing else; or a mapping from condition to such callables, ``{"sex == 'F'": women, "sex == 'M'":
        men}``, each of which draws from the people who satisfy its condition. One that also has ``corners(most, rng)``
        names people at the ends of what it can draw, as declared :class:`Ranges` do: k-safety tries them first.
    given
        Draws of groups, beside ``draw`` of everybody: ``{"income > 1e6": rich}``. A rate given such a condition is
        read from its group's own draws, so that a rare group costs no more than a common one.
    values
        The values of a column, ``{"race": ["A", "B"]}``. Those of other columns are the ones that occur among
        10,000 pilot draws, so declare the values of a column with rare ones.
    names
        The names of the columns. Needed for a draw that gives a NumPy array, unless ``x0``, ``x1``, ... will
        do; else they are found by a draw of 16.

    Raises
    ------
    UsageError
        When ``draw`` is neither callable nor a mapping to callables.
    SpecError
        When a condition cannot be read.

    Examples
    --------
    >>> from isonomia import check
    >>> def draw(n, rng):
    ...     return {"age": rng.integers(18, 70, n), "hired": rng.random(n) < 0.4}
    >>> check("P[hired | age < 30] >= 0.3", population=Generator(draw), seed=1).answer
    'holds'
    """

    draws: tuple[Draw, ...]
    streams: tuple[Row | None, ...]
    conditions: tuple[str, ...]
    declared: dict[str, tuple[Value, ...]]
    given_names: tuple[str, ...] | None
    _found: dict[str | None, Any]  # what pilot draws have shown: the names, under None, and the values of columns

    def __init__(
        self,
        draw: Draw | Mapping[str, Draw],
        *,
        given: Mapping[str, Draw] | None = None,
        values: Mapping[str, Sequence[Value]] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(values, Mapping | None):
            raise UsageError(f"expected values as {{'column': [value, ...]}}, but {values!r} came")
        by_condition = _by_condition(draw, given)
        _check_draws(by_condition)
        set_field = object.__setattr__
        set_field(self, "draws", tuple(by_condition.values()))
        set_field(self, "conditions", tuple(by_condition))
        set_field(self, "streams", _conditions(by_condition))
        set_field(self, "declared", {name: declared_values(name, given) for name, given in (values or {}).items()})
        set_field(self, "given_names", None if names is None else tuple(names))
        set_field(self, "_found", {})

    @property
    def kind(self) -> str:
        """``"generator"``."""
        return "generator"

    @property
    def size(self) -> None:
        """``None``: the draws are unlimited."""
        return

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the first stream's order."""
        if self.given_names is not None:
            return self.given_names
        if None not in self._found:
            self._found[None] = self._find_names()
        found: tuple[str, ...] = self._found[None]
        return found

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a verdict about this population rests on, in words."""
        return tuple(
            f"{callable_name(draw)} gives independent draws from "
            + (f"the people with {condition}" if condition else "the population")
            for draw, condition in zip(self.draws, self.conditions, strict=True)
        )

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values of a column, declared or seen in pilot draws, numbers before text, ascending."""
        if column in self.declared:
            return self.declared[column]
        if column not in self.names:
            raise DataError(f"the draws have no column {column!r}.{nearest(column, self.names)}")
        if column not in self._found:
            pilots = [table.column(column) for table in self._pilots(_VALUES_DRAWS, self.names)]
            self._found[column] = distinct(pilots, column)
        found: tuple[Value, ...] = self._found[column]
        return found

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> GeneratorSource:  # noqa: ARG002
        """Open the generator for one run; each batch brings its own randomness, so the seed goes unused."""
        _check_conditions(self.streams, self.names)
        return GeneratorSource(self.draws, self.names, self.given_names)

    def fingerprint(self) -> str:
        """Tell this generator from others by the names, modules and source of its callables, or as they say."""
        identities = [_identity(draw) for draw in self.draws]
        return fingerprint_of(self.kind, *self.conditions, *identities, *(self.given_names or ()))

    def _find_names(self) -> tuple[str, ...]:
        first, *others = self._pilots(_NAMES_DRAWS, None)
        for draw, other in zip(self.draws[1:], others, strict=True):
            check_columns_of(draw, other, first.names)
        return first.names

    def _pilots(self, n: int, names: tuple[str, ...] | None) -> list[Table]:
        source = GeneratorSource(self.draws, names, self.given_names)
        return [source.batch(0, n, np.random.default_rng(i), i) for i in range(len(self.draws))]


def _identity(draw: Draw) -> str:
    """What a draw says of itself, such as declared ranges; otherwise its name, module and source."""
    own: Callable[[], str] | None = getattr(draw, "fingerprint", None)
    return identity_of(draw) if own is None else own()


def _check_conditions(conditions: Sequence[Row | None], names: tuple[str, ...]) -> None:
    """A draw under a misspelt condition would serve nobody, and nobody would notice."""
    for condition in (found for found in conditions if found is not None):
        for name in columns_of(condition):
            if name not in names:
                raise DataError(
                    f"expected conditions on columns that the draws have, but there is no column {name!r}, which "
                    f"{to_text(condition)} needs.{nearest(name, names)}"
                )


def _check_draws(by_condition: Mapping[Any, Any]) -> None:
    if not by_condition:
        raise UsageError("draw is an empty mapping. Give a callable draw(n, rng) for at least one condition.")
    for condition, draw in by_condition.items():
        if not isinstance(condition, str) or not callable(draw):
            raise UsageError(
                "draw should be a callable draw(n, rng), or a mapping from condition to such callables, "
                f"but has {draw!r} ({type(draw).__name__}) for {condition!r}."
            )


def _by_condition(draw: Draw | Mapping[str, Draw], given: Mapping[str, Draw] | None) -> dict[str, Draw]:
    """Each condition's draw; everybody's, under an empty text, last, so that groups are read from their own."""
    if isinstance(draw, Mapping):
        if given:
            raise UsageError("expected draw as a callable beside given=, but it is a mapping: put everything into one")
        return dict(draw)
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"expected given as {{condition: draw}}, but {given!r} came")
    return {**(given or {}), "": draw}


def _conditions(by_condition: Mapping[str, Draw]) -> tuple[Row | None, ...]:
    from isonomia.spec.parse import parse_condition

    return tuple(parse_condition(text) if text else None for text in by_condition)

"""Unlimited draws by the user's functions: a program, a fitted density, a simulator.

:class:`Generator` is the population; :class:`Weighted` corrects a draw that comes from another distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, IsonomiaError, UsageError, nearest
from isonomia.populations.fingerprint import callable_name, fingerprint_of, identity_of, table_fingerprint
from isonomia.populations.protocol import (
    BatchSizes,
    Device,
    PopulationFacts,
    Wanted,
    check_request,
    fingerprint_if_any,
)
from isonomia.populations.table import Table, declared_values, distinct, is_tensor_like, tensor_table
from isonomia.spec.text import to_text
from isonomia.spec.tree import Row, Value, columns_of
from isonomia.wording import words_of

Draw: TypeAlias = Callable[[int, Any], Any]
"""Gives a table of ``n`` rows, drawn with a random number generator: NumPy's, or torch's on a device."""

_NAMES_DRAWS = 16
_VALUES_DRAWS = 10_000
_ALIKE_DRAWS = 4_096
_REPEATS = "repeats"
_FIRST, _LARGEST = 2**12, 2**20
"""Batch sizes on a device, where few people take as long as many."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Generator:
    """An unlimited population: people drawn by a function.

    Parameters
    ----------
    draw
        A callable ``draw(n, rng)`` that gives a table of ``n`` rows, drawing with the NumPy generator ``rng``
        and nothing else; or a mapping from condition to such callables, ``{"sex == 'F'": women, "sex == 'M'":
        men}``, each of which draws from the people who satisfy its condition. One that also has a method
        ``edge_cases(most, rng)`` gives people at the ends of its ranges, as :class:`Ranges` does: k-safety tries them
        first.
    given
        Draws of groups, in addition to ``draw`` for all people: ``{"income > 1e6": rich}``. A rate given such a
        condition is estimated from its group's own draws, so that a rare group costs no more than a common one.
    values
        The values of a column, ``{"race": ["A", "B"]}``. Those of other columns are the ones that occur among
        10,000 pilot draws, so declare the values of a column that has rare ones.
    names
        The names of the columns. Needed for a draw that gives a NumPy array, unless ``x0``, ``x1``, ... will
        do; otherwise a pilot draw of 16 people shows them.
    device
        Where to draw: ``"cuda"``, ``"cpu"``, or ``"auto"`` for CUDA if available and otherwise the CPU. Then
        ``draw(n, generator)`` gets a ``torch.Generator`` of that device and returns a mapping from column to tensor;
        columns of text may be NumPy's. The tensors stay where they are: only counts come back. ``None`` draws with
        NumPy.
    largest
        The maximum number of people in one batch on a device, which bounds the memory.

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
    device: Device | None
    batch_sizes: BatchSizes | None  # how large batches should be; ``None`` for NumPy
    _seen: dict[Any, Any]  # what pilot draws have shown: the names, under None, the values of columns, what repeats

    def __init__(
        self,
        draw: Draw | Mapping[str, Draw],
        *,
        given: Mapping[str, Draw] | None = None,
        values: Mapping[str, Sequence[Value]] | None = None,
        names: Sequence[str] | None = None,
        device: str | None = None,
        largest: int = _LARGEST,
    ) -> None:
        if not isinstance(values, Mapping | None):
            raise UsageError(f"expected values as {{'column': [value, ...]}}, but got {values!r}", name="values")
        by_condition = _by_condition(draw, given)
        _check_draws(by_condition)
        where = Device.of(device, "a generator")
        if where is not None:
            _check_on_device(by_condition, largest)
        set_field = object.__setattr__
        set_field(self, "draws", tuple(by_condition.values()))
        set_field(self, "conditions", tuple(by_condition))
        set_field(self, "streams", _conditions(by_condition))
        set_field(self, "declared", {name: declared_values(name, given) for name, given in (values or {}).items()})
        set_field(self, "given_names", None if names is None else tuple(names))
        set_field(self, "device", where)
        set_field(self, "batch_sizes", None if where is None else BatchSizes(min(_FIRST, largest), 1.1, 2.0, largest))
        set_field(self, "_seen", {})

    kind = "generator"

    size = None  # the draws are unlimited

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the first stream's order."""
        if self.given_names is not None:
            return self.given_names
        if None not in self._seen:
            self._seen[None] = self._find_names()
        return tuple(self._seen[None])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""
        independent = tuple(
            f"{callable_name(draw)} gives independent draws from "
            + (f"the people with {condition}" if condition else "the population")
            for draw, condition in zip(self.draws, self.conditions, strict=True)
        )
        own = []
        if self.given_names is None and self.names:  # finding the names has made the pilot draws
            own = [draw for number, draw in enumerate(self.draws) if not self._seen[_REPEATS, number]]
        return independent + tuple(
            f"{callable_name(draw)}, which gives other people for the same random numbers, does not depend on how "
            "often it was called; the same seed need not give the same answer"
            for draw in own
        )

    @property
    def facts(self) -> PopulationFacts:
        """On which kind of device draws are made, the sizes of batches there, and the declared values."""
        remarks = () if self.device is None else (self.device.remark,)
        return PopulationFacts(self.device, remarks, self.batch_sizes, lambda column: self.declared.get(column, ()))

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values of a column, declared or seen in pilot draws, numbers before text, ascending."""
        if column in self.declared:
            return self.declared[column]
        if column not in self.names:
            raise DataError(f"the draws have no column {column!r}.{nearest(column, self.names)}")
        if column not in self._seen:
            pilots = [table.column(column) for table in self._pilots(_VALUES_DRAWS, self.names)]
            self._seen[column] = distinct(pilots, column)
        return tuple(self._seen[column])

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> GeneratorSource:  # noqa: ARG002
        """Open the generator for one run; each batch brings its own randomness, so the seed goes unused."""
        _check_conditions(self.streams, self.names)
        return GeneratorSource(self.draws, self.names, self.given_names, self._seen, self.device)

    def fingerprint(self) -> str:
        """Tell this generator from others by its callables: their own fingerprints, or their names and source."""
        identities = [_identity(draw) for draw in self.draws]
        return fingerprint_of(self.kind, *self.conditions, *identities, *(self.given_names or ()))

    def _find_names(self) -> tuple[str, ...]:
        first, *others = pilots = self._pilots(_NAMES_DRAWS, None)
        # A draw should give the same people for the same random numbers; one that does not is named in assumptions.
        for number, (one, again) in enumerate(zip(pilots, self._pilots(_NAMES_DRAWS, None), strict=True)):
            self._seen[_REPEATS, number] = table_fingerprint(one) == table_fingerprint(again)
        for draw, other in zip(self.draws[1:], others, strict=True):
            _check_columns(draw, other, first.names)
        return first.names

    def _pilots(self, n: int, names: tuple[str, ...] | None) -> list[Table]:
        source = GeneratorSource(self.draws, names, self.given_names, device=self.device)
        return [source.batch(0, n, np.random.default_rng(i), i) for i in range(len(self.draws))]


def _by_condition(draw: Draw | Mapping[str, Draw], given: Mapping[str, Draw] | None) -> dict[str, Draw]:
    """The draw for each condition; that of all people, under an empty text, is last: groups use their own."""
    if isinstance(draw, Mapping):
        if given:
            raise UsageError(
                "expected draw as a callable together with given=, but it is a mapping: put all conditions into it"
            )
        return dict(draw)
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"expected given as {{condition: draw}}, but got {given!r}")
    return {**(given or {}), "": draw}


def _check_draws(by_condition: Mapping[Any, Any]) -> None:
    if not by_condition:
        raise UsageError(
            "draw is an empty mapping. Give a callable draw(n, rng) for at least one condition.", name="draw"
        )
    for condition, draw in by_condition.items():
        if not isinstance(condition, str) or not callable(draw):
            raise UsageError(
                "draw should be a callable draw(n, rng), or a mapping from condition to such callables, "
                f"but has {draw!r} ({type(draw).__name__}) for {condition!r}.",
                name="draw",
            )


def _check_on_device(by_condition: Mapping[str, Draw], largest: int) -> None:
    if isinstance(largest, bool) or not isinstance(largest, int) or largest < 1:
        raise UsageError(f"expected largest as a whole number of at least 1, but got largest={largest!r}")
    if any(isinstance(draw, Weighted) for draw in by_condition.values()):
        raise UsageError("Weighted draws with NumPy: leave device out, or let draw itself reject on the device")


def _conditions(by_condition: Mapping[str, Draw]) -> tuple[Row | None, ...]:
    from isonomia.spec.parser import parse_condition

    return tuple(parse_condition(text) if text else None for text in by_condition)


def _check_conditions(conditions: Sequence[Row | None], names: tuple[str, ...]) -> None:
    """Refuse conditions on unknown columns: a draw under a misspelled condition would silently go unused."""
    for condition in conditions:
        if condition is None:
            continue
        for name in columns_of(condition):
            if name not in names:
                raise DataError(
                    f"expected conditions on columns that the draws have, but there is no column {name!r}, which "
                    f"{to_text(condition)} needs.{nearest(name, names)}"
                )


def _identity(draw: Draw) -> str:
    """A draw's own fingerprint, such as that of declared ranges; otherwise its name, module and source."""
    return fingerprint_if_any(draw) or identity_of(draw)


# ---------------------------------------------------------------------------- opened for one run


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorSource:
    """A generator opened for one run; it checks what the functions draw."""

    draws: tuple[Draw, ...]  # one for each stream
    names: tuple[str, ...] | None  # columns that every batch must have; None while they are being found out
    array_names: tuple[str, ...] | None  # of the columns of a NumPy array; None for x0, x1, ...
    pilots: dict[Any, Any] | None = None  # what pilot draws have shown; None for these themselves
    device: Device | None = None  # where torch draws; None for NumPy

    finite = False  # whether each row counts once

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Draw ``n`` people from a stream with the batch's own randomness."""
        check_request(start, n, stream, len(self.draws))
        draw = self.draws[stream]
        self._check_varied(stream)
        table = self._rows(n, rng, stream)
        if self.names is not None:
            _check_columns(draw, table, self.names)
        return table

    def _rows(self, n: int, rng: np.random.Generator, stream: int) -> Table:
        draw = self.draws[stream]
        table = _drawn(draw, n, rng, self.array_names, self.device)
        if table.rows != n:
            raise DataError(
                f"{callable_name(draw)}({n}, rng) should give {n:,} rows, but gave {table.rows:,}. "
                "Return as many rows as its first argument says.",
                name=callable_name(draw),
            )
        return table

    def _check_varied(self, stream: int) -> None:
        """Before the first batch, refuse a draw that gives the same people for different random numbers.

        Every batch would bring the same people, and whatever holds for them would seem ever more certain. A
        distribution with a single person is allowed. Chance hardly ever causes a refusal: three draws of n are equal,
        and not all of one kind, with probability at most 1 / n**2, whatever the distribution.
        """
        if self.pilots is None or ("varied", stream) in self.pilots:
            return
        self.pilots["varied", stream] = True

        def alike(n: int, seeds: Sequence[int]) -> Table | None:
            tables = [self._rows(n, np.random.default_rng(seed), stream) for seed in seeds]
            return tables[0] if len(set(map(table_fingerprint, tables))) == 1 else None

        if alike(_NAMES_DRAWS, (1, 2)) is None:
            return
        same = alike(_ALIKE_DRAWS, (3, 4, 5))
        if same is None or _are_one_kind(same):
            return
        raise DataError(
            f"expected {callable_name(self.draws[stream])}(n, rng) to draw other people with other random numbers, but "
            f"{_ALIKE_DRAWS:,} drawn three times were the same: draw with rng, the second argument, not with "
            "a separate generator that always begins with the same seed",
            name=callable_name(self.draws[stream]),
        )

    def edge_cases(self, most: int, rng: np.random.Generator) -> Table | None:
        """At most ``most`` people at the ends of what the first stream draws; ``None`` without ``edge_cases``."""
        own = getattr(self.draws[0], "edge_cases", None)
        if own is None:
            return None
        table = _drawn(own, most, rng, self.array_names, self.device)
        if self.names is not None:
            _check_columns(own, table, self.names)
        return table


def _are_one_kind(table: Table) -> bool:
    """Whether all rows are the same: then the table equals itself shifted by one row."""
    rows = np.arange(table.rows)
    return table_fingerprint(table.take(rows[1:])) == table_fingerprint(table.take(rows[:-1]))


def _drawn(draw: Draw, n: int, rng: np.random.Generator, names: tuple[str, ...] | None, device: Device | None) -> Table:
    call = f"{callable_name(draw)}({n}, {'rng' if device is None else 'generator'})"
    try:
        data = draw(n, rng if device is None else device.generator(rng))
    except IsonomiaError as error:
        raise DataError(f"{call}: {error}", name=error.name) from error
    except (Exception, SystemExit, GeneratorExit) as error:
        raise DataError(
            f"{call} should give a table of {n:,} rows, but raised {type(error).__name__}: {words_of(error)}",
            name=callable_name(draw),
        ) from error
    try:
        if device is not None:
            return tensor_table(_checked_tensors(data, device))
        return Table.of(data, names if isinstance(data, np.ndarray) else None)
    except DataError as error:
        raise DataError(f"{call} should give a table of {n:,} rows: {error}", name=callable_name(draw)) from error


def _checked_tensors(data: Any, device: Device) -> Mapping[Any, Any]:
    """What was drawn on a device: a mapping whose tensors are on it."""
    if not isinstance(data, Mapping):
        raise DataError(f"expected a mapping from column to tensor, but got a {type(data).__name__}")
    for name, values in data.items():
        if is_tensor_like(values) and str(values.device).partition(":")[0] != device.name.partition(":")[0]:
            raise DataError(
                f"expected column {name!r} on {device.name}, but it is on {values.device}: draw it there, device=..."
            )
    return data


def _check_columns(draw: Draw, table: Table, names: tuple[str, ...]) -> None:
    """Refuse a draw that lacks a column which every draw should have."""
    missing = [name for name in names if name not in table.names]
    if missing:
        raise DataError(
            f"every draw should have the columns {', '.join(map(repr, names))}, "
            f"but {callable_name(draw)} gave one without {', '.join(map(repr, missing))}. "
            "Make every draw give the same columns.",
            name=callable_name(draw),
        )


# ---------------------------------------------------------------------------- draws with weights

MAX_PROPOSALS = 50_000_000
"""How many draws are proposed for one batch before the rate of acceptance is judged."""

RAREST = 10_000
"""After that, a batch is given up if fewer than one proposal in this many was accepted."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """Draws from another distribution, with weights that say how much more probable each is in the population.

    Use it wherever a draw is expected: ``Generator({"income > 1e6": Weighted(draw, weight="w", most=20.0)})``.

    Attributes
    ----------
    draw
        ``draw(n, rng)`` gives a table of proposals with a column of weights.
    weight
        The name of that column. A weight is the density of the population (or of the group) over the density of the
        proposals, up to a constant factor.
    most
        No weight is larger. The guarantee rests on it, and every weight is checked.

    Notes
    -----
    Each proposal is kept with probability ``weight / most``, so the results are exact, unweighted draws.
    """

    draw: Callable[[int, np.random.Generator], Any]
    weight: str
    most: float

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not callable(self.draw):
            raise UsageError(f"expected draw as a callable draw(n, rng), but got {self.draw!r}", name="draw")
        if not isinstance(self.most, int | float | np.number) or not np.isfinite(self.most) or self.most <= 0:
            raise UsageError(
                f"expected most, the largest weight, as a positive number, but got most={self.most!r}", name="most"
            )

    @property
    def func(self) -> Callable[[int, np.random.Generator], Any]:
        """The function that proposes; like a partial's, it gives these draws their name and identity."""
        return self.draw

    def __call__(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw ``n`` people."""
        parts: list[dict[str, NDArray[Any]]] = []
        accepted, proposed, size = 0, 0, max(2 * n, 64)
        while accepted < n:
            if too_few_accepted(accepted, proposed):
                raise DataError(
                    f"expected about n = {n:,} people out of {proposed:,} weighted proposals, but only {accepted:,} "
                    f"were kept: most={self.most!r} is far above the usual weight; propose draws nearer to the group"
                )
            table = Table.of(self.draw(size, rng))
            rows = accepted_rows(self._weights(table), self.most, rng)
            parts.append({name: table.column(name)[rows] for name in table.names if name != self.weight})
            accepted, proposed = accepted + len(rows), proposed + table.rows
            size = int(np.clip(1.2 * (n - accepted) * proposed / max(accepted, 1), 64, 2**18))
        return {name: np.concatenate([part[name] for part in parts])[:n] for name in parts[0]}

    def _weights(self, table: Table) -> NDArray[np.float64]:
        if self.weight not in table.names:
            raise DataError(
                f"expected a column {self.weight!r} with weights, but there are {', '.join(table.names)}",
                name=self.weight,
            )
        weights = np.asarray(table.column(self.weight), dtype=float)
        outside = ~((weights >= 0) & (weights <= self.most))
        if outside.any():
            first = float(weights[outside][0])
            advice = "raise most" if first > self.most else "fix the weights, which are ratios of probabilities"
            raise DataError(
                f"expected weights between 0 and most={self.most!r}, but one is {first!r}: the guarantee rests on "
                f"that bound, so {advice}",
                name=self.weight,
            )
        return weights


def accepted_rows(weights: NDArray[np.float64], largest: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rejection sampling: accept each proposal with probability ``weight / largest``.

    Guarantee: if proposals are drawn with density ``q`` and the weight is proportional to ``p / q`` and never above
    ``largest``, those accepted are independent draws with density ``p``. So every guarantee about plain draws holds for
    them unchanged, whatever ``q`` is; ``largest`` decides only how many proposals are rejected.
    """
    return np.flatnonzero(rng.random(len(weights)) * largest < weights)


def too_few_accepted(accepted: int, proposed: int) -> bool:
    """Whether so few proposals were accepted so far that a batch is given up."""
    return proposed >= MAX_PROPOSALS and accepted * RAREST < proposed

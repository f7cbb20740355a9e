"""Cases: inputs, choices, preconditions.

The part of a case that needs no model: variables and preconditions.

Cases: which inputs and which random choices, and how likely each is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import Batch, Booleans, Given, ReachedError, Supply, Value, evaluate, tested
from isonomia.audits.ksafety.functions import call_function
from isonomia.audits.ksafety.program import Program
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.tree import Requires, Var

__all__ = [
    "Cases",
    "Counts",
    "Prepared",
    "TooManyError",
    "all_cases",
    "every_choice",
    "joined_cases",
    "prepare",
    "prepare_known",
]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A batch whose inputs, variables and preconditions are known.

    Attributes
    ----------
    batch
        The values.
    accepted
        Cases that no precondition rejects, although one may have had no value.
    unclear
        Of the accepted ones, those in which a precondition could not be computed.
    empty
        Cases in which a random choice had nothing to choose from; they are not accepted.
    """

    batch: Batch
    accepted: Booleans
    unclear: Booleans
    empty: Booleans


def prepare(program: Program, domain: Domain, inputs: Sequence[NDArray[np.intp]], supply: Supply) -> Prepared:
    """Compute everything that needs no model, for cases with these inputs."""
    known = {name: Value(domain.inputs(rows)) for name, rows in zip(program.spec.inputs, inputs, strict=True)}
    return prepare_known(program, domain, known, supply)


def prepare_known(program: Program, domain: Domain, known: dict[str, Value], supply: Supply) -> Prepared:
    """The same for inputs that are at hand."""
    n = len(next(iter(known.values())).data)
    batch = Batch(n, domain, known, supply, call_function)
    accepted, unclear = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    try:
        for step in program.preparation:
            _take(step, batch, accepted, unclear)
    except ReachedError as reached:
        reached.rejected = ~accepted
        raise
    accepted &= ~batch.empty
    return Prepared(batch, accepted, unclear & accepted, batch.empty)


def _take(step: Var | Requires, batch: Batch, accepted: Booleans, unclear: Booleans) -> None:
    if isinstance(step, Var):
        batch.known[step.name] = evaluate(step.value, batch)
        return
    met, no_value = tested(evaluate(step.condition, batch), batch, step.place)
    accepted &= met | no_value
    unclear |= no_value


CHUNK = 2**17
"""How many cases are held in memory together while they are listed."""


class TooManyError(Exception):
    """There are more cases than may be listed, or infinitely many."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """A batch of cases.

    Attributes
    ----------
    inputs
        For each input of the specification, which of the domain's inputs each case has.
    choices
        For each random choice, in order, what each case chose.
    parts
        One in so many: how likely the case's choices are, given its inputs.
    """

    inputs: tuple[NDArray[np.intp], ...]
    choices: tuple[NDArray[Any], ...] = ()
    parts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.inputs[0])

    def take(self, indices: NDArray[np.intp]) -> Cases:
        """The cases at these positions."""
        return Cases(
            tuple(column[indices] for column in self.inputs),
            tuple(column[indices] for column in self.choices),
            self.parts[indices] if len(self.parts) else self.parts,
        )

    def repeated(self, times: NDArray[np.int64], chosen: NDArray[np.int64]) -> Cases:
        """Each case as often as is said, with one choice more."""
        again = self.take(np.repeat(np.arange(len(self)), times))
        return Cases(again.inputs, (*again.choices, chosen), again.parts * np.repeat(times, times))

    def keys(self) -> NDArray[np.float64]:
        """A row for each case that tells it from others."""
        return np.stack([np.asarray(column, dtype=np.float64) for column in (*self.inputs, *self.choices)], axis=1)


def joined_cases(parts: Sequence[Cases]) -> Cases:
    """Several batches of cases with equally many choices as one."""
    inputs = zip(*(part.inputs for part in parts), strict=True)
    choices = zip(*(part.choices for part in parts), strict=True)
    likely = [part.parts for part in parts]
    return Cases(
        tuple(np.concatenate(columns) for columns in inputs),
        tuple(np.concatenate(columns) for columns in choices),
        np.concatenate(likely) if all(len(one) for one in likely) else np.zeros(0, dtype=np.int64),
    )


@dataclass(slots=True)
class Counts:
    """How many cases were turned away, and why."""

    rejected: int = 0
    without_choice: int = 0


def all_cases(program: Program, domain: Domain, most: float, counts: Counts) -> Iterator[Cases]:
    """Every case that there is, in parts; those that a precondition rejects are left out and counted.

    Raises
    ------
    TooManyError
        Where there are more than ``most``, or a choice is not from a finite range.
    """
    inputs = len(program.spec.inputs)
    total = domain.size**inputs
    if total > most:
        raise TooManyError
    left = [float(most)]
    for start in range(0, total, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, total))
        columns = tuple(part.astype(np.intp) for part in np.unravel_index(numbers, (domain.size,) * inputs))
        yield from every_choice(
            program, domain, Cases(columns, (), np.ones(len(numbers), dtype=np.int64)), left, counts
        )


def every_choice(program: Program, domain: Domain, begun: Cases, left: list[float], counts: Counts) -> Iterator[Cases]:
    """Every way to complete cases whose first choices are made.

    Parameters
    ----------
    begun
        Cases with their inputs and perhaps some choices.
    left
        How many cases may still be listed, counted down.
    counts
        Where those are counted that are turned away.
    """
    waiting = [begun]
    while waiting:
        cases = waiting.pop()
        try:
            prepared = prepare(program, domain, cases.inputs, Given(list(cases.choices)))
        except ReachedError as reached:
            waiting += _completed(cases, reached, left, counts)
            continue
        counts.rejected += int(np.count_nonzero(~prepared.accepted & ~prepared.empty))
        counts.without_choice += int(np.count_nonzero(prepared.empty))
        left[0] -= int(np.count_nonzero(prepared.accepted))
        if left[0] < 0:
            raise TooManyError
        yield cases.take(np.flatnonzero(prepared.accepted))


def _completed(cases: Cases, reached: ReachedError, left: list[float], counts: Counts) -> list[Cases]:
    """The cases with one choice more, in parts that fit in memory; the part that comes first is last in the list."""
    if reached.way != "whole":
        raise TooManyError
    low = np.ceil(reached.low)
    times = np.nan_to_num(np.maximum(np.floor(reached.high) - low + 1, 0.0), nan=0.0)
    counts.rejected += int(np.count_nonzero(reached.rejected))
    counts.without_choice += int(np.count_nonzero((times == 0) & ~reached.rejected))
    times[reached.rejected] = 0.0
    if times.sum() > left[0]:
        raise TooManyError
    keep = np.flatnonzero(times > 0)
    cases, low, count = cases.take(keep), low[keep].astype(np.int64), times[keep].astype(np.int64)
    parts = []
    for piece in _pieces(count):
        sizes = count[piece]
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        parts.append(cases.take(piece).repeated(sizes, np.repeat(low[piece], sizes) + offsets))
    return parts[::-1]


def _pieces(sizes: NDArray[np.int64]) -> Sequence[NDArray[np.intp]]:
    if len(sizes) == 0:
        return []
    number = (np.cumsum(sizes) - 1) // CHUNK
    return np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(number)) + 1)

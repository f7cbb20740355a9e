"""Cases: which inputs and which random choices, and every case that there is.

A case is known completely before the model is asked: :func:`prepare` computes its variables and preconditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import (
    Choices,
    Evaluation,
    GivenChoices,
    OpenChoiceError,
    Value,
    evaluate,
    tested,
)
from isonomia.audits.ksafety.functions import call_function
from isonomia.audits.ksafety.tally import Tally
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.tree import Requires, Var

__all__ = ["Cases", "all_cases", "every_choice", "joined_cases", "prepare", "prepare_known"]

CHUNK = 2**17
"""How many cases are held in memory together while they are listed."""


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


def prepare(program: CompiledSpec, domain: Domain, inputs: Sequence[NDArray[np.intp]], choices: Choices) -> Evaluation:
    """Compute everything that needs no model, for cases with these inputs."""
    values = {name: Value(domain.inputs(rows)) for name, rows in zip(program.spec.inputs, inputs, strict=True)}
    return prepare_known(program, domain, values, choices)


def prepare_known(program: CompiledSpec, domain: Domain, values: dict[str, Value], choices: Choices) -> Evaluation:
    """The same for inputs that are at hand."""
    n = len(next(iter(values.values())).data)
    batch = Evaluation(n, domain, values, choices, call_function)
    try:
        for step in program.preparation:
            _take(step, batch)
    except OpenChoiceError as choice:
        choice.rejected = ~batch.accepted
        raise
    batch.accepted &= ~batch.empty
    batch.unclear &= batch.accepted
    return batch


def _take(step: Var | Requires, batch: Evaluation) -> None:
    if isinstance(step, Var):
        batch.values[step.name] = evaluate(step.value, batch)
        return
    met, no_value = tested(evaluate(step.condition, batch), batch, step.place)
    batch.accepted &= met | no_value
    batch.unclear |= no_value


def all_cases(program: CompiledSpec, domain: Domain, max_n: float, tally: Tally) -> list[Cases] | None:
    """Every case that there is, in parts; those that a precondition rejects are left out and counted.

    ``None`` where there are more than ``max_n``, or a choice is not from a finite range.
    """
    inputs = len(program.spec.inputs)
    total = domain.size**inputs
    if total > max_n:
        return None
    parts: list[Cases] = []
    for start in range(0, total, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, total))
        columns = tuple(part.astype(np.intp) for part in np.unravel_index(numbers, (domain.size,) * inputs))
        begun = Cases(columns, (), np.ones(len(numbers), dtype=np.int64))
        completed = every_choice(program, domain, begun, max_n - sum(map(len, parts)), tally)
        if completed is None:
            return None
        parts += completed
    return parts


def every_choice(program: CompiledSpec, domain: Domain, begun: Cases, max_n: float, tally: Tally) -> list[Cases] | None:
    """Every way to complete cases whose first choices are made, in parts; ``None`` where there are too many."""
    parts: list[Cases] = []
    waiting = [begun]
    while waiting:
        cases = waiting.pop()
        try:
            batch = prepare(program, domain, cases.inputs, GivenChoices(cases.choices))
        except OpenChoiceError as choice:
            completed = _completed(cases, choice, max_n, tally)
            if completed is None:
                return None
            waiting += completed
            continue
        tally.rejected += batch.rejected
        tally.without_choice += batch.without_choice
        accepted = cases.take(np.flatnonzero(batch.accepted))
        max_n -= len(accepted)
        if max_n < 0:
            return None
        parts.append(accepted)
    return parts


def _completed(cases: Cases, choice: OpenChoiceError, max_n: float, tally: Tally) -> list[Cases] | None:
    """The cases with one choice more, in parts that fit in memory; the part that comes first is last in the list."""
    if choice.kind != "whole":
        return None
    low = np.ceil(choice.low)
    times = np.nan_to_num(np.maximum(np.floor(choice.high) - low + 1, 0.0), nan=0.0)
    tally.rejected += int(np.count_nonzero(choice.rejected))
    tally.without_choice += int(np.count_nonzero((times == 0) & ~choice.rejected))
    times[choice.rejected] = 0.0
    if times.sum() > max_n:
        return None
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

"""Drawing random cases and putting them to the model."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.inputs import Inputs
from isonomia.audits.ksafety.judging import Judged
from isonomia.audits.ksafety.preparing import prepare
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.supply import SEEDS, Drawn
from isonomia.engine.loop import Plan
from isonomia.engine.seeds import batch_rng
from isonomia.errors import SpecError
from isonomia.populations.domains import Domain

__all__ = ["Reading", "Sampling"]

SEARCH = 100_000
"""Draws without a single accepted case after which a precondition counts as one that nothing satisfies."""

MOST_DRAWS = 2**18
"""Draws that are made together."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one batch came to: judged cases in pieces, how many draws it took, and how many were turned away."""

    pieces: list[tuple[Judged, Cases, Domain]]
    draws: int
    rejected: int
    without_choice: int

    @property
    def tested(self) -> int:
        """How many cases were put to the model."""
        return sum(len(cases) for _, cases, _ in self.pieces)


@dataclass(frozen=True)
class Sampling:
    """Where random cases come from.

    Attributes
    ----------
    runner, inputs
        What is computed for each case, and where inputs come from.
    seed
        The seed of all randomness.
    until
        When to give up looking for cases that meet the preconditions, in the seconds of ``time.monotonic``.
    """

    runner: Runner
    inputs: Inputs
    seed: int
    until: float = float("inf")

    def measure(self, plan: Plan, draws: int | None = None) -> Reading:
        """Draw cases until enough meet the preconditions; a draw that does not meet them costs nothing but time.

        Parameters
        ----------
        plan
            The batch.
        draws
            How many draws it took, where it is measured once more: then it ends there, whatever the time.
        """
        rng = batch_rng(self.seed, plan.index, 0)
        reading = Reading([], 0, 0, 0)
        wanted, size, start = plan.n, plan.n, plan.start
        while wanted > 0:
            piece = self._draw(start, size, wanted, rng)
            reading = _joined(reading, piece)
            wanted = plan.n - reading.tested
            if self.inputs.finite or piece.draws == 0 or self._is_enough(reading, draws):
                break
            self._refuse_unmet(reading)
            size = _next_size(wanted, reading.tested, reading.draws)
            start += piece.draws
        return reading

    def _is_enough(self, reading: Reading, draws: int | None) -> bool:
        return monotonic() >= self.until if draws is None else reading.draws >= draws

    def _draw(self, start: int, size: int, wanted: int, rng: np.random.Generator) -> Reading:
        program = self.runner.program
        domain, rows = self.inputs.draw(start, size, len(program.spec.inputs), rng)
        n = len(rows[0])
        if n == 0:
            return Reading([], 0, 0, 0)
        supply = Drawn(rng)
        prepared = prepare(program, domain, rows, supply)
        seeds = rng.integers(0, SEEDS, size=n)
        rejected = int(np.count_nonzero(~prepared.accepted & ~prepared.empty))
        empty = int(np.count_nonzero(prepared.empty))
        surplus = np.flatnonzero(prepared.accepted)[wanted:]
        prepared.accepted[surplus] = False
        choices = (*supply.choices, seeds) if self.runner.draws else tuple(supply.choices)
        cases = Cases(rows, choices).take(np.flatnonzero(prepared.accepted))
        if not len(cases):
            return Reading([], n, rejected, empty)
        judged = self.runner.judged(prepared, self.runner.seeds(cases))
        return Reading([(judged, cases, domain)], n, rejected, empty)

    def _refuse_unmet(self, reading: Reading) -> None:
        if reading.tested == 0 and reading.draws >= SEARCH:
            requires = self.runner.program.spec.requires
            place = requires[0].place if requires else None
            raise SpecError(
                f"no case meets the preconditions: {reading.draws:,} draws found none ({reading.rejected:,} rejected, "
                f"{reading.without_choice:,} with nothing to choose from). Loosen what is required",
                place,
            )


def _joined(reading: Reading, piece: Reading) -> Reading:
    return Reading(
        reading.pieces + piece.pieces,
        reading.draws + piece.draws,
        reading.rejected + piece.rejected,
        reading.without_choice + piece.without_choice,
    )


def _next_size(wanted: int, tested: int, drawn: int) -> int:
    """As many draws as seem to be needed, from how many were accepted so far."""
    rate = (tested + 1) / (drawn + 1)
    return int(min(max(1.1 * wanted / rate + 16, 64), MOST_DRAWS))

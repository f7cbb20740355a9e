"""The work of a sampled check: draw cases, ask, count, and bet on how rare violations are."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.inputs import Inputs
from isonomia.audits.ksafety.judging import Judged
from isonomia.audits.ksafety.preparing import prepare
from isonomia.audits.ksafety.rates import RateEvidence, RateState
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.supply import SEEDS, Drawn
from isonomia.audits.ksafety.tallies import Totals
from isonomia.engine.loop import Plan
from isonomia.engine.seeds import batch_rng
from isonomia.errors import SpecError
from isonomia.populations.domains import Domain

__all__ = ["Reading", "Sampling", "State"]

SEARCH = 100_000
"""Draws without a single accepted case after which a precondition counts as one that nothing satisfies."""

MOST_DRAWS = 2**18
"""Draws that are made together."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one batch came to: judged cases in pieces, and how many draws were turned away."""

    index: int
    pieces: list[tuple[Judged, Cases, Domain]]
    rejected: int
    without_choice: int

    @property
    def tested(self) -> int:
        """How many cases were put to the model."""
        return sum(len(cases) for _, cases, _ in self.pieces)


@dataclass(slots=True)
class State:
    """What all batches so far came to."""

    totals: Totals
    evidence: RateState


@dataclass(frozen=True)
class Sampling:
    """A sampled check, as the engine's loop needs it.

    Attributes
    ----------
    runner, inputs
        What is computed for each case, and where inputs come from.
    evidence
        The bets on the share of cases that violate.
    fresh
        Whether every draw has inputs of its own, so that the same number means another input in the next one.
    stop_early
        Whether a violation ends it.
    seed
        The seed of all randomness.
    until
        When to give up looking for cases that meet the preconditions, in the seconds of ``time.monotonic``.
    """

    runner: Runner
    inputs: Inputs
    evidence: RateEvidence
    fresh: bool
    stop_early: bool
    seed: int
    until: float = float("inf")

    def begin(self) -> State:
        """Nothing seen."""
        return State(Totals(len(self.runner.program.ensures)), self.evidence.begin())

    def measure(self, plan: Plan) -> Reading:
        """Draw cases until enough meet the preconditions; a draw that does not meet them costs nothing but time."""
        rng = batch_rng(self.seed, plan.index, 0)
        reading = Reading(plan.index, [], 0, 0)
        wanted, drawn, size, start = plan.n, 0, plan.n, plan.start
        while wanted > 0:
            piece, n = self._draw(start, size, wanted, rng)
            drawn += n
            reading = _joined(reading, piece)
            wanted = plan.n - reading.tested
            if self.inputs.finite or n == 0 or monotonic() >= self.until:
                break
            self._refuse_unmet(reading, drawn)
            size = _next_size(wanted, reading.tested, drawn)
            start += n
        return reading

    def _draw(self, start: int, size: int, wanted: int, rng: np.random.Generator) -> tuple[Reading, int]:
        program = self.runner.program
        domain, rows = self.inputs.draw(start, size, len(program.spec.inputs), rng)
        n = len(rows[0])
        if n == 0:
            return Reading(0, [], 0, 0), 0
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
            return Reading(0, [], rejected, empty), n
        judged = self.runner.judged(prepared, self.runner.seeds(cases))
        return Reading(0, [(judged, cases, domain)], rejected, empty), n

    def _refuse_unmet(self, reading: Reading, drawn: int) -> None:
        if reading.tested == 0 and drawn >= SEARCH:
            requires = self.runner.program.spec.requires
            place = requires[0].place if requires else None
            raise SpecError(
                f"no case meets the preconditions: {drawn:,} draws found none ({reading.rejected:,} rejected, "
                f"{reading.without_choice:,} with nothing to choose from). Loosen what is required",
                place,
            )

    def absorb(self, state: State, reading: Reading) -> State:
        """Count the batch and let the bets settle."""
        totals, evidence = state.totals, state.evidence
        totals.turned_away.rejected += reading.rejected
        totals.turned_away.without_choice += reading.without_choice
        for judged, cases, domain in reading.pieces:
            totals.add(judged, cases, domain, fresh=self.fresh)
            evidence = self.evidence.step(evidence, judged.violates, judged.failed)
        return State(totals, evidence)

    def shares(self, state: State) -> tuple[float, ...]:  # noqa: ARG002
        """One stream."""
        return (1.0,)

    def asked(self, reading: Reading) -> int:
        """How many cases were tested."""
        return reading.tested

    def decided(self, state: State) -> bool:
        """Whether there is an answer, and no wish to go on counting."""
        return self.stop_early and self.evidence.decision(state.evidence) is not None

    def share(self, state: State) -> float:
        """How far the evidence has come."""
        return self.evidence.progress(state.evidence)

    def closing_in(self, state: State) -> str:
        """What is known, for a person who watches."""
        totals = state.totals
        return f"{totals.violating:,} violations in {totals.tested:,} cases"

    def compared(self, state: State) -> None:  # noqa: ARG002
        """Nothing along the way: one violation settles it, and until then there is none to estimate from."""
        return


def _joined(reading: Reading, piece: Reading) -> Reading:
    return Reading(
        reading.index,
        reading.pieces + piece.pieces,
        reading.rejected + piece.rejected,
        reading.without_choice + piece.without_choice,
    )


def _next_size(wanted: int, tested: int, drawn: int) -> int:
    """As many draws as seem to be needed, from how many were accepted so far."""
    rate = (tested + 1) / (drawn + 1)
    return int(min(max(1.1 * wanted / rate + 16, 64), MOST_DRAWS))

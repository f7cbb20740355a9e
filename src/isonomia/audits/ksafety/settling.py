"""The work of a sampled check: batches as counts, on which the bets are settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.rates import Cells, RateEvidence, RateState
from isonomia.audits.ksafety.sampling import Reading, Sampling
from isonomia.audits.ksafety.seen import Seen
from isonomia.audits.ksafety.shares import compared_share, drawn_share
from isonomia.audits.ksafety.tallies import Piece, Totals, piece_of
from isonomia.engine.journal import Entry
from isonomia.engine.loop import Plan
from isonomia.errors import DataError
from isonomia.records.verdict import Expression

__all__ = ["Counted", "Settling", "State"]


@dataclass(frozen=True, slots=True)
class Counted:
    """What one batch came to, as numbers: all that the answer rests on.

    Attributes
    ----------
    index, start
        Which batch it is, and how many draws it comes after.
    draws, rejected, without_choice
        How many draws were made, and how many of them were turned away.
    pieces
        Its cases in pieces: what became of them, and the cells that bets are settled by.
    """

    index: int
    start: int
    draws: int
    rejected: int
    without_choice: int
    pieces: tuple[tuple[Piece, Cells], ...]


@dataclass(slots=True)
class State:
    """What all batches so far came to."""

    totals: Totals
    evidence: RateState


@dataclass(frozen=True)
class Settling:
    """A sampled check, as the engine's loop needs it.

    Attributes
    ----------
    program, evidence
        What must come out of a case, and the bets on the share of cases that violate.
    eps
        The share that is left open where nothing violates.
    stop_early
        Whether a violation ends it.
    sampling
        Gives what draws cases; called only where a batch is measured.
    seen, fresh
        Where violations are noted, ``None`` where nowhere; and whether every draw has inputs of its own, so that the
        same number means another input in the next one.
    again
        Whether batches that were kept are measured once more, from kept answers, for the violations in them.
    refuted
        Whether a case that was not drawn has settled it, so that a first batch is enough.
    """

    program: Program
    evidence: RateEvidence
    eps: float
    stop_early: bool
    sampling: Callable[[], Sampling]
    seen: Seen | None
    fresh: bool = False
    again: bool = False
    refuted: bool = False

    def begin(self) -> State:
        """Nothing seen."""
        return State(Totals(len(self.program.ensures)), self.evidence.begin())

    def measure(self, plan: Plan) -> Counted:
        """Draw cases, put them to the model, note violations, and count."""
        reading = self.sampling().measure(plan)
        self._note(reading)
        pieces = ((piece_of(one), self.evidence.cells(one.violates, one.failed)) for one, _, _ in reading.pieces)
        turned_away = reading.rejected, reading.without_choice
        return Counted(plan.index, plan.start, reading.draws, *turned_away, tuple(pieces))

    def _note(self, reading: Reading) -> None:
        if self.seen is not None:
            for judged, cases, domain in reading.pieces:
                self.seen.add(judged, cases, domain, fresh=self.fresh)

    def pack(self, batch: Counted) -> Entry:
        """The counts as plain values."""
        return {
            "index": batch.index,
            "start": batch.start,
            "draws": batch.draws,
            "rejected": batch.rejected,
            "without_choice": batch.without_choice,
            "pieces": [_packed(piece, cells) for piece, cells in batch.pieces],
        }

    def unpack(self, entry: Entry) -> Counted:
        """The counts again; what they rest on is measured once more where that is needed."""
        index, start = entry["index"], entry["start"]
        if self.again:
            self._note(self.sampling().measure(Plan(index, start, entry["n"], (1.0,)), entry["draws"]))
        pieces = tuple(map(_unpacked, entry["pieces"]))
        batch = Counted(index, start, entry["draws"], entry["rejected"], entry["without_choice"], pieces)
        if not self._is_possible(batch):
            raise DataError(
                f"expected numbers of cases that agree with each other, but those of batch {index} of the record do not"
            )
        return batch

    def _is_possible(self, batch: Counted) -> bool:
        """Whether the numbers of a batch can be those of any cases; not so where a record was changed."""
        counts = [batch.rejected, batch.without_choice]
        for piece, cells in batch.pieces:
            bad, failed, n = piece.by_ensures, piece.failed, piece.tested
            counts += [n, failed, piece.vacuous, *bad]
            if not max(bad) <= piece.violating <= min(n, sum(bad)) or max(failed, piece.vacuous) > n:
                return False
            if len(bad) != len(self.program.ensures) or not self.evidence.fits(n, bad, failed, cells):
                return False
        return min(counts) >= 0 and self.asked(batch) + batch.rejected + batch.without_choice <= batch.draws

    def absorb(self, state: State, batch: Counted) -> State:
        """Add up the batch and let the bets settle."""
        totals, evidence = state.totals, state.evidence
        totals.turned_away.rejected += batch.rejected
        totals.turned_away.without_choice += batch.without_choice
        for piece, cells in batch.pieces:
            totals.add(piece)
            evidence = self.evidence.settle(evidence, piece.tested, piece.by_ensures, piece.failed, cells)
        return State(totals, evidence)

    def shares(self, state: State) -> tuple[float, ...]:  # noqa: ARG002
        """One stream."""
        return (1.0,)

    def asked(self, batch: Counted) -> int:
        """How many cases were tested."""
        return sum(piece.tested for piece, _ in batch.pieces)

    def decided(self, state: State) -> bool:
        """Whether there is an answer, and no wish to go on counting."""
        return self.stop_early and (self.refuted or self.evidence.decision(state.evidence) is not None)

    def share(self, state: State) -> float:
        """How far the evidence has come."""
        return self.evidence.progress(state.evidence)

    def closing_in(self, state: State) -> str:
        """What is known, for a person who watches."""
        totals = state.totals
        return f"{totals.violating:,} violations in {totals.tested:,} cases"

    def compared(self, state: State) -> Expression | None:
        """The share of cases that violate the first ``ensures``."""
        share = drawn_share(state.totals, 0, self.evidence.delta)
        return compared_share(self.program.spec.ensures[0], share, None if state.totals.by_ensures[0] else self.eps)


def _packed(piece: Piece, cells: Cells) -> Entry:
    return {
        "tested": piece.tested,
        "violating": piece.violating,
        "by_ensures": list(piece.by_ensures),
        "failed": piece.failed,
        "vacuous": piece.vacuous,
        "reasons": [list(pair) for pair in piece.reasons],
        "bets": [[cell.tolist() for cell in side] for side in cells],
    }


def _unpacked(entry: Entry) -> tuple[Piece, Cells]:
    piece = Piece(
        entry["tested"],
        entry["violating"],
        tuple(entry["by_ensures"]),
        entry["failed"],
        entry["vacuous"],
        tuple((why, count) for why, count in entry["reasons"]),
    )
    holding, violating = (tuple(np.asarray(cell, dtype=float) for cell in side) for side in entry["bets"])
    return piece, (holding, violating)

"""Cases at the ends of ranges.

Corners: cases whose inputs and choices lie at the ends of what there is, and not anywhere.

Every corner is a case that the property speaks of: an input of the domain or one that the population has drawn or says
that it can draw, with choices from their ranges, which meets the preconditions.

The step before drawing: cases at the ends of ranges, which random draws hardly ever meet.

They are chosen and not drawn, so that nothing about a share may rest on them. What must always be true is refuted by a
single case, whichever way it was come by. So a corner can turn an answer into *violated*, which is a fact then, and
into nothing else: *holds* is said wrongly no more often than without them. Intervals of shares are right whenever one
stops, for whatever reason; so it does no harm that a corner may end the drawing after its first batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, prepare
from isonomia.audits.ksafety.evaluate import SEEDS, AtEnds
from isonomia.audits.ksafety.evidence import RateEvidence, piece_of
from isonomia.audits.ksafety.inputs import Fresh, Inputs, WithReplacement, worth_drawing
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.runner import Judged, Runner
from isonomia.audits.ksafety.setup import FEW, Steps
from isonomia.audits.ksafety.shrink import SHRUNK, shown_finds, shrunk
from isonomia.audits.ksafety.verdict import Corners, is_proof
from isonomia.audits.ksafety.violations import Findings, Finds
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Entry, once
from isonomia.engine.seeds import corner_rng
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.populations.domains import Domain

__all__ = ["Extent", "budget_left", "corner_cases", "most_corners", "try_corners", "with_corners"]


TURNS = 4
"""How often each input is proposed, with other choices every time."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How many corners are wanted at most, and among how many people of an unlimited population they are looked for."""

    most: int
    pool: int


def corner_cases(
    runner: Runner, inputs: Inputs, domain: Domain, extent: Extent, rng: np.random.Generator
) -> tuple[Domain, Cases]:
    """Cases at the ends of ranges, no two of them the same, and the domain of their inputs."""
    program, most = runner.program, extent.most
    domain, rows = _inputs_at_ends(program, inputs, domain, extent, rng)
    columns = tuple(_in_turns(rows, most, place, rng) for place in range(len(program.spec.inputs)))
    if not len(rows):
        return domain, Cases(columns)
    supply = AtEnds(rng)
    prepared = prepare(program, domain, columns, supply)
    seeds = rng.integers(0, SEEDS, size=len(columns[0]))
    choices = (*supply.choices, seeds) if runner.draws else tuple(supply.choices)
    if not supply.bounded and not _has_ends(domain):
        prepared.accepted[:] = False  # nothing is at an end of anything, such as images with noise
    accepted = Cases(columns, choices).take(np.flatnonzero(prepared.accepted))
    return domain, accepted.take(_different(accepted)[:most])


def _inputs_at_ends(
    program: Program, inputs: Inputs, domain: Domain, extent: Extent, rng: np.random.Generator
) -> tuple[Domain, NDArray[np.intp]]:
    """Inputs that exist: of a table some of its rows; of an unlimited population people whom it names, or has drawn."""
    most = extent.most
    if isinstance(inputs, Fresh):
        own = getattr(inputs.source, "corners", lambda *_: None)(TURNS * most, rng)
        domain = inputs.domain_of(inputs.source.batch(0, extent.pool, rng) if own is None else own)
        rows = worth_drawing(program, domain)
        return domain, rows if own is not None else _at_ends(domain, rows, most, rng)
    rows = inputs.rows if isinstance(inputs, WithReplacement) else worth_drawing(program, domain)
    return domain, _at_ends(domain, rows, most, rng)


def _at_ends(domain: Domain, rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Those at the ends, where the domain can tell; otherwise any, so that at least choices are at ends."""
    if not _has_ends(domain):
        return rng.permutation(rows)[:most]
    chooser: Any = domain
    return np.asarray(chooser.corners(rows, most, rng))


def _has_ends(domain: Domain) -> bool:
    return hasattr(domain, "corners")


def _in_turns(rows: NDArray[np.intp], most: int, place: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Every input several times; the second input of a case in another order than the first."""
    turns = max(TURNS, -(-TURNS * most // max(len(rows), 1)))
    orders = [rows if place == 0 else rng.permutation(rows) for _ in range(turns)]
    return np.concatenate(orders).astype(np.intp)


def _different(cases: Cases) -> NDArray[np.intp]:
    """The first of those that are the same, in order."""
    if not len(cases):
        return np.zeros(0, dtype=np.intp)
    return np.sort(np.unique(cases.keys(), axis=0, return_index=True)[1])


MOST = 64
"""How many corners are tried."""

POOL = 4096
"""People of an unlimited population among whom those at the ends are looked for, where it does not name them."""

KEY = "corners"
"""What the step is kept under."""


def try_corners(steps: Steps) -> Corners | None:
    """Try the corners; ``None`` where they are not wanted, or could prove nothing."""
    prop, evidence = steps.request.prop, steps.evidence
    most = most_corners(steps.request.budget, evidence, coded=steps.program.code is not None)
    if not prop.corners or not prop.stop_early or not evidence.strict or not most:
        return None
    kept = once(steps.journal, KEY, lambda: _tried(steps, most))
    return Corners(**{**kept, "counterexamples": tuple(kept["counterexamples"])})


def most_corners(budget: Budget, evidence: RateEvidence, *, coded: bool) -> int:
    """How many may be tried: a tenth of a budget at most, and never so many that too few are left to draw.

    Where the block is code, a case may take long, and no more corners are tried than cases are drawn at first.
    """
    most = FEW if coded else MOST
    if budget.samples == inf:
        return most
    spare = budget.samples - evidence.needed
    return int(min(most, budget.samples // 10, spare if spare >= 0 else inf))


def budget_left(budget: Budget, corners: Corners | None) -> Budget:
    """What the corners leave of a budget."""
    if corners is None:
        return budget
    return replace(budget, samples=budget.samples - corners.tried, seconds=max(budget.seconds - corners.seconds, 1e-9))


def with_corners(found: Findings, corners: Corners | None) -> Findings:
    """Violations with those of the corners among them, the smallest changes first."""
    if corners is None or not corners.refuting:
        return found
    both = (*corners.counterexamples, *found.counterexamples)
    return replace(found, counterexamples=tuple(sorted(both, key=_cost)))


def _cost(item: Mapping[str, Any]) -> tuple[int, float]:
    return item["features_changed"], item["distance"]


def _tried(steps: Steps, most: int) -> Entry:
    """Their answers are kept apart: the steps behind count theirs from the beginning."""
    began = monotonic()
    runner = steps.bench.runner(steps.program, steps.subject.random, KEY)
    # No more people are drawn for it than will be drawn anyway: a population may be slow too.
    extent = Extent(most, int(min(POOL, steps.request.budget.samples, steps.evidence.needed)))
    domain, cases = corner_cases(runner, steps.inputs, steps.bench.domain, extent, corner_rng(steps.request.seed))
    told: dict[str, Any] = {"tried": len(cases), "violating": 0, "failed": 0, "counterexamples": []}
    try:
        if len(cases):
            told |= _judged(steps, runner, domain, cases)
    except UnreliableModelError:
        raise
    except ModelError:
        told["failed"] = len(cases)  # a model that answers for nobody is found out when cases are drawn
    return {**told, "seconds": monotonic() - began}


def _judged(steps: Steps, runner: Runner, domain: Domain, cases: Cases) -> dict[str, Any]:
    """How many violate what must always be true, and how many failed; the smallest violations, which occur again."""
    judged, cases = runner.run(domain, cases)
    bad = np.flatnonzero(_proves(judged, steps.evidence))
    finds = Finds()
    finds.add(domain, cases.take(bad), judged.changed[:, bad], 0)
    best = finds.ranked(SHRUNK)
    # Beside a claim about a share, the smallest change that violates anything may be no proof.
    tried = [(find, False) for find in best] if steps.evidence.rated else shrunk(runner, best)
    shown = shown_finds(runner, [find for find, _ in tried], [minimal for _, minimal in tried])
    proofs: list[Mapping[str, Any]] = [item for item in shown if is_proof(steps.program, item)]
    return {"violating": len(bad), "failed": piece_of(judged).failed, "counterexamples": proofs}


def _proves(judged: Judged, evidence: RateEvidence) -> Any:
    return judged.violates[list(evidence.strict)].any(axis=0)

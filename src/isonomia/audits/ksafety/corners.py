"""Corners: cases whose inputs and choices lie at the ends of what there is, and not anywhere.

Every corner is a case that the property speaks of: an input of the domain or one that the population has drawn or says
that it can draw, with choices from their ranges, which meets the preconditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.inputs import Fresh, Inputs, WithReplacement, worth_drawing
from isonomia.audits.ksafety.preparing import prepare
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.supply import SEEDS, AtEnds
from isonomia.populations.domains import Domain

__all__ = ["Extent", "corner_cases"]

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

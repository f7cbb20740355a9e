"""Edge cases: cases at the ends of ranges, tried before any is drawn, since random draws hardly ever meet them.

Every edge case is a case that the property speaks of: its inputs are in the domain, or the population has drawn them or
says that it can draw them; its choices are from their ranges; and it meets the preconditions.

Edge cases are chosen, not drawn, so nothing about a share may rest on them. What must always be true is refuted by a
single case, however it was found. So an edge case can turn an answer into *violated*, which is then a fact; and one on
which the model fails turns *holds* into *undecided*, as any case does. *Holds* is said wrongly no more often than
without them. Intervals of shares are valid whenever drawing stops, for whatever reason; so it does no harm that a
edge case may end it after the first batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseRunner, Cases, prepare
from isonomia.audits.ksafety.evaluate import SEEDS, RandomChoices
from isonomia.audits.ksafety.evidence import CaseEvidence
from isonomia.audits.ksafety.functions import FunctionAlwaysRaisedError
from isonomia.audits.ksafety.setup import FreshInputs, SafetySetup, worth_drawing
from isonomia.audits.ksafety.shrinking import SHRUNK, shrink_all
from isonomia.audits.ksafety.violations import (
    Violations,
    ViolationSummary,
    is_proof,
    show_violations,
)
from isonomia.engine.parameters import Budget, edge_case_rng
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.models.meter import BudgetSpentError, current_meter
from isonomia.populations.domains import Domain
from isonomia.populations.domains.protocol import DomainFacts
from isonomia.populations.generator import GeneratorSource
from isonomia.records.journal import Entry, once
from isonomia.wording import plural

MAX_EDGE_CASES = 64
"""How many edge cases are tried, and so the most violations that are not random cases."""

COSTLY_BATCH = 32
"""How many are tried where a case is costly, and also the size of the first batch of random cases there."""

POOL = 4096
"""How many people of an unlimited population are searched for those at the ends, where it does not name them."""

TURNS = 4
"""How often each input is proposed, with different choices every time."""

KEY = "edge_cases"
"""The journal key of this step."""


@dataclass(frozen=True, slots=True)
class EdgeCases:
    """The result of the cases at the ends of ranges, which were tried before any was drawn.

    Attributes
    ----------
    tried, violating, failed
        How many there were, how many violate what must always be true, and in how many something could not be computed.
    counterexamples
        The smallest of those that violate it, which did so again when they were computed again.
    seconds
        How long it took.
    reasons
        Why they failed, and how many.
    """

    tried: int
    violating: int
    failed: int
    counterexamples: tuple[Mapping[str, Any], ...]
    seconds: float
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def refuting(self) -> bool:
        """Whether one of them is proof."""
        return bool(self.counterexamples)

    def counts(self) -> dict[str, int]:
        """How many were tried, violated and failed."""
        return {"tried": self.tried, "violating": self.violating, "failed": self.failed}

    def remarks(self) -> list[str]:
        """Their result. A reader who also sees a share must know that edge cases are not random cases."""
        if not self.tried:
            return []
        result = "no violation"
        if self.refuting:
            does = "violates" if self.violating == 1 else "violate"
            result = f"{self.violating:,} {does} it, which is proof. They do not enter any share"
        elif self.violating:
            result = f"{self.violating:,} violated it, but not when computed again"
        remarks = [f"{plural(self.tried, 'edge case')} (at the ends of ranges) tried before the draws: {result}"]
        if self.failed:
            remarks.append(f"{plural(self.failed, 'edge case')} failed")
        return remarks


def try_edge_cases(setup: SafetySetup) -> EdgeCases | None:
    """Try the edge cases; ``None`` where they are not wanted or could prove nothing."""
    prop, evidence = setup.check.prop, setup.evidence
    max_n = max_edge_cases(setup.check.budget, evidence, costly=setup.costly)
    max_n = int(min(max_n, setup.check.budget.queries / (10 * (setup.program.k or 1))))
    if not prop.edge_cases or not prop.stop_early or not evidence.strict or not max_n:
        return None
    entry = setup.journal.recall(KEY)
    if entry is None:
        entry = once(setup.journal, KEY, lambda: _try(setup, max_n))
    elif not setup.finished:
        _try(setup, max_n)  # again, for the violations themselves; the model's answers are kept
    return EdgeCases(**{**entry, "counterexamples": tuple(entry["counterexamples"])})


def max_edge_cases(budget: Budget, evidence: CaseEvidence, *, costly: bool) -> int:
    """How many may be tried: at most a tenth of a budget, and never so many that too few are left to draw.

    Where a case is costly, no more edge cases are tried than cases are drawn at first.
    """
    max_n = COSTLY_BATCH if costly else MAX_EDGE_CASES
    if budget.samples == inf:
        return max_n
    spare = budget.samples - evidence.needed
    return int(min(max_n, budget.samples // 10, spare if spare >= 0 else inf))


def budget_left(budget: Budget, edge_cases: EdgeCases | None) -> Budget:
    """What the edge cases leave of a budget."""
    if edge_cases is None:
        return budget
    return replace(
        budget, samples=budget.samples - edge_cases.tried, seconds=max(budget.seconds - edge_cases.seconds, 1e-9)
    )


def with_edge_cases(summary: ViolationSummary, edge_cases: EdgeCases | None) -> ViolationSummary:
    """The violations, including those of the edge cases, the smallest changes first."""
    if edge_cases is None or not edge_cases.refuting:
        return summary
    both = (*edge_cases.counterexamples, *summary.counterexamples)
    return replace(summary, counterexamples=tuple(sorted(both, key=_cost)))


def _cost(item: Mapping[str, Any]) -> tuple[int, float]:
    return item["features_changed"], item["distance"]


def _try(setup: SafetySetup, max_n: int) -> Entry:
    """Try the edge cases. Their answers are kept apart: later steps number their own answers from 0."""
    began = monotonic()
    runner = setup.new_runner(KEY)
    # No more people are drawn for this than will be drawn anyway: a population may be slow too.
    pool = int(min(POOL, setup.check.budget.samples, setup.evidence.needed))
    rng = edge_case_rng(setup.check.seed)
    result: dict[str, Any] = {"tried": 0, "violating": 0, "failed": 0, "counterexamples": [], "reasons": {}}
    try:
        domain, cases = _cases_at_edges(setup, runner, max_n, pool, rng)
        result["tried"] = len(cases)
        if len(cases):
            result |= _judge(setup, runner, domain, cases)
    except UnreliableModelError:
        raise
    except BudgetSpentError:
        result["tried"] = 0  # what follows ends for the same reason
    except ModelError as error:
        # A model that never answers is an error once cases are drawn; if it answers there, only the edge cases failed.
        result |= {"failed": result["tried"], "reasons": {str(error.__cause__ or error): result["tried"]}}
    except FunctionAlwaysRaisedError as error:
        result |= {"tried": error.cases, "failed": error.cases, "reasons": {error.why: error.cases}}
    return {**result, "seconds": monotonic() - began}


def _judge(setup: SafetySetup, runner: CaseRunner, domain: Domain, cases: Cases) -> dict[str, Any]:
    """How many violate what must always be true, and how many failed; the smallest violations that occur again.

    Where a case is costly they are tried one, two, four at a time, until one violates.
    """
    start, size = 0, 1 if setup.costly else len(cases)
    totals: dict[str, Any] = {"tried": 0, "violating": 0, "failed": 0, "counterexamples": [], "reasons": {}}
    while start < len(cases) and not totals["counterexamples"]:
        part = _judge_some(setup, runner, domain, cases.take(np.arange(start, min(start + size, len(cases)))))
        reasons = Counter(totals["reasons"]) + Counter(part["reasons"])
        totals = {name: totals[name] + value for name, value in part.items() if name != "reasons"} | {
            "reasons": reasons
        }
        start, size = start + size, 2 * size
    return {**totals, "reasons": dict(totals["reasons"])}


def _judge_some(setup: SafetySetup, runner: CaseRunner, domain: Domain, cases: Cases) -> dict[str, Any]:
    judgement = runner.run(domain, cases)
    bad = np.flatnonzero(judgement.violates[list(setup.evidence.strict)].any(axis=0))
    violations = Violations()
    violations.add_cases(domain, judgement.cases.take(bad), judgement.changed[:, bad])
    setup.violations.add_edge_cases(setup.program, judgement, bad)
    smallest = violations.ranked(SHRUNK)
    with current_meter().further():
        # Next to a claim about a share, the smallest change that violates anything may not be a proof.
        unchanged = setup.evidence.rated or not setup.check.prop.shrink
        shown, tried = show_violations(runner, smallest if unchanged else shrink_all(runner, smallest))
    if smallest and not tried:
        violations.note_first(setup.program, judgement, bad)
        shown = [] if violations.first is None else [violations.first]
    proofs = [item for item in shown if is_proof(setup.program, item)]
    tally = judgement.tally()
    counts = {"tried": len(cases), "violating": len(bad), "failed": tally.failed}
    return {**counts, "counterexamples": proofs, "reasons": tally.why_failed}


def _cases_at_edges(
    setup: SafetySetup, runner: CaseRunner, max_n: int, pool: int, rng: np.random.Generator
) -> tuple[Domain, Cases]:
    """Cases at the ends of ranges, no two of them the same, and the domain of their inputs."""
    program = runner.program
    domain, rows = _inputs_at_ends(setup, runner, max_n, pool, rng)
    columns = tuple(_in_turns(rows, max_n, index, rng) for index in range(len(program.spec.inputs)))
    if not len(rows):
        return domain, Cases(columns)
    drawn = RandomChoices(rng, at_ends=True)
    prepared = prepare(program, domain, columns, drawn)
    seeds = rng.integers(0, SEEDS, size=len(columns[0]))
    choices = (*drawn.choices, seeds) if runner.draws else tuple(drawn.choices)
    if not drawn.bounded and DomainFacts.of(domain).edge_cases is None:
        prepared.accepted[:] = False  # nothing is at an end of anything, such as images with noise
    accepted = Cases(columns, choices).take(np.flatnonzero(prepared.accepted))
    return domain, accepted.take(_different(accepted)[:max_n])


def _inputs_at_ends(
    setup: SafetySetup, runner: CaseRunner, max_n: int, pool: int, rng: np.random.Generator
) -> tuple[Domain, NDArray[np.intp]]:
    """Inputs that exist: rows of a table, or people whom an unlimited population names or has drawn."""
    inputs, domain = setup.inputs, setup.domain
    if isinstance(inputs, FreshInputs):
        source = inputs.source
        own = source.edge_cases(TURNS * max_n, rng) if isinstance(source, GeneratorSource) else None
        domain = inputs.domain_of(source.batch(0, pool, rng) if own is None else own)
        rows = worth_drawing(runner, domain)
        return domain, rows if own is not None else _at_ends(domain, rows, max_n, rng)
    rows = worth_drawing(runner, domain) if inputs.once else inputs.rows
    return domain, _at_ends(domain, rows, max_n, rng)


def _at_ends(domain: Domain, rows: NDArray[np.intp], max_n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Those at the ends, where the domain can tell; otherwise any, so that at least choices are at the ends."""
    edge_cases = DomainFacts.of(domain).edge_cases
    return rng.permutation(rows)[:max_n] if edge_cases is None else np.asarray(edge_cases(rows, max_n, rng))


def _in_turns(rows: NDArray[np.intp], max_n: int, index: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Every input several times; the second input of a case in another order than the first."""
    turns = max(TURNS, -(-TURNS * max_n // max(len(rows), 1)))
    orders = [rows if index == 0 else rng.permutation(rows) for _ in range(turns)]
    return np.concatenate(orders).astype(np.intp)


def _different(cases: Cases) -> NDArray[np.intp]:
    """The positions of distinct cases, the first of each, in order."""
    if not len(cases):
        return np.zeros(0, dtype=np.intp)
    return np.sort(np.unique(cases.keys(), axis=0, return_index=True)[1])

"""The gain and the cost of a repair: the share of violating cases and the lost accuracy, certified at one risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, log, log1p
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.check import check
from isonomia.audits.protocol import Check
from isonomia.audits.random_search import called, counting, judged, related_records
from isonomia.audits.repair.training import AUDIT, SEARCH, RepairRound, RepairTraining, with_repeats
from isonomia.audits.verdicts import new_verdict
from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import mean_ends
from isonomia.models.session import open_session
from isonomia.populations.finite import Census, Sample
from isonomia.populations.table import Table
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.spec.nomos.tree import Binary, FunctionCall, Name
from isonomia.spec.safety import Safety
from isonomia.wording import listed, number, plural

SPARE = 16
"""Where cases can be drawn without end, this many times as many as would do without a violation: then a model whose
violations are half as frequent as allowed is nearly always certified."""


@dataclass(frozen=True, slots=True)
class RepairClaim:
    """What a repair should reach: a share of violating cases for each property, and hardly any loss of accuracy."""

    props: tuple[Safety, ...]
    lost: float

    @property
    def name(self) -> str:
        """Its name."""
        return f"repair: {', '.join(map(called, self.props))}"

    def __str__(self) -> str:
        shares = [f"share of cases that violate {called(prop)} <= {prop.eps!r}" for prop in self.props]
        return " and ".join([*shares, f"accuracy lost <= {self.lost!r}"])

    def explain(self) -> str:
        """The claim in plain English."""
        shares = [f"at most {number(prop.eps)} of the cases violate this: {prop.explain()}" for prop in self.props]
        return f"After the repair {'; '.join(shares)} At most {number(self.lost)} of the accuracy is lost by it."


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """The claims, and the rows on which they are certified."""

    work: RepairTraining
    kind: type[Sample] | type[Census]
    held: Table
    claim: RepairClaim
    delta: float

    @property
    def each(self) -> float:
        """The risk of one claim."""
        return self.delta / (len(self.claim.props) + 1)

    def rows(self, estimator: Any) -> int:
        """The maximum number of rows that it sends to both models, and for its remark on monotone constraints."""
        total = 2 * self.held.rows
        for prop in self.claim.props:
            k = self.work.rows_of_case(prop, estimator, self.held)
            total += 2 * with_repeats(k * self.cases(prop)) + with_repeats(k * DIRECTION)
        return total

    def cases(self, prop: Safety) -> int:
        """How many random cases there are: one for each row of a sample, or enough from a census or fresh people."""
        drawn = self.kind is Census or self.work.fresh is not None
        return SPARE * _least(prop.eps, self.each) if drawn else self.held.rows

    def verdict(
        self, train: Table, before: Any, after: Any, history: tuple[RepairRound, ...], kept: int, began: float
    ) -> Verdict:
        """The verdict on the gain and the cost."""
        work, props = self.work, self.claim.props
        counted = [
            (_checked(prop, work, self, before, k), _checked(prop, work, self, after, k))
            for k, prop in enumerate(props)
        ]
        right = [work.answers(model, self.held) == self.held.column(work.label) for model in (before, after)]
        accuracy, loss = self.accuracy(*right)
        shares = [_share_of(prop, counts, self.each) for prop, (_, counts) in zip(props, counted, strict=True)]
        claims = (*shares, loss)
        answers = [item.settled for item in claims]
        answer = False if False in answers else None if None in answers else True
        leaves = [
            _leaf(f"violates {called(prop)}, {when}", counts, self.each)
            for prop, pair in zip(props, counted, strict=True)
            for when, counts in zip(("before", "after"), pair, strict=True)
        ]
        population, session = self.kind(self.held), open_session(work.adapted(after), watched=False)
        remarks = [
            *constraint_remarks(props, work, train, before),
            _rounds_remark(history, kept, train.rows),
            *(_needed_remark(prop, counts, self.each) for prop, (_, counts) in zip(props, counted, strict=True)),
        ]
        return new_verdict(
            Check(self.claim, session, population, delta=self.delta, seed=work.seed),
            answer,
            method="one look",
            stopped="the held-out rows were looked at once",
            assumptions=self.assumptions(population),
            remarks=tuple(remark for remark in remarks if remark),
            samples=sum(counts.tested for _, counts in counted),
            leaves=(*leaves, *accuracy),
            expressions=claims,
            seconds=monotonic() - began,
            counterexamples=tuple(item for _, counts in counted for item in counts.counterexamples),
            counted="cases",
            looks="once",
            details={
                "audit": "repair",
                "properties": [
                    {
                        "name": called(prop),
                        "text": str(prop).rstrip(),
                        "before": {"tested": old.tested, "violating": old.violating, "failed": old.failed},
                        "after": {"tested": new.tested, "violating": new.violating, "failed": new.failed},
                    }
                    for prop, (old, new) in zip(props, counted, strict=True)
                ],
                "accuracy": {
                    "rows": self.held.rows,
                    "right_before": int(right[0].sum()),
                    "right_after": int(right[1].sum()),
                    "only_before": int((right[0] & ~right[1]).sum()),
                    "only_after": int((~right[0] & right[1]).sum()),
                },
                "rounds": [asdict(each) for each in history],
                "kept": kept,
                "trained_on": train.rows,
                "held_out": self.held.rows,
            },
        )

    def assumptions(self, population: Sample | Census) -> tuple[str, ...]:
        """What the certificate rests on."""
        whom = self.work.fresh
        return (
            *population.assumptions,
            *(() if whom is None else whom.assumptions),
            "no held-out row was seen by training or the search, neither as a copy nor as another "
            "row of the same person",
            "the held-out rows are used once: another repair of the same table needs new rows",
        )

    def accuracy(self, before: NDArray[np.bool_], after: NDArray[np.bool_]) -> tuple[list[LeafRecord], Expression]:
        """The accuracy of both models, and how much of it was lost."""
        n, risk = self.held.rows, self.each
        exact = self.kind is Census
        leaves = []
        for when, right in (("before", before), ("after", after)):
            counts = CaseCounts(n, int(right.sum()), 0)
            leaf = _leaf(f"accuracy {when}", counts, risk)
            leaves.append(replace(leaf, low=right.mean().item(), high=right.mean().item()) if exact else leaf)
        change = before.astype(np.int64) - after.astype(np.int64)
        low = high = mean = float(change.mean())
        if not exact:
            low, high = lost_limits(change, risk, self.work.rng(AUDIT, len(self.claim.props)))
        return leaves, Expression("accuracy lost", "<=", self.claim.lost, mean, low, high)


MOST_BATCHES = 4096
"""The maximum number of batches of rows, each of which learns from those before it. Fewer only widen the limits."""


def lost_limits(change: NDArray[np.int64], delta: float, rng: np.random.Generator) -> tuple[float, float]:
    """The limits of the mean of independent numbers -1, 0 and 1, taken in random order.

    Guarantee: each is wrong with probability at most ``delta``, for a number of draws fixed in advance.
    """
    tallies = change[rng.permutation(len(change))][:, None] == np.array([-1, 0, 1])
    starts = np.unique(np.linspace(0, len(change), min(len(change), MOST_BATCHES), endpoint=False).astype(int))
    batches = np.add.reduceat(tallies.astype(np.float64), starts, axis=0)
    return mean_ends(np.array([-1.0, 0.0, 1.0]), batches, delta)


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """How many cases were tested, violate, and failed, which may be violations; and some counterexamples."""

    tested: int
    violating: int
    failed: int
    counterexamples: tuple[Mapping[str, Any], ...] = ()


def _checked(prop: Safety, work: RepairTraining, audit: Certificate, estimator: Any, k: int) -> CaseCounts:
    """Random cases of the held-out rows."""
    population = audit.kind(audit.held.select(work.columns(prop))) if work.fresh is None else work.fresh
    verdict = check(
        counting(prop),
        work.adapted(estimator),
        population,
        delta=audit.each,
        budget=audit.cases(prop),
        seed=work.number(AUDIT, k),
    )
    cases = verdict.details["cases"]
    return CaseCounts(cases["tested"], verdict.details["violations"]["cases"], cases["failed"], verdict.counterexamples)


def _least(eps: float, delta: float) -> int:
    """How many cases without a violation certify a share."""
    return ceil(log(delta) / log1p(-eps))


def _share_of(prop: Safety, counts: CaseCounts, delta: float) -> Expression:
    """The share of cases that violate, each end wrong with probability at most ``delta``."""
    leaf = _leaf(f"share of cases that violate {called(prop)}", counts, delta)
    return Expression(leaf.text, "<=", prop.eps, leaf.estimate, leaf.low, leaf.high)


def _leaf(text: str, counts: CaseCounts, delta: float) -> LeafRecord:
    estimate = counts.violating / counts.tested if counts.tested else None
    return LeafRecord(text, counts.tested, estimate, *share_limits(counts, delta))


def share_limits(counts: CaseCounts, delta: float) -> tuple[float, float]:
    """Clopper-Pearson limits: a failed case counts as a violation in the upper limit only."""
    if not counts.tested:
        return 0.0, 1.0
    possible = min(counts.violating + counts.failed, counts.tested)
    low, high = lower_limit(counts.violating, counts.tested, delta), upper_limit(possible, counts.tested, delta)
    return float(low), float(high)


def _rounds_remark(history: tuple[RepairRound, ...], kept: int, trained_on: int) -> str:
    added = sum(each.added for each in history[:kept])
    last = history[kept]
    if not kept:
        return (
            f"the model is unchanged: the search found {plural(last.violating, 'violation')} in {last.searched:,} "
            "cases of it, and no retrained model had fewer"
        )
    return (
        f"{plural(kept, 'round')} added {plural(added, 'row')} to {trained_on:,}; in the final model "
        f"the search found {plural(last.violating, 'violation')} in {last.searched:,} cases"
    )


def _needed_remark(prop: Safety, counts: CaseCounts, delta: float) -> str:
    """Why a share could not be certified, where too few cases are the reason."""
    least = _least(prop.eps, delta)
    if counts.tested >= least:
        return ""
    return (
        f"{least:,} cases without a violation certify a share of {prop.eps!r} at this risk, but the held-out rows have "
        f"{counts.tested:,}: hold out more rows, allow a larger eps or delta, or provide more rows with fresh=..."
    )


DIRECTION = 256
"""From how many random cases it is inferred which way a property moves a column, for a remark only."""

_CONSTRAINTS = ("monotonic_cst", "monotone_constraints")
"""What estimators call monotone constraints: scikit-learn; XGBoost and LightGBM."""


def constraint_remarks(props: Sequence[Safety], work: RepairTraining, train: Table, estimator: Any) -> list[str]:
    """For monotone properties, a remark that this kind of model can be trained to have them by construction."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    options = last.get_params() if hasattr(last, "get_params") else {}
    option = next((name for name in _CONSTRAINTS if name in options), None)
    if option is None or options[option]:
        return []
    directions: dict[str, int] = {}
    for prop in props:
        directions |= _direction(prop, work, train, estimator)
    if not directions:
        return []
    many = option == "monotonic_cst" and len(getattr(estimator, "classes_", ())) > 2
    classes = "; scikit-learn has it for two classes: of more, train one such model for each threshold" if many else ""
    signs = listed(f"{sign} for {name}" for name, sign in directions.items())
    return [
        f"{type(last).__name__} can be trained monotone, which is the better repair: {option} with {signs} rules these "
        f"violations out for every input, where this repair makes them rare{classes}"
    ]


def _direction(prop: Safety, work: RepairTraining, train: Table, estimator: Any) -> dict[str, int]:
    """The one column that a property moves, and which way the output must go when it rises; empty for others.

    Whether the column rises is inferred from some random cases of the training rows.
    """
    rows = Census(train.select(work.columns(prop)))
    search = judged(prop, work.adapted(estimator), rows, DIRECTION, work.number(SEARCH, 2**31))
    program, judgements = search.program, search.judgements
    records = {}
    for step in program.finish:
        call = step.value
        if isinstance(call, FunctionCall) and len(call.arguments) == 1 and isinstance(call.arguments[0], Name):
            records[step.name] = call.arguments[0].name
    conditions = [item.condition for item in program.ensures]
    if not judgements or len(conditions) != 1:
        return {}
    values, domain = judgements[0].batch.values, judgements[0].domain
    first, others = related_records(program, values)
    match conditions[0]:
        case Binary(operator="<=", left=Name(name=low), right=Name(name=high)):
            pass
        case Binary(operator=">=", left=Name(name=high), right=Name(name=low)):
            pass
        case _:
            return {}
    if len(others) != 1 or {records.get(low), records.get(high)} != {first, others[0]}:
        return {}
    old, new = (domain.table(values[name].data) for name in (first, others[0]))
    moved = [name for name in old.names if not np.array_equal(old.column(name), new.column(name))]
    if len(moved) != 1 or old.column(moved[0]).dtype.kind not in "biuf":
        return {}
    steps = np.sign(new.column(moved[0]).astype(float) - old.column(moved[0]).astype(float))
    if len(set(steps.tolist())) != 1:
        return {}
    return {moved[0]: int(steps[0]) * (1 if records[high] == others[0] else -1)}

"""The way from a question to a verdict, for rates and for principal fairness.

1. *Prove.* Every path through a program or a causal model is followed, where that is quick or demanded. The proof is a
   verdict, unless it leaves the claim open and draws could still decide it.
2. *Count.* A census that the budget covers is counted, and the claim is computed from the counts.
3. *Sample.* Otherwise people are drawn, batch after batch, until the evidence decides or the budget is spent.
4. A census from which as many people as it has were drawn with replacement, without an answer, is counted after all.

Population and model are written to the journal once it is known whether all rows are counted, and before the first
query; the journal keeps every step, so a resumed check takes the same path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from isonomia.audits.proofs import QUICK, THOROUGH, ProofEffort
from isonomia.audits.protocol import Check
from isonomia.audits.verdicts import introduce
from isonomia.engine.lookahead import LooksAhead
from isonomia.engine.loop import BatchLoopWork, Outcome, Plan, Schedule, run
from isonomia.engine.parameters import Budget, Observer
from isonomia.errors import UsageError
from isonomia.evidence.quadrature import TooManyCellsError
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import facts_of
from isonomia.populations.worlds.paths import NotExactError
from isonomia.records.journal import Entry, MissingEntryError, once
from isonomia.records.verdict import Verdict

INCONCLUSIVE = "the proof is inconclusive"
TOO_FAR_APART = "its numbers are too far apart for floats"


class ProofAttempt(Protocol):
    """What following every path has shown."""

    @property
    def reason(self) -> str:
        """Why nothing is proved; empty where something is."""
        ...

    def pack(self) -> Entry:
        """The proof as a journal keeps it."""
        ...


class SamplingWork(BatchLoopWork[Any, Any], Protocol):
    """What is measured, which model is queried, and what lets workers look ahead; ``None`` without workers."""

    @property
    def session(self) -> ModelSession | None:
        """The session with the model; ``None`` without one."""
        ...

    @property
    def ahead(self) -> LooksAhead[Plan, Any] | None:
        """Lets workers start on later batches."""
        ...


W = TypeVar("W", bound=SamplingWork)


@dataclass(frozen=True, slots=True)
class Sampling(Generic[W]):
    """A sample that is ready to be drawn.

    Attributes
    ----------
    work, budget, schedule, available
        What the loop measures, what it may cost, how large batches are, and how many samples there can be.
    counted, rows
        What one sample is, and how many rows it sends to the model.
    replaced
        Whether rows of a census may be drawn twice, so that drawing as many rows as the census has decides nothing.
    """

    work: W
    budget: Budget
    schedule: Schedule
    available: float
    counted: str = "people"
    rows: int = 1
    replaced: bool = True


Q = TypeVar("Q")
F = TypeVar("F", bound=ProofAttempt)


@dataclass(frozen=True, slots=True)
class Steps(Generic[Q, F, W]):
    """The steps of one kind of check, each a function of the check and its question.

    Attributes
    ----------
    prove, unpack
        Tries a proof, or reads it from the journal. An attempt that fails raises an error that says why.
    failed
        The attempt that proved nothing, for a reason.
    is_open
        Whether a proof leaves the claim open, although draws could still decide it.
    proved
        The verdict of a proof that began at a given time; or the reason why there is no proof.
    is_counted, exact
        Whether all rows are counted; and the verdict of that count, given how many people were drawn before.
    directed
        The check whose population draws the people it needs.
    prepare, sampled
        How people are drawn, and the verdict of the draws, with remarks made before.
    interrupted
        The verdict where Ctrl-C came during the proof.
    """

    prove: Callable[[Check[Any], Q, Observer, ProofEffort], F]
    unpack: Callable[[Entry, Q], F]
    failed: Callable[[str], F]
    is_open: Callable[[Q, F], bool]
    proved: Callable[[Check[Any], Q, F, float], Verdict | str]
    is_counted: Callable[[Check[Any], Q], bool]
    exact: Callable[[Check[Any], Q, Observer, int], Verdict]
    prepare: Callable[[Check[Any], Q], Sampling[W]]
    sampled: Callable[[Check[Any], Q, Sampling[W], Outcome[Any], tuple[str, ...]], Verdict]
    interrupted: Callable[[Check[Any], Q], Verdict]
    directed: Callable[[Check[Any], Q], Check[Any]] = lambda check, _: check


def decide(steps: Steps[Q, F, W], check: Check[Any], question: Q, observer: Observer) -> Verdict:
    """Prove, count or sample, whichever comes first to an answer."""
    began, reason = monotonic(), ""
    try:
        proof = _proof(steps, check, question, observer)
    except KeyboardInterrupt:  # a proof is kept only once it is complete
        introduce(check.population, check.model, check.journal)
        return steps.interrupted(check, question)
    if proof is not None:
        reason = proof.reason
        if not reason:
            introduce(check.population, check.model, check.journal)
            result = steps.proved(check, question, proof, began)
            if isinstance(result, Verdict):
                return result
            reason = result
    counted = once(check.journal, "exact", lambda: {"exact": steps.is_counted(check, question)})["exact"]
    if check.method == "exact" and not counted:
        raise no_proof(check, reason)
    if not counted:
        check = steps.directed(check, question)
    introduce(check.population, check.model, check.journal)
    if counted:
        return steps.exact(check, question, observer, 0)
    began = monotonic()
    sampling = steps.prepare(check, question)
    prepared = monotonic() - began
    outcome = _drawn(check, sampling, observer)
    if outcome.reason == "exhausted" and check.population.kind == "census" and sampling.replaced:
        return steps.exact(check, question, observer, outcome.samples)
    remarks = () if proof is None else (f"it was sampled, since {reason}",)
    return steps.sampled(check, question, sampling, replace(outcome, seconds=outcome.seconds + prepared), remarks)


def _proof(steps: Steps[Q, F, W], check: Check[Any], question: Q, observer: Observer) -> F | None:
    """What is proved of a program or a causal model; ``None`` where no proof is to be tried.

    A device, planned looks, or a ``stop`` other than ``"decided"`` ask for draws.
    """
    demanded = check.method == "exact"
    decides = check.method == "auto" and check.looks == "any" and check.stop == "decided"
    wanted = demanded or (decides and facts_of(check.population).device is None)
    if check.population.kind not in {"program", "causal"} or not wanted:
        return None

    def attempt() -> Entry:
        try:
            proof = steps.prove(check, question, observer, THOROUGH if demanded else QUICK)
        except (NotExactError, TooManyCellsError) as error:
            return steps.failed(str(error)).pack()
        except OverflowError:
            return steps.failed(TOO_FAR_APART).pack()
        if not demanded and steps.is_open(question, proof):
            proof = steps.failed(INCONCLUSIVE)
        return proof.pack()

    observer.begin(str(check.prop))
    try:
        return steps.unpack(once(check.journal, "proof", attempt), question)
    except MissingEntryError:
        return None  # a record from before programs were proved
    finally:
        observer.end()


def no_proof(check: Check[Any], reason: str) -> UsageError:
    """The error that there is no exact answer: why the proof failed, or what kind of population it is."""
    return UsageError(
        "method='exact' needs a census, or a program or causal model whose paths can be enumerated, but "
        f"{reason or 'the people are a ' + check.population.kind}: leave out the method"
    )


def _drawn(check: Check[Any], sampling: Sampling[W], observer: Observer) -> Outcome[Any]:
    """Draw batch after batch until the check is decided or must stop."""
    work = sampling.work
    observer.begin(str(check.prop))
    try:
        return run(
            work,
            sampling.schedule,
            sampling.budget,
            observer,
            available=sampling.available,
            counted=sampling.counted,
            journal=check.journal,
            steady=None if check.model is None else check.model.steady,
            ahead=work.ahead,
            rows=sampling.rows,
        )
    finally:
        observer.end()
        if work.session is not None:
            work.session.close()

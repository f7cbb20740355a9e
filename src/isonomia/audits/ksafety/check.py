"""Checking a k-safety property: known counterexamples first, then every case, or else random cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np

from isonomia.audits.ksafety.cases import CaseRunner, Cases, all_cases, prepare_known
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import CaseValues, GivenChoices, OpenChoiceError, missing
from isonomia.audits.ksafety.evidence import CaseTally, Share, compared_share, complete_share, drawn_share, noise_shares
from isonomia.audits.ksafety.imports import with_inputs
from isonomia.audits.ksafety.sampling import RESERVE, SafetyOutcome, draw_cases, draw_each_row
from isonomia.audits.ksafety.setup import INTERRUPTED, SafetySetup
from isonomia.audits.ksafety.violations import Violation, ViolationSummary, is_proof, show
from isonomia.audits.protocol import Check, Entries, Recheck
from isonomia.audits.verdicts import introduce, new_verdict, same_answers, stored_violations, why_stopped
from isonomia.engine.parameters import Observer, Progress
from isonomia.errors import DataError, UsageError
from isonomia.models.meter import BudgetSpentError, current_meter
from isonomia.populations.domains import Domain, TableDomain
from isonomia.populations.finite import Census
from isonomia.populations.recorded import table_of_rows
from isonomia.records.journal import Entry, TimeLimit, once
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.records.violations import ViolationSet
from isonomia.spec.nomos.tree import Ensures, Var, calls_in, expression_text
from isonomia.spec.safety import Safety
from isonomia.wording import chance, plural

MAX_CASES = 2_000_000
"""How many cases are all tried where no budget is given."""


def check_safety(check: Check[Safety], observer: Observer) -> Verdict:
    """Check a k-safety property.

    Every case is tried where there are few enough; otherwise cases are drawn at random.
    """
    if check.population is None:
        check = with_inputs(check)
    introduce(check.population, check.model, check.journal)
    setup = SafetySetup(check, observer)
    setup.compile()
    observer.begin(check.prop.name or str(check.prop))
    try:
        outcome = _outcome(setup)
    finally:
        observer.end()
        setup.close()
    return verdict_of(setup, outcome)


def _outcome(setup: SafetySetup) -> SafetyOutcome:
    settled, failures = _by_known(setup)
    if settled is not None:
        return settled
    listed = _try_all(setup)
    if listed is None:
        return draw_cases(setup, listed=None).with_failures(failures)
    tally, early = listed
    if early is not None:
        return _ended_early(setup, tally, early).with_failures(failures)
    if not setup.subject.sample:
        # Every case was tried: a known counterexample on which the model fails is one of them, or does not matter.
        return _all_tried(setup, tally)
    outcome = _violated_in_sample(setup, tally) if tally.violating else draw_cases(setup, listed=tally)
    return outcome.with_failures(failures)


def _by_known(setup: SafetySetup) -> tuple[SafetyOutcome | None, Mapping[str, int]]:
    """The answer where a known counterexample still violates the property; and why others failed, and how many.

    The check tries those that it began with, whatever has become known since. A census is about its own rows alone, so
    a counterexample that is not among them proves nothing there.
    """
    prop = setup.check.prop
    known = once(setup.journal, "known", lambda: {"known": _checked_known(prop.known)})["known"]
    if not known:
        return None, {}
    tried = once(setup.journal, "known again", lambda: _try_known(setup, known))
    again = tuple(tried["violating"])
    if not again or not prop.stop_early:
        return None, tried.get("failures", {})
    does = "violates" if len(again) == 1 else "violate"
    message = f"{len(again)} of {plural(len(known), 'known counterexample')} still {does} it"
    remarks = (message, *tried["elsewhere"])
    tally = CaseTally.empty(len(setup.program.ensures))
    summary = ViolationSummary(again)
    return SafetyOutcome(False, tally, summary, False, len(again), message, setup.seconds(), remarks), {}


def _checked_known(known: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
    """Counterexamples of earlier verdicts, unchanged; anything else is refused."""
    for item in known:
        if not isinstance(item, Mapping) or not {"inputs", "choices"} <= set(item):
            raise UsageError(
                f"expected counterexamples of earlier verdicts as known, but got {str(item)[:80]}", name="known"
            )
    return list(known)


def _try_known(setup: SafetySetup, known: Sequence[Entry]) -> Entry:
    """Those that still violate it. Their answers are kept apart: later steps number their own answers from 0."""
    domain, runner = setup.domain, setup.new_runner("known counterexamples")
    violating, failures = _still_violating(runner, domain, known)
    again, elsewhere = [item for item in violating if is_proof(setup.program, item)], list[str]()
    # A few draws of an unlimited population do not show which rows it can draw; other domains are not searched.
    if again and isinstance(domain, TableDomain) and not setup.subject.fresh:
        present = [[_has(domain, record) for record in item["inputs"].values()] for item in again]
        if isinstance(setup.check.population, Census):
            again = [item for item, records in zip(again, present, strict=True) if all(records)]
        elif not any(map(any, present)):
            elsewhere.append("none of them is among the given inputs: they come from other data, or the data changed")
    return {"violating": again, "elsewhere": elsewhere, "failures": failures}


def _still_violating(
    runner: CaseRunner, domain: Domain, known: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Those that still violate it, and why others failed, and how many.

    One that no longer fits, because the specification or the data have changed, is skipped.
    """
    failures: Counter[str] = Counter()
    tried = [_again(runner, domain, item, failures) for item in known]
    return [again for again in tried if again is not None], dict(failures)


def _again(
    runner: CaseRunner, domain: Domain, item: Mapping[str, Any], failures: Counter[str]
) -> dict[str, Any] | None:
    names = runner.program.spec.inputs
    if not isinstance(item["inputs"], Mapping) or set(item["inputs"]) != set(names):
        return None
    try:
        choices = tuple(np.array([choice]) for choice in item["choices"])
        records = {name: CaseValues(domain.restore([item["inputs"][name]])) for name in names}
        batch = prepare_known(runner.program, domain, records, GivenChoices(choices))
    except (OpenChoiceError, DataError, ValueError, TypeError, LookupError, AttributeError):
        return None
    if not batch.accepted[0] or (runner.draws and not choices):
        return None
    only = np.zeros(1, dtype=np.intp)  # each input is the one record that was restored for it
    judgement = runner.judge(batch, Cases((only,) * len(names), choices))
    failures.update(judgement.reasons)
    if not judgement.violating[0]:
        return None
    shown = show(runner.program, judgement, list(item["choices"]), dict(item.get("rows", {})))
    return shown | {"minimal": bool(item.get("minimal", False))}


def _has(domain: TableDomain, record: Mapping[str, Any]) -> bool:
    """Whether an input of a counterexample is one of the table's rows."""
    restored, same = domain.restore([record]), np.ones(domain.size, dtype=bool)
    for name in domain.whole.names:
        here, there = domain.whole.column(name), domain.column(restored, name)
        same &= (here == there[0]) | (missing(here) & missing(there)[0])
    return bool(same.any())


def _try_all(setup: SafetySetup) -> tuple[CaseTally, str | None] | None:
    """Try every case: their tally, and why that ended early, as ``"queries"``, ``"time"`` or ``"interrupted"``.

    ``None`` where not every case is to be tried.
    """
    listed = None if setup.finished else _list_cases(setup)
    entry = once(setup.journal, "listed", lambda: _listing(listed))
    if not entry["listed"]:
        return None
    counted = once(setup.journal, "every case", dict) if listed is None else _counted(setup, listed[0])
    return CaseTally.unpack(counted, entry["rejected"], entry["without_choice"]), counted["early"]


def _list_cases(setup: SafetySetup) -> tuple[list[Cases], CaseTally] | None:
    """Every case in parts, where that is requested and possible, and a tally of those that are left out."""
    check, prop, runner = setup.check, setup.check.prop, setup.runner
    sampled = setup.subject.sample and setup.evidence.rated
    drawn = isinstance(check.population, Census) and not check.population.exact
    at_random = check.random_model or setup.evidence.noise is not None
    if at_random and prop.enumerate:
        raise UsageError("expected random cases (enumerate=False): the answer to every case is itself random")
    if prop.enumerate is False or setup.subject.fresh or sampled or drawn or at_random:
        if prop.enumerate:
            raise UsageError("expected a census to try every case, but these inputs are a sample")
        return None
    limit = MAX_CASES if check.budget.samples == inf else check.budget.samples
    if setup.subject.sample:  # every row is drawn as well
        limit -= 0 if limit == MAX_CASES else setup.subject.cases(len(setup.program.spec.inputs))
    limit = min(limit, (1.0 - RESERVE) * check.budget.queries / (setup.program.k or 1))
    tally = CaseTally.empty(len(setup.program.ensures))
    max_n = inf if prop.enumerate else limit
    listed = None if runner.draws else all_cases(runner, setup.domain, max_n, tally)
    if listed is None:
        if prop.enumerate and current_meter().is_late:
            raise BudgetSpentError("time")
        if prop.enumerate:
            raise UsageError(
                "expected finitely many cases to try, but a choice is not from a finite range", name="enumerate"
            )
        return None
    parts = [part for part in listed if len(part)]
    if not parts:
        raise setup.program.no_case(
            f"of {setup.domain.size:,} inputs with every choice, {tally.rejected:,} cases are rejected and "
            f"{tally.without_choice:,} have nothing to choose from"
        )
    return parts, tally


def _listing(listed: tuple[list[Cases], CaseTally] | None) -> Entry:
    if listed is None:
        return {"listed": False}
    tally = listed[1]
    return {"listed": True, "rejected": tally.rejected, "without_choice": tally.without_choice}


def _counted(setup: SafetySetup, parts: Sequence[Cases]) -> Entry:
    """The counts of every case; they are not kept where Ctrl-C was pressed."""
    tally, early = _judge_all(setup, parts)
    measured = {"early": early, **tally.pack(weighed=True)}
    return measured if early == INTERRUPTED else once(setup.journal, "every case", lambda: measured)


def _judge_all(setup: SafetySetup, parts: Sequence[Cases]) -> tuple[CaseTally, str | None]:
    """Put every case to the model."""
    clock = TimeLimit(setup.check.budget.seconds, setup.journal, "time of part")
    tally, size = CaseTally.empty(len(setup.program.ensures)), sum(map(len, parts))
    try:
        for number, part in enumerate(parts):
            with nullcontext() if number or setup.program.code is not None else current_meter().untimed():
                judgement = setup.runner.run(setup.domain, part)
            tally += judgement.tally(weighed=True)
            setup.violations.add(setup.program, judgement, source="listed")
            words = partial(_progress, tally.violating, tally.tested, size)
            setup.observer.advance(Progress(tally.tested, size, tally.tested / size, clock.spent(), words, "cases"))
            if tally.tested < size and clock.is_up():
                return tally, "time"
    except BudgetSpentError as spent:
        return tally, spent.reason
    except KeyboardInterrupt:
        return tally, INTERRUPTED
    return tally, None


def _progress(violating: int, tested: int, size: int) -> str:
    return f"{violating:,} violations in {tested:,} of {size:,} cases"


def _all_tried(setup: SafetySetup, tally: CaseTally, *, interrupted: bool = False) -> SafetyOutcome:
    """The outcome when every case was tried."""
    answer = _exact_answer(tally, [item.rate for item in setup.program.spec.ensures])
    summary = setup.summary(_as_smallest, interrupted=interrupted)
    return SafetyOutcome(answer, tally, summary, True, tally.tested, "every case was tried", setup.seconds())


def _exact_answer(tally: CaseTally, rates: Sequence[float | None]) -> bool | None:
    """``True`` for holds, ``False`` for violated; ``None`` where cases that failed could make the difference."""
    certain = True
    for bad, failed, rate in zip(tally.bad_weight, tally.failed_weight, rates, strict=True):
        allowed = (1 - Fraction(repr(rate))) * tally.weight if rate is not None else Fraction(0)
        if bad > allowed:
            return False
        certain &= bad + failed <= allowed
    return True if certain else None


def _as_smallest(violations: Sequence[Violation]) -> list[Violation]:
    """Mark violations as minimal: among all cases nothing is smaller."""
    return [replace(violation, minimal=True) for violation in violations]


def _ended_early(setup: SafetySetup, tally: CaseTally, early: str) -> SafetyOutcome:
    """The outcome when not every case could be tried: a violation that was found still counts."""
    stopped = why_stopped(early)
    answer = False if any(tally.by_ensures[number] for number in setup.evidence.strict) else None
    remark = "the cases were tried in order, so those tried are not a random sample"
    summary = setup.summary(list, interrupted=early == INTERRUPTED)
    return SafetyOutcome(answer, tally, summary, False, tally.tested, stopped, setup.seconds(), (remark,))


def _violated_in_sample(setup: SafetySetup, tally: CaseTally) -> SafetyOutcome:
    """A violation among the rows of a sample; one random case of each row tells how frequent they are elsewhere."""
    ended = draw_each_row(setup)
    interrupted = ended.reason == INTERRUPTED
    outcome = _all_tried(setup, tally, interrupted=interrupted)
    estimated = f"the share in the population is estimated from the {ended.samples:,} random cases, one per row"
    counted = f"all {tally.tested:,} cases of these rows were tried, and {ended.samples:,} random ones in addition"
    return replace(
        outcome,
        complete=False,
        tested=tally.tested + ended.samples,
        stopped=INTERRUPTED if interrupted else counted,
        remarks=(estimated,),
        drawn=ended.state.tally,
    )


def recheck(check: Check[Safety], counterexamples: Sequence[Mapping[str, Any]], entries: Entries) -> Recheck:
    """Compute counterexamples of a record again with the model of a check, from their inputs and choices alone."""
    if entries["population"]["kind"] == "domain":
        return Recheck(problem="their inputs are of a domain that the record does not hold: use --full")
    rows = [row for item in counterexamples for row in item["inputs"].values()]
    setup = SafetySetup(replace(check, population=Census(table_of_rows(rows))))
    try:
        again, _ = _still_violating(setup.new_runner(), setup.domain, counterexamples)
    finally:
        setup.close()
    return Recheck(len(counterexamples), len(again))


# -------------------------------------------------------------------------------------------------------------- verdict


def verdict_of(setup: SafetySetup, outcome: SafetyOutcome) -> Verdict:
    """Put the verdict together."""
    check, program, shown = setup.check, setup.program, outcome.summary.counterexamples
    fact = outcome.complete or (outcome.answer is False and any(is_proof(program, item) for item in shown))
    shares = [_share(number, outcome, check.delta) for number in range(len(program.spec.ensures))]
    names = [f"violates {expression_text(item.condition)}" for item in program.spec.ensures]
    leaves, compared = list(zip(names, shares, strict=True)), shares
    if outcome.beyond is not None:
        pair = noise_shares(outcome.tally, check.delta)
        leaves, compared = list(zip((names[0], f"{names[0]}, queried again"), pair, strict=True)), [outcome.beyond]
    return new_verdict(
        check,
        outcome.answer,
        risk=0.0 if fact or outcome.answer is None else check.delta,
        method="exact" if outcome.complete else "tests",
        samples=outcome.tested,
        leaves=tuple(LeafRecord(name, outcome.estimating.tested, *share) for name, share in leaves),
        expressions=tuple(
            _expression(item, number, share, outcome, check.prop.eps)
            for number, (item, share) in enumerate(zip(program.spec.ensures, compared, strict=True))
        ),
        stopped=outcome.stopped,
        assumptions=_assumptions(setup, outcome),
        remarks=(*outcome.remarks, *_remarks(setup, outcome)),
        seconds=outcome.seconds,
        population=setup.subject.population,
        counterexamples=shown,
        details=_details(setup, outcome),
        counted="cases",
        kept=_all_violations(setup, outcome),
    )


def _all_violations(setup: SafetySetup, outcome: SafetyOutcome) -> ViolationSet | None:
    """All violations: those seen now, or those stored by the run that wrote this journal."""
    stored = stored_violations(setup.journal)
    if stored is not None and setup.finished and not len(setup.violations.stored):
        return stored.violations()
    violations = setup.violations.stored
    if not len(violations):
        return None
    if stored is not None and outcome.stopped != INTERRUPTED:
        stored.keep_violations(violations)
    return violations


def _share(number: int, outcome: SafetyOutcome, delta: float) -> Share:
    if outcome.complete:
        return complete_share(outcome.estimating, number)
    return drawn_share(outcome.estimating, number, delta)


def _expression(item: Ensures, number: int, share: Share, outcome: SafetyOutcome, eps: float) -> Expression:
    some_left_open = not outcome.complete and not outcome.tally.by_ensures[number] and not outcome.refuted
    return compared_share(item, share, eps if some_left_open else None, outcome.answer is True)


def _assumptions(setup: SafetySetup, outcome: SafetyOutcome) -> tuple[str, ...]:
    program, subject = setup.program, setup.subject
    same = same_answers(setup.check, "the model always gives the same answer for the same input")
    assumptions = [*subject.assumptions, *same]
    steady = sorted(_called(program) & subject.own)
    if steady:
        assumptions.append(f"{', '.join(steady)} always gives the same result for the same arguments")
    if program.code is not None:
        assumptions.append("the block draws random numbers by randInt, randReal and the domain's functions only")
    if not outcome.complete and outcome.answer is not False:
        assumptions.append("cases are drawn independently, every choice uniform over its range")
    return tuple(assumptions)


def _called(program: CompiledSpec) -> set[str]:
    """Every function that is called, and every name that code reads."""
    steps = (*program.preparation, *program.finish, *program.ensures)
    parts = (step.value if isinstance(step, Var) else step.condition for step in steps)
    called = {call.function for part in parts for call in calls_in(part)}
    return called | (set() if program.code is None else set(program.code.reads))


def _remarks(setup: SafetySetup, outcome: SafetyOutcome) -> tuple[str, ...]:
    tally, summary = outcome.tally, outcome.summary
    remarks = [] if outcome.edge_cases is None else outcome.edge_cases.remarks()
    if tally.rejected or tally.without_choice:
        remarks.append(
            f"{tally.rejected:,} draws were rejected by a precondition and {tally.without_choice:,} had nothing to "
            "choose from; neither counts as a case"
        )
    if tally.vacuous:
        cases = "all cases" if tally.vacuous == tally.tested else f"{tally.vacuous:,} of {tally.tested:,} cases"
        remarks.append(f"in {cases} the condition of the implication was false, so nothing was tested")
    for reason, count in (tally.reasons + Counter(outcome.failures)).most_common(5):
        remarks.append(f"{plural(count, 'case')} failed: {reason}")
    if tally.failed or outcome.failures:
        remarks.append("failed cases count against holds, but not as violations")
    if setup.evidence.strict and not outcome.complete and not tally.violating and not tally.weight:
        remarks += _without_violation(setup, outcome)
    if tally.violating:
        remarks.append(_distinct(summary, "distinct violation" if outcome.beyond is None else "consistent flip"))
    if tally.violating and summary.gone > 0 and setup.check.random_model:
        remarks.append(
            f"{plural(summary.gone, 'violation')} did not occur again when the model was queried again, which is to be "
            "expected of a model that answers at random; those shown occurred again"
        )
    elif tally.violating and summary.gone > 0:
        remarks.append(
            f"{plural(summary.gone, 'violation')} did not occur when the same case was computed again: "
            "part of it uses randomness other than its seed, or gives different answers to the same question"
        )
    if setup.program.code is not None:
        remarks.append("the block was run as Python, as you allowed")
    if setup.subject.ignored:
        names = ", ".join(setup.subject.ignored)
        meant = "the model that was given, and draws that can be repeated"
        remarks.append(f"{names} of the imports is not used: by these names the language means {meant}")
    return tuple(remarks)


def _distinct(summary: ViolationSummary, called: str) -> str:
    violations, inputs = plural(summary.distinct, called), plural(summary.inputs, "input")
    if summary.exact:
        return f"{violations} of {inputs} were found"
    least = "at least " if summary.inputs >= summary.distinct else ""
    return f"more than {violations} of {least}{inputs} were found"


def _without_violation(setup: SafetySetup, outcome: SafetyOutcome) -> list[str]:
    """What random cases without a violation prove, and why an interval says less."""
    n, check = outcome.tally.tested, setup.check
    if not n or outcome.tally.failed or outcome.failures:
        return []
    shown, proved = f"{plural(n, 'case')} showed no violation", setup.evidence.proved(n)
    if outcome.refuted:
        few = f"less than {chance(proved)} of the cases violate it, at the risk {chance(check.delta)}"
        return [f"{plural(n, 'random case')} showed no violation: {few}"]
    if outcome.answer is True:
        return [f"{shown}: it holds for all but {check.prop.eps:.3g} of the cases"]
    return [
        f"{shown}, which proves that it holds for all but {chance(proved)} of the cases, at the risk "
        f"{chance(check.delta)}; the interval of the share must also cover the case of violations, so it is wider"
    ]


def _details(setup: SafetySetup, outcome: SafetyOutcome) -> dict[str, Any]:
    tally, summary, edge_cases = outcome.tally, outcome.summary, outcome.edge_cases
    conditions = [expression_text(item.condition) for item in setup.program.spec.ensures]
    changes, repeats = noise_shares(tally, setup.check.delta)
    return {
        "audit": "k-safety",
        **({} if outcome.beyond is None else {"noise": {"changes": changes[0], "again": repeats[0]}}),
        "k": setup.program.k,
        "eps": setup.check.prop.eps,
        "complete": outcome.complete,
        "cases": {
            "tested": tally.tested,
            **({"further": outcome.tested - tally.tested} if outcome.tested > tally.tested else {}),
            "rejected": tally.rejected,
            "without_choice": tally.without_choice,
            "vacuous": tally.vacuous,
            "failed": tally.failed,
            "inputs": summary.tested,
        },
        "violations": {
            "cases": tally.violating,
            "distinct": summary.distinct,
            **({} if summary.exact else {"exact": False}),
            "inputs": summary.inputs,
            "by_ensures": dict(zip(conditions, tally.by_ensures, strict=True)),
        },
        **({"kinds": list(summary.kinds)} if summary.kinds else {}),
        "failures": dict((tally.reasons + Counter(outcome.failures)).most_common(20)),
        **({"edge_cases": edge_cases.counts()} if edge_cases and edge_cases.tried else {}),
    }

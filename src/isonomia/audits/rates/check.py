"""A check of rates, from the call to the verdict with its remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from math import inf
from time import monotonic
from typing import Any

from isonomia.audits.people import census_of, predicted_values, refuse_absent_values
from isonomia.audits.pipeline import Sampling, Steps, decide
from isonomia.audits.proofs import EVERY_WAY, REAL_NUMBERS, proved_by
from isonomia.audits.protocol import Check
from isonomia.audits.rates.census import CensusResult, count_census, exact_groups
from isonomia.audits.rates.groups import group_records
from isonomia.audits.rates.histories import HistorySampling
from isonomia.audits.rates.intervals import agreeing
from isonomia.audits.rates.labels import judge_records
from isonomia.audits.rates.looks import next_table
from isonomia.audits.rates.programs import LeafProof, prove
from isonomia.audits.rates.question import RatesQuestion, ask_about, check_predicted_values, countable, rows_each
from isonomia.audits.rates.sampling import AnyWork, prepare
from isonomia.audits.verdicts import introduce, new_verdict, no_other_values, same_answers, why_stopped
from isonomia.engine.loop import Outcome
from isonomia.engine.parameters import Observer, batch_rng, root
from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth
from isonomia.evidence.looks import LookEvidence
from isonomia.evidence.normal_form import Polynomial, compared
from isonomia.evidence.protocol import LeafTally
from isonomia.models.meter import current_meter
from isonomia.models.protocol import named_models
from isonomia.populations.protocol import Directable, Wanted, facts_of
from isonomia.populations.table import column_from, distinct
from isonomia.records.journal import MissingEntryError, once
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.spec.columns import host
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Other, Rate, Value, nodes
from isonomia.wording import first_few

ALL_COUNTED = "all rows were counted"
NARROWEST = "the value is too near the threshold for floats to tell"

ASKED_AGAIN = 1000
"""The maximum number of rows that the model is queried again about, to find out what it predicts."""

MOST_JUDGED = 6
"""The maximum number of rates whose judge is described in words; all are in the details."""

_PLANNED = "the sample size was fixed in advance, and there were no looks other than the planned ones"


def check_rates(check: Check[Property], observer: Observer) -> Verdict:
    """Check a property about rates."""
    question = ask_about(check.prop, check.population, check.model, check.ranges, check.journal)
    if not question.leaves:
        introduce(check.population, check.model, check.journal)
        remark = "the property compares constants only: neither the model nor the population matters"
        answer = exact_truth(question.formula, {})
        return _verdict(check, question, answer, method="exact", stopped="nothing to sample", remarks=(remark,))
    return decide(STEPS, check, question, observer)


def _is_open(question: RatesQuestion, proof: LeafProof) -> bool:
    return proof.truth(question.formula) is None and None not in proof.leaves.values() and not proof.narrow


def _interrupted(check: Check[Property], question: RatesQuestion) -> Verdict:
    return _verdict(check, question, None, method="exact", stopped=why_stopped("interrupted"))


def _directed(check: Check[Property], question: RatesQuestion) -> Check[Property]:
    """The check that draws each group on its own, where the population can.

    A second person is drawn from the whole population, so a stream of one group cannot provide one.
    """
    if not isinstance(check.population, Directable) or Other() in question.asked:
        return check
    return replace(check, population=check.population.focused(question.groups), sharing=None)


def _proved(check: Check[Property], question: RatesQuestion, proof: LeafProof, began: float) -> Verdict:
    answer = proof.truth(question.formula)
    empty = tuple(leaf for leaf, value in proof.leaves.items() if value is None)
    groups = dict.fromkeys(leaf.given for leaf in empty)
    comparisons = [comparison for claim in question.claims for comparison in claim.comparisons]
    known = [
        (found := proof.truth(each), proof.expression(*item).agreeing(found))
        for each in comparisons
        for item in compared(each)
    ]
    return _verdict(
        check,
        question,
        answer,
        method="exact",
        leaves=tuple(proof.leaf(leaf) for leaf in question.leaves),
        expressions=agreeing(
            question.formula, answer, [proof.expression(*item) for item in compared(question.formula)]
        ),
        groups=group_records(question.claims, known, dict.fromkeys(question.leaves, 0)),
        remarks=(
            proved_by(proof.ways),
            *(("any other threshold is decided: move it slightly",) if answer is None and not empty else ()),
            *(f"no row can have {to_text(given)}: the probability is 0" for given in groups if given is not None),
        ),
        stopped=EVERY_WAY if answer is not None else "a group is empty" if empty else NARROWEST,
        seconds=monotonic() - began,
    )


def _is_counted(check: Check[Property], question: RatesQuestion) -> bool:
    """Whether all rows are counted, so that nothing has to be estimated.

    A check whose first look comes after as many draws as the census has rows may as well count all rows.
    """
    census = census_of(check.population)
    if census is None or not countable(question, census.size):
        return False
    rows = rows_each(check, question)
    covered = check.budget.affords(rows) >= census.size
    if census.exact:  # a table that has all answers costs nothing
        return covered or not rows or check.method == "exact"
    return check.looks != "any" and covered


def _exact(check: Check[Property], question: RatesQuestion, observer: Observer, before: int) -> Verdict:
    began = monotonic()
    counted = count_census(check, question, observer)
    if counted.empty and not counted.interrupted:
        refuse_absent_values((leaf.given for leaf in counted.empty), check.population, read=True)
    return _verdict(
        check,
        question,
        counted.answer,
        method="exact",
        samples=before + counted.asked,
        leaves=counted.leaves,
        expressions=counted.expressions,
        groups=counted.groups,
        remarks=census_remarks(question, counted),
        stopped=why_counting_stopped(counted),
        seconds=monotonic() - began,
    )


def _sampled(
    check: Check[Property],
    question: RatesQuestion,
    sampling: Sampling[AnyWork],
    outcome: Outcome[Any],
    why: tuple[str, ...],
) -> Verdict:
    began, work = monotonic(), sampling.work
    if outcome.reason == "exhausted":
        unseen = [leaf.given for leaf, tally in work.leaf_tallies(outcome.state).items() if not tally.n]
        refuse_absent_values(unseen, check.population, read=True)
    answer, method = _answer(work, question, outcome)
    knowledge: Any = work.knowledge(outcome.state)
    tallies = work.leaf_tallies(outcome.state)
    draws = {leaf: round(tally.n) for leaf, tally in tallies.items()}
    known = work.by_group(outcome.state, answer, knowledge) if method != "exact" else []
    if known:
        expressions, groups = tuple(item for _, item in known), group_records(question.claims, known, draws)
    else:
        shares = {leaf: _share(tally) for leaf, tally in tallies.items() if tally.n} if method == "exact" else None
        items = [knowledge.expression(*item) for item in compared(question.formula)]
        expressions = agreeing(question.formula, answer, items)
        groups = () if shares is None else exact_groups(question, shares, draws)
    leaves = tuple(knowledge.leaf(leaf) for leaf in question.leaves)
    judges = judge_records(work, outcome.state) if isinstance(work, HistorySampling) else ()
    if len(expressions) == 1 and not groups:
        # A rate that is itself compared has one interval, which agrees with the answer.
        (one,) = expressions
        leaves = tuple(replace(leaf, low=one.low, high=one.high) if leaf.text == one.text else leaf for leaf in leaves)
    return _verdict(
        check,
        question,
        answer,
        method=method,
        looks=check.looks if isinstance(work.evidence, LookEvidence) else "any",
        samples=outcome.samples,
        leaves=leaves,
        expressions=expressions,
        groups=groups,
        remarks=(
            *why,
            *remarks_on_draws(check, work, outcome, leaves),
            *(each.remark for each in judges[:MOST_JUDGED]),
            *_estimates_outside((*expressions, *leaves)),
            *_left_over(sampling, outcome),
            *(() if answer is not None else _planned(check, question, work, outcome)),
        ),
        stopped=why_stopped(outcome.reason, question.counted) if method != "exact" else ALL_COUNTED,
        seconds=outcome.seconds + monotonic() - began,
        **({"details": {"judge": [asdict(each) for each in judges]}} if judges else {}),
    )


def _left_over(sampling: Sampling[AnyWork], outcome: Outcome[Any]) -> tuple[str, ...]:
    """What happens to rows at the end of a table that do not make a whole batch."""
    left = 0 if outcome.reason != "exhausted" else round(sampling.available) - outcome.samples
    return (f"the last {left:,} {sampling.counted} are used when more rows follow",) if left else ()


def _planned(check: Check[Property], question: RatesQuestion, work: AnyWork, outcome: Outcome[Any]) -> tuple[str, ...]:
    """For a table that was too small, how large the next one should be."""
    if outcome.reason != "exhausted" or isinstance(work, HistorySampling):
        return ()
    return next_table(check, question, work.leaf_tallies(outcome.state), outcome.samples)


def _answer(work: AnyWork, question: RatesQuestion, outcome: Outcome[Any]) -> tuple[bool | None, str]:
    """The answer from the draws, and the method: exact where all rows were drawn."""
    tallies = work.leaf_tallies(outcome.state)
    exhausted, nonempty = outcome.reason == "exhausted", {leaf: tally for leaf, tally in tallies.items() if tally.n}
    zero = work.zero_denominators(outcome.state)
    if zero and exhausted and work.sizes is not None and len(nonempty) == len(tallies):
        raise zero_denominator(_named(zero[0]), outcome.samples)
    answer = work.answer(outcome.state)
    if answer is not None or not exhausted or work.sizes is None:
        return answer, work.evidence.method
    return exact_truth(question.formula, {leaf: _share(tally) for leaf, tally in nonempty.items()}), "exact"


def _share(tally: LeafTally) -> Fraction:
    return Fraction(round(tally.weights[-1]), round(tally.n))


def _verdict(check: Check[Property], question: RatesQuestion, answer: bool | None, **content: Any) -> Verdict:
    if content["stopped"] != why_stopped("interrupted"):
        _refuse_never_predicted(check, question, content.get("leaves", ()), content.get("samples", 0))
    planned = (_PLANNED,) if content.get("looks", "any") != "any" else ()
    return new_verdict(
        check,
        answer,
        assumptions=(*assumptions(check, question, content["method"]), *planned),
        counted=question.counted,
        **content,
    )


def _refuse_never_predicted(
    check: Check[Property], question: RatesQuestion, leaves: Sequence[LeafRecord], samples: int
) -> None:
    """Refuse a comparison of the prediction with a value that the model's predictions show it cannot give.

    Only where an event never happened, or always did, or a group is empty, and the model does not state its classes:
    then the model is queried again about some people, and its predictions are compared with the values in question.
    """
    doubtful = [
        leaf
        for leaf, record in zip(question.leaves, leaves, strict=False)
        if not record.n or (isinstance(leaf, Rate) and record.estimate in {0.0, 1.0})
    ]
    named = [values for leaf in doubtful for node in nodes(leaf) if (values := predicted_values(node))]
    if not named or not samples or (check.model is not None and check.model.classes):
        return
    try:
        entry = once(check.journal, "predictions", lambda: {"values": _some_predictions(check, samples)})
    except MissingEntryError:
        return  # a record from before predictions were kept
    for values in named:
        check_predicted_values(values, entry["values"], "the model" if check.model is None else check.model.name)


def _some_predictions(check: Check[Property], samples: int) -> list[Value]:
    """The distinct predictions for the first people of a check, in order; of as many as the budget covers."""
    meter = current_meter()
    with meter.further():
        people = int(min(samples, ASKED_AGAIN, inf if check.model is None else meter.left))
        if not people:
            return []
        table = check.population.open(root(check.seed), Wanted()).batch(0, people, batch_rng(check.seed, 0, 0), 0)
        if check.model is None:
            return list(distinct([table.column("prediction")], "prediction"))
        answer, several = check.model(table, False, True), named_models(check.model)
        given = answer.prediction
    if several is not None:
        columns = [values for output, values in several.split(answer).items() if output.name == "prediction"]
        return list(distinct(columns, "prediction"))
    return [] if given is None else list(distinct([column_from(host(given), "prediction")], "prediction"))


def assumptions(check: Check[Property], question: RatesQuestion, method: str = "") -> tuple[str, ...]:
    """What the guarantee rests on, in words.

    A ``for`` over a column speaks of the values that were declared or seen. In a census those are all there are;
    elsewhere that is an assumption, since a rare value may not have been seen.
    """
    spoken_of = {} if check.population.kind == "census" else question.values
    proved = (REAL_NUMBERS,) if method == "exact" and check.population.kind in {"program", "causal"} else ()
    return (
        *check.population.assumptions,
        *proved,
        *same_answers(check, "the model always gives the same answer for the same person"),
        *(no_other_values(name, values) for name, values in spoken_of.items()),
    )


def why_counting_stopped(counted: CensusResult) -> str:
    """Why the count ended, in words."""
    if counted.interrupted:
        return why_stopped("interrupted")
    return ALL_COUNTED if counted.answer is not None else "a group is empty"


def census_remarks(question: RatesQuestion, counted: CensusResult) -> tuple[str, ...]:
    """What a reader should know about a census; nothing where it was interrupted."""
    if counted.interrupted:
        return ()
    return (*_unseen(counted.empty, counted.asked, question), *never_happened(question.leaves, counted.leaves))


def remarks_on_draws(
    check: Check[Property], work: AnyWork, outcome: Outcome[Any], leaves: Sequence[LeafRecord]
) -> tuple[str, ...]:
    """What a reader should know about the draws."""
    tallies = work.leaf_tallies(outcome.state)
    empty = tuple(leaf for leaf in work.question.leaves if tallies[leaf].n == 0)
    return (
        *facts_of(check.population).remarks,
        *work.notes,
        *work.evidence.remarks,
        *_unseen(empty, outcome.samples, work.question),
        *never_happened(work.question.leaves, leaves),
        *_never_seen(work, outcome),
    )


def _estimates_outside(known: Sequence[Expression | LeafRecord]) -> tuple[str, ...]:
    """Why an interval excludes its own estimate, where one does."""
    outside = [item for item in known if item.estimate is not None and not item.low <= item.estimate <= item.high]
    if not outside:
        return ()
    names = first_few(list(dict.fromkeys(item.text for item in outside)), 4)
    return (
        f"the estimate of {names} lies outside its interval: the estimate comes from all draws together, and the "
        "interval excludes what was refuted at any earlier look. The guarantee is about the interval",
    )


def zero_denominator(named: str, samples: int) -> DataError:
    """The error for a ratio without a value: the whole population was counted, and the denominator is zero."""
    return DataError(
        f"expected a denominator that is not zero, but {named} was 0 in all {samples:,} draws: the ratio has no value. "
        "Compare a difference instead, or multiply out: a >= 0.8 * b."
    )


def _unseen(empty: Sequence[Leaf], asked: int, question: RatesQuestion) -> tuple[str, ...]:
    conditions = dict.fromkeys("all rows" if leaf.given is None else to_text(leaf.given) for leaf in empty)
    return tuple(
        f"none of {asked:,} {question.counted} met {condition}, so nothing is known about this group"
        for condition in conditions
    )


def never_happened(leaves: Sequence[Leaf], records: Sequence[LeafRecord]) -> tuple[str, ...]:
    """Remarks on events that never happen: they are more often misspelled than impossible, unless others have them."""
    rates = [
        (leaf.event, each) for leaf, each in zip(leaves, records, strict=True) if isinstance(leaf, Rate) and each.n
    ]
    happens = {event for event, record in rates if record.estimate}
    return tuple(
        f"{record.text} was 0 (0 of {record.n:,}); is its value spelled as in the model's answers?"
        for event, record in rates
        if record.estimate == 0 and event not in happens
    )


def _named(denominator: Polynomial) -> str:
    """The leaves of a denominator, as text."""
    return " and ".join(map(to_text, dict.fromkeys(leaf for monomial in denominator for leaf in monomial)))


def _never_seen(work: AnyWork, outcome: Outcome[Any]) -> tuple[str, ...]:
    zero = work.zero_denominators(outcome.state)
    if not zero:
        return ()
    return (
        f"{_named(zero[0])} was 0 in every draw, so the ratio may have no value. Multiplied out, a >= 0.8 * b, the "
        "claim always has one",
    )


STEPS = Steps(
    prove=prove,
    unpack=lambda entry, question: LeafProof.unpack(entry, question.leaves),
    failed=lambda reason: LeafProof(reason=reason),
    is_open=_is_open,
    proved=_proved,
    is_counted=_is_counted,
    exact=_exact,
    prepare=prepare,
    sampled=_sampled,
    interrupted=_interrupted,
    directed=_directed,
)

"""What renderers show of a verdict on principal fairness: the bounds of every effect in every subgroup.

What a reader should know about an answer and its assumptions, in sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from isonomia.audits.principal.findings import SubgroupFinding, coded, direction, effect_name, subgroup
from isonomia.audits.principal.question import PrincipalQuestion
from isonomia.audits.proofs import REAL_NUMBERS
from isonomia.audits.protocol import Check
from isonomia.evidence.strata.worlds import ASSUMPTIONS
from isonomia.records.display.view import (
    NOT_A_PASS,
    Block,
    EffectBounds,
    SubgroupBounds,
    Subgroups,
    View,
    compared_finding,
    quantities_and_rates,
    quantity_finding,
)
from isonomia.records.verdict import Verdict
from isonomia.spec.principal import PrincipalFairness
from isonomia.wording import chance, first_few, plural

MOST_TOLD = 12
"""How many subgroups are described one by one; the record has them all."""


def assumptions(
    check: Check[PrincipalFairness], question: PrincipalQuestion, findings: Sequence[SubgroupFinding]
) -> tuple[str, ...]:
    """What the guarantee rests on; for anything but a census, also that no subgroup was missed."""
    attribute = question.attribute.name
    where = f"within each combination of {' and '.join(question.given)}, " if question.given else ""
    proved = any(finding.probabilities is not None for finding in findings)
    words = [
        *check.population.assumptions,
        *((REAL_NUMBERS,) if proved else ()),
        f"{where}{attribute} is independent of the predictions and outcomes that people would have under its values "
        "(Assumption 1 of the paper: no common cause is left out of given)",
        f"the observed prediction and outcome are those under the person's own {attribute}",
        *(() if proved else (f"there are no other values: {coded(question)}",)),
    ]
    if question.given and check.population.kind != "census" and not proved:
        listed = first_few([subgroup(question, finding.key) for finding in findings], MOST_TOLD)
        words.append(f"every person belongs to one of these combinations of {' and '.join(question.given)}: {listed}")
    if check.model is not None:
        words.append("the model scores each row independently")
    return (*words, *(f"as you said: {ASSUMPTIONS.get(said, said)}" for said in question.prop.assumptions))


def sampled_remarks(
    question: PrincipalQuestion, answer: bool | None, findings: Sequence[SubgroupFinding], delta: float, refuted: bool
) -> tuple[str, ...]:
    """The remarks on a check by sampling."""
    words = [
        *_refuted(refuted),
        *_directions(question, answer, findings),
        *_unnamed(answer, findings),
    ]
    words += _covering(answer, findings, question)
    words += _silent(question, findings)
    if answer is None and question.prop.within == 0.0:
        words.append("without a margin no sample can prove fairness: give within=, the largest difference that is fair")
    words.append(_plug_in(question, findings))
    if len(findings) > 1:
        words.append(
            f"{len(findings)} subgroups: violated means in at least one of them. The bets of all are pooled, half in "
            "their product and half in their weighted mean; subgroups are named by Holm's rule, so that any wrong name "
            f"has probability at most {chance(delta)}; each subgroup's intervals, by themselves, miss with at most "
            f"{chance(delta)}"
        )
    return tuple(words)


def exact_remarks(
    question: PrincipalQuestion, answer: bool | None, findings: Sequence[SubgroupFinding]
) -> tuple[str, ...]:
    """The remarks on a census, or on a program."""
    broken = [finding for finding in findings if finding.table and finding.table.contradicts]
    words = [*_refuted(bool(broken)), *_directions(question, answer, findings)]
    words += [
        f"{subgroup(question, finding.key)}: no fair world produces this table; the proof (multipliers of a linear "
        f"program, checked independently of the solver) shows it off by at least {finding.table.proof.violation:.3g}"
        for finding in findings[:MOST_TOLD]
        if finding.holds is False and finding.table is not None and finding.table.proof is not None
    ]
    return (*words, *_covering(answer, findings, question))


def _refuted(refuted: bool) -> list[str]:
    if not refuted:
        return []
    return ["the data contradict the assumptions that you made, so no answer would be meaningful: drop one"]


def _directions(question: PrincipalQuestion, answer: bool | None, findings: Sequence[SubgroupFinding]) -> list[str]:
    """Which way it goes in the subgroups that violate."""
    chosen = [each for each in findings if each.holds is False] if answer is False else []
    return [words for finding in chosen[:MOST_TOLD] for words in _ways(question, finding)]


def _ways(question: PrincipalQuestion, finding: SubgroupFinding) -> list[str]:
    """Which way it goes in one subgroup, by the intervals that are guaranteed; never by the shares of a sample."""
    head = f"{subgroup(question, finding.key)}: " if question.given else ""
    known = zip(question.effects, finding.intervals, strict=True)
    whom = "subgroup" if question.given else "population"
    clear = [
        f"{head}{direction(question, effect, ends)}: the gap is at least {_floored(100 * _least(ends))} percentage "
        f"points of the {whom} ({effect_name(question, effect, normalised=False)})"
        for effect, ends in known
        if ends is not None and _least(ends) > question.prop.within
    ]
    if clear:
        return clear
    if finding.table is not None and finding.table.contradicts:
        return [f"{head}no fair world that meets the assumptions produces data like these"]
    if len(question.effects) > 1:
        return [f"{head}the effects cannot all be fair at once; which one is unfair is not known"]
    name = effect_name(question, question.effects[0], normalised=False)
    return [f"{head}{name} is not fair, but at this risk its interval does not show which way it goes, or how far"]


def _floored(points: float) -> str:
    """A lower limit with three digits, rounded down: what is printed is guaranteed as well."""
    unit = 10.0 ** (floor(log10(points)) - 2)
    return f"{floor(points / unit + 1e-9) * unit:.3g}"


def _least(ends: tuple[float, float]) -> float:
    return max(ends[0], -ends[1])


def _unnamed(answer: bool | None, findings: Sequence[SubgroupFinding]) -> list[str]:
    if answer is not False or any(finding.holds is False for finding in findings):
        return []
    return ["all subgroups together are not fair, but no single one stands out enough to be named"]


def _covering(answer: bool | None, findings: Sequence[SubgroupFinding], question: PrincipalQuestion) -> list[str]:
    """What intervals mean that contain both fair and unfair values."""
    within = question.prop.within
    pairs = [pair for each in findings for pair in (each.inside if question.prop.normalised else each.intervals)]
    known = [ends for ends in pairs if ends is not None]
    mixed = [ends for ends in known if ends[0] <= within and ends[1] >= -within and max(-ends[0], ends[1]) > within]
    if answer is not None or not mixed:
        return []
    kind = "covers zero" if within == 0.0 else "reaches both within the margin and beyond"
    return [
        f"an interval that {kind} proves nothing: fair and unfair worlds can produce the same data, because "
        "the strata are not observed"
    ]


def _silent(question: PrincipalQuestion, findings: Sequence[SubgroupFinding]) -> list[str]:
    words = []
    for finding in [each for each in findings if each.silent][:MOST_TOLD]:
        values = " or ".join(f"{question.attribute.name}={question.attribute.values[a]!r}" for a in finding.silent)
        words.append(
            f"no row with {values} was sampled from {subgroup(question, finding.key)}: nothing can be compared there, "
            "and only the others limit what is possible"
        )
    return words


def _plug_in(question: PrincipalQuestion, findings: Sequence[SubgroupFinding]) -> str:
    """The paper's plug-in verdict, in a sentence."""
    head = "the paper's plug-in verdict, which takes the sample's shares for the truth and has no guarantee, is"
    bad = [finding for finding in findings if finding.table is not None and finding.table.holds is False]
    lost = [finding for finding in findings if finding.table is not None and finding.table.contradicts]
    why = "taken for the truth, the shares contradict the assumptions, if only by chance"
    if not question.given:
        return f"{head} none: {why}" if lost else f"{head}: {'violated' if bad else 'not violated'}"
    names = "; ".join(subgroup(question, finding.key) for finding in bad[:MOST_TOLD])
    summary = f"violated in {len(bad)} of {len(findings)} subgroups ({names})" if bad else "violated in no subgroup"
    if len(lost) == len(findings):
        return f"{head} none: in every subgroup, {why}"
    return f"{head}: {summary}" + (f"; none in {len(lost)} of them: {why}" if lost else "")


_MEANINGS = {
    "holds": "In every subgroup the difference in treatment is inside the margin.",
    "violated": "In at least one subgroup, people who should be treated alike are treated differently.",
    "undecided": f"{NOT_A_PASS} the data allow equal treatment, and they allow unequal treatment.",
}


def _finding(verdict: Verdict, compact: bool) -> str:
    """The interval of the largest effect, or of the first in an unequal subgroup, and how many of these there are."""
    groups = verdict.details.get("subgroups")
    if not groups:
        return compared_finding(verdict, compact)
    unequal = [index for index, item in enumerate(groups) if item["answer"] == "violated"]
    item = verdict.expressions[0] if verdict.expressions else None
    if unequal and len(verdict.expressions) == sum(len(group["effects"]) for group in groups) > 1:
        item = verdict.expressions[sum(len(group["effects"]) for group in groups[: unequal[0]])]
    parts = [f"{len(unequal):,} of {len(groups):,} subgroups unequal"] if unequal and len(groups) > 1 else []
    if item is not None:
        parts.append(quantity_finding(item, compact))
    return "; ".join(parts) or verdict.stopped


def _facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    overall = verdict.details.get("overall", {})
    if overall.get("need") is None:
        return ()
    return (("evidence of unequal treatment", f"{overall['peak']:.1f} of {overall['need']:.1f} needed (nats)"),)


def _blocks(verdict: Verdict) -> tuple[Block, ...]:
    details = verdict.details
    if "subgroups" not in details:
        return quantities_and_rates(verdict)
    ordered = sorted(details["subgroups"], key=lambda item: item["answer"] != "violated")
    items = tuple(_subgroup(item, verdict) for item in ordered)
    return (Subgroups(items, details["within"], verdict.method == "exact"),)


def _subgroup(item: Mapping[str, Any], verdict: Verdict) -> SubgroupBounds:
    return SubgroupBounds(
        name=item["subgroup"],
        size=_size_of(item),
        answer=item["answer"],
        evidence=None if item["bet"] is None else _evidence(item["bet"], verdict.details["overall"]["need"]),
        proof=item["certificate"] if verdict.method == "exact" else None,
        effects=(*_size(item), *(_effect(effect, verdict.details["normalised"]) for effect in item["effects"])),
    )


def _size_of(item: Mapping[str, Any]) -> str:
    """How many people a subgroup has; for a program, how probable it is."""
    if "probabilities" not in item:
        return plural(item["people"], "person", "people")
    low, high = (sum(pair[end] for a in item["probabilities"] for s in a for pair in s) for end in (0, 1))
    return f"probability {(low + high) / 2:.4g}"


def _size(item: Mapping[str, Any]) -> tuple[EffectBounds, ...]:
    """How large the largest effect is, which the subgroup's answer is about."""
    words = "how large the largest difference is, whichever way it goes"
    return (EffectBounds("size", words, tuple(item["size"]), None),) if item.get("size") else ()


def _effect(effect: Mapping[str, Any], normalised: bool) -> EffectBounds:
    """The bounds of ``tau``, within the stratum, or of ``tau'``, whichever the margin is about."""
    suffix = "_within_stratum" if normalised else ""
    interval, sample = effect[f"interval{suffix}"], effect[f"plug_in{suffix}"]
    name = str(effect["name"])
    if normalised and interval is not None:
        name = name.replace("'", "", 1)
    return EffectBounds(
        name, effect["words"], None if interval is None else tuple(interval), None if sample is None else tuple(sample)
    )


def _evidence(bet: Mapping[str, Any], need: float) -> str:
    words = f"against fairness {bet['peak']:.1f}"
    if bet["for_fairness"] is not None:
        words += f", for it {min(bet['for_fairness'], need):.1f}"
    return f"{words} of {need:.1f}"


VIEW = View(
    kind="principal fairness",
    title="principal fairness",
    meanings=_MEANINGS,
    finding=_finding,
    facts=_facts,
    blocks=_blocks,
)

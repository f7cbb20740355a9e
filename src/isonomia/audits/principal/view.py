"""What renderers show of a verdict on principal fairness: the bounds of every effect in every subgroup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isonomia.records.display.view import (
    NOT_A_PASS,
    Block,
    EffectBounds,
    SubgroupBounds,
    Subgroups,
    View,
    quantities_and_rates,
)
from isonomia.records.display.words import compared_finding, quantity_finding
from isonomia.records.verdict import Verdict
from isonomia.wording import plural

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
    told = [f"{len(unequal):,} of {len(groups):,} subgroups unequal"] if unequal and len(groups) > 1 else []
    if item is not None:
        told.append(quantity_finding(item, compact))
    return "; ".join(told) or verdict.stopped


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

"""Interventions as a table that a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isonomia.interventions.constraints import Constraint
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import Feature

if TYPE_CHECKING:
    from isonomia.interventions.interventions import Interventions

__all__ = ["shown"]

_HEAD = ("feature", "kind", "range", "actionable", "direction", "step", "block", "rules")


def shown(interventions: Interventions) -> str:
    """The features as a table, with the numbers of the rules on each, and below it the rules in words."""
    rules: list[Constraint | Effect] = [*interventions.constraints, *interventions.effects]
    block = {name: str(j) for j, names in enumerate(interventions.blocks) for name in names}
    rows: list[tuple[str, ...]] = [_HEAD]
    for feature in interventions.features:
        mine = ", ".join(str(j) for j, rule in enumerate(rules, start=1) if feature.name in rule.names)
        rows.append((*_cells(feature), block[feature.name], mine or "-"))
    width = [max(len(row[j]) for row in rows) for j in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, width, strict=True)).rstrip() for row in rows]
    lines += [""] * bool(rules) + [f"{j:>3}. {rule.kind}: {rule.words()}" for j, rule in enumerate(rules, start=1)]
    return "\n".join(lines)


def _cells(feature: Feature) -> Sequence[str]:
    if not feature.actionable:
        return feature.name, feature.kind, _range(feature), "no", "-", "-"
    return feature.name, feature.kind, _range(feature), "yes", feature.direction, _step(feature) or "any"


def _range(feature: Feature) -> str:
    if feature.kind == "categorical":
        listed = ", ".join(map(str, feature.values))
        return listed if len(listed) <= 40 else f"{len(feature.values)} categories"
    low, high = ("any" if end is None else f"{end:g}" for end in (feature.low, feature.high))
    return f"{low} to {high}"


def _step(feature: Feature) -> str:
    parts = [("+", feature.rise, "g"), ("-", feature.fall, "g")]
    shares = [("+", feature.rise_share, "%"), ("-", feature.fall_share, "%")]
    told = [f"{sign}{limit:{form}}" for sign, limit, form in parts if limit is not None]
    told += [f"{sign}{100 * limit:g}%" for sign, limit, _ in shares if limit is not None]
    return ", ".join(told)

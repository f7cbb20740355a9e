"""Whether the counts of a check of principal fairness can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isonomia.audits.replaying.whole import is_count, numbered
from isonomia.spec.principal import PrincipalFairness

__all__ = ["wrong_in_principal"]

_CLOSED = ("sample", "census")
"""Populations whose subgroups are all known beforehand."""


def wrong_in_principal(prop: PrincipalFairness, entries: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, in words."""
    population, exact = entries["population"], entries["exact"]["exact"]
    kind, size = population["kind"], population["size"]
    if type(exact) is not bool or (exact and kind != "census"):
        yield f"everybody was counted, which of a {kind} gives no exact answer"
    if "available" in entries:
        allowed = (size, None) if kind == "census" else (size,)
        if entries["available"]["people"] not in allowed:
            yield f"a {kind} of {size} people does not allow {entries['available']['people']!r:.40} draws"
    listed = [tuple(key) for key in entries.get("subgroups", {}).get("keys", ())]
    if len(set(listed)) < len(listed) or any(len(key) != len(prop.given) for key in listed):
        yield "its subgroups are not as many different ones as there are values of the columns in given"
    for number, batch in numbered(entries, "batch ").items():
        if batch["people"] != batch["n"] or not _adds_up(prop, batch):
            yield f"the counts of batch {number} are not those of {batch['n']!r:.40} people"
        if kind in _CLOSED and not {tuple(key) for key, _ in batch["counts"]} <= set(listed):
            yield f"batch {number} has a subgroup that is none of those listed"
    if "everybody" in entries and (entries["everybody"]["people"] != size or not _adds_up(prop, entries["everybody"])):
        yield f"the counts of everybody are not those of {size} people"


def _adds_up(prop: PrincipalFairness, entry: Mapping[str, Any]) -> bool:
    keys = [tuple(key) for key, _ in entry["counts"]]
    cells = [cell for _, rows in entry["counts"] for row in rows for cell in row]
    different = len(set(keys)) == len(keys) and all(len(key) == len(prop.given) for key in keys)
    whole = is_count(entry["people"]) and all(cell >= 0 and cell == int(cell) for cell in cells)
    return different and whole and sum(cells) == entry["people"]

"""Whether the counts of a check of responsiveness can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from isonomia.audits.replaying.whole import is_count
from isonomia.audits.responsiveness.members import Members
from isonomia.audits.responsiveness.packing import unpacked
from isonomia.spec.responsiveness import Responsiveness

__all__ = ["wrong_in_shares"]

_LOOKED = ("listing ", "round ")


def wrong_in_shares(prop: Responsiveness, entries: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, in words."""
    members, size = entries["members"], entries["population"]["size"]
    if not 0 <= (members.get("steps") or members["rows"])["count"] <= (size or 0) and prop.rows is None:
        yield f"it is about more people than the {size} rows there are"
    rows = Members.unpack(members).rows
    if len(rows) and not (rows.min() >= 0 and rows.max() < (size or 0)):
        yield f"it is about rows that a table of {size} rows does not have"
    if prop.rows is None and (np.diff(rows) <= 0).any():
        yield "it is about somebody twice"
    if prop.rows is None and prop.who is None and len(rows) != size:
        yield f"it is about {len(rows):,} people, and not about all {size} rows"
    if prop.rows is not None and not set(rows.tolist()) <= set(np.atleast_1d(prop.rows).tolist()):
        yield "it is about other rows than the property says"
    if "reach" in entries:
        counts = unpacked(entries["reach"]["counts"], len(rows)).astype(float)
        if (counts < 0).any() or not (np.isinf(counts) | (counts == np.floor(counts))).all():
            yield "what people can reach is no number of points"
    for key, entry in entries.items():
        if key.startswith(_LOOKED):
            yield from _wrong_counts(key, entry)
    for item in entries.get("nearest", {}).get("counterexamples", ()):
        if item["person"] not in rows:
            yield f"a counterexample is of row {item['person']!r:.40}, whom it is not about"


def _wrong_counts(key: str, entry: Mapping[str, Any]) -> Iterator[str]:
    n, successes = (unpacked(entry[name]).astype(float) for name in ("n", "successes"))
    whole = (n == np.floor(n)).all() and (successes == np.floor(successes)).all()
    if len(n) != len(successes) or not whole or (successes < 0).any() or (successes > n).any():
        yield f"the counts of {key} are no numbers of points"
    elif not is_count(entry["distinct"]) or entry["distinct"] > n.sum():
        yield f"in {key} the model was asked about {entry['distinct']!r:.40} different rows of {n.sum():,.0f}"

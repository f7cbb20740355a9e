"""What was found out, as plain values: of each person, of each group, of all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.counting import Counted, Rule
from isonomia.audits.responsiveness.members import Members
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.text import to_text

__all__ = ["AUDIT", "claim_of", "details_of"]

AUDIT = "responsiveness"
"""How the details of a verdict say that they are of this kind."""


def details_of(prop: Responsiveness, counted: Counted, rule: Rule, members: Members) -> dict[str, Any]:
    """Everything that is known, as values that JSON can hold; people as columns of equal length."""
    low, high = counted.interval(rule)
    answers = np.where(counted.responsive, "responsive", np.where(counted.unresponsive, "fixed", "undecided"))
    return {
        **claim_of(prop),
        "counts": _counts(answers, counted.exact),
        "groups": _groups(prop, answers, counted.exact, members),
        "people": {
            "row": members.rows.tolist(),
            "answer": answers.tolist(),
            "share": [None if np.isnan(value) else value for value in counted.share.tolist()],
            "low": low.tolist(),
            "high": high.tolist(),
            "n": counted.n.astype(int).tolist(),
            "reaching": counted.successes.astype(int).tolist(),
            "exact": counted.exact.tolist(),
        },
    }


def claim_of(prop: Responsiveness) -> dict[str, Any]:
    """What was asked, in words and numbers, and the fingerprint of what people can change."""
    return {
        "audit": AUDIT,
        "interventions": prop.actions.fingerprint(),
        "target": to_text(prop.condition),
        "who": None if prop.members is None else to_text(prop.members),
        "rows": None if prop.rows is None else list(np.atleast_1d(prop.rows).tolist()),
        "relation": ">=" if prop.at_least is not None else "<=",
        "threshold": prop.threshold,
        "control": prop.control,
        "draws": prop.draws,
        "by": list(prop.by),
    }


def _counts(answers: NDArray[Any], exact: NDArray[np.bool_]) -> dict[str, int]:
    found = {answer: int((answers == answer).sum()) for answer in ("responsive", "fixed", "undecided")}
    return {"people": len(answers), **found, "exact": int(exact.sum())}


def _groups(
    prop: Responsiveness, answers: NDArray[Any], exact: NDArray[np.bool_], members: Members
) -> list[dict[str, Any]]:
    keys = members.groups
    if not keys:
        return []
    ordered = sorted(
        range(len(keys)), key=lambda k: [(type(value).__name__, value) for value in keys[k] if value is not None]
    )
    ends = np.cumsum(np.bincount(members.group, minlength=len(keys)))
    mine = np.split(np.argsort(members.group, kind="stable"), ends[:-1])
    return [
        {"group": dict(zip(prop.by, keys[k], strict=True)), **_counts(answers[mine[k]], exact[mine[k]])}
        for k in ordered
    ]

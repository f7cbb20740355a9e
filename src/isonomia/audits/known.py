"""Known counterexamples of a property: which are tried first, and what is remembered of a verdict.

Only k-safety properties have counterexamples that stand for themselves: inputs and choices from which the violation is
computed anew, whatever the population is. A statement about rates has none. That of responsiveness is a row of one
table and the points around it; looking at some people first would either spend a risk of its own, or give a verdict
about others than those who were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from isonomia.audits.protocol import Check
from isonomia.records.store import Known, key_of
from isonomia.records.verdict import Verdict
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.safety import Safety

__all__ = ["remember", "with_known"]

KIND = "k-safety"

_KEPT = ("inputs", "choices", "rows", "minimal")
"""What is kept of a counterexample; the rest is the model's answer, which may be another one tomorrow."""


def with_known(check: Check[Any], known: Known) -> Check[Any]:
    """The same check, which tries the known counterexamples of its property before anything else.

    Guarantee: the risk stays what it was. A known counterexample that violates the property still is proof by itself;
    where none does, the check goes on as if they had not been tried.
    """
    prop = check.prop
    if not isinstance(prop, Safety) or not _strict(prop):
        return check
    own = [_kept(item) if isinstance(item, Mapping) else item for item in prop.known]
    found = [item for item in known.of(_key(prop)) if _kept(item) not in own]
    if not found:
        return check
    return replace(check, prop=replace(prop, known=(*prop.known, *found)))


def remember(known: Known, check: Check[Any], verdict: Verdict, *, forget: bool = True) -> Verdict:
    """Keep the counterexamples of a violated property; forget those that were tried where it holds.

    Parameters
    ----------
    known
        Where they are kept.
    check
        The check that was run, as :func:`with_known` gave it.
    verdict
        What it came to.
    forget
        Whether those that do not violate it any more are forgotten.

    Returns
    -------
    Verdict
        The same verdict, with a remark where the known counterexamples could not be read or written.
    """
    prop = check.prop
    if isinstance(prop, Safety) and _strict(prop):
        if verdict.answer == "violated":
            known.add(_key(prop), [_kept(item) for item in _proofs(prop, verdict)])
        elif forget and verdict.answer == "holds" and prop.stop_early:  # otherwise one of them may violate it still
            known.drop(_key(prop), [_kept(item) for item in prop.known])
    if known.trouble is None:
        return verdict
    return replace(verdict, remarks=(*verdict.remarks, f"known counterexamples were left aside: {known.trouble}"))


def _key(prop: Safety) -> str:
    return key_of(KIND, str(prop))


def _strict(prop: Safety) -> list[str]:
    """The conditions that must always be true; one case that breaks another condition proves nothing."""
    return [expression_text(item.condition) for item in prop.spec.ensures if item.rate is None or item.rate >= 1.0]


def _proofs(prop: Safety, verdict: Verdict) -> Sequence[Mapping[str, Any]]:
    strict = set(_strict(prop))
    return [item for item in verdict.counterexamples if strict & set(item.get("violates", ()))]


def _kept(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in _KEPT if name in found}

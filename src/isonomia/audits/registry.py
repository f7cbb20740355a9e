"""The audits, and which of them a property belongs to.

Known counterexamples of a property: which are tried first, and what is remembered of a verdict.

Only some audits have self-contained counterexamples (:class:`~isonomia.audits.protocol.KnownFirst`). For k-safety, the
inputs and choices suffice to compute a violation again. A statement about rates has no counterexamples. One of
responsiveness is a row of one table and the points around it; looking at some people first would either spend a risk of
its own, or give a verdict about people other than those in question.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isonomia.audits.ksafety import KSAFETY
from isonomia.audits.ksafety.view import REPAIR
from isonomia.audits.principal import PRINCIPAL
from isonomia.audits.protocol import Audit, Check, FileKey, KnownFirst
from isonomia.audits.rates import RATES
from isonomia.audits.responsiveness import RESPONSIVENESS
from isonomia.errors import UsageError
from isonomia.records.display import view
from isonomia.records.store import KnownCounterexamples, key_of
from isonomia.records.verdict import Verdict
from isonomia.wording import shortened

AUDITS: list[Audit] = []
"""Every audit."""


def register(audit: Audit) -> None:
    """Add an audit; its properties can then be checked, stated in audit files, resumed, replayed and reported."""
    AUDITS.append(audit)
    view.register(audit.view)


def audit_for(prop: Any) -> Audit:
    """The audit that checks a property.

    Raises
    ------
    UsageError
        Where it is not a known kind of property.
    """
    for audit in AUDITS:
        if isinstance(prop, audit.property_type):
            return audit
    raise UsageError(
        f"expected property as text or as a Property, but got {shortened(repr(prop), 60)}, a "
        f"{type(prop).__name__}. The order is check(property, model, population)",
        name="property",
    )


def file_keys() -> dict[str, FileKey]:
    """The keys that state a property in an audit file; each property has exactly one, which says what kind it is."""
    return {name: key for audit in AUDITS for name, key in audit.file_keys.items()}


# A new audit is a folder next to these, and its name here.
for _audit in (RATES, KSAFETY, RESPONSIVENESS, PRINCIPAL):
    register(_audit)
view.register(REPAIR)  # a repair is not an audit, but it ends with a verdict too


def with_known(check: Check[Any], known: KnownCounterexamples) -> Check[Any]:
    """The same check, which tries the known counterexamples of its property before anything else.

    Guarantee: the risk stays what it was. A known counterexample that still violates the property is proof by itself;
    where none does, the check continues as if they had not been tried.
    """
    known_first = _known_first(check)
    return check if known_first is None else known_first.with_known(check, known.of(_key(check)))


def remember(known: KnownCounterexamples, check: Check[Any], verdict: Verdict, *, forget: bool = True) -> Verdict:
    """Keep the counterexamples of a violated property and, with ``forget``, drop those that no longer violate it.

    The verdict comes back with a remark where the known counterexamples could not be read or written.
    """
    known_first = _known_first(check)
    if known_first is not None and verdict.answer == "violated":
        known.add(_key(check), known_first.proofs(check, verdict))
    elif known_first is not None and verdict.answer == "holds" and forget:
        known.drop(_key(check), known_first.outdated(check))
    if known.trouble is None:
        return verdict
    return replace(verdict, remarks=(*verdict.remarks, f"known counterexamples were ignored: {known.trouble}"))


def _known_first(check: Check[Any]) -> KnownFirst | None:
    """How the audit tries known counterexamples; ``None`` where they would prove nothing."""
    known_first = audit_for(check.prop).known_first
    return known_first if known_first is not None and known_first.applies(check) else None


def _key(check: Check[Any]) -> str:
    return key_of(audit_for(check.prop).kind, str(check.prop))

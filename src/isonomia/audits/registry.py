"""The audits, and which of them a property belongs to."""

from __future__ import annotations

from typing import Any

from isonomia.audits.ksafety import KSAFETY
from isonomia.audits.ksafety.view import REPAIR
from isonomia.audits.principal import PRINCIPAL
from isonomia.audits.protocol import Audit, FileKey
from isonomia.audits.rates import RATES
from isonomia.audits.responsiveness import RESPONSIVENESS
from isonomia.errors import UsageError
from isonomia.records.display import view

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
    raise UsageError(f"expected property as text or as a Property, but got {prop!r} of type {type(prop).__name__}")


def file_keys() -> dict[str, FileKey]:
    """The keys that state a property in an audit file; each property has exactly one, which says what kind it is."""
    return {name: key for audit in AUDITS for name, key in audit.file_keys.items()}


# A new audit is a folder beside these, and its name here.
for _audit in (RATES, KSAFETY, RESPONSIVENESS, PRINCIPAL):
    register(_audit)
view.register(REPAIR)  # a repair is not an audit, but it ends with a verdict too

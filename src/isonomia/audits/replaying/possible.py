"""Whether what a record holds of one check can be, whatever its verdict; not so where somebody changed a part of it.

The arithmetic of a check takes counts as they are. Here they are held against each other and against what else the
record says of the same people: more of them than there are, parts of them, or counterexamples of a property that
nothing violates, are none that any check wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isonomia.audits.audit_file.building import AnyProperty
from isonomia.audits.audit_file.planned import Stated
from isonomia.audits.replaying.possible_principal import wrong_in_principal
from isonomia.audits.replaying.possible_safety import wrong_in_safety
from isonomia.audits.replaying.possible_shares import wrong_in_shares
from isonomia.errors import RecordError
from isonomia.records.evidence import CheckEvidence
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["refuse_impossible"]


def refuse_impossible(each: Stated, check: CheckEvidence) -> None:
    """Refuse entries that contradict each other. Those of rates are held against each other where they are read.

    Raises
    ------
    RecordError
        Which says what cannot be.
    """
    wrong = next(_wrong(each.prop, check.entries), None)
    if wrong is not None:
        raise RecordError(f"its statistics contradict each other: {wrong}")


def _wrong(prop: AnyProperty, entries: Mapping[str, Any]) -> Iterator[str]:
    match prop:
        case PrincipalFairness():
            yield from wrong_in_principal(prop, entries)
        case Safety():
            yield from wrong_in_safety(prop, entries)
        case Responsiveness():
            yield from wrong_in_shares(prop, entries)
        case Property():
            pass

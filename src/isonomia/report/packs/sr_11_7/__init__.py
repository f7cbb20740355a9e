"""Verdicts under the headings of SR 11-7 and SR 26-2, guidance on model risk management.

Verdicts, data, assumptions and sealed evidence under the headings of SR 11-7, and of SR 26-2, which replaced it.
"""

from __future__ import annotations

from isonomia.report.packs.audit_tables import audit_content
from isonomia.report.packs.protocol import Pack, RequiredFact

FACTS = (
    RequiredFact("model", "the model, its version and its owner", "VI, roles and model inventory"),
    RequiredFact("purpose", "its purpose and use, and where it is not to be used", "IV"),
    RequiredFact(
        "theory", "its design, theory and logic, and the alternatives considered", "IV; V, conceptual soundness"
    ),
    RequiredFact("data", "where its data come from, and why they are suitable", "IV"),
    RequiredFact("validator", "who validated it, and why they are independent of its development", "V"),
    RequiredFact(
        "monitoring", "how it is monitored, how often, and what happens when it fails", "V, ongoing monitoring"
    ),
    RequiredFact(
        "limitations", "known limitations, overrides, and how they are mitigated", "IV; V, ongoing monitoring"
    ),
    RequiredFact("approval", "who approved its use, and when", "VI, roles"),
)

PACK = Pack("sr-11-7", "audit", FACTS, audit_content)

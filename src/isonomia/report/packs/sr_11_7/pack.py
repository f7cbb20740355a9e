"""Verdicts, data, assumptions and sealed evidence under the headings of SR 11-7, and of SR 26-2, which replaced it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from typing import Literal as OneOf

from isonomia.errors import UsageError
from isonomia.report.packs.audit_tables import SealedAudit, audit_content
from isonomia.report.packs.protocol import Fact, PackContent

__all__ = ["PACK", "Sr117"]


@dataclass(frozen=True, slots=True)
class Sr117:
    """The pack."""

    name: ClassVar[str] = "sr-11-7"
    subject: ClassVar[OneOf["groups", "refusals", "audit"]] = "audit"
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("model", "the model, its version and its owner", "VI, roles and model inventory"),
        Fact("purpose", "its purpose and use, and where it is not to be used", "IV"),
        Fact("theory", "its design, theory and logic, and the alternatives considered", "IV; V, conceptual soundness"),
        Fact("data", "where its data come from, and why they are suitable", "IV"),
        Fact("validator", "who validated it, and why they are independent of its development", "V"),
        Fact("monitoring", "how it is monitored, how often, and what happens when it fails", "V, ongoing monitoring"),
        Fact("limitations", "known limitations, overrides, and how they are made up for", "IV; V, ongoing monitoring"),
        Fact("approval", "who approved its use, and when", "VI, roles"),
    )

    def content(self, subject: Any, facts: Mapping[str, str]) -> PackContent:  # noqa: ARG002
        """What the audit says, sorted."""
        if not isinstance(subject, SealedAudit):
            raise UsageError("expected an audit: a run of the records, or an evidence file")
        return audit_content(subject)


PACK = Sr117()

"""Going on with a run: only with the models and the people that it began with.

A check that was begun refuses others itself. But a run is one record, and those of its checks that have a verdict, or
were not begun, would not notice: then its verdicts would be about different models or different people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.audit_file.reading import DEFAULT
from isonomia.errors import RecordError
from isonomia.populations.protocol import Directable
from isonomia.records.store import Store

__all__ = ["refuse_others"]


def refuse_others(store: Store, run: str, planned: Sequence[Planned]) -> None:
    """Refuse a model or a population that has changed since a check of the run looked at it.

    Raises
    ------
    RecordError
        Which names it.
    """
    now: dict[tuple[str, int], str | None] = {}
    for number, what, entry in store.introductions(run):
        subject = getattr(planned[number].arranged.request, what)
        # What was drawn from directed at groups, or was made a domain, is not what the file names.
        other = what == "population" and entry.get("kind") != getattr(subject, "kind", None)
        if subject is None or isinstance(subject, Directable) or other:
            continue
        key = what, id(subject)
        if key not in now:
            now[key] = _fingerprint(subject)
        if now[key] != entry.get("fingerprint"):
            name = planned[number].definition.get(what, DEFAULT)
            called = "" if name == DEFAULT else f" {name!r}"
            raise RecordError(
                f"expected the {what}{called} of {planned[number].name!r} as it was when run {run} began, but it has "
                "changed: begin a new run"
            )


def _fingerprint(subject: Any) -> str | None:
    found: str | None = subject.fingerprint() if hasattr(subject, "fingerprint") else None
    return found

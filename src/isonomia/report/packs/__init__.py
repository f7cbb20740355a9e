"""Documents that rules require: a folder for each rule, with a template and what fills its tables.

:func:`fill` makes the document of a pack. It has the tables that the rule names and the facts that were stated; a fact
that was not stated appears as a gap with its name, and is never invented. No document is legal advice.
"""

from __future__ import annotations

import re
from calendar import month_abbr
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from importlib import import_module
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.report.packs.protocol import Document, Pack, PackTable, RequiredFact, render

__all__ = ["PACKS", "Document", "Pack", "PackTable", "RequiredFact", "check_facts", "fill", "pack_named"]

PACKS = ("nyc-ll144", "eeoc", "reg-b", "eu-ai-act", "sr-11-7")
"""The names of the packs; each has a folder of the same name, with underscores."""


def pack_named(name: str) -> Pack:
    """The pack of this name."""
    if name not in PACKS:
        raise UsageError(f"expected a pack, one of {', '.join(PACKS)}, but got {name!r}.{nearest(name, PACKS)}")
    pack: Pack = import_module(f"isonomia.report.packs.{name.replace('-', '_')}").PACK
    return pack


def fill(pack: Pack | str, subject: Any, facts: dict[str, str] | None = None) -> Document:
    """The document of a pack.

    Parameters
    ----------
    pack
        The pack, or its name.
    subject
        What it is about: a :class:`GroupTable` of :func:`isonomia.measure` for ``nyc-ll144`` and ``eeoc``, a
        :class:`RefusalList` for ``reg-b``, a :class:`SealedAudit` for ``eu-ai-act`` and ``sr-11-7``.
    facts
        What only you know, by name.

    Raises
    ------
    UsageError
        Where the subject is of another kind, or a fact is not one that the pack asks for.
    """
    chosen = pack_named(pack) if isinstance(pack, str) else pack
    check_facts(chosen, facts or {})
    stated = {name: text for name, value in (facts or {}).items() if (text := str(value).strip())}
    return render(chosen, chosen.content(subject, stated), stated)


def check_facts(pack: Pack, facts: Mapping[str, object]) -> None:
    """Refuse facts that a pack does not ask for, which would be dropped silently, and invalid dates."""
    known = {fact.name: fact for fact in pack.facts}
    for name, value in facts.items():
        if name not in known:
            raise UsageError(
                f"{pack.name} has no fact {name!r}.{nearest(name, list(known))} It asks for {', '.join(known)}"
            )
        fact, text = known[name], str(value).strip()
        if fact.date == "no" or not text:
            continue
        dates = [_as_date(match[0]) for form in _DATES for match in re.finditer(form, text, re.IGNORECASE)]
        if None in dates or (fact.date == "must" and not dates):
            raise UsageError(f"expected {fact.what}, such as 2026-03-01, as the fact {name}, but got {text!r}")


_DATES = (
    r"\b\d{4}-\d{1,2}-\d{1,2}\b",
    r"\b\d{1,2}/\d{1,2}/\d{4}\b",
    rf"\b(?:{'|'.join(month_abbr[1:])})[a-z]*\.? \d{{1,2}},? \d{{4}}\b",
    rf"\b\d{{1,2}} (?:{'|'.join(month_abbr[1:])})[a-z]*\.? \d{{4}}\b",
)
"""Texts that look like dates: 2026-03-01, 03/01/2026, March 1, 2026, 1 March 2026."""


def _as_date(text: str) -> date | None:
    """A date in one of these forms; ``None`` where there is no such day."""
    words = re.sub(r"[.,]|(?<=[a-z]{3})[a-z]+", "", text, flags=re.IGNORECASE)
    for form in ("%Y-%m-%d", "%m/%d/%Y", "%b %d %Y", "%d %b %Y"):
        with suppress(ValueError):
            return datetime.strptime(words, form).date()
    return None

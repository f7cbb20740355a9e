"""Documents that rules ask for: a folder for each rule, with a template and what fills its tables.

:func:`fill` makes the document of a pack. It has the tables that the rule names and the facts that were stated; a fact
that nobody stated stands there as a gap with its name, and is never invented. No document is legal advice.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.report.packs.document import Document, read_template
from isonomia.report.packs.protocol import Fact, Pack, PackTable

__all__ = ["PACKS", "Document", "Fact", "Pack", "PackTable", "check_facts", "fill", "pack_named"]

PACKS = ("nyc-ll144", "eeoc", "reg-b", "eu-ai-act", "sr-11-7")
"""The names of the packs; each has a folder of its name, with underscores."""


def pack_named(name: str) -> Pack:
    """The pack of a name."""
    if name not in PACKS:
        raise UsageError(f"expected a pack, one of {', '.join(PACKS)}, but got {name!r}.{nearest(name, PACKS)}")
    found: Pack = import_module(f"isonomia.report.packs.{name.replace('-', '_')}.pack").PACK
    return found


def fill(pack: Pack | str, subject: Any, facts: dict[str, str] | None = None) -> Document:
    """The document of a pack.

    Parameters
    ----------
    pack
        The pack, or its name.
    subject
        What it is about: a :class:`GroupTable` of :func:`isonomia.measure` for ``nyc-ll144`` and ``eeoc``, a
        :class:`RefusalList` for ``reg-b``, an :class:`Audit` for ``eu-ai-act`` and ``sr-11-7``.
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
    return read_template(chosen, chosen.content(subject, stated), stated)


def check_facts(pack: Pack, facts: Iterable[str]) -> None:
    """Refuse facts that a pack does not ask for: a misspelt one would be missing without a word."""
    known = [fact.name for fact in pack.facts]
    for name in facts:
        if name not in known:
            raise UsageError(f"{pack.name} has no fact {name!r}.{nearest(name, known)} It asks for {', '.join(known)}")

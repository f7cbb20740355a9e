"""People, sets, model: built on demand.

How much people can reach: what has to be known of it when nobody can be looked at any more.

What looking needs: the people, what they can reach, and the model. It is set up when somebody is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.members import Members, by_row_of_the_table, members_of, packed, people_of, unpacked
from isonomia.audits.responsiveness.points import Reaching, own_answers, profiles
from isonomia.engine.journal import Apart, Blank, Entry, Journal
from isonomia.interventions import ReachableSets
from isonomia.populations.table import Table
from isonomia.spec.responsiveness import Responsiveness

__all__ = ["Bench", "Reach", "kept"]


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How much people can reach.

    Attributes
    ----------
    counts
        How many points each person can reach by actions; infinite where they are not counted.
    by_chance
        Whether effects come after an action.
    approximate
        Whether somebody's draws are only nearly uniform.
    """

    counts: NDArray[np.float64]
    by_chance: bool
    approximate: bool

    @classmethod
    def of(cls, sets: ReachableSets) -> Reach:
        """What reachable sets say of themselves."""
        return cls(sets.counts(), sets.by_chance, bool(sets.approximate().any()))

    def listable(self, most: int) -> NDArray[np.bool_]:
        """Whose points can all be looked at, being at most so many, with no chance after an action."""
        if self.by_chance:
            return np.zeros(len(self.counts), dtype=bool)
        return self.counts <= most

    def pack(self) -> Entry:
        """As plain values."""
        return {"counts": packed(self.counts), "by_chance": self.by_chance, "approximate": self.approximate}

    @classmethod
    def unpack(cls, entry: Entry, people: int) -> Reach:
        """From plain values."""
        counts = unpacked(entry["counts"], people).astype(np.float64)
        return cls(counts, entry["by_chance"], entry["approximate"])


Found = TypeVar("Found")


def kept(
    journal: Journal,
    key: str,
    measure: Callable[[], Found],
    pack: Callable[[Found], Entry],
    unpack: Callable[[Entry], Found],
) -> Found:
    """What was found: recalled, or else measured and kept. Packing is left out where nothing is kept."""
    entry = journal.recall(key)
    if entry is not None:
        return unpack(entry)
    found = measure()
    journal.keep(key, lambda: pack(found))
    return found


@dataclass
class Bench:
    """Where people are looked at and the model is asked.

    A check that finds everything in its journal sets nothing up: then no row is looked at and no model is asked.
    """

    request: Check[Responsiveness]
    _askers: list[Asker] = field(default_factory=list)

    @cached_property
    def members(self) -> Members:
        """Whom the property is about."""
        journal = self.request.journal

        def chosen() -> Members:
            return members_of(self.request, self._asker(Apart(journal, "members")))

        return kept(journal, "members", chosen, Members.pack, Members.unpack)

    @cached_property
    def reach(self) -> Reach:
        """How much they can reach."""
        unpack = partial(Reach.unpack, people=len(self.members.rows))
        return kept(self.request.journal, "reach", lambda: Reach.of(self.sets), Reach.pack, unpack)

    @cached_property
    def people(self) -> Table:
        """Their rows."""
        return people_of(self.request, self.members)

    @cached_property
    def sets(self) -> ReachableSets:
        """What they can reach."""
        prop = self.request.prop
        with by_row_of_the_table(self.members.rows):
            sets: ReachableSets = prop.actions.reach(self.people, prop.memory)
        return sets

    @cached_property
    def target(self) -> Reaching:
        """Says which points have the target prediction.

        Answers for points are not kept: what they come to is, portion by portion.
        """
        prop, people = self.request.prop, self.people
        own = own_answers(prop.condition, self._asker(Apart(self.request.journal, "people as they are")), people)
        profile = profiles(people, prop.actions.names)
        return Reaching(prop.condition, self._asker(Blank()), people, self.members.rows, own, profile)

    def asker(self) -> Asker:
        """Somebody who asks the model and keeps nothing."""
        return self._asker(Blank())

    def _asker(self, journal: Journal) -> Asker:
        asker = Asker(self.request.required_model, self.request.workers, journal)
        self._askers.append(asker)
        return asker

    def close(self) -> None:
        """Let go of what was needed for asking."""
        for asker in self._askers:
            asker.close()

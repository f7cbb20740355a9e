"""Principal fairness: is anyone treated differently whose outcome the attribute does not affect."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isonomia.audits.file_options import of_callable, refuse_options
from isonomia.audits.principal.view import VIEW
from isonomia.audits.protocol import (
    Check,
    Entries,
    FileKey,
    Permissions,
    PropertyTable,
    Recheck,
    RecordedCounts,
    refuse_rates_options,
)
from isonomia.errors import UsageError
from isonomia.spec.principal import PrincipalFairness

if TYPE_CHECKING:
    from isonomia.engine.parameters import Observer
    from isonomia.records.verdict import Verdict

__all__ = ["PRINCIPAL", "PrincipalAudit"]


def _principal(table: PropertyTable, *_: Any) -> PrincipalFairness:
    if table.get("principal") is not True:
        raise UsageError("expected principal = true, but got false: leave the property out, or comment it out")
    options = dict(table.get("with", {}))
    refuse_options(table, of_callable(PrincipalFairness), options)
    return PrincipalFairness(**options)


_FILE_KEYS: Mapping[str, FileKey] = {"principal": FileKey("truth", "principal fairness", _principal)}


@dataclass(frozen=True, slots=True)
class PrincipalAudit:
    """Principal fairness."""

    kind = "principal fairness"
    property_type = PrincipalFairness
    view = VIEW
    file_keys = _FILE_KEYS
    known_first = None

    def imports(self, prop: PrincipalFairness) -> Sequence[str]:
        """Nothing: it is about the people of a population."""
        del prop
        return ()

    def outcomes(self, prop: PrincipalFairness) -> tuple[str, ...]:
        """The outcome that it names."""
        return (prop.outcome,)

    def unclear_outcomes(self, prop: PrincipalFairness) -> tuple[str, ...]:
        """None: it names its outcome."""
        del prop
        return ()

    def prepare(self, check: Check[PrincipalFairness]) -> Check[PrincipalFairness]:
        """Refuse other methods: it is decided by bets, or exactly."""
        refuse_rates_options(check, "principal fairness", "exact")
        return check

    def check_names(self, check: Check[PrincipalFairness]) -> None:
        """Refuse columns that the population does not have."""
        from isonomia.audits.people import need_people
        from isonomia.audits.principal.question import need_columns

        need_people(check.population)
        if check.population.kind != "generator":
            need_columns(check.prop, check.population, check.model)

    def run(self, check: Check[PrincipalFairness], observer: Observer) -> Verdict:
        """Count all rows, prove it of a program, or bet against every fair world."""
        from isonomia.audits.principal.check import check_principal

        return check_principal(check, observer)

    def share(self, checks: Sequence[Check[PrincipalFairness]]) -> Sequence[Check[PrincipalFairness]]:
        """Each check has draws of its own."""
        return checks

    def locks(self, check: Check[PrincipalFairness]) -> Sequence[Hashable]:
        """Nothing."""
        del check
        return []

    def recheck(
        self,
        check: Check[PrincipalFairness],
        counterexamples: Sequence[Mapping[str, Any]],
        entries: Entries,
        permissions: Permissions,
    ) -> Recheck:
        """A statement about groups has no counterexamples."""
        del check, counterexamples, entries, permissions
        return Recheck()

    def counts(self, check: Check[PrincipalFairness], entries: Entries) -> Iterator[RecordedCounts]:
        """The people of each batch, or of the whole census, by subgroup and cell."""
        del check
        for key, entry in entries.items():
            if key.startswith("batch ") or key == "everybody":
                cells = [cell for _, rows in entry["counts"] for row in rows for cell in row]
                yield RecordedCounts(key, cells, entry["people"])
                yield RecordedCounts(key, [entry["people"]], entry.get("n", entries["population"]["size"]))


PRINCIPAL = PrincipalAudit()

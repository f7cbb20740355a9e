"""Rates: formulas over how often something happens, and to whom, decided by bets."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isonomia.audits.file_options import named_property
from isonomia.audits.people import SharedPeople
from isonomia.audits.protocol import Check, Entries, FileKey, Permissions, PropertyTable, Recheck, RecordedCounts
from isonomia.audits.rates.intervals import VIEW
from isonomia.spec.property import Property, parse
from isonomia.spec.tree import check_names, outputs_of, versions_of

if TYPE_CHECKING:
    from isonomia.engine.parameters import Observer
    from isonomia.records.verdict import Verdict

__all__ = ["RATES", "RatesAudit"]


def _formula(table: PropertyTable, *_: Any) -> Property:
    if table.get("with") is not None:
        raise table.error("`with` does not apply here: a formula has no options", "with")
    return parse(table.get("check"))


def _fairness(table: PropertyTable, *_: Any) -> Property:
    from isonomia.spec import fairness

    made: Property = named_property(table, "fairness", fairness, fairness.__all__)
    return made


def _evals(table: PropertyTable, *_: Any) -> Property:
    from isonomia.spec import evals

    made: Property = named_property(table, "evals", evals, evals.__all__)
    return made


_FILE_KEYS: Mapping[str, FileKey] = {
    "check": FileKey("text", "a formula over rates and means", _formula),
    "fairness": FileKey("text", "a named fairness property", _fairness),
    "evals": FileKey("text", "a named property of two models: not_worse or better", _evals),
}


@dataclass(frozen=True, slots=True)
class RatesAudit:
    """Properties about rates and means."""

    kind = "rates"
    property_type = Property
    view = VIEW
    file_keys = _FILE_KEYS
    known_first = None

    def imports(self, prop: Property) -> Sequence[str]:
        """Nothing: it is about the people of a population."""
        del prop
        return ()

    def outcomes(self, prop: Property) -> tuple[str, ...]:
        """The columns that it names as such, and those that it compares with an output."""
        from isonomia.spec.analysis import compared_outcomes

        return tuple(dict.fromkeys((*prop.outcomes, *compared_outcomes(prop.formula))))

    def unclear_outcomes(self, prop: Property) -> tuple[str, ...]:
        """The columns of conditions and terms that may hold an outcome."""
        from isonomia.spec.analysis import outcome_candidates

        return outcome_candidates(prop.formula)

    def prepare(self, check: Check[Property]) -> Check[Property]:
        """Nothing to refuse: every check of rates is valid."""
        return check

    def check_names(self, check: Check[Property]) -> None:
        """Refuse columns that the population does not have and classes that the model never predicts."""
        from isonomia.audits.people import need_people
        from isonomia.audits.rates.question import refuse_classes, refuse_kinds
        from isonomia.models.protocol import model_names

        need_people(check.population)
        if check.population.kind == "generator":  # says its columns only when it draws
            return
        check_names(check.prop.formula, check.population.names, check.model is not None, model_names(check.model))
        refuse_kinds(check.prop, check.population)
        if check.model is not None:
            refuse_classes(check.prop, check.model)

    def run(self, check: Check[Property], observer: Observer) -> Verdict:
        """Count all rows, or draw until it is decided."""
        from isonomia.audits.rates.check import check_rates

        return check_rates(check, observer)

    def share(self, checks: Sequence[Check[Property]]) -> Sequence[Check[Property]]:
        """Draw each person once and query the model about each once, for all checks together."""
        if len(checks) < 2:
            return checks
        formulas = [check.prop.formula for check in checks]
        wanted = {
            output.name
            for formula in formulas
            for version in (None, *versions_of(formula))
            for output in outputs_of(formula, version)
        }
        first = checks[0]
        sharing = SharedPeople(first.population, first.model, first.seed, "prediction" in wanted, "score" in wanted)
        return [replace(check, sharing=sharing) for check in checks]

    def locks(self, check: Check[Property]) -> Sequence[Hashable]:
        """The draws that it shares with other checks."""
        return [] if check.sharing is None else [("shared draws", id(check.sharing))]

    def recheck(
        self,
        check: Check[Property],
        counterexamples: Sequence[Mapping[str, Any]],
        entries: Entries,
        permissions: Permissions,
    ) -> Recheck:
        """A statement about rates has no counterexamples."""
        del check, counterexamples, entries, permissions
        return Recheck()

    def counts(self, check: Check[Property], entries: Entries) -> Iterator[RecordedCounts]:
        """The people of each batch, and of each group among them; all people of a census."""
        del check
        for key, entry in entries.items():
            if key.startswith("batch "):
                yield RecordedCounts(key, [entry["people"]], entry["n"])
                for cells in entry["counts"]:
                    yield RecordedCounts(key, cells, entry["people"], exactly=False, whole=False)
            elif key == "everybody":
                for n, _ in entry["totals"]:
                    yield RecordedCounts(key, [n], entry["asked"], exactly=False)


RATES = RatesAudit()

"""Responsiveness: what share of the interventions open to a person changes the prediction."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isonomia.audits.file_options import of_callable, options_of, refuse_options
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
from isonomia.audits.responsiveness.view import VIEW
from isonomia.errors import UsageError, nearest
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.tree import columns_of

if TYPE_CHECKING:
    from isonomia.engine.parameters import Observer
    from isonomia.records.verdict import Verdict

__all__ = ["RESPONSIVENESS", "ResponsivenessAudit"]

_NAMED = ("share", "preclusion", "gaming", "stability", "affordability", "monotonicity")
_COMMON = of_callable(Responsiveness).without("target", "at_least", "at_most")
"""The options that every named test takes besides its own."""


def _named(table: PropertyTable, interventions: Mapping[str, Any], _: Any) -> Responsiveness:
    from isonomia.spec import responsiveness

    test, options = table.get("responsiveness"), options_of(table)
    if test not in _NAMED:
        raise UsageError(f"expected one of {', '.join(_NAMED)}, but got {test!r}.{nearest(test, _NAMED)}")
    name = options.pop("interventions", None)
    if name not in interventions:
        known = ", ".join(interventions) or "none: [interventions] names files"
        raise UsageError(f"expected with = {{interventions = NAME, ...}}, one of {known}, but got {name!r}")
    make: Callable[..., Any] = Responsiveness if test == "share" else vars(responsiveness)[test]
    refuse_options(table, of_callable(make, _COMMON).without("interventions", "memory"), options)
    made: Responsiveness = make(interventions[name], **options)
    return made


_FILE_KEYS: Mapping[str, FileKey] = {"responsiveness": FileKey("text", f"a named test: {', '.join(_NAMED)}", _named)}


@dataclass(frozen=True, slots=True)
class ResponsivenessAudit:
    """Properties about what people can change."""

    kind = "responsiveness"
    property_type = Responsiveness
    view = VIEW
    file_keys = _FILE_KEYS
    known_first = None

    def imports(self, prop: Responsiveness) -> Sequence[str]:
        """Nothing: it is about the people of a population."""
        del prop
        return ()

    def outcomes(self, prop: Responsiveness) -> tuple[str, ...]:
        """None: it is about features that people can change."""
        del prop
        return ()

    def unclear_outcomes(self, prop: Responsiveness) -> tuple[str, ...]:
        """The columns that say who is meant and are no features."""
        features = {feature.name for feature in prop.interventions.features}
        columns = () if prop.members is None else columns_of(prop.members)
        return tuple(name for name in columns if name not in features)

    def prepare(self, check: Check[Responsiveness]) -> Check[Responsiveness]:
        """Refuse a check without a model, which a share of changes that reach a prediction needs."""
        refuse_rates_options(check, "responsiveness")
        if check.random_model and check.prop.one_is_enough:
            raise UsageError(
                "that a single answer is enough means nothing where the model may answer at random: say which share of "
                "points and answers counts as a way, as in responsiveness.preclusion(..., below=0.05)",
                name="random_model",
            )
        return replace(check, model=check.required_model)

    def check_names(self, check: Check[Responsiveness]) -> None:
        """Refuse columns that the table does not have and classes that the model never predicts."""
        from isonomia.audits.people import need_people
        from isonomia.audits.responsiveness.setup import check_property

        need_people(check.population)
        if check.population.kind != "generator":
            check_property(check)

    def run(self, check: Check[Responsiveness], observer: Observer) -> Verdict:
        """List the points that people can reach where they are few, and draw from them elsewhere."""
        from isonomia.audits.responsiveness.check import check_responsiveness

        return check_responsiveness(check, observer)

    def share(self, checks: Sequence[Check[Responsiveness]]) -> Sequence[Check[Responsiveness]]:
        """Each check has people of its own."""
        return checks

    def locks(self, check: Check[Responsiveness]) -> Sequence[Hashable]:
        """The interventions, which hold the memory of reachable points."""
        return [("interventions", id(check.prop.interventions))]

    def recheck(
        self,
        check: Check[Responsiveness],
        counterexamples: Sequence[Mapping[str, Any]],
        entries: Entries,
        permissions: Permissions,
    ) -> Recheck:
        """Query the model about the points that people can reach: it must answer as it did."""
        from isonomia.audits.responsiveness.counterexamples import recheck

        del entries, permissions
        return recheck(check.required_model, counterexamples)

    def counts(self, check: Check[Responsiveness], entries: Entries) -> Iterator[RecordedCounts]:
        """The points counted for each person, and how many of them have the target."""
        from isonomia.audits.responsiveness.setup import unpacked

        del check
        for key, entry in entries.items():
            if key.startswith(("listing ", "round ")):
                n, successes = (unpacked(entry[name]).astype(float).tolist() for name in ("n", "successes"))
                yield RecordedCounts(key, n)
                yield RecordedCounts(key, [entry["distinct"]], sum(n), exactly=False)
                for points, target in zip(n, successes, strict=True):
                    yield RecordedCounts(key, [target], points, exactly=False)


RESPONSIVENESS = ResponsivenessAudit()

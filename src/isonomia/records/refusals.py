"""Refused applicants: the principal reasons, which of them a person can act on, and the nearest changes that help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_COLUMNS = ("option", "feature", "from", "to", "outcome", "reasons", "can act on", "points")


@dataclass(frozen=True, slots=True)
class PrincipalReason:
    """A feature that counted against a person.

    Attributes
    ----------
    feature, value
        The feature, and the person's value of it.
    weight
        How much better the answer would be on average with the values of approved people: a difference of scores, or of
        approvals if the model has no scores.
    actionable
        Whether the person can change it, according to the interventions.
    """

    feature: str
    value: Any
    weight: float
    actionable: bool


@dataclass(frozen=True, slots=True)
class RefusedApplicant:
    """One refused applicant.

    Attributes
    ----------
    row, id
        The row of the table, and the person's id; the row again if no column has ids.
    reasons
        The principal reasons, the weightiest first.
    options
        The nearest points with approval, the nearest first: by feature, the value now and the value there.
    looked_at, every
        How many points were examined, and whether these are all that the person can reach.
    """

    row: int
    id: Any
    reasons: tuple[PrincipalReason, ...]
    options: tuple[Mapping[str, tuple[Any, Any]], ...]
    looked_at: int
    every: bool

    @property
    def points(self) -> str:
        """``listed`` if all points that the person can reach were examined, ``drawn`` if only some were."""
        return "listed" if self.every else "drawn"

    @property
    def outcome(self) -> str:
        """Whether any change that the person can make leads to approval, in words."""
        if self.options:
            return "a change leads to approval"
        if self.every:
            return "no sensible change open to this person leads to approval"
        return f"no change that leads to approval: none found among {self.looked_at:,} draws"


@dataclass(frozen=True, slots=True)
class RefusalList:
    """All refused applicants of a table.

    Attributes
    ----------
    refusals
        The refused applicants.
    applicants, target
        How many applicants there are in total, and the prediction that means approval.
    id_column
        The column with ids; ``None`` if rows are numbered.
    scored
        Whether reasons are weighed by scores, or by approvals.
    model
        Name and fingerprint of the model.
    remarks
        What else a reader should know, such as what the model was given.
    labels
        What the interventions call features; others are called by their names.
    """

    refusals: tuple[RefusedApplicant, ...]
    applicants: int
    target: str
    id_column: str | None
    scored: bool
    model: Mapping[str, Any]
    remarks: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def label(self, feature: str) -> str:
        """What lists call a feature: its label, or its name."""
        return self.labels.get(feature, feature)

    def columns(self) -> dict[str, list[Any]]:
        """One row per change, as columns of equal length; a person without an option has one row without a change."""
        columns: dict[str, list[Any]] = {name: [] for name in (self.id_column or "row", *_COLUMNS)}
        for each in self.refusals:
            reasons = "; ".join(self.label(reason.feature) for reason in each.reasons)
            can = "; ".join(self.label(reason.feature) for reason in each.reasons if reason.actionable)
            changes: list[tuple[int | None, str | None, Any, Any]] = [
                (number, self.label(name), before, after)
                for number, option in enumerate(each.options, start=1)
                for name, (before, after) in option.items()
            ]
            for number, name, before, after in changes or [(None, None, None, None)]:
                cells = (each.id, number, name, before, after, each.outcome, reasons, can, each.points)
                for column, cell in zip(columns.values(), cells, strict=True):
                    column.append(cell)
        return columns

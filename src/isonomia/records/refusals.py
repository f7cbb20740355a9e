"""Refused applicants: the principal reasons, which of them a person can act on, and the nearest changes that help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PrincipalReason", "RefusalList", "RefusedApplicant"]

_COLUMNS = ("option", "feature", "from", "to", "outcome", "reasons", "can act on", "points")


@dataclass(frozen=True, slots=True)
class PrincipalReason:
    """A feature that spoke against somebody.

    Attributes
    ----------
    feature, value
        The feature, and the person's value of it.
    weight
        How much better the answer would be on average with the values of people who are approved: a difference of
        scores, or of approvals where the model has no scores.
    actionable
        Whether the person can change it, by the interventions.
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
        The row of the table, and who it is; the row again where no column says so.
    reasons
        The principal reasons, the weightiest first.
    options
        The nearest points with approval, the nearest first: by feature, the value now and the value there.
    looked_at, every
        How many points were looked at, and whether these are all that the person can reach.
    """

    row: int
    id: Any
    reasons: tuple[PrincipalReason, ...]
    options: tuple[Mapping[str, tuple[Any, Any]], ...]
    looked_at: int
    every: bool

    @property
    def points(self) -> str:
        """Whether the points that the person can reach were all ``listed``, or some were ``drawn``."""
        return "listed" if self.every else "drawn"

    @property
    def outcome(self) -> str:
        """Whether a change open to the person leads to approval, in words."""
        if self.options:
            return "a change leads to approval"
        if self.every:
            return "no change open to this person leads to approval"
        return f"no change that leads to approval: none found among {self.looked_at:,} draws"


@dataclass(frozen=True, slots=True)
class RefusalList:
    """All refused applicants of a table.

    Attributes
    ----------
    refusals
        Who was refused.
    applicants, target
        How many applicants there are in all, and the prediction that is approval.
    id_column
        The column that tells people apart; ``None`` where rows do.
    scored
        Whether reasons are weighed by scores, or by approvals.
    model
        Name and fingerprint of the model.
    remarks
        What a reader should know besides, such as what the model was given.
    """

    refusals: tuple[RefusedApplicant, ...]
    applicants: int
    target: str
    id_column: str | None
    scored: bool
    model: Mapping[str, Any]
    remarks: tuple[str, ...] = ()

    def columns(self) -> dict[str, list[Any]]:
        """One row a change, as columns of equal length; a person without a way has one row without a change."""
        columns: dict[str, list[Any]] = {name: [] for name in (self.id_column or "row", *_COLUMNS)}
        for each in self.refusals:
            reasons = "; ".join(reason.feature for reason in each.reasons)
            can = "; ".join(reason.feature for reason in each.reasons if reason.actionable)
            changes: list[tuple[int | None, str | None, Any, Any]] = [
                (number, name, before, after)
                for number, option in enumerate(each.options, start=1)
                for name, (before, after) in option.items()
            ]
            for number, name, before, after in changes or [(None, None, None, None)]:
                cells = (each.id, number, name, before, after, each.outcome, reasons, can, each.points)
                for column, cell in zip(columns.values(), cells, strict=True):
                    column.append(cell)
        return columns

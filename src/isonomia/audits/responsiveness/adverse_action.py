"""Adverse action: for each refused applicant the principal reasons, and the nearest changes that lead to approval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.check import new_check
from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counterexamples import FURTHER_DRAWS, nearest_points
from isonomia.audits.responsiveness.setup import ResponsivenessSetup, holds_for, table_of
from isonomia.engine.parameters import Budget
from isonomia.errors import BudgetTooSmallError, UsageError, nearest
from isonomia.models.adapt import adapt
from isonomia.models.meter import current_meter
from isonomia.populations.finite import Census
from isonomia.populations.profile import is_identifier, is_sure_outcome
from isonomia.populations.table import Table, plain_value, replaced
from isonomia.records.display.view import sent_to_model
from isonomia.records.refusals import PrincipalReason, RefusalList, RefusedApplicant
from isonomia.spec.responsiveness import Actions, classes_named, preclusion, target_of
from isonomia.spec.text import to_text
from isonomia.wording import plural

REASONS = 4
"""More than four reasons are not likely to help (comment 9(b)(2)-1 of Regulation B)."""

_REFERENCES = 12
"""How many approved people, evenly over the table, lend a refused person their values, one feature at a time."""


def refused_applicants(
    data: Any,
    model: Any,
    interventions: Actions,
    target: Any,
    *,
    id: str | None = None,  # noqa: A002  (what it is called everywhere)
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    seed: int = 0,
    budget: Budget | str | None = None,
) -> RefusalList:
    """All people whom a model refuses, with the reasons, and what each of them could do.

    The principal reasons are the features that counted most against the person: those whose value, replaced by that of
    approved people, raises the score most (the share of approvals, where the model has no scores), on average over some
    of these people; at most four. The nearest changes are searched among all points that the person can reach, or among
    500 draws and changes of one feature where there are too many: then *none found* is no proof.
    What is found is moved back towards the person's own values as far as approval allows. A feature that the model does
    not read is not offered, unless a constraint ties it to one that it does; nor is one of ``leave_out``, one that
    identifies people, or one whose change the interventions do not call ``sensible``.

    Parameters
    ----------
    data, model, features
        The applicants, the model that decides, and the columns that it is given.
    interventions, target
        What people can change, and the prediction that is approval, as for :class:`Responsiveness`.
    id
        The column that identifies people.
    leave_out
        Columns that cannot be a reason and that people cannot change, such as the outcome.
    seed
        For the draws.
    budget
        The most rows sent to the model, ``"5000 queries"``; where it does not suffice, it is an error.
    """
    condition = target_of(target)
    model = adapt(model, features)
    offered = _offered(interventions, model.reads, (*leave_out, *([id] if id else [])))
    claim = preclusion(offered, target, who=f"not ({to_text(condition)})")
    check = new_check(claim, model, Census(data), seed=seed, outcomes=leave_out)
    limits = Budget.of_queries(budget, "a list of refusals")
    with limits.for_all(check.model, check.population.rows.rows, "a list of refusals") as meter:
        refusals = _refusal_list(check, id, leave_out)
    return replace(refusals, remarks=(*refusals.remarks, f"{sent_to_model(meter.rows)}"))


def _refusal_list(check: Check[Any], id: str | None, leave_out: Sequence[str]) -> RefusalList:  # noqa: A002
    setup, claim = ResponsivenessSetup(check), check.prop
    try:
        table, rows = table_of(check), setup.members.rows
        ids = _ids(table, id)
        if not len(rows):
            nearest_of: Mapping[int, list[dict[str, Any]]] = {}
        else:
            _afford(setup, len(rows), float(np.where(setup.few, setup.reach.counts, FURTHER_DRAWS).sum()))
            nearest_of = nearest_points(setup, np.arange(len(rows)))
        names = [name for name in check.required_model.reads or table.names if name != id and name not in leave_out]
        can = {feature.name for feature in claim.actions.features if feature.actionable}
        weights, scored = _weights(setup, rows, names)
        refusals = tuple(
            RefusedApplicant(
                row=int(row),
                id=ids[row],
                reasons=tuple(_reasons(table, int(row), names, weights[person], can)),
                options=tuple(
                    {name: (pair[0], pair[1]) for name, pair in item["changed"].items()}
                    for item in nearest_of[person]
                    if item["point"] is not None
                ),
                looked_at=nearest_of[person][0]["looked_at"],
                every=nearest_of[person][0]["every"],
            )
            for person, row in enumerate(rows.tolist())
        )
        model = check.required_model
        remarks = tuple(filter(None, [model.given_in_words(table.names)]))
        about = {"name": model.name, "fingerprint": model.fingerprint()}
        labels = claim.actions.labels
        return RefusalList(refusals, table.rows, to_text(claim.condition), id, scored, about, remarks, labels)
    finally:
        setup.close()


def _afford(setup: ResponsivenessSetup, refused: int, points: float) -> None:
    """Refuse a budget that cannot cover the points of the refused people and their reasons."""
    names, meter = setup.check.population.names, current_meter()
    needed = meter.rows + points + refused * (1 + _REFERENCES * len(setup.check.required_model.reads or names))
    if meter.queries < needed:
        raise BudgetTooSmallError(
            f"the reasons and options of {plural(refused, 'refused applicant')} take about {needed:,.0f} rows, but the "
            f"budget allows {meter.queries:,.12g} queries. Allow more, or take fewer applicants",
            needed,
            meter.queries,
        )


def _offered(actions: Any, reads: Sequence[str] | None, never: Sequence[str]) -> Actions:
    """The same interventions without changes that make no sense: of outcomes, ids, and what the model does not read."""
    names, read = {feature.name for feature in actions.features}, set(reads or ())
    fixed = set(never) | {name for name in names - read if is_sure_outcome(name)}
    fixed |= {each.name for each in actions.features if not each.sensible or is_identifier(each.name)}
    if reads is not None:
        rules = [set(rule.names) for rule in (*actions.constraints, *actions.effects)]
        fixed |= names - read - {name for tied in rules if tied & read for name in tied}
    mine = [feature.name for feature in actions.features if feature.actionable and feature.name in fixed]
    only: Actions = actions.set(mine, actionable=False) if mine else actions
    return only


def _ids(table: Table, column: str | None) -> list[Any]:
    if column is None:
        return list(range(table.rows))
    if column not in table.names:
        raise UsageError(f"there is no column {column!r} to tell people apart.{nearest(column, table.names)}")
    values = [plain_value(value) for value in table.column(column)]
    if len(set(values)) < len(values):
        raise UsageError(f"expected a different value of {column!r} for each person, but some occur twice")
    return values


def _weights(
    setup: ResponsivenessSetup, rows: NDArray[np.intp], names: Sequence[str]
) -> tuple[NDArray[np.float64], bool]:
    """How much better each refused person's answer would be with each feature of approved people."""
    table, weights = table_of(setup.check), np.zeros((len(rows), len(names)))
    refused = np.zeros(table.rows, dtype=bool)
    refused[rows] = True
    approved = np.flatnonzero(~refused)
    if not len(rows) or not len(approved):
        return weights, False
    references = approved[np.unique(np.linspace(0, len(approved) - 1, _REFERENCES).astype(int))]
    score = _Scores(setup)
    before = score(table.take(rows))
    people, other = np.repeat(rows, len(references)), np.tile(references, len(rows))
    start = table.take(people)
    for index, name in enumerate(names):
        after = score(replaced(start, {name: table.column(name)[other]}))
        weights[:, index] = after.reshape(len(rows), len(references)).mean(axis=1) - before
    return weights, score.label is not None


class _Scores:
    """The score of the class that is approval; 1 and 0 for approval and refusal without such a score.

    The model's probabilities are used where the target is one class and the model has them.
    """

    def __init__(self, setup: ResponsivenessSetup) -> None:
        self.session, self.condition = setup.check.required_model, setup.check.prop.condition
        model, named = setup.check.required_model, classes_named(self.condition, "==")
        probable = model.score_range == (0.0, 1.0) and len(named) == 1 and named[0] in model.classes
        self.label = named[0] if probable else None

    def __call__(self, table: Table) -> NDArray[np.float64]:
        if self.label is not None:
            answer = self.session(table, True, False)
            assert answer.score is not None
            if answer.score.ndim == 2:
                return np.asarray(answer.score[:, list(answer.classes).index(self.label)])
            classes = self.session.classes
            return answer.score if self.label == classes[-1] else 1.0 - answer.score
        return holds_for(self.condition, table, self.session).astype(np.float64)


def _reasons(
    table: Table, row: int, names: Sequence[str], weights: NDArray[np.float64], can: set[str]
) -> Iterator[PrincipalReason]:
    for index in np.argsort(-weights, kind="stable")[:REASONS].tolist():
        if weights[index] > 0.0:
            value = plain_value(table.column(names[index])[row])
            yield PrincipalReason(names[index], value, float(weights[index]), names[index] in can)

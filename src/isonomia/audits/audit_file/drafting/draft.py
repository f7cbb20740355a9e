"""The draft.

Trying a suggestion on a few people: what cannot be checked is commented out, with the reason.

A draft must run as it is. Whether a property can be checked on some data depends on much, such as what a model does
with missing values, so that the surest way to know is to try. What comes of the trial is not looked at.

From a model and a table to a first draft of an audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isonomia.audits.audit_file.builder import property_of
from isonomia.audits.audit_file.drafting.attributes import MOST_ATTRIBUTES, attributes_of
from isonomia.audits.audit_file.drafting.columns import Column, columns_of_table
from isonomia.audits.audit_file.drafting.model_answers import Asked, asked_model, some_rows
from isonomia.audits.audit_file.drafting.outcomes import (
    Decision,
    decision_of_column,
    decision_of_model,
    favourable_of,
    is_sure_outcome,
    likely_decision,
    likely_outcome,
    likely_score,
)
from isonomia.audits.audit_file.drafting.suggestions import (
    CHANGES,
    Outcome,
    Seen,
    Suggestion,
    fallback,
    numbered,
    person_claims,
    preclusion_claim,
    rate_claims,
)
from isonomia.audits.audit_file.drafting.writer import Files, written_audit
from isonomia.audits.audit_file.reader import recorded_audit_file
from isonomia.audits.check import new_check, run_check
from isonomia.audits.protocol import Check, Permissions
from isonomia.audits.rates.prepare import prepare
from isonomia.audits.rates.question import ask_about
from isonomia.engine.observer import Silent
from isonomia.errors import DataError, IsonomiaError, UsageError, nearest
from isonomia.interventions import Draft, Interventions
from isonomia.models.protocol import Model
from isonomia.populations import Census, Sample
from isonomia.populations.files import Rows
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table
from isonomia.spec.property import Property
from isonomia.spec.text import name_text

__all__ = ["AuditDraft", "Wishes", "draft_audit", "tried"]


_BUDGET = 60
_DELTA = 0.001


def tried(
    suggestion: Suggestion,
    model: Model | None,
    rows: Table,
    interventions: Mapping[str, Any],
    *,
    random_model: bool,
) -> Suggestion:
    """The suggestion as it is where it can be checked, and otherwise commented out with what went wrong."""
    if not suggestion.active:
        return suggestion
    try:
        text = "\n".join(suggestion.lines())
        entry = recorded_audit_file("draft", text, {}).properties()[0]
        prop = property_of(entry, interventions, Permissions())
        people = Sample(rows)
        _try(new_check(prop, model, people, delta=_DELTA, budget=_BUDGET, seed=0, random_model=random_model))
    except IsonomiaError as error:
        return suggestion.doubted(f"it cannot be checked here: {_brief(str(error))}")
    return suggestion


def _try(check: Check[Any]) -> None:
    """Check it; of rates, everything is prepared for draws, and then everybody is counted, which takes less time."""
    if isinstance(check.prop, Property):
        prepare(check, ask_about(check.prop, check.population, check.model, check.ranges))
        check = replace(check, population=Census(check.population.rows))
    run_check(check, Silent())


def _brief(message: str) -> str:
    line = " ".join(message.split("\n  ")[0].split())
    return line if len(line) <= 300 else f"{line[:297]}..."


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user says beforehand; everything else is guessed.

    Attributes
    ----------
    outcome
        The column with what turned out.
    decision
        The column with the answers, where there is no model.
    protected
        The columns with protected attributes.
    favourable
        The favourable answer, as text.
    features
        The columns that the model is given, in order.
    """

    outcome: str | None = None
    decision: str | None = None
    protected: tuple[str, ...] = ()
    favourable: str | None = None
    features: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class AuditDraft:
    """A first draft of an audit.

    Attributes
    ----------
    text
        The audit file.
    changes
        The file with what people can change, which goes beside it; ``None`` where none is needed, or where one that is
        there is used.
    seen
        What was seen.
    suggestions
        The properties, active and commented out.
    """

    text: str
    changes: str | None
    seen: Seen
    suggestions: tuple[Suggestion, ...]


def draft_audit(
    rows: Rows,
    opened: Callable[[Sequence[str] | None], Model] | None,
    files: Files,
    wishes: Wishes,
    changes: Interventions | None = None,
    *,
    alone: bool = False,
) -> AuditDraft:
    """Guess an audit from a table and a model, or from a table that holds a model's answers.

    Every active property was tried on some of the people: the draft runs as it is.

    Parameters
    ----------
    rows
        The people.
    opened
        Opens the model with features, or without; ``None`` where the table holds the answers.
    files
        How the file names model and data.
    wishes
        What is known beforehand.
    changes
        What people can change, where that is already written down; drafted unless given.
    alone
        Whether no file can be written beside the audit file; then what needs one is commented out.

    Raises
    ------
    UsageError
        Where there is neither a model nor a column with answers, or a wish names what is not there.
    DataError, ModelError
        Where the table cannot be used, or the model does not answer.
    """
    table = next(rows.batches()) if isinstance(rows, LongTable) else rows
    seen = _seen(table, opened, wishes, long=isinstance(rows, LongTable))
    actions, text = _interventions(seen, changes)
    claims = [*rate_claims(seen), *person_claims(seen)]
    if actions is not None:
        claim = preclusion_claim(seen, sum(feature.actionable for feature in actions.features))
        absent = alone and changes is None
        claims.append(claim.doubted(f"{CHANGES}.toml is not written with a draft that is printed") if absent else claim)
    found = _tried(claims, seen, actions)
    used = any(claim.active and claim.ask[0] == "responsiveness" for claim in found)
    made = written_audit(seen, found, files, changes=used)
    return AuditDraft(made, text if used else None, seen, tuple(found))


def _seen(table: Table, opened: Callable[[Sequence[str] | None], Model] | None, wishes: Wishes, *, long: bool) -> Seen:
    columns = columns_of_table(table)
    for option, name in (("--outcome", wishes.outcome), ("--decision", wishes.decision)):
        if name is not None and name not in columns:
            raise UsageError(
                f"expected {option} to name a column, but there is no column {name!r}.{nearest(name, table.names)}"
            )
    if opened is None:
        return _seen_in_table(table, columns, wishes, long)
    outcome = wishes.outcome or likely_outcome(columns, None, ())
    asked = asked_model(opened, some_rows(table), columns, outcome, wishes.features)
    name = wishes.outcome or likely_outcome(columns, asked.reads, asked.classes)
    decision = decision_of_model(asked, wishes.favourable, [name] if name else [])
    return _completed(table, columns, asked, decision, None, name, wishes, long)


def _seen_in_table(table: Table, columns: Mapping[str, Column], wishes: Wishes, long: bool) -> Seen:
    decided = wishes.decision or likely_decision(columns)
    if decided is None:
        raise UsageError(
            "expected a model, or a table with a column of predictions or decisions, but no column's name is a usual "
            "one for these. Give the model first, isonomia init MODEL DATA; or name the column with --decision; or "
            "draft only what people can change, with --interventions"
        )
    others = {name: column for name, column in columns.items() if name != decided}
    name = wishes.outcome or likely_outcome(others, None, tuple(columns[decided].counts))
    found = likely_score({key: column for key, column in others.items() if key != name})
    score = "" if found is None else f"{'score' if found == 'score' else name_text(found)} from 0 to 1"
    names = [name] if name else []
    decision = decision_of_column(columns[decided], table.column(decided), wishes.favourable, score, names)
    return _completed(table, columns, None, decision, decided, name, wishes, long)


def _completed(
    table: Table,
    columns: Mapping[str, Column],
    asked: Asked | None,
    decision: Decision,
    decided: str | None,
    name: str | None,
    wishes: Wishes,
    long: bool,
) -> Seen:
    outcome = None if name is None else _outcome(columns[name], decision, given=wishes.outcome is not None)
    taken = [each for each in (name, decided) if each is not None]
    attributes = attributes_of(table, columns, wishes.protected, taken)
    kept = attributes if wishes.protected else attributes[:MOST_ATTRIBUTES]
    return Seen(table, columns, asked, decision, decided, outcome, kept, long)


def _outcome(column: Column, decision: Decision, *, given: bool) -> Outcome:
    why = "you said so" if given else "guessed from its name, place and values"
    positive = None
    if column.counts and column.varieties <= 10:
        values = list(column.counts)
        positive = decision.value if decision.value in values else favourable_of(values, [column.name])[0]
    return Outcome(column, positive, given or is_sure_outcome(column.name), why)


def _interventions(seen: Seen, given: Interventions | None) -> tuple[Interventions | None, str | None]:
    """What people can change, and the text of its draft; nothing where it cannot be used or guessed."""
    if seen.asked is None or seen.long:
        return None, None
    if given is not None:
        return given, None
    taken = {} if seen.outcome is None else {seen.outcome.column.name: "is the outcome, which is predicted"}
    unread = {name: "is not read by the model" for name in seen.table.names if not seen.reads(name)}
    try:
        draft = Draft.of(seen.table, {**unread, **taken})
    except DataError:
        return None, None
    text = draft.to_toml("the table")
    return Interventions.from_toml(text, f"{CHANGES}.toml"), text


def _tried(claims: Sequence[Suggestion], seen: Seen, actions: Interventions | None) -> list[Suggestion]:
    model = None if seen.asked is None else seen.asked.model
    random_model = seen.asked is not None and seen.asked.random
    rows, known = some_rows(seen.table), {} if actions is None else {CHANGES: actions}

    def trial(claim: Suggestion) -> Suggestion:
        return tried(claim, model, rows, known, random_model=random_model)

    found = [trial(claim) for claim in numbered(claims)]
    if any(claim.active for claim in found):
        return found
    last = trial(fallback(seen))
    if not last.active:
        raise DataError(f"nothing that a draft could ask can be checked. {last.doubt}")
    return [last, *found]

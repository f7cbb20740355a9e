"""From a model and a table to a first draft of an audit.

A draft must run as it is. Whether a property can be checked on some data depends on many things, such as what a model
does with missing values, so each suggestion is tried on a few people; what cannot be checked is commented out, with the
reason. The verdicts of these trials are ignored.

A draft as the text of an audit file, with the reason for every guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files as resources
from math import inf
from typing import Any, TypeAlias

from isonomia.audits.audit_file.drafting.answers import (
    FavourableDecision,
    ask_model,
    decision_of_column,
    decision_of_model,
    favourable_of,
    some_rows,
)
from isonomia.audits.audit_file.drafting.roles import (
    THRESHOLDS,
    attributes_of,
    likely_decision,
    likely_outcome,
    likely_score,
    writable_profiles,
)
from isonomia.audits.audit_file.drafting.suggestions import (
    CHANGES,
    DraftBasis,
    OutcomeColumn,
    Suggestion,
    fallback,
    numbered,
    preclusion,
    suggestions,
)
from isonomia.audits.audit_file.planner import property_of
from isonomia.audits.audit_file.reader import recorded_audit_file
from isonomia.audits.check import new_check, prepare_sampling, run_check
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import Budget, NullObserver
from isonomia.errors import DataError, IsonomiaError, UsageError, nearest, no_names
from isonomia.interventions import Draft, Interventions
from isonomia.models.meter import BudgetSpentError, QueryMeter, current_meter, metering
from isonomia.models.protocol import Model, describe
from isonomia.populations import Census, Sample
from isonomia.populations.profile import ColumnProfile, is_sure_outcome
from isonomia.populations.streaming import LongTable, Rows
from isonomia.populations.table import Table
from isonomia.spec.property import Property
from isonomia.spec.text import name_text
from isonomia.toml import comment_lines, toml_value
from isonomia.wording import printable, shortened

_MAX_LISTED = 60
"""The maximum number of columns that are listed in the comments."""
_SECONDS = 60
"""About how many seconds a property may take by its budget, at the speed that was seen."""


@dataclass(frozen=True, slots=True)
class DraftFiles:
    """How an audit file refers to its model and data.

    Attributes
    ----------
    model, data
        As the file names them: paths relative to it.
    options
        What the model is opened with.
    census
        Whether the rows are the whole population.
    pickled
        Whether running it needs ``--trust-pickle``.
    """

    model: str | None
    data: str
    options: Mapping[str, Any] | None = None
    census: bool = False
    pickled: bool = False


def written_audit(basis: DraftBasis, claims: Sequence[Suggestion], files: DraftFiles, *, changes: bool) -> str:
    """The text of the file; with ``changes``, it names the file with what people can change."""
    import jinja2

    templates = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    templates.filters |= {"toml": toml_value, "comment": _comment}
    answers, names = basis.answers, list(basis.columns)
    about = f"{basis.decided} in {_title(files.data)}" if files.model is None else _title(files.model)
    speed = inf if answers is None else answers.speed
    return templates.from_string(resources(__package__).joinpath("draft.toml.jinja").read_text("utf-8")).render(
        basis=basis,
        answers=answers,
        decision=basis.decision,
        files=files,
        claims=claims,
        changes=CHANGES if changes else "",
        roles=[(name, _role(basis, name)) for name in names[:_MAX_LISTED]],
        more=len(names[_MAX_LISTED:]),
        title=printable(f"Audit of {about}"),
        description="" if answers is None else describe(answers.model),
        speed=float(f"{speed:.1g}"),
        budget=next((size for size in (1_000_000, 100_000, 10_000) if size <= speed * _SECONDS), 1_000),
    )


def _comment(text: str) -> str:
    return "".join(f"{line}\n" for line in comment_lines(text))


def _role(basis: DraftBasis, name: str) -> str:
    """What a column was taken for, and what it holds."""
    parts = []
    if basis.outcome is not None and name == basis.outcome.column.name:
        parts.append(f"the outcome ({basis.outcome.why})")
    if name == basis.decided:
        parts.append("the answers that are audited")
    parts += [f"protected: {attribute.kind}" for attribute in basis.attributes if attribute.column == name]
    if basis.columns[name].identifier:
        parts.append("identifies people, and is not a group")
    if basis.answers is not None and basis.answers.reads is not None:
        parts.append("read by the model" if name in basis.answers.reads else "not read by the model")
    return "; ".join([*parts, basis.columns[name].words()])


def _title(source: str) -> str:
    """The name of a file without its folder; an address or ``module:object`` as it is."""
    return source if ":" in source else source.rpartition("/")[2] or source


Opener: TypeAlias = Callable[[Sequence[str] | None], Model]
"""Opens the model, with given features or without."""

_TRIAL_BUDGET, _TRIAL_DELTA = 60, 0.001
"""Enough to find out what cannot be checked; the verdict does not matter."""
_MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What the user says beforehand; everything else is guessed."""

    outcome: str | None = None  # the column with the outcomes
    decision: str | None = None  # the column with the answers, where there is no model
    protected: tuple[str, ...] = ()  # the columns with protected attributes
    favourable: str | None = None  # the favourable answer, as text
    features: tuple[str, ...] | None = None  # the columns that the model is given, in order


@dataclass(frozen=True, slots=True)
class AuditDraft:
    """A first draft of an audit.

    Attributes
    ----------
    text
        The audit file.
    changes
        The file with what people can change, which goes next to it; ``None`` if it is not needed, or an existing one is
        used.
    basis
        What the draft rests on.
    suggestions
        The properties, active and commented out.
    queries
        How many rows were sent to the model.
    """

    text: str
    changes: str | None
    basis: DraftBasis
    suggestions: tuple[Suggestion, ...]
    queries: int


def draft_audit(
    rows: Rows,
    opened: Opener | None,
    files: DraftFiles,
    wishes: DraftRequest,
    changes: Interventions | None = None,
    *,
    alone: bool = False,
    queries: float = inf,
) -> AuditDraft:
    """Guess an audit from a table and a model, or from a table that holds a model's answers.

    Every active property was tried on some of the people, so the draft runs as it is. ``opened`` opens the model, with
    features or without; it is ``None`` where the table holds the answers. ``changes`` is what people can change; it is
    drafted by default. ``alone`` means that no file can be written next to the audit file: what needs one is commented
    out. At most ``queries`` rows are sent to the model; what could not be tried with them is commented out.
    """
    long = isinstance(rows, LongTable)
    with metering(QueryMeter(queries)) as meter:
        try:
            basis = _basis(next(rows.batches()) if isinstance(rows, LongTable) else rows, opened, wishes, long)
            actions, text = _interventions(basis, changes)
            claims = list(suggestions(basis))
            if actions is not None:
                claim = preclusion(basis, sum(feature.actionable for feature in actions.features))
                if alone and changes is None:
                    claim = claim.doubted(f"{CHANGES}.toml is not written with a draft that is printed")
                claims.append(claim)
            claims = _tried(claims, basis, actions)
        except BudgetSpentError as spent:
            raise UsageError(
                f"a draft takes more than {queries:,.0f} rows: the model answered {meter.rows:,} and more are "
                "needed. Allow more with --queries"
            ) from spent
    used = any(claim.active and claim.ask[0] == "responsiveness" for claim in claims)
    audit = written_audit(basis, claims, files, changes=used)
    return AuditDraft(audit, text if used else None, basis, tuple(claims), meter.rows)


def _basis(table: Table, opened: Opener | None, wishes: DraftRequest, long: bool) -> DraftBasis:
    """Query the model, if there is one, and guess what the columns are."""
    columns = writable_profiles(table)
    for option, name in (("--outcome", wishes.outcome), ("--decision", wishes.decision)):
        if name is not None and name not in columns:
            raise UsageError(
                f"expected {option} to name a column, but there is no column {name!r}.{nearest(name, table.names)}"
                f"{no_names(table.names)}"
            )
    answers = decided = None
    if opened is None:
        decided = wishes.decision or likely_decision(columns)
        if decided is None:
            raise UsageError(
                "expected a model, or a table with a column of predictions or decisions, but no column's name is a "
                "usual one for these. Give the model first, isonomia init MODEL DATA; or name the column with "
                f"--decision; or draft only what people can change, with --interventions.{no_names(table.names)}"
            )
        others = {name: column for name, column in columns.items() if name != decided}
        outcome = wishes.outcome or likely_outcome(others, None, tuple(columns[decided].counts))
        score = likely_score({name: column for name, column in others.items() if name != outcome})
        spelled = "" if score is None else f"{'score' if score == 'score' else name_text(score)} from 0 to 1"
        names = [outcome] if outcome else []
        decision = decision_of_column(columns[decided], wishes.favourable, spelled, names)
    else:
        outcome = wishes.outcome or likely_outcome(columns, None, ())
        meter = current_meter()
        rows = some_rows(table, meter.queries // 5 if meter.limited else inf)  # twice: for predictions and for scores
        answers = ask_model(opened, rows, columns, outcome, wishes.features)
        outcome = wishes.outcome or likely_outcome(columns, answers.reads, answers.classes)
        decision = decision_of_model(answers, wishes.favourable, [outcome] if outcome else [])
    taken = [name for name in (outcome, decided) if name is not None]
    attributes = attributes_of(columns, wishes.protected, taken)
    return DraftBasis(
        table=table,
        columns=columns,
        answers=answers,
        decision=decision,
        decided=decided,
        outcome=None if outcome is None else _outcome(columns[outcome], decision, given=wishes.outcome is not None),
        attributes=attributes if wishes.protected else attributes[: THRESHOLDS["max_attributes"]],
        long=long,
    )


def _outcome(column: ColumnProfile, decision: FavourableDecision, *, given: bool) -> OutcomeColumn:
    why = "you said so" if given else "guessed from its name, place and values"
    positive = None
    if column.counts and column.varieties <= 10:
        values = list(column.counts)
        positive = decision.value if decision.value in values else favourable_of(values, [column.name])[0]
    return OutcomeColumn(column, positive, given or is_sure_outcome(column.name), why)


def _interventions(basis: DraftBasis, given: Interventions | None) -> tuple[Interventions | None, str | None]:
    """What people can change, and the text of its draft; nothing where it cannot be used or guessed."""
    if basis.answers is None or basis.long:
        return None, None
    if given is not None:
        return given, None
    taken = {} if basis.outcome is None else {basis.outcome.column.name: "is the outcome, which is predicted"}
    unread = {name: "is not read by the model" for name in basis.table.names if not basis.reads(name)}
    try:
        draft = Draft.of(basis.table, {**unread, **taken})
    except DataError:
        return None, None
    text = draft.to_toml("the table")
    return Interventions.from_toml(text, f"{CHANGES}.toml"), text


def _tried(claims: Sequence[Suggestion], basis: DraftBasis, actions: Interventions | None) -> list[Suggestion]:
    """The suggestions, with those that cannot be checked commented out; at least one is active."""
    meter = current_meter()
    rows = basis.answers.rows if basis.answers is not None and meter.limited else some_rows(basis.table)
    tried, waiting = list[Suggestion](), sum(claim.active for claim in claims)
    for claim in numbered(claims):
        tried.append(_trial(claim, basis, rows, actions, meter.left / max(waiting, 1)))
        waiting -= claim.active
    if any(claim.active for claim in tried):
        return tried
    last = _trial(fallback(basis), basis, rows, actions, meter.left)
    if not last.active:
        raise DataError(f"no claim of the draft can be checked. {last.doubt}")
    return [last, *tried]


def _trial(
    claim: Suggestion, basis: DraftBasis, rows: Table, actions: Interventions | None, queries: float
) -> Suggestion:
    """The suggestion as it is where it can be checked, and otherwise commented out with what went wrong."""
    if not claim.active:
        return claim
    answers = basis.answers
    if answers is not None and queries < 1:
        return claim.doubted("it was not tried: the query limit is reached (--queries)")
    try:
        table = recorded_audit_file("draft", "\n".join(claim.lines()), {}).properties()[0]
        prop = property_of(table, {} if actions is None else {CHANGES: actions}, Permissions())
        check = new_check(
            prop,
            None if answers is None else answers.model,
            Sample(rows),
            delta=_TRIAL_DELTA,
            budget=Budget(_TRIAL_BUDGET, queries=queries),
            seed=0,
            random_model=answers is not None and answers.random,
        )
        if isinstance(prop, Property):
            # For rates, everything is prepared for sampling, but then all rows are counted, which is faster.
            prepare_sampling(check)
            if queries == inf:
                check = replace(check, population=Census(rows), budget=Budget())
        run_check(check, NullObserver())
    except IsonomiaError as error:
        return claim.doubted(f"it cannot be checked here: {_reason(error)}")
    return claim


def _reason(error: IsonomiaError) -> str:
    """The first line of a message, without the carets below it."""
    first = str(error).partition("\n")[0]
    return shortened(" ".join(first.split()), _MAX_REASON)

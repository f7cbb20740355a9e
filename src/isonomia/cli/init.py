"""``isonomia init``: a first draft of an audit, or of what people can change, to be read and corrected."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isonomia.cli.options import parse_model_options
from isonomia.cli.outputs import new_console, read_interventions, refuse_to_overwrite, write_text
from isonomia.errors import UsageError
from isonomia.wording import on_one_line, plural

if TYPE_CHECKING:
    from isonomia.audits.audit_file.drafting import AuditDraft
    from isonomia.models.protocol import Model

STANDARD_OUTPUT = Path("-")
AUDIT, CHANGES = Path("audit.toml"), Path("changes.toml")


def init(
    sources: list[str],
    outcome: str | None = None,
    protected: list[str] | None = None,
    favourable: str | None = None,
    decision: str | None = None,
    census: bool = False,
    output: Path | None = None,
    force: bool = False,
    interventions: bool = False,
    leave_out: list[str] | None = None,
    queries: int | None = None,
    features: str | None = None,
    model_options: list[str] | None = None,
    trust_pickle: bool = False,
    trust: list[str] | None = None,
) -> None:
    """Draft an audit from a model and a table: a TOML file with the reason of every guess, which runs as it is.

    What people can change is drafted in the same folder, as changes.toml.

    Example: isonomia init model.onnx people.csv
    """
    model, data = _sources(sources)
    if interventions:
        if any((model, protected, favourable, decision, census, features, trust_pickle, trust)):
            raise UsageError("expected only a table, --outcome and --leave-out with --interventions")
        _draft_interventions(Path(data), outcome, leave_out, output or CHANGES, force)
        return
    if leave_out:
        raise UsageError("--leave-out requires --interventions: an audit leaves out what the model does not read")
    if model is not None and decision is not None:
        raise UsageError("expected either a model or --decision, but got both: with a model, its answers are audited")
    from isonomia.audits.audit_file.drafting import DraftFiles, DraftRequest, draft_audit
    from isonomia.populations.finite import rows_from

    target = output or AUDIT
    columns = None if features is None else tuple(name.strip() for name in features.split(","))
    wishes = DraftRequest(outcome, decision, tuple(protected or ()), favourable, columns)
    options = {**parse_model_options(model_options), **({"trusted": trust} if trust else {})}
    if model is None and (options or columns or trust_pickle):
        raise UsageError("these options require a model: --features, --trust-pickle, --trust and --model-option")
    printed = target == STANDARD_OUTPUT
    folder = Path() if printed else target.parent
    if not printed:
        refuse_to_overwrite(target, force=force)  # before a model is queried
    rows = rows_from(data)
    opened = None if model is None else _opener(model, folder, options, trust_pickle)
    trusting = trust_pickle or "trusted" in options
    named = None if model is None else _relative(model, folder)
    files = DraftFiles(named, _relative(data, folder), options, census, trusting)
    changes_file = folder / CHANGES
    known = read_interventions(changes_file) if changes_file.exists() and not force else None
    limit = inf if opened is None else _allowed_queries(queries, opened(wishes.features))
    draft = draft_audit(rows, opened, files, wishes, known, alone=printed, queries=limit)
    if printed:
        typer.echo(draft.text, nl=False)
        return
    if draft.changes is not None:
        write_text(draft.changes, changes_file, force=force)
    write_text(draft.text, target, force=force)
    flags = _remember(target) + (" --trust-pickle" if trusting else "")
    _tell(draft, target, changes_file, flags)


def _sources(given: list[str]) -> tuple[str | None, str]:
    if len(given) > 2:
        raise UsageError(f"expected a model and a table, or a table alone, but got {len(given)} arguments: {given}")
    return (given[0], given[1]) if len(given) == 2 else (None, given[0])


FEW_QUERIES = 200
"""The maximum number of rows that a draft sends to a service or a program without --queries."""


def _allowed_queries(queries: int | None, model: Model) -> float:
    """How many rows may be sent to a model; by default no limit for a model that runs in this process."""
    from isonomia.models.chat import ChatModel
    from isonomia.models.executable import ExecutableModel
    from isonomia.models.http import HttpModel

    if queries is not None or not isinstance(model, HttpModel | ExecutableModel | ChatModel):
        return inf if queries is None else queries
    console = new_console(stderr=True, wrap=False)
    console.print(on_one_line(f"{model.name} is sent at most {FEW_QUERIES} rows; --queries N allows more"))
    return FEW_QUERIES


def _remember(target: Path) -> str:
    """Grant the draft the permissions that it needs: the user has just had all that it names opened and run.

    Returns the option that grants them after the draft has been edited.
    """
    from isonomia.audits.audit_file.permissions import needs_of, remember
    from isonomia.audits.audit_file.reader import read_audit_file
    from isonomia.audits.protocol import Permissions

    audit = read_audit_file(target)
    wanted = {need.permission for need in needs_of(audit)} - {"pickle"}
    if not wanted:
        return ""
    code = "code" in wanted
    with suppress(UsageError):  # where it cannot be kept, isonomia run asks, as it does about the drafts of others
        remember(audit, Permissions(allow_code=code, allow_outside=True))
    return " --allow-code" if code else " --allow-outside"


def _opener(
    model: str, folder: Path, options: dict[str, Any], trust_pickle: bool
) -> Callable[[Sequence[str] | None], Model]:
    from isonomia.models import load_model

    if _names_a_module(model):  # as isonomia run does, so that the draft finds the same module
        sys.path.insert(0, str(folder.resolve()))
    extra = {"trust_pickle": True} if trust_pickle else {}
    return lambda features: load_model(model, features=features, **options, **extra)


def _names_a_module(model: str) -> bool:
    """Whether it is ``module:object``.

    For anything else, modules in its folder must not be found: they would be run in place of libraries.
    """
    return ":" in model and not model.lower().startswith(("http://", "https://")) and not Path(model).exists()


def _relative(source: str, folder: Path) -> str:
    """A path as a file in the folder names it; an absolute one, an address or ``module:object`` as it is."""
    path = Path(source)
    pattern = any(sign in source for sign in "*?[")
    if path.is_absolute() or not (path.exists() or pattern):
        return source
    return Path(os.path.relpath(path, folder)).as_posix()


def _tell(draft: AuditDraft, target: Path, changes_file: Path, flags: str) -> None:
    basis, claims = draft.basis, draft.suggestions
    active = sum(claim.active for claim in claims)
    outcome = "no column looks like it" if basis.outcome is None else basis.outcome.column.name
    protected = ", ".join(each.column for each in basis.attributes) or "no column looks like one"
    lines = [
        f"{target}: {plural(active, 'property', 'properties')}, {len(claims) - active} more commented out.",
        f"favourable: {basis.decision.event} ({basis.decision.why}); --favourable changes it.",
        f"outcome: {outcome}; --outcome changes it.",
        f"protected: {protected}; --protected changes it.",
    ]
    if draft.queries:
        lines.append(f"{plural(draft.queries, 'row')} sent to the model.")
    if draft.changes is not None:
        lines.append(f"{changes_file}: what people can change, which {target.name} uses; read it too.")
    lines.append(f"Every line is a guess: read it and correct it, then isonomia run {target}{flags}")
    console = new_console(wrap=False)
    for line in lines:
        console.print(on_one_line(line))


# --------------------------------------------------------------------------------------------- what people can change


def _draft_interventions(
    data: Path, outcome: str | None, leave_out: list[str] | None, output: Path, force: bool
) -> None:
    from isonomia.interventions import Draft
    from isonomia.populations.files import read_table

    draft = Draft.of(read_table(data), leave_out or (), outcome)
    text = draft.to_toml(data.name)
    if output == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
        return
    write_text(text, output, force=force)
    free = sum(feature.actionable for feature in draft.features)
    console = new_console(wrap=False)
    console.print(
        f"{output}: {plural(len(draft.features), 'feature')}, of which people can change {free}, "
        f"{plural(len(draft.constraints), 'constraint')}, {plural(len(draft.left_out), 'column')} left as they are."
    )
    if not draft.outcome_known:
        console.print("No column looks like the outcome; --outcome COLUMN names it.")
    for name, reason in draft.left_out.items():
        if "looks like the outcome" in reason:
            console.print(f"{name} {reason}; use --outcome to name another.")
    console.print(
        "Every line is a guess: read it and correct it before you audit with it, isonomia responsiveness --data "
        f"{data} --interventions {output} --model module:object --target 1 --at-least 0.1"
    )

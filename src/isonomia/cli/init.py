"""``isonomia init``: a first draft of an audit, or of what people can change, to be read and corrected."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isonomia.cli.options import parse_model_options
from isonomia.cli.outputs import new_console, read_interventions, refuse_to_overwrite, write_text
from isonomia.errors import UsageError
from isonomia.wording import on_one_line, plural

if TYPE_CHECKING:
    from isonomia.audits.audit_file.drafting import AuditDraft, Wishes
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
    yes: bool = False,
    features: str | None = None,
    model_options: list[str] | None = None,
    trust_pickle: bool = False,
    trust: list[str] | None = None,
) -> None:
    """Draft an audit from a model and a table: a TOML file with the reason of every guess, which runs as it is.

    What people can change is drafted beside it, as changes.toml.

    Example: isonomia init model.onnx people.csv
    """
    model, data = _sources(sources)
    if interventions:
        _refuse_with_interventions(model, protected, favourable, decision, census, features, trust_pickle, trust)
        _draft_interventions(Path(data), outcome, leave_out, output or CHANGES, force)
        return
    if leave_out:
        raise UsageError(
            "expected --leave-out with --interventions only: an audit leaves out what the model does not read"
        )
    if model is not None and decision is not None:
        raise UsageError("expected either a model or --decision, but got both: with a model, its answers are audited")
    from isonomia.audits.audit_file.drafting import Wishes

    target = output or AUDIT
    columns = None if features is None else tuple(name.strip() for name in features.split(","))
    wishes = Wishes(outcome, decision, tuple(protected or ()), favourable, columns)
    options = {**parse_model_options(model_options or []), **({"trusted": trust} if trust else {})}
    if model is None and (options or columns or trust_pickle):
        raise UsageError("expected a model with --features, --trust-pickle, --trust and --model-option, but got none")
    ask = partial(_allowed_queries, queries, yes)
    _draft_audit(model, data, target, wishes, options, ask, census=census, trust_pickle=trust_pickle, force=force)


def _sources(given: list[str]) -> tuple[str | None, str]:
    if len(given) > 2:
        raise UsageError(f"expected a model and a table, or a table alone, but got {len(given)} arguments: {given}")
    return (given[0], given[1]) if len(given) == 2 else (None, given[0])


def _refuse_with_interventions(*given: Any) -> None:
    if any(given):
        raise UsageError(
            "expected only a table, --outcome and --leave-out with --interventions: what people can change does not "
            "depend on a model"
        )


# ------------------------------------------------------------------------------------------------------------ an audit


def _draft_audit(
    model: str | None,
    data: str,
    target: Path,
    wishes: Wishes,
    options: dict[str, Any],
    allowed: Callable[[Model], float],
    *,
    census: bool,
    trust_pickle: bool,
    force: bool,
) -> None:
    from isonomia.audits.audit_file.drafting import Files, draft_audit
    from isonomia.populations.finite import rows_from

    printed = target == STANDARD_OUTPUT
    folder = Path() if printed else target.parent
    if not printed:
        refuse_to_overwrite(target, force=force)  # before a model is asked
    rows = rows_from(data)
    opened = None if model is None else _opener(model, folder, options, trust_pickle)
    trusting = trust_pickle or "trusted" in options
    named = None if model is None else _relative(model, folder)
    files = Files(named, _relative(data, folder), options, census, trusting)
    beside = folder / CHANGES
    known = read_interventions(beside) if beside.exists() and not force else None
    queries = inf if opened is None else allowed(opened(wishes.features))
    draft = draft_audit(rows, opened, files, wishes, known, alone=printed, queries=queries)
    if printed:
        typer.echo(draft.text, nl=False)
        return
    if draft.changes is not None:
        write_text(draft.changes, beside, force=force)
    write_text(draft.text, target, force=force)
    flags = _remember(target) + (" --trust-pickle" if trusting else "")
    _tell(draft, target, beside, flags)


FEW_QUERIES, MANY_QUERIES = 200, 2_000
"""The most rows that a draft sends to a service or a program: without a question, and after a yes."""


def _allowed_queries(queries: int | None, yes: bool, model: Model) -> float:
    """How many rows may be sent to a model: without limit to one that runs here, unless there is one."""
    from isonomia.models.executable import ExecutableModel
    from isonomia.models.http import HttpModel

    if queries is not None or not isinstance(model, HttpModel | ExecutableModel):
        return inf if queries is None else queries
    if yes:
        return MANY_QUERIES
    console = new_console(stderr=True, wrap=False)
    terminal = not os.environ.get("CI") and sys.stdin.isatty() and sys.stderr.isatty()
    if terminal:
        question = f"A draft sends up to {MANY_QUERIES:,} rows to {model.name}, which may cost money. Send them? [y/N] "
        console.print(on_one_line(question), markup=False, end="")
        if sys.stdin.readline().strip().lower() in {"y", "yes"}:
            return MANY_QUERIES
    note = f"{model.name} is asked about at most {FEW_QUERIES} rows; --yes allows {MANY_QUERIES:,}, --queries N others."
    console.print(on_one_line(note), markup=False)
    return FEW_QUERIES


def _remember(target: Path) -> str:
    """Allow the draft what it names: whoever typed these names has just had all of it opened and run.

    Gives the option that allows it once the draft has been edited, for then it is asked about again.
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

    For anything else, modules beside the draft must not be found: they would be run in place of libraries.
    """
    return ":" in model and not model.lower().startswith(("http://", "https://")) and not Path(model).exists()


def _relative(source: str, folder: Path) -> str:
    """A path as a file in the folder names it; an absolute one, an address or ``module:object`` as it is."""
    path = Path(source)
    pattern = any(sign in source for sign in "*?[")
    if path.is_absolute() or not (path.exists() or pattern):
        return source
    return Path(os.path.relpath(path, folder)).as_posix()


def _tell(draft: AuditDraft, target: Path, beside: Path, flags: str) -> None:
    basis, claims = draft.basis, draft.suggestions
    active = sum(claim.active for claim in claims)
    lines = [
        f"{target}: {plural(active, 'property', 'properties')}, "
        f"{len(claims) - active} more commented out with the reason.",
        f"favourable: {basis.decision.event} ({basis.decision.why}); say --favourable where it is another.",
        f"outcome: {basis.outcome.column.name}; say --outcome where it is another."
        if basis.outcome is not None
        else "outcome: no column looks like it; --outcome names one.",
        f"protected: {', '.join(each.column for each in basis.attributes) or 'none seen'}; --protected names others.",
    ]
    if draft.queries:
        lines.append(f"{plural(draft.queries, 'row')} sent to the model.")
    if draft.changes is not None:
        lines.append(f"{beside}: what people can change, which {target.name} uses; read it too.")
    lines.append(f"Every line is a guess: read it and correct it, then isonomia run {target}{flags}")
    console = new_console(wrap=False)
    for line in lines:
        console.print(on_one_line(line), markup=False)


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
        f"{plural(len(draft.constraints), 'constraint')}, {plural(len(draft.left_out), 'column')} left as they are.",
        markup=False,
    )
    if not draft.outcome_known:
        console.print("No column looks like the outcome; if it is in the table, say --outcome COLUMN.", markup=False)
    for name, reason in draft.left_out.items():
        if "looks like the outcome" in reason:
            console.print(f"{name} {reason}; say --outcome where it is another.", markup=False)
    console.print(
        "Every line is a guess: read it and correct it before you audit with it, isonomia responsiveness --data "
        f"{data} --interventions {output} --model module:object --target 1 --at-least 0.1",
        markup=False,
    )

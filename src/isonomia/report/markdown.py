"""The audit as Markdown: a summary for a pull request, and a section for a model card."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isonomia.records.display.view import (
    SIGNS,
    TableBlock,
    answer_line,
    guarantee,
    level,
    levels,
    rows,
    seed_note,
    unit,
    view_of,
)
from isonomia.records.verdict import Verdict
from isonomia.report.entries import AuditReport, Entry, Failure, missing_answer, summary_sentence
from isonomia.wording import printable, shortened

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
_LIST = re.compile(r"^(\d+)\.(?= |$)")  # would begin a numbered list
_MAX_CODE = 200


def summary(audit: AuditReport) -> str:
    """One table: one line per property."""
    lines = [
        f"## {escaped(audit.title)}",
        "",
        _counted(audit),
        "",
        "| | property | answer | findings |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {_FAILED} | {escaped(failure.name)} | {missing_answer(failure)} | {escaped(failure.message)} |"
        for failure in audit.failures
    ]
    lines += [
        f"| {SIGNS[entry.verdict.answer]} | {escaped(entry.name)} | {entry.verdict.answer} | {_known(entry.verdict)} |"
        for entry in audit.entries
    ]
    note = levels(entry.verdict for entry in audit.entries)
    return "\n".join([*lines, *(["", note] if note else [])]) + "\n"


def as_markdown(audit: AuditReport) -> str:
    """The summary, then every verdict in full."""
    sections = [*map(_failed, audit.failures), *map(_section, audit.entries)]
    return summary(audit) + "".join(sections)


def model_card(audit: AuditReport) -> str:
    """A section for a model card: what was checked, with which guarantee, on which model."""
    lines = ["## Fairness and robustness audit", "", _counted(audit), ""]
    lines += [
        f"- **{escaped(failure.name)}** {missing_answer(failure)}, so there is no answer." for failure in audit.failures
    ]
    for entry in audit.entries:
        verdict = entry.verdict
        lines.append(f"- **{escaped(entry.name)}** {verdict.answer}: {_known(verdict)}. {escaped(_promised(verdict))}")
        lines += [f"  - {escaped(entry.why)}"] if entry.why else []
        lines += [f"  - assumes that {escaped(item)}" for item in verdict.assumptions]
    models = dict.fromkeys(
        f"{entry.verdict.model['name']} ({entry.verdict.model['fingerprint'][:12]})"
        for entry in audit.entries
        if entry.verdict.model
    )
    lines += ["", f"Audited: {', '.join(map(escaped, models)) or 'stored predictions'}."]
    lines += [f"Run {escaped(audit.run)}{', ' + audit.when if audit.when else ''}."] if audit.run else []
    return "\n".join(lines) + "\n"


def github_lines(audit: AuditReport) -> str:
    """Workflow commands, which GitHub turns into annotations of the audit file."""
    kinds = {"violated": "error", "undecided": "warning"}
    lines = [
        _remark("error", audit, failure, f"{missing_answer(failure)}: {failure.message}") for failure in audit.failures
    ]
    lines += [
        _remark(kinds[entry.verdict.answer], audit, entry, answer_line(entry.verdict))
        for entry in audit.entries
        if entry.verdict.answer in kinds
    ]
    return "".join(f"{line}\n" for line in lines)


def _remark(kind: str, audit: AuditReport, about: Entry | Failure, message: str) -> str:
    where = {"file": audit.file, "line": about.line, "title": about.name}
    properties = ",".join(
        f"{key}={_command(str(value), name=True)}" for key, value in where.items() if value is not None
    )
    return f"::{kind} {properties}::{_command(message)}"


def _counted(audit: AuditReport) -> str:
    return summary_sentence((entry.verdict for entry in audit.entries), audit.failures)


_FAILED = "⚠"


def _promised(verdict: Verdict) -> str:
    return " ".join(filter(None, (guarantee(verdict), level(verdict))))


def _known(verdict: Verdict) -> str:
    return escaped(view_of(verdict).finding(verdict, False))


def _failed(failure: Failure) -> str:
    lines = ["", f"### {_FAILED} {escaped(failure.name)}", ""]
    lines += [escaped(failure.why), ""] if failure.why else []
    return "\n".join([*lines, f"{missing_answer(failure).capitalize()}: {escaped(failure.message)}"]) + "\n"


def _section(entry: Entry) -> str:
    verdict, view = entry.verdict, view_of(entry.verdict)
    lines = ["", f"### {SIGNS[verdict.answer]} {escaped(entry.name)}", ""]
    if view.explanation_first and entry.explanation:
        lines += [escaped(entry.explanation), ""]
    lines += [f"`{_code(verdict.text)}`", ""]
    lines += [escaped(entry.why), ""] if entry.why else []
    lines += [f"Found: {_known(verdict)}.", ""] if view.counts else []
    lines += [f"{escaped(answer_line(verdict))}. {escaped(guarantee(verdict))}", ""]
    table = rows(verdict)
    if table:
        lines += [f"| quantity | estimate | interval | {unit(verdict)} |", "|---|---|---|---|"]
        lines += [*map(_row, table), ""]
        lines += [escaped(level(verdict)), ""] if level(verdict) else []
    for block in view.blocks(verdict):
        if isinstance(block, TableBlock):
            lines += [escaped(block.title), "", _row(block.headings), "|---" * len(block.headings) + "|"]
            lines += [*map(_row, block.rows), ""]
    lines += [f"- assumes that {escaped(item)}" for item in verdict.assumptions]
    lines += [f"- note: {escaped(item)}" for item in (*verdict.remarks, *filter(None, [seed_note(verdict)]))]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _LIST.sub(r"\1\\.", _SPECIAL.sub(r"\\\1", one_line(text)))


def _code(text: str) -> str:
    return shortened(one_line(text).replace("`", "'"), _MAX_CODE)


def one_line(text: str) -> str:
    """The text on one line, without characters that cannot be printed."""
    return " ".join((text if text.isprintable() else printable(text)).split())


def _command(text: str, *, name: bool = False) -> str:
    """Text escaped for a workflow command."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C") if name else escaped

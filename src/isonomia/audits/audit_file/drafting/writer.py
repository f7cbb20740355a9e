"""A draft as the text of an audit file, with the reason for every guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.audits.audit_file.drafting.answers import Decision, ModelAnswers
from isonomia.audits.audit_file.drafting.suggestions import CHANGES, Basis, Suggestion
from isonomia.models.protocol import describe
from isonomia.toml import comment_lines, toml_value
from isonomia.wording import printable

_MAX_LISTED = 60
"""The most columns that are listed in the comments."""
_SECONDS = 60
"""About how many seconds a property may take by its budget, at the speed that was seen."""


@dataclass(frozen=True, slots=True)
class Files:
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


def written_audit(basis: Basis, claims: Sequence[Suggestion], files: Files, *, changes: bool) -> str:
    """The text of the file; with ``changes``, it names the file with what people can change."""
    parts = [_head(basis, files), _settings(basis, files)]
    if basis.answers is not None:
        parts.append(_model(basis.decision, basis.answers, files))
    parts.append(_population(basis, files))
    if changes:
        parts.append(["[interventions]", f'{CHANGES} = "{CHANGES}.toml"'])
    parts.extend(map(_property, claims))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(basis: Basis, files: Files) -> list[str]:
    flag = " --trust-pickle" if files.pickled else ""
    paragraphs = [
        "A first draft of an audit. Everything here was guessed from names and values: read it, correct it, and delete "
        f"what you do not mean. What is commented out was too risky a guess. Run it with: isonomia run FILE{flag}",
        "",
        f"What the columns were taken for ({basis.table.rows:,} rows{' were read' if basis.long else ''}):",
    ]
    names = list(basis.columns)
    paragraphs += [f"- {name}: {_role(basis, name)}" for name in names[:_MAX_LISTED]]
    if len(names) > _MAX_LISTED:
        paragraphs.append(f"- and {len(names) - _MAX_LISTED:,} more")
    return [line for paragraph in paragraphs for line in comment_lines(paragraph) or ["#"]]


def _role(basis: Basis, name: str) -> str:
    """What a column was taken for, and what it holds."""
    parts = []
    if basis.outcome is not None and name == basis.outcome.column.name:
        parts.append(f"the outcome ({basis.outcome.why})")
    if name == basis.decided:
        parts.append("the answers that are audited")
    parts += [f"protected: {attribute.kind}" for attribute in basis.attributes if attribute.column == name]
    if basis.columns[name].identifier:
        parts.append("tells people apart, and is not a group")
    if basis.answers is not None and basis.answers.reads is not None:
        parts.append("read by the model" if name in basis.answers.reads else "not read by the model")
    return "; ".join([*parts, basis.columns[name].words()])


def _title(source: str) -> str:
    """The name of a file without its folder; an address or ``module:object`` as it is."""
    return source if ":" in source else source.rpartition("/")[2] or source


def _settings(basis: Basis, files: Files) -> list[str]:
    about = _title(files.model) if files.model is not None else f"{basis.decided} in {_title(files.data)}"
    people, cost = 1_000_000, "The most samples (people, cases or points) for each property."
    if basis.answers is not None:
        speed = basis.answers.speed
        people = next((size for size in (1_000_000, 100_000, 10_000) if size <= speed * _SECONDS), 1_000)
        cost += f" The model answered about {float(f'{speed:.1g}'):,.0f} rows a second."
    return [
        f"title = {toml_value(printable(f'Audit of {about}'))}",
        *comment_lines("The probability that any of the answers is wrong; it is divided over the properties."),
        "delta = 0.05",
        *comment_lines("Makes the audit repeatable."),
        "seed = 1",
        *comment_lines(cost),
        f"budget = {people:_}",
    ]


def _model(decision: Decision, answers: ModelAnswers, files: Files) -> list[str]:
    classes = ", ".join(str(value) for value in decision.values[:8])
    kind = f"Its answers are {classes}" if decision.values else "Its answers are numbers"
    also = ", with a score from 0 to 1" if answers.probability else ""
    lines = [
        *comment_lines(f"Found: {describe(answers.model)}."),
        *comment_lines(f"{kind}{also}. The favourable one is taken to be {decision.event}: {decision.why}."),
        "[model]",
        f"load = {toml_value(files.model)}",
    ]
    if answers.features is not None:
        lines += comment_lines(
            "The columns that it is given, in order. Where you did not say so, these were tried and it answered."
        )
        lines.append(f"features = {toml_value(answers.features)}")
    if answers.random:
        lines += [*comment_lines("It answered the same rows differently."), "random = true"]
    if files.options:
        lines.append(f"options = {toml_value(files.options)}")
    return lines


def _population(basis: Basis, files: Files) -> list[str]:
    if files.census:
        meaning = "The rows are the whole population; where they are a sample of it, say sample."
    else:
        meaning = (
            "The rows are taken for independent draws from the population, so that verdicts are about the population "
            "and not about the table. Where the table is the whole population, say census."
        )
    lines = comment_lines(meaning)
    if basis.answers is None:
        lines += comment_lines(f"The favourable answer is taken to be {basis.decision.event}: {basis.decision.why}.")
    lines += ["[population]", f"{'census' if files.census else 'sample'} = {toml_value(files.data)}"]
    if basis.long and not files.census:
        lines += comment_lines("It is read in its order, which must then be random: it is too long for memory.")
        lines.append('order = "file"')
    return lines


def _property(claim: Suggestion) -> list[str]:
    lines = comment_lines(claim.note)
    if claim.active:
        return [*lines, *claim.lines()]
    return [*lines, *comment_lines(f"Not active: {claim.doubt}."), *(f"# {line}" for line in claim.lines())]

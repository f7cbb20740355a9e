"""A draft as the text of an audit file, with the reason of every guess."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.audits.audit_file.drafting.suggestions import CHANGES, Seen, Suggestion
from isonomia.models.protocol import describe
from isonomia.toml import comment_lines, toml_value

__all__ = ["Files", "written_audit"]

_LISTED = 60
"""So many columns are listed in the comments at most."""
_SECONDS = 60
"""About so long a property may take by its budget, at the speed that was seen."""


@dataclass(frozen=True, slots=True)
class Files:
    """How an audit file names what it is about.

    Attributes
    ----------
    model, data
        As the file names them: paths relative to it.
    options
        What the model is opened with.
    census
        Whether the rows are everybody.
    pickled
        Whether running it needs ``--trust-pickle``.
    """

    model: str | None
    data: str
    options: Mapping[str, Any] | None = None
    census: bool = False
    pickled: bool = False


def written_audit(seen: Seen, suggestions: Sequence[Suggestion], files: Files, *, changes: bool) -> str:
    """The text of the file."""
    parts = [_head(seen, files), _settings(seen, files)]
    if files.model is not None:
        parts.append(_model(seen, files))
    parts.append(_population(seen, files))
    if changes:
        parts.append(["[interventions]", f'{CHANGES} = "{CHANGES}.toml"'])
    parts.extend(_property(suggestion) for suggestion in suggestions)
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(seen: Seen, files: Files) -> list[str]:
    flag = " --trust-pickle" if files.pickled else ""
    told = [
        "A first draft of an audit. Everything here was guessed from names and values: read it, correct it, and delete "
        f"what you do not mean. What is commented out was too risky a guess. Run it with: isonomia run FILE{flag}",
        "",
        f"What the columns were taken for ({seen.table.rows:,} rows{' were looked at' if seen.long else ''}):",
    ]
    roles = [f"- {name}: {role}" for name, role in _roles(seen)]
    left = [f"- and {len(roles) - _LISTED:,} more"] if len(roles) > _LISTED else []
    return [line for text in (*told, *roles[:_LISTED], *left) for line in comment_lines(text) or ["#"]]


def _roles(seen: Seen) -> Iterator[tuple[str, str]]:
    kinds = {attribute.column: attribute.kind for attribute in seen.attributes}
    for name, column in seen.columns.items():
        told = []
        if seen.outcome is not None and name == seen.outcome.column.name:
            told.append(f"the outcome ({seen.outcome.why})")
        if name == seen.decided:
            told.append("the answers that are audited")
        if name in kinds:
            told.append(f"protected: {kinds[name]}")
        if column.identifier:
            told.append("tells people apart, and is no group")
        if seen.asked is not None and seen.asked.reads is not None:
            told.append("read by the model" if name in seen.asked.reads else "not read by the model")
        yield name, "; ".join([*told, column.words()])


def _settings(seen: Seen, files: Files) -> list[str]:
    about = files.model if files.model is not None else f"{seen.decided} in {files.data}"
    return [
        f"title = {toml_value(f'Audit of {_printable(about)}')}",
        *comment_lines("The probability that any of the answers is wrong; it is divided over the properties."),
        "delta = 0.05",
        *comment_lines("Makes the audit repeatable."),
        "seed = 1",
        *_budget(seen),
    ]


def _budget(seen: Seen) -> list[str]:
    people, told = 1_000_000, "The most people, cases or points that each property may cost."
    if seen.asked is not None:
        fits = seen.asked.speed * _SECONDS
        people = next((size for size in (1_000_000, 100_000, 10_000) if size <= fits), 1_000)
        told += f" The model answered about {float(f'{seen.asked.speed:.1g}'):,.0f} rows a second."
    return [*comment_lines(told), f"budget = {people:_}"]


def _model(seen: Seen, files: Files) -> list[str]:
    asked = seen.asked
    assert asked is not None
    told = [f"Found: {describe(asked.model)}.", _answers(seen)]
    lines = [line for text in told for line in comment_lines(text)]
    lines += ["[model]", f"load = {toml_value(files.model)}"]
    if asked.features is not None:
        lines += comment_lines(
            "The columns that it is given, in order. Where you did not say so, these were tried and it answered."
        )
        lines.append(f"features = {toml_value(list(asked.features))}")
    if asked.random:
        lines += [*comment_lines("It answered the same rows differently."), "random = true"]
    if files.options:
        lines.append(f"options = {toml_value(dict(files.options))}")
    return lines


def _answers(seen: Seen) -> str:
    decision, asked = seen.decision, seen.asked
    classes = ", ".join(str(value) for value in decision.values[:8])
    kind = f"Its answers are {classes}" if decision.values else "Its answers are numbers"
    also = ", with a score from 0 to 1" if asked is not None and asked.probability else ""
    return f"{kind}{also}. The favourable one is taken to be {decision.event}: {decision.why}."


def _population(seen: Seen, files: Files) -> list[str]:
    if files.census:
        told = "The rows are everybody whom it is about; where they are a sample of more people, say sample."
    else:
        told = (
            "The rows are taken for independent draws from the people whom it is about, so that verdicts are about "
            "these people and not about the table. Where the table is everybody, say census."
        )
    lines = comment_lines(told)
    if files.model is None:
        lines += comment_lines(f"The favourable answer is taken to be {seen.decision.event}: {seen.decision.why}.")
    lines += ["[population]", f"{'census' if files.census else 'sample'} = {toml_value(files.data)}"]
    if seen.long and not files.census:
        lines += [*comment_lines("It is read in its order, which must then be random: it is too long to be held."),
                  "shuffle = false"]  # fmt: skip
    return lines


def _property(suggestion: Suggestion) -> list[str]:
    lines = comment_lines(suggestion.note)
    if suggestion.active:
        return [*lines, *suggestion.lines()]
    return [
        *lines,
        *comment_lines(f"Not active: {suggestion.doubt}."),
        *(f"# {line}" for line in suggestion.lines()),
    ]


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)

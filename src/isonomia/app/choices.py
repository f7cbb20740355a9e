"""What a visitor can choose: columns, and requirements in plain words, from which an audit file is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import urlencode

from isonomia.audits.audit_file.drafting.answers import favourable_of
from isonomia.audits.audit_file.drafting.roles import (
    attributes_of,
    likely_decision,
    likely_outcome,
    writable_profiles,
)
from isonomia.errors import UsageError
from isonomia.populations.files import rows_at
from isonomia.populations.profile import DECISIONS, ColumnProfile, has_word
from isonomia.populations.table import Table
from isonomia.spec.text import name_text, value_text
from isonomia.toml import toml_value
from isonomia.wording import on_one_line

MAX_VALUES = 30
"""A column with more values than this is no choice for groups or decisions: a page cannot list them."""

PROFILED = 100_000
"""The rows of a long table from which its columns are summarized; the check itself uses all rows."""


@dataclass(frozen=True, slots=True)
class TableChoice:
    """What was chosen on the page, and as its address has it.

    Attributes
    ----------
    data
        The name of a file in the folder.
    decision, favourable
        The column of decisions, and the value that people want.
    by
        The columns whose values are groups.
    outcome, positive
        The column of what happened later and its good value; empty and ``None`` without one.
    census
        Whether the rows are all the people whom the audit is about, and not a sample of them.
    """

    data: str
    decision: str
    favourable: Any
    by: tuple[str, ...]
    outcome: str = ""
    positive: Any = None
    census: bool = False

    @classmethod
    def of(cls, fields: Mapping[str, Sequence[str]]) -> TableChoice:
        """Read a choice from the fields of an address or a form; refuse one that is not complete."""

        def one(name: str) -> str:
            return next(iter(fields.get(name, ())), "")

        if not one("decision"):
            raise UsageError("Choose the column that holds the decisions.", name="decision")
        by = tuple(name for name in dict.fromkeys(fields.get("by", ())) if name)
        if not by:
            raise UsageError("Choose at least one column with groups, such as sex or age group.", name="by")
        if one("decision") in by or (one("outcome") and one("outcome") in (*by, one("decision"))):
            raise UsageError("The decision, the groups and the outcome must be different columns.", name="by")
        return cls(
            one("data"),
            one("decision"),
            value_of(one("decision"), one("favourable"), "decision"),
            by,
            one("outcome"),
            value_of(one("outcome"), one("positive"), "outcome") if one("outcome") else None,
            one("rows") == "census",
        )

    @property
    def query(self) -> str:
        """The choice as the query of an address."""
        pairs = [("data", self.data), ("decision", self.decision), *(("by", name) for name in self.by)]
        pairs += [("favourable", value_field(self.decision, self.favourable))]
        if self.outcome:
            pairs += [("outcome", self.outcome), ("positive", value_field(self.outcome, self.positive))]
        return urlencode([*pairs, ("rows", "census" if self.census else "sample")])


def value_field(column: str, value: Any) -> str:
    """A value of a column as a field of a form has it: with the column, since each column has values of its own."""
    return json.dumps([column, value])


def value_of(column: str, field: str, what: str) -> Any:
    """The value in a field of a form, which must be one of this column."""
    try:
        named, value = json.loads(field)
    except (ValueError, TypeError):
        named, value = None, None
    if named != column:
        raise UsageError(f"Choose which value of {column} counts as the favorable {what}.", name=what)
    return value


@dataclass(frozen=True, slots=True)
class ColumnSuggestion:
    """What the columns of a table can be chosen for, and what their names and values suggest.

    Attributes
    ----------
    columns
        Each column that has few values, with these.
    decision, favourable, outcome, positive, by
        What is chosen at first; empty where nothing is suggested.
    """

    columns: Mapping[str, tuple[Any, ...]]
    decision: str
    favourable: Any
    outcome: str
    positive: Any
    by: tuple[str, ...]


def suggestion_for(path: Path) -> ColumnSuggestion:
    """What can be chosen in a table."""
    rows = rows_at(str(path))
    table = rows if isinstance(rows, Table) else next(iter(rows.batches(size=PROFILED)))
    profiles = writable_profiles(table)
    columns = {name: tuple(column.counts) for name, column in profiles.items() if _is_choice(column)}
    if not columns:
        raise UsageError(
            f"No column of {path.name} has between 2 and {MAX_VALUES} different values, so there are neither decisions "
            "nor groups to compare.",
            name=path.name,
        )
    few = {name: profiles[name] for name in columns}
    decision = likely_decision(few) or _decided_by_values(few)
    others = {name: column for name, column in few.items() if name != decision}
    outcome = likely_outcome(others, None, columns.get(decision, ())) or ""
    taken = [name for name in (decision, outcome) if name]
    by = tuple(attribute.column for attribute in attributes_of(few, (), taken) if attribute.values)
    return ColumnSuggestion(columns, decision, _wanted(columns, decision), outcome, _wanted(columns, outcome), by)


def _decided_by_values(columns: Mapping[str, ColumnProfile]) -> str:
    """The last column with a value that is the name of a decision, such as Selected or Rejected; else empty."""
    decided = [
        name
        for name, column in columns.items()
        if any(isinstance(value, str) and has_word(value, DECISIONS) for value in column.counts)
    ]
    return decided[-1] if decided else ""


def _is_choice(column: ColumnProfile) -> bool:
    return not column.identifier and 2 <= column.varieties <= MAX_VALUES and bool(column.counts)


def _wanted(columns: Mapping[str, tuple[Any, ...]], name: str) -> Any:
    return favourable_of(columns[name], [name])[0] if name else None


def largest_groups(path: Path, columns: Sequence[str]) -> dict[str, Any]:
    """The most frequent value of each column, with which the others are compared; of equally frequent ones one."""
    rows = rows_at(str(path))
    table = rows if isinstance(rows, Table) else next(iter(rows.batches(columns, size=PROFILED)))
    profiles = writable_profiles(table)
    return {name: max(profiles[name].counts, key=profiles[name].counts.__getitem__) for name in columns}


# -------------------------------------------------------------------------------------------------------- requirements


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement in plain words, and as a property.

    Attributes
    ----------
    key
        Its name in a form.
    words, note
        What it requires, with ``{limit}`` for the number that can be changed, and what to know about it.
    limit
        The number at first.
    formula
        The property, for one column of groups.
    needs_outcome
        Whether it is about outcomes, too.
    """

    key: str
    words: str
    note: str
    limit: float
    formula: str
    needs_outcome: bool = False


REQUIREMENTS = (
    Requirement(
        "ratio",
        "Every group gets the favorable decision at least {limit} times as often as the largest group.",
        "0.8 is the four-fifths rule of thumb of 29 CFR 1607.4 D, for selection in employment.",
        0.8,
        "for g in {column}: P[{decision} | {column} == g] / P[{decision} | {column} == {largest}] >= {limit}",
    ),
    Requirement(
        "gap",
        "The share with the favorable decision differs from that of the largest group by at most {limit}.",
        "0.1 means ten percentage points.",
        0.1,
        "for g in {column}: abs(P[{decision} | {column} == g] - P[{decision} | {column} == {largest}]) <= {limit}",
    ),
    Requirement(
        "opportunity",
        "Among people with the good outcome, every group gets the favorable decision at least {limit} times as often.",
        "Equal opportunity: it compares only people with the good outcome.",
        0.8,
        "for g in {column}: P[{decision} | {outcome} and {column} == g] / "
        "P[{decision} | {outcome} and {column} == {largest}] >= {limit}",
        needs_outcome=True,
    ),
    Requirement(
        "precision",
        "Among people with the favorable decision, the share with the good outcome differs by at most {limit}.",
        "Predictive parity: a favorable decision means the same in every group.",
        0.1,
        "for g in {column}: abs(P[{outcome} | {decision} and {column} == g] - "
        "P[{outcome} | {decision} and {column} == {largest}]) <= {limit}",
        needs_outcome=True,
    ),
)

RISKS = {"0.05": "1 in 20", "0.01": "1 in 100", "0.001": "1 in 1,000"}
"""The risks of a wrong answer that can be chosen."""

MARK = "# Written by isonomia open."
"""The beginning of an audit file that may be written again."""


def limits_of(fields: Mapping[str, Sequence[str]], choice: TableChoice) -> dict[str, float]:
    """The chosen requirements, each with its limit."""
    chosen = {}
    for each in REQUIREMENTS:
        if each.key not in fields.get("requirement", ()) or (each.needs_outcome and not choice.outcome):
            continue
        text = next(iter(fields.get(f"limit-{each.key}", ())), str(each.limit))
        try:
            limit = float(text)
        except ValueError:
            limit = -1.0
        if not 0.0 < limit <= 1.0:
            raise UsageError(f"Enter a number above 0 and up to 1 as the limit, not {text!r}.", name=each.key)
        chosen[each.key] = limit
    if not chosen:
        raise UsageError("Choose at least one requirement.", name="requirement")
    return chosen


def audit_text(
    choice: TableChoice, limits: Mapping[str, float], delta: str, largest: Mapping[str, Any], file: str
) -> str:
    """The audit file that states the chosen requirements for every column of groups."""
    if delta not in RISKS:
        raise UsageError(f"Choose one of these risks: {', '.join(RISKS)}.", name="delta")
    kind = "census" if choice.census else "sample"
    lines = [
        f"{MARK} Repeat it with: isonomia run {quote(on_one_line(file))}",
        f"title = {toml_value(f'{choice.decision} in {choice.data}')}",
        f"delta = {delta}  # the risk that any of the answers is wrong",
        "",
        "[population]",
        f"{kind} = {toml_value(choice.data)}",
    ]
    for each in REQUIREMENTS:
        for column in choice.by if each.key in limits else ():
            claim = each.formula.format(
                column=name_text(column),
                largest=value_text(largest[column]),
                decision=_event(choice.decision, choice.favourable),
                outcome=_event(choice.outcome, choice.positive),
                limit=f"{limits[each.key]:g}",
            )
            words = each.words.format(limit=f"{limits[each.key]:g}")
            lines += ["", "[[property]]", f"name = {toml_value(f'{each.key} by {column}')}"]
            lines += [f"why = {toml_value(words)}", f"check = {toml_value(claim)}"]
    return "\n".join(lines) + "\n"


def _event(column: str, value: Any) -> str:
    return f"{name_text(column)} == {value_text(value)}" if column else ""


def file_for(folder: Path, data: str) -> Path:
    """The audit file for a table, in its folder: never one that a person wrote."""
    stem = f"audit-{Path(data).stem}"
    for number in range(1, 100):
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}.toml"
        try:
            with path.open(encoding="utf-8") as stream:
                if stream.readline().startswith(MARK):
                    return path
        except FileNotFoundError:
            return path
        except (OSError, UnicodeDecodeError):
            continue
    raise UsageError(f"{folder} has a hundred files named {stem}-*.toml: move some of them away.", name=stem)

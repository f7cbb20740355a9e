"""A table by group: as text, on the terminal, and as Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import Any

from isonomia.records.display.view import ASSUMPTIONS, sent_to_model
from isonomia.records.group_table import MEASURES, Estimate, GroupRow, GroupTable
from isonomia.report.files import dumped, need_table, write_table
from isonomia.report.markdown import escaped
from isonomia.wording import brief, capitalised, chance, listed, number, value_text, visible

SECTIONS = {
    "Decisions": ("selection_rate", "impact_ratio"),
    "Errors": ("true_positive_rate", "false_positive_rate", "false_negative_rate"),
    "Outcomes": ("outcome_rate", "positive_predictive_value", "accuracy"),
    "Scores": ("scoring_rate", "scoring_ratio"),
    "Calibration": ("mean_score", "calibration"),
    "Numbers": ("mean_decision", "mean_outcome", "mean_error", "mean_absolute_error"),
}
"""The measures that are shown side by side."""


@dataclass(frozen=True, slots=True)
class TableSection:
    """Measures that are shown together, for every group; with ``people``, also how many people each group has."""

    title: str
    measures: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    people: bool = False

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the columns."""
        return ("group", *(("n", "share") if self.people else ()), *map(words_of, self.measures))

    def cells(self, row: GroupRow) -> tuple[str, ...]:
        """A row of the table: the group, its size and share, and each measure with its interval."""
        size = (f"{row.n:,}", f"{row.share:.1%}") if self.people else ()
        return (name_of(row, self.measures), *size, *(cell(row.estimates.get(name)) for name in self.measures))


def sections_of(table: GroupTable) -> tuple[TableSection, ...]:
    """The table in parts that fit a terminal; the first has the numbers of people."""
    chosen = {title: tuple(name for name in names if name in table.measures) for title, names in SECTIONS.items()}
    measured = [(title, names) for title, names in chosen.items() if names]
    return tuple(TableSection(*item, table.rows, people=item == measured[0]) for item in measured)


def words_of(measure_name: str) -> str:
    """The name of a measure as people write it."""
    return measure_name.replace("_", " ")


def cell(estimate: Estimate | None) -> str:
    """A number and its interval; a dash without a value."""
    return "-" if estimate is None else str(estimate)


def name_of(row: GroupRow, measures: Sequence[str]) -> str:
    """The group with its flags, as far as they matter for some measures."""
    flags = ["reference"] if set(row.reference_for) & set(measures) else []
    flags += ["small"] if row.small else []
    return f"{row.name} ({', '.join(flags)})" if flags else row.name


def interval_words(table: GroupTable) -> str:
    """What the intervals are worth."""
    if table.population == "census":
        return "The rows are the whole population: every number is exact."
    looks = {"once": "for one look", "any": "at every look"}
    when = looks.get(str(table.looks), f"for {table.looks} planned looks")
    when = f"for look {table.looks}" if " of " in str(table.looks) else when
    return (
        f"Each interval on its own misses the truth with a probability of at most {chance(table.delta)}, {when}; "
        "not adjusted for multiple comparisons."
    )


def facts(table: GroupTable) -> Iterator[tuple[str, str]]:
    """What was measured, by name."""
    yield "rows", f"{table.size:,}"
    if table.source:
        yield "data", table.source
    if table.model:
        yield "model", str(table.model["name"])
    if table.queries is not None:
        yield "queries", sent_to_model(table.queries)
    for name, column, value in (
        ("decision", table.decision, table.favourable),
        ("outcome", table.outcome, table.positive),
    ):
        if column is not None:
            kind = "favourable" if name == "decision" else "positive"
            yield name, column if value is None else f"{column}, {kind}: {value_text(value, 80)}"
    if table.score is not None:
        yield "score", table.score if table.median is None else f"{table.score}, median {number(table.median)}"
    references = [text for by in table.by if (text := _compared_with(table, by))]
    if references:
        yield "compared with", "; ".join(references)


def _compared_with(table: GroupTable, by: tuple[str, ...]) -> str:
    """The group that others are compared with; where there are two such groups, with the ratio of each."""
    rows = [row for row in table[by] if row.reference]
    names = [row.name if len(rows) == 1 else f"{row.name} ({listed(map(words_of, row.reference_for))})" for row in rows]
    return f"{' × '.join(by)}: {', '.join(names)}" if names else ""


# ------------------------------------------------------------------------------------------------------------ terminal


def show_table(table: GroupTable, console: Any) -> None:
    """Print the table: the parts one below the other, then what a reader should know."""
    from rich.text import Text

    for section in sections_of(table):
        console.print(Text(section.title, style="bold"))
        for index, measures in enumerate(_side_by_side(section, console.width)):
            if index:
                console.print()
            console.print(
                _grid(replace(section, measures=measures, people=section.people and not index), console.width)
            )
        console.print()
    for line in _notes(table):
        console.print(Text(line))


def _notes(table: GroupTable) -> Iterator[str]:
    yield from _counted(table)
    if table.queries is not None:
        yield f"{sent_to_model(table.queries)}."
    yield interval_words(table)
    ratios = {"impact_ratio", "scoring_ratio"} & set(table.measures)
    if ratios and any(row.reference for row in table.rows):
        yield "A ratio compares a group's rate with that of the reference group."
    if "calibration" in table.measures:
        yield f"Calibration is {MEASURES['calibration']}."
    yield from (f"assumes that {item}" for item in table.assumptions)
    if table.assumptions:
        yield ASSUMPTIONS
    yield from (f"note: {remark}" for remark in table.remarks)


def _counted(table: GroupTable) -> Iterator[str]:
    """Which decision counts as favourable, and which outcome as positive."""
    pairs = (("favourable", table.decision, table.favourable), ("positive", table.outcome, table.positive))
    counted = [f"as {word}: {column} = {brief(value)}" for word, column, value in pairs if value is not None]
    if counted:
        yield f"Counted {', '.join(counted)}."


NAMES = 12
"""The least width for the names of groups, in columns of the terminal."""


def _side_by_side(section: TableSection, width: int) -> Iterator[tuple[str, ...]]:
    """The measures, split into as many tables as needed so that no word and no number is broken."""
    words = [word for row in section.rows for word in name_of(row, section.measures).split()]
    room = width - 1 - min(max(len(INDENT) + max(map(len, words)), NAMES), width // 2)
    left, chosen = room - _people_width(section), list[str]()
    for name in section.measures:
        needed = _width(section, name) + 1
        if chosen and needed > left:
            yield tuple(chosen)
            left, chosen = room, []
        left -= needed
        chosen.append(name)
    yield tuple(chosen)


INDENT = "  "


def _grid(section: TableSection, width: int) -> Any:
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, 1, 0, 0), show_edge=False)
    others = _people_width(section) + sum(_width(section, name) + 1 for name in section.measures)
    names = max(width - others - 1, NAMES)
    grid.add_column("group", overflow="fold", min_width=8)
    for heading in ("n", "share") if section.people else ():
        grid.add_column(heading, justify="right", no_wrap=True)
    for name in section.measures:
        heading = "\n".join(wrap(words_of(name), _width(section, name)))
        grid.add_column(heading, overflow="fold", no_wrap=width >= NAMES + others)
    previous: tuple[str, ...] = ()
    for row in section.rows:
        if row.by != previous:
            previous = row.by
            grid.add_row(Text(f"by {', '.join(row.by)}", style="dim"))
        name, *cells = section.cells(row)
        grid.add_row(*map(Text, (_hanging(visible(name), names, INDENT if row.by else ""), *cells)))
    return grid


def _hanging(name: str, width: int, indent: str) -> str:
    """A name on as many lines as it needs, with a hanging indent."""
    lines = wrap(name, width, initial_indent=indent, subsequent_indent=indent * 2, break_on_hyphens=False)
    return "\n".join(lines) or name


def _people_width(section: TableSection) -> int:
    """The width of the columns with the number of people and their share."""
    if not section.people:
        return 0
    return max(len(f"{row.n:,}") for row in section.rows) + len(" 100.0% ")


def _width(section: TableSection, name: str) -> int:
    """The width of a column: its numbers stay whole, and its heading may break between words."""
    return max(*map(len, words_of(name).split()), *(len(cell(row.estimates.get(name))) for row in section.rows))


def as_text(table: GroupTable) -> str:
    """The table as plain text."""
    import rich.console

    page = StringIO()
    show_table(table, rich.console.Console(file=page, width=110, no_color=True, highlight=False, force_terminal=False))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


# --------------------------------------------------------------------------------------------------------------- files


def as_markdown(table: GroupTable) -> str:
    """The table in Markdown: one table for each part."""
    lines = ["## Measured by group", ""]
    lines += [f"- {name}: {escaped(value)}" for name, value in facts(table)]
    for section in sections_of(table):
        headings = ("by", *section.headings)
        lines += ["", f"### {section.title}", "", f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
        for row in section.rows:
            group, *cells = section.cells(row)
            lines.append(f"| {' | '.join([escaped(', '.join(row.by)), escaped(group), *cells])} |")
        lines += ["", *(f"- {words_of(name)}: {MEASURES[name]}" for name in section.measures)]
    return "\n".join([*lines, "", *(escaped(capitalised(line)) + "\n" for line in _notes(table))])


def as_json_text(table: GroupTable) -> str:
    """The whole table as JSON, for other programs."""
    return dumped(table.to_dict())


def write_columns(columns: Any, path: Path) -> None:
    """Write columns to a file, by its ending."""
    need_table(path, "the table")
    write_table(columns, path)

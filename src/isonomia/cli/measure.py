"""``isonomia measure``: a table by group and intersection, each number with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isonomia.cli.check import parse_ranges
from isonomia.cli.options import (
    FILES,
    GROUPS,
    MODEL_HELP,
    Budget,
    Census,
    Cluster,
    DecisionColumn,
    Favourable,
    Markdown,
    MaxCluster,
    ModelReading,
    NeededBy,
    NeededData,
    ScoreColumn,
    TableFile,
    Unknown,
    arguments_as_options,
    as_risk,
    with_model_reading,
)
from isonomia.cli.outputs import new_console, say_written
from isonomia.errors import UsageError


@with_model_reading
def measure(
    data: NeededData,
    by: NeededBy,
    decision: DecisionColumn = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the true outcome.", rich_help_panel=GROUPS)
    ] = None,
    score: ScoreColumn = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help=f"{MODEL_HELP}; none where the table has its decisions.")
    ] = None,
    favourable: Favourable = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="The positive outcome; 1 or true unless given. Without --favourable it is that, too.",
            rich_help_panel=GROUPS,
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="highest|VALUE",
            help="With which group others are compared: M, or 'M,White'. Repeatable.",
            rich_help_panel=GROUPS,
        ),
    ] = None,
    unknown: Unknown = None,
    small: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Groups with a smaller share of all are flagged.", rich_help_panel=GROUPS),
    ] = 0.02,
    census: Census = False,
    cluster: Cluster = None,
    max_cluster: MaxCluster = None,
    delta: Annotated[float, typer.Option(metavar="RISK", help="The risk of each interval.", parser=as_risk)] = 0.05,
    looks: Annotated[
        str,
        typer.Option(metavar="any|once|N", help="How many looks: any number, once, N, or which: 2 of 5 after 2000."),
    ] = "once",
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="COLUMN=LOW:HIGH", help="The range of a column of numbers, for its intervals."),
    ] = None,
    budget: Budget = None,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
    csv: TableFile = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page with charts.", rich_help_panel=FILES),
    ] = None,
    markdown: Markdown = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table as JSON.", rich_help_panel=FILES)
    ] = None,
) -> None:
    """Measure decisions, outcomes and scores by group: rates, impact ratios, errors, calibration.

    Every row is used. The numbers say what is; whether something must hold is for check, with a risk for all groups
    together.

    Example: isonomia measure --data people.csv --decision hired --by sex --by race --by sex,race --html measure.html
    """
    from isonomia.audits.measure.measure import measure as measure_table
    from isonomia.populations.finite import Census as Everybody
    from isonomia.populations.finite import Sample
    from isonomia.report.files import need_table, need_writable, write_file
    from isonomia.report.group_table import as_json_text, show_table, write_columns

    grouped = cluster is not None or max_cluster is not None
    if grouped and census:
        raise UsageError("expected --cluster with a sample only, without --census")
    if csv is not None:
        need_table(csv, "--csv")
    for path, option in ((html, "--html"), (markdown, "--markdown"), (json, "--json")):
        if path is not None:
            need_writable(path, option)
    with arguments_as_options("decision", "favourable", "positive", "reference"):
        table = measure_table(
            Everybody(data) if census else Sample(data, cluster=cluster, max_cluster=max_cluster) if grouped else data,
            reading.open(model),
            by=by,
            decision=decision,
            outcome=outcome,
            score=score,
            favourable=favourable,
            positive=positive,
            reference=reference or "highest",
            unknown=unknown or (),
            small=small,
            delta=delta,
            looks=int(looks) if looks.isdecimal() else looks,
            ranges=parse_ranges(ranges or []),
            executor=reading.executor,
            budget=budget,
        )
    if csv is not None:
        write_columns(table.columns(), csv)
    for path, option, written in ((html, "--html", table.to_html), (markdown, "--markdown", table.to_markdown)):
        if path is not None:
            write_file(written(), path, option)
    if json is not None:
        write_file(as_json_text(table), json, "--json")
    console = new_console()
    show_table(table, console)  # at the end: whoever reads may go away, and the files are there
    say_written(console, csv, html, markdown, json)

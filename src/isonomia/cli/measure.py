"""``isonomia measure``: a table by group and intersection, each number with its interval."""

from __future__ import annotations

from pathlib import Path

from isonomia.cli.check import parse_ranges
from isonomia.cli.options import ModelReading, arguments_as_options
from isonomia.cli.outputs import need_files, new_console, say_written
from isonomia.errors import UsageError


def measure(
    data: Path,
    by: list[str],
    decision: str | None = None,
    outcome: str | None = None,
    score: str | None = None,
    model: str | None = None,
    favourable: str | None = None,
    positive: str | None = None,
    reference: list[str] | None = None,
    unknown: list[str] | None = None,
    small: float = 0.02,
    census: bool = False,
    cluster: str | None = None,
    max_cluster: int | None = None,
    delta: float = 0.05,
    looks: str = "once",
    ranges: list[str] | None = None,
    budget: str | None = None,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
    csv: Path | None = None,
    html: Path | None = None,
    markdown: Path | None = None,
    json: Path | None = None,
) -> None:
    """Measure decisions, outcomes and scores by group: rates, impact ratios, errors, calibration.

    Every row is used. The intervals are not adjusted for multiple comparisons; isonomia check tests a claim, at one
    risk for all groups together.

    Example: isonomia measure --data people.csv --decision hired --by sex --by race --by sex,race --html measure.html
    """
    from isonomia.audits.measure.measure import measure as measure_table
    from isonomia.populations.finite import Census, Sample
    from isonomia.report.files import write_file
    from isonomia.report.group_table import as_json_text, show_table, write_columns

    grouped = cluster is not None or max_cluster is not None
    if grouped and census:
        raise UsageError("--cluster requires a sample: leave out --census")
    need_files(csv=csv, html=html, markdown=markdown, json=json)
    with arguments_as_options("decision", "favourable", "positive", "reference"):
        table = measure_table(
            Census(data) if census else Sample(data, cluster=cluster, max_cluster=max_cluster) if grouped else data,
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
            ranges=parse_ranges(ranges),
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

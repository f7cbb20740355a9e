"""Records rendered for people. Nothing is computed here that a record does not hold."""

from functools import partial

import isonomia.audits.registry  # noqa: F401  (registers what every verdict shows)
from isonomia.audits.measure.measure import measure
from isonomia.records.group_table import GroupTable, render_table_with
from isonomia.report.files import write_file
from isonomia.report.group_table import as_markdown, as_text, write_columns
from isonomia.report.live import LiveProgress
from isonomia.report.terminal import show

__all__ = ["LiveProgress", "measure", "show"]


def _page(table: GroupTable) -> str:
    from isonomia.report.page.group_table import page_of

    return page_of(table)


render_table_with(
    {
        "text": as_text,
        "markdown": as_markdown,
        "page": _page,
        "write page": partial(write_file, what="the page"),
        "write table": write_columns,
    }
)

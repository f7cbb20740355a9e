"""``iso.measure``: one table by group and intersection, from every row, with an interval for each number."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike, fspath
from typing import Any

from isonomia.audits.check import checked_delta, checked_looks, checked_ranges, checked_workers
from isonomia.audits.measure.clusters import KeptRows
from isonomia.audits.measure.counts import checked_share
from isonomia.audits.measure.limits import GroupLimits
from isonomia.audits.measure.one_pass import OnePass, columns_for
from isonomia.audits.measure.table import assumptions, remarks, rows_of
from isonomia.engine.budget import Budget
from isonomia.errors import UsageError
from isonomia.executors import pool_for
from isonomia.models.adapt import adapt
from isonomia.models.wrappers import spread
from isonomia.populations.files import Rows, rows_from
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import clusters_of
from isonomia.populations.table import check_known
from isonomia.records.group_table import GroupTable
from isonomia.version import __version__

SMALL = 0.02
"""Groups below this share of all are flagged: United States employment rules allow leaving them out."""

By = str | Sequence[str]


def measure(
    data: Any,
    model: Any = None,
    *,
    by: By | Sequence[By],
    decision: str | None = None,
    outcome: str | None = None,
    score: str | None = None,
    favourable: Any = None,
    positive: Any = None,
    reference: Any = "highest",
    unknown: Sequence[str] = (),
    small: float = SMALL,
    delta: float = 0.05,
    looks: str | int = "once",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    features: Sequence[str] | None = None,
    workers: int = 1,
    executor: Executor | str | None = None,
    budget: Budget | float | str | None = None,
) -> GroupTable:
    """Measure decisions, outcomes and scores by group and intersection, each number with its interval.

    Every row is used, in one pass; a folder of files, a large file or a lazy frame is read in batches.

    Parameters
    ----------
    data
        Any table, the path of a file or a folder, or a :class:`Sample`. With a :class:`Census` the rows are everybody:
        the numbers are exact, and intervals have no width.
    model
        The model that decides, if the table has no column of decisions: anything that :func:`isonomia.check` takes.
    by
        A column, such as ``"sex"``, or a list of columns and combinations: ``["sex", "race", ("sex", "race")]``. The
        text ``"sex,race"`` is a combination, too.
    decision
        The column of decisions; the model's ``prediction`` where there is a model. Numbers of more than two values are
        measured by their mean, unless one is named as favourable.
    outcome
        The column with what actually happened.
    score
        The column of scores; ``"score"`` for the model's own.
    favourable, positive
        The favourable value of the decision, and the value of the outcome that matches it. ``favourable`` defaults to
        ``positive``; without either it is 1 in a column of 0 and 1, and must be named for any other column.
    reference
        The group that others are compared with: ``"highest"``, the one with the highest rate; a value such as ``"M"``;
        a tuple of values for a combination; or a list for several.
    unknown
        Texts that mean that the group is not known, such as ``["?", "Unknown"]``; missing values always do.
    small
        Groups with a smaller share of all are flagged, and are never taken as the highest.
    delta
        Each interval misses the truth with at most this probability.
    looks
        ``"once"`` for a table whose size was fixed beforehand, a number of planned looks, or ``"any"`` for one that
        grows and is looked at at any time; intervals are then wider.
    ranges
        The lowest and the highest value that numbers can have, ``{"income": (0, 1e6)}``: without it a mean has no
        interval. Scores lie between 0 and 1 unless it says otherwise.
    features
        The columns that the model is given.
    workers, executor
        How many workers query the model in parallel, and where, as for :func:`isonomia.check`. The table does not
        depend on it.
    budget
        The most rows sent to the model, ``"5000 queries"``, the most rows at all, or the longest time, as for
        :func:`isonomia.check`. Every row is needed: a table with more rows is refused before the first is sent.

    Returns
    -------
    GroupTable
        Rows by group; ``print`` it, or use ``to_frame``, ``to_csv``, ``to_markdown`` or ``to_html``.

    Notes
    -----
    Guarantee: given independent rows, each interval by itself contains the true value with probability at least ``1 -
    delta``: Clopper-Pearson for rates, exact limits for ratios, bets for means. They do not hold all at once: among 20
    intervals at 0.05 one is expected to miss. To answer a question with one risk for all groups, use
    :func:`isonomia.check`.

    Examples
    --------
    >>> from isonomia import measure
    >>> table = measure({"sex": ["F", "M"] * 50, "hired": [1, 1, 0, 1] * 25}, by="sex", decision="hired")
    >>> [(row.name, row.n, row["selection_rate"].value, row["impact_ratio"].value) for row in table["sex"]]
    [('F', 50, 0.5, 0.5), ('M', 50, 1.0, 1.0)]
    """
    began = time.perf_counter()
    rows, kind = _rows(data)
    limits = GroupLimits(checked_delta(delta), checked_looks(looks, "auto"), kind == "census")
    small = checked_share("small", small)
    pool = pool_for(executor, checked_workers(workers))
    asked = None if model is None else spread(adapt(model, features), pool)
    work = OnePass(
        rows=rows,
        model=asked,
        columns=columns_for(rows, asked, decision, outcome, score),
        by=_groupings(by, rows.names),
        favourable=positive if favourable is None else favourable,
        positive=positive,
        unknown=frozenset({"", *_texts("unknown", unknown)}),
        ranges=checked_ranges(ranges or {}),
        kept=_kept(data),
    )
    with Budget.of(budget).for_all(asked, rows.rows, "measure") as meter:
        work.count()
    table_rows = rows_of(work, limits, reference, small)
    return GroupTable(
        rows=tuple(table_rows),
        by=tuple(each.by for each in work.groups[1:]),
        size=rows.rows,
        decision=work.columns.decision,
        favourable=None if work.decision is None else work.decision.counted,
        outcome=outcome,
        positive=None if work.outcome is None or work.is_number else work.outcome.counted,
        score=score,
        median=work.median,
        small=small,
        delta=limits.delta,
        looks=limits.looks,
        population=kind,
        source=fspath(data) if isinstance(data, str | PathLike) else "",
        model={} if asked is None else {"name": asked.name, "fingerprint": asked.fingerprint()},
        assumptions=assumptions(work, limits),
        remarks=tuple(remarks(work, table_rows, limits)),
        seconds=time.perf_counter() - began,
        queries=None if asked is None else meter.rows,
        version=__version__,
    )


# ----------------------------------------------------------------------------------------------------------- arguments


def _rows(data: Any) -> tuple[Rows, str]:
    """The rows, and whether they are a sample or everybody."""
    if isinstance(data, Sample | Census):
        return data.rows, data.kind
    if all(hasattr(data, name) for name in ("kind", "streams", "open", "values")):
        raise UsageError(
            f"expected a table, a path, Sample(table) or Census(table), but got a {data.kind}, which draws people "
            "without end: draw a table from it first"
        )
    return rows_from(data), "sample"


def _kept(data: Any) -> KeptRows | None:
    """What is kept of each row where rows belong together."""
    clusters = clusters_of(data)
    if clusters is None:
        return None
    if clusters.weigh != "rows":
        raise UsageError("measure weighs rows: expected Sample(..., weigh='rows'), but got weigh='clusters'")
    return KeptRows(data.clustering)


def _texts(name: str, values: Any) -> list[str]:
    listed = [values] if isinstance(values, str) else list(values)
    if not all(isinstance(value, str) for value in listed):
        raise UsageError(f"expected {name} as a list of texts, but got {values!r}")
    return [value.strip() for value in listed]


def _groupings(by: Any, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The attributes and combinations, each as a tuple of columns."""
    items = [by] if isinstance(by, str) else by
    if not isinstance(items, Sequence) or not items:
        raise UsageError(f"expected by as a column, such as 'sex', or a list of columns and combinations, not {by!r}")
    groupings = []
    for item in items:
        if isinstance(item, str):
            whole = item in names or "," not in item
            columns = [item] if whole else [part.strip() for part in item.split(",")]
        else:
            columns = list(item) if isinstance(item, Sequence) else [item]
        if not columns or not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
            raise UsageError(f"expected by as columns, such as 'sex' or ('sex', 'race'), but {item!r} is among them")
        check_known(columns, names)
        groupings.append(tuple(columns))
    return tuple(dict.fromkeys(groupings))

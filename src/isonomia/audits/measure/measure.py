"""``iso.measure``: one table by group and intersection, from every row, with an interval for each number.

From counts to the rows of the table: estimates with their intervals, the reference group, and the remarks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.arguments import checked_delta, checked_looks, checked_ranges, checked_workers
from isonomia.audits.measure.counts import BINS, MISSING, NO, YES, BinnedNumbers, GroupCounts, checked_share
from isonomia.audits.measure.limits import IntervalMethod, KeptRows, RatioEnds, cluster_intervals
from isonomia.audits.measure.one_pass import OnePass, columns_for
from isonomia.engine.parameters import Budget
from isonomia.errors import UsageError, nearest
from isonomia.executors import pool_for
from isonomia.models.adapt import adapt
from isonomia.models.session import open_session
from isonomia.populations.finite import Census, Sample, rows_from
from isonomia.populations.profile import signs_of_repeats
from isonomia.populations.protocol import facts_of, is_population, refuse_labels
from isonomia.populations.streaming import LongTable, Rows
from isonomia.populations.table import check_known
from isonomia.records.group_table import MEASURES, Estimate, GroupRow, GroupTable, ScoreBin, word_of
from isonomia.version import __version__
from isonomia.wording import first_few, listed, plural

Floats = NDArray[np.float64]

LOOKS_UNKNOWN = frozenset(
    {"?", "-", "n/a", "na", "nan", "none", "null", "unknown", "not known", "missing", "unspecified"}
)
"""Values that probably mean *unknown*: the table says so, and leaves the decision to the reader."""

HIGHEST = "highest"


def rows_of(work: OnePass, limits: IntervalMethod, reference: Any, small: float) -> list[GroupRow]:
    """A row for all people and for each group."""
    wanted = _References(reference)
    rows: list[GroupRow] = []
    for counts in work.groups:
        rows += _grouping(work, counts, limits, wanted, small)
    wanted.close([row.name for row in rows if row.by and not row.unknown])
    return rows


class _References:
    """The groups that were named as references, and which of them occurred."""

    def __init__(self, given: Any) -> None:
        several = isinstance(given, list)
        items = given if several else [given]
        self.named = [item for item in items if item != HIGHEST]
        self.met: set[int] = set()
        if any(item is None or isinstance(item, dict | set) for item in self.named):
            raise UsageError(
                f"expected reference as 'highest', a group such as 'M', or a list of groups, not {given!r}"
            )

    def among(self, groups: Sequence[tuple[Any, ...]]) -> int | None:
        """The position of the named group among these; ``None`` where none is."""
        result = None
        for number, item in enumerate(self.named):
            for index, values in enumerate(groups):
                if None not in values and _same(values, item):
                    self.met.add(number)
                    result = index
        return result

    def close(self, names: Sequence[str]) -> None:
        """Refuse a group that does not occur."""
        for number, item in enumerate(self.named):
            if number not in self.met:
                shown = ", ".join(map(str, item)) if isinstance(item, tuple) else str(item)
                raise UsageError(
                    f"there is no group {shown!r} to compare with; there are {first_few(list(names), 20)}."
                    f"{nearest(shown, names)} A combination is written with a comma, such as 'F,Black'",
                    name="reference",
                )


def _same(values: tuple[Any, ...], item: Any) -> bool:
    """Whether a group is the one that is named: by its values, or as text, as on the command line."""
    if isinstance(item, tuple):
        return values == item
    if len(values) == 1 and values[0] == item:
        return True
    if not isinstance(item, str):
        return False
    words = [word_of(value) for value in values]
    return item == ",".join(words) or [part.strip() for part in item.split(",")] == words


# ---------------------------------------------------------------------------------------------------------- a grouping


def _grouping(
    work: OnePass, counts: GroupCounts, limits: IntervalMethod, references: _References, small: float
) -> list[GroupRow]:
    """The rows of one attribute or combination."""
    values = [
        tuple(work.attributes.value(name, code) for name, code in zip(counts.by, codes, strict=True))
        for codes in counts.groups
    ]
    people = counts.cells.sum(axis=(1, 2))
    shares = people / max(work.rows.rows, 1)
    order = _order(work, counts.by, values)
    shown = [index for index in order if people[index] or not counts.by]
    able = [index for index in shown if None not in values[index]] if counts.by else []
    large = [index for index in able if shares[index] >= small] or able
    reference = references.among(values) if counts.by else None
    # Where rows belong together these intervals are replaced, so the quickest ones do.
    replaced = limits if work.kept is None else replace(limits, looks="any")
    estimates = _estimates(work, counts, replaced)
    references_of = _add_ratios(work, counts, replaced, estimates, (able, large, reference))
    if work.kept is not None:
        cluster_intervals(
            work.kept,
            counts,
            limits,
            estimates,
            lambda cells: _shares(work, cells),
            {name: work.ends(name) for name in (*counts.numbers, "calibration")},
            (able, large, reference),
        )
    return [
        GroupRow(
            by=counts.by,
            values=values[index],
            n=int(people[index]),
            share=float(shares[index]),
            estimates={name: estimates[index][name] for name in MEASURES if name in estimates[index]},
            counts=_counts(work, counts.cells[index]),
            missing=_missing(work, counts, index, int(people[index])),
            small=bool(counts.by and None not in values[index] and shares[index] < small),
            reference_for=tuple(name for name, chosen in references_of.items() if chosen == index),
            reliability=() if work.kept is not None else _reliability(work, counts, limits, index),
        )
        for index in shown
    ]


def _order(work: OnePass, by: Sequence[str], values: Sequence[tuple[Any, ...]]) -> list[int]:
    """The groups as people read them: in the order declared for their values, or ascending; the unknown one last."""
    declared = {name: {value: index for index, value in enumerate(work.rows.order(name))} for name in by}

    def key(index: int) -> tuple[Any, ...]:
        parts: list[Any] = [by != () and None in values[index]]
        for name, value in zip(by, values[index], strict=True):
            ranks = declared[name]
            rank = ranks.get(value, len(ranks))
            parts += [rank, isinstance(value, str), str(value) if value is None or isinstance(value, str) else value]
        return tuple(parts)

    known = [index for index in range(len(values)) if None not in values[index] or not by]
    return [*sorted(known, key=key), *(index for index in range(len(values)) if index not in set(known))]


def _counts(work: OnePass, cells: NDArray[np.int64]) -> dict[str, int]:
    if work.decision is None or work.is_number:
        return {}
    result = {"selected": int(cells[YES].sum())}
    if work.outcome is not None:
        result |= {
            "true_positives": int(cells[YES, YES]),
            "false_positives": int(cells[YES, NO]),
            "false_negatives": int(cells[NO, YES]),
            "true_negatives": int(cells[NO, NO]),
        }
    return result


def _missing(work: OnePass, counts: GroupCounts, index: int, people: int) -> dict[str, int]:
    """How many have no decision, outcome or score."""
    result: dict[str, int] = {}
    cells = counts.cells[index]
    for role, event, there in (
        ("decision", work.decision, cells[MISSING]),
        ("outcome", work.outcome, cells[:, MISSING]),
    ):
        if event is not None:
            numbers = counts.numbers.get(f"mean_{role}")
            result[role] = int(there.sum()) if numbers is None else people - int(numbers.n[index].sum())
    if work.columns.score is not None:
        result["score"] = people - int(counts.numbers["mean_score"].n[index].sum())
    return result


# ----------------------------------------------------------------------------------------------------------- estimates


def _estimates(work: OnePass, counts: GroupCounts, limits: IntervalMethod) -> list[dict[str, Estimate]]:
    """The measures of each group, except ratios."""
    result: list[dict[str, Estimate]] = [{} for _ in range(counts.size)]
    for name, (yes, n) in _shares(work, counts.cells).items():
        low, high = limits.rates(yes, n)
        for index in range(counts.size):
            result[index][name] = _rate(yes[index], n[index], low[index], high[index])
    for name, numbers in counts.numbers.items():
        for index in range(counts.size):
            result[index][name] = _mean(numbers.numbers(index), numbers.ends, limits)
    if work.calibrated:
        for index in range(counts.size):
            result[index]["calibration"] = _mean(counts.numbers["mean_score"].gaps(index), (-1.0, 1.0), limits)
    if work.median is not None:
        above, n = counts.above.astype(float), _scored(counts)
        low, high = limits.scoring(above, n)
        for index in range(counts.size):
            result[index]["scoring_rate"] = _rate(above[index, 0], n[index], low[index], high[index])
    return result


def _mean(numbers: BinnedNumbers, ends: tuple[float, float] | None, limits: IntervalMethod) -> Estimate:
    if numbers.n == 0:
        return Estimate(None, None, None, 0)
    low, high = limits.mean(numbers, ends) or (None, None)
    return Estimate(float(numbers.total / numbers.n), low, high, numbers.n)


def _rate(yes: float, n: float, low: float, high: float) -> Estimate:
    """A share; no statement about an empty group."""
    if n == 0:
        return Estimate(None, None, None, 0)
    return Estimate(float(yes) / float(n), float(low), float(high), int(n))


def _shares(work: OnePass, cells: NDArray[np.int64]) -> dict[str, tuple[Floats, Floats]]:
    """For each rate, its numerators and denominators by group."""
    result: dict[str, tuple[Any, Any]] = {}
    decided = work.decision is not None and not work.is_number
    if decided:
        result["selection_rate"] = cells[:, YES].sum(axis=1), cells[:, (YES, NO)].sum(axis=(1, 2))
    if work.outcome is not None and not work.is_number:
        result["outcome_rate"] = cells[:, :, YES].sum(axis=1), cells[:, :, (YES, NO)].sum(axis=(1, 2))
    if decided and work.outcome is not None:
        tp, fp, fn, tn = (cells[:, d, o] for d, o in ((YES, YES), (YES, NO), (NO, YES), (NO, NO)))
        result |= {
            "true_positive_rate": (tp, tp + fn),
            "false_positive_rate": (fp, fp + tn),
            "false_negative_rate": (fn, tp + fn),
            "positive_predictive_value": (tp, tp + fp),
            "accuracy": (tp + tn, tp + fp + fn + tn),
        }
    return {name: (yes.astype(float), n.astype(float)) for name, (yes, n) in result.items()}


def _scored(counts: GroupCounts) -> Floats:
    """How many of each group have a score."""
    return np.asarray(counts.numbers["mean_score"].n.sum(axis=(1, 2)), dtype=np.float64)


def _add_ratios(
    work: OnePass,
    counts: GroupCounts,
    limits: IntervalMethod,
    estimates: list[dict[str, Estimate]],
    who: tuple[Sequence[int], Sequence[int], int | None],
) -> dict[str, int | None]:
    """Add the ratios to the reference group; returns the position of that group for each ratio."""
    able, large, reference = who
    chosen: dict[str, int | None] = {}
    shares = _shares(work, counts.cells)
    if "selection_rate" in shares:
        yes, n = shares["selection_rate"]
        measured = n * np.isin(np.arange(len(n)), able)
        _put(estimates, "impact_ratio", limits.ratios(yes, measured, large, reference), able, n)
        chosen["impact_ratio"] = _highest(estimates, "selection_rate", large) if reference is None else reference
    if work.median is not None:
        n = _scored(counts)
        ratios = limits.scoring_ratios(counts.above.astype(float), n, large, reference)
        _put(estimates, "scoring_ratio", ratios, able, n)
        chosen["scoring_ratio"] = _highest(estimates, "scoring_rate", large) if reference is None else reference
    return chosen


def _put(
    estimates: list[dict[str, Estimate]], name: str, ratios: Sequence[RatioEnds], able: Sequence[int], n: Floats
) -> None:
    for index, row in enumerate(estimates):
        row[name] = Estimate(*(ratios[index] if index in able else (None, None, None)), int(n[index]))


def _highest(estimates: Sequence[Mapping[str, Estimate]], name: str, among: Sequence[int]) -> int | None:
    rates = {index: estimates[index][name].value for index in among}
    known = {index: rate for index, rate in rates.items() if rate is not None}
    return max(known, key=lambda index: known[index], default=None)


def _reliability(work: OnePass, counts: GroupCounts, limits: IntervalMethod, index: int) -> tuple[ScoreBin, ...]:
    if not work.calibrated:
        return ()
    n, yes, total = counts.numbers["mean_score"].chart(index).T
    if not n.any():
        return ()
    low, high = limits.rates(yes, n)
    return tuple(
        ScoreBin(
            bin_ / BINS,
            (bin_ + 1) / BINS,
            float(total[bin_] / n[bin_]) if n[bin_] else None,
            _rate(yes[bin_], n[bin_], low[bin_], high[bin_]),
        )
        for bin_ in range(BINS)
    )


# --------------------------------------------------------------------------------------------------------------- words


def assumptions(work: OnePass, limits: IntervalMethod) -> tuple[str, ...]:
    """What the intervals rest on."""
    rows = f"{work.rows.rows:,} rows"
    if limits.exact:
        return (f"the {rows} are the whole population",)
    stated = [f"the {rows} are independent draws from the population"]
    if work.kept is not None:
        stated = list(work.kept.clustering.facts.assumptions())
    match limits.looks:
        case "once":
            stated.append("their number was fixed beforehand, and there is one look at them")
        case "any":
            stated.append("any number of looks is allowed as more rows arrive")
        case int(number):
            stated.append(f"there are {plural(number, 'look')} at them, as planned")
        case report:
            stated.append(f"this is look {report} rows" if " after " in report else f"this is look {report}")
    for name in ("decision", "outcome"):
        numbers = work.groups[0].numbers.get(f"mean_{name}")
        if numbers is not None and numbers.ends is not None:
            stated.append(f"{name} lies between {numbers.ends[0]:g} and {numbers.ends[1]:g}")
    return tuple(stated)


def remarks(work: OnePass, rows: Sequence[GroupRow], limits: IntervalMethod) -> Iterator[str]:
    """What else a reader should know."""
    yield from () if isinstance(work.rows, LongTable) and work.rows.remote else work.rows.remarks
    if work.kept is None and not limits.exact:
        yield from signs_of_repeats(work.rows)
    if work.kept is not None and work.median is not None:
        yield "scoring rates and score bins have no intervals where rows belong together"
    everybody = rows[0]
    for name, number in everybody.missing.items():
        if number:
            yield f"{plural(number, 'row')} without {name}: counted in n, but not in measures that need it"
    for counts in work.groups[1:]:
        number = int(counts.cells[0].sum())
        if number:
            group = ",".join(counts.by)
            yield f"{plural(number, 'person', 'people')} with unknown {group} are shown separately and not compared"
    for name in work.attributes.names:
        doubtful = [value for value in work.attributes.known[name] if str(value).strip().lower() in LOOKS_UNKNOWN]
        blank = [value for value in work.attributes.known[name] if isinstance(value, str) and value != value.strip()]
        if blank:
            yield (
                f"{name} has values with blanks around them, such as {blank[0]!r}: write the value with its blanks, "
                "or remove them from the data"
            )
        if doubtful:
            yield f"{name} has the value {doubtful[0]!r}: count it as unknown with unknown=[{doubtful[0]!r}]"
    for by in work.by:
        small = [row.name for row in rows if row.small and row.by == by]
        if small:
            named = "; ".join(small[:8]) + (f" and {len(small) - 8} more" if len(small) > 8 else "")
            yield f"groups by {' and '.join(by)} that are too small to be the reference: {named}"
    open_means = [name for name, counts in work.groups[0].numbers.items() if counts.ends is None and not limits.exact]
    if open_means:
        yield (
            f"{first_few([name.replace('_', ' ') for name in open_means])} without intervals: say between which values "
            "the numbers lie with ranges="
        )
    if work.columns.score is not None and not work.probable:
        yield "scores outside 0 to 1 are not probabilities: calibration is not measured"
    if work.sent_blindly:
        withheld = [name for name in work.rows.names if name not in work.sent]
        without = f", and not {listed(withheld)}, which is measured" if withheld else ""
        yield (
            f"the model does not say what it reads: it was given {first_few(work.sent, 12)}{without}. Name the columns "
            "that it takes if it should be given others: features=[...], or --features COLUMN,... at the command line"
        )


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
        Any table, the path of a file or a folder, or a :class:`Sample`. The rows of a :class:`Census` are the whole
        population: the numbers are exact, and intervals have no width.
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
        Values that mean an unknown group, such as ``["?", "Unknown"]``; missing values always do.
    small
        Groups with a smaller share of all are flagged, and are never the reference group by default.
    delta
        Each interval misses the truth with at most this probability.
    looks
        ``"once"`` for a table whose size was fixed beforehand, a number of planned looks, or ``"any"`` for one
        that grows and is checked at any time; intervals are then wider.
    ranges
        The lowest and the highest value that numbers can have, ``{"income": (0, 1e6)}``: without it a mean has no
        interval. Scores lie between 0 and 1 unless it says otherwise.
    features
        The columns that the model gets.
    workers, executor
        How many workers query the model in parallel, and where, as for :func:`isonomia.check`. The table does not
        depend on it.
    budget
        The maximum number of rows sent to the model, ``"5000 queries"``, or of rows in all, or the longest time, as for
        :func:`isonomia.check`. Every row is needed: a table with more rows is refused before the first is sent.

    Returns
    -------
    GroupTable
        Rows by group; ``print`` it, or use ``to_frame``, ``to_csv``, ``to_markdown`` or ``to_html``.

    Notes
    -----
    Guarantee: given independent rows, each interval on its own contains the true value with probability at least ``1 -
    delta``: Clopper-Pearson for rates, exact limits for ratios, bets for means. They are not adjusted for multiple
    comparisons: among 20 intervals at 0.05 one is expected to miss. To answer a question with one risk for all groups,
    use :func:`isonomia.check`.

    Examples
    --------
    >>> from isonomia import measure
    >>> table = measure({"sex": ["F", "M"] * 50, "hired": [1, 1, 0, 1] * 25}, by="sex", decision="hired")
    >>> [(row.name, row.n, row["selection_rate"].value, row["impact_ratio"].value) for row in table["sex"]]
    [('F', 50, 0.5, 0.5), ('M', 50, 1.0, 1.0)]
    """
    began = time.perf_counter()
    rows, kind = _rows(data)
    limits = IntervalMethod(checked_delta(delta), checked_looks(looks, "auto"), kind == "census")
    small = checked_share("small", small)
    pool = pool_for(executor, checked_workers(workers))
    session = None if model is None else open_session(adapt(model, features), pool=pool, watched=False)
    work = OnePass(
        rows=rows,
        model=session,
        columns=columns_for(rows, session, decision, outcome, score),
        by=_groupings(by, rows.names),
        favourable=positive if favourable is None else favourable,
        positive=positive,
        unknown=frozenset({"", *_texts("unknown", unknown)}),
        ranges=checked_ranges(ranges or {}),
        kept=_kept(data),
    )
    with Budget.of(budget).for_all(session, rows.rows, "measure") as meter:
        work.count(limits)
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
        model={} if session is None else {"name": session.name, "fingerprint": session.fingerprint()},
        assumptions=assumptions(work, limits),
        remarks=tuple(remarks(work, table_rows, limits)),
        seconds=time.perf_counter() - began,
        queries=None if session is None else meter.rows,
        version=__version__,
    )


# ----------------------------------------------------------------------------------------------------------- arguments


def _rows(data: Any) -> tuple[Rows, str]:
    """The rows, and whether they are a sample or a census."""
    if isinstance(data, Sample | Census):
        return data.rows, data.kind
    if is_population(data):
        raise UsageError(
            f"expected a table, a path, Sample(table) or Census(table), but got a {data.kind}, which draws an "
            "unlimited number of people: draw a table from it first"
        )
    return rows_from(data), "sample"


def _kept(data: Any) -> KeptRows | None:
    """What is kept of each row where rows belong together."""
    refuse_labels(data, "a table by group")
    clusters = facts_of(data).clusters
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

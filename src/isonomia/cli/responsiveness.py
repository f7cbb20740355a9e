"""``isonomia responsiveness``: what share of the changes open to each person reaches a target prediction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from isonomia.cli.options import ModelReading
from isonomia.cli.outputs import conclude, need_files, new_console, read_interventions, write_all_violations
from isonomia.errors import UsageError, nearest
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.interventions import Interventions
    from isonomia.populations.table import Table
    from isonomia.records.verdict import Verdict
    from isonomia.spec.responsiveness import Responsiveness


def responsiveness(
    data: Path,
    model: str,
    interventions: Path,
    delta: float = 0.05,
    budget: str | None = None,
    seed: int | None = None,
    explain: bool = False,
    quiet: bool = False,
    target: list[str] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    average: bool = False,
    failing_at_most: float | None = None,
    skip_invalid: bool = False,
    test: str | None = None,
    within: float | None = None,
    limit: str | None = None,
    direction: str | None = None,
    who: str | None = None,
    by: list[str] | None = None,
    person: list[int] | None = None,
    only: list[str] | None = None,
    control: str = "family",
    draws: int | None = None,
    most_draws: int = 10_000,
    reading: ModelReading = ModelReading(),  # noqa: B008  (frozen)
    points: Path | None = None,
    id_column: str | None = None,
    people: Path | None = None,
    violations: Path | None = None,
    json: Path | None = None,
) -> None:
    """Check what share of the points that people can reach has the desired prediction.

    Example: isonomia responsiveness --model credit:model --data people.csv --interventions changes.toml --target 1
    --at-least 0.1 --who "prediction == 0" --by sex
    """
    from isonomia.populations import Census

    need_files(points=points, people=people, violations=violations, json=json)
    prop = claimed(
        test or "",
        read_interventions(interventions),
        {
            "target": target,
            "at_least": at_least,
            "at_most": at_most,
            "within": within,
            "limit": limit,
            "direction": direction,
        },
        **_given(who=who, by=by, rows=person, only=only, draws=draws, most_draws=most_draws, control=control),
        **_given(average=average or None, failing_at_most=failing_at_most, skip_invalid=skip_invalid or None),
    )
    population = Census(data)
    ids = None if id_column is None else _ids(population.table, id_column, points, people)
    loaded = reading.open(model, quiet=quiet)
    options = {"delta": delta, "budget": budget, "seed": seed}
    verdict = reading.check(prop, loaded, population, quiet=quiet, explain=explain, **options)
    console = new_console()
    _export(verdict, points, people, ids, console)
    if violations is not None:
        write_all_violations([(verdict.name or "responsiveness", verdict.violations())], violations, console, "point")
    raise typer.Exit(conclude([verdict], console, json, always=quiet))


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value not in (None, [])}


def _ids(table: Table, column: str, points: Path | None, people: Path | None) -> tuple[str, list[Any]]:
    """The column that tells people apart, which must do so."""
    from isonomia.populations.table import plain_value

    if points is None and people is None:
        raise UsageError(f"--id {column} has no effect without --points FILE or --people FILE: leave it out")
    if column not in table.names:
        raise UsageError(f"--id: there is no column {column!r}.{nearest(column, table.names)}")
    taken = ("person", "row", "reaching", "looked at", "distance", "prediction", "answer", "share", "low", "high", "n")
    if column in (*taken, "exact"):
        raise UsageError(f"--id: the files have a column {column!r} already: rename the column of the data")
    values = [plain_value(value) for value in table.column(column)]
    twice, times = Counter(values).most_common(1)[0]
    if times > 1:
        raise UsageError(
            f"--id {column}: expected a different value for each person, but {twice!r} occurs {times:,} times"
        )
    return column, values


def _export(
    verdict: Verdict, points: Path | None, people: Path | None, ids: tuple[str, list[Any]] | None, console: Console
) -> None:
    from isonomia.audits.responsiveness.view import people_kinds
    from isonomia.report.files import write_table
    from isonomia.report.terminal import people_table, points_table

    if points is not None:
        columns = points_table(verdict, ids)
        write_table(columns, points)
        shown = len(set(columns["person"]))
        count = sum(away is not None for away in columns["distance"])
        message = f"{points}: {plural(count, 'point')} of {plural(shown, 'person', 'people')}"
        bad = next(kind.key for kind in people_kinds(verdict.details) if kind.answer == "violated")
        breaking = verdict.details["counts"][bad]
        more = f", the clearest of {breaking:,}" if breaking > shown else ""
        if not shown:
            more = (
                ": no person was found to violate the claim. isonomia file --pack reg-b --csv FILE lists the nearest "
                "changes for each refused person"
            )
        console.print(message + more, soft_wrap=True)
    if people is not None:
        columns = people_table(verdict, ids)
        write_table(columns, people)
        whom = plural(len(columns.get("row", [])), "person", "people")
        console.print(f"{people}: {whom}", soft_wrap=True)


# ----------------------------------------------------------------------------------------------------------- the claim

_CLAIMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "": (("target",), ("at_least", "at_most")),
    "preclusion": (("target",), ("at_least",)),
    "gaming": (("target",), ("at_most",)),
    "stability": ((), ("at_least", "within")),
    "affordability": (("limit",), ("at_least",)),
    "monotonicity": ((), ("at_least", "direction")),
}
"""The options of each claim: those that it needs, and the others."""
_SPEAKS_OF_OUTPUT = re.compile(r"\b(prediction|score)\b")


def claimed(test: str, interventions: Interventions, stated: Mapping[str, Any], **options: Any) -> Responsiveness:
    """The property of ``--test`` and of the options that state the claim; several targets are a set of classes."""
    from isonomia.spec import responsiveness

    if test not in _CLAIMS:
        tests = [name for name in _CLAIMS if name]
        raise UsageError(f"expected --test as one of {', '.join(tests)}, but got {test!r}.{nearest(test, tests)}")
    (needed, others), given = _CLAIMS[test], _given(**stated)
    claim = f"--test {test}" if test else "a claim without --test"
    for name in needed:
        if name not in given:
            raise UsageError(f"{claim} requires {_option(name)}, {_EXAMPLES[name]}")
    for name in given:
        if name not in needed + others:
            takes = ", ".join(map(_option, needed + others))
            raise UsageError(f"{_option(name)} does not apply to {claim}, which takes {takes}")
    if not test and ("at_least" in given) == ("at_most" in given):
        count = "both" if "at_least" in given else "neither"
        raise UsageError(f"expected --at-least 0.1 or --at-most 0.05, but got {count}; --test names ready-made claims")
    if "target" in given:
        given["target"] = parse_target(given["target"])
    if "limit" in given:
        given["limit"] = _limit(given["limit"])
    if test == "preclusion" and "at_least" in given:
        given["below"] = given.pop("at_least")
    make = vars(responsiveness)[test or "Responsiveness"]
    prop: Responsiveness = make(interventions, **given, **options)
    return prop


_EXAMPLES = {
    "target": "the target prediction, such as --target 1 or --target 'prediction < own'",
    "limit": "the largest allowed prediction, such as --limit 500 or --limit budget for a column",
}


def parse_target(texts: Sequence[str]) -> Any:
    """Read a target: a class, several, an interval ``LOW:HIGH`` with either end perhaps left out, or a condition.

    A class that looks like a number is one; in quotation marks it is a text.
    """
    if len(texts) > 1:
        wrong = [text for text in texts if _SPEAKS_OF_OUTPUT.search(text) or _interval(text) is not None]
        if wrong:
            raise UsageError(f"expected several --target to be classes, but got {wrong[0]!r}: join conditions with or")
        return [_label(text) for text in texts]
    text = texts[0]
    if _SPEAKS_OF_OUTPUT.search(text):
        return text
    interval = _interval(text)
    return _label(text) if interval is None else interval


def _interval(text: str) -> tuple[float | None, float | None] | None:
    low, colon, high = (part.strip() for part in text.partition(":"))
    if not colon or not (low or high):
        return None
    ends = [_number(end) if end else None for end in (low, high)]
    return None if any(end and value is None for end, value in zip((low, high), ends, strict=True)) else (*ends,)  # type: ignore[return-value]


def _label(text: str) -> str | bool | int | float:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if not isfinite(value) else int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else value


def _limit(text: str) -> str | float:
    number = _number(text)
    return text if number is None else number


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"

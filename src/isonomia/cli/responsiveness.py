"""``isonomia responsiveness``: what share of the changes open to each person reaches a target prediction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    """Check what share of the points that people can reach has the prediction that they want.

    Example: isonomia responsiveness --model credit:model --data people.csv --interventions changes.toml --target 1
    --at-least 0.1 --who "prediction == 0" --by sex
    """
    from isonomia.audits.check import check
    from isonomia.populations import Census
    from isonomia.report import LiveProgress, show

    need_files(points=points, people=people, violations=violations, json=json)
    prop = ResponsivenessClaim(test, tuple(target or ()), at_least, at_most, within, limit, direction).property(
        read_interventions(interventions),
        **_options(who=who, by=by, rows=person, only=only, draws=draws, most_draws=most_draws, control=control),
    )
    population = Census(data)
    ids = None if id_column is None else _ids(population.table, id_column, points, people)
    loaded = reading.open(model, quiet=quiet)
    observer = None if quiet else LiveProgress(new_console(stderr=True))
    verdict = check(
        prop,
        loaded,
        population,
        delta=delta,
        budget=budget,
        seed=seed,
        random_model=reading.random_model,
        executor=reading.executor,
        observer=observer,
    )
    console = new_console()
    if not quiet:
        show(verdict, console, prop.explain() if explain else None)
    _export(verdict, points, people, ids, console)
    if violations is not None:
        write_all_violations([(verdict.name or "responsiveness", verdict.violations())], violations, console, "point")
    raise typer.Exit(conclude([verdict], console, json, always=quiet))


def _options(**given: Any) -> dict[str, Any]:
    """What was said besides the claim."""
    return {name: value for name, value in given.items() if value not in (None, [])}


def _ids(table: Table, column: str, points: Path | None, people: Path | None) -> tuple[str, list[Any]]:
    """The column that tells people apart, which must do so."""
    from isonomia.populations.table import plain_value

    if points is None and people is None:
        raise UsageError(f"--id {column} has no effect without --points FILE or --people FILE: leave it out")
    if column not in table.names:
        raise UsageError(f"--id: there is no column {column!r}.{nearest(column, table.names)}")
    taken = ("person", "row", "reaching", "looked at", "distance", "prediction", "answer", "share", "low", "high", "n")
    if column in (*taken, "exact"):
        raise UsageError(f"--id: the files have a column {column!r} of their own: rename the column of the data")
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
                ": nobody is known to violate the claim. isonomia file --pack reg-b --csv FILE lists the nearest "
                "changes of everybody who is refused"
            )
        console.print(message + more, markup=False, soft_wrap=True)
    if people is not None:
        columns = people_table(verdict, ids)
        write_table(columns, people)
        whom = plural(len(columns.get("row", [])), "person", "people")
        console.print(f"{people}: {whom}", markup=False, soft_wrap=True)


# ----------------------------------------------------------------------------------------------------------- the claim

_NEEDS = {"": ("target",), "preclusion": ("target",), "gaming": ("target",), "affordability": ("limit",)}
_TAKES = {
    "": ("at_least", "at_most"),
    "preclusion": ("at_least",),
    "gaming": ("at_most",),
    "stability": ("at_least", "within"),
    "affordability": ("at_least",),
    "monotonicity": ("at_least", "direction"),
}
_SPEAKS_OF_OUTPUT = re.compile(r"\b(prediction|score)\b")


@dataclass(frozen=True, slots=True)
class ResponsivenessClaim:
    """The options that state the claim; ``None`` and nothing for those that were not given.

    Several targets are a set of classes.
    """

    test: str | None
    target: tuple[str, ...]
    at_least: float | None
    at_most: float | None
    within: float | None
    limit: str | None
    direction: str | None

    def property(self, interventions: Interventions, **options: Any) -> Responsiveness:
        """The property that is claimed."""
        from isonomia.spec import responsiveness

        self._check()
        stated = asdict(self)
        given = {name: stated[name] for name in _TAKES[self.test or ""] if stated[name] is not None}
        match self.test:
            case "preclusion":
                below = {"below": given["at_least"]} if given else {}
                return responsiveness.preclusion(interventions, parse_target(self.target), **below, **options)
            case "gaming":
                return responsiveness.gaming(interventions, parse_target(self.target), **given, **options)
            case "stability":
                return responsiveness.stability(interventions, **given, **options)
            case "affordability":
                return responsiveness.affordability(interventions, _limit(self.limit or ""), **given, **options)
            case "monotonicity":
                return responsiveness.monotonicity(interventions, **given, **options)
            case _:
                return responsiveness.Responsiveness(interventions, parse_target(self.target), **given, **options)

    def _check(self) -> None:
        test, stated = self.test or "", asdict(self)
        if test not in _TAKES:
            tests = [name for name in _TAKES if name]
            raise UsageError(f"expected --test as one of {', '.join(tests)}, but got {test!r}.{nearest(test, tests)}")
        claim = f"--test {test}" if test else "a claim without --test"
        for name in _NEEDS.get(test, ()):
            if not stated[name]:
                raise UsageError(f"expected {_option(name)} for {claim}, {_EXAMPLES[name]}, but got none")
        allowed = {"test", *_NEEDS.get(test, ()), *_TAKES[test]}
        for name, value in stated.items():
            if name not in allowed and value not in (None, ()):
                options = ", ".join(map(_option, (*_NEEDS.get(test, ()), *_TAKES[test])))
                raise UsageError(f"{_option(name)} does not go with {claim}, which takes {options}: leave it out")
        if not test and (self.at_least is None) == (self.at_most is None):
            given = "neither" if self.at_least is None else "both"
            raise UsageError(
                "expected the share that is claimed, --at-least 0.1 or --at-most 0.05, one of the two, "
                f"but got {given}; --test names ready-made claims"
            )


_EXAMPLES = {
    "target": "the prediction that is wanted, such as --target 1 or --target 'prediction < own'",
    "limit": "the most that a prediction may be, such as --limit 500 or --limit budget for a column",
}


def parse_target(texts: Sequence[str]) -> Any:
    """Read a target: a class, several, an interval ``LOW:HIGH`` with either end perhaps left out, or a condition.

    A class that looks like a number is one; in quotation marks it is a text.
    """
    if len(texts) > 1:
        wrong = [text for text in texts if _SPEAKS_OF_OUTPUT.search(text) or _interval(text) is not None]
        if wrong:
            raise UsageError(f"expected several --target to be classes, but {wrong[0]!r} is none: join them with or")
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

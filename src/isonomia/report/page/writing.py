"""The page as a whole: from an audit to one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from isonomia.records.verdict import Verdict
from isonomia.records.visible import visible
from isonomia.report.counts import ORDER, UNFINISHED, counted
from isonomia.report.entries import Audit
from isonomia.report.files import write_file
from isonomia.report.page.drawings import short
from isonomia.report.page.limits import limits_for
from isonomia.report.page.meaning import odds
from isonomia.report.page.replaying import commands
from isonomia.report.page.script import as_data, bundle, own_script, policy, style
from isonomia.report.page.sections import Section, section_of
from isonomia.report.page.specs import chart_specs
from isonomia.version import __version__

__all__ = ["page", "write_page"]


@dataclass(frozen=True, slots=True)
class Tile:
    """How many properties had an answer, or had none.

    Attributes
    ----------
    answer
        The answer; ``failed`` or ``open`` for the properties without one.
    count, words
        How many, and how that is said.
    """

    answer: str
    count: int
    words: str


def write_page(audit: Audit, path: str | PathLike[str]) -> None:
    """Write the report of an audit as one HTML file that needs nothing else.

    Parameters
    ----------
    audit
        What to show.
    path
        The file; it is replaced if it is there.

    Raises
    ------
    UsageError
        Where the file cannot be written.
    """
    write_file(page(audit), Path(path), "the report")


def page(audit: Audit) -> str:
    """The report of an audit, as the text of one HTML file.

    It opens offline, runs no script but its own, and shows every property: those that are violated first, then those
    that are undecided, then those that hold.
    """
    template = _environment().get_template("page.html")
    limits = limits_for(len(audit.entries))
    ordered = sorted(audit.entries, key=lambda entry: ORDER.index(entry.verdict.answer))
    sections = [section_of(place, entry, limits) for place, entry in enumerate(ordered, start=1)]
    verdicts = [entry.verdict for entry in audit.entries]
    return str(
        template.render(
            audit=audit,
            title=short(audit.title, 200) or "Audit",
            sections=sections,
            tiles=_tiles(sections, audit),
            when=_day(audit.when),
            conclusion=counted(verdicts, audit.failures),
            together=_together(verdicts),
            commands=commands(audit),
            models=_names(verdicts),
            specs=chart_specs(),
            bundle=bundle(),
            script=own_script(),
            style=style(),
            policy=policy(bundle(), own_script()),
            version=__version__,
        )
    )


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isonomia.report.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
    )
    environment.filters["data"] = as_data
    return environment


def _shown(value: Any) -> Any:
    """Whatever the templates print, with nothing invisible in it; markup of our own as it is."""
    return value if hasattr(value, "__html__") else visible(str(value))


def _tiles(sections: Sequence[Section], audit: Audit) -> list[Tile]:
    """One for each answer, and one for those that have none, where there are such."""
    answers = [section.answer for section in sections]
    unfinished = sum(failure.kind == UNFINISHED for failure in audit.failures)
    without = [
        Tile("failed", len(audit.failures) - unfinished, "could not be checked"),
        Tile("open", unfinished, "not checked to the end"),
    ]
    words = {"violated": "violated", "undecided": "undecided", "holds": "hold"}
    if answers.count("holds") == 1:
        words["holds"] = "holds"
    return [tile for tile in without if tile.count] + [
        Tile(answer, answers.count(answer), words[answer]) for answer in ORDER
    ]


def _day(when: str | None) -> str | None:
    """A moment as people write it, such as ``15 November 2026, 17:55 UTC``; as it is where it is none."""
    if when is None:
        return None
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:
        return short(when, 40)
    zone = moment.strftime("%Z") if moment.tzinfo is not None else ""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M} {zone}".rstrip()


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""In English, as the page is, whatever the machine's language."""


def _together(verdicts: Sequence[Verdict]) -> str:
    """What can be said of all answers at once: the risks that were chosen beforehand add up, at worst."""
    chances = [verdict.delta for verdict in verdicts if not verdict.exact]
    if not chances:
        return "Every answer is exact: none depends on chance." if verdicts else ""
    if sum(chances) >= 1:
        return (
            "Each answer has its own risk of being wrong, which its section states; there is no risk for all at once."
        )
    return (
        f"Taken together, the chance that any answer on this page is wrong is at most {odds(sum(chances))}: the risks "
        "that were chosen beforehand, added up."
    )


def _names(verdicts: Sequence[Verdict]) -> list[str]:
    """The models that were audited, each once."""
    names = dict.fromkeys(short(str(verdict.model["name"]), 80) for verdict in verdicts if "name" in verdict.model)
    shown = list(names)[:5]
    return [*shown, f"{len(names) - 5:,} more"] if len(names) > 5 else shown

"""The page as a whole: from an audit to one HTML file, with a section of plain values for each property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

from markupsafe import Markup

from isonomia.records.display.html import gauge_picture
from isonomia.records.display.view import (
    SIGNS,
    TableBlock,
    cost,
    early,
    guarantee,
    interval,
    level,
    looks,
    queries,
    seed_note,
    stretch,
    telling,
    view_of,
    worst_group,
)
from isonomia.records.store import run_command, with_records
from isonomia.records.verdict import Expression, Verdict
from isonomia.report.entries import ORDER, UNFINISHED, AuditReport, Entry, summary_sentence
from isonomia.report.files import write_file
from isonomia.report.page.charts import ChartDrawing, compared_row, drawings_of, in_words, left_out, must_be
from isonomia.report.page.counterexamples import PageLimits, RecordComparison, cases_of, limits_for
from isonomia.report.page.labels import DIFFERENCE, RATIO, possible, printed, short, unit_of
from isonomia.report.page.vega import as_data, bundle, chart_specs, own_script, policy, style
from isonomia.version import __version__
from isonomia.wording import chance, excerpt, first_few, number, visible


def write_page(audit: AuditReport, path: str | PathLike[str]) -> None:
    """Write the report of an audit as one HTML file that needs nothing else.

    Parameters
    ----------
    audit
        What to show.
    path
        The file; an existing one is replaced.

    Raises
    ------
    UsageError
        Where the file cannot be written.
    """
    write_file(page(audit), Path(path), "the report")


def page(audit: AuditReport) -> str:
    """The report of an audit, as the text of one HTML file.

    It opens offline, runs no script but its own, and shows every property: those that are violated first, then those
    that are undecided, then those that hold.
    """
    limits = limits_for(len(audit.entries))
    ordered = sorted(audit.entries, key=lambda entry: ORDER.index(entry.verdict.answer))
    sections = [section_of(number, entry, limits) for number, entry in enumerate(ordered, start=1)]
    verdicts = [entry.verdict for entry in audit.entries]
    return rendered(
        "page.html",
        audit=audit,
        title=short(audit.title, 200) or "Audit",
        sections=sections,
        tiles=_tiles(sections, audit),
        when=_day(audit.when),
        conclusion=_aloud(sections, audit),
        together=_together(verdicts),
        drawings=summary_drawings(ordered, limits) if len(sections) > 1 else (),
        next_steps=_next_steps(sections, audit),
        methods=_methods(verdicts),
        commands=commands(audit),
        models=_names(verdicts),
        data=_data(verdicts),
    )


def rendered(template: str, **values: Any) -> str:
    """A page from its template, with the charts, scripts and styles that every page has."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("isonomia.report.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
    )
    templates.filters["data"] = as_data
    return templates.get_template(template).render(
        specs=chart_specs(),
        bundle=bundle(),
        script=own_script(),
        style=style(),
        policy=policy(bundle(), own_script()),
        version=__version__,
        **values,
    )


def _shown(value: Any) -> Any:
    """A value that a template prints, with invisible characters made visible; our own markup stays as it is."""
    return value if isinstance(value, Markup) else visible(str(value))


@dataclass(frozen=True, slots=True)
class SummaryTile:
    """How many properties had an answer; ``failed`` or ``open`` for those without one."""

    answer: str
    count: int
    words: str


def _tiles(sections: Sequence[PropertySection], audit: AuditReport) -> list[SummaryTile]:
    """One for each answer, and where some properties have none, one for each reason."""
    answers = [section.answer for section in sections]
    unfinished = sum(failure.kind == UNFINISHED for failure in audit.failures)
    without = [
        SummaryTile("failed", len(audit.failures) - unfinished, "could not be checked"),
        SummaryTile("open", unfinished, "not checked to the end"),
    ]
    words = {"violated": "violated", "undecided": "undecided", "holds": "hold"}
    if answers.count("holds") == 1:
        words["holds"] = "holds"
    return [tile for tile in without if tile.count] + [
        SummaryTile(answer, answers.count(answer), words[answer]) for answer in ORDER
    ]


def _day(when: str | None) -> str | None:
    """A time as people write it, such as ``15 November 2026, 17:55 UTC``; any other text stays as it is."""
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
    undecided = any(verdict.answer == "undecided" for verdict in verdicts)
    if not chances:
        return "Every answer is exact: none depends on chance." if verdicts else ""
    if sum(chances) >= 1:
        return "Each answer has its own risk of being wrong, which its section states; no joint risk is stated."
    return (
        f"Taken together, the chance that any answer on this page is wrong is at most {odds(sum(chances))}: the risks "
        "that were chosen beforehand, added up."
        + (" An undecided property makes no claim, so it cannot be wrong." if undecided else "")
    )


def _aloud(sections: Sequence[PropertySection], audit: AuditReport) -> str:
    """The whole audit in a sentence or two that can be read aloud: how many claims hold, and which do not."""
    counted = summary_sentence([entry.verdict for entry in audit.entries], audit.failures)
    sentences = []
    for answer, words in (("violated", "Violated"), ("undecided", "Not settled")):
        names = [section.name for section in sections if section.answer == answer]
        if names:
            sentences.append(f"{words}: {first_few(names, _ALOUD)}.")
    return " ".join([counted, *sentences])


_ALOUD = 3
"""How many names of properties fit in a sentence."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do now, and the sections that it is about, as anchors and names; ``more`` are not listed."""

    words: str
    links: tuple[tuple[str, str], ...] = ()
    more: int = 0


_LINKED = 12
"""The maximum number of properties that a step lists; the list of verdicts below it has them all."""


def _step(words: str, sections: Sequence[PropertySection]) -> list[NextStep]:
    links = tuple((section.anchor, section.name) for section in sections[:_LINKED])
    return [NextStep(words, links, len(sections) - len(links))] if sections else []


def _next_steps(sections: Sequence[PropertySection], audit: AuditReport) -> list[NextStep]:
    """What to do with the answers, the most urgent first."""
    violated = [section for section in sections if section.answer == "violated"]
    with_cases = [section for section in violated if section.cases]
    steps = [
        *_step("Investigate before release, starting from the failing cases:", with_cases),
        *_step("Investigate before release, starting from the groups and rates:", [s for s in violated if not s.cases]),
        *_step(
            "Undecided is not a pass. Get more data or a larger budget:",
            [section for section in sections if section.answer == "undecided"],
        ),
    ]
    if audit.failures:
        steps.append(NextStep("Fix the errors, and run the audit again:", (("failures", "without an answer"),)))
    if not steps and sections:
        steps.append(
            NextStep(
                "Keep the evidence, and run the audit again when the model or the data change:",
                (("repeat", "how to repeat it"),),
            )
        )
    return steps


def _methods(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Each method that was used, once, with what it does."""
    used = dict.fromkeys(verdict.method for verdict in verdicts)
    return [(method, METHODS.get(method, method)) for method in used]


def _data(verdicts: Sequence[Verdict]) -> list[str]:
    """The data that were audited, each once: how many rows, and the beginning of the fingerprint."""
    data = []
    for verdict in verdicts:
        size, kind = verdict.population.get("size"), verdict.population.get("kind", "population")
        rows = short(f"{kind} of {size:,} rows" if isinstance(size, int) else str(kind), 60)
        data.append(_marked(rows, verdict.population))
    return _first_few_once(data, 3)


def _names(verdicts: Sequence[Verdict]) -> list[str]:
    """The models that were audited, each once, with the beginning of the fingerprint."""
    named = [verdict.model for verdict in verdicts if "name" in verdict.model]
    return _first_few_once([_marked(short(str(model["name"]), 80), model) for model in named], 5)


def _marked(name: str, record: Mapping[str, Any]) -> str:
    """A name with the beginning of the fingerprint, if there is one."""
    mark = str(record.get("fingerprint") or "")[:12]
    return f"{name}, fingerprint {mark}" if mark else name


def _first_few_once(items: Sequence[str], limit: int) -> list[str]:
    once = list(dict.fromkeys(items))
    return [*once[:limit], f"{len(once) - limit:,} more"] if len(once) > limit else once


def commands(audit: AuditReport) -> tuple[tuple[str, str], ...]:
    """What each command does, and the command; empty for an audit that was not kept and has no file."""
    lines = []
    if audit.run is not None:
        run = quote(audit.run)

        def about(command: str) -> str:
            return with_records(command, audit.records)

        lines += [
            ("Show the record of this run again", about(f"isonomia show {run}")),
            ("Write this page again from the record", about(f"isonomia report {run}")),
            ("Hand over the evidence, as one sealed file", about(f"isonomia export {run} -o evidence.json")),
            ("Recompute every verdict from that file alone", "isonomia replay evidence.json"),
        ]
    if audit.file is not None:
        again = run_command(audit.file, audit.records)
        lines.append(("Run the audit again: the same seed, the same answers", again))
    return tuple(lines)


# ----------------------------------------------------------------------------------------------- all properties at once


def summary_drawings(entries: Sequence[Entry], limits: PageLimits) -> tuple[ChartDrawing, ...]:
    """What settles each property, side by side: one chart for rates and their differences, and one for ratios.

    Quantities in other units share no scale; the list of properties has them.
    """
    by_unit: dict[str, list[tuple[str, Expression, str]]] = {DIFFERENCE: [], RATIO: []}
    for entry in entries:
        item = telling(entry.verdict)
        if item is None:
            continue
        values = [value for value in (item.low, item.high, item.threshold) if isfinite(value)]
        # What an audit compares that is not in the language of properties is a share, or an effect on one.
        unit = unit_of(item.text) or (DIFFERENCE if entry.verdict.details.keys() and max(map(abs, values)) <= 1 else "")
        if unit:
            by_unit[RATIO if unit == RATIO else DIFFERENCE].append((entry.name, item, entry.verdict.answer))
    return tuple(_summary_drawing(unit, items, limits) for unit, items in by_unit.items() if items)


def _summary_drawing(unit: str, items: Sequence[tuple[str, Expression, str]], limits: PageLimits) -> ChartDrawing:
    shown = items[: limits.rows]
    central = [value for _, item, _ in shown for value in (item.threshold, item.estimate)]
    least, most = stretch([*central, 0.0, 1.0], 1.0) if unit == RATIO else (-1.0, 1.0)
    near = [value for _, item, _ in shown for value in (item.low, item.high) if least <= value <= most]
    ends = possible(stretch([*central, *near], 0.04), {unit})
    return ChartDrawing(
        "intervals",
        "Ratios against their thresholds" if unit == RATIO else "Rates and differences against their thresholds",
        "; ".join(f"{short(name, 80)}: {answer}, {in_words(item)}" for name, item, answer in shown[:8]),
        tuple(
            compared_row(place, item, f"{SIGNS[answer]} {name}", ends, answer)
            for place, (name, item, answer) in enumerate(shown)
        ),
        ("property", "answer", "claim", "estimate", "interval"),
        tuple(
            (short(name, 160), answer, must_be(item), number(item.estimate), interval(item))
            for name, item, answer in shown
        ),
        {"least": ends[0], "most": ends[1]},
        f"Bar: interval. Dot: estimate. Line: threshold. Shaded: meets the claim.{left_out(items, shown)}",
        axis=unit,
    )


# ---------------------------------------------------------------------------------------------------------- a property

METHODS = {
    "bets": (
        "Bets. Before each batch of data a bet is placed against the opposite of the claim, and another against the "
        "claim itself. Whoever bets against the truth cannot expect to win, so a large gain is evidence. One may look "
        "after every batch and stop at any time: the risk stays what was chosen."
    ),
    "region": (
        "A confidence region: the values that the data do not refute, with one risk for all looks together. The answer "
        "is given when no value in the region contradicts it."
    ),
    "verifair": "The rule of Bastani, Zhang and Solar-Lezama (VeriFair, 2019), kept for comparison.",
    "one look": (
        "One look. The sample size was fixed in advance, the whole sample was drawn, and then the claim was "
        "tested once, by an exact test. It needs fewer people than looks at any time, and covers this one look only: a "
        "second look at the same people, or at more of them because the first result was unwelcome, is not covered."
    ),
    "planned looks": (
        "Planned looks. The sample size at each look was fixed in advance; at each the claim is tested by an "
        "exact test, with an equal part of the risk. Other looks are not covered."
    ),
    "exact": (
        "Exact. Every case of the claim was counted, or the paths of the program that draws it "
        "were enumerated, so nothing is left to chance."
    ),
    "tests": (
        "Tests. Cases are drawn at random and sent to the model. One case that violates a claim about every "
        "case is proof; enough cases without one prove that violations are rare."
    ),
    "binomial": "Exact binomial tests, with a number of draws fixed in advance.",
}
"""What each method does."""


@dataclass(frozen=True, slots=True)
class PropertySection:
    """What the page says of one property.

    Attributes
    ----------
    anchor
        Its name within the page.
    name, answer, sign, kind
        What it is called, its answer with a sign, and which audit it is of.
    meaning, certainty
        What the answer means and how sure it is, in words.
    claim, text, why
        What is claimed, in words and as it is written, and why it must hold.
    gauge, known
        The first compared quantity as a small picture, and in words.
    facts
        Counts shown next to the charts.
    drawings, tables
        The charts, and the tables that the audit brings itself.
    cases, cases_left_out
        Counterexamples, and a note on those that are not shown.
    guarantee, method, assumptions, remarks
        The guarantee and its assumptions.
    repeat
        What is needed to repeat it, by name.
    """

    anchor: str
    name: str
    answer: str
    sign: str
    kind: str
    meaning: str
    certainty: str
    claim: str | None
    text: str
    why: str | None
    gauge: str
    known: str
    facts: tuple[tuple[str, str], ...]
    drawings: tuple[ChartDrawing, ...]
    tables: tuple[TableBlock, ...]
    cases: tuple[RecordComparison, ...]
    cases_left_out: str
    guarantee: str
    method: str
    assumptions: tuple[str, ...]
    remarks: tuple[str, ...]
    repeat: tuple[tuple[str, str], ...]


def section_of(number_of_it: int, entry: Entry, limits: PageLimits) -> PropertySection:
    """Everything that the page says of a property."""
    verdict = entry.verdict
    view = view_of(verdict)
    cases, left_out = cases_of(verdict, limits)
    claim = view.explain(verdict) if entry.explanation is None else entry.explanation
    return PropertySection(
        anchor=f"property-{number_of_it}",
        name=short(entry.name, 200) or "a property without a name",
        answer=verdict.answer,
        sign=SIGNS[verdict.answer],
        kind=view.title,
        meaning=view.meanings[verdict.answer],
        certainty=certainty(verdict),
        claim=None if claim is None else excerpt(claim, limits.text),
        text=visible(excerpt(verdict.text, limits.text)),
        why=None if entry.why is None else excerpt(entry.why, limits.text),
        gauge=_gauge(verdict),
        known=_known(verdict),
        facts=_facts(verdict),
        drawings=drawings_of(entry, limits),
        tables=tuple(block for block in view.blocks(verdict) if isinstance(block, TableBlock)),
        cases=cases,
        cases_left_out=left_out,
        guarantee=guarantee(verdict),
        method=verdict.method,
        assumptions=_some(verdict.assumptions, limits),
        remarks=_some((*verdict.remarks, *filter(None, [seed_note(verdict)])), limits),
        repeat=_repeat(verdict),
    )


def certainty(verdict: Verdict) -> str:
    """How sure the answer is."""
    if verdict.answer == "undecided":
        return f"Stopped: {verdict.stopped}. The findings so far are below."
    if verdict.proved:
        return "It was proved, so the answer does not depend on chance."
    if verdict.exact:
        return "All cases were checked, so the answer does not depend on chance."
    if verdict.risk == 0:
        return "A counterexample is proof, so the answer does not depend on chance."
    when = "no matter how often you look" if verdict.looks == "any" else looks(verdict)
    return f"The chance that this answer is wrong is at most {odds(verdict.risk)}, {when}."


def odds(risk: float) -> str:
    """A probability as people say it: ``one in 1,000,000``; where that is not round, as a number, rounded up."""
    if not 0 < risk < 1:
        return f"{risk:g}"
    one_in = 1 / risk
    if abs(one_in - round(one_in)) < 1e-6 * one_in:
        return f"one in {one_in:,.0f}"
    return chance(risk)


def _gauge(verdict: Verdict) -> str:
    item = telling(verdict)
    return "" if item is None else gauge_picture(item, f"var(--{verdict.answer})")


def _known(verdict: Verdict) -> str:
    """The finding, in a few words for the list of all properties."""
    return printed(short(view_of(verdict).finding(verdict, False), 160))


def _facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """Counts, by what they count."""
    general = (
        ("decided by", "proof") if verdict.proved else ("samples", cost(verdict)),
        *((("queries", queries(verdict)),) if queries(verdict) else ()),
        ("stopped because", short(verdict.stopped, 120)),
    )
    groups = (("groups", short(worst_group(verdict), 300)),) if verdict.worst else ()
    some = (("estimates", f"of {early(verdict)}, which were enough: measure uses all rows"),) if early(verdict) else ()
    intervals = (("intervals", level(verdict)),) if level(verdict) else ()
    return (*general, *some, *groups, *view_of(verdict).facts(verdict), *intervals)


def _some(items: Sequence[str], limits: PageLimits) -> tuple[str, ...]:
    shown = tuple(excerpt(item, 800) for item in items[: limits.notes])
    more = len(items) - len(shown)
    return (*shown, f"… and {more:,} more; the record has them all.") if more else shown


def _repeat(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """What has to be the same for the same answer."""
    model, population = verdict.model, verdict.population
    size = population.get("size")
    people = f"{population.get('kind', 'unknown')}{f' of {size:,}' if isinstance(size, int) else ''}"
    origin = "chosen by hand" if verdict.seed_chosen else "derived from property, data and model"
    needed = [("seed", f"{verdict.seed}, {origin}"), ("risk chosen", f"{verdict.delta!r}"), ("method", verdict.method)]
    if model:
        needed += [("model", short(str(model.get("name", "-")), 120)), ("its fingerprint", _fingerprint(model))]
    needed += [("population", people), ("its fingerprint", _fingerprint(population))]
    needed += [("Isonomia", verdict.version or "-"), ("time", f"{verdict.seconds:.2f} s")]
    return tuple(needed)


def _fingerprint(of: object) -> str:
    return short(str(of.get("fingerprint", "-")), 80) if isinstance(of, dict) else "-"

"""A property on the page: everything that its section says, as values for the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isonomia.records.drawing import gauge_picture
from isonomia.records.findings import PRINCIPAL, RESPONSIVENESS, SAFETY, known, telling
from isonomia.records.verdict import Verdict
from isonomia.records.visible import cut, visible
from isonomia.records.words import SIGNS, cost, guarantee, remarks_of
from isonomia.report.entries import Entry
from isonomia.report.page.cases import Case, cases_of, left_out_cases
from isonomia.report.page.drawings import Drawing, compared_drawings, printed, rates, short
from isonomia.report.page.history import closing_in
from isonomia.report.page.limits import Limits
from isonomia.report.page.meaning import KINDS, METHODS, certainty, explained, kind_of, meaning
from isonomia.report.page.principal import principal_drawings
from isonomia.report.page.responsiveness import responsiveness_drawings

__all__ = ["Section", "section_of"]


@dataclass(frozen=True, slots=True)
class Section:
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
        Counts that stand beside the charts.
    drawings
        The charts.
    cases, cases_left_out
        Counterexamples, and a word on those that are not shown.
    guarantee, method, assumptions, remarks
        What the answer is worth and rests on.
    repeat
        What somebody needs to repeat it, by name.
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
    drawings: tuple[Drawing, ...]
    cases: tuple[Case, ...]
    cases_left_out: str
    guarantee: str
    method: str
    assumptions: tuple[str, ...]
    remarks: tuple[str, ...]
    repeat: tuple[tuple[str, str], ...]


def section_of(number_of_it: int, entry: Entry, limits: Limits) -> Section:
    """Everything that the page says of a property."""
    verdict = entry.verdict
    cases = cases_of(verdict, limits)
    claim = explained(verdict, entry.explanation)
    return Section(
        anchor=f"property-{number_of_it}",
        name=short(entry.name, 200) or "a property without a name",
        answer=verdict.answer,
        sign=SIGNS[verdict.answer],
        kind=KINDS[kind_of(verdict)],
        meaning=meaning(verdict),
        certainty=certainty(verdict),
        claim=None if claim is None else cut(claim, limits.text),
        text=visible(cut(verdict.text, limits.text)),
        why=None if entry.why is None else cut(entry.why, limits.text),
        gauge=_gauge(verdict),
        known=_known(verdict),
        facts=_facts(verdict),
        drawings=_drawings(entry, limits),
        cases=cases,
        cases_left_out=left_out_cases(verdict, len(cases)),
        guarantee=guarantee(verdict),
        method=METHODS.get(verdict.method, verdict.method),
        assumptions=_some(verdict.assumptions, limits),
        remarks=_some(remarks_of(verdict), limits),
        repeat=_repeat(verdict),
    )


def _drawings(entry: Entry, limits: Limits) -> tuple[Drawing, ...]:
    verdict = entry.verdict
    closing = closing_in(entry, limits)
    found = [] if closing is None else [closing]
    match kind_of(verdict):
        case kind if kind == PRINCIPAL:
            found += principal_drawings(verdict, limits)
        case kind if kind == RESPONSIVENESS:
            found += responsiveness_drawings(verdict, limits)
        case kind if kind == SAFETY:
            found += compared_drawings(verdict, limits)
        case _:
            found += compared_drawings(verdict, limits)
            leaves = rates(verdict, limits)
            found += [] if leaves is None else [leaves]
    return tuple(found)


def _gauge(verdict: Verdict) -> str:
    item = telling(verdict)
    return "" if item is None else gauge_picture(item, f"var(--{verdict.answer})")


def _known(verdict: Verdict) -> str:
    """What is known, in a few words for the list of all properties."""
    return printed(short(known(verdict), 160))


def _facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """Counts, by what they count."""
    found = [("asked about", cost(verdict)), ("stopped because", short(verdict.stopped, 120))]
    if kind_of(verdict) == SAFETY:
        cases, bad = verdict.details["cases"], verdict.details["violations"]
        found += [("cases that break it", f"{bad['cases']:,}"), ("inputs among them", f"{bad['inputs']:,}")]
        if corners := verdict.details.get("corners"):
            found.append(("corners that break it", f"{corners['violating']:,} of {corners['tried']:,}"))
        told = {"rejected": "draws turned away", "vacuous": "cases without a test", "failed": "cases that failed"}
        found += [(words, f"{cases[key]:,}") for key, words in told.items() if cases[key]]
    if kind_of(verdict) == PRINCIPAL and verdict.details["overall"].get("need") is not None:
        overall = verdict.details["overall"]
        found.append(("evidence of unequal treatment", f"{overall['peak']:.1f} of {overall['need']:.1f} needed (nats)"))
    return tuple(found)


def _some(items: Sequence[str], limits: Limits) -> tuple[str, ...]:
    shown = tuple(cut(item, 800) for item in items[: limits.notes])
    more = len(items) - len(shown)
    return (*shown, f"… and {more:,} more, which the record has.") if more else shown


def _repeat(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """What has to be the same for the same answer."""
    model, population = verdict.model, verdict.population
    size = population.get("size")
    people = f"{population.get('kind', 'unknown')}{f' of {size:,}' if isinstance(size, int) else ''}"
    found = [("seed", str(verdict.seed)), ("risk chosen", f"{verdict.delta!r}"), ("method", verdict.method)]
    if model:
        found += [("model", short(str(model.get("name", "-")), 120)), ("its fingerprint", _fingerprint(model))]
    found += [("population", people), ("its fingerprint", _fingerprint(population))]
    found += [("Isonomia", verdict.version or "-"), ("time", f"{verdict.seconds:.2f} s")]
    return tuple(found)


def _fingerprint(of: object) -> str:
    return short(str(of.get("fingerprint", "-")), 80) if isinstance(of, dict) else "-"

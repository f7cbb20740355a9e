"""What renderers show of a responsiveness verdict: for how many people the claim is true, and what they can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from isonomia.records.display.view import (
    NOT_A_PASS,
    Block,
    CounterexampleView,
    PeopleCounts,
    PeopleKind,
    Quantities,
    RecordView,
    TableBlock,
    View,
    compared_finding,
    plain_counterexample,
)
from isonomia.records.verdict import Verdict
from isonomia.wording import brief, change, excerpt, number, plural, value_text, visible

_MEANINGS = {
    "holds": "The claim is true: for all people it covers, or for the required share of them.",
    "violated": "The claim is not true: it fails for some people, or for more than it allows.",
    "undecided": f"{NOT_A_PASS} for some people, or for their average, the side of the limit is unknown.",
}

_OPEN = PeopleKind("undecided", "undecided", "undecided")
_AT_LEAST = (PeopleKind("responsive", "responsive", "holds"), PeopleKind("fixed", "fixed", "violated"), _OPEN)
_AT_MOST = (PeopleKind("fixed", "meet it", "holds"), PeopleKind("responsive", "violate it", "violated"), _OPEN)


def people_kinds(details: Mapping[str, Any]) -> tuple[PeopleKind, PeopleKind, PeopleKind]:
    """The kinds of people of a verdict: those for whom the claim is true, is false, or is undecided.

    Where all people must reach a share, the responsive meet the claim. Where no person may, they break it.
    """
    return _AT_MOST if details.get("relation") == "<=" else _AT_LEAST


def people_in_words(counts: Mapping[str, int], details: Mapping[str, Any]) -> str:
    """How many people there are of each kind: ``of 274 people: 248 responsive, 26 fixed, 0 undecided``."""
    kinds = ", ".join(f"{counts[kind.key]:,} {kind.words}" for kind in people_kinds(details))
    return f"of {counts['people']:,} people: {kinds}"


def _finding(verdict: Verdict, compact: bool) -> str:
    details = verdict.details
    counts = details.get("counts", {"people": 0})
    if verdict.expressions or not counts["people"]:
        return compared_finding(verdict, compact)
    bad = next(kind.key for kind in people_kinds(details) if kind.answer == "violated")
    people = plural(counts["people"], "person", "people")
    way = "has no way" if counts[bad] == 1 else "have no way"
    finding = f"{counts[bad]:,} of {people} {way}" if _no_way(details) else f"not met for {counts[bad]:,} of {people}"
    return f"{finding}, {counts['undecided']:,} undecided" if counts["undecided"] else finding


def _no_way(details: Mapping[str, Any]) -> bool:
    """Whether people who break the claim cannot reach the target at all."""
    people = details.get("people") or {}
    if details.get("relation") == "<=" or not {"answer", "share", "exact"} <= people.keys():
        return False
    fixed = [
        share == 0 and exact
        for answer, share, exact in zip(people["answer"], people["share"], people["exact"], strict=False)
        if answer == "fixed"
    ]
    return bool(fixed) and all(fixed)


def _tally(verdict: Verdict) -> str | None:
    counts = verdict.details.get("counts")
    return people_in_words(counts, verdict.details) if counts else None


def _blocks(verdict: Verdict) -> tuple[Block, ...]:
    quantities = (Quantities(verdict.expressions),) if verdict.expressions else ()
    return (*quantities, *_group_table(verdict), *_charts(verdict))


def _group_table(verdict: Verdict) -> tuple[TableBlock, ...]:
    """The quantity of a claim about all people together, group by group."""
    groups = [item for item in verdict.details.get("groups", ()) if "quantity" in item]
    if not groups:
        return ()
    names = tuple(groups[0]["group"])
    rows = []
    for item in groups:
        found = item["quantity"]
        value = "-" if found["estimate"] is None else number(found["estimate"])
        values = (value_text(value, 40) for value in item["group"].values())
        rows.append((*values, f"{item['people']:,}", value, number(found["low"]), number(found["high"])))
    heads = (*names, "people", "estimate", "low", "high")
    return (TableBlock(f"{verdict.expressions[0].text} by group; intervals one by one", heads, tuple(rows)),)


def _charts(verdict: Verdict) -> tuple[Block, ...]:
    details = verdict.details
    people = details.get("people")
    if not people:  # the claim was about no person
        return ()
    return (
        PeopleCounts(
            whom=_whom(details),
            kinds=people_kinds(details),
            counts=details["counts"],
            groups=tuple((item["group"], item) for item in details["groups"]),
            target=details["target"],
            relation=details["relation"],
            threshold=details["threshold"],
            shares=tuple(zip(people["share"], people["answer"], strict=True)),
        ),
    )


def _whom(details: Mapping[str, Any]) -> str:
    rows = details.get("rows")
    among = "" if rows is None else f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows"
    return ", ".join(filter(None, (among, details["who"]))) or "all rows"


# ------------------------------------------------------------------------------------------------------ counterexamples


def _counterexample(verdict: Verdict, item: Mapping[str, Any]) -> CounterexampleView:
    """A person and the nearest point that has the target prediction, or the lack of one."""
    if "person" not in item or "point" not in item:
        return plain_counterexample(verdict, item)
    row, looked = f"row {item['person']}", _looked(item)
    drawn = plural(item["looked_at"], "option" if item["every"] else "draw")
    if item["point"] is None:
        return CounterexampleView(
            title=f"{row}: none of {looked} leads to the target",
            sentence=f"the person in {row}: none of {looked} leads to the target",
            line=(row, f"none of {drawn} leads to the target"),
        )
    changed = _labelled(item["changed"], verdict)
    notes = [] if changed else ["nothing needs to change: this person reaches the target already"]
    if not item.get("sensible", True):
        notes.append(_NOT_ADVISED)
    text = ", ".join(f"{name} {change(before, after)}" for name, (before, after) in changed.items()) or "as they are"
    if "prediction" in item:
        notes.append(f"the model said there: {visible(excerpt(brief(item['prediction']), 300))}")
        text = f"{text}, prediction {brief(item['prediction'])}"
    return CounterexampleView(
        title=_title(item, verdict),
        records=(RecordView(row), RecordView("nearest", changes=changed)) if changed else (),
        sentence=f"the person in {row}: {item['reaching']:,} of {looked} {_leads(item)} to the target",
        notes=tuple(notes),
        line=(row, text),
    )


def _counterexamples(verdict: Verdict) -> Iterator[CounterexampleView]:
    """One for each person, with their nearest points side by side."""
    for person, items in groupby(verdict.counterexamples, key=lambda item: item.get("person")):
        points = list(items)
        if person is None or "point" not in points[0]:
            yield from (plain_counterexample(verdict, item) for item in points)
        elif points[0]["point"] is None:
            yield _counterexample(verdict, points[0])
        else:
            yield _with_points(points, verdict)


_NOT_ADVISED = "not advised: the interventions do not call every one of these changes sensible"


def _labelled(values: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Values by feature, under the labels that the interventions give to features."""
    labels = verdict.details.get("labels", {})
    return {labels.get(name, name): value for name, value in values.items()}


def _with_points(points: Sequence[Mapping[str, Any]], verdict: Verdict) -> CounterexampleView:
    """A person as they are, and the nearest points at which they reach the target."""
    now = {name: before for item in points for name, (before, _) in item["changed"].items()}
    nearest = {f"nearest {number}": item for number, item in enumerate(points, start=1)}
    return CounterexampleView(
        title=_title(points[0], verdict),
        records=(
            RecordView("now", values=_labelled({**now, **points[0]["point"], **now}, verdict)),
            *(RecordView(name, values=_labelled(item["point"], verdict)) for name, item in nearest.items()),
        ),
        notes=tuple(f"{name}: {_NOT_ADVISED}" for name, item in nearest.items() if not item.get("sensible", True)),
        outputs=tuple((name, item["prediction"]) for name, item in nearest.items() if "prediction" in item),
    )


def _title(item: Mapping[str, Any], verdict: Verdict) -> str:
    changes = [
        f"{name} {value_text(before, 40)} → {value_text(after, 40)}"
        for name, (before, after) in _labelled(item["changed"], verdict).items()
    ]
    text = ", ".join(changes) or "as they are"
    return f"row {item['person']}: {text}; {item['reaching']:,} of {_looked(item)} {_leads(item)} to the target"


def _leads(item: Mapping[str, Any]) -> str:
    return "leads" if item["reaching"] == 1 else "lead"


def _looked(item: Mapping[str, Any]) -> str:
    options = plural(item["looked_at"], "option")
    return f"this person's {options}" if item["every"] else f"{options} drawn at random for this person"


VIEW = View(
    kind="responsiveness",
    title="responsiveness",
    meanings=_MEANINGS,
    finding=_finding,
    counts=True,
    tally=_tally,
    blocks=_blocks,
    charts=_charts,
    counterexample=_counterexample,
    counterexamples=_counterexamples,
    superlative="clearest",
)

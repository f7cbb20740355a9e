"""Counts that no check wrote.

Whole numbers in a record, which JSON can hold as something else.

Whether the counts of a check of principal fairness can be.

Whether the counts and the counterexamples of a k-safety check can be.

Whether the counts of a check of responsiveness can be.

Whether what a record holds of one check can be, whatever its verdict; not so where somebody changed a part of it.

The arithmetic of a check takes counts as they are. Here they are held against each other and against what else the
record says of the same people: more of them than there are, parts of them, or counterexamples of a property that
nothing violates, are none that any check wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from isonomia.audits.audit_file.planner import Stated
from isonomia.audits.check import AnyProperty
from isonomia.audits.ksafety.evaluate import Batch, Value, evaluate, tested
from isonomia.audits.ksafety.functions import RANDOM
from isonomia.audits.responsiveness.members import Members, unpacked
from isonomia.errors import RecordError
from isonomia.records.evidence import CheckEvidence
from isonomia.records.strict_json import rational
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.property import Property
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["is_count", "numbered", "refuse_impossible", "wrong_in_principal", "wrong_in_safety", "wrong_in_shares"]


def is_count(*values: Any) -> bool:
    """Whether all are whole numbers, written as such, and none is negative."""
    return all(type(value) is int and value >= 0 for value in values)


def numbered(entries: Any, word: str) -> dict[int, Any]:
    """The entries whose keys are a word and a number, by their numbers, in order."""
    pairs = ((key.removeprefix(word), entry) for key, entry in entries.items() if key.startswith(word))
    return dict(sorted((int(number), entry) for number, entry in pairs if number.isdecimal()))


_CLOSED = ("sample", "census")
"""Populations whose subgroups are all known beforehand."""


def wrong_in_principal(prop: PrincipalFairness, entries: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, in words."""
    population, exact = entries["population"], entries["exact"]["exact"]
    kind, size = population["kind"], population["size"]
    if type(exact) is not bool or (exact and kind != "census"):
        yield f"everybody was counted, which of a {kind} gives no exact answer"
    if "available" in entries:
        allowed = (size, None) if kind == "census" else (size,)
        if entries["available"]["people"] not in allowed:
            yield f"a {kind} of {size} people does not allow {entries['available']['people']!r:.40} draws"
    listed = [tuple(key) for key in entries.get("subgroups", {}).get("keys", ())]
    if len(set(listed)) < len(listed) or any(len(key) != len(prop.given) for key in listed):
        yield "its subgroups are not as many different ones as there are values of the columns in given"
    for number, batch in numbered(entries, "batch ").items():
        if batch["people"] != batch["n"] or not _adds_up(prop, batch):
            yield f"the counts of batch {number} are not those of {batch['n']!r:.40} people"
        if kind in _CLOSED and not {tuple(key) for key, _ in batch["counts"]} <= set(listed):
            yield f"batch {number} has a subgroup that is none of those listed"
    if "everybody" in entries and (entries["everybody"]["people"] != size or not _adds_up(prop, entries["everybody"])):
        yield f"the counts of everybody are not those of {size} people"


def _adds_up(prop: PrincipalFairness, entry: Mapping[str, Any]) -> bool:
    keys = [tuple(key) for key, _ in entry["counts"]]
    cells = [cell for _, rows in entry["counts"] for row in rows for cell in row]
    different = len(set(keys)) == len(keys) and all(len(key) == len(prop.given) for key in keys)
    whole = is_count(entry["people"]) and all(cell >= 0 and cell == int(cell) for cell in cells)
    return different and whole and sum(cells) == entry["people"]


_COUNTS = ("tested", "violating", "failed", "vacuous")


def wrong_in_safety(prop: Safety, entries: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, in words."""
    yield from _wrong_inputs(entries["population"], entries["subject"])
    yield from _wrong_known(prop, entries)
    listed = entries.get("listed", {"listed": False})
    if listed["listed"] and not is_count(listed["rejected"], listed["without_choice"]):
        yield "its counts of cases that were turned away are no counts"
    if "every case" in entries:
        yield from _wrong_cases(prop, entries["every case"], entries["population"]["size"])
    start = 0
    for number, batch in numbered(entries, "batch ").items():
        if (batch["index"], batch["start"]) != (number, start):
            yield f"batch {number} says that it is batch {batch['index']!r:.40} from case {batch['start']!r:.40}"
        if not _is_batch(batch):
            yield f"the counts of batch {number} are not those of {batch['n']!r:.40} cases"
        start += batch["n"]
    if "corners" in entries:
        yield from _wrong_corners(prop, entries["corners"])
    if "found" in entries:
        yield from _wrong_finds(prop, entries)


def _is_batch(batch: Mapping[str, Any]) -> bool:
    """Whether its counts are counts, and of no more cases than were wanted; its own check adds them up."""
    pieces = batch["pieces"]
    counts = [piece[key] for piece in pieces for key in _COUNTS]
    return (
        is_count(batch["draws"], batch["rejected"], batch["without_choice"], *counts)
        and all(is_count(*piece["by_ensures"]) for piece in pieces)
        and sum(piece["tested"] for piece in pieces) <= batch["n"]
    )


def _wrong_inputs(population: Mapping[str, Any], subject: Mapping[str, Any]) -> Iterator[str]:
    told, kind, size = subject["population"], population["kind"], population["size"]
    if any(told.get(key) != population.get(key) for key in ("kind", "size", "fingerprint")):
        yield "the inputs of its cases are others than its population"
    if subject["sample"] is not (kind == "sample") or type(subject["fresh"]) is not bool:
        yield f"its inputs are taken for another kind of population than a {kind}"
    if not set(subject["random"]) >= RANDOM:
        yield "functions that draw are taken for others"
    if subject["fresh"] and kind in ("sample", "census"):
        yield f"the {size} rows of a {kind} are drawn without end"
    if size is None and kind != "domain" and not subject["fresh"]:
        yield f"the inputs of a {kind}, which are drawn anew without end, are taken for a list"


def _wrong_known(prop: Safety, entries: Mapping[str, Any]) -> Iterator[str]:
    known, again = entries["known"]["known"], entries.get("known again", {"violating": []})["violating"]
    tried = [(item["inputs"], item["choices"]) for item in known]
    for item in again:
        if (item["inputs"], item["choices"]) not in tried:
            yield "a counterexample that violates it still is none of those that were known"
        yield from _wrong_find(prop, item)


def _wrong_corners(prop: Safety, told: Mapping[str, Any]) -> Iterator[str]:
    tried, violating, failed, shown = (told[key] for key in ("tried", "violating", "failed", "counterexamples"))
    if not is_count(tried, violating, failed) or max(violating, failed) > tried or len(shown) > violating:
        yield f"of {tried!r:.40} corners {violating!r:.40} violate it, and {len(shown):,} are shown"
        return
    strict = {expression_text(item.condition) for item in prop.spec.ensures if item.rate is None or item.rate >= 1.0}
    for item in shown:
        yield from _wrong_find(prop, item)
        if not strict & set(item["violates"]):
            yield "a corner that violates nothing which must always be true is taken for proof"


def _wrong_cases(prop: Safety, told: Mapping[str, Any], size: int | None) -> Iterator[str]:
    bad, n, ensures = told["by_ensures"], told["tested"], len(prop.spec.ensures)
    weight, heavy = rational(told["weight"]), [rational(each) for each in told["bad_weight"]]
    failed = [rational(each) for each in told["failed_weight"]]
    if not (len(bad) == len(heavy) == len(failed) == ensures) or not is_count(*bad, *(told[key] for key in _COUNTS)):
        yield "its counts of all cases are no counts"
        return
    if not max(bad) <= told["violating"] <= min(n, sum(bad)) or max(told["failed"], told["vacuous"]) > n:
        yield "of all cases more violate it than there are, or another number than violate a part of it"
    # A case weighs at most one input, and all cases of an input weigh at most that input together.
    most = n if size is None else min(n, size ** len(prop.spec.inputs))
    if not 0 <= weight <= most or (weight > 0) != (n > 0):
        yield f"all {n:,} cases together weigh {told['weight']!r:.40} inputs"
    for count, heavy_one, failed_one in zip(bad, heavy, failed, strict=True):
        if (heavy_one > 0) != (count > 0) or not 0 <= heavy_one <= min(count, weight):
            yield f"{count:,} violating cases weigh {heavy_one!s:.40} inputs"
        if not 0 <= failed_one <= min(told["failed"], weight - heavy_one):
            yield f"{told['failed']:,} failed cases weigh {failed_one!s:.40} inputs"


def _wrong_finds(prop: Safety, entries: Mapping[str, Any]) -> Iterator[str]:
    found, violating = entries["found"], _violating(entries)
    shown, size = found["counterexamples"], entries["population"]["size"]
    if not is_count(found["gone"], found["distinct"], found["inputs"]) or type(found["exact"]) is not bool:
        yield "its counts of different violations are no counts"
        return
    if (found["distinct"] > 0) != (violating > 0) or (found["exact"] and found["distinct"] > violating):
        yield f"{violating:,} cases violate it, in {found['distinct']:,} different ways"
    if (found["inputs"] > 0) != (violating > 0) or (found["exact"] and found["inputs"] > found["distinct"]):
        yield f"{found['distinct']:,} different violations are of {found['inputs']:,} inputs"
    if (violating > 0) != bool(found["gone"] or shown):
        yield f"{violating:,} cases violate it, and there are {len(shown):,} counterexamples"
    if found["tested"] is not None and not (is_count(found["tested"]) and found["tested"] <= (size or 0)):
        yield f"{found['tested']!r:.40} of {size} inputs were tested"
    for item in shown:
        yield from _wrong_find(prop, item)


def _violating(entries: Mapping[str, Any]) -> int:
    """How many cases violate it, of those among which violations were looked for."""
    if "every case" in entries and entries["every case"]["violating"]:
        return int(entries["every case"]["violating"])
    return sum(piece["violating"] for batch in numbered(entries, "batch ").values() for piece in batch["pieces"])


def _wrong_find(prop: Safety, item: Mapping[str, Any]) -> Iterator[str]:
    """A counterexample must say what it violates, and where its outputs tell, they must violate that."""
    conditions = {expression_text(each.condition): each for each in prop.spec.ensures}
    if not item["violates"] or not set(item["violates"]) <= set(conditions):
        yield f"a counterexample violates {item['violates']!r:.60}, which is nothing that is ensured"
        return
    for text in item["violates"]:
        if _is_met(conditions[text], item.get("outputs", {})):
            yield f"a counterexample does not violate {text!r:.60}: its outputs are {item['outputs']!r:.60}"


def _is_met(item: Ensures, outputs: Mapping[str, Any]) -> bool:
    """Whether outputs alone show that a condition is true; ``False`` where they do not tell."""
    known = {name: Value(np.array([value])) for name, value in outputs.items() if isinstance(value, int | float | str)}
    nowhere: Any = None
    try:
        batch = Batch(1, nowhere, known, nowhere, _no_call)
        met, no_value = tested(evaluate(item.condition, batch), batch, None)
    except (LookupError, AttributeError, TypeError, ValueError):
        return False
    return bool(met[0] and not no_value[0])


def _no_call(*_: object) -> Value:
    raise LookupError("functions are not called for a record")


_LOOKED = ("listing ", "round ")


def wrong_in_shares(prop: Responsiveness, entries: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, in words."""
    members, size = entries["members"], entries["population"]["size"]
    if not 0 <= (members.get("steps") or members["rows"])["count"] <= (size or 0) and prop.rows is None:
        yield f"it is about more people than the {size} rows there are"
    rows = Members.unpack(members).rows
    if len(rows) and not (rows.min() >= 0 and rows.max() < (size or 0)):
        yield f"it is about rows that a table of {size} rows does not have"
    if prop.rows is None and (np.diff(rows) <= 0).any():
        yield "it is about somebody twice"
    if prop.rows is None and prop.who is None and len(rows) != size:
        yield f"it is about {len(rows):,} people, and not about all {size} rows"
    if prop.rows is not None and not set(rows.tolist()) <= set(np.atleast_1d(prop.rows).tolist()):
        yield "it is about other rows than the property says"
    if "reach" in entries:
        counts = unpacked(entries["reach"]["counts"], len(rows)).astype(float)
        if (counts < 0).any() or not (np.isinf(counts) | (counts == np.floor(counts))).all():
            yield "what people can reach is no number of points"
    for key, entry in entries.items():
        if key.startswith(_LOOKED):
            yield from _wrong_counts(key, entry)
    for item in entries.get("nearest", {}).get("counterexamples", ()):
        if item["person"] not in rows:
            yield f"a counterexample is of row {item['person']!r:.40}, whom it is not about"


def _wrong_counts(key: str, entry: Mapping[str, Any]) -> Iterator[str]:
    n, successes = (unpacked(entry[name]).astype(float) for name in ("n", "successes"))
    whole = (n == np.floor(n)).all() and (successes == np.floor(successes)).all()
    if len(n) != len(successes) or not whole or (successes < 0).any() or (successes > n).any():
        yield f"the counts of {key} are no numbers of points"
    elif not is_count(entry["distinct"]) or entry["distinct"] > n.sum():
        yield f"in {key} the model was asked about {entry['distinct']!r:.40} different rows of {n.sum():,.0f}"


def refuse_impossible(each: Stated, check: CheckEvidence) -> None:
    """Refuse entries that contradict each other. Those of rates are held against each other where they are read.

    Raises
    ------
    RecordError
        Which says what cannot be.
    """
    wrong = next(_wrong(each.prop, check.entries), None)
    if wrong is not None:
        raise RecordError(f"its statistics contradict each other: {wrong}")


def _wrong(prop: AnyProperty, entries: Mapping[str, Any]) -> Iterator[str]:
    match prop:
        case PrincipalFairness():
            yield from wrong_in_principal(prop, entries)
        case Safety():
            yield from wrong_in_safety(prop, entries)
        case Responsiveness():
            yield from wrong_in_shares(prop, entries)
        case Property():
            pass

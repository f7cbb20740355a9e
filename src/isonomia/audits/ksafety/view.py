"""What renderers show of a k-safety verdict: how many cases violate the claim, and those cases record by record.

The view of a repair, which shows such cases too, is at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import unified_diff
from itertools import pairwise
from typing import Any

from isonomia.records.display.view import (
    NOT_A_PASS,
    Block,
    CounterexampleView,
    Quantities,
    RecordView,
    Sentence,
    TableBlock,
    View,
    plain_counterexample,
    quantities_and_rates,
    quantity_finding,
    telling,
)
from isonomia.records.verdict import Verdict
from isonomia.wording import plural, value_text

_MEANINGS = {
    "holds": "The model meets the claim: cases that violate it are as rare as required.",
    "violated": "The model violates the claim: more cases violate it than are allowed.",
    "undecided": f"{NOT_A_PASS} the cases that were tried do not show that violations are as rare as required.",
}


def _finding(verdict: Verdict, compact: bool) -> str:
    details = verdict.details
    item = telling(verdict)
    if "violations" not in details:
        return verdict.stopped if item is None else quantity_finding(item, compact)
    tested, bad = details["cases"]["tested"], details["violations"]["cases"]
    if "noise" in details and item is not None and tested:
        finding = "answers change in {changes:.2%} of cases, in {again:.2%} when queried again".format(
            **details["noise"]
        )
        return f"{finding}; difference {quantity_finding(item, compact)}"
    edge_cases = details.get("edge_cases", {"violating": 0})
    if edge_cases["violating"] and not bad and verdict.answer == "violated":
        drawn = f", none of {tested:,} random cases" if tested else ""
        return f"{_broken(edge_cases['violating'], edge_cases['tried'], 'edge case')}{drawn}"
    if not tested and verdict.answer == "violated":
        return verdict.stopped  # known counterexamples decided it
    finding = _broken(bad, tested, "case")
    if item is None or (item.threshold == 0 and bad):
        return finding  # a single one is too many: how often it happens does not matter
    share = quantity_finding(replace(item, estimate=None), compact)
    return finding if item.low == item.high else f"{finding}; share {share}"


def _broken(bad: int, of: int, what: str, where: str = "") -> str:
    return f"{bad:,} of {plural(of, what)}{where} {'violates' if bad == 1 else 'violate'} it"


def _tally(verdict: Verdict) -> str | None:
    violations = verdict.details.get("violations")
    edge_cases = verdict.details.get("edge_cases", {"violating": 0})
    if violations and edge_cases["violating"] and not violations["cases"]:
        return _broken(edge_cases["violating"], edge_cases["tried"], "edge case", ", which lie at the ends of ranges,")
    if violations and violations["cases"]:
        tested, inputs = verdict.details["cases"]["tested"], plural(violations["inputs"], "input")
        return f"{violations['cases']:,} of {tested:,} cases violate it, of {inputs}"
    return None


def _facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    if "violations" not in verdict.details:
        return ()
    cases, bad = verdict.details["cases"], verdict.details["violations"]
    facts = [("cases that violate it", f"{bad['cases']:,}"), ("inputs among them", f"{bad['inputs']:,}")]
    if edge_cases := verdict.details.get("edge_cases"):
        facts.append(("edge cases that violate it", f"{edge_cases['violating']:,} of {edge_cases['tried']:,}"))
    words = {"rejected": "rejected draws", "vacuous": "cases without a test", "failed": "cases that failed"}
    return (*facts, *((label, f"{cases[key]:,}") for key, label in words.items() if cases[key]))


def _blocks(verdict: Verdict) -> tuple[Block, ...]:
    quantities = (Quantities(verdict.expressions),) if verdict.expressions else ()
    counts = (Sentence(_counts(verdict.details)),) if "violations" in verdict.details else ()
    return (*quantities, *counts, *_kinds(verdict))


SHOWN_KINDS = 5
"""How many kinds of violations are shown."""


def _kinds(verdict: Verdict) -> tuple[TableBlock, ...]:
    """The kinds of violations, where there are more violations than kinds: a line each, the most frequent first."""
    kinds = verdict.details.get("kinds", ())
    total = sum(kind["count"] for kind in kinds)
    if total <= len(kinds):
        return ()
    rows = [
        (f"{kind['count']:,}", ", ".join(kind["differs"]) or "-", _answers(kind), _example(verdict, kind["example"]))
        for kind in kinds[:SHOWN_KINDS]
    ]
    rest = len(kinds) - len(rows)
    if rest > 0:
        rows.append((f"{sum(kind['count'] for kind in kinds[SHOWN_KINDS:]):,}", f"in {rest} other kinds", "", ""))
    called, counted = ("consistent flip", "cases") if "noise" in verdict.details else ("violation", "violations")
    title = f"{plural(total, called)} of {plural(len(kinds), 'kind')}"
    return (TableBlock(title, (counted, "differs", "answers", "for example"), tuple(rows)),)


def _answers(kind: Mapping[str, Any]) -> str:
    if "order" in kind:
        return ", ".join(kind["order"])
    return ", ".join(f"{name} = {value_text(value, 24)}" for name, value in kind["outputs"].items())


def _example(verdict: Verdict, example: Mapping[str, Any]) -> str:
    """What was changed in which input, in one line."""
    what = str(verdict.population.get("what", "row"))
    where = ", ".join(f"{what} {number}" for number in example.get("rows", {}).values())
    changes = _changed(example.get("differs", {}), 2)
    return f"{where}: {changes}" if changes else where


def _changed(differs: Mapping[str, Mapping[str, Any]], max_n: int, unchanged: frozenset[str] = frozenset()) -> str:
    """The first changes of some records, in words."""
    changes = [pair for record in differs.values() for pair in record.items()]
    shown = ", ".join(_change(feature, pair[0], pair[1], unchanged) for feature, pair in changes[:max_n])
    return shown + (f" and {len(changes) - max_n:,} more" if len(changes) > max_n else "")


def _counts(details: Mapping[str, Any]) -> str:
    """How many cases were tested, were left out, failed and violated."""
    cases, bad = details["cases"], details["violations"]
    edge_cases = details.get("edge_cases", {"tried": 0})
    words = [f"{plural(edge_cases['tried'], 'edge case')} tried"] if edge_cases["tried"] else []
    words.append(f"{plural(cases['tested'], 'case')} tested")
    labels = {
        "rejected": "rejected",
        "without_choice": "with nothing to choose from",
        "vacuous": "vacuous",
        "failed": "failed",
    }
    words += [f"{cases[key]:,} {label}" for key, label in labels.items() if cases[key]]
    more = "" if bad.get("exact", True) else "more than "
    called = "consistent flip" if "noise" in details else "distinct violation"
    words.append(f"{more}{plural(bad['distinct'], called)} of {plural(bad['inputs'], 'input')}")
    if edge_cases["tried"] and edge_cases["violating"]:
        words.append(f"{plural(edge_cases['violating'], 'violating edge case')}")
    return ", ".join(words)


# ------------------------------------------------------------------------------------------------------ counterexamples


def _counterexample(verdict: Verdict, item: Mapping[str, Any]) -> CounterexampleView:
    """The inputs of a case, and every record that the program made of them, each compared with the first."""
    if "inputs" not in item or "differs" not in item:
        return plain_counterexample(verdict, item)
    inputs, differs, rows = item["inputs"], item["differs"], item.get("rows", {})
    what, is_domain = str(verdict.population.get("what", "row")), verdict.population.get("kind") == "domain"
    names = [*inputs, *(name for name in differs if name not in inputs)]
    origins = {name: f"{what} {number}" for name, number in rows.items()}
    unchanged = frozenset(f"as in {origin}" for origin in origins.values())
    return CounterexampleView(
        title=_title(item, [*origins.values()], unchanged),
        records=tuple(
            RecordView(name, origins.get(name, "changed"), _values(name, item), differs.get(name)) for name in names
        ),
        outputs=tuple((str(name), value) for name, value in item.get("outputs", {}).items()),
        violates=tuple(item.get("violates", ())),
        choices=tuple(item.get("choices", ())) if is_domain else (),
        variables=item.get("variables", {}),
        minimal=bool(item.get("minimal")),
        unchanged=unchanged,
        heading=_heading(item, origins, is_domain),
        notes=_differences(item.get("outputs", {})),
    )


LONG = 60
"""Outputs with more characters than this are compared line by line."""

MAX_LINES = 12
"""How many lines of such a comparison are shown."""


def _differences(outputs: Mapping[str, Any]) -> tuple[str, ...]:
    """How each output that is a long text differs from the next: the lines of one only, and of the other only."""
    texts = [(name, value) for name, value in outputs.items() if isinstance(value, str)]
    notes: list[str] = []
    for (one, left), (other, right) in pairwise(texts):
        if left == right or max(len(left), len(right)) <= LONG:
            continue
        lines = unified_diff(left.splitlines(), right.splitlines(), n=0, lineterm="")
        changed = [f"{line[0]} {line[1:]}" for line in lines if line[:3] not in {"---", "+++"} and line[:1] != "@"]
        more = [f"and {len(changed) - MAX_LINES:,} more lines"] if len(changed) > MAX_LINES else []
        notes += [f"{one} and {other} differ in these lines:", *changed[:MAX_LINES], *more]
    return tuple(notes)


def _values(name: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """A record feature by feature: an input as it is, any other as the first input with its differences.

    The description of a difference takes precedence: for an image it is words, where the input has all the numbers.
    """
    inputs, differs = item["inputs"], item["differs"]
    first = next(iter(inputs))
    base = inputs[first] if isinstance(inputs[first], Mapping) else {"value": inputs[first]}
    if name == first:
        return dict(base) | {key: change[0] for changes in differs.values() for key, change in changes.items()}
    own = inputs.get(name)
    changed = {key: change[1] for key, change in differs.get(name, {}).items()}
    return (dict(own) if isinstance(own, Mapping) else dict(base)) | changed


def _title(item: Mapping[str, Any], origins: list[str], unchanged: frozenset[str]) -> str:
    """Which inputs, what was changed in the first, and what the model said."""
    inputs, differs = item["inputs"], item["differs"]
    made = {name: changes for name, changes in differs.items() if name not in inputs} or differs
    answers = ", ".join(f"{name} = {value_text(value, 40)}" for name, value in item.get("outputs", {}).items())
    return f"{', '.join(origins)}: {_changed(made, 3, unchanged) or 'nothing changed'}; {answers}"


def _change(feature: str, before: Any, after: Any, unchanged: frozenset[str]) -> str:
    if isinstance(before, str) and before in unchanged:
        return f"{feature}: {value_text(after, 40)}"
    return f"{feature} {value_text(before, 40)} → {value_text(after, 40)}"


def _heading(item: Mapping[str, Any], origins: Mapping[str, str], is_domain: bool) -> str:
    """Which inputs they are, with their sizes if they have any, and whether it is the smallest change."""
    inputs = []
    for name, origin in origins.items():
        shape = item["inputs"].get(name, {}).get("shape") if is_domain else None
        size = f" ({' x '.join(map(str, shape))})" if isinstance(shape, list | tuple) else ""
        inputs.append(f"{name} is {origin}{size}")
    smallest = "; the smallest change of it that violates" if item.get("minimal") else "; a change of it that violates"
    return ", ".join(inputs) + (smallest if item["differs"] else "")


def _size(item: Mapping[str, Any]) -> tuple[float, ...]:
    """How much was changed, where that is known; elsewhere the verdict's order is kept."""
    if "features_changed" not in item:
        return (0.0, 0.0)
    return (item["features_changed"], item.get("distance") or 0.0)


VIEW = View(
    kind="k-safety",
    title="k-safety",
    meanings=_MEANINGS,
    finding=_finding,
    counts=True,
    explanation_first=True,
    tally=_tally,
    facts=_facts,
    blocks=_blocks,
    counterexample=_counterexample,
    size=_size,
)


# --------------------------------------------------------------------------------------------------------------- repair


_REPAIRED = {
    "holds": "The repaired model violates its properties as rarely as required, and loses no more accuracy than "
    "allowed.",
    "violated": "The repair did not reach its goal: violations are more frequent than allowed, or it loses more "
    "accuracy.",
    "undecided": f"{NOT_A_PASS} the held-out rows do not show that the repair reached its goal.",
}


def _bought(verdict: Verdict, compact: bool) -> str:
    """The shares before and after, and the accuracy, in one line."""
    del compact
    shares = [
        f"{_percent(item['before'])} to {_percent(item['after'])} of cases violate {item['name']}"
        for item in verdict.details["properties"]
    ]
    counts = verdict.details["accuracy"]
    before, after = (counts[f"right_{when}"] / counts["rows"] for when in ("before", "after"))
    return "; ".join([*shares, f"accuracy {before:.1%} to {after:.1%}"])


def _percent(counts: Mapping[str, Any]) -> str:
    return f"{counts['violating'] / counts['tested']:.2%}" if counts["tested"] else "an unknown share"


def _searches(verdict: Verdict) -> tuple[Block, ...]:
    """The claims, what they are made of, and what each search found; of many searches, the first and the last."""
    rounds = verdict.details["rounds"]
    shown = rounds if len(rounds) <= 2 * ROUNDS_SHOWN else [*rounds[:ROUNDS_SHOWN], *rounds[-ROUNDS_SHOWN:]]
    keys = ("number", "searched", "violating", "added")
    rows = tuple(tuple(f"{item[key]:,}" for key in keys) for item in shown)
    table = TableBlock("searches", ("round", "cases searched", "violations", "rows added"), rows)
    return (*quantities_and_rates(verdict), table)


ROUNDS_SHOWN = 5
"""How many of the first, and of the last, searches are shown."""

REPAIR = View(
    kind="repair",
    title="repair",
    meanings=_REPAIRED,
    finding=_bought,
    counts=True,
    blocks=_searches,
    counterexample=_counterexample,
    size=_size,
)
"""What renderers show of a repair: what it gained, and at what cost."""

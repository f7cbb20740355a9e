"""The verdict of a k-safety check: shares with intervals, counts, and counterexamples.

What renderers show of a k-safety verdict: how many cases break the claim, and those cases record by record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from itertools import pairwise
from typing import Any

from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.corners import Corners
from isonomia.audits.ksafety.evidence import Share, Tally, compared_share, complete_share, drawn_share, noise_shares
from isonomia.audits.ksafety.setup import INTERRUPTED, Setup
from isonomia.audits.ksafety.violations import ViolationSummary, is_proof
from isonomia.audits.verdicts import new_verdict, same_answers, stored_violations
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
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.records.violations import ViolationSet
from isonomia.spec.nomos.tree import Ensures, Var, calls_in, expression_text
from isonomia.wording import chance, plural, value_text

_MEANINGS = {
    "holds": "The model keeps the claim: cases that violate it are as rare as required.",
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
        finding = "answers change in {changes:.2%} of cases, in {again:.2%} when asked again".format(**details["noise"])
        return f"{finding}; difference {quantity_finding(item, compact)}"
    corners = details.get("corners", {"violating": 0})
    if corners["violating"] and not bad and verdict.answer == "violated":
        drawn = f", none of {tested:,} random cases" if tested else ""
        return f"{_broken(corners['violating'], corners['tried'], 'corners')}{drawn}"
    if not tested and verdict.answer == "violated":
        return verdict.stopped  # known counterexamples decided it
    finding = _broken(bad, tested, "cases")
    if item is None or (item.threshold == 0 and bad):
        return finding  # a single one is too many: how often it happens does not matter
    share = quantity_finding(replace(item, estimate=None), compact)
    return finding if item.low == item.high else f"{finding}; share {share}"


def _broken(bad: int, of: int, what: str) -> str:
    return f"{bad:,} of {of:,} {what} {'violates' if bad == 1 else 'violate'} it"


def _tally(verdict: Verdict) -> str | None:
    violations = verdict.details.get("violations")
    corners = verdict.details.get("corners", {"violating": 0})
    if violations and corners["violating"] and not violations["cases"]:
        return _broken(corners["violating"], corners["tried"], "corners, which lie at the ends of ranges,")
    if violations and violations["cases"]:
        tested, inputs = verdict.details["cases"]["tested"], plural(violations["inputs"], "input")
        return f"{violations['cases']:,} of {tested:,} cases violate it, of {inputs}"
    return None


def _facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    if "violations" not in verdict.details:
        return ()
    cases, bad = verdict.details["cases"], verdict.details["violations"]
    facts = [("cases that violate it", f"{bad['cases']:,}"), ("inputs among them", f"{bad['inputs']:,}")]
    if corners := verdict.details.get("corners"):
        facts.append(("corners that violate it", f"{corners['violating']:,} of {corners['tried']:,}"))
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
    corners = details.get("corners", {"tried": 0})
    words = [f"{plural(corners['tried'], 'corner')} tried"] if corners["tried"] else []
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
    if corners["tried"] and corners["violating"]:
        words.append(f"{plural(corners['violating'], 'violating corner')}")
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


AUDIT = "k-safety"
"""The name of this audit in the details of a verdict."""


@dataclass(frozen=True, slots=True)
class SafetyOutcome:
    """How a check ended.

    Attributes
    ----------
    answer
        ``True`` for holds, ``False`` for violated, ``None`` for undecided.
    tally, summary
        The counts, and what is known about the violations.
    complete
        Whether every case was tried.
    tested
        How many cases were put to the model in all: those in ``tally``, and others.
    stopped, seconds
        Why it stopped, and how long it took.
    remarks
        What else a reader should know.
    drawn
        The random cases from which shares are estimated, where they are not those of ``tally``.
    corners
        The result of the corners, where some were tried.
    failures
        Why cases outside ``tally`` failed, and how many: known counterexamples, corners, and the cases of a sample's
        rows.
    beyond
        For a claim beyond noise, by how much answers change more often than when asked again.
    """

    answer: bool | None
    tally: Tally
    summary: ViolationSummary
    complete: bool
    tested: int
    stopped: str
    seconds: float
    remarks: tuple[str, ...] = ()
    drawn: Tally | None = None
    corners: Corners | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    beyond: Share | None = None

    def with_failures(self, failures: Mapping[str, int]) -> SafetyOutcome:
        """The same outcome with further failed cases: whatever step they come from, they count against *holds*."""
        if not failures:
            return self
        outcome = replace(self, failures=Counter(self.failures) + Counter(failures))
        return replace(outcome, answer=None, stopped="a case failed") if self.answer is True else outcome

    @property
    def refuted(self) -> bool:
        """Whether a corner violates what must always be true."""
        return self.corners is not None and self.corners.refuting

    @property
    def estimating(self) -> Tally:
        """What shares are estimated from."""
        return self.tally if self.drawn is None else self.drawn


def verdict_of(setup: Setup, outcome: SafetyOutcome) -> Verdict:
    """Put the verdict together."""
    check, program, shown = setup.check, setup.program, outcome.summary.counterexamples
    fact = outcome.complete or (outcome.answer is False and any(is_proof(program, item) for item in shown))
    shares = [_share(number, outcome, check.delta) for number in range(len(program.spec.ensures))]
    names = [f"violates {expression_text(item.condition)}" for item in program.spec.ensures]
    leaves, compared = list(zip(names, shares, strict=True)), shares
    if outcome.beyond is not None:
        pair = noise_shares(outcome.tally, check.delta)
        leaves, compared = list(zip((names[0], f"{names[0]}, asked again"), pair, strict=True)), [outcome.beyond]
    return new_verdict(
        check,
        outcome.answer,
        risk=0.0 if fact or outcome.answer is None else check.delta,
        method="exact" if outcome.complete else "tests",
        samples=outcome.tested,
        leaves=tuple(LeafRecord(name, outcome.estimating.tested, *share) for name, share in leaves),
        expressions=tuple(
            _expression(item, number, share, outcome, check.prop.eps)
            for number, (item, share) in enumerate(zip(program.spec.ensures, compared, strict=True))
        ),
        stopped=outcome.stopped,
        assumptions=_assumptions(setup, outcome),
        remarks=(*outcome.remarks, *_remarks(setup, outcome)),
        seconds=outcome.seconds,
        population=setup.subject.population,
        counterexamples=shown,
        details=_details(setup, outcome),
        counted="cases",
        kept=_kept(setup, outcome),
    )


def _kept(setup: Setup, outcome: SafetyOutcome) -> ViolationSet | None:
    """All violations: those seen now, or those stored by the run that wrote this journal."""
    stored = stored_violations(setup.journal)
    if stored is not None and setup.finished and not len(setup.violations.kept):
        return stored.violations()
    kept = setup.violations.kept
    if not len(kept):
        return None
    if stored is not None and outcome.stopped != INTERRUPTED:
        stored.keep_violations(kept)
    return kept


def _share(number: int, outcome: SafetyOutcome, delta: float) -> Share:
    if outcome.complete:
        return complete_share(outcome.estimating, number)
    return drawn_share(outcome.estimating, number, delta)


def _expression(item: Ensures, number: int, share: Share, outcome: SafetyOutcome, eps: float) -> Expression:
    some_left_open = not outcome.complete and not outcome.tally.by_ensures[number] and not outcome.refuted
    return compared_share(item, share, eps if some_left_open else None, outcome.answer is True)


def _assumptions(setup: Setup, outcome: SafetyOutcome) -> tuple[str, ...]:
    program, subject = setup.program, setup.subject
    same = same_answers(setup.check, "the model always gives the same answer for the same input")
    assumptions = [*subject.assumptions, *same]
    steady = sorted(_called(program) & subject.own)
    if steady:
        assumptions.append(f"{', '.join(steady)} always gives the same result for the same arguments")
    if program.code is not None:
        assumptions.append("the block draws random numbers by randInt, randReal and the domain's functions only")
    if not outcome.complete and outcome.answer is not False:
        assumptions.append("cases are drawn independently, every choice uniform over its range")
    return tuple(assumptions)


def _called(program: CompiledSpec) -> set[str]:
    """Every function that is called, and every name that code reads."""
    steps = (*program.preparation, *program.finish, *program.ensures)
    parts = (step.value if isinstance(step, Var) else step.condition for step in steps)
    called = {call.function for part in parts for call in calls_in(part)}
    return called | (set() if program.code is None else set(program.code.reads))


def _remarks(setup: Setup, outcome: SafetyOutcome) -> tuple[str, ...]:
    tally, summary = outcome.tally, outcome.summary
    remarks = [] if outcome.corners is None else outcome.corners.remarks()
    if tally.rejected or tally.without_choice:
        remarks.append(
            f"{tally.rejected:,} draws were rejected by a precondition and {tally.without_choice:,} had nothing to "
            "choose from; neither counts as a case"
        )
    if tally.vacuous:
        cases = "all cases" if tally.vacuous == tally.tested else f"{tally.vacuous:,} of {tally.tested:,} cases"
        remarks.append(f"in {cases} the condition of the implication was false, so nothing was tested")
    for reason, count in (tally.reasons + Counter(outcome.failures)).most_common(5):
        remarks.append(f"{plural(count, 'case')} failed: {reason}")
    if tally.failed or outcome.failures:
        remarks.append("cases that failed count against holds, and not as violations")
    if setup.evidence.strict and not outcome.complete and not tally.violating and not tally.weight:
        remarks += _without_violation(setup, outcome)
    if tally.violating:
        remarks.append(_distinct(summary, "distinct violation" if outcome.beyond is None else "consistent flip"))
    if tally.violating and summary.gone > 0 and setup.check.random_model:
        remarks.append(
            f"{plural(summary.gone, 'violation')} did not occur again when the model was asked again, which is to be "
            "expected of a model that answers at random; those shown occurred again"
        )
    elif tally.violating and summary.gone > 0:
        remarks.append(
            f"{plural(summary.gone, 'violation')} did not occur when the same case was computed again: "
            "something in it draws from something else than its seed, or does not answer the same to the same question"
        )
    if setup.program.code is not None:
        remarks.append("the block was run as Python, as you allowed")
    if setup.subject.ignored:
        names = ", ".join(setup.subject.ignored)
        meant = "the model that was given, and draws that can be repeated"
        remarks.append(f"{names} of the imports is not used: by these names the language means {meant}")
    return tuple(remarks)


def _distinct(summary: ViolationSummary, called: str) -> str:
    violations, inputs = plural(summary.distinct, called), plural(summary.inputs, "input")
    if summary.exact:
        return f"{violations} of {inputs} were found"
    least = "at least " if summary.inputs >= summary.distinct else ""
    return f"more than {violations} of {least}{inputs} were found"


def _without_violation(setup: Setup, outcome: SafetyOutcome) -> list[str]:
    """What random cases without a violation prove, and why an interval says less."""
    n, check = outcome.tally.tested, setup.check
    if not n or outcome.tally.failed or outcome.failures:
        return []
    shown, proved = f"{plural(n, 'case')} showed no violation", setup.evidence.proved(n)
    if outcome.refuted:
        few = f"less than {chance(proved)} of the cases violate it, at the risk {chance(check.delta)}"
        return [f"{plural(n, 'random case')} showed no violation: {few}"]
    if outcome.answer is True:
        return [f"{shown}: it holds for all but {check.prop.eps:.3g} of the cases"]
    return [
        f"{shown}, which by itself proves that it holds for all but {chance(proved)} of the cases, at the risk "
        f"{chance(check.delta)}; the interval of the share has to be right after violations too, and is wider"
    ]


def _details(setup: Setup, outcome: SafetyOutcome) -> dict[str, Any]:
    tally, summary, corners = outcome.tally, outcome.summary, outcome.corners
    conditions = [expression_text(item.condition) for item in setup.program.spec.ensures]
    changes, repeats = noise_shares(tally, setup.check.delta)
    return {
        "audit": AUDIT,
        **({} if outcome.beyond is None else {"noise": {"changes": changes[0], "again": repeats[0]}}),
        "k": setup.program.k,
        "eps": setup.check.prop.eps,
        "complete": outcome.complete,
        "cases": {
            "tested": tally.tested,
            **({"further": outcome.tested - tally.tested} if outcome.tested > tally.tested else {}),
            "rejected": tally.rejected,
            "without_choice": tally.without_choice,
            "vacuous": tally.vacuous,
            "failed": tally.failed,
            "inputs": summary.tested,
        },
        "violations": {
            "cases": tally.violating,
            "distinct": summary.distinct,
            **({} if summary.exact else {"exact": False}),
            "inputs": summary.inputs,
            "by_ensures": dict(zip(conditions, tally.by_ensures, strict=True)),
        },
        **({"kinds": list(summary.kinds)} if summary.kinds else {}),
        "failures": dict((tally.reasons + Counter(outcome.failures)).most_common(20)),
        **({"corners": corners.counts()} if corners and corners.tried else {}),
    }

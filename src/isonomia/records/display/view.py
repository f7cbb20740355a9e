"""What a verdict of each kind of audit shows: the one view that text, terminal, notebook, page and files render.

An audit registers its :class:`View` once, and no renderer needs to know which audit it is. A view is made of plain
values and of small pure functions of a verdict: its finding in one line, its facts, its blocks (tables and charts as
values), and its counterexamples as records side by side. A kind that is not registered shows what every verdict has.

The sentences of a verdict that every renderer shares: its answer, its cost, its guarantee, its intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, TypeAlias

from isonomia.records.verdict import ANSWERS, Expression, LeafRecord, Verdict
from isonomia.wording import chance, number, plural, value_text

SIGNS = {"holds": "✔", "violated": "✘", "undecided": "?"}

ASSUMPTIONS = "what checks each assumption: theory/assumptions in the documentation"
"""Where the assumptions of a verdict are explained."""

_SINGULAR = {"people": "person", "pairs": "pair", "cases": "case", "points": "point", "clusters": "cluster"}
"""What one of a verdict's samples is called."""


def answer_line(verdict: Verdict) -> str:
    """The answer and what it cost, and for a claim for every group the worst group, in one line."""
    spent = cost(verdict) if verdict.counted == "clusters" else plural(verdict.samples, "sample")
    how = "by proof" if verdict.proved else f"after {spent}"
    line = f"{verdict.answer} {how} ({verdict.stopped})"
    return f"{line}; {worst_group(verdict)}" if verdict.worst else line


def worst_group(verdict: Verdict) -> str:
    """The worst comparison of a claim for every group, with its size where that is small; empty without estimates."""
    worst = verdict.worst
    if worst is None:
        return ""
    which = _worst_of(verdict)
    size = f" (n = {worst.n:,})" if 0 < worst.n < _FEW else ""
    known = "" if worst.answer == verdict.answer else f" ({worst.answer})"
    if verdict.answer == "violated" and worst.answer == "undecided":
        known = ", and no single group is decided yet"
    return f"{which} is {worst.group}{size}{known}"


_FEW = 30
"""Below this many draws, a comparison is named with their number."""


def _worst_of(verdict: Verdict) -> str:
    """What the worst comparison is called: each group, or each pair of groups, is one comparison."""
    return "the only comparison" if len(verdict.groups) == 1 else f"the worst of {len(verdict.groups):,} comparisons"


def quantities(verdict: Verdict) -> tuple[Expression, ...]:
    """The compared quantities to show: for a claim for every group, one for each group, the worst first."""
    order = ("violated", "undecided", "holds")
    groups = sorted(verdict.groups, key=lambda item: (order.index(item.answer), item.expression.margin))
    return tuple(item.expression for item in groups) or verdict.expressions


WORST = 5
"""How many comparisons a text shows where there are more than twice as many."""


def shown_findings(verdict: Verdict) -> tuple[tuple[Expression, ...], tuple[LeafRecord, ...], int]:
    """What a text shows of the findings: of many comparisons the worst and the rates in them; and how many it omits."""
    items = quantities(verdict)
    if len(verdict.groups) <= 2 * WORST:
        return items, verdict.leaves, 0
    shown = items[:WORST]
    leaves = tuple(leaf for leaf in verdict.leaves if any(leaf.text in item.text for item in shown))
    return shown, leaves, len(items) - len(shown)


def cost(verdict: Verdict) -> str:
    """How many people, pairs, cases or points it took."""
    if verdict.proved:
        return "proved"
    return plural(verdict.samples, _SINGULAR[verdict.counted], verdict.counted)


def queries(verdict: Verdict) -> str:
    """How many rows were sent to the model, and how many of them a second time; empty where there was none."""
    if verdict.queries is None:
        return ""
    again = f" ({verdict.repeated:,} a second time, no answer changed)" if verdict.repeated else ""
    return f"{sent_to_model(verdict.queries)}{again}"


def sent_to_model(rows: int) -> str:
    """What was asked of a model, in words."""
    return f"{plural(rows, 'row')} sent to the model"


def early(verdict: Verdict) -> str:
    """Which part of a table the estimates are from, if it was enough to decide; otherwise empty."""
    size = verdict.population.get("size")
    if verdict.stopped != "decided" or verdict.counted != "people" or not isinstance(size, int):
        return ""
    if not verdict.leaves or verdict.samples >= size:
        return ""
    return f"{verdict.samples:,} of the {size:,} rows"


def risk(verdict: Verdict) -> str:
    """The risk of the answer, for a cell of a table."""
    return "-" if verdict.answer == "undecided" else "0 (exact)" if verdict.risk == 0 else chance(verdict.risk)


def guarantee(verdict: Verdict) -> str:
    """What the answer is worth, in one sentence."""
    if verdict.answer == "undecided" and verdict.method == "exact":
        return "The proof is inconclusive."
    if verdict.answer == "undecided":
        return "Nothing is claimed."
    if verdict.risk == 0:
        return "Exact: there is no risk of error."
    return f"This answer is wrong with probability at most {chance(verdict.risk)}, {looks(verdict)}."


def level(verdict: Verdict) -> str:
    """The level of every interval that is shown, in one sentence; empty without intervals, or where all are exact."""
    known: tuple[Expression | LeafRecord, ...] = (*verdict.expressions, *verdict.leaves)
    if verdict.method == "exact" or not any(item.low < item.high for item in known):
        return ""
    both = f", both limits with at most {chance(2.0 * verdict.delta)}" if 2.0 * verdict.delta < 1.0 else ""
    groups = "; those of the comparisons hold for all of them together" if verdict.groups else ""
    one = f"Each limit of an interval is wrong with probability at most {chance(verdict.delta)}"
    return f"{one}{both}, {looks(verdict)}{groups}."


def levels(verdicts: Iterable[Verdict]) -> str:
    """The level of the intervals in a table of verdicts, in one sentence; empty where it has none."""
    if not any(map(level, verdicts)):
        return ""
    return "Each limit of an interval is wrong with probability at most the risk chosen for its property."


def seed_note(verdict: Verdict) -> str:
    """That the seed was chosen by hand, in words; empty where it was derived from property, data and model."""
    if not verdict.seed_chosen or verdict.exact:
        return ""
    return f"the seed, {verdict.seed}, was chosen by hand; the guarantee is for a seed chosen before any answer is seen"


def looks(verdict: Verdict) -> str:
    """The looks for which the risk is valid, in words."""
    match verdict.looks:
        case "any":
            return "at every look"
        case "once" | 1:
            return "for one look at a number of samples that was fixed beforehand"
        case str(which):
            return f"for look {which.partition(' after ')[0]}, all of them together"
        case count:
            return f"for {count} looks planned beforehand"


def rows(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """A row for each quantity and leaf of :func:`shown_findings`: text, estimate, interval and draws."""
    items, records, _ = shown_findings(verdict)
    first = [
        (
            f"{ANSWERS[item.settled]}: {compared(item)}" if verdict.groups else compared(item),
            number(item.estimate),
            interval(item),
            "",
        )
        for item in items
    ]
    leaves = [(item.text, number(item.estimate), interval(item), draws(item)) for item in records]
    return first + leaves


def unit(verdict: Verdict) -> str:
    """What the draws of a rate are: where rows belong together, a rate is of the rows of its clusters."""
    return "rows" if verdict.counted == "clusters" else "samples"


def draws(item: LeafRecord) -> str:
    """How many draws informed a rate; empty if its value was proved."""
    return "" if not item.n and item.estimate is not None else f"{item.n:,}"


def compared(item: Expression) -> str:
    """What is compared with what, such as ``P[hired] >= 0.5``."""
    return f"{item.text} {item.relation} {number(item.threshold)}"


def interval(item: Expression | LeafRecord) -> str:
    """The interval that the draws do not refute; a round bracket at an end that is the threshold and is refuted."""
    edge = item.threshold if isinstance(item, Expression) else None
    low, high = _beside(item.low, edge), _beside(item.high, edge)
    first = "(" if edge is not None and item.low > edge and low == number(edge) else "["
    last = ")" if edge is not None and item.high < edge and high == number(edge) else "]"
    return f"{first}{low}, {high}{last}"


def _beside(end: float, edge: float | None) -> str:
    """An end of an interval, with enough digits, up to eight, to tell it from a threshold close by."""
    if edge is None or end == edge:
        return number(end)
    apart = (text for digits in range(4, 9) if (text := number(end, digits)) != number(edge, digits))
    return next(apart, number(end))


def must_be(item: Expression) -> str:
    """What is claimed about a quantity: ``must be >= 0.8``, or ``must be 0``."""
    sign = "" if item.relation == "==" else f"{item.relation} "
    return f"must be {sign}{number(item.threshold)}"


def telling(verdict: Verdict) -> Expression | None:
    """The compared quantity that says most about the answer: one that settles it, if there is one, else the first.

    For a claim for every group it is that of the worst group. If all groups together are refuted, but no single one is,
    it is the worst value of all, without an estimate: it is not yet known which group has it.
    """
    worst = verdict.worst
    if worst is not None and worst.answer == verdict.answer:
        return worst.expression
    if worst is not None and verdict.headline is not None:
        return replace(verdict.headline, estimate=None)
    if verdict.groups or not verdict.expressions:
        return verdict.headline
    wanted = {"violated": False, "undecided": None, "holds": True}[verdict.answer]
    settling = (item for item in verdict.expressions if item.settled is wanted)
    return next(settling, verdict.expressions[0])


def compared_finding(verdict: Verdict, compact: bool = False) -> str:
    """The most telling interval, against its threshold; why the check stopped if nothing is compared."""
    item, worst = telling(verdict), verdict.worst
    if item is None:
        return verdict.stopped
    known = quantity_finding(item, compact)
    if worst is None:
        return known
    return f"{worst.group if worst.answer == verdict.answer else _worst_of(verdict)}: {known}"


def quantity_finding(item: Expression, compact: bool) -> str:
    """The finding about one quantity; a compact line has a sign instead of words for what it must be."""
    estimate = "" if item.estimate is None else f"{number(item.estimate)} "
    claim = f" {item.relation} {number(item.threshold)}" if compact else f", {must_be(item)}"
    return f"{estimate}in {interval(item)}{claim}"


def scale_of(item: Expression) -> tuple[float, float]:
    """The ends of an axis for a quantity: a quarter of the spread beyond what must be visible, on either side."""
    return stretch((item.low, item.high, item.threshold, item.estimate), 0.25)


def stretch(values: Iterable[float | None], beyond: float) -> tuple[float, float]:
    """The ends of an axis that shows all the finite values, and a part of their spread beyond them on either side."""
    finite = [value for value in values if value is not None and isfinite(value)] or [0.0]
    least, largest = min(finite), max(finite)
    reach = beyond * (largest - least) or beyond * abs(largest) or 1.0
    return least - reach, largest + reach


RATES = "rates"
"""The kind of a verdict whose details name no audit."""

NOT_A_PASS = "Nothing is proved, and this is not a pass:"

MEANINGS: Mapping[str, str] = {
    "holds": "The claim is proved for the population that was audited.",
    "violated": "The claim is refuted: it is not true of the population that was audited.",
    "undecided": f"{NOT_A_PASS} the data allow the claim to be true, and they allow it to be false.",
}
"""What each answer means, unless an audit has its own words."""


# -------------------------------------------------------------------------------------------------------------- blocks


@dataclass(frozen=True, slots=True)
class Quantities:
    """Compared quantities, each with its interval against its threshold."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates and means with their intervals."""

    items: tuple[LeafRecord, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What was counted, in one line."""

    text: str


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Plain text in rows, under a title."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class EffectBounds:
    """An effect of an attribute in one subgroup: what is not refuted, and what the sample's own shares allow.

    ``interval`` is ``None`` if the data refute the assumptions.
    """

    name: str
    words: str
    interval: tuple[float, float] | None
    sample: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class SubgroupBounds:
    """One subgroup: its size in words, its answer, the evidence in words, the size of an exact proof, its effects."""

    name: str
    size: str
    answer: str
    evidence: str | None
    proof: float | None
    effects: tuple[EffectBounds, ...]


@dataclass(frozen=True, slots=True)
class Subgroups:
    """The bounds of effects in every subgroup, those that violate first, against a margin on either side of zero."""

    items: tuple[SubgroupBounds, ...]
    margin: float
    exact: bool


@dataclass(frozen=True, slots=True)
class PeopleKind:
    """One kind of people: the key of its counts, what it is called, and the answer for these people."""

    key: str
    words: str
    answer: str


@dataclass(frozen=True, slots=True)
class PeopleCounts:
    """How many people there are of each kind, in total and by group, and the share that each person reaches.

    ``counts`` has a number for each kind, and for ``people`` and ``exact``. A share is ``None`` if it is unknown.
    """

    whom: str
    kinds: tuple[PeopleKind, ...]
    counts: Mapping[str, int]
    groups: tuple[tuple[Mapping[str, Any], Mapping[str, int]], ...]
    target: str
    relation: str
    threshold: float
    shares: tuple[tuple[float | None, str], ...]


Block: TypeAlias = Quantities | Rates | Sentence | TableBlock | Subgroups | PeopleCounts
"""A part of a verdict that renderers know how to draw."""


def quantities_and_rates(verdict: Verdict) -> tuple[Block, ...]:
    """What every verdict has: its compared quantities, and the rates that they are made of."""
    blocks: list[Block] = []
    if verdict.expressions:
        blocks.append(Quantities(quantities(verdict)))
    if verdict.leaves:
        blocks.append(Rates(verdict.leaves))
    return tuple(blocks)


# ----------------------------------------------------------------------------------------------------- counterexamples


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record of a counterexample.

    Attributes
    ----------
    name, origin
        What it is called, and where it comes from, such as ``row 17``.
    values
        Its features.
    changes
        What differs from the first record, each as before and after; ``None`` if it is not compared with it.
    """

    name: str
    origin: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Sequence[Any]] | None = None

    @property
    def head(self) -> str:
        """Its name with its origin."""
        return f"{self.name} ({self.origin})" if self.origin else self.name


@dataclass(frozen=True, slots=True)
class CounterexampleView:
    """A counterexample as plain values: records side by side, the model's answers, and what is not true.

    Attributes
    ----------
    title
        In one line: which records, what was changed, and the result.
    records
        The records, the first unchanged.
    outputs
        The model's answers, by name.
    violates
        What should be true and is not.
    choices, variables
        What was chosen at random, if that is informative, and what was computed on the way.
    minimal
        Whether no smaller change was found to violate the property.
    unchanged
        The words with which a domain describes an unchanged record, in place of a value.
    heading
        What the records are, for a list; if empty, the title.
    sentence, notes
        What happens, and what else there is to say, if the records do not show it.
    line
        Where, and what happens there, if one line says it all; then a terminal shows nothing else.
    """

    title: str
    records: tuple[RecordView, ...] = ()
    outputs: tuple[tuple[str, Any], ...] = ()
    violates: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    minimal: bool = False
    unchanged: frozenset[str] = frozenset()
    heading: str = ""
    sentence: str = ""
    notes: tuple[str, ...] = ()
    line: tuple[str, str] | None = None

    def is_described(self, before: Any) -> bool:
        """Whether a domain describes in words what a record was and became, as for an image."""
        return isinstance(before, str) and before in self.unchanged


def plain_counterexample(verdict: Verdict, item: Mapping[str, Any]) -> CounterexampleView:  # noqa: ARG001
    """A counterexample of any kind: its values by name."""
    title = ", ".join(f"{key} {value_text(value, 40)}" for key, value in [*item.items()][:4])
    return CounterexampleView(title, (RecordView("value", values=item),))


# --------------------------------------------------------------------------------------------------------------- views


def _nothing(verdict: Verdict) -> None:  # noqa: ARG001
    return None


def _no_facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:  # noqa: ARG001
    return ()


def _in_order(item: Mapping[str, Any]) -> tuple[float, ...]:  # noqa: ARG001
    return ()


@dataclass(frozen=True, slots=True)
class View:
    """What renderers show of the verdicts of one audit.

    Attributes
    ----------
    kind
        What the details of such a verdict have under ``audit``; ``rates`` if they have nothing.
    title
        What the audit is called.
    meanings
        What each answer says about the model, in a sentence.
    finding
        The finding, in a few words on one line. The second argument requests a compact line, with a sign instead of
        words for what a quantity must be.
    counts
        Whether the finding counts something that the table of quantities does not show.
    explanation_first
        Whether an explanation in plain English goes before the text of the property, as for a program.
    explain
        The explanation that the text of the property itself gives; ``None`` if it gives none.
    tally
        How many people or cases violate the property, in a line; ``None`` if nothing is counted.
    facts
        Further facts, by name.
    blocks
        The parts of the findings, in order.
    charts
        The blocks that are drawn as charts; by default the same.
    counterexample
        The view of one counterexample.
    counterexamples
        All of them in order, those that belong together as one; by default each separately.
    size
        The key by which the smallest counterexample is found; by default the first is.
    superlative
        What distinguishes the first counterexample from the others.
    """

    kind: str
    title: str
    meanings: Mapping[str, str] = field(default_factory=lambda: MEANINGS)
    finding: Callable[[Verdict, bool], str] = compared_finding
    counts: bool = False
    explanation_first: bool = False
    explain: Callable[[Verdict], str | None] = _nothing
    tally: Callable[[Verdict], str | None] = _nothing
    facts: Callable[[Verdict], tuple[tuple[str, str], ...]] = _no_facts
    blocks: Callable[[Verdict], tuple[Block, ...]] = quantities_and_rates
    charts: Callable[[Verdict], tuple[Block, ...]] | None = None
    counterexample: Callable[[Verdict, Mapping[str, Any]], CounterexampleView] = plain_counterexample
    counterexamples: Callable[[Verdict], Iterable[CounterexampleView]] | None = None
    size: Callable[[Mapping[str, Any]], tuple[float, ...]] = _in_order
    superlative: str = "smallest"

    def drawn(self, verdict: Verdict) -> tuple[Block, ...]:
        """The blocks that are drawn as charts."""
        return (self.charts or self.blocks)(verdict)

    def cases(self, verdict: Verdict) -> list[CounterexampleView]:
        """The counterexamples, those that belong together as one."""
        if self.counterexamples is not None:
            return list(self.counterexamples(verdict))
        return [self.counterexample(verdict, item) for item in verdict.counterexamples]


VIEWS: dict[str, View] = {}
"""Every registered view, by its kind."""


def register(view: View) -> None:
    """Register a view; every renderer uses it for verdicts of its kind."""
    VIEWS[view.kind] = view


def view_of(verdict: Verdict) -> View:
    """The view of a verdict; a plain one for a kind that is not registered."""
    kind = verdict.details.get("audit", RATES)
    kind = kind if isinstance(kind, str) else RATES
    return VIEWS.get(kind) or View(kind, kind)

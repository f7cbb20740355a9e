"""What a verdict of each kind of audit shows: the one view that text, terminal, notebook, page and files render.

An audit registers its :class:`View` once, and no renderer needs to know which audit it is. A view is made of plain
values and of small pure functions of a verdict: its finding in one line, its facts, its blocks (tables and charts as
values), and its counterexamples as records side by side. A kind that is not registered shows what every verdict has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from isonomia.records.display.words import compared_finding, quantities
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.wording import value_text

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

    ``counts`` has a number for each kind, and for ``people`` and ``exact``. A share is ``None`` if it is not known.
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
        What is known, in a few words on one line. The second argument requests a compact line, with a sign instead of
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
        The parts of what is known, in order.
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

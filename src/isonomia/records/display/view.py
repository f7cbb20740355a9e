"""What a verdict of each kind of audit shows: the one view that text, terminal, notebook, page and files render.

An audit registers its :class:`View` once, and no renderer ever asks which audit it is. A view is made of plain values
and of small pure functions of a verdict: its finding in one line, its facts, its blocks (tables and charts as values),
and its counterexamples as records side by side. A kind that nobody registered is shown by what every verdict has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from isonomia.records.display.words import compared_finding, quantities
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.wording import value_text

__all__ = [
    "NOT_A_PASS",
    "RATES",
    "Block",
    "CounterexampleView",
    "EffectBounds",
    "PeopleCounts",
    "PeopleKind",
    "Quantities",
    "Rates",
    "RecordView",
    "Sentence",
    "SubgroupBounds",
    "Subgroups",
    "TableBlock",
    "View",
    "quantities_and_rates",
    "register",
    "view_of",
]

RATES = "rates"
"""The kind of a verdict whose details name no audit."""

NOT_A_PASS = "Nothing is proved, and this is not a pass:"

MEANINGS: Mapping[str, str] = {
    "holds": "The claim is proved for the population that was audited.",
    "violated": "The claim is refuted: it is not true of the population that was audited.",
    "undecided": f"{NOT_A_PASS} the data allow the claim to be true, and they allow it to be false.",
}
"""What each answer says, where an audit has no words of its own."""


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

    ``interval`` is ``None`` where the data refute the assumptions.
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
    """How many people there are of each kind, in all and by group, and the share that each person reaches.

    ``counts`` has a number for each kind, and for ``people`` and ``exact``. A share is ``None`` where it is not known.
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
        What differs from the first record, each as before and after; ``None`` where it is not compared with it.
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
    """A counterexample as plain values: records side by side, what the model answered, and what is not true.

    Attributes
    ----------
    title
        In one line: which records, what was changed, what came of it.
    records
        The records, the first as it was.
    outputs
        What the model answered, by name.
    violates
        What should be true and is not.
    choices, variables
        What was chosen at random, where that tells something, and what was computed on the way.
    minimal
        Whether no smaller change of it was found to violate the property.
    unchanged
        What a domain says in words of a record that is as it was, in the place of a value.
    heading
        What the records are, for a list; the title where there is none.
    sentence, notes
        What happens, and what there is to say besides, where the records do not show it.
    line
        Where, and what happens there, where one line says it all; then a terminal shows nothing else.
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
        """Whether a domain says in words what a record was and became, as of an image."""
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
        What the details of such a verdict have under ``audit``; ``rates`` where they have nothing.
    title
        What the audit is called.
    meanings
        What each answer says about the model, in a sentence.
    finding
        What is known, in a few words on one line. The second argument asks for a compact line, in which a sign has to
        do where there are words for what a quantity must be.
    counts
        Whether the finding counts something that the table of quantities does not show.
    explanation_first
        Whether an explanation in plain English goes before the text of the property, as of a program.
    explain
        The explanation that the text of the property gives by itself; ``None`` where it gives none.
    tally
        How many people or cases go against the property, in a line; ``None`` where nothing is counted.
    facts
        Further facts, by name.
    blocks
        The parts of what is known, in order.
    charts
        The blocks that are drawn as charts; the same unless given.
    counterexample
        One counterexample by itself.
    counterexamples
        All of them in order, those that belong together as one; each by itself unless given.
    size
        By what the smallest counterexample is found; the first unless given.
    superlative
        What the first counterexample is among the others.
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
"""Every view that is known, by its kind."""


def register(view: View) -> None:
    """Make a view known; whatever renders a verdict of its kind uses it from now on."""
    VIEWS[view.kind] = view


def view_of(verdict: Verdict) -> View:
    """The view of a verdict; a plain one for a kind that nobody registered."""
    kind = verdict.details.get("audit", RATES)
    kind = kind if isinstance(kind, str) else RATES
    return VIEWS.get(kind) or View(kind, kind)

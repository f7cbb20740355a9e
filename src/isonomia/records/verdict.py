"""The verdict: an answer with its guarantee, and the findings about every compared quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf, isinf, nextafter
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from isonomia.errors import DataError, UsageError
from isonomia.records.frame import frame_of
from isonomia.records.strict_json import schema_problems, verdict_schema
from isonomia.wording import shortened

if TYPE_CHECKING:
    from isonomia.records.violations import ViolationSet

FORMAT = 2
"""The version of the stored form."""


ANSWERS: dict[bool | None, OneOf["holds", "violated", "undecided"]] = {
    True: "holds",
    False: "violated",
    None: "undecided",
}
"""What an interval says about its claim, as an answer."""


@dataclass(frozen=True, slots=True)
class LeafRecord:
    """The estimate of one leaf, with its interval.

    Attributes
    ----------
    text
        The leaf as it is written in the property.
    n
        How many draws informed it; 0 if its value was proved.
    estimate
        Their mean, or the proved value; ``None`` without draws or proof.
    low, high
        The limits of its interval. Each limit is on the wrong side of the truth with probability at most the verdict's
        ``delta``, over all looks, so both together miss with at most ``2 * delta``. Equal to the estimate if exact.
    """

    text: str
    n: int
    estimate: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Expression:
    """The estimate of one compared quantity, with its interval.

    Attributes
    ----------
    text
        The quantity.
    relation, threshold
        The requirement, for example ``>=`` and 0.8; ``==`` and 0 for an effect that must not exist.
    estimate
        Its value at the leaves' estimates; ``None`` if it has none.
    low, high
        The limits of its interval, in the sense of :class:`LeafRecord`. The answer is the side of the threshold on
        which the interval lies, so the level of each limit is that of the answer.
    """

    text: str
    relation: str
    threshold: float
    estimate: float | None
    low: float
    high: float

    @property
    def settled(self) -> bool | None:
        """The answer of the interval alone for this comparison; ``None`` if it covers the threshold."""
        low, high, edge = self.low, self.high, self.threshold
        match self.relation:
            case ">=":
                return True if low >= edge else False if high < edge else None
            case ">":
                return True if low > edge else False if high <= edge else None
            case "<=":
                return True if high <= edge else False if low > edge else None
            case "==":
                return True if low == edge == high else None if low <= edge <= high else False
            case _:
                return True if high < edge else False if low >= edge else None

    @property
    def margin(self) -> float:
        """By how much the estimate meets the threshold, negative if it does not; infinite without an estimate."""
        if self.estimate is None:
            return inf
        if self.relation == "==":
            return -abs(self.estimate - self.threshold)
        distance = self.estimate - self.threshold
        return distance if self.relation in {">", ">="} else -distance

    def agreeing(self, answer: bool | None) -> Expression:
        """The same quantity with an interval that agrees with an answer: on one side of the threshold, or across it."""
        if self.settled is answer:
            return self
        edge, below, above = self.threshold, nextafter(self.threshold, -inf), nextafter(self.threshold, inf)
        if answer is None:
            return replace(self, low=min(self.low, below), high=max(self.high, above))
        if answer is (self.relation in {">", ">="}):
            least = edge if self.relation in {">=", "<"} else above
            return replace(self, low=max(self.low, least), high=max(self.high, least))
        greatest = edge if self.relation in {"<=", ">"} else below
        return replace(self, low=min(self.low, greatest), high=min(self.high, greatest))


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """The finding about one group of a claim for every group.

    Attributes
    ----------
    group
        The group, such as ``sex == 'F', race == 'B'``.
    answer
        ``"holds"``, ``"violated"`` or ``"undecided"``, at one risk for all groups together.
    text, relation, threshold
        The compared quantity and its requirement; the worst if there are several.
    estimate
        Its value at the leaves' estimates; ``None`` if it has none.
    low, high
        The limits of its interval, on the answer's side of the threshold. The probability that the lower limit of any
        group is wrong is at most ``delta``, and so is that of any upper limit.
    n
        The number of draws of the group's rate with the fewest.
    """

    group: str
    answer: OneOf["holds", "violated", "undecided"]
    text: str
    relation: str
    threshold: float
    estimate: float | None
    low: float
    high: float
    n: int

    @property
    def expression(self) -> Expression:
        """The quantity alone."""
        return Expression(self.text, self.relation, self.threshold, self.estimate, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a check.

    Attributes
    ----------
    text
        The property's text.
    answer
        ``"holds"``, ``"violated"`` or ``"undecided"``.
    delta
        The risk chosen in advance.
    risk
        A bound on the probability that the answer is wrong: at most ``delta``; 0 for *exact* and *undecided* answers.
    method
        ``"bets"``, ``"region"``, ``"verifair"``, ``"exact"``, ``"one look"`` or ``"planned looks"``.
    samples
        The number of samples: people, or the unit in ``counted``.
    queries
        The number of rows sent to the model, for any purpose; ``None`` without a model, and for an old record.
    repeated
        The number of these rows that were sent a second time; no answer changed.
        ``None`` if unknown, and where the model may answer at random.
    spent
        The cost of a language model's answers, in tokens and dollars, and how many had no label; empty for other
        models.
    leaves, expressions
        The findings about each leaf and each compared quantity. Each limit of their intervals is wrong with
        probability at most ``delta``.
    stopped
        Why the check stopped, in words.
    assumptions
        The assumptions of the guarantee, in words.
    remarks
        What a reader should know about how the answer was reached.
    seed, seed_chosen
        The seed that repeats it, and whether it was chosen by hand. Otherwise it was derived from the property and the
        fingerprints of population and model, so no other seed can have been tried.
    seconds
        How long it took.
    population, model
        The population and the model: kind, size, name, fingerprint.
    counterexamples
        Inputs each of which violates the property; a statement about rates has none.
    name
        The property's name, if it has one.
    version
        The version of Isonomia that gave the verdict.
    details
        Further findings of an audit, as plain JSON values; empty for a property about rates.
    counted
        The unit of samples and budgets: ``"people"``; ``"pairs"`` of people if a property mentions
        ``other``; ``"cases"`` in k-safety; ``"points"`` that people can reach, in responsiveness; ``"clusters"``
        where rows belong together.
    looks
        The looks that the risk covers: at ``"any"`` time, ``"once"`` at the end, the number of planned looks, or the
        number of this look, ``"2 of 5 after 2000"``.
    groups
        The answer for each group, if the property claims something for every group; otherwise empty.
    kept
        All violations, for :meth:`violations`; not part of the stored form.
    """

    text: str
    answer: OneOf["holds", "violated", "undecided"]
    delta: float
    risk: float
    method: str
    samples: int
    leaves: tuple[LeafRecord, ...]
    expressions: tuple[Expression, ...]
    stopped: str
    assumptions: tuple[str, ...]
    remarks: tuple[str, ...]
    seed: int
    seconds: float
    population: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    counterexamples: tuple[Mapping[str, Any], ...] = ()
    name: str | None = None
    version: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    counted: OneOf["people", "pairs", "cases", "points", "clusters"] = "people"
    looks: str | int = "any"
    groups: tuple[GroupRecord, ...] = ()
    queries: int | None = field(default=None, compare=False)
    repeated: int | None = field(default=None, compare=False)
    spent: Mapping[str, float] = field(default_factory=dict, compare=False)
    seed_chosen: bool = False
    kept: ViolationSet | None = field(default=None, compare=False, repr=False)

    def violations(self) -> ViolationSet:
        """All distinct violations found, not only the smallest.

        For a k-safety property these are the cases that break it; for responsiveness, the reachable points that decide
        about the people who break it. Iterating gives each like a counterexample; ``to_frame`` makes a table of all.
        For a verdict from JSON or from an evidence file, and for other properties, they are the counterexamples.
        """
        from isonomia.records.violations import ViolationSet  # which needs NumPy

        return ViolationSet.of_rows(self.counterexamples) if self.kept is None else self.kept

    @property
    def holds(self) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` for undecided."""
        return {"holds": True, "violated": False}.get(self.answer)

    @property
    def exact(self) -> bool:
        """Whether the answer was computed from the whole population, without any risk."""
        return self.method == "exact" and self.answer != "undecided"

    @property
    def proved(self) -> bool:
        """Whether the answer was computed from a program, without any draws."""
        return self.method == "exact" and not self.samples and bool(self.leaves or self.details.get("ways"))

    @property
    def worst(self) -> GroupRecord | None:
        """The group with the worst estimate; among the violated ones if any, else among the undecided ones if any."""
        known = [item for item in self.groups if item.estimate is not None]
        violated = [item for item in known if item.answer == "violated"]
        open_ones = [item for item in known if item.answer == "undecided"]
        return min(violated or open_ones or known, key=lambda item: item.expression.margin, default=None)

    @property
    def headline(self) -> Expression | None:
        """The compared quantity that the answer depends on; ``None`` if nothing is compared.

        For a claim for every group it is that of the worst group, with an interval for the worst value of all groups:
        the least value if all must be at least some threshold.
        """
        worst = self.worst
        if worst is None:
            return self.expressions[0] if self.expressions else None
        item = worst.expression
        if len({(each.relation, each.threshold) for each in self.groups}) == 1:
            far = min if item.relation in {">", ">="} else max
            item = replace(
                item,
                low=far(each.low for each in self.groups),
                high=far(each.high for each in self.groups),
            )
        return item.agreeing(self.holds)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the headline: of the first compared quantity, or of the worst value of all groups."""
        item = self.headline
        if item is None:
            raise UsageError(
                "expected a verdict about a compared quantity, such as a rate or a share, but this one has none: "
                "verdict.intervals has the intervals, and verdict.details the rest"
            )
        return item.low, item.high

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The interval of every compared quantity and every leaf, by its text.

        Each limit, on its own, is wrong with probability at most ``delta``. Where a rate is itself compared, as in
        ``P[hired] >= 0.3``, its text has the interval of the rate, which is also that of the comparison; in a claim for
        every group, :attr:`groups` has the wider ones that hold for all groups at once.
        """
        compared = {item.text: (item.low, item.high) for item in self.expressions}
        return compared | {item.text: (item.low, item.high) for item in self.leaves}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; :meth:`from_dict` is the inverse.

        An end of an interval that is infinite becomes ``None``: JSON has no infinity.
        """
        data = asdict(replace(self, kept=None))
        del data["kept"]
        for item in (*data["leaves"], *data["expressions"], *data["groups"]):
            item |= {end: None for end in ("low", "high") if isinf(item[end])}
        return {"format": FORMAT, **data}

    def to_frame(self, library: str | None = None) -> Any:
        """Everything that has an interval, as a frame of pandas, polars or pyarrow.

        There is a row for each compared quantity, each group and each rate or mean, or a single row without them,
        with these columns: ``property``; ``answer``, of the row or of the whole verdict; ``kind``, which is
        ``"compared"``, ``"group"``, ``"rate"`` or ``"verdict"``; ``group``; ``quantity``; ``relation``, ``threshold``;
        ``estimate``, ``low``, ``high``; and ``n``, the draws.

        Parameters
        ----------
        library
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first of them that is installed.
        """
        rows: list[dict[str, Any]] = [
            {**asdict(item), "kind": "compared", "answer": ANSWERS[item.settled]} for item in self.expressions
        ]
        rows += [{**asdict(item), "kind": "group"} for item in self.groups]
        rows += [{**asdict(item), "kind": "rate"} for item in self.leaves]
        whole = {"property": self.name or self.text, "answer": self.answer, "kind": "verdict", "group": ""}
        order = ("property", "answer", "kind", "group", "text", "relation", "threshold", "estimate", "low", "high", "n")
        full = [{**dict.fromkeys(order), **whole, **row} for row in rows or [{"n": self.samples}]]
        return frame_of(
            {"quantity" if name == "text" else name: [row[name] for row in full] for name in order}, library
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict from :meth:`to_dict`, also after a round trip through JSON.

        Raises
        ------
        DataError
            If something is missing or has the wrong type.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise DataError(_not_this_format(data))
        problem = next(schema_problems(data, verdict_schema()), None)
        if problem is not None:
            raise DataError(f"expected a stored verdict, but {problem}")
        values = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        values["leaves"] = tuple(LeafRecord(**_with_ends(item)) for item in values["leaves"])
        values["expressions"] = tuple(Expression(**_with_ends(item)) for item in values["expressions"])
        values["groups"] = tuple(GroupRecord(**_with_ends(item)) for item in values["groups"])
        for key in ("assumptions", "remarks", "counterexamples"):
            values[key] = tuple(values[key])
        return cls(**values)

    def __str__(self) -> str:
        return _RENDERERS["text"](self)

    def _repr_html_(self) -> str:
        return _RENDERERS["html"](self)

    def __bool__(self) -> bool:
        raise UsageError(
            "a verdict has three answers, so it is neither true nor false by itself: use verdict.holds, which is "
            "True, False or None"
        )


_RENDERERS: dict[str, Callable[[Verdict], str]] = {}


def render_with(*, text: Callable[[Verdict], str], html: Callable[[Verdict], str]) -> None:
    """Set how a verdict is printed and shown in a notebook; the value itself does not know."""
    _RENDERERS.update(text=text, html=html)


def _not_this_format(data: Any) -> str:
    expected = f"expected a stored verdict of format {FORMAT}"
    if isinstance(data, Mapping) and isinstance(data.get("format"), int):
        return (
            f"{expected}, but this one has format {data['format']}: it was written by another version of Isonomia. "
            "Check the property again"
        )
    return f"{expected}, but got this: {shortened(str(data), 80)}"


def _with_ends(item: Mapping[str, Any]) -> dict[str, Any]:
    open_ends = {"low": -inf, "high": inf}
    return {key: open_ends[key] if value is None and key in open_ends else value for key, value in item.items()}

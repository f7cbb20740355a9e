"""What a caller gives to a run: a seed, a budget, and an observer of its progress.

Every use of randomness has its own child of the run's seed, found by number, not by the order of calls. A seed that is
not given is derived from what is checked. So the same check gives the same answer every time, and a user cannot try
several seeds by accident until one of them decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf, isfinite
from typing import Protocol, TypeAlias

import numpy as np

from isonomia.errors import BudgetTooSmallError, UsageError
from isonomia.models.meter import BudgetSpentError, QueryMeter, metering
from isonomia.models.protocol import Model, model_facts
from isonomia.models.session import ModelSession
from isonomia.records.verdict import Expression

DRAWS, TICKETS, EDGE_CASES = 1, 2, 3


def derived_seed(*parts: str) -> int:
    """The seed of what these texts describe: property, data and model, by their fingerprints. Below ``2**32``."""
    return int.from_bytes(sha256(json.dumps(parts).encode()).digest()[:4], "big")


def root(seed: int) -> np.random.SeedSequence:
    """The root of a run's randomness."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise UsageError(f"expected seed as a whole number that is not negative, but got seed={seed!r}")
    return np.random.SeedSequence(int(seed))


def batch_rng(seed: int, batch: int, stream: int) -> np.random.Generator:
    """The randomness of one stream's draws in one batch."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(DRAWS, batch, stream)))


def fold_rng(seed: int, batch: int, stream: int, of: int) -> np.random.Generator:
    """The randomness of the folds of one stream's draws in one batch, independent of the draws."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(TICKETS, batch, stream, of)))


def edge_case_rng(seed: int) -> np.random.Generator:
    """The randomness that chooses which edge cases are tried, independent of all draws."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(EDGE_CASES,)))


_LIMITS = {"q": "queries", "t": "tokens", "U": "usd"}
"""What a unit limits, by its first letter; samples without one of these."""

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}

_PART = re.compile(r"([0-9._]+(?:e[0-9]+)?)\s*(s|sec|min|h|samples?|quer(?:y|ies)|tokens?|USD)?(?:\s*,\s*|\s+|$)")


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of samples, rows sent to the model, tokens, money and time; infinite by default.

    A sample is the unit that a verdict counts: a person; a pair of people where a property mentions ``other``; a case
    in k-safety; a point in responsiveness. A query is one row sent to the model, for any purpose: a sample, an edge
    case, a second question, a step of shrinking. Answers from a cache or a journal are not queries.

    Guarantee: a check never sends more than ``queries`` rows. With ``samples`` alone, it sends the rows of the samples
    and, for second questions, shrinking and showing together, at most a quarter as many again, or 64 if that is more.
    Time is checked before every call of the model, so ``seconds`` may be exceeded by one call; a first batch is always
    measured.

    Attributes
    ----------
    samples
        The maximum number of samples.
    seconds
        The longest time.
    queries
        The maximum number of rows sent to the model.
    tokens, usd
        The most tokens, of prompts and answers together, and the most US dollars, of a model that counts tokens. Before
        a request is sent, each of its bytes counts as a token, and its answer at its maximum length; afterwards, the
        usage that the service reports. The cost of failed attempts is not reported, and not counted.

    Examples
    --------
    Every function that accepts a budget also accepts its text:

    >>> Budget.of("1e6, 5min")
    Budget(samples=1000000.0, seconds=300.0, queries=inf, tokens=inf, usd=inf)
    >>> Budget.of("500 queries").queries
    500.0
    """

    samples: float = inf
    seconds: float = inf
    queries: float = inf
    tokens: float = inf
    usd: float = inf

    @classmethod
    def of(cls, value: object) -> Budget:
        """Read a budget.

        A number of samples (``100000``, ``"1e6"``, ``"1e6 samples"``), of rows sent to the model (``"500 queries"``), a
        time (``"30s"``, ``"5min"``), of tokens or money (``"1e6 tokens"``, ``"20 USD"``), or several of them (``"500
        queries, 5min"``).
        """
        if value is None:
            return cls()
        if isinstance(value, Budget):
            return value
        if isinstance(value, str):
            return cls._from_text(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer) or not value >= 1:
            raise UsageError(f"expected budget as a number of samples, at least 1, but got budget={value!r}")
        return cls(samples=float(value))

    @property
    def costs(self) -> dict[str, float]:
        """The limits of tokens and of money, where there are any."""
        return {unit: most for unit, most in (("tokens", self.tokens), ("USD", self.usd)) if most < inf}

    def check_costs(self, model: Model | None) -> None:
        """Refuse limits of tokens or money for a model whose requests have no known bound of them."""
        for unit in self.costs:
            if unit not in model_facts(model).costs:
                raise UsageError(
                    f"a budget in {unit} needs a language model that states what a request can cost at most: "
                    "ChatModel(..., max_tokens=...), for money with prices={'input': ..., 'output': ...}",
                    name="budget",
                )

    def affords(self, rows: int) -> float:
        """How many samples that each send ``rows`` rows it is sure to cover, together with second questions.

        The number of rows that tokens and money cover is known only during the check.
        """
        if rows and self.costs:
            return min(self.samples, 1.0)
        if not rows or self.queries == inf:
            return self.samples
        return min(self.samples, max((self.queries - self.queries // 10 - 8) // rows, 1.0))

    @classmethod
    def of_queries(cls, value: object, what: str) -> Budget:
        """Read a budget that can be stated in rows sent to the model only."""
        budget = cls.of(value)
        if budget.samples < inf or budget.seconds < inf or budget.costs:
            raise UsageError(f"expected the budget of {what} in rows sent to the model, '5000 queries', not {value!r}")
        return budget

    @contextmanager
    def for_all(self, model: ModelSession | None, rows: int, what: str) -> Iterator[QueryMeter]:
        """Meter something about ``rows`` rows that is worth nothing unless it is complete.

        Raises
        ------
        BudgetTooSmallError
            Before the first row is sent, if the budget is smaller. Where more than these rows is sent, or answers come
            from a cache, it is raised where the budget ends.
        """
        self.check_costs(model)
        sent = 0 if model is None or model.cache is not None else rows
        if rows > self.samples or sent > self.queries:
            raise BudgetTooSmallError(
                f"{what} needs all {rows:,} rows, but the budget allows {self}. Allow more, or take a random part of "
                "the rows",
                rows,
                min(self.samples, self.queries),
            )
        with metering(QueryMeter(self.queries, self.seconds, costs=self.costs)) as meter:
            try:
                yield meter
            except BudgetSpentError as spent:
                raise BudgetTooSmallError(
                    f"{what} was not complete when its budget, {self}, was spent; {meter.rows:,} rows were sent to the "
                    "model",
                    max(self.queries + 1 if spent.reason == "queries" else 0, rows),
                    min(self.samples, self.queries),
                ) from spent

    def __str__(self) -> str:
        costs = [(limit, unit) for unit, limit in self.costs.items()]
        limits = ((self.samples, "samples"), (self.queries, "queries"), (self.seconds, "s"), *costs)
        return ", ".join(f"{limit:,.12g} {unit}" for limit, unit in limits if limit < inf) or "unlimited"

    @classmethod
    def _from_text(cls, text: str) -> Budget:
        limits: dict[str, float] = {}
        rest = text.strip()
        while rest or not limits:
            part = _PART.match(rest)
            amount, unit = (0.0, "") if part is None else (_amount(part.group(1)), part.group(2) or "samples")
            what = "seconds" if unit in UNITS else _LIMITS.get(unit[:1], "samples")
            least = 0 if what in {"seconds", "usd"} else 1
            if part is None or what in limits or not amount >= least or amount == 0:
                raise UsageError(
                    "expected budget as a number of samples (100000, 1e6), of rows sent to the model (500 queries), a "
                    "time (30s, 5min, 1h), of tokens or money (1e6 tokens, 20 USD) or several of them (500 queries, "
                    f"5min), but got {text!r}",
                    name="budget",
                )
            limits[what] = amount * UNITS.get(unit, 1.0)
            rest = rest[part.end() :]
        return cls(**limits)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check has come.

    Attributes
    ----------
    samples
        Samples so far: people, or whatever ``counted`` says.
    most
        How many samples there can be; infinite if nothing limits them.
    share
        How far the evidence for the nearer answer has come, from 0 to 1.
    seconds
        The time taken.
    progress_text
        Computes the first compared quantity, its interval and its threshold as a line of text; called only by an
        observer that shows it.
    counted
        What the samples are, as in a verdict.
    compared
        Computes the first compared quantity as known so far; ``None`` if the audit does not report it along the way.
    unused
        How many more were queried ahead and have not been needed so far.
    """

    samples: int
    most: float
    share: float
    seconds: float
    progress_text: Callable[[], str]
    counted: str = "people"
    compared: Callable[[], Expression | None] = lambda: None
    unused: int = 0

    @property
    def samples_left(self) -> float:
        """An estimate of how many more are needed if evidence keeps growing at this pace; infinite without evidence."""
        if self.share <= 0:
            return float("inf")
        return self.samples * (1.0 - self.share) / self.share


class Observer(Protocol):
    """Sees a check begin, advance and end."""

    def begin(self, text: str) -> None:
        """A check of this property begins."""
        ...

    def advance(self, progress: Progress) -> None:
        """A batch was absorbed."""
        ...

    def end(self) -> None:
        """The check is over, for whatever reason."""
        ...


@dataclass(frozen=True, slots=True)
class NullObserver:
    """An observer that shows nothing."""

    def begin(self, text: str) -> None:
        """Show nothing."""

    def advance(self, progress: Progress) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


Point: TypeAlias = tuple[int, float, float | None, float]
"""Samples, and the lowest value, the estimate and the highest value after them."""

STEP = 1.5
"""The number of samples grows by this factor from one point to the next: an interval costs more than a batch."""


@dataclass(slots=True)
class HistoryObserver:
    """Records the interval of the first compared quantity occasionally, and forwards everything to another observer.

    Attributes
    ----------
    observer
        The other observer.
    points
        What was recorded, in the order of the samples.
    """

    observer: Observer = field(default_factory=NullObserver)
    points: list[Point] = field(default_factory=list)
    _next: float = field(default=1.0, init=False)

    def begin(self, text: str) -> None:
        """Pass it on."""
        self.observer.begin(text)

    def advance(self, progress: Progress) -> None:
        """Record the interval if enough samples have come since the last time, and pass it on."""
        if progress.samples >= self._next:
            self._next = STEP * progress.samples
            known = progress.compared()
            if known is not None:
                self.points.append((progress.samples, known.low, known.estimate, known.high))
        self.observer.advance(progress)

    def end(self) -> None:
        """Pass it on."""
        self.observer.end()

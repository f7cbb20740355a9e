"""What every population can do, and people in every version that a property mentions.

A :class:`Population` says whom a property is about; opened for one run, it is a :class:`Source` of numbered batches.
:func:`people` draws them as they are, as a second person, and as they would have been.

Draws may be made on a :class:`Device`, such as a GPU. torch's random numbers differ from NumPy's, and from one kind of
device to another. So a verdict states where its draws were made, and the same seed gives the same verdict only on the
same kind of device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from isonomia.errors import SpecError, UsageError
from isonomia.populations.table import Table, offers
from isonomia.spec.tree import Do, Other, Row, Value, Version

if TYPE_CHECKING:
    from isonomia.populations.streaming import LongTable


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """How large batches should be if each has a fixed cost in time, whatever its size.

    Attributes
    ----------
    first
        The size of the first batch.
    growth, early
        How much larger a batch makes the total, near a decision and far from one.
    most
        The largest batch, which bounds the memory.
    draws_only
        Whether they apply only without a model: asking one may cost far more per person than a batch does.
    """

    first: int
    growth: float
    early: float
    most: int
    draws_only: bool = False

    def asked(self) -> BatchSizes | None:
        """The sizes if a model is queried, which may need far more memory per person than a few numbers."""
        if self.draws_only:
            return None
        largest = min(self.most, _MOST_ASKED)
        return BatchSizes(min(self.first, largest), self.growth, self.early, largest)


_MOST_ASKED = 2**22


@dataclass(frozen=True, slots=True)
class Device:
    """Where torch draws: ``name`` is torch's name, such as ``"cuda:0"``."""

    name: str

    @classmethod
    def of(cls, name: str | None, what: str) -> Device | None:
        """Look for a device; ``None`` for NumPy.

        Parameters
        ----------
        name
            ``"cpu"``, ``"cuda"``, another name that torch knows, or ``"auto"``: CUDA if available, else the CPU.
        what
            What draws there, for messages.

        Raises
        ------
        UsageError
            If torch is not installed, or finds no such device.
        """
        if name is None:
            return None
        if not isinstance(name, str):
            raise UsageError(f"expected device as 'cuda', 'cpu' or 'auto', but got device={name!r}")
        torch = _torch(what)
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            kind = torch.device(name).type
            torch.empty(1, device=name)
        except (RuntimeError, AssertionError) as error:
            hint = " Leave device out, or say 'cpu' or 'auto'."
            raise UsageError(f"device is {name!r}, but torch finds no such device here: {error}.{hint}") from None
        return cls("cpu" if kind == "cpu" else name)

    @property
    def kind(self) -> str:
        """What kind of device it is, as a verdict states it: ``"torch on cpu"``, ``"torch on cuda (NVIDIA H200)"``.

        torch spreads its random numbers over a card's processors, so other models of card draw other numbers.
        """
        if self.name.startswith("cuda"):
            return f"torch on cuda ({_torch('a device').cuda.get_device_name(self.name)})"
        return f"torch on {self.name.partition(':')[0]}"

    @property
    def remark(self) -> str:
        """What a verdict says about it."""
        return f"draws made by {self.kind}: the same seed gives other draws on another kind of device"

    def generator(self, rng: np.random.Generator) -> Any:
        """A torch generator, seeded from the generator of a batch: each call gives a different one."""
        made = _torch("a device").Generator(device=self.name)
        made.manual_seed(int(rng.integers(2**63)))
        return made


def _torch(what: str) -> Any:
    try:
        import torch
    except ImportError:
        raise UsageError(f"{what} on a device needs PyTorch: pip install 'isonomia[torch]'") from None
    return torch


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run will read, so that a population need not make anything else.

    Attributes
    ----------
    columns
        The columns of the people as they are; ``None`` for all of them.
    versions
        The other versions that are mentioned, and their columns; ``None`` for all of them.
    """

    columns: tuple[str, ...] | None = None
    versions: Mapping[Version, tuple[str, ...] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Rows that belong together, as a verdict needs to know of them.

    Attributes
    ----------
    column
        The column that says which.
    count
        How many clusters there are.
    largest
        The maximum number of rows that a cluster of the population has: as declared, or as seen.
    weigh
        What counts the same: ``"rows"`` or ``"clusters"``.
    declared
        Whether the most rows were declared.
    """

    column: str
    count: int
    largest: int
    weigh: str = "rows"
    declared: bool = False

    @property
    def bound(self) -> float:
        """The most that the rows of one cluster weigh together."""
        return 1.0 if self.weigh == "clusters" else float(self.largest)

    def assumptions(self, order: str = "") -> tuple[str, ...]:
        """The assumptions of a verdict, in words."""
        independent = (
            f"the {self.count:,} values of {self.column!r} are independent draws from the population{order}; rows of "
            "the same one may depend on each other in any way"
        )
        if self.weigh == "clusters":
            return (independent,)
        source = "as declared" if self.declared else "the most in this table"
        return independent, f"no {self.column!r} of the population has more than {self.largest:,} rows, {source}"


@dataclass(frozen=True, slots=True, init=False)
class Labels:
    """How a table got its labels: for a random subset of its rows, with a judge's answer for all of them.

    Parameters
    ----------
    column
        The column with the labels, missing in rows that were not chosen. Properties use it.
    judge
        The column with the judge's answer, for every row: with the values of the labels, or a score for
        the event of the property. A good judge saves labels, and a bad one saves none; neither makes a verdict wrong.
    probability
        The probability with which each row was chosen for a label, independently for each row, whatever its
        label is: a number, or the column with each row's own.

    Examples
    --------
    >>> Labels("human", judge="judge", probability=0.2)
    Labels(column='human', judge='judge', probability=0.2)
    """

    column: str
    judge: str
    probability: float | str

    def __init__(self, column: str, *, judge: str, probability: float | str | None = None) -> None:
        for name, value in (("the labels' column", column), ("judge", judge)):
            if not isinstance(value, str) or not value:
                raise UsageError(f"expected {name} as the name of a column, but got {value!r:.60}", name="labels")
        if probability is None:
            raise UsageError(
                "labels need the probability with which each row was chosen for one: rows that were picked may differ "
                "from the others in any way, so they prove nothing about the table. Draw rows by "
                "iso.evals.label_next(table, n=200), and give probability=0.2, or the name of its column",
                name="probability",
            )
        if not isinstance(probability, str):
            number = isinstance(probability, int | float) and not isinstance(probability, bool)
            if not number or not 0.0 < probability <= 1.0:
                raise UsageError(
                    f"expected the probability of a label above 0 and at most 1, or the name of a column, but got "
                    f"{probability!r:.60}",
                    name="probability",
                )
            probability = float(probability)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "judge", judge)
        object.__setattr__(self, "probability", probability)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return (self.column, self.judge, *((self.probability,) if isinstance(self.probability, str) else ()))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict, in words."""
        chance = f"{self.probability:g}" if isinstance(self.probability, float) else f"that of {self.probability!r}"
        return (f"each row got its label {self.column!r} by chance, with probability {chance}, whatever the label is",)


class Source(Protocol):
    """A population opened for one run: it knows the run's seed."""

    @property
    def finite(self) -> bool:
        """Whether the number of rows is limited, and each counts once."""

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give the people numbered from ``start`` up to ``start + n`` of a stream.

        Parameters
        ----------
        start
            The number of the first person, counted from 0.
        n
            How many people, at least 1. A finite population gives what is left, which may be no row at all.
        rng
            The batch's own randomness. An unlimited population draws with it; a finite one does not need it.
        stream
            Which of the population's streams to draw from.

        Notes
        -----
        The rows depend only on the arguments and the seed, so batches may be requested in any order.
        """


def check_request(start: int, n: int, stream: int, streams: int) -> None:
    """Refuse a batch that no population can give."""
    if start < 0 or n < 1:
        raise UsageError(f"a batch needs start >= 0 and n >= 1, but start is {start} and n is {n}.")
    if not 0 <= stream < streams:
        raise UsageError(f"stream should be at least 0 and below {streams}, but is {stream}.", name="stream")


class Population(Protocol):
    """Whom a property is about, and what may be assumed about the rows that stand for them."""

    @property
    def kind(self) -> str:
        """What kind it is: ``"sample"``, ``"census"``, ``"generator"``, ``"program"`` or ``"causal"``."""

    @property
    def size(self) -> int | None:
        """How many rows there are in total; ``None`` if they are unlimited."""

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """The condition that each separate stream satisfies; ``(None,)`` for a single ordinary one."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column, missing ones aside, numbers before text, each ascending."""

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> Source:
        """Open the population for one run, which reads ``wanted``; ``None`` for every column of people as they are."""

    def fingerprint(self) -> str:
        """Tell this population from others, as 64 hexadecimal digits."""


def is_population(value: object) -> bool:
    """Whether something is a population, such as a sample."""
    return offers(value, "kind", "streams", "open", "values")


def fingerprint_if_any(subject: Any) -> str | None:
    """The fingerprint of a population, a domain or a model; ``None`` for a user's own without one."""
    return str(subject.fingerprint()) if offers(subject, "fingerprint") else None


def _nothing_declared(column: str) -> tuple[Value, ...]:
    del column
    return ()


@dataclass(frozen=True, slots=True)
class PopulationFacts:
    """What a population may state beyond the protocol; the defaults are those of one that states nothing.

    Attributes
    ----------
    device
        Where torch draws; ``None`` for NumPy.
    remarks
        What a reader of a verdict should know about the rows, and how groups that are drawn directly are drawn.
    batch_sizes
        How large batches should be; ``None`` for the usual sizes.
    declared
        Gives the values of a column that are known without a draw; empty where only rows would show them.
    rows
        The table, for a population that is one: in memory, or read batch by batch.
    clusters
        The rows that belong together; ``None`` where each draw stands alone.
    labels
        How its labels were drawn, where few rows have one; otherwise ``None``.
    """

    device: Device | None = None
    remarks: tuple[str, ...] = ()
    batch_sizes: BatchSizes | None = None
    declared: Callable[[str], tuple[Value, ...]] = _nothing_declared
    rows: Table | LongTable | None = None
    clusters: Clusters | None = None
    labels: Labels | None = None


@runtime_checkable
class WithFacts(Protocol):
    """A population that states facts of itself."""

    @property
    def facts(self) -> PopulationFacts:
        """The facts."""


def facts_of(population: object) -> PopulationFacts:
    """The facts that a population states; the defaults for one that states none, and for a domain."""
    return population.facts if isinstance(population, WithFacts) else PopulationFacts()


def refuse_labels(population: object, what: str) -> None:
    """Refuse few labels where no method takes into account which rows have none."""
    labels = facts_of(population).labels
    if labels is not None:
        raise UsageError(
            f"expected a label in every row for {what}, but {labels.column!r} has them for a random part, which only "
            "properties about rates allow for: leave out labels, and the rows without one",
            name=labels.column,
        )


def refuse_clusters(population: object, what: str) -> None:
    """Refuse rows that belong together, and few labels, where no method takes them into account."""
    refuse_labels(population, what)
    clusters = facts_of(population).clusters
    if clusters is not None:
        raise UsageError(
            f"expected independent rows for {what}, but rows with the same {clusters.column!r} belong together, and "
            "only properties about rates and measure allow for that: take one row of each, or leave out cluster",
            name=clusters.column,
        )


@runtime_checkable
class Directable(Population, Protocol):
    """A population that can draw from groups directly."""

    def focused(self, conditions: Sequence[Row | None]) -> Population:
        """The same population with rare groups drawn directly, for a property about groups with these conditions."""


@runtime_checkable
class DeviceSource(Protocol):
    """A source that may draw on a device."""

    @property
    def device(self) -> Device | None:
        """Where torch draws; ``None`` for NumPy."""


People = Mapping[Version | None, Table]


@runtime_checkable
class CausalSource(Protocol):
    """A source that also gives people as they would have been."""

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give people as they are."""

    def people(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> People:
        """Give people as they are, under ``None``, and under every intervention that the source was opened for."""


def people(source: Source, wanted: Wanted, start: int, n: int, rng: np.random.Generator, stream: int) -> People:
    """Draw people, numbered from ``start``, in every version that is requested.

    A second person is drawn like the first and independently of them. In a finite table, whose rows count once, two
    neighbors in its random order make a pair.
    """
    interventions = [version for version in wanted.versions if isinstance(version, Do)]
    in_pairs = any(isinstance(version, Other) for version in wanted.versions)
    if interventions and not isinstance(source, CausalSource):
        raise SpecError(
            "counterfactuals, do(...), need a causal model: use Causal(...), a Program, or "
            "Causal(...).about(table) for real people",
            interventions[0].place,
        )
    if not in_pairs:
        return _single(source, start, n, rng, stream, bool(interventions))
    if source.finite:
        return _neighbours(_single(source, 2 * start, 2 * n, rng, stream, bool(interventions)))
    first = _single(source, start, n, rng, stream, bool(interventions))
    return {**first, Other(): source.batch(start, n, rng, stream)}


AT_ONCE = 2**16
"""People in one part: columns of this length stay in the cache, and their memory is reused. It changes the draws."""


def people_in_parts(
    source: Source, wanted: Wanted, start: int, n: int, rng: np.random.Generator, stream: int
) -> Iterator[People]:
    """Draw people as :func:`people` does, in parts; on a device in one part."""
    size = n if isinstance(source, DeviceSource) and source.device is not None else AT_ONCE
    if n > size:
        _keep_memory()
    for first in range(0, n, size):
        drawn = people(source, wanted, start + first, min(size, n - first), rng, stream)
        if drawn[None].rows:
            yield drawn


@lru_cache(maxsize=1)
def _keep_memory() -> None:
    """Let the allocator keep the memory of parts that are finished.

    The C library of Linux returns blocks to the system that are larger than any freed before, and getting them again
    takes longer than drawing into them. Freeing an untouched block of 16 MiB raises that limit.
    """
    np.empty(2**21)


def _single(source: Source, start: int, n: int, rng: np.random.Generator, stream: int, intervened: bool) -> People:
    if intervened and isinstance(source, CausalSource):
        return source.people(start, n, rng, stream)
    return {None: source.batch(start, n, rng, stream)}


def _neighbours(both: People) -> People:
    """Pairs of neighbors: the first of each in every version, and the second as they are."""
    first = np.arange(both[None].rows // 2) * 2
    pairs: dict[Version | None, Table] = {version: table.take(first) for version, table in both.items()}
    return {**pairs, Other(): both[None].take(first + 1)}

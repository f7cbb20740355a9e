"""What a check is, and what an audit is.

A :class:`Check` is a property, a model and a population, with every choice made before the first look: the
risk, the budget, the seed. An :class:`Audit` knows one kind of property and runs its checks. Each audit is a folder
next to this file and a line in :mod:`isonomia.audits.registry`; whatever runs, stores, repeats or shows checks goes
through this protocol and never asks which audit it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from isonomia.audits.people import SharedPeople
from isonomia.engine.loop import Schedule
from isonomia.engine.parameters import Budget, Observer
from isonomia.errors import SpecError, UsageError
from isonomia.executors import Pool
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import refuse_clusters
from isonomia.records.display.view import View
from isonomia.records.journal import Entry, Journal, NullJournal
from isonomia.records.verdict import Verdict


class AuditProperty(Protocol):
    """What must hold. Its text, ``str(property)``, says all of it."""

    @property
    def name(self) -> str | None:
        """What it is called; ``None`` where it has no name."""
        ...

    def explain(self) -> str:
        """The property in plain English."""
        ...


P = TypeVar("P", covariant=True)


@dataclass(frozen=True, slots=True)
class Check(Generic[P]):
    """Everything that defines a check.

    Attributes
    ----------
    prop, model, population
        What must hold, of which model, for whom. The model is ``None`` where the population has all that the property
        names; the population is a domain, or ``None``, for some k-safety properties.
    delta, budget, seed, seed_chosen
        The risk of a wrong answer, the most the check may cost, what makes it repeatable, and whether that was chosen
        by hand.
    schedule, pool
        How large batches are, and the workers that query the model and read long tables; ``None`` without workers.
    method, ranges
        Which evidence decides, and the ranges of columns whose means the property uses: for rates only.
    control
        For a claim about every group, which mistakes about single groups are limited: ``"family"`` or ``"discovery"``.
    random_model
        Whether the model may answer the same person differently.
    looks
        How often the draws are looked at: ``"any"``, as often as you like; ``"once"``, at the end; or a number of
        times, planned beforehand. For rates; every other audit looks as often as it likes.
    stop, width
        When the check ends: once it is ``"decided"``; once its interval is also ``"precise"``, at most ``width`` wide;
        or when ``"all"`` people are counted. For rates.
    journal
        Keeps everything that the population and the model say.
    sharing
        What the check has in common with others of the same population and model; ``None`` where it stands alone.
    """

    prop: P
    model: ModelSession | None = None
    population: Any = None
    delta: float = 0.05
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    seed_chosen: bool = False
    schedule: Schedule = field(default_factory=Schedule)
    pool: Pool | None = None
    method: str = "auto"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    control: str = "family"
    random_model: bool = False
    looks: str | int = "any"
    stop: str = "decided"
    width: float | None = None
    journal: Journal = field(default_factory=NullJournal)
    sharing: SharedPeople | None = None

    def with_journal(self, journal: Journal) -> Check[P]:
        """The same check with a journal, in which it keeps what it measures and finds what it measured before."""
        return replace(self, journal=journal)

    @property
    def required_model(self) -> ModelSession:
        """The model of a check that needs one.

        Raises
        ------
        UsageError
            If the check has no model.
        """
        if self.model is None:
            raise UsageError(
                "this kind of property is about runs of a model: expected model, but got none", name="model"
            )
        return self.model


def refuse_rates_options(check: Check[Any], what: str, *others: str) -> None:
    """Refuse options that only properties about rates have; ``others`` are the audit's methods besides bets."""
    refuse_clusters(check.population, f"a check of {what}")
    if check.stop != "decided":
        raise UsageError(
            f"stop={check.stop!r} is for properties about rates: a check of {what} ends with its answer", name="stop"
        )
    if check.control != "family":
        raise UsageError(
            f"expected control='family' for {what}, but got control={check.control!r}: it says how the groups of a "
            "property about rates are named"
        )
    if check.method not in {"auto", "bets", *others} or check.ranges:
        raise UsageError(
            f"expected method='auto' and no ranges for {what}, but got method={check.method!r} and "
            f"ranges={check.ranges!r}: its method is fixed, and it has no means",
            name="method",
        )


@dataclass(frozen=True, slots=True)
class Permissions:
    """What an audit file may do only if the person who runs it allows it.

    Attributes
    ----------
    trust_pickle
        Open models that can run code when they are opened: pickles, and skops files with types that the file trusts.
    allow_code
        Run the blocks of specifications as Python, import modules, start programs and call services. Code can do
        anything, so this allows the rest as well, pickles aside.
    allow_outside
        Read and write outside the file's folder.
    """

    trust_pickle: bool = False
    allow_code: bool = False
    allow_outside: bool = False


class PropertyTable(Protocol):
    """One ``[[property]]`` table of an audit file."""

    @property
    def folder(self) -> Path:
        """The folder that paths in the file are relative to."""
        ...

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key."""
        ...

    def read(self, name: str) -> str:
        """The text of a file that the table names."""
        ...

    def error(self, message: str, *key: str | int) -> SpecError:
        """An error that points at a key of the table."""
        ...


@dataclass(frozen=True, slots=True)
class FileKey:
    """A key of an audit file that states a property.

    Attributes
    ----------
    takes
        What the key takes: ``"text"`` or ``"truth"``.
    purpose
        What it is for, as the reference says it.
    make
        Makes the property from its table, the interventions that the file names, and the permissions.
    is_file
        Whether a value of the key is the name of a file, whose text belongs to the audit.
    code_in
        Why the key's text is run as code, which needs permission; ``None`` where it is not.
    """

    takes: str
    purpose: str
    make: Callable[[PropertyTable, Mapping[str, Any], Permissions], Any]
    is_file: Callable[[Any], bool] = lambda _: False
    code_in: Callable[[str], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Recheck:
    """The result of checking counterexamples again.

    Attributes
    ----------
    asked, again
        How many could be checked again, and how many of these still occur.
    problem
        Why some or all could not be checked; ``None`` where all were.
    """

    asked: int = 0
    again: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedCounts:
    """Counts in a journal: none is negative, and their sum is known or limited.

    Attributes
    ----------
    where
        What is counted, such as ``batch 3``.
    parts
        The counts.
    total, exactly
        Their sum or, unless ``exactly``, an upper limit on it; ``None`` where nothing limits it.
    whole
        Whether each count is a whole number; for means it need not be, since a draw is split between cells.
    """

    where: str
    parts: Sequence[float]
    total: float | None = None
    exactly: bool = True
    whole: bool = True


Entries: TypeAlias = Mapping[str, Entry]
"""The entries of a journal by their keys."""


class KnownFirst(Protocol):
    """How an audit tries counterexamples of earlier runs before anything else.

    Only self-contained counterexamples can be tried: those from which the violation can be computed again, whatever
    the population is.
    """

    def applies(self, check: Check[Any]) -> bool:
        """Whether a single counterexample can prove that this property is violated."""
        ...

    def with_known(self, check: Check[Any], known: Sequence[Mapping[str, Any]]) -> Check[Any]:
        """The same check, which also tries these counterexamples.

        Guarantee: the risk stays what it was. A known counterexample that violates the property is proof by itself;
        where none does, the check continues as if they had not been tried.
        """
        ...

    def as_recorded(self, check: Check[Any], entries: Entries) -> Check[Any]:
        """The same check with exactly the known counterexamples that the check with these journal entries tried."""
        ...

    def proofs(self, check: Check[Any], verdict: Verdict) -> Sequence[Mapping[str, Any]]:
        """The counterexamples of a *violated* verdict to keep for next time: those that are proof by themselves."""
        ...

    def outdated(self, check: Check[Any]) -> Sequence[Mapping[str, Any]]:
        """Where a check came to *holds*, the known counterexamples it tried that no longer violate the property."""
        ...


class Audit(Protocol):
    """One kind of property, and how it is checked."""

    @property
    def kind(self) -> str:
        """What the audit is called in ``verdict.details["audit"]``; ``"rates"`` for properties about rates."""
        ...

    @property
    def property_type(self) -> type:
        """The class of its properties."""
        ...

    @property
    def view(self) -> View:
        """What its verdicts show, wherever they are shown."""
        ...

    @property
    def file_keys(self) -> Mapping[str, FileKey]:
        """The keys of an audit file that state such a property."""
        ...

    @property
    def known_first(self) -> KnownFirst | None:
        """How known counterexamples are tried first; ``None`` where they are not self-contained."""
        ...

    def imports(self, prop: Any) -> Sequence[str]:
        """The imports of a property that may provide people or inputs, so that it needs no population."""
        ...

    def outcomes(self, prop: Any) -> tuple[str, ...]:
        """The columns that a property uses as outcome: the model is not given them."""
        ...

    def unclear_outcomes(self, prop: Any) -> tuple[str, ...]:
        """The columns that may hold the outcome: a service is not sent them unless the user names them."""
        ...

    def prepare(self, check: Check[Any]) -> Check[Any]:
        """Refuse arguments that do not fit this kind of property, before anything runs.

        Raises
        ------
        UsageError
            Where the check lacks something, or has an option that means nothing here.
        """
        ...

    def check_names(self, check: Check[Any]) -> None:
        """Refuse columns and classes that do not exist, as far as that is known before anything is drawn.

        Raises
        ------
        IsonomiaError
            For the first unknown name, which is the field ``name`` of the error.
        """
        ...

    def run(self, check: Check[Any], observer: Observer) -> Verdict:
        """Run a prepared check. Everything that population and model say goes through its journal."""
        ...

    def share(self, checks: Sequence[Check[Any]]) -> Sequence[Check[Any]]:
        """Let checks of one model and one population share their draws and answers, where they can."""
        ...

    def locks(self, check: Check[Any]) -> Sequence[Hashable]:
        """What a check uses, besides model and population, that no other check may use at the same time."""
        ...

    def recheck(
        self,
        check: Check[Any],
        counterexamples: Sequence[Mapping[str, Any]],
        entries: Entries,
        permissions: Permissions,
    ) -> Recheck:
        """Check the counterexamples of a record again, with the check's model; ``entries`` are the record's journal."""
        ...

    def counts(self, check: Check[Any], entries: Entries) -> Iterator[RecordedCounts]:
        """The counts in the journal of a finished check, so that a record can be verified."""
        ...

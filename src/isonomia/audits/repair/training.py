"""The loop of a repair: search violations among the training rows, label them, add some of them, train again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.random_search import RandomSearch, judged, related_records, rows_per_case
from isonomia.engine.parameters import root
from isonomia.errors import BudgetTooSmallError, DataError, IsonomiaError, ModelError, UsageError
from isonomia.models.adapt import adapt
from isonomia.models.inputs import fitted_names
from isonomia.models.meter import current_meter, send
from isonomia.models.protocol import Model
from isonomia.populations.finite import Census
from isonomia.populations.protocol import Population
from isonomia.populations.table import Table, joined, replaced
from isonomia.spec.safety import Safety
from isonomia.wording import first_few, plural, shortened

Rule = Callable[[Any, Any, NDArray[Any]], Sequence[Any]]
"""Labels of changed rows: from the related rows, the changed rows, and the model's answers about the related ones."""

SPLIT, SEARCH, MIX, CHOICE, AUDIT = range(5)
"""Uses of randomness, each with its own children of the seed."""


@dataclass(frozen=True, slots=True)
class RepairRound:
    """One search: its number, the cases searched, those that violate, and the rows added to the training rows."""

    number: int
    searched: int
    violating: int
    added: int


@dataclass(frozen=True, slots=True, eq=False)
class RepairTraining:
    """The loop: what is trained, on which columns, and how violations of the properties are searched."""

    factory: Any
    table: Table
    features: tuple[str, ...]
    label: str
    props: tuple[Safety, ...]
    fresh: Population | None
    seed: int
    cases: int
    most: float
    mix: float
    rule: Rule | None

    def rng(self, use: int, *keys: int) -> np.random.Generator:
        """Randomness for one use, independent of all others."""
        return np.random.default_rng(np.random.SeedSequence(root(self.seed).entropy, spawn_key=(use, *keys)))

    def number(self, use: int, *keys: int) -> int:
        """A seed for one use."""
        return int(self.rng(use, *keys).integers(2**63))

    def split(self, share: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The numbers of the training rows and of the held-out rows, split at random."""
        order = self.rng(SPLIT).permutation(self.table.rows)
        size = round(share * self.table.rows)
        if not 0 < size < self.table.rows:
            raise DataError(
                f"expected rows to train on and rows to hold out, but held_out={share!r} of {self.table.rows:,} rows "
                f"is {size:,}"
            )
        return np.sort(order[size:]), np.sort(order[:size])

    def columns(self, prop: Safety) -> tuple[str, ...]:
        """The columns that a property may use, including the label where the property names it."""
        return self.features if prop.label is None else (*self.features, self.label)

    def fitted(self, rows: Table, labels: NDArray[Any]) -> Any:
        """A new model, trained on these rows."""
        estimator = _new(self.factory)
        try:
            estimator.fit(_for_training(rows), labels)
        except IsonomiaError:
            raise
        except Exception as error:  # whatever the training raises is the model's fault, and is reported
            raise ModelError(
                f"{type(estimator).__name__} raised {type(error).__name__} while it was trained on {rows.rows:,} rows "
                f"with the columns {first_few(rows.names)}: {error}"
            ) from error
        return estimator

    def adapted(self, estimator: Any) -> Model:
        """The model as the audit queries it."""
        return adapt(estimator, None if fitted_names(estimator) is not None else self.features)

    def answers(self, estimator: Any, rows: Table) -> NDArray[Any]:
        """What a model predicts."""
        answer = send(self.adapted(estimator), rows.select(self.features), want_score=False, want_prediction=True)
        assert answer.prediction is not None
        return answer.prediction

    def repaired(
        self, train: Table, rounds: int, tell: Callable[[RepairRound], None] | None, reserved: Callable[[Any], int]
    ) -> tuple[list[Any], tuple[RepairRound, ...]]:
        """The first model and those of later rounds, and what each search found.

        A search that the budget may not cover, with the rows that ``reserved`` says the certificate takes, does not
        begin.
        """
        rows, labels = [train.select(self.features)], [train.column(self.label)]
        models, history = [self.fitted(rows[0], labels[0])], list[RepairRound]()
        limit, meter = max(ceil(self.most * train.rows), 1), current_meter()
        each = self.search_rows(models[0], train) if meter.limited else 0
        after = reserved(models[0]) if meter.limited else 0
        if meter.left < each + after:
            raise BudgetTooSmallError(
                f"a repair needs up to {each:,} rows for its first search, of {self.cases:,} cases, and {after:,} for "
                f"its certificate, but the budget allows {meter.queries:,.12g} queries. Allow more, or try fewer cases",
                each + after,
                meter.queries,
            )
        for index in range(rounds + 1):
            if meter.left < each + after:
                models.pop()
                break
            findings = self.search(models[-1], train, index)
            picked = findings.some(limit, self.rng(CHOICE, index)) if index < rounds else None
            added = 0 if picked is None else len(picked[1])
            history.append(RepairRound(index, findings.searched, findings.violating, added))
            if tell is not None:
                tell(history[-1])
            if picked is None:
                break
            rows.append(picked[0])
            labels.append(picked[1])
            models.append(self.fitted(joined(rows), np.concatenate(labels)))
            if models[-1] is models[-2]:
                raise UsageError(
                    "expected model_factory to give a new classifier at each call, but it gave the same one twice: "
                    "make it inside the function"
                )
        return models, tuple(history)

    def search_rows(self, estimator: Any, train: Table) -> int:
        """The most rows that one search sends: its cases, and both records of those that violate for their labels."""
        total = 0
        for prop in self.props:
            k, searches = self.rows_of_case(prop, estimator, train), 1 + (self.fresh is not None)
            total += searches * (with_repeats(k * (self.cases + 1)) + 2 * max(k - 1, 1) * (self.cases + 1))
        return total

    def rows_of_case(self, prop: Safety, estimator: Any, rows: Table) -> int:
        """How many rows a case of a property sends to the model."""
        return rows_per_case(prop, self.adapted(estimator), Census(rows.select(self.columns(prop))))

    def search(self, estimator: Any, train: Table, index: int) -> SearchFindings:
        """Try random cases of every property: of training rows, of mixed ones, and of fresh people."""
        findings, model = SearchFindings(), self.adapted(estimator)
        for k, prop in enumerate(self.props):
            people = train.select(self.columns(prop))
            cases = self.cases if not self.mix else ceil(self.cases / 2)
            searches = [judged(prop, model, Census(people), cases, self.number(SEARCH, index, k, 0))]
            if self.mix:
                mixed = Census(self.mixed(people, prop, searches[0].rows, cases, index))
                searches.append(judged(prop, model, mixed, cases, self.number(SEARCH, index, k, 1)))
            if self.fresh is not None:
                searches.append(judged(prop, model, self.fresh, self.cases, self.number(SEARCH, index, k, 2)))
            for search in searches:
                self.collect(findings, estimator, search)
        return findings

    def collect(self, findings: SearchFindings, estimator: Any, search: RandomSearch) -> None:
        """Count cases, and note the changed rows of those that violate with their right labels."""
        for judgement in search.judgements:
            values, domain, bad = judgement.batch.values, judgement.domain, np.flatnonzero(judgement.violating)
            findings.searched += len(judgement.cases)
            findings.violating += len(bad)
            if not len(bad):
                continue
            first, others = related_records(search.program, values)
            related = domain.table(values[first].data.take(bad)).select(self.features)
            for name in others:
                changed = domain.table(values[name].data.take(bad)).select(self.features)
                self.label_rows(findings, estimator, related, changed)

    def label_rows(self, findings: SearchFindings, estimator: Any, related: Table, changed: Table) -> None:
        """Give the rows of violating cases their right labels.

        Without a rule, both rows of a case should get the model's answer for the row it is surer about; the other row
        is added with that answer.
        """
        answers, sure = self.answers_and_confidence(estimator, related)
        if self.rule is not None:
            findings.add(changed, self.ruled(related, changed, answers))
            return
        others, surer = self.answers_and_confidence(estimator, changed)
        first = np.ones(len(answers), dtype=bool) if sure is None or surer is None else sure >= surer
        findings.add(changed.take(np.flatnonzero(first)), answers[first])
        findings.add(related.take(np.flatnonzero(~first)), others[~first])

    def answers_and_confidence(self, estimator: Any, rows: Table) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """What a model predicts, and the probability of it; ``None`` where the model gives none."""
        model = self.adapted(estimator)
        scores = model.score_range == (0.0, 1.0)
        answer = send(model, rows, want_score=scores, want_prediction=True)
        assert answer.prediction is not None
        if answer.score is None or answer.score.ndim != 2:
            return answer.prediction, None
        return answer.prediction, answer.score.max(axis=1)

    def mixed(self, people: Table, prop: Safety, rows: NDArray[np.intp], size: int, index: int) -> Table:
        """Rows of the property with some features taken from other rows; one-hot columns stay together."""
        rng = self.rng(MIX, index)
        base = rows[rng.integers(len(rows), size=size)]
        together = [tuple(columns) for columns in prop.groups.values()]
        single = [(name,) for name in people.names if not any(name in columns for columns in together)]
        columns: dict[str, NDArray[Any]] = {}
        for block in [*together, *single]:
            source = base.copy()
            taken = rng.random(size) < self.mix
            source[taken] = rng.integers(people.rows, size=int(taken.sum()))
            columns |= {name: people.column(name)[source] for name in block}
        return replaced(people.take(base), columns)

    def ruled(self, related: Table, changed: Table, answers: NDArray[Any]) -> NDArray[Any]:
        """The labels of changed rows by the rule."""
        assert self.rule is not None
        given = np.asarray(self.rule(related.native, changed.native, answers))
        if given.shape != answers.shape:
            raise UsageError(
                f"expected rule to give a label for each of {plural(len(answers), 'row')}, but it gave an array of "
                f"shape {given.shape}"
            )
        return given


@dataclass(slots=True)
class SearchFindings:
    """The result of a search: counts, and the changed rows of violating cases with their right labels."""

    searched: int = 0
    violating: int = 0
    rows: list[Table] = field(default_factory=list)
    labels: list[NDArray[Any]] = field(default_factory=list)

    def add(self, rows: Table, labels: NDArray[Any]) -> None:
        """Add rows with their labels."""
        if len(labels):
            self.rows.append(rows)
            self.labels.append(labels)

    def some(self, limit: int, rng: np.random.Generator) -> tuple[Table, NDArray[Any]] | None:
        """At most ``limit`` of the rows, chosen at random; one that was found several times counts once."""
        if not self.rows:
            return None
        rows, labels = joined(self.rows), np.concatenate(self.labels)
        first: dict[tuple[Any, ...], int] = {}
        for index, row in enumerate(
            zip(*(rows.column(name).tolist() for name in rows.names), labels.tolist(), strict=True)
        ):
            first.setdefault(row, index)
        chosen = np.array(list(first.values()), dtype=np.intp)[np.sort(rng.permutation(len(first))[:limit])]
        return rows.take(chosen), labels[chosen]


def with_repeats(rows: int) -> int:
    """The maximum number of rows that samples of so many rows send, with second questions, shrinking and showing."""
    return rows + max(64, ceil(rows / 4))


def _new(factory: Any) -> Any:
    """A new classifier: what the function returns, or a clone of the given one."""
    if hasattr(factory, "fit") and not inspect.isclass(factory):
        from sklearn.base import clone

        return clone(factory)
    try:
        made = factory() if callable(factory) else None
    except TypeError:  # it takes arguments
        made = None
    if not all(hasattr(made, method) for method in ("fit", "predict")):
        given = f"{factory!r} of type {type(factory).__name__}" if made is None else f"a function that gives {made!r}"
        raise UsageError(
            "expected model_factory as a classifier with fit and predict, or a function without arguments that gives a "
            f"new one, but got {shortened(given, 80)}"
        )
    return made


def _for_training(rows: Table) -> Any:
    """A table as estimators take it: data frames and arrays as they are, other kinds as a pandas frame."""
    if rows.kind in {"pandas", "polars", "array"}:
        return rows.native
    from isonomia.models.files import needed

    frames = needed("pandas", "pandas", "training on a table that is neither a data frame nor an array")
    return frames.DataFrame({name: rows.column(name) for name in rows.names})

"""The repair of each subgroup of a table: the least random change of decisions that a fair world can explain.

A scikit-learn compatible classifier that repairs another one's decisions.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from hashlib import blake2b
from math import nan
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.findings import subgroup
from isonomia.audits.principal.question import (
    Coding,
    Key,
    PrincipalQuestion,
    ask_about,
    coding_of,
    labels_for,
    sorted_into,
)
from isonomia.audits.principal.sampling import count
from isonomia.errors import DataError, NumericalError, UsageError, nearest
from isonomia.evidence.strata.bounds import Contradiction
from isonomia.evidence.strata.certified import certified_repair, split_at_random
from isonomia.evidence.strata.repair import (
    Objective,
    Repair,
    adjust_outcomes,
    outcome_deviation,
    remaining_unfairness,
    repair,
)
from isonomia.evidence.strata.worlds import Definition, LinearAssumption, Observed, TableShape, assume, tally
from isonomia.models.adapt import adapt
from isonomia.models.session import open_session
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import refuse_clusters
from isonomia.populations.table import Table, column_from
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.tree import Value

_PARAMETERS = (
    "estimator",
    "attribute",
    "given",
    "definition",
    "assumptions",
    "objective",
    "margin",
    "delta",
    "never_lower",
    "order",
    "cv",
    "random_state",
)


class PrincipalRepair:
    """Change a classifier's decisions at random, as little as possible, until a fair world can explain them.

    ``fit`` learns, for each subgroup, the table of decisions and outcomes by attribute value, and the least repair
    after which some world that is fair by the definition produces it. ``predict`` calls the classifier and applies the
    repair.

    What this does *not* promise: that decisions are fair. The repaired table is one that a fair world can produce, and
    unfair worlds may produce it too. Without ``delta`` the table is a sample's, so the true one misses fairness by the
    order of ``1 / sqrt(n)`` about half of the time. And all of it assumes that the attribute is as good as random
    within each subgroup.

    With ``delta``, some fair world explains the repaired decisions of the *population*, in every subgroup, except with
    that probability. The repair is then learned from and certified on people that the classifier was not fitted on: a
    half of those given to ``fit``, or all with ``cv="prefit"``. It goes further than without, which costs accuracy:
    ``repairs_[key].lost_accuracy`` says how much. Where too few people or ``margin=0`` allow nothing else, all people
    get the same decision, with a warning.

    Parameters
    ----------
    estimator
        A classifier with ``fit`` and ``predict``.
    attribute
        The protected attribute: a column's name, or its number. Where the classifier must not see the column, let it be
        a pipeline that drops it first.
    given
        Columns within whose values the attribute is as good as random: each combination is a subgroup of its own.
    definition
        Which definition of fairness, 1 to 4.
    assumptions
        What is taken for granted about the fair world, as in :class:`isonomia.PrincipalFairness`. Where the outcomes of
        a subgroup contradict them by chance, as those of a sample contradict ``"outcome never changes"``, the nearest
        outcomes that do not are used.
    objective
        What to keep small: ``"loss"``, ``"total"``, ``"changes"`` or ``"accuracy"``; see
        :data:`~isonomia.evidence.strata.repair.OBJECTIVES`. By default the lost accuracy, or, where decisions and
        outcomes have different numbers of values, the number of changes. The paper's is ``"total"``.
    margin
        How large an effect ``tau'`` still counts as fair.
    delta
        The risk that no fair world explains the repaired decisions of the population; ``None`` for none stated. For
        tables of up to about ten free cells, and for assumptions about outcomes alone.
    never_lower
        Never change a decision to a less favourable one.
    order
        All decisions and outcomes from the least to the most favourable; ascending where none is given.
    cv
        How ``fit`` gets decisions to learn the repair from: a number of folds (or anything that scikit-learn takes) for
        decisions about people the classifier was not fitted on, ``None`` for decisions about those it was, ``"prefit"``
        where the classifier is already fitted and is left as it is. With ``delta`` all but ``"prefit"`` are the same.
    random_state
        The seed of the changes. With a number, a person's decision depends on the seed and on the person's values in
        the columns of ``fit`` alone, however people are put together in a call: those with equal values are decided
        alike, so some column should tell people apart. With ``None``, or with a classifier that answers at random,
        decisions differ from call to call, and a check needs ``random_model=True``.

    Attributes
    ----------
    estimator_
        The fitted classifier.
    classes_
        The decisions, in order.
    attribute_values_
        The attribute's values, in the order of the repairs' first axis.
    repairs_
        The repair of each subgroup, by its values of ``given``; the key is ``()`` if there are no such columns.
    strengths_
        With ``delta``: how far inside each repair aims to be, in standard deviations; ``None`` where all people get the
        same decision.
    moved_outcomes_
        How far the outcomes of each subgroup had to be moved to agree with the assumptions: 0 where they did already.
    feature_names_in_
        The columns of ``fit``, where they have names.
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        estimator: Any,
        *,
        attribute: str | int,
        given: Sequence[str | int] = (),
        definition: Definition = 2,
        assumptions: Sequence[str] = (),
        objective: Objective | None = None,
        margin: float = 0.0,
        delta: float | None = None,
        never_lower: bool = False,
        order: Sequence[Value] | None = None,
        cv: Any = 5,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.attribute = attribute
        self.given = given
        self.definition = definition
        self.assumptions = assumptions
        self.objective = objective
        self.margin = margin
        self.delta = delta
        self.never_lower = never_lower
        self.order = order
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PrincipalRepair:
        """Fit the classifier, and learn the repair.

        Parameters
        ----------
        X
            A data frame, a mapping of columns, or an array; it holds the attribute and the columns of ``given``.
        y
            The outcomes.

        Raises
        ------
        DataError
            Where the attribute has one value, a value is missing, a subgroup lacks an attribute value, or its outcomes
            refute the assumptions.
        """
        table, outcomes = Table.of(X), column_from(y, "y")
        if len(outcomes) != table.rows:
            raise DataError(f"expected one outcome per row, but got {len(outcomes)} outcomes for {table.rows} rows")
        if not 0.0 <= self.margin < 1.0:
            raise UsageError(f"expected margin from 0 to below 1, but got margin={self.margin!r}", name="margin")
        name = _name(table, self.attribute)
        attribute = coding_of(name, [table.column(name)])
        fresh = np.arange(table.rows)
        if self.delta is not None and self.cv != "prefit":
            self.estimator_, decisions, fresh = _on_others(self.estimator, X, y, self.random_state)
        else:
            self.estimator_, decisions = decisions_by(self.estimator, X, y, self.cv)
        table, outcomes, decided = table.take(fresh), outcomes[fresh], column_from(decisions, "decisions")
        coding = coding_of("decisions and outcomes", [decided, outcomes], self.order)
        a, s, t = attribute.codes(table.column(name)), coding.codes(decided), coding.codes(outcomes)
        shape = TableShape(len(attribute.values), len(coding.values), len(coding.values))
        assumed = [row for words in self.assumptions for row in assume(shape, words, labels_for(words, coding, coding))]
        subgroups = _rows_of(table, self.given)
        if self.delta is None:
            repairs = {
                key: self._repair(tally(shape, a[rows], s[rows], t[rows]), attribute, key, assumed)
                for key, rows in subgroups
            }
            self.repairs_ = {key: best for key, (best, _) in repairs.items()}
            self.moved_outcomes_ = {key: moved for key, (_, moved) in repairs.items()}
        else:
            rng = np.random.default_rng([0 if self.random_state is None else self.random_state, 1])
            certified = {}
            for key, rows in subgroups:
                learned, blocks = split_at_random(tally(shape, a[rows], s[rows], t[rows]), rng)
                self._people(learned, attribute, key)
                certified[key] = certified_repair(
                    learned,
                    blocks,
                    self.definition,
                    delta=self.delta / len(subgroups),
                    margin=self.margin,
                    objective=self.objective,
                    never_lower=self.never_lower,
                    assumptions=assumed,
                )
            self.repairs_ = {key: each.repair for key, each in certified.items()}
            self.strengths_ = {key: each.strength for key, each in certified.items()}
            self.moved_outcomes_ = dict.fromkeys(certified, 0.0)
            alike = [self._where(key) for key, strength in self.strengths_.items() if strength is None]
            if alike:
                warnings.warn(
                    f"no repair could be certified at risk {self.delta:g} in {', '.join(alike)}, so all people "
                    "there get the same decision: give more people, a larger delta, or a margin",
                    UserWarning,
                    stacklevel=2,
                )
        self.classes_ = np.asarray(coding.values)
        self.attribute_values_ = np.asarray(attribute.values)
        self.n_features_in_ = len(table.names)
        if table.kind != "array":
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        different = table.rows if self.random_state is None else len(set(_row_bytes(table)))
        if different < table.rows / 2:
            warnings.warn(
                f"only {different:,} of {table.rows:,} rows are different: with random_state={self.random_state}, "
                "people with equal values get the same repaired decision. Add a column that tells them apart, or leave "
                "out random_state",
                UserWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Call the classifier, and change its decisions at random as the repair says."""
        before, values, places = self._codes(X)
        drawn, after = self._drawn(Table.of(X)), before.copy()
        for key, rows in places:
            after[rows] = self.repairs_[key].apply(before[rows], values[rows], drawn[rows])
        return np.asarray(self.classes_[after])

    def _drawn(self, table: Table) -> NDArray[np.float64]:
        """A uniform number for each row: with a seed, computed from the seed and the row's values alone."""
        if self.random_state is None:
            return np.random.default_rng().random(table.rows)
        names = [name for name in getattr(self, "feature_names_in_", ()) if name in table.names]
        key = str(self.random_state).encode()
        hashes = (blake2b(row, digest_size=8, key=key) for row in _row_bytes(table.select(names) if names else table))
        # 53 bits, as many as a float has between 1/2 and 1: the result is below 1.
        return np.fromiter((int.from_bytes(each.digest(), "little") >> 11 for each in hashes), np.float64) * 2.0**-53

    def decision_probabilities(self, X: Any) -> NDArray[np.float64]:
        """The probability with which each person gets each decision, in the order of ``classes_``."""
        before, values, places = self._codes(X)
        chances = np.zeros((len(before), len(self.classes_)))
        for key, rows in places:
            chances[rows] = self.repairs_[key].change[values[rows], before[rows]]
        return chances

    def remaining_unfairness(self, X: Any, y: Any) -> dict[Key, float]:
        """How far repaired decisions are from what a fair world can produce, in each subgroup (the paper's Theorem 3).

        It is the least sum of the sizes of the effects ``tau'`` in a world that produces the table of these people, who
        should be others than those of ``fit``; 0 where some fair world does. An estimate, without a guarantee: where
        the truth is 0, the table of a sample may still be off by the order of ``1 / sqrt(n)``.

        Parameters
        ----------
        X, y
            People and their outcomes.
        """
        before, values, places = self._codes(X)
        outcomes = Coding("outcomes", tuple(self.classes_.tolist())).codes(column_from(y, "y"))
        shape = TableShape(len(self.attribute_values_), len(self.classes_), len(self.classes_))
        results = {}
        for key, rows in places:
            counts = tally(shape, values[rows], before[rows], outcomes[rows])
            self._people(counts, Coding("the attribute", tuple(self.attribute_values_.tolist())), key)
            changed = np.einsum("ast,asy->aty", self.repairs_[key].change, counts.astype(np.float64))
            left = remaining_unfairness(Observed.from_counts(changed), self.definition)
            assert isinstance(left, float), "without assumptions some world produces every table"
            results[key] = left
        return results

    def score(self, X: Any, y: Any) -> float:
        """The share of repaired decisions that equal the outcome."""
        return float(np.mean(self.predict(X) == column_from(y, "y")))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with ``deep`` those of the classifier as ``estimator__name``."""
        own = {name: getattr(self, name) for name in _PARAMETERS}
        inner = self.estimator.get_params() if deep and hasattr(self.estimator, "get_params") else {}
        return own | {f"estimator__{name}": value for name, value in inner.items()}

    def set_params(self, **parameters: Any) -> PrincipalRepair:
        """Set parameters, those of the classifier as ``estimator__name``."""
        inner = {}
        for name, value in parameters.items():
            if name in _PARAMETERS:
                setattr(self, name, value)
            elif name.startswith("estimator__"):
                inner[name.removeprefix("estimator__")] = value
            else:
                raise ValueError(f"there is no parameter {name!r}.{nearest(name, _PARAMETERS)}")
        if inner:
            self.estimator.set_params(**inner)
        return self

    def __repr__(self) -> str:
        return f"PrincipalRepair({', '.join(f'{name}={getattr(self, name)!r}' for name in _PARAMETERS)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "repairs_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            non_deterministic=True,
        )

    def _repair(
        self, counts: NDArray[np.int64], attribute: Coding, key: Key, assumed: Sequence[LinearAssumption]
    ) -> tuple[Repair, float]:
        self._people(counts, attribute, key)
        how: dict[str, Any] = {"objective": self.objective, "margin": self.margin, "never_lower": self.never_lower}
        try:
            return repaired(counts, self.definition, assumptions=assumed, **how)
        except DataError as error:
            raise DataError(f"in {self._where(key)}, {error}") from error

    def _where(self, key: Key) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in zip(self.given, key, strict=True)) or "the data"

    def _people(self, counts: NDArray[np.int64], attribute: Coding, key: Key) -> None:
        people = counts.sum((1, 2))
        if not people.all():
            raise DataError(
                f"expected people with every value of {attribute.name} in each subgroup, but no row of "
                f"{self._where(key)} has {attribute.values[int(np.argmin(people))]!r}: leave a column out of `given`, "
                "or merge its values"
            )

    def _codes(self, X: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], list[tuple[Key, NDArray[np.intp]]]]:
        """Decisions and attribute values as numbers, and the rows of each subgroup."""
        if not hasattr(self, "repairs_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this PrincipalRepair is not fitted yet: call fit before predict")
        table = Table.of(X)
        name = _name(table, self.attribute)
        values = Coding(name, tuple(self.attribute_values_.tolist())).codes(table.column(name))
        coding = Coding("decisions", tuple(self.classes_.tolist()))
        places = _rows_of(table, self.given)
        for key, _ in places:
            if key not in self.repairs_:
                known = ", ".join(map(repr, self.repairs_))
                raise DataError(f"expected a subgroup that was present in fit ({known}), but got {key!r}")
        return coding.codes(column_from(self.estimator_.predict(X), "decisions")), values, places


def _name(table: Table, column: str | int) -> str:
    """A column's name; a number counts columns from 0."""
    if isinstance(column, str):
        return column
    if not 0 <= column < len(table.names):
        raise UsageError(f"expected a column's name or its number below {len(table.names)}, but got {column!r}")
    return table.names[column]


def _row_bytes(table: Table) -> list[bytes]:
    """The values of each row as bytes: the same for a number of any type, and for any kind of table."""
    columns = [[_value_bytes(value) for value in table.column(name).tolist()] for name in table.names]
    return [b"".join(row) for row in zip(*columns, strict=True)]


def _value_bytes(value: Any) -> bytes:
    if isinstance(value, bool | int | float):
        return pack("<d", nan if value != value else float(value) + 0.0)
    return blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _rows_of(table: Table, given: Sequence[str | int]) -> list[tuple[Key, NDArray[np.intp]]]:
    """Each subgroup with its rows."""
    keys, places = sorted_into(table, [_name(table, column) for column in given])
    return [(key, np.flatnonzero(places == number)) for number, key in enumerate(keys)]


REFUTED = 1e-3
"""The risk of calling true assumptions refuted."""


def repaired(
    counts: NDArray[np.int64],
    definition: Definition,
    *,
    objective: Objective | None,
    margin: float = 0.0,
    never_lower: bool,
    assumptions: Sequence[LinearAssumption],
) -> tuple[Repair, float]:
    """Find the least repair of a sample's subgroup, and how far its outcomes had to be moved for it.

    Guarantee: that of :func:`~isonomia.evidence.strata.repair.repair` for the counts, where they agree with the
    assumptions. Otherwise that of the table with the nearest outcomes that do: a repair changes decisions only, so no
    repair could make these counts agree.
    """
    how: dict[str, Any] = {
        "objective": objective,
        "margin": margin,
        "never_lower": never_lower,
        "assumptions": assumptions,
    }
    table, moved = Observed.from_counts(counts), 0.0
    best = repair(table, definition, **how)
    if isinstance(best, Contradiction) and not assumptions:
        raise NumericalError("expected a repair, since equal decisions for all are one, but the solver found none")
    if isinstance(best, Contradiction):
        table, moved = _agreeing(counts, table, assumptions)
        best = repair(table, definition, **how)
    if isinstance(best, Contradiction):
        raise DataError("no change of decisions makes them fair under the assumptions: drop one, or never_lower")
    return best, moved


def _agreeing(
    counts: NDArray[np.int64], table: Observed, assumptions: Sequence[LinearAssumption]
) -> tuple[Observed, float]:
    agreed = adjust_outcomes(table, assumptions)
    if isinstance(agreed, Contradiction):
        raise DataError("the assumptions contradict each other, so that nothing can be repaired under them: drop one")
    limit = outcome_deviation(counts.sum((1, 2)).tolist(), table.shape.outcomes, REFUTED)
    if agreed.distance > limit:
        raise DataError(
            f"the outcomes contradict the assumptions: they are off by {agreed.distance:.3g} in sum, and by chance it "
            f"would hardly be more than {limit:.3g}. Drop an assumption, or add to `given` what explains the outcomes"
        )
    return agreed.table, agreed.distance


def remedies(
    prop: PrincipalFairness,
    model: Any,
    people: Sample | Census,
    *,
    objective: Objective | None = None,
    never_lower: bool = False,
    delta: float | None = None,
    seed: int | None = None,
) -> dict[str, Repair | None]:
    """Find the least repair of each subgroup, from all rows of a table.

    Guarantee: that of :func:`~isonomia.evidence.strata.repair.repair` for the table's own counts. A sample's counts are
    off by the order of ``1 / sqrt(n)``, and so is what is learned from them; where its outcomes contradict the
    assumptions by chance, the nearest that do not are used. The margin is not used: a repair aims for no difference.

    With ``delta`` and a sample, that of :func:`~isonomia.evidence.strata.certified.certified_repair` in all subgroups
    at once. The margin of the property is used where it is of ``tau'``.

    Parameters
    ----------
    prop, model, people
        As in a check.
    objective, never_lower
        As in :func:`~isonomia.evidence.strata.repair.repair`.
    delta
        The risk that no fair world explains the repaired decisions of the population; ``None`` for none stated.
    seed
        Which people teach repairs, and which certify one.

    Returns
    -------
    dict
        For each subgroup its repair; ``None`` where no row has one of the attribute's values, or where the assumptions
        leave no repair.
    """
    refuse_clusters(people, "a repair")
    if delta is not None and isinstance(people, Census):
        raise UsageError("expected a sample for a repair with a stated risk: that of a census is exact", name="delta")
    adapted = None if model is None else adapt(model)
    question = ask_about(prop, people, adapted)
    counts = count(question, people.table, None if adapted is None else open_session(adapted, watched=False))
    rng = np.random.default_rng([seed or 0, 1])
    repairs: dict[str, Repair | None] = {}
    for key, cells in counts.items():
        table = cells.reshape(question.shape.table).astype(np.int64)
        best: Repair | None = None
        if not (table.sum((1, 2)) > 0).all():
            pass
        elif delta is None:
            best = _best(table, question, objective, never_lower, of_a_sample=isinstance(people, Sample))
        else:
            best = certified_repair(
                *split_at_random(table, rng),
                prop.definition,
                delta=delta / len(counts),
                margin=0.0 if prop.normalised else prop.within,
                objective=objective,
                never_lower=never_lower,
                assumptions=question.constraints,
            ).repair
        repairs[subgroup(question, key)] = best
    return repairs


def _best(
    counts: NDArray[np.int64],
    question: PrincipalQuestion,
    objective: Objective | None,
    never_lower: bool,
    *,
    of_a_sample: bool,
) -> Repair | None:
    """The repair of one subgroup; only a sample's outcomes can contradict true assumptions by chance."""
    definition, assumed = question.prop.definition, question.constraints
    if of_a_sample:
        try:
            return repaired(counts, definition, objective=objective, never_lower=never_lower, assumptions=assumed)[0]
        except DataError:
            return None
    table = Observed.from_counts(counts)
    best = repair(table, definition, objective=objective, never_lower=never_lower, assumptions=assumed)
    return best if isinstance(best, Repair) else None


def _on_others(estimator: Any, X: Any, y: Any, seed: int | None) -> tuple[Any, Any, NDArray[np.intp]]:
    """Fit a classifier on a half; return it with its decisions about the other half, and the rows of that half."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(column_from(y, "y")))
    mine, others, its, _, _, fresh = train_test_split(X, y, rows, test_size=0.5, random_state=seed)
    fitted = clone(estimator).fit(mine, its)
    return fitted, fitted.predict(others), np.asarray(fresh)


def decisions_by(estimator: Any, X: Any, y: Any, cv: Any) -> tuple[Any, Any]:
    """Fit a classifier, and return it with its decisions about the given people.

    Parameters
    ----------
    estimator
        The classifier; a copy of it is fitted.
    X, y
        People and outcomes.
    cv
        Folds, for decisions about people that the classifier was not fitted on; ``None`` for decisions about those that
        it was fitted on; ``"prefit"`` where it is already fitted, and is left as it is.
    """
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    if isinstance(cv, str):
        if cv != "prefit":
            raise UsageError(f"expected cv as a number of folds, None or 'prefit', but got {cv!r}", name="cv")
        return estimator, estimator.predict(X)
    fitted = clone(estimator).fit(X, y)
    return fitted, fitted.predict(X) if cv is None else cross_val_predict(estimator, X, y, cv=cv)

"""Repair: train a model again on its own violations, and certify the gain on people it never saw.

The loop of the k-safety paper in general form. The table is split once, at random. With the first part the model is
trained, violations are searched, labelled as the property wants them, added to the training rows, and the model is
trained again. The second part, the held-out rows, is used once, at the end: neither training nor the search, nor the
choice among the trained models, has seen any of it.

*Why that is sound.* Given the first part and all randomness of the training, the repaired model is fixed, and the
held-out rows are still independent draws from the population. So the share of violating cases, one random case per row,
is a binomial share (Clopper-Pearson), and the lost accuracy is the mean of independent numbers in [-1, 1]. Each of the
``m`` claims has the risk ``delta / m``; the probability that any of them is wrong is at most ``delta``. It is valid for
one look: repairing again because the answer does not please needs new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.arguments import checked_delta, checked_population, checked_property
from isonomia.audits.random_search import called
from isonomia.audits.repair.certificate import Certificate, RepairClaim
from isonomia.audits.repair.training import RepairRound, RepairTraining, Rule
from isonomia.engine.parameters import Budget, derived_seed
from isonomia.errors import ChangingModelError, DataError, ModelError, UsageError, nearest
from isonomia.models.meter import QueryMeter, metering
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, refuse_clusters
from isonomia.populations.table import Table
from isonomia.records.verdict import Verdict
from isonomia.spec.safety import Safety


@dataclass(frozen=True, slots=True, eq=False)
class Augmentation:
    """The result of a repair.

    Attributes
    ----------
    model, before
        The repaired estimator, and the one that was trained on the same rows without any added.
    verdict
        The gain and its cost, certified on the held-out rows.
    rounds
        The searches, in order; the first one is of the model before the repair.
    kept
        The round whose model is the repaired one: the one with the fewest violations in its search.
    held_out
        The numbers of the rows that were held out.
    """

    model: Any
    before: Any
    verdict: Verdict
    rounds: tuple[RepairRound, ...]
    kept: int
    held_out: NDArray[np.intp]

    def record(self, folder: str | PathLike[str] = ".isonomia") -> str:
        """Keep the verdict in a folder of records; returns the name of the run."""
        from isonomia.records.store import Store

        store, name = Store(Path(folder)), self.verdict.name or "repair"
        run = store.begin(name, {"repair": self.verdict.text}, [(name, {"repair": self.verdict.text}, {})])
        store.conclude(run, 0, self.verdict)
        store.end(run)
        return run


def augment(
    model_factory: Any,
    data: Any,
    property: Safety | str | Sequence[Safety],  # noqa: A002  (the word of the glossary)
    *,
    label: str,
    features: Sequence[str] | None = None,
    rule: Rule | None = None,
    rounds: int = 40,
    cases: int = 20_000,
    most: float = 0.01,
    mix: float = 0.2,
    held_out: float = 1 / 3,
    fresh: Population | None = None,
    lost: float = 0.005,
    delta: float = 0.05,
    seed: int | None = None,
    tell: Callable[[RepairRound], None] | None = None,
    budget: Budget | str | None = None,
) -> Augmentation:
    """Train a classifier again on its violations of k-safety properties, and certify the gain.

    Each round searches violations among the training rows, gives the changed rows the label that the property wants,
    adds some of them to the training rows, and trains a new model. It ends when a search finds nothing or the rounds
    are spent. Of all models, the one with the fewest violations in its search is kept.

    Parameters
    ----------
    model_factory
        Gives a new classifier with ``fit`` and ``predict`` at each call; or such a classifier, which is cloned.
    data
        The table with features and labels: a :class:`Sample` or any table, whose held-out rows then represent the
        population they are drawn from; or a :class:`Census`, whose held-out rows represent only themselves.
    property
        A k-safety property of a table, or several. The share of cases that may violate one is its ``eps``.
    label
        The column with the labels.
    features
        The columns that the model is trained with; default: all but the label.
    rule
        The right labels of changed rows: a function of the related rows, the changed rows, both as tables like
        ``data``, and the answers about the related rows; it returns a label per row. By default, a changed row is to be
        answered like the row it is related to, the first input of the case.
    rounds
        The maximum number of times the model is trained again.
    cases
        How many random cases a search tries, for each property.
    most
        The maximum number of rows a round adds, as a share of the training rows. Few at a time cost less accuracy.
    mix
        Half of the cases start from training rows in which each feature is, with this probability, that of another
        row: so the repair also covers people who are not in the table. 0 searches the training rows only.
    held_out
        The share of the rows that is held out for the certificate.
    fresh
        The population for which the share of violating cases is certified, in place of the held-out rows: a
        :class:`Generator`, which can be drawn from without end. The search then draws from it too, with other seeds.
    lost
        The accuracy that may be lost: 0.005 is half a point.
    delta
        The risk of all claims together.
    seed
        Makes it repeatable, as far as the training is; by default derived from properties and data.
    tell
        Called with every :class:`RepairRound`.
    budget
        The most rows sent to all trained models together, ``"100000 queries"``. The certificate's are set aside first;
        training ends before a search that the rest may not cover. A budget without room for one search is refused.

    Returns
    -------
    Augmentation
        The repaired model and a verdict. *holds*: every share is at most its ``eps`` and at most ``lost`` of the
        accuracy is lost. *violated*: one of these is refuted. All upper limits are true together except with
        probability ``delta``, for this one look, and so are all lower limits; *holds* rests on upper limits alone.

    Raises
    ------
    IsonomiaError
        With a message that says what was expected, what was received, and what to do.

    Examples
    --------
    >>> import numpy as np, isonomia as iso
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> priors = rng.integers(0, 20, 3000)
    >>> people = {"priors": priors, "age": rng.integers(18, 70, 3000), "risk": (priors + 6 * rng.normal(size=3000) > 9)}
    >>> monotone = iso.safety.monotone("priors", up=(1, 5), at_most=19, eps=0.01)
    >>> tree = DecisionTreeClassifier(max_depth=8, random_state=0)
    >>> repaired = iso.repair.augment(tree, people, monotone, label="risk", lost=0.05, seed=1)
    >>> repaired.verdict.answer
    'holds'
    """
    began = monotonic()
    props = _checked_props(property)
    claim = RepairClaim(props, _share("lost", lost))
    people = checked_population(data)
    if not isinstance(people, Sample | Census):
        raise UsageError(
            f"expected data as a table, a Sample or a Census, but got a {type(people).__name__}: training needs rows "
            "with labels. Pass a generator as fresh="
        )
    refuse_clusters(people, "a repair")
    _whole("rounds", rounds)
    _whole("cases", cases)
    share = _share("held_out", held_out)
    work = RepairTraining(
        model_factory,
        people.table,
        _checked_columns(people.table, label, features, props),
        label,
        props,
        fresh,
        derived_seed(str(claim), people.fingerprint()) if seed is None else int(seed),
        cases,
        _share("most", most),
        _share("mix", mix),
        rule,
    )
    risk = checked_delta(delta)
    train_rows, held_rows = work.split(share)
    train, held = work.table.take(train_rows), work.table.take(held_rows)
    certificate = Certificate(work, type(people), held, claim, risk)
    try:
        with metering(QueryMeter(Budget.of_queries(budget, "a repair").queries)) as meter:
            models, history = work.repaired(train, rounds, tell, certificate.rows)
            best = min(range(len(history)), key=lambda i: (history[i].violating / max(history[i].searched, 1), -i))
            before, after = models[0], models[best]
            verdict = certificate.verdict(train, before, after, history, best, began)
    except ChangingModelError as error:
        raise ModelError(
            "a repair needs a classifier that always gives the same answer for a row, but this one gave two: set the "
            "seed of its random parts, or use a classifier without them"
        ) from error
    verdict = replace(verdict, seed_chosen=seed is not None, queries=meter.rows)
    return Augmentation(after, before, verdict, history, best, held_rows)


def _checked_props(value: Any) -> tuple[Safety, ...]:
    """The properties, each with a name of its own."""
    several = [checked_property(one) for one in ([value] if isinstance(value, str | Safety) else list(value))]
    if not several:
        raise UsageError("expected a k-safety property, or several, but got none")
    props: list[Safety] = []
    for prop in several:
        if not isinstance(prop, Safety):
            raise UsageError(
                f"expected a k-safety property, such as iso.safety.monotone(...) or a .nom file, but got a "
                f"{type(prop).__name__}: for principal fairness there is iso.repair.PrincipalRepair"
            )
        if not all(item.always for item in prop.spec.ensures):
            raise UsageError(
                f"expected {called(prop)} without rates in `ensures`, but it has one: say by eps which share of cases "
                "may violate it"
            )
        props.append(prop)
    if len(set(map(called, props))) < len(props):
        props = [replace(prop, name=f"{called(prop)} ({k})") for k, prop in enumerate(props, start=1)]
    return tuple(props)


def _checked_columns(
    table: Table, label: str, features: Sequence[str] | None, props: Sequence[Safety]
) -> tuple[str, ...]:
    """The columns to train with."""
    for name in (label, *(features or ())):
        if name not in table.names:
            raise DataError(f"the table has no column {name!r}.{nearest(str(name), table.names)}", name=str(name))
    if features is not None and label in features:
        raise UsageError(f"expected features without the label, but {label!r} is among them: leave it out")
    labels = table.column(label)
    if labels.dtype.kind == "f" and (np.isnan(labels).any() or (labels % 1 != 0).any()):
        raise DataError(f"expected classes in the column {label!r}, all known, but it has missing values or fractions")
    if len(np.unique(labels.astype(str) if labels.dtype.kind == "O" else labels)) < 2:
        raise DataError(f"expected at least two classes in the column {label!r}, but all rows have the same")
    for prop in props:
        if prop.label not in (None, label):
            raise UsageError(f"expected label={prop.label!r}, as {called(prop)} has it, but got label={label!r}")
    return tuple(features or (name for name in table.names if name != label))


def _share(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= float(value) < 1.0:
        raise UsageError(f"expected {name} as a share from 0 up to 1, but got {name}={value!r}")
    return float(value)


def _whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(f"expected {name} as a whole number of at least 1, but got {name}={value!r}")

"""Responsiveness: which share of the changes open to a person reaches a target prediction.

A target is a class, several classes, an interval or a condition; :func:`target_of` turns each of these into one
condition on a reachable point. :class:`Responsiveness` is the property; the named tests are ready-made ones:
:func:`preclusion`, :func:`gaming`, :func:`stability`, :func:`affordability`, :func:`monotonicity` and, one feature at a
time, :func:`by_feature`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol, cast, runtime_checkable
from typing import Literal as OneOf

import numpy as np

from isonomia.errors import SpecError, UsageError, nearest
from isonomia.spec.parser import parse_condition
from isonomia.spec.text import name_text, number_text, shown, to_text
from isonomia.spec.tree import Compare, Literal, Member, Output, Row, RowJunction, Value, nodes, versions_of

__all__ = [
    "OWN",
    "OWN_SCORE",
    "Actions",
    "Responsiveness",
    "affordability",
    "by_feature",
    "classes_named",
    "gaming",
    "monotonicity",
    "preclusion",
    "stability",
    "target_of",
]

OWN = "own"
"""What a target calls the prediction that the person has as they are."""

OWN_SCORE = "own_score"
"""What a target calls the score that the person has as they are."""

_SPEAKS_OF_OUTPUT = re.compile(r"\b(prediction|score)\b")
_PREDICTION = Output("prediction")

CONTROLS = ("family", "discovery")


@runtime_checkable
class Actions(Protocol):
    """What people can change, as :class:`isonomia.interventions.Interventions` says it."""

    @property
    def features(self) -> Sequence[Any]:
        """The features."""

    def only(self, which: str | Sequence[str]) -> Any:
        """The same with only some features actionable."""

    def reach(self, people: Any, memory: Any = None) -> Any:
        """What people can reach; a memory keeps the results for the next time."""

    def invalid(self, people: Any) -> Any:
        """Whose values are missing, impossible or break a rule."""

    def fingerprint(self) -> str:
        """A text that tells these interventions from others."""


@runtime_checkable
class MoveMemory(Protocol):
    """The moves of people seen before, as :class:`isonomia.interventions.Memory` stores them."""

    def moves(self, block: Any, starts: Any, most: int) -> Any:
        """The moves of each of some distinct starts."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Responsiveness:
    """Everyone can reach a target prediction by a large enough share of their changes, or no one by a larger one.

    The *share* of a person is the probability of the target prediction when an action is drawn uniformly from those
    open to them, doing nothing included, and its effects after it. A person is *responsive* when it is large enough,
    *fixed* when not.

    Attributes
    ----------
    interventions
        What people can change.
    target
        What a prediction must be: a class, a list of classes, an interval ``(low, high)``, or a condition such as
        ``"prediction < own"``; see :func:`isonomia.spec.responsiveness.target_of`.
    at_least, at_most
        What must hold of every share: exactly one of the two, strictly between 0 and 1.
    one_is_enough
        With ``at_least``: a person with one point that has the target is responsive, whatever their share. Then
        ``at_least`` is the threshold only for people whose points are drawn, with no draw that reaches the target.
    only
        The features that are free, of those that are actionable; default: all.
    who
        The condition for the people concerned, which may refer to the ``prediction`` for the person as they are:
        ``"prediction == 0 and age < 25"``; default: everyone.
    rows
        The rows of the table that it is about, counted from 0: one, or several; default: all.
    by
        Columns by whose values the people are counted in groups.
    control
        Which mistakes about single people are limited when many are named. ``"family"``: the probability that anyone
        is wrongly called fixed is at most delta, and so is that of anyone wrongly called responsive (Holm).
        ``"discovery"``: the expected share of wrong names among those called fixed is at most delta, likewise among
        those called responsive (e-BH).
    draws
        A fixed number of draws for each person, for exact binomial tests and Clopper-Pearson intervals; by default,
        each person's points are drawn until the person is decided.
    most_draws
        The maximum number of draws for one person.
    most_listed
        The most reachable points for which all of a person's points are evaluated, which is exact.
    average
        The claim is about the average share of all people instead of each person's: ``at_least`` or ``at_most`` limits
        it. With ``Sample``, it is about the population that the people are drawn from.
    failing_at_most
        The claim may fail for this share of people; by default, for no one. With ``at_least``, that is the share of
        people without enough ways; with ``at_most``, of those who can game it. With ``Sample``, as for ``average``.
    skip_invalid
        Leave out people whose values are missing, impossible or break a rule, and count them; by default, the first of
        them is an error. What is claimed is then about the others.
    memory
        An :class:`isonomia.interventions.Memory`, which keeps what was computed about reachable points for other models
        and other runs; by default nothing is stored.
    name
        What people call it, for reports.

    Raises
    ------
    UsageError, SpecError
        Where an argument is none of these.

    Notes
    -----
    Source: the responsiveness paper, Propositions 3 and 4. What is *not* said: how hard a change is, or that a person
    who is responsive knows which change to make; shares weigh every reachable point alike.
    """

    interventions: Actions
    target: Any
    at_least: float | None = None
    at_most: float | None = None
    only: Sequence[str] | str | None = None
    who: str | None = None
    by: Sequence[str] | str = ()
    control: OneOf["family", "discovery"] = "family"
    draws: int | None = None
    most_draws: int = 10_000
    most_listed: int = 500
    name: str | None = None
    rows: Sequence[int] | int | None = None
    memory: Any = None
    one_is_enough: bool = False
    average: bool = False
    failing_at_most: float | None = None
    skip_invalid: bool = False
    _target: Row = field(init=False)
    _who: Row | None = field(init=False)

    def __post_init__(self) -> None:
        """Check every argument, and read the conditions."""
        put, interventions = object.__setattr__, cast(Any, self.interventions)
        if not isinstance(interventions, Actions):
            kind = type(interventions).__name__
            raise UsageError(f"expected interventions as Interventions(...), but got a {kind}", name="interventions")
        if self.memory is not None and not isinstance(self.memory, MoveMemory):
            kind = type(self.memory).__name__
            raise UsageError(f"expected memory as interventions.Memory(), but got a {kind}", name="memory")
        put(self, "_target", target_of(self.target))
        put(self, "_who", None if self.who is None else condition_of(self.who))
        put(self, "by", (self.by,) if isinstance(self.by, str) else tuple(self.by))
        if (self.at_least is None) == (self.at_most is None):
            given = f"at_least={self.at_least!r} and at_most={self.at_most!r}"
            raise UsageError(f"expected exactly one of at_least and at_most, but got {given}")
        if self.one_is_enough and self.at_least is None:
            raise UsageError("expected at_least with one_is_enough=True, but got at_most: leave one_is_enough out")
        _check_share("at_least" if self.at_most is None else "at_most", self.threshold)
        if self.control not in CONTROLS:
            hint = nearest(str(self.control), CONTROLS)
            raise UsageError(f"expected control as 'family' or 'discovery', but got {self.control!r}.{hint}")
        self._check_counts()
        self._check_about_all()
        if not isinstance(self.skip_invalid, bool):
            raise UsageError(f"expected skip_invalid as true or false, but got {self.skip_invalid!r}")
        put(self, "rows", _rows(self.rows))
        if self.only is not None:
            self.interventions.only(self.only)

    @property
    def threshold(self) -> float:
        """The share that is compared with."""
        return float(self.at_least if self.at_least is not None else self.at_most)  # type: ignore[arg-type]

    @property
    def about_all(self) -> bool:
        """Whether the claim is about all people together."""
        return self.average or self.failing_at_most is not None

    @property
    def limit(self) -> float:
        """What the claim compares its quantity with: a share of points, or of people."""
        return self.threshold if self.failing_at_most is None else float(self.failing_at_most)

    @property
    def quantity(self) -> str:
        """What a claim about all people compares."""
        if self.average:
            return "average share"
        if self.one_is_enough:
            return "share of people without a way"
        return f"share of people with a share {'below' if self.at_least is not None else 'above'} {self.threshold:g}"

    @property
    def condition(self) -> Row:
        """The target as a condition on a reachable point."""
        return self._target

    @property
    def members(self) -> Row | None:
        """The condition for the people concerned; ``None`` for everyone."""
        return self._who

    @property
    def actions(self) -> Any:
        """What people can change, with only the free features actionable."""
        return self.interventions if self.only is None else self.interventions.only(self.only)

    def named(self, name: str) -> Responsiveness:
        """The same property under a name."""
        return replace(self, name=name)

    def __str__(self) -> str:
        whom = f"for {_whom(self.rows)}" + ("" if self._who is None else f" with {to_text(self._who)}")
        bound = f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"
        bound = f"> 0 ({bound} where points are drawn)" if self.one_is_enough else bound
        if self.failing_at_most is not None:
            bound = f"{bound} for all but a share of {self.failing_at_most:.4g} of people"
        average = "average " if self.average else ""
        free = "" if self.only is None else f", changing only {_listed(self.only)}"
        return f"{average}share of reachable points with {to_text(self._target)} {bound}, {whom}{free}"

    def __repr__(self) -> str:
        return f"Responsiveness({str(self)!r})"

    def explain(self) -> str:
        """Say in plain English what is claimed."""
        among = "" if self.rows is None else f" of {_whom(self.rows)}"
        whom = ("Everyone" if self.at_least is not None else "No one") + among
        rest = "" if self._who is None else f" with {to_text(self._who)}"
        if self.average:
            bound = f"at least {self.at_least:.4g}" if self.at_least is not None else f"at most {self.at_most:.4g}"
            people = f"the people{rest}" if self.rows is None else f"{_whom(self.rows)}{rest}"
            return f"On average, {people} reach {to_text(self._target)} by a share of {bound} of their changes."
        if self.failing_at_most is not None:
            each = replace(self, failing_at_most=None).explain()
            return f"For all but a share of {self.failing_at_most:.4g} of the people, this is true: {each}"
        if self.one_is_enough:
            return (
                f"{whom}{rest} reaches {to_text(self._target)} at one or more of the points that they can reach. Where "
                f"points are drawn and no draw reaches it, a share below {self.at_least:.4g} counts as none."
            )
        size = f"at least {self.at_least:.4g}" if self.at_least is not None else f"more than {self.at_most:.4g}"
        return f"{whom}{rest} reaches {to_text(self._target)} by a share of {size} of the points that they can reach."

    def _check_counts(self) -> None:
        counts = [("most_draws", self.most_draws, 1), ("most_listed", self.most_listed, 0)]
        for name, value, least in counts if self.draws is None else [("draws", self.draws, 1), *counts]:
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise UsageError(f"expected {name} as a whole number of at least {least}, but got {name}={value!r}")
        if self.draws is not None and self.control == "discovery":
            raise UsageError("expected control='family' with a fixed number of draws: leave draws out for 'discovery'")

    def _check_about_all(self) -> None:
        if not isinstance(self.average, bool):
            raise UsageError(f"expected average as true or false, but got {self.average!r}", name="average")
        if self.average and (self.one_is_enough or self.failing_at_most is not None or self.control != "family"):
            raise UsageError("expected average=True without one_is_enough, failing_at_most and control", name="average")
        if self.failing_at_most is None:
            return
        _check_share("failing_at_most", self.failing_at_most)
        if self.control != "family":
            raise UsageError(
                "expected control='family' with failing_at_most, whose interval needs every name to be right"
            )


def _check_share(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
        raise UsageError(f"expected {name}, a share, strictly between 0 and 1, but got {name}={value!r}")


def _rows(given: Any) -> tuple[int, ...] | None:
    if given is None:
        return None
    listed = [given] if isinstance(given, int | np.integer) else given
    try:
        rows = [int(row) for row in listed if not isinstance(row, bool) and int(row) == row >= 0]
    except (TypeError, ValueError):
        rows = []
    if not rows or len(rows) < len(listed):
        raise UsageError(f"expected rows as whole numbers, counted from 0, but got rows={given!r}", name="rows")
    return tuple(dict.fromkeys(rows))


def _whom(rows: Any) -> str:
    if rows is None:
        return "all rows"
    shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    return f"the person in row {shown}" if len(rows) == 1 else f"the {len(rows):,} people in rows {shown}"


def _listed(which: Sequence[str] | str) -> str:
    return which if isinstance(which, str) else ", ".join(which)


# ---------------------------------------------------------------------------- targets


def target_of(target: Any) -> Row:
    """Turn any kind of target into a condition on a reachable point.

    Parameters
    ----------
    target
        A class (``1``, ``"good"``); a list or set of classes; an interval ``(low, high)`` as a tuple of two numbers,
        ``None`` for no end; or a condition as text that refers to ``prediction`` or ``score``, and perhaps to ``own``
        (the prediction for the person as they are), ``own_score`` and columns: ``"prediction < own"``.

    Raises
    ------
    UsageError, SpecError
        Where it is none of these, or the condition cannot be read.
    """
    match target:
        case str() if _SPEAKS_OF_OUTPUT.search(target):
            return condition_of(target)
        case tuple():
            return _interval(target)
        case list() | AbstractSet():
            labels: list[Literal] = [_label(item) for item in target]
            if not labels:
                raise UsageError("expected at least one class as target, but got an empty list")
            labels.sort(key=_order)
            return Member(_PREDICTION, tuple(labels))
        case _:
            return Compare("==", _PREDICTION, _label(target))


def condition_of(text: str) -> Row:
    """Read a condition about one person or point as they are."""
    row = parse_condition(text)
    if versions_of(row):
        raise SpecError(f"expected a condition about one point, but `{text}` speaks of other versions of a person")
    return row


def classes_named(row: Row, relation: OneOf["==", "!="]) -> tuple[Value, ...]:
    """The values that a condition compares the prediction with for (in)equality: classes, which can be misspelled.

    Parameters
    ----------
    row
        The condition.
    relation
        Whether to return the values that it is equal to, or those that it is not equal to.
    """
    classes: dict[Value, None] = {}
    for node in nodes(row):
        match node:
            case Compare(own, Output(name="prediction"), Literal(value)) if own == relation:
                classes[value] = None
            case Compare(own, Literal(value), Output(name="prediction")) if own == relation:
                classes[value] = None
            case Member(Output(name="prediction"), values) if relation == "==":
                classes |= dict.fromkeys(item.value for item in values if isinstance(item, Literal))
            case _:
                pass
    return tuple(classes)


def _interval(target: tuple[Any, ...]) -> Row:
    if len(target) != 2 or not all(end is None or _is_number(end) for end in target) or target == (None, None):
        message = "expected a tuple as target to be an interval (low, high), None for no end"
        raise UsageError(f"{message}, but got {target!r}: a set of classes is a list or a set")
    low, high = target
    if low is not None and high is not None and low > high:
        raise UsageError(f"expected the interval of a target as (low, high) with low <= high, but got {target!r}")
    sides: list[Row] = []
    if low is not None:
        sides.append(Compare(">=", _PREDICTION, _label(low)))
    if high is not None:
        sides.append(Compare("<=", _PREDICTION, _label(high)))
    return sides[0] if len(sides) == 1 else RowJunction("and", tuple(sides))


def _label(value: Any) -> Literal:
    plain: Value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | bool | int | float) or (isinstance(plain, float) and not isfinite(plain)):
        message = "expected target as a class, a list of classes, an interval (low, high), or a condition such as"
        raise UsageError(f"{message} 'prediction < own', but got {shown(value)}")
    return Literal(plain)


def _order(label: Literal) -> tuple[str, Any]:
    return type(label.value).__name__, label.value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and isfinite(float(value))


_DRAWN_LINE = 0.01
"""Someone without a draw that reaches the target is called fixed once their share is shown to be below this."""


def preclusion(interventions: Actions, target: Any, *, below: float | None = None, **options: Any) -> Responsiveness:
    """No one is precluded from the target: everyone has a way to it.

    One reachable point with the target is a way, however many other points there are. A person without one is
    precluded. Where a person's reachable points are listed, that is exact. Draws can only show that the share is
    *below* a threshold, never that no point at all reaches the target: a person whose points are drawn, with no draw
    that reaches it, is called fixed when the share is shown to be below 0.01. A way that any draw of the check finds
    clears the person, whatever the share.

    Parameters
    ----------
    interventions, target
        What people can change, and the prediction that should be open to them.
    below
        A share below which a person counts as precluded even if there is a way, with listed points and with draws;
        by default, one way is enough.
    options
        ``who``, ``by``, ``only`` and whatever else :class:`Responsiveness` takes.

    Examples
    --------
    >>> from isonomia.interventions import Feature, Interventions
    >>> changes = Interventions([Feature("savings", "integer", 0, 12, direction="up", rise=2)])
    >>> preclusion(changes, "approved", who="age < 30")
    Responsiveness("share of reachable points with prediction == 'approved' > 0 (>= 0.01 where points are drawn), for
    all rows with age < 30")
    """
    line = _DRAWN_LINE if below is None else below
    return Responsiveness(
        interventions, target, at_least=line, one_is_enough=below is None, **_named("no preclusion", options)
    )


def gaming(interventions: Actions, target: Any, *, at_most: float = 0.05, **options: Any) -> Responsiveness:
    """No one reaches the target by more than a small share of their changes.

    Parameters
    ----------
    interventions, target
        What a manipulator can change, and the prediction that they are after.
    at_most
        The largest share that does not yet count as easy to game.
    options
        As for :func:`preclusion`; ``who="prediction == 'bot'"`` asks about those who have something to gain.
    """
    return Responsiveness(interventions, target, at_most=at_most, **_named("no gaming", options))


def stability(
    interventions: Actions, *, at_least: float = 0.95, within: float | None = None, **options: Any
) -> Responsiveness:
    """Everyone's prediction stays what it is, for a large share of the fluctuations.

    Parameters
    ----------
    interventions
        The fluctuations: small changes, or noise as an effect on features that are not actionable.
    at_least
        The share of changes that must keep the prediction.
    within
        For a prediction that is a number, how far it may move; by default, it must stay the same.
    options
        As for :func:`preclusion`.
    """
    same = "prediction == own"
    if within is not None:
        if isinstance(within, bool) or not isinstance(within, int | float) or not 0 <= within < float("inf"):
            raise UsageError(f"expected within as a number that is not negative, but got within={within!r}")
        same = f"abs(prediction - own) <= {number_text(float(within))}"
    return Responsiveness(interventions, same, at_least=at_least, **_named("stability", options))


def affordability(
    interventions: Actions, limit: str | float, *, at_least: float = 0.95, **options: Any
) -> Responsiveness:
    """Everyone's predicted price remains what they can pay, whatever befalls them, but for a small share of cases.

    Parameters
    ----------
    interventions
        What may befall people, such as a diagnosis and what follows from it; it is not what they choose.
    limit
        The largest affordable prediction: a number, or the column with each person's own limit.
    at_least
        The share of cases in which the price must be affordable.
    options
        As for :func:`preclusion`.
    """
    limit_text = name_text(limit) if isinstance(limit, str) else number_text(float(limit))
    return Responsiveness(
        interventions, f"prediction <= {limit_text}", at_least=at_least, **_named("affordability", options)
    )


def monotonicity(
    interventions: Actions,
    direction: OneOf["up", "down"] = "up",
    *,
    at_least: float = 0.99,
    **options: Any,
) -> Responsiveness:
    """Changes do not move a person's prediction the wrong way, except for a small share of them.

    Parameters
    ----------
    interventions
        Changes that should help, such as features that go one way only.
    direction
        Where the prediction may go: ``"up"``, so that it never falls, or ``"down"``.
    at_least
        The share of changes that must not move it the wrong way.
    options
        As for :func:`preclusion`.
    """
    if direction not in ("up", "down"):
        raise UsageError(f"expected direction as 'up' or 'down', but got {direction!r}")
    target = f"prediction {'>=' if direction == 'up' else '<='} own"
    return Responsiveness(interventions, target, at_least=at_least, **_named("monotonicity", options))


def by_feature(
    interventions: Actions,
    target: Any,
    *,
    features: Sequence[str] | None = None,
    at_least: float = 0.1,
    **options: Any,
) -> dict[str, Responsiveness]:
    """Feature responsiveness: for each feature, the share with only that one free, as an explanation.

    Linkages and effects stay, so that a change of the feature still has its consequences.

    Parameters
    ----------
    interventions, target
        What people can change, and the target prediction.
    features
        Which features; default: all that are actionable.
    at_least
        The smallest share at which a person counts as responsive through the feature.
    options
        As for :func:`preclusion`.

    Returns
    -------
    dict
        A property for each feature, to be checked one by one.
    """
    chosen: Sequence[str] = features or [item.name for item in interventions.features if item.actionable]
    return {
        name: Responsiveness(
            interventions, target, at_least=at_least, only=[name], **_named(f"responsiveness to {name}", options)
        )
        for name in chosen
    }


def _named(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, **options}

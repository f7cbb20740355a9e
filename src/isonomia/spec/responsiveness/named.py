"""The named tests of responsiveness: each is a :class:`Responsiveness` with a named claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import Literal as OneOf

from isonomia.errors import UsageError
from isonomia.spec.responsiveness.property import Actions, Responsiveness
from isonomia.spec.text import name_text, number_text

_DRAWN_LINE = 0.01
"""Somebody without a draw that reaches the target is called fixed once their share is shown to be below this."""


def preclusion(interventions: Actions, target: Any, *, below: float | None = None, **options: Any) -> Responsiveness:
    """Nobody is precluded from the target: everybody has a way to it.

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
        unless given, one way is enough.
    options
        ``who``, ``by``, ``only`` and whatever else :class:`Responsiveness` takes.

    Examples
    --------
    >>> from isonomia.interventions import Feature, Interventions
    >>> changes = Interventions([Feature("savings", "integer", 0, 12, direction="up", rise=2)])
    >>> preclusion(changes, "approved", who="age < 30")
    Responsiveness("share of reachable points with prediction == 'approved' > 0 (>= 0.01 where points are drawn), for
    everybody with age < 30")
    """
    line = _DRAWN_LINE if below is None else below
    return Responsiveness(
        interventions, target, at_least=line, one_is_enough=below is None, **_named("no preclusion", options)
    )


def gaming(interventions: Actions, target: Any, *, at_most: float = 0.05, **options: Any) -> Responsiveness:
    """Nobody reaches the target by more than a small share of their changes.

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
    """Everybody's prediction stays what it is, for a large share of the fluctuations.

    Parameters
    ----------
    interventions
        The fluctuations: small changes, or noise as an effect on features that are not actionable.
    at_least
        The share of changes that must keep the prediction.
    within
        For a prediction that is a number, how far it may move; unless given, it must stay the same.
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
    interventions: Actions, limit: str | float, *, at_least: float = 0.1, **options: Any
) -> Responsiveness:
    """Everybody can bring a predicted price down to what they can pay, by a share of their changes.

    Parameters
    ----------
    interventions
        What people can change.
    limit
        The largest affordable prediction: a number, or the column with each person's own limit.
    at_least
        The share of changes that must reach it.
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
        What people can change, and the prediction that is wanted.
    features
        Which features; all that are actionable unless given.
    at_least
        The smallest share at which a person counts as responsive through the feature.
    options
        As for :func:`preclusion`.

    Returns
    -------
    dict
        A property for each feature, to be checked one by one.
    """
    chosen: Sequence[str] = features or [item.name for item in _features(interventions) if item.actionable]
    return {
        name: Responsiveness(
            interventions, target, at_least=at_least, only=[name], **_named(f"responsiveness to {name}", options)
        )
        for name in chosen
    }


def _features(interventions: Any) -> Sequence[Any]:
    features: Sequence[Any] = interventions.features
    return features


def _named(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, **options}

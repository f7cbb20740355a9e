"""Responsiveness: which share of the changes open to a person reaches a target prediction.

:class:`Responsiveness` is the property; the named tests are ready-made ones: :func:`preclusion`, :func:`gaming`,
:func:`stability`, :func:`affordability`, :func:`monotonicity` and, one feature at a time, :func:`by_feature`.
"""

from isonomia.spec.responsiveness.property import (
    OWN,
    OWN_SCORE,
    Actions,
    Responsiveness,
    affordability,
    by_feature,
    classes_named,
    gaming,
    monotonicity,
    preclusion,
    stability,
    target_of,
)

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

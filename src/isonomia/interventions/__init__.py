"""The changes open to people, and the points they can reach.

A person at ``x`` who takes an *action* ``a`` ends up at ``x' = x + a + r``, where ``r`` are *effects* that follow.
:class:`Interventions` says which actions there are: the :class:`Feature` s, the *constraints* that couple them, and the
effects. Its ``reach`` gives the *reachable set* of each person, their own point included, as
:class:`ReachableSets`: counted, listed, or drawn from uniformly.

A linkage, which is a constraint, passes on a part of an action to another feature; such effects are certain, and count
as part of the action. :class:`Noise`, :class:`Causes` and :class:`Sampler` come after it.
"""

from isonomia.interventions.constraints import (
    CONSTRAINTS,
    AdditiveLinkage,
    Condition,
    Constraint,
    IfChanged,
    IfThen,
    Linear,
    Linkage,
    MutabilitySwitch,
    OneHot,
    Ordinal,
    Predicate,
    Reachability,
    Thermometer,
)
from isonomia.interventions.effects import EFFECTS, Causes, Effect, Noise, Sampler
from isonomia.interventions.features import Feature
from isonomia.interventions.interventions import Draft, Interventions, Refusal
from isonomia.interventions.parts import Memory
from isonomia.interventions.reach import Points, ReachableSets

__all__ = [
    "CONSTRAINTS",
    "EFFECTS",
    "AdditiveLinkage",
    "Causes",
    "Condition",
    "Constraint",
    "Draft",
    "Effect",
    "Feature",
    "IfChanged",
    "IfThen",
    "Interventions",
    "Linear",
    "Linkage",
    "Memory",
    "MutabilitySwitch",
    "Noise",
    "OneHot",
    "Ordinal",
    "Points",
    "Predicate",
    "Reachability",
    "ReachableSets",
    "Refusal",
    "Sampler",
    "Thermometer",
]

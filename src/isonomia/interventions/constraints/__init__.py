"""Joint constraints on what a person can change: one file per kind, and one line in the registry below."""

from typing import Final

from isonomia.interventions.constraints.additive import AdditiveLinkage
from isonomia.interventions.constraints.base import Constraint
from isonomia.interventions.constraints.conditions import Condition
from isonomia.interventions.constraints.if_changed import IfChanged
from isonomia.interventions.constraints.if_then import IfThen
from isonomia.interventions.constraints.linear import Linear
from isonomia.interventions.constraints.linkage import Linkage
from isonomia.interventions.constraints.one_hot import OneHot
from isonomia.interventions.constraints.ordinal import Ordinal
from isonomia.interventions.constraints.predicate import Predicate
from isonomia.interventions.constraints.reachability import Reachability
from isonomia.interventions.constraints.switch import MutabilitySwitch
from isonomia.interventions.constraints.thermometer import Thermometer

CONSTRAINTS: Final[dict[str, type[Constraint]]] = {
    OneHot.kind: OneHot,
    Ordinal.kind: Ordinal,
    Thermometer.kind: Thermometer,
    Reachability.kind: Reachability,
    MutabilitySwitch.kind: MutabilitySwitch,
    IfThen.kind: IfThen,
    IfChanged.kind: IfChanged,
    Linkage.kind: Linkage,
    AdditiveLinkage.kind: AdditiveLinkage,
    Linear.kind: Linear,
    Predicate.kind: Predicate,
}
"""Every kind of constraint, by the name that it has in a file."""

__all__ = [
    "CONSTRAINTS",
    "AdditiveLinkage",
    "Condition",
    "Constraint",
    "IfChanged",
    "IfThen",
    "Linear",
    "Linkage",
    "MutabilitySwitch",
    "OneHot",
    "Ordinal",
    "Predicate",
    "Reachability",
    "Thermometer",
]

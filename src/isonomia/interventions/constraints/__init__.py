"""Joint constraints on what a person can change: linear, logical and encoded ones, and the registry of all kinds."""

from typing import Final

from isonomia.interventions.constraints.base import Condition, Constraint
from isonomia.interventions.constraints.encoded import OneHot, Ordinal, Reachability, Thermometer
from isonomia.interventions.constraints.linear import AdditiveLinkage, Linear, Linkage
from isonomia.interventions.constraints.logical import IfChanged, IfThen, MutabilitySwitch, Predicate

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

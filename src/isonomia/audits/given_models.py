"""Several models in one check: by name, or as columns with stored answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from isonomia.audits.protocol import AuditProperty
from isonomia.errors import SpecError, UsageError, nearest
from isonomia.models.adapt import adapt
from isonomia.models.named import NamedModels
from isonomia.models.protocol import Model
from isonomia.models.session import open_session
from isonomia.populations.protocol import Population
from isonomia.spec.analysis import conjuncts
from isonomia.spec.property import Property
from isonomia.spec.text import is_plain_name
from isonomia.spec.tree import (
    Column,
    Formula,
    Mean,
    Missing,
    Node,
    Output,
    Row,
    RowJunction,
    Variable,
    check_names,
    leaves_of,
    nodes,
    rebuilt,
)


def several_models(
    models: Mapping[str, Any],
    prop: AuditProperty,
    population: Population,
    withheld: Sequence[str],
    *,
    features: Sequence[str] | None,
    at_random: bool,
) -> tuple[Property, Model | None]:
    """The property with stored answers as columns, and the other models together; ``None`` without any.

    No model is given the stored answers of another one.
    """
    if not isinstance(prop, Property):
        raise UsageError("several models are for properties about rates and means: give one model", name="model")
    _check_keys(models)
    texts = {name: model for name, model in models.items() if isinstance(model, str)}
    known = population.names if texts else ()
    stored = {name: column for name, column in texts.items() if column in known}
    for name, text in texts.items():
        if name not in stored and nearest(text, known):
            raise UsageError(f"expected a column or a model for {name!r}, but got {text!r}.{nearest(text, known)}")
    if len(set(stored.values())) < len(stored):
        raise UsageError(f"expected a separate column for each model, but got {stored}", name="model")
    check_names(prop.formula, [*known, *population.names], True, tuple(models))
    prop = with_columns(prop, stored)
    outputs = tuple(sorted(set(named_outputs(prop)), key=repr))
    held = (*withheld, *stored.values())
    opened: dict[str, Model] = {}
    for name in dict.fromkeys(str(output.model) for output in outputs):
        opened[name] = open_session(adapt(models[name], features), withheld=held, watched=False, at_random=at_random)
    return prop, cast(Model, NamedModels(opened, outputs)) if opened else None


def named_outputs(prop: AuditProperty) -> list[Output]:
    """What a property names of several models."""
    if not isinstance(prop, Property):
        return []
    return [node for node in nodes(prop.formula) if isinstance(node, Output) and node.model is not None]


def _check_keys(models: Mapping[str, Any]) -> None:
    """Refuse names that a property could not use."""
    if not models:
        raise UsageError("expected models by name, {'new': ..., 'old': ...}, but got no models", name="model")
    for name in models:
        if not isinstance(name, str) or not is_plain_name(name) or name in {"other", "do"}:
            raise UsageError(f"expected a name of letters and digits for a model, but got {name!r}", name="model")


def with_columns(prop: Property, stored: Mapping[str, str]) -> Property:
    """The property with columns for the answers of these models, none of which may be missing.

    A missing answer would count as wrong, unnoticed, and might say that the other model is better.
    """

    def column_of(output: Output) -> Column | None:
        name = stored.get(str(output.model))
        return None if name is None else Column(name, place=output.place)

    def put(node: Node) -> Node:
        column = column_of(node) if isinstance(node, Output) else None
        if column is not None and isinstance(node, Output) and node.label is not None:
            raise SpecError(f"the answers of {node.model} are a column, without scores for each class", node.place)
        return rebuilt(node, put) if column is None else column

    asked_for = {node.operand for node in nodes(prop.formula) if isinstance(node, Missing)}
    present = dict.fromkeys(
        Mean(Missing(column), _without_variables(leaf.given), 0.0, 0.0)
        for leaf in leaves_of(prop.formula)
        for output in nodes(leaf)
        if isinstance(output, Output) and output not in asked_for and (column := column_of(output)) is not None
    )
    within = (*prop.within, *(cast(Mean, put(mean)) for mean in present))
    outcomes = tuple(dict.fromkeys((*prop.outcomes, *stored.values())))
    return replace(prop, formula=cast(Formula, put(prop.formula)), outcomes=outcomes, within=within)


def _without_variables(given: Row | None) -> Row | None:
    """The part of a condition that is the same for every value of a ``for``."""
    left = [part for part in conjuncts(given) if not any(isinstance(node, Variable) for node in nodes(part))]
    return RowJunction("and", tuple(left)) if len(left) > 1 else left[0] if left else None

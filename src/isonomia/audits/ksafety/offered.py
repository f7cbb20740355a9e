"""The inputs that an import offers, made into a population or a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.imports import Offer
from isonomia.errors import DataError, IsonomiaError, SpecError, UsageError
from isonomia.populations.census import Census
from isonomia.populations.columns import column_from
from isonomia.populations.domains import TableDomain
from isonomia.populations.domains.grouped_table import table_domain
from isonomia.populations.domains.items import Items
from isonomia.populations.domains.texts import Texts
from isonomia.populations.table import Table
from isonomia.spec.safety import Safety

__all__ = ["is_domain", "is_population", "population_of"]


def is_domain(value: object) -> bool:
    """Whether something is a domain of its own rather than a population."""
    return all(hasattr(value, name) for name in ("inputs", "functions", "feature", "concatenate"))


def is_population(value: object) -> bool:
    """Whether something is a population, such as a sample."""
    return all(hasattr(value, name) for name in ("kind", "streams", "open", "values"))


def population_of(offer: Offer, prop: Safety) -> tuple[Any, Safety]:
    """The inputs of an import, and the property with what the import says of them.

    A bare table, array or list stands for itself: its inputs are all that there are. What the property says of groups,
    orders and the label goes before what the import says.

    Raises
    ------
    SpecError
        Where the inputs are nothing that a property can be checked on.
    """
    labels, inputs = offer.labels, offer.inputs
    groups = {**{name: tuple(columns) for name, columns in offer.groups.items()}, **prop.groups}
    orders = {**{name: tuple(levels) for name, levels in offer.orders.items()}, **prop.orders}
    label = labels if prop.label is None and isinstance(labels, str) else prop.label
    said = replace(prop, groups=groups, orders=orders, label=label)
    if is_domain(inputs) or is_population(inputs):
        if labels is not None and (is_domain(inputs) or not isinstance(labels, str)):
            raise UsageError(f"{offer.told} has labels beside a {type(inputs).__name__}, which brings its own")
        return inputs, said
    try:
        return _made(offer, said)
    except SpecError:
        raise
    except IsonomiaError as error:
        raise DataError(f"the inputs of {offer.told}: {error}") from error


def _made(offer: Offer, prop: Safety) -> tuple[Any, Safety]:
    inputs, labels = offer.inputs, offer.labels
    apart = None if labels is None or isinstance(labels, str) else column_from(_listed(labels), "labels")
    if isinstance(inputs, str | PathLike):
        return _of_table(Census(_found(inputs, offer.folder)).table, apart, prop)
    if isinstance(inputs, list | tuple) and inputs and all(isinstance(text, str) for text in inputs):
        return Texts(list(inputs), apart), prop
    if _is_table(inputs):
        return _of_table(Table.of(inputs), apart, prop)
    if isinstance(inputs, list | tuple) or (isinstance(inputs, np.ndarray) and inputs.ndim):
        return Items(inputs if isinstance(inputs, np.ndarray) else list(inputs), apart, name=offer.told), prop
    raise DataError(
        f"expected a domain, a population, a table, an array or a list, but {inputs!r} of type {type(inputs).__name__} "
        "came"
    )


def _is_table(inputs: Any) -> bool:
    if isinstance(inputs, np.ndarray):
        return bool(inputs.ndim == 2)
    if isinstance(inputs, list | tuple):
        return bool(inputs) and all(isinstance(row, Mapping) for row in inputs)
    return isinstance(inputs, Mapping | Table) or any(hasattr(inputs, name) for name in ("__dataframe__", "collect"))


def _listed(labels: Any) -> Any:
    return list(labels) if isinstance(labels, tuple) else labels


def _found(path: str | PathLike[str], folder: str | None) -> Path:
    """The file, beside the import where it is there."""
    beside = None if folder is None else Path(folder) / path
    return beside if beside is not None and beside.exists() else Path(path)


def _of_table(table: Table, labels: NDArray[Any] | None, prop: Safety) -> tuple[Any, Safety]:
    if labels is None:
        return Census(table), prop
    if len(labels) != table.rows:
        raise DataError(f"expected a label for each of {table.rows:,} inputs, but {len(labels):,} came")
    name = "label"
    while name in table.names:
        name += "_"
    if table.kind == "array":
        return _labelled_array(table, name, labels, prop), replace(prop, groups={}, orders={}, label=None)
    return Census(_with_column(table, name, labels)), replace(prop, label=name)


def _labelled_array(table: Table, name: str, labels: NDArray[Any], prop: Safety) -> TableDomain:
    """Columns, so that labels may be of another kind than the features; the model is given an array all the same."""
    columns = {feature: table.native[:, place] for place, feature in enumerate(table.names)}
    domain = table_domain(Table.of({**columns, name: labels}), prop.groups, prop.orders, name, {})
    return replace(domain, view=_as_array(table.names))


def _as_array(names: Sequence[str]) -> Any:
    def view(rows: Table) -> Table:
        return Table.of(np.stack([np.asarray(rows.native[name]) for name in names], axis=1), names=list(names))

    return view


def _with_column(table: Table, name: str, values: NDArray[Any]) -> Table:
    if table.kind == "columns":
        return Table.of({**table.native, name: values})
    if table.kind == "rows":
        return Table.of([{**row, name: value} for row, value in zip(table.native, values.tolist(), strict=True)])
    import narwhals as nw

    frame: Any = nw.from_native(table.native, eager_only=True)
    series = nw.new_series(name, values.tolist(), backend=frame.implementation)
    return Table.of(frame.with_columns(series).to_native())

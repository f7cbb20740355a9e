"""What of a table an estimator is given, and in which form."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from isonomia.errors import ModelError, nearest
from isonomia.populations.batches import BATCH
from isonomia.populations.table import Table

__all__ = ["choose_features", "fitted_names", "input_for", "quiet_about_names"]


def fitted_names(estimator: Any) -> tuple[str, ...] | None:
    """Give the names of the columns that an estimator was fitted with; ``None`` when it knows none.

    ``Column_0``, ``Column_1``, ... count as none: some libraries make them up for arrays.
    """
    found = getattr(estimator, "feature_names_in_", None)
    if found is None:
        return None
    names = tuple(str(name) for name in found)
    return None if names == tuple(f"Column_{i}" for i in range(len(names))) else names


def choose_features(estimator: Any, table: Table, features: tuple[str, ...] | None) -> Table:
    """Keep the columns that an estimator takes, in its order.

    They are those that the user named, else those it was fitted with, else all of them when their number is right.

    Raises
    ------
    ModelError
        When a column is missing, or when there is no telling which ones to give.
    """
    if table.kind == BATCH:
        return _without_columns(table, features)
    wanted = features or fitted_names(estimator)
    if wanted is not None:
        _check_present(estimator, wanted, table.names)
        return table.select(wanted)
    expected = getattr(estimator, "n_features_in_", None)
    if expected is not None and expected != len(table.names):
        raise ModelError(
            f"{type(estimator).__name__} was fitted on {expected} columns without names, but the table has "
            f"{len(table.names)}: {', '.join(map(repr, table.names))}. Say which ones to give it, in its order: "
            "features=[...]."
        )
    return table


def _without_columns(table: Table, features: tuple[str, ...] | None) -> Table:
    if features is not None:
        raise ModelError(f"a batch of {table.names[0]}s has no columns to choose from. Leave features out.")
    return table


def _check_present(estimator: Any, wanted: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ModelError(
            f"{type(estimator).__name__} needs columns that the table does not have: "
            f"{', '.join(map(repr, missing))}.{nearest(missing[0], names)} "
            "Add them to the table, or name the right ones: features=[...]."
        )


def input_for(estimator: Any, table: Table) -> Any:
    """Give a table in the form that an estimator was fitted on.

    Fitted with names: a pandas or polars frame as it is, any other kind as a pandas frame where pandas is installed.
    Fitted without: a two-dimensional array. An estimator that says neither gets the table as its owner has it. A batch
    of arrays that is no table goes to an estimator that was fitted on as many numbers with each array as one row.
    """
    if table.kind == BATCH:
        return _flattened(estimator, table)
    if fitted_names(estimator) is None:
        says_number = getattr(estimator, "n_features_in_", None) is not None
        return _stacked(table) if says_number or table.kind in {"columns", "rows"} else table.native
    if table.kind in {"pandas", "polars"}:
        return table.native
    if find_spec("pandas") is None:
        return _stacked(table)
    import pandas as pd

    return pd.DataFrame({name: table.column(name) for name in table.names})


def _flattened(estimator: Any, table: Table) -> Any:
    """A batch in the form that an estimator was fitted on, as far as it says how many numbers a row had.

    Raises
    ------
    ModelError
        Where no form of the batch has as many.
    """
    native, expected = table.native, getattr(estimator, "n_features_in_", None)
    if expected is None:
        return native
    arrays = native if isinstance(native, np.ndarray) else [np.asarray(record) for record in native]
    sizes = sorted({record.size for record in arrays})
    if sizes == [expected] and all(record.dtype.kind in "biuf" for record in arrays):
        return np.stack([record.reshape(-1) for record in arrays])
    if isinstance(native, np.ndarray) and native.ndim > 2 and native.shape[1] == expected:
        return native  # fitted on such arrays: scikit-learn counts along the second dimension
    told = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    raise ModelError(
        f"{type(estimator).__name__} was fitted on rows of {expected:,} numbers, but each {table.names[0]} has {told}. "
        "Wrap it in a function that computes its features first."
    )


def _stacked(table: Table) -> Any:
    if table.kind == "array":
        return table.native
    columns = [table.column(name) for name in table.names]
    numeric = all(column.dtype.kind in "biuf" for column in columns)
    return np.column_stack([column.astype(np.float64 if numeric else object) for column in columns])


@contextmanager
def quiet_about_names(given: Any) -> Iterator[None]:
    """Silence the warning that an array has no column names, which is no news when there is no pandas."""
    if not isinstance(given, np.ndarray):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield

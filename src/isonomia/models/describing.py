"""A model in one line, for a person who wants to see that the right thing was found."""

from __future__ import annotations

from collections.abc import Sequence

from isonomia.models.protocol import Model
from isonomia.spec.tree import Value

__all__ = ["describe", "listed"]

_SHOWN = 8


def describe(model: Model) -> str:
    """Say in one line what a model is, where it came from, what it takes and what it gives.

    A model that has a method ``describe`` is asked; another is told by its class and name.

    Parameters
    ----------
    model
        What :func:`adapt` or :func:`load_model` gave.
    """
    told = getattr(model, "describe", None)
    return str(told()) if callable(told) else f"{type(model).__name__} {model.name}"


def listed(items: Sequence[Value], most: int = _SHOWN) -> str:
    """Some names in a row, the rest as a number."""
    told = ", ".join(str(item) for item in items[:most])
    return told if len(items) <= most else f"{told} and {len(items) - most} more"

"""Which columns a check reads, where the model says which are its own: a long table need not be read as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isonomia.models.protocol import Model
from isonomia.models.unwrapping import unwrapped
from isonomia.populations.protocol import Wanted

__all__ = ["narrowed", "read_by"]


def read_by(model: Model) -> tuple[str, ...] | None:
    """The columns that a model reads; ``None`` where it does not say, and must be given all of them."""
    inner = unwrapped(model)
    reads: Sequence[str] | None = getattr(inner, "reads", None)
    columns = getattr(inner, "features", None) if reads is None else reads
    return None if columns is None else tuple(columns)


def narrowed(wanted: Wanted, named: tuple[str, ...], model: Model | None, known: tuple[str, ...]) -> Wanted:
    """Leave out columns that neither the property names nor the model reads.

    Parameters
    ----------
    wanted
        What the question asks for: all columns, where a model is asked.
    named
        The columns that the property names.
    model
        The model; ``None`` without one.
    known
        The columns that there are. A model that reads others is given everything, and says what it misses.
    """
    own = None if model is None else read_by(model)
    if wanted.columns is not None or own is None or not set(own) <= set(known):
        return wanted
    return replace(wanted, columns=tuple(name for name in known if name in {*own, *named}))

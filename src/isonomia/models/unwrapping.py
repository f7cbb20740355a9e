"""What is behind a gate, a watch or a cache."""

from __future__ import annotations

from isonomia.models.cache import Cached
from isonomia.models.guarded import Guarded
from isonomia.models.protocol import Model
from isonomia.models.steady import Steady

__all__ = ["unwrapped"]


def unwrapped(model: Model) -> Model:
    """The model itself, without what was put around it here; one that its owner wrapped stays as it is."""
    while isinstance(model, Cached | Guarded | Steady):
        model = model.model
    return model

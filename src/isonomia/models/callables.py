"""Any callable on a batch as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isonomia.models.describing import listed
from isonomia.models.outputs import array_from, score_from
from isonomia.models.protocol import Answer
from isonomia.populations.fingerprint import callable_name, fingerprint_of, identity_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["CallableModel"]


@dataclass(frozen=True, slots=True, eq=False)
class CallableModel:
    """A callable that takes a batch, as the kind of table that the population has, and returns its predictions.

    What it returns is the prediction, and the score too when it is made of floating-point numbers. An array with a
    column for each class is a score only. The callable gets a copy of the batch, so that it may write into it.

    Attributes
    ----------
    function
        The callable.
    features
        The columns to hand over, in order; ``None`` for all of them.
    """

    function: Callable[[Any], Any]
    features: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return callable_name(self.function)

    @property
    def score_range(self) -> tuple[float, float] | None:
        """``None``: a callable may return anything."""
        return None

    @property
    def classes(self) -> tuple[Value, ...]:
        """Empty: a callable may return anything."""
        return ()

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Call the callable once, and use what it returns for whatever is wanted."""
        chosen = table if self.features is None else table.select(self.features)
        array = array_from(self.function(chosen.copy().native))
        by_class = array.ndim == 2 and array.dtype.kind == "f"
        return Answer(
            prediction=array if want_prediction and not by_class else None,
            score=score_from(array) if want_score else None,
        )

    def fingerprint(self) -> str:
        """Tell this callable from others by its name, module and source, where that can be found."""
        return fingerprint_of("callable", identity_of(self.function), *(self.features or ()))

    def describe(self) -> str:
        """Say in one line what it is."""
        module = getattr(self.function, "__module__", None)
        takes = f"; takes {listed(self.features)}" if self.features else ""
        return f"callable {self.name}{f' of {module}' if module else ''}{takes}"

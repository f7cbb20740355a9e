"""A PyTorch module in evaluation mode while it is asked, and as it was afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

__all__ = ["EvaluationMode"]


@dataclass(slots=True)
class EvaluationMode:
    """Who is in, and which modules were in training mode before the first came.

    Several threads may ask at once: the first puts the module into evaluation mode, and the last puts it back.
    """

    _inside: int = 0
    _training: list[Any] = field(default_factory=list)
    _lock: Any = field(default_factory=Lock, repr=False)

    @contextmanager
    def of(self, module: Any) -> Iterator[None]:
        """Hold a module in evaluation mode."""
        with self._lock:
            if self._inside == 0:
                self._training = [part for part in module.modules() if part.training]
                if self._training:
                    module.eval()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    for part in self._training:
                        part.training = True
                    self._training = []

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy starts with nobody in."""
        return EvaluationMode, ()

"""What is put around the models of an audit file: a gate for threads, and a cache on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore
from typing import TypeAlias

from isonomia.audits.audit_file.reading import AuditFile
from isonomia.errors import UsageError
from isonomia.models.cache import Cached
from isonomia.models.guarded import Guarded
from isonomia.models.protocol import Model
from isonomia.models.steady import steady

__all__ = ["Wrap", "Wrapping", "unwrapped"]

Wrap: TypeAlias = Callable[[str, Model], Model]
"""Gives what is to be asked in place of a model; it is told the model's name in the file."""


def unwrapped(name: str, model: Model) -> Model:  # noqa: ARG001
    """The model as it is."""
    return model


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What ``isonomia run`` puts around each model.

    A model is asked by at most ``workers`` threads at once, however many checks run side by side: by one, unless the
    file says that it stands more. Models from one Python module share their gate, since they may share what the module
    keeps.

    With a cache, answers are kept on disk, except those of models that may answer at random. What is behind the cache
    is watched for changing its answers. Verdicts say nothing of the cache: they are the same with and without.

    Attributes
    ----------
    file
        The audit file.
    cache
        The file for answers, in place of the one that the audit file names.
    caches
        The caches that were made.
    """

    file: AuditFile
    cache: Path | None = None
    caches: list[Cached] = field(default_factory=list)
    _gates: dict[str, BoundedSemaphore] = field(default_factory=dict, repr=False)

    def __call__(self, name: str, model: Model) -> Model:
        """Put around a model what belongs there.

        Raises
        ------
        SpecError
            Where a model has no fingerprint that its answers could be kept under, and no ``cache_key``.
        """
        entry = self.file.entries("model", "models")[name]
        workers = max(1, self.file.content.get("workers", 1))
        gate = self._gates.setdefault(_origin(str(entry.get("load"))), BoundedSemaphore(workers))
        place = self._place()
        if place is None or entry.get("random", False):
            return Guarded(model, gate)
        try:
            cached = Cached(steady(model), place, entry.get("cache_key"))
        except UsageError as error:
            key = "cache_key = 'credit 2024-05'"
            raise entry.error(f"{error} In an audit file it is a key of the model: {key}") from error
        self.caches.append(cached)
        return Guarded(cached, gate)

    def _place(self) -> Path | None:
        named = self.file.content.get("cache")
        return self.cache if self.cache is not None or named is None else self.file.folder / named


def _origin(load: str) -> str:
    """Where a model comes from: the module of ``module:object``, else all of it."""
    module, sign, name = load.partition(":")
    return module if sign and name.isidentifier() and "/" not in module and "\\" not in module else load

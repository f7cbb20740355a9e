"""Downstream effects: one file a kind, and one line in the registry below.

Deterministic effects are linkages, which are constraints (:class:`~isonomia.interventions.constraints.Linkage`): they
take part in what is enumerated.
"""

from typing import Final

from isonomia.interventions.effects.causes import Causes
from isonomia.interventions.effects.noise import Noise
from isonomia.interventions.effects.protocol import Effect
from isonomia.interventions.effects.sampler import Sampler

EFFECTS: Final[dict[str, type[Effect]]] = {Noise.kind: Noise, Sampler.kind: Sampler, Causes.kind: Causes}
"""Every kind of effect, by name."""

__all__ = ["EFFECTS", "Causes", "Effect", "Noise", "Sampler"]

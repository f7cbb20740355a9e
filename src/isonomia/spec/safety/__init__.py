"""Properties of k runs of a model: metamorphic relations, from text or by name.

:func:`property` reads a specification in Nomos, the language of ``.nom`` files. The others write one:
:func:`monotone`, :func:`robust`, :func:`invariant_to`, :func:`flips` and :func:`implies_after`.
"""

from isonomia.spec.safety.named import flips, implies_after, invariant_to, monotone, robust
from isonomia.spec.safety.safety import EPS, Safety, property  # noqa: A004  (the word of the glossary)

__all__ = ["EPS", "Safety", "flips", "implies_after", "invariant_to", "monotone", "property", "robust"]

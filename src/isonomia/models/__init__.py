"""What is audited.

A model is a black box that answers for a batch of people: with a *prediction* for each, with a *score* for each (or for
each class), or with both. :func:`adapt` makes one of an estimator or of any callable, :func:`load` imports one by name,
and :func:`ask` asks it and checks what it answers.
"""

from isonomia.models.adapt import adapt
from isonomia.models.checked import ask
from isonomia.models.loading import load
from isonomia.models.protocol import Answer, Model

__all__ = ["Answer", "Model", "adapt", "ask", "load"]

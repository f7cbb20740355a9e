"""What is audited.

A model is a black box that answers for a batch of people: with a *prediction* for each, with a *score* for each (or for
each class), or with both. :func:`adapt` makes one from what the user has, :func:`load_model` opens one by its path,
address or name, :func:`describe` says what it is, and :func:`ask` asks it and checks its answers.
"""

from isonomia.models.adapt import adapt
from isonomia.models.checked import ask
from isonomia.models.loader import load, load_model
from isonomia.models.protocol import Answer, Model, describe

__all__ = ["Answer", "Model", "adapt", "ask", "describe", "load", "load_model"]

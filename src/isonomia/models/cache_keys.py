"""Whether a fingerprint tells a model from every other one, so that answers may be stored under it."""

from __future__ import annotations

import pickle

from isonomia.errors import UsageError
from isonomia.models.callables import CallableModel
from isonomia.models.estimators import EstimatorModel
from isonomia.models.executable import ExecutableModel
from isonomia.models.http_model import HttpModel
from isonomia.models.protocol import Model
from isonomia.populations.fingerprint import fingerprint_of

__all__ = ["storage_key"]


def storage_key(model: Model, key: str | None) -> str:
    """What a model's answers are stored under: its name with what its owner says it is, or else its fingerprint.

    Raises
    ------
    UsageError
        Where the fingerprint could stay the same while the model changes, and no key was given.
    """
    if key is not None and (not isinstance(key, str) or not key.strip()):
        raise UsageError(f"key should be a text that names this version of the model, but is {key!r}.")
    if key is not None:
        return fingerprint_of("key", model.name, key)
    doubt = _doubt(model)
    if doubt is not None:
        raise UsageError(
            f"answers of {model.name} cannot be stored under its fingerprint, because {doubt}. Say which version of "
            "the model this is, and say something else when it changes: key='credit 2024-05'."
        )
    return fingerprint_of("fingerprint", model.fingerprint())


def _doubt(model: Model) -> str | None:
    """Why another model could have the same fingerprint; ``None`` where none can."""
    inner = getattr(model, "model", model)  # one that is being watched
    match inner:
        case CallableModel():
            return "a function may read values from outside, which its source does not show"
        case EstimatorModel() if not _can_be_pickled(inner.estimator):
            return "it cannot be pickled, so that what it has learnt is not seen"
        case HttpModel(version="") | ExecutableModel(version=""):
            return "the model behind it may be replaced without a sign of it"
        case _:
            return None


def _can_be_pickled(estimator: object) -> bool:
    try:
        pickle.dumps(estimator)
    except Exception:
        return False
    return True

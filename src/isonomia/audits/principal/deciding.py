"""Decisions to learn a repair from, as scikit-learn comes by them."""

from __future__ import annotations

from typing import Any

from isonomia.errors import UsageError

__all__ = ["decisions_by"]


def decisions_by(estimator: Any, X: Any, y: Any, cv: Any) -> tuple[Any, Any]:
    """Fit a classifier, and give it back with decisions about the people that it was given.

    Parameters
    ----------
    estimator
        The classifier; a copy of it is fitted.
    X, y
        People and outcomes.
    cv
        Folds, for decisions about people that the classifier was not fitted on; ``None`` for decisions about those it
        was; ``"prefit"`` where it is fitted already, and is left as it is.

    Raises
    ------
    UsageError
        Where ``cv`` is another text.
    """
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    if isinstance(cv, str):
        if cv != "prefit":
            raise UsageError(f"expected cv as a number of folds, None or 'prefit', but {cv!r} came")
        return estimator, estimator.predict(X)
    fitted = clone(estimator).fit(X, y)
    return fitted, fitted.predict(X) if cv is None else cross_val_predict(estimator, X, y, cv=cv)

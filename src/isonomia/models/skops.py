"""scikit-learn models stored with skops, which holds data and names of types instead of code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isonomia.errors import ModelError, UsageError
from isonomia.models.adapt import adapt
from isonomia.models.extras import needed
from isonomia.models.pickles import sourced
from isonomia.models.protocol import Model

__all__ = ["open_skops"]


def open_skops(path: Path, *, trusted: Sequence[str] = (), features: Sequence[str] | None = None) -> Model:
    """Open a skops file, unless it names types that are neither known to be harmless nor named as trusted.

    Parameters
    ----------
    path
        The file.
    trusted
        Types that skops does not know, and that may be made all the same: ``["credit.encoders.Binner"]``.
    features
        The columns to hand to the model, as for :func:`isonomia.models.adapt`.

    Raises
    ------
    UsageError
        When skops is not installed, or the file names other types; they are listed. Nothing was made of them.
    ModelError
        When the file is damaged.
    """
    names = _checked(trusted)
    io = needed("skops.io", "skops", "a skops file")
    try:
        unknown = sorted(set(io.get_untrusted_types(file=path)) - set(names))
        if not unknown:
            return sourced(adapt(io.load(path, trusted=list(names)), features), path, "skops file")
    except UsageError as error:
        raise UsageError(f"{path} holds no model: {error}") from error
    except Exception as error:
        raise ModelError(f"{path} could not be read as a skops file: {type(error).__name__}: {error}") from error
    raise UsageError(
        f"{path} names types that skops does not know to be harmless, so it was not opened: {', '.join(unknown)}. "
        f"If you know them and trust who wrote the file: trusted={unknown!r}, or --trust TYPE for each on the command "
        "line."
    )


def _checked(trusted: Sequence[str]) -> tuple[str, ...]:
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        raise UsageError(f"trusted should be a list of names of types, but is {trusted!r}.")
    return tuple(trusted)

"""The arguments that several kinds of model take, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.populations.columns import plain_value
from isonomia.spec.tree import Value

__all__ = [
    "OUTPUTS",
    "checked_batch_size",
    "checked_classes",
    "checked_features",
    "checked_output",
    "checked_score_range",
    "checked_threads",
]

OUTPUTS = ("logits", "probabilities", "values", "labels")
"""What the numbers that a model gives may stand for."""


def checked_features(features: Sequence[str] | None) -> tuple[str, ...] | None:
    """Read the names of the columns that a model is given: a list of them, or what a data frame calls its columns."""
    if features is None:
        return None
    names = tuple(features) if isinstance(features, Iterable) and not isinstance(features, str | Mapping) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise UsageError(f"features should be a list of at least one column's name, but is {features!r}.")
    return tuple(map(str, names))


def checked_classes(classes: Sequence[Any] | None) -> tuple[Value, ...]:
    """Read the classes of a model, in the order of its scores; empty when nothing is said."""
    if classes is None:
        return ()
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise UsageError(f"classes should be a list, such as ['no', 'yes'], but is {classes!r}.")
    found = tuple(plain_value(label) for label in classes)
    wrong = [label for label in found if not isinstance(label, str | bool | int | float)]
    if wrong or len(set(found)) != len(found) or len(found) == 1:
        raise UsageError(
            f"classes should be two or more different texts, numbers or truth values, but is {list(classes)!r}."
        )
    return found


def checked_output(output: str | None) -> str | None:
    """Read what a model's numbers stand for."""
    if output is not None and output not in OUTPUTS:
        raise UsageError(
            f"output should be one of {', '.join(OUTPUTS)}, but is {output!r}.{nearest(str(output), OUTPUTS)}"
        )
    return output


def checked_score_range(value: Sequence[float] | None) -> tuple[float, float] | None:
    """Read the least and the greatest score that a model can give; ``None`` where nobody says."""
    if value is None:
        return None
    pair = isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(end, int | float) for end in value)
    if not pair or not value[0] < value[1]:
        raise UsageError(f"score_range should be the least and the greatest score, such as (0, 1), but is {value!r}.")
    return float(value[0]), float(value[1])


def checked_batch_size(size: int) -> int:
    """Read how many rows a model is given at once."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(f"batch_size should be a whole number of at least 1, but is {size!r}.")
    return size


def checked_threads(threads: int) -> int:
    """Read how many threads a runtime may use; 0 leaves it to the runtime."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
        raise UsageError(f"threads should be a whole number, 0 for the runtime's own choice, but is {threads!r}.")
    return threads

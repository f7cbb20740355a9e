"""Columns that are tensors: held on a device by an array library other than NumPy, and left there.

A row expression is evaluated by the library that holds the columns, through the array API standard. Only counts, and
the values that a message shows, come back. Numbers and truth values can be tensors; text and times stay with NumPy, and
results about them move to the device when they are combined with a tensor. Where a type annotation says array, a tensor
is accepted too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError

_NUMPY = (np.ndarray, np.generic)


def is_tensor(values: Any) -> bool:
    """Whether an array belongs to a library other than NumPy."""
    return not isinstance(values, _NUMPY)


def namespace(values: Any) -> Any:
    """The functions of the array API standard for a tensor."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise UsageError(
            "columns that are tensors need the package array-api-compat: pip install 'isonomia[torch]'"
        ) from None
    return array_namespace(values)


def kind_of_tensor(values: Any, name: str = "") -> str:
    """``"truth"`` or ``"number"``; nothing else can be a tensor."""
    xp = namespace(values)
    if xp.isdtype(values.dtype, "bool"):
        return "truth"
    if xp.isdtype(values.dtype, ("integral", "real floating")):
        return "number"
    raise DataError(f"column {name!r} holds {values.dtype}; expected numbers or truth values")


def missing_in(values: Any) -> NDArray[np.bool_]:
    """Where a tensor has a missing value, which is NaN."""
    xp = namespace(values)
    floating = xp.isdtype(values.dtype, "real floating")
    found: NDArray[np.bool_] = xp.isnan(values) if floating else xp.zeros_like(values, dtype=xp.bool)
    return found


def as_floats(values: Any) -> NDArray[np.float64]:
    """A tensor of numbers or truth values in double precision, as row expressions need it."""
    xp = namespace(values)
    floats: NDArray[np.float64] = xp.astype(values, xp.float64, copy=False)
    return floats


def together(arrays: Sequence[Any]) -> list[Any]:
    """Arrays that can be combined: where one is a tensor, NumPy's move to its device, and scalars become numbers."""
    tensor = next((array for array in arrays if is_tensor(array)), None)
    if tensor is None:
        return list(arrays)
    xp = namespace(tensor)
    place: dict[str, Any] = {"device": tensor.device}
    return [
        array if is_tensor(array) else array.item() if array.ndim == 0 else xp.asarray(np.array(array), **place)
        for array in arrays
    ]


def count(mask: Any) -> int:
    """How many are true, whichever library holds the array."""
    if not is_tensor(mask):
        return int(np.count_nonzero(mask))
    return int(namespace(mask).count_nonzero(mask))


def some(mask: Any) -> bool:
    """Whether any is true. In NumPy, counting is several times as fast as ``any``."""
    return bool(np.count_nonzero(mask)) if isinstance(mask, _NUMPY) else bool(mask.any())


def first(mask: Any) -> int:
    """The index of the first true value; there must be one."""
    return int(np.argmax(host(mask)))


def host(values: Any) -> NDArray[Any]:
    """A tensor as an array of NumPy; what NumPy has no type for becomes single precision."""
    if not is_tensor(values):
        return np.asarray(values)
    if hasattr(values, "detach"):  # torch, which has types that NumPy lacks
        plain = values.detach().cpu()
        return np.asarray(plain.float().numpy() if str(plain.dtype) == "torch.bfloat16" else plain.numpy())
    return np.asarray(values.get() if hasattr(values, "get") else values)

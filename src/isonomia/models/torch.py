"""PyTorch modules: live, or opened from a file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError
from isonomia.models.describing import listed
from isonomia.models.evaluation import EvaluationMode
from isonomia.models.extras import needed
from isonomia.models.matrices import columns_for, matrix
from isonomia.models.portions import in_portions
from isonomia.models.protocol import Answer
from isonomia.models.readings import Reading
from isonomia.models.reopened import Opened
from isonomia.populations.fingerprint import fingerprint_of, source_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["BATCH", "Exported", "TorchModel"]

BATCH = 8192
"""How many rows a module is given at once unless told otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Exported:
    """An exported program as something to call, with what it takes.

    Attributes
    ----------
    module
        What to call.
    dtype
        The type of the numbers it takes, as PyTorch calls it: ``"float32"``.
    shape
        The dimensions it takes, the rows first; ``None`` where any number will do.
    """

    module: Any
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TorchModel:
    """A PyTorch module that takes a batch of rows as one tensor, and returns one tensor.

    It is asked in evaluation mode and without gradients, on the device where its parameters are, and left in the mode
    that it was in.

    Attributes
    ----------
    source
        The module, an :class:`Exported` program, or the file that one of them was opened from.
    features
        The columns to give it, in order; ``None`` for all.
    reading
        What its numbers stand for, and the classes.
    batch_size
        How many rows it is given at once.
    """

    source: Any
    features: tuple[str, ...] | None = None
    reading: Reading = field(default_factory=Reading)
    batch_size: int = BATCH
    _mode: EvaluationMode = field(default_factory=EvaluationMode)

    @property
    def module(self) -> Any:
        """What is called."""
        return self._inner.module if isinstance(self._inner, Exported) else self._inner

    @property
    def _inner(self) -> Any:
        return self.source.content if isinstance(self.source, Opened) else self.source

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.source.name if isinstance(self.source, Opened) else type(self.source).__name__

    @property
    def score_range(self) -> tuple[float, float] | None:
        """From 0 to 1 for probabilities and logits; ``None`` otherwise."""
        return self.reading.score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes, where the user named them."""
        return self.reading.classes

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Run the module on the batch, in portions."""
        torch = needed("torch", "torch", "a PyTorch module")
        taken = _taken(self._inner)
        given = {"rows": self._given(table, taken)}
        placed = {"device": _device(self.module), "dtype": getattr(torch, taken.dtype)}

        def run(part: Any) -> NDArray[Any]:
            rows = torch.from_numpy(np.ascontiguousarray(part["rows"])).to(**placed)
            return _array(self.module(rows), self.name, len(rows))

        size = taken.rows or self.batch_size
        # An exported program has the mode that it was exported in, and knows no other.
        mode = nullcontext() if isinstance(self._inner, Exported) else self._mode.of(self.module)
        with torch.inference_mode(), mode:
            parts = in_portions(run, given, size, fixed=taken.rows is not None)
        raw = np.concatenate(parts)[: table.rows]
        return self.reading.read(raw, self.name, want_score=want_score, want_prediction=want_prediction)

    def _given(self, table: Table, taken: _Taken) -> NDArray[Any]:
        if table.kind == "batch":
            if not isinstance(table.native, np.ndarray):
                raise ModelError(f"{self.name} takes arrays, but the population gives a list of records.")
            return table.native.astype(taken.numpy_type)
        columns = columns_for(self.name, table, self.features, taken.width)
        return matrix(self.name, table, columns, taken.numpy_type)

    def fingerprint(self) -> str:
        """Tell this module from others by its file, or by its classes, their source, and its weights."""
        learnt = self.source.digest if isinstance(self.source, Opened) else _learnt(self.module)
        return fingerprint_of("torch", learnt, repr((self.features, self.reading)))

    def describe(self) -> str:
        """Say in one line what it is."""
        read = {
            None: "its numbers are read as they come (say output='logits' or 'probabilities' if they are)",
            "logits": "gives logits",
            "probabilities": "gives probabilities",
            "values": "gives values",
            "labels": "gives labels",
        }[self.reading.output]
        of = f" of {listed(self.classes)}" if self.classes else ""
        what = f"{_kind(self._inner)} {self.name}"
        return f"{what}: on {_device(self.module)}, {self.batch_size:,} rows at once; {read}{of}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a module takes: the type of its numbers, and of an exported one the number of rows and columns."""

    dtype: str
    rows: int | None = None
    width: int | None = None

    @property
    def numpy_type(self) -> np.dtype[Any]:
        """The type in NumPy; the one that NumPy lacks is made by PyTorch from 32 bits."""
        return np.dtype("float32" if self.dtype == "bfloat16" else self.dtype)


def _taken(inner: Any) -> _Taken:
    if isinstance(inner, Exported):
        shape = inner.shape
        return _Taken(inner.dtype, shape[0] if shape else None, shape[1] if len(shape) == 2 else None)
    kinds = [str(tensor.dtype).removeprefix("torch.") for tensor in _tensors(inner) if tensor.is_floating_point()]
    return _Taken(kinds[0] if kinds else "float32")


def _tensors(module: Any) -> list[Any]:
    return [*module.parameters(), *module.buffers()]


def _device(module: Any) -> Any:
    tensors = _tensors(module)
    return tensors[0].device if tensors else "cpu"


def _array(returned: Any, name: str, rows: int) -> NDArray[Any]:
    if isinstance(returned, tuple | list) and len(returned) == 1:
        returned = returned[0]
    if not hasattr(returned, "detach"):
        raise ModelError(
            f"{name} should return one tensor, but returned a {type(returned).__name__}. "
            "Wrap it in a module that returns the part to audit."
        )
    if returned.ndim == 0 or len(returned) != rows:
        raise ModelError(f"{name} was given {rows:,} rows, but returned a tensor of shape {tuple(returned.shape)}.")
    plain = returned.detach().cpu()
    return np.asarray(
        plain.float().numpy() if plain.is_floating_point() and plain.dtype.itemsize < 4 else plain.numpy()
    )


def _learnt(module: Any) -> str:
    digest = sha256()
    for part in module.modules():
        kind = type(part)
        source = "" if kind.__module__.startswith("torch.") else source_of(kind)
        digest.update(f"{kind.__module__}.{kind.__qualname__}\0{part!r}\0{source}\0".encode())
    if hasattr(module, "inlined_graph"):
        digest.update(str(module.inlined_graph).encode())
    for name, tensor in module.state_dict().items():
        if hasattr(tensor, "detach"):
            plain = tensor.detach().cpu().contiguous()
            digest.update(f"{name}\0{plain.dtype}\0{tuple(plain.shape)}\0".encode())
            digest.update(plain.reshape(-1).view(needed("torch", "torch", "a module").uint8).numpy().tobytes())
    return digest.hexdigest()


def _kind(inner: Any) -> str:
    if isinstance(inner, Exported):
        return "exported PyTorch program"
    return "TorchScript module" if hasattr(inner, "inlined_graph") else "PyTorch module"

"""PyTorch modules: live, or from a file (TorchScript, an exported program, a pickled module).

A module runs in evaluation mode and without gradients, on the device where it is, and is left as it was. For people
whose columns are tensors it answers with tensors, which stay on the device where possible.
"""

from __future__ import annotations

import ast
import io
import pickletools
import tokenize
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import check_number, checked_classes, checked_features, checked_output
from isonomia.models.decoder import DecoderAdapter, OutputDecoder
from isonomia.models.files import ReopenableResource, check_trusted, needed, open_from
from isonomia.models.inputs import columns_for, in_portions, matrix
from isonomia.models.loader import Kind, kind_of
from isonomia.models.protocol import Answer
from isonomia.populations.fingerprint import fingerprint_of, source_of
from isonomia.populations.table import RECORDS, TENSORS, Table, is_tensor_like, offers
from isonomia.spec.columns import is_tensor
from isonomia.wording import first_few

BATCH = 8192
"""How many rows a module is given at once by default."""

THERE = 2**16
"""The smallest batch size when people are drawn on a device, which a few thousand rows do not fill."""


@dataclass(slots=True)
class EvaluationMode:
    """Holds a module in evaluation mode while threads use it.

    The first thread switches it to that mode; the last one restores training mode in the parts that were in it.
    """

    _inside: int = 0
    _training: list[Any] = field(default_factory=list)
    _lock: Any = field(default_factory=Lock, repr=False)

    @contextmanager
    def of(self, module: Any) -> Iterator[None]:
        """Hold a module in evaluation mode."""
        with self._lock:
            if self._inside == 0:
                self._training = [part for part in module.modules() if part.training]
                if self._training:
                    module.eval()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    for part in self._training:
                        part.training = True
                    self._training = []

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, which may be in another process, starts with no thread inside."""
        return EvaluationMode, ()


@dataclass(frozen=True, slots=True, eq=False)
class Exported:
    """An exported program: the module to call, and the type (``"float32"``) and the dimensions of its input.

    Rows are the first dimension; a dimension that may have any size is ``None``.
    """

    module: Any
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TorchModel(DecoderAdapter):
    """A PyTorch module that takes a batch of rows as one tensor, and returns one tensor.

    It runs in evaluation mode and without gradients, on the device where its parameters are, and is left in the mode
    that it was in.
    """

    source: Any  # the module, an :class:`Exported` program, or the file that one of them was opened from
    features: tuple[str, ...] | None = None  # the columns to give it, in order; `None` for all
    decoder: OutputDecoder = field(default_factory=OutputDecoder)  # what its numbers stand for, and the classes
    batch_size: int = BATCH  # how many rows it is given at once
    _mode: EvaluationMode = field(default_factory=EvaluationMode)

    @property
    def module(self) -> Any:
        """The module that is called."""
        return self._inner.module if isinstance(self._inner, Exported) else self._inner

    @property
    def _inner(self) -> Any:
        return self.source.content if isinstance(self.source, ReopenableResource) else self.source

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.source.name if isinstance(self.source, ReopenableResource) else type(self.source).__name__

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it is given; ``None`` for all."""
        return self.features

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Run the module on the batch, in portions."""
        torch = needed("torch", "torch", "a PyTorch module")
        taken = _taken(self._inner)
        placed = {"device": _device(self.module), "dtype": getattr(torch, taken.dtype)}
        if table.kind == TENSORS and taken.rows is None:
            return self._answer_there(torch, table, placed, taken, want_score, want_prediction)
        given = {"rows": self._given(table, taken)}

        def run(part: Any) -> NDArray[Any]:
            rows = torch.from_numpy(np.ascontiguousarray(part["rows"])).to(**placed)
            return _array(_tensor(self.module(rows), self.name, len(rows)))

        size = taken.rows or self.batch_size
        with torch.inference_mode(), self._evaluation():
            parts = in_portions(run, given, size, fixed=taken.rows is not None)
        raw = np.concatenate(parts)[: table.rows]
        return self.decoder.answer(raw, self.name, want_score=want_score, want_prediction=want_prediction)

    def _evaluation(self) -> AbstractContextManager[None]:
        # An exported program always has the mode in which it was exported.
        return nullcontext() if isinstance(self._inner, Exported) else self._mode.of(self.module)

    def _answer_there(
        self, torch: Any, table: Table, placed: dict[str, Any], taken: _Taken, want_score: bool, want_prediction: bool
    ) -> Answer:
        """Answer with tensors for tensors, except for what ``OutputDecoder.answer_there`` moves to NumPy."""
        names = columns_for(self.name, table, self.features, taken.width)
        held = [table.array(name) for name in names]
        text = [name for name, column in zip(names, held, strict=True) if not is_tensor(column)]
        if text:
            raise ModelError(
                f"{self.name} takes numbers, but column {text[0]!r} has text: name its columns, features=[...]."
            )
        wide = [column.reshape(table.rows, -1).to(**placed) for column in held]
        rows = torch.cat(wide, dim=1)
        size = max(self.batch_size, THERE)
        with torch.inference_mode(), self._evaluation():
            portions = [rows[start : start + size] for start in range(0, table.rows, size)]
            raw = torch.cat([_tensor(self.module(part), self.name, len(part)) for part in portions])
        raw = raw.to(held[0].device)
        return self.decoder.answer_there(raw, self.name, want_score=want_score, want_prediction=want_prediction)

    def _given(self, table: Table, taken: _Taken) -> NDArray[Any]:
        if table.kind == RECORDS:
            if not isinstance(table.native, np.ndarray):
                raise ModelError(f"{self.name} takes arrays, but the population gives a list of records.")
            return table.native.astype(taken.numpy_type)
        columns = columns_for(self.name, table, self.features, taken.width)
        return matrix(self.name, table, columns, taken.numpy_type)

    def fingerprint(self) -> str:
        """Tell this module from others by its file, or by its classes, their source, and its weights."""
        learnt = self.source.digest if isinstance(self.source, ReopenableResource) else _learnt(self.module)
        return fingerprint_of("torch", learnt, f"({self.features!r}, {self.decoder.identity})")

    def describe(self) -> str:
        """Say in one line what it is."""
        gives = {
            None: "its outputs are used unchanged (say output='logits' or 'probabilities' if they are)",
            "logits": "gives logits",
            "probabilities": "gives probabilities",
            "values": "gives values",
            "labels": "gives labels",
        }[self.decoder.output]
        of = f" of {first_few(self.classes)}" if self.classes else ""
        what = f"{_kind(self._inner)} {self.name}"
        return f"{what}: on {_device(self.module)}, {self.batch_size:,} rows at once; {gives}{of}"


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a module takes: the type of its numbers, and for an exported one the number of rows and columns."""

    dtype: str
    rows: int | None = None
    width: int | None = None

    @property
    def numpy_type(self) -> np.dtype[Any]:
        """The type in NumPy; for bfloat16, which NumPy lacks, 32-bit floats that PyTorch converts."""
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


def _tensor(returned: Any, name: str, rows: int) -> Any:
    if isinstance(returned, tuple | list) and len(returned) == 1:
        returned = returned[0]
    if not is_tensor_like(returned):
        raise ModelError(
            f"{name} should return one tensor, but returned a {type(returned).__name__}: wrap it in such a module."
        )
    if returned.ndim == 0 or len(returned) != rows:
        raise ModelError(f"{name} was given {rows:,} rows, but returned a tensor of shape {tuple(returned.shape)}.")
    return returned.detach()


def _array(returned: Any) -> NDArray[Any]:
    plain = returned.cpu()
    return np.asarray(
        plain.float().numpy() if plain.is_floating_point() and plain.dtype.itemsize < 4 else plain.numpy()
    )


def _learnt(module: Any) -> str:
    digest = sha256()
    for part in module.modules():
        kind = type(part)
        source = "" if kind.__module__.startswith("torch.") else source_of(kind)
        digest.update(f"{kind.__module__}.{kind.__qualname__}\0{part!r}\0{source}\0".encode())
    if _is_script(module):
        digest.update(str(module.inlined_graph).encode())
    for name, tensor in module.state_dict().items():
        if is_tensor_like(tensor):
            plain = tensor.detach().cpu().contiguous()
            digest.update(f"{name}\0{plain.dtype}\0{tuple(plain.shape)}\0".encode())
            digest.update(plain.reshape(-1).view(needed("torch", "torch", "a module").uint8).numpy().tobytes())
    return digest.hexdigest()


def _kind(inner: Any) -> str:
    if isinstance(inner, Exported):
        return "exported PyTorch program"
    return "TorchScript module" if _is_script(inner) else "PyTorch module"


def _is_script(module: Any) -> bool:
    return offers(module, "inlined_graph")


def torch_model(
    source: Any,
    *,
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    batch_size: int = BATCH,
) -> TorchModel:
    """Make a model of a PyTorch module.

    Parameters
    ----------
    source
        A module. An exported program counts as one.
    features
        The columns to give it, in order; all of them otherwise.
    output
        What its numbers stand for: ``"logits"``, ``"probabilities"``, ``"values"`` or ``"labels"``. By default, one
        number per row is a value, and several are scores of classes.
    classes
        The classes in the order of the numbers; 0, 1, 2, ... otherwise.
    batch_size
        How many rows it is given at once.
    """
    module = _as_exported(source) if type(source).__name__ == "ExportedProgram" else source
    decoder = OutputDecoder(checked_output(output), checked_classes(classes))
    check_number("batch_size", batch_size, 1, whole=True)
    return TorchModel(module, checked_features(features), decoder, batch_size)


def open_torch(
    path: Path,
    *,
    trust_pickle: bool = False,
    device: str = "cpu",
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    batch_size: int = BATCH,
) -> TorchModel:
    """Open a file of PyTorch. Its options are those of :func:`torch_model`, and ``device``: ``"cpu"``, ``"cuda"``.

    A TorchScript file is run by PyTorch's own interpreter, not by Python. It is still a program, so be as careful with
    a stranger's as with any program. One that reads or writes files needs ``trust_pickle``. So does a program written
    by ``torch.export.save``, since PyTorch unpickles parts of it, and a whole module written by ``torch.save``. A file
    that holds only weights is refused: without their module they are not a model.
    """
    where = _checked_device(device)
    match kind_of(path):
        case Kind.TORCHSCRIPT:
            opener = _script
            if trust_pickle is not True:
                _check_operators(path)
        case Kind.EXPORTED:
            opener = _exported
            check_trusted(path, trust_pickle, "an exported PyTorch program, parts of which are pickled")
        case _:
            opener = _pickled
            if _holds_weights_alone(path):
                raise UsageError(
                    f"{path} holds weights (a state_dict) and no module. Build the module, load them into it with "
                    "module.load_state_dict(torch.load(...)), and pass the module itself."
                )
            check_trusted(path, trust_pickle, "a pickled PyTorch module")
    opened = open_from(opener, path, where)
    return torch_model(opened, features=features, output=output, classes=classes, batch_size=batch_size)


def _checked_device(device: str) -> str:
    torch = needed("torch", "torch", "a PyTorch file")
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise UsageError(f"device should be 'cpu' or 'cuda', but is {device!r}.") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"device is {device!r}, but PyTorch finds no CUDA device here. Leave it out, or say 'cpu'.")
    return device


_FILE_OPERATORS = {"save", "from_file", "load_tensor"}
"""The operators of PyTorch that take a file name. Opening the archive can run them, since it runs ``__setstate__``."""


def _check_operators(path: Path) -> None:
    """Refuse a TorchScript file that could read or write other files, without running any of it."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(set(names)) < len(names):  # PyTorch might read the one that was not checked
            raise ModelError(
                f"{path} holds two parts of the same name, which PyTorch does not write: it was not opened."
            )
        sources = {name: archive.read(name).decode("utf-8", "replace") for name in names if name.endswith(".py")}
    for name, source in sources.items():
        operator = _file_operator(source)
        if operator is not None:
            raise UsageError(
                f"{path} calls {operator!r} ({name}), with which PyTorch reads or writes files, so it was not opened. "
                "If you trust who wrote it: trust_pickle=True, or --trust-pickle on the command line.",
                name="trust_pickle",
            )


def _file_operator(source: str) -> str | None:
    """The first file operator that a source names, after a dot or in quotes; an unreadable source counts as one."""
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            named = token.string if token.type == tokenize.NAME and before == "." else None
            if token.type == tokenize.STRING:
                named = ast.literal_eval(token.string)
            if token.type == tokenize.ERRORTOKEN:
                return "what is not TorchScript"
            if named in _FILE_OPERATORS:
                return str(named)
            before = token.string if token.type not in {tokenize.NL, tokenize.COMMENT} else before
    except (tokenize.TokenError, SyntaxError, ValueError):  # a text that ends early, or an invalid escape
        return "what is not TorchScript"
    return None


def _script(path: Path, device: str) -> Any:
    torch = needed("torch", "torch", "a TorchScript file")
    with warnings.catch_warnings():
        # The format is deprecated, but whoever audits a file did not choose it.
        warnings.filterwarnings("ignore", message="`torch.jit.load` is deprecated", category=DeprecationWarning)
        return torch.jit.load(str(path), map_location=device)


def _exported(path: Path, device: str) -> Any:
    torch = needed("torch", "torch", "an exported PyTorch program")
    program = torch.export.load(str(path))
    if device != "cpu":
        from torch.export.passes import move_to_device_pass  # type: ignore[import-not-found, unused-ignore]

        program = move_to_device_pass(program, device)
    return _as_exported(program)


def _as_exported(program: Any) -> Exported:
    names = program.graph_signature.user_inputs
    if len(names) != 1:
        raise ModelError(
            f"an exported program should take one tensor, but this one takes {len(names)}: "
            f"{', '.join(map(str, names))}. Export a module that takes one."
        )
    taken = next(node.meta["val"] for node in program.graph.nodes if node.name == names[0])
    shape = tuple(int(size) if isinstance(size, int) else None for size in taken.shape)
    return Exported(program.module(), str(taken.dtype).removeprefix("torch."), shape)


def _holds_weights_alone(path: Path) -> bool:
    """Whether a file of ``torch.save`` holds only tensors, found by reading its pickle without running it.

    A file older than PyTorch's archive format is not examined here; opening it tells.
    """
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        inner = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        names = _imports_of(archive.read(inner))
    return all(name.startswith(("torch ", "torch._utils ", "torch.storage ", "collections ")) for name in names)


def _imports_of(pickled: bytes) -> list[str]:
    """What a pickle would import, as ``module name``."""
    texts: list[str] = []
    names = []
    for operation, argument, _ in pickletools.genops(pickled):
        if operation.name == "GLOBAL":
            names.append(str(argument))
        elif operation.name == "STACK_GLOBAL":
            names.append(" ".join(texts[-2:]))
        elif isinstance(argument, str):
            texts.append(argument)
    return names


def _pickled(path: Path, device: str) -> Any:
    torch = needed("torch", "torch", "a PyTorch file")
    module = torch.load(path, map_location=device, weights_only=False)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"{path} should hold a PyTorch module, but holds a {type(module).__name__}.")
    return module

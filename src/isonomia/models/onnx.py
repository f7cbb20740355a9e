"""ONNX sessions and files.

The skeleton of an ONNX file, read without a library for it.

Just enough of the wire format of protocol buffers to tell an ONNX model from other files, and to find the names of
the classes, which the runtime does not give away.

What is read of an ONNX file: a session of the runtime, the names of the classes, and weights kept beside it.

ONNX files, run by onnxruntime.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import (
    checked_batch_size,
    checked_classes,
    checked_features,
    checked_output,
    checked_threads,
)
from isonomia.models.inputs import in_portions, needed
from isonomia.models.onnx_io import (
    Input,
    Outputs,
    arrange,
    check_known,
    fed,
    fixed_rows,
    input_of,
    outputs_of,
    read_columns,
    whole_batch,
)
from isonomia.models.pickles import Opened, digest_of, open_from
from isonomia.models.protocol import Answer, listed
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = [
    "OnnxModel",
    "class_lists",
    "class_lists_in",
    "external_files",
    "fields",
    "is_onnx",
    "onnx_model",
    "open_onnx",
    "refuse_session",
    "session_of",
    "weights_beside",
]


Buffer: TypeAlias = memoryview

_MODEL_FIELDS = {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26}  # of ModelProto in onnx.proto
_GRAPH, _NODE, _INITIALIZER, _ATTRIBUTE = 7, 1, 5, 5
_CLASS_ATTRIBUTES = {b"classlabels_strings", b"classlabels_int64s", b"classlabels_ints"}
_INT32, _INT64, _STRING = 6, 7, 8  # of TensorProto.DataType


def fields(view: Buffer) -> Iterator[tuple[int, int | Buffer]]:
    """Go through the fields of a message: each number with its value, bytes where it has a length.

    Raises
    ------
    ValueError
        When the bytes are no message.
    """
    position = 0
    while position < len(view):
        tag, position = _varint(view, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(view, position)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(wire, -1)
        if wire == 2:
            length, position = _varint(view, position)
        if number == 0 or length < 0 or position + length > len(view):
            raise ValueError("no message of protocol buffers")
        yield number, view[position : position + length]
        position += length


def _varint(view: Buffer, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(view):
            break
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("no message of protocol buffers")


def is_onnx(view: Buffer) -> bool:
    """Whether bytes are an ONNX model: the fields that such a model has, among them a graph, and no others."""
    try:
        found = {number for number, _ in fields(view)}
    except ValueError:
        return False
    return {1, _GRAPH} <= found <= _MODEL_FIELDS


def external_files(mapped: mmap.mmap) -> list[str]:
    """The files that tensors of an ONNX model are kept in, relative to its folder, each once and in order.

    A tensor names its file in an entry with the key ``location``, wherever in the graph it stands, so that its bytes
    are looked for instead of all the places where a tensor may be.
    """
    mark = b"\x0a\x08location\x12"  # field 1, 8 bytes; field 2
    found: set[str] = set()
    position = mapped.find(mark)
    while position >= 0:
        with contextlib.suppress(ValueError), memoryview(mapped) as view:
            length, start = _varint(view, position + len(mark))
            found.add(bytes(view[start : start + length]).decode())
        position = mapped.find(mark, position + 1)
    return sorted(found)


def class_lists(view: Buffer) -> list[tuple[Value, ...]]:
    """The lists of class labels in an ONNX model, each once.

    They stand in the attributes of classifiers, or in a constant whose name begins with ``classes``.
    """
    found: list[tuple[Value, ...]] = []
    for graph in _within(view, _GRAPH):
        for node in _within(graph, _NODE):
            found += [_attribute(attribute) for attribute in _within(node, _ATTRIBUTE)]
        found += [_constant(tensor) for tensor in _within(graph, _INITIALIZER)]
    return [labels for labels in dict.fromkeys(found) if labels]


def _within(view: Buffer, wanted: int) -> Iterator[Buffer]:
    return (value for number, value in fields(view) if number == wanted and not isinstance(value, int))


def _attribute(view: Buffer) -> tuple[Value, ...]:
    parts = list(fields(view))
    if not any(number == 1 and _bytes(value) in _CLASS_ATTRIBUTES for number, value in parts):
        return ()
    labels: list[Value] = []
    for number, value in parts:
        if number == 8:
            labels += _whole(value)
        elif number == 9:
            labels.append(_bytes(value).decode())
    return tuple(labels)


def _constant(view: Buffer) -> tuple[Value, ...]:
    parts: dict[int, list[Any]] = {}
    for number, value in fields(view):
        parts.setdefault(number, []).append(value)
    name = _bytes(parts.get(8, [b""])[0])
    if not name.startswith(b"classes"):
        return ()
    if parts.get(2) == [_STRING]:
        return tuple(_bytes(value).decode() for value in parts.get(6, []))
    if parts.get(2) not in ([_INT32], [_INT64]):
        return ()
    raw = b"".join(_bytes(value) for value in parts.get(9, []))
    found = np.frombuffer(raw, "<i8" if parts[2] == [_INT64] else "<i4").tolist()
    return tuple(found) or tuple(n for place in (5, 7) for value in parts.get(place, []) for n in _whole(value))


def _whole(value: int | Buffer) -> list[int]:
    """One number, or several packed into a run of bytes."""
    if isinstance(value, int):
        return [_signed(value)]
    numbers, position = [], 0
    while position < len(value):
        number, position = _varint(value, position)
        numbers.append(_signed(number))
    return numbers


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _bytes(value: Any) -> bytes:
    return b"" if isinstance(value, int) else bytes(value)


_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def session_of(origin: Path | bytes, device: str, threads: int) -> Any:
    """Open a session of the runtime.

    Raises
    ------
    UsageError
        When onnxruntime is not installed, or has nothing for the device.
    ModelError
        When it cannot run the file.
    """
    runtime = needed("onnxruntime", "onnx", "an ONNX model")
    provider = _PROVIDERS.get(device)
    if provider is None or provider not in runtime.get_available_providers():
        offered = [short for short, long in _PROVIDERS.items() if long in runtime.get_available_providers()]
        raise UsageError(
            f"device should be one of {', '.join(offered)}, as onnxruntime is installed, but is {device!r}."
        )
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only: its advice is for those who made the file
    source = str(origin) if isinstance(origin, Path) else origin
    try:
        # Without a fallback, which would try the same once more and print about it.
        return runtime.InferenceSession(source, options, providers=[provider], enable_fallback=0)
    except Exception as error:  # the runtime's errors have no common class of their own
        where = origin if isinstance(origin, Path) else "the bytes"
        raise ModelError(f"{where} is no ONNX model that onnxruntime {runtime.__version__} can run: {error}") from error


def class_lists_in(origin: Path | bytes) -> list[tuple[Value, ...]]:
    """The lists of class labels in a file or in its bytes."""
    if isinstance(origin, bytes):
        return class_lists(memoryview(origin))
    with (
        origin.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        return class_lists(view)


def weights_beside(origin: Path | bytes) -> tuple[str, ...]:
    """Digests of the files that a file names, which is where large models keep their weights.

    Raises
    ------
    ModelError
        When one of them lies outside the folder of the file: a stranger's file could name any.
    """
    if isinstance(origin, bytes):
        return ()
    with origin.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        names = external_files(mapped)
    folder = origin.resolve().parent
    for name in names:
        if not (folder / name).resolve().is_relative_to(folder):
            raise ModelError(f"{origin} keeps weights in {name!r}, outside its folder, so it was not opened.")
    return tuple(digest_of(folder / name) for name in names if (folder / name).is_file())


_BATCH = 65_536


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OnnxModel:
    """An ONNX model. Make one with :func:`open_onnx`.

    Numbers are rounded to the width that the file takes, mostly 32 bits, so that scores agree with those of the model
    it was made from up to about seven digits, and a prediction may differ where a score is that near to its threshold.

    Attributes
    ----------
    session
        The runtime's session.
    inputs, outputs
        What the model takes, and which of its outputs are read.
    features
        The columns to give it, in its order.
    columns
        The columns of each input, where the user said so.
    batch_size
        How many rows it is given at once.
    beside
        The SHA-256 of weights in files of their own.
    """

    session: Opened
    inputs: tuple[Input, ...]
    outputs: Outputs
    features: tuple[str, ...] | None = None
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    batch_size: int = _BATCH
    beside: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.session.name or str(self.session.content.get_modelmeta().graph_name) or "ONNX model"

    @property
    def score_range(self) -> tuple[float, float] | None:
        """From 0 to 1 for probabilities; ``None`` otherwise."""
        return self.outputs.reading.score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes, where the file or the user names them."""
        return self.outputs.reading.classes

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads; ``None`` where nobody said and its inputs do not tell."""
        return read_columns(self.inputs, self.features, dict(self.columns))

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Run the model, once for a batch of a size that it takes."""
        given = self._given(table)
        names = self.outputs.wanted(want_score, want_prediction)
        rows = fixed_rows(self.inputs)
        size, session = rows or self.batch_size, self.session.content
        parts = in_portions(lambda part: session.run(names, dict(part)), given, size, fixed=rows is not None)
        came = {name: _joined([part[i] for part in parts], table.rows) for i, name in enumerate(names)}
        return self.outputs.read(came, self.name, want_score=want_score, want_prediction=want_prediction)

    def _given(self, table: Table) -> dict[str, Any]:
        if table.kind == "batch":
            return whole_batch(self.name, self.inputs, table.native)
        columns = arrange(self.name, self.inputs, table, self.features, dict(self.columns))
        return fed(self.name, self.inputs, table, columns)

    def fingerprint(self) -> str:
        """Tell this model from others by the content of its file, and by how it is read."""
        said = repr((self.features, self.columns, self.outputs))
        return fingerprint_of("onnx", self.session.digest, *self.beside, said)

    def describe(self) -> str:
        """Say in one line what it is."""
        takes = "; ".join(f"{entry.name} {entry.dtype} {_shape(entry)}" for entry in self.inputs[:8])
        outputs = " and ".join(name for name in (self.outputs.label, self.outputs.score) if name)
        of = f" of {listed(self.classes)}" if self.classes else ""
        return f"ONNX model {self.name}: takes {takes}; gives {outputs}{of}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def open_onnx(
    path: Path | bytes,
    *,
    features: Sequence[str] | None = None,
    inputs: Mapping[str, Sequence[str]] | None = None,
    prediction: str | None = None,
    score: str | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    device: str = "cpu",
    threads: int = 0,
    batch_size: int = _BATCH,
) -> OnnxModel:
    """Open an ONNX file.

    Parameters
    ----------
    path
        The file, or its bytes.
    features
        The columns to give it, in its order. Without it a model with an input for each column gets the columns of
        the inputs' names, and one with a single matrix gets the whole table when its width is right.
    inputs
        The columns of each input, where there are several with several columns each.
    prediction, score
        The names of the outputs to read, where there are more than a label and its scores.
    output
        What the numbers stand for: ``"probabilities"``, ``"logits"``, ``"values"`` or ``"labels"``.
    classes
        The classes in the order of the scores, where the file does not name them.
    device
        ``"cpu"`` or ``"cuda"``.
    threads
        How many threads one call may use; 0 for as many as the runtime thinks right. With several ``workers``, 1 is
        kinder to the machine.
    batch_size
        How many rows it is given at once. A file that fixes the number of rows gets that number.

    Raises
    ------
    UsageError
        When onnxruntime is not installed, an argument does not fit the file, or its inputs or outputs are not clear.
    ModelError
        When the file cannot be run.
    """
    if features is not None and inputs:
        raise UsageError("features and inputs both say which columns the model is given. Leave one out.")
    beside = weights_beside(path)
    session = open_from(session_of, path, device, checked_threads(threads))
    name = session.name or "the ONNX model"
    taken = tuple(input_of(node, name) for node in session.content.get_inputs())
    said = tuple((key, checked_features(columns) or ()) for key, columns in (inputs or {}).items())
    check_known(name, taken, dict(said))
    outputs = outputs_of(
        session.content.get_outputs(),
        name,
        class_lists_in(path),
        prediction=prediction,
        score=score,
        output=checked_output(output),
        classes=checked_classes(classes),
    )
    size = checked_batch_size(batch_size)
    return OnnxModel(session, taken, outputs, checked_features(features), said, size, beside)


def onnx_model(model: Any, **options: Any) -> OnnxModel:
    """Make a model of an ``onnx.ModelProto``, with the options of :func:`open_onnx`."""
    return open_onnx(bytes(model.SerializeToString()), **options)


def refuse_session(session: Any, **_: Any) -> OnnxModel:
    """Refuse a session of onnxruntime, which does not give away the model inside it."""
    raise UsageError(
        f"model is a {type(session).__name__} of onnxruntime, which cannot be told from others by what it has learnt. "
        "Pass the path of the .onnx file instead, or the onnx.ModelProto."
    )


def _joined(parts: list[Any], rows: int) -> Any:
    """What came for all portions, without the answers too many at the end of a filled one."""
    if not isinstance(parts[0], list) and np.ndim(parts[0]) == 0:
        return np.asarray(parts[0])  # one number for the whole batch: refused where it is read
    if len(parts) == 1:
        return parts[0][:rows]
    joined = [row for part in parts for row in part] if isinstance(parts[0], list) else np.concatenate(parts)
    return joined[:rows]


def _shape(entry: Input) -> str:
    return " x ".join("n" if size is None else str(size) for size in entry.shape)

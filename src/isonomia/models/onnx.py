"""ONNX models, run by onnxruntime.

The file says what goes in and what comes out: inputs are filled with columns of the table by name or in order, and one
output is the label, another the scores. The runtime reveals neither the names of the classes nor where weights outside
the file are, so both are read with the ``onnx`` package; its copy of the model is not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.checked import (
    array_from,
    check_number,
    checked_classes,
    checked_features,
    checked_output,
)
from isonomia.models.decoder import OutputDecoder
from isonomia.models.files import ReopenableResource, needed, open_from
from isonomia.models.inputs import columns_for, converted, in_portions, matrix
from isonomia.models.protocol import Answer
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import RECORDS, Table
from isonomia.spec.tree import Value
from isonomia.wording import first_few

_BATCH = 65_536
_DENSE = 1 << 26  # numbers that a sparse tensor may stand for: the runtime fills in the zeros
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
# The element types of ONNX tensors that a table can fill, as NumPy calls them.
_NUMPY_TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    **{f"tensor({sign}int{width})": f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)},
    "tensor(bool)": "bool",
    "tensor(string)": "object",
}
_CLASS_ATTRIBUTES = {"classlabels_strings", "classlabels_int64s", "classlabels_ints"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OnnxModel:
    """An ONNX model. Make one with :func:`open_onnx`.

    Numbers are rounded to the width that the file takes, mostly 32 bits. So scores agree with those of the original
    model up to about seven digits, and a prediction may differ where a score is that close to its threshold.

    Attributes
    ----------
    session
        The runtime's session.
    inputs, outputs
        What the model takes, and which of its outputs are read.
    features
        The columns to give it, in its order.
    columns
        The columns of each input, if the user gave them.
    batch_size
        How many rows it is given at once.
    """

    session: ReopenableResource
    inputs: tuple[OnnxInput, ...]
    outputs: OnnxOutputs
    features: tuple[str, ...] | None = None
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    batch_size: int = _BATCH

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.session.name or str(self.session.content.get_modelmeta().graph_name) or "ONNX model"

    @property
    def score_range(self) -> tuple[float, float] | None:
        """From 0 to 1 for probabilities; ``None`` otherwise."""
        return self.outputs.decoder.score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The classes, if the file or the user names them."""
        return self.outputs.decoder.classes

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads; ``None`` if neither the user nor its inputs name them."""
        if self.columns:
            return tuple(dict.fromkeys(column for _, columns in self.columns for column in columns))
        if self.features is None and len(self.inputs) > 1 and all(entry.width == 1 for entry in self.inputs):
            return tuple(entry.name for entry in self.inputs)
        return self.features

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Run the model on the batch, in portions of a size that it takes."""
        given = self._given(table)
        names = self.outputs.wanted(want_score, want_prediction)
        rows = _fixed_rows(self.inputs)
        size, session = rows or self.batch_size, self.session.content
        parts = in_portions(lambda part: session.run(names, dict(part)), given, size, fixed=rows is not None)
        raw = {name: _joined([part[i] for part in parts], table.rows) for i, name in enumerate(names)}
        return self.outputs.answer(raw, self.name, want_score=want_score, want_prediction=want_prediction)

    def _given(self, table: Table) -> dict[str, NDArray[Any]]:
        if table.kind == RECORDS:
            return _whole_batch(self.name, self.inputs, table.native)
        columns = _columns_by_input(self.name, self.inputs, table, self.features, dict(self.columns))
        return {entry.name: _filled(self.name, entry, table, columns[entry.name]) for entry in self.inputs}

    def fingerprint(self) -> str:
        """Tell this model from others by its file, by weights in other files, and by the options it was opened with."""
        options = f"({self.features!r}, {self.columns!r}, {self.outputs.identity})"
        weights = (digest for _, digest in self.session.companions)
        return fingerprint_of("onnx", self.session.digest, *weights, options)

    def describe(self) -> str:
        """Say in one line what it is."""
        takes = "; ".join(f"{entry.name} {entry.dtype} {entry.shape_text}" for entry in self.inputs[:8])
        outputs = " and ".join(name for name in (self.outputs.label, self.outputs.score) if name)
        of = f" of {first_few(self.classes)}" if self.classes else ""
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
        The columns to give it, in its order. By default a model with one input per column gets the columns with the
        inputs' names, and one with a single matrix gets the whole table if its width is right.
    inputs
        The columns of each input, if there are several with several columns each.
    prediction, score
        The names of the outputs to read, if there are more than a label and its scores.
    output
        What the numbers stand for: ``"probabilities"``, ``"logits"``, ``"values"`` or ``"labels"``.
    classes
        The classes in the order of the scores, if the file does not name them.
    device
        ``"cpu"`` or ``"cuda"``.
    threads
        How many threads one call may use; 0 for the runtime's own choice. With several ``workers``, 1 is better.
    batch_size
        How many rows it is given at once. A file that fixes the number of rows gets that number.

    Raises
    ------
    UsageError
        When onnx or onnxruntime is not installed, an argument does not fit the file, or its inputs or outputs are
        ambiguous.
    ModelError
        When the file cannot be run, keeps weights outside of its folder, or takes very many rows and no other number.
    """
    if features is not None and inputs:
        raise UsageError("features and inputs both say which columns the model is given. Leave one out.", name="inputs")
    class_lists, weights = _contents(path)
    check_number("threads", threads, 0, whole=True)
    check_number("batch_size", batch_size, 1, whole=True)
    session = open_from(_session, path, device, threads, companions=weights)
    name = session.name or "the ONNX model"
    taken = tuple(_input(node, name) for node in session.content.get_inputs())
    if (rows := _fixed_rows(taken)) is not None and rows > _BATCH:  # smaller batches are filled up to that number
        raise ModelError(f"{name} takes {rows:,} rows at once, but it is given at most {_BATCH:,}: it was not opened.")
    columns = tuple((key, checked_features(names) or ()) for key, names in (inputs or {}).items())
    _check_known(name, taken, [key for key, _ in columns])
    decoder = OutputDecoder(checked_output(output), checked_classes(classes) or _only(class_lists))
    outputs = _outputs(session.content.get_outputs(), name, prediction, score, decoder)
    return OnnxModel(session, taken, outputs, checked_features(features), columns, batch_size)


def onnx_model(model: Any, **options: Any) -> OnnxModel:
    """Make a model from an ``onnx.ModelProto``, with the options of :func:`open_onnx`."""
    return open_onnx(bytes(model.SerializeToString()), **options)


def refuse_session(session: Any, **_: Any) -> OnnxModel:
    """Refuse a session of onnxruntime, which does not reveal the model inside it."""
    raise UsageError(
        f"model is a {type(session).__name__} of onnxruntime, which does not reveal the model inside it. "
        "Pass the path of the .onnx file instead, or the onnx.ModelProto.",
        name="model",
    )


def _session(origin: Path | bytes, device: str, threads: int) -> Any:
    """Open a session of the runtime."""
    runtime = needed("onnxruntime", "onnx", "an ONNX model")
    provider = _PROVIDERS.get(device)
    if provider is None or provider not in runtime.get_available_providers():
        offered = [short for short, long in _PROVIDERS.items() if long in runtime.get_available_providers()]
        raise UsageError(
            f"device should be one of {', '.join(offered)}, as onnxruntime is installed, but is {device!r}.",
            name="device",
        )
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    # By content, never by name: a file called .ort would be read in another format than the one checked here.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    options.log_severity_level = 3  # errors only: its warnings are for the authors of the file
    source = str(origin) if isinstance(origin, Path) else origin
    try:
        # Without the fallback, which would try the same again and print a message.
        return runtime.InferenceSession(source, options, providers=[provider], enable_fallback=0)
    except Exception as error:  # the runtime's errors have no common class of their own
        where = origin if isinstance(origin, Path) else "what was given"
        raise ModelError(
            f"{where} is not an ONNX model that onnxruntime {runtime.__version__} can run: {error}"
        ) from error


def _contents(origin: Path | bytes) -> tuple[list[tuple[Value, ...]], tuple[Path, ...]]:
    """What is read from a file besides the session: its lists of class labels, and the files with its weights."""
    onnx = needed("onnx", "onnx", "an ONNX model")
    try:
        if isinstance(origin, Path):
            model = onnx.load(origin, format="protobuf", load_external_data=False)
        else:
            model = onnx.load_model_from_string(origin, format="protobuf")
        class_lists = [labels for labels in dict.fromkeys(_class_lists(onnx, model.graph)) if labels]
        tensors = list(_tensors(onnx, model))
    except Exception as error:  # from protobuf if the bytes are not a message, from NumPy if a tensor is damaged
        where = origin if isinstance(origin, Path) else "what was given"
        raise ModelError(f"{where} is not an ONNX model: {error}") from error
    for tensor in tensors:
        if isinstance(tensor, onnx.SparseTensorProto) and (size := prod(map(abs, tensor.dims))) > _DENSE:
            raise ModelError(
                f"{origin if isinstance(origin, Path) else 'what was given'} has a sparse tensor of {size:,} numbers, "
                f"which would be filled with zeros, but at most {_DENSE:,} are: it was not opened."
            )
    dense = [tensor for tensor in tensors if isinstance(tensor, onnx.TensorProto)]
    locations = sorted({entry.value for part in dense for entry in part.external_data if entry.key == "location"})
    return class_lists, tuple(_weights(origin, location) for location in locations)


def _class_lists(onnx: Any, graph: Any) -> Iterator[tuple[Value, ...]]:
    """Lists of class labels: in the attributes of classifiers, or in a constant whose name begins with ``classes``."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in _CLASS_ATTRIBUTES:
                yield (*attribute.ints, *(label.decode() for label in attribute.strings))
    label_types = {onnx.TensorProto.STRING, onnx.TensorProto.INT32, onnx.TensorProto.INT64}
    for tensor in graph.initializer:
        if tensor.name.startswith("classes") and tensor.data_type in label_types and not tensor.external_data:
            yield tuple(onnx.numpy_helper.to_array(tensor).reshape(-1).tolist())


def _tensors(onnx: Any, message: Any) -> Iterator[Any]:
    """Every tensor in a message, sparse or not: of graphs, those inside their nodes, of attributes and of functions."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if hasattr(value, "ListFields") else value:
            if isinstance(part, onnx.TensorProto | onnx.SparseTensorProto):
                yield part
            if not isinstance(part, onnx.TensorProto):
                yield from _tensors(onnx, part)


def _weights(origin: Path | bytes, location: str) -> Path:
    """The file at a location that a model names; never outside its folder, since a stranger's model could name any."""
    if isinstance(origin, bytes):
        raise ModelError(
            f"the ONNX model keeps weights in {location!r}, but as bytes it has no folder in which they could be "
            "found: it was not opened. Give the path of the file.",
            name=location,
        )
    folder = origin.absolute().parent
    file = folder / location
    if Path(location).is_absolute() or not file.resolve().is_relative_to(folder.resolve()):
        raise ModelError(
            f"{origin} keeps weights in {location!r}, outside its folder, so it was not opened.", name=location
        )
    if not file.is_file():
        # It may be an attack: the runtime takes certain names for an address in memory, and would read it.
        raise ModelError(f"{origin} keeps weights in {location!r}, but that file does not exist.", name=location)
    return file


@dataclass(frozen=True, slots=True)
class OnnxInput:
    """One input: its name, its element type as NumPy calls it, and its dimensions, ``None`` for any size."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    @property
    def width(self) -> int | None:
        """How many columns it takes; ``None`` for any number."""
        return 1 if len(self.shape) == 1 else self.shape[1] if len(self.shape) == 2 else None

    @property
    def shape_text(self) -> str:
        """Its dimensions in words: ``n x 3``."""
        return " x ".join("n" if size is None else str(size) for size in self.shape)


def _input(node: Any, file: str) -> OnnxInput:
    """Read the runtime's description of an input."""
    if node.type not in _NUMPY_TYPES:
        raise UsageError(
            f"{file} takes {node.type} in its input {node.name!r}, which no table has. "
            f"Understood are: {', '.join(_NUMPY_TYPES)}."
        )
    shape = tuple(size if isinstance(size, int) and size > 0 else None for size in node.shape)
    return OnnxInput(node.name, _NUMPY_TYPES[node.type], shape)


def _check_known(name: str, inputs: Sequence[OnnxInput], wanted: Sequence[str]) -> None:
    """Refuse columns for an input that does not exist."""
    own = [entry.name for entry in inputs]
    for key in wanted:
        if key not in own:
            raise UsageError(
                f"{name} has no input {key!r}; its inputs are {', '.join(own)}.{nearest(key, own)}", name=key
            )


def _fixed_rows(inputs: Sequence[OnnxInput]) -> int | None:
    """How many rows a model takes at once, if the file fixes that."""
    sizes = {entry.shape[0] for entry in inputs if entry.shape} - {None}
    return sizes.pop() if sizes else None


def _columns_by_input(
    name: str,
    inputs: Sequence[OnnxInput],
    table: Table,
    features: tuple[str, ...] | None,
    chosen: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    """The columns that go into each input, in order: as the user chose them, or else by name."""
    if chosen:
        return {entry.name: _chosen_columns(name, entry, table, chosen) for entry in inputs}
    if len(inputs) == 1:
        alone = inputs[0]
        by_name = features is None and alone.width == 1 and alone.name in table.names
        return {alone.name: columns_for(name, table, (alone.name,) if by_name else features, alone.width)}
    if not all(entry.width == 1 for entry in inputs):
        shapes = ", ".join(f"{entry.name} {list(entry.shape)}" for entry in inputs)
        raise UsageError(
            f"{name} has several inputs with several columns each ({shapes}). Say which columns go where: "
            f"inputs={{{inputs[0].name!r}: [...], ...}}."
        )
    own = tuple(entry.name for entry in inputs)
    columns = columns_for(name, table, features or own, len(inputs))
    return {entry.name: (column,) for entry, column in zip(inputs, columns, strict=True)}


def _chosen_columns(
    name: str, entry: OnnxInput, table: Table, chosen: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    if entry.name not in chosen:
        raise UsageError(f"{name} has an input {entry.name!r}, but inputs does not say which columns go into it.")
    return columns_for(f"input {entry.name!r} of {name}", table, chosen[entry.name], entry.width)


def _filled(name: str, entry: OnnxInput, table: Table, columns: tuple[str, ...]) -> NDArray[Any]:
    if len(entry.shape) > 2:
        raise ModelError(
            f"{name} takes arrays of {len(entry.shape)} dimensions in its input {entry.name!r}, but a table has two. "
            "Give it a population of such arrays, such as images."
        )
    if len(entry.shape) == 1:
        return converted(name, columns[0], table.column(columns[0]), entry.dtype)
    return matrix(name, table, columns, entry.dtype)


def _whole_batch(name: str, inputs: Sequence[OnnxInput], batch: Any) -> dict[str, NDArray[Any]]:
    """Give a batch that has no columns, such as images, to the one input of a model."""
    if len(inputs) != 1 or not isinstance(batch, np.ndarray):
        raise ModelError(
            f"{name} should have one input and take an array of records, but it has {len(inputs)}, and the population "
            f"gives a {type(batch).__name__}."
        )
    entry = inputs[0]
    given = batch.reshape(len(batch), -1) if len(entry.shape) == 2 else batch
    fits = len(given.shape) == len(entry.shape) and all(
        expected in (None, size) for expected, size in zip(entry.shape[1:], given.shape[1:], strict=True)
    )
    if not fits:
        raise ModelError(
            f"{name} takes arrays of shape {list(entry.shape)} in its input {entry.name!r}, but the records make an "
            f"array of shape {list(batch.shape)}."
        )
    return {entry.name: given.astype(entry.dtype)}


@dataclass(frozen=True, slots=True)
class OnnxOutputs:
    """The outputs that are read: the predicted labels, and the scores or whatever numbers the model gives."""

    label: str | None
    score: str | None
    decoder: OutputDecoder

    @property
    def identity(self) -> str:
        """What a fingerprint says of it; this text must never change."""
        return f"Outputs(label={self.label!r}, score={self.score!r}, reading={self.decoder.identity})"

    def wanted(self, want_score: bool, want_prediction: bool) -> list[str]:
        """The outputs that have to be computed."""
        if self.label is None or self.score is None:
            return [name for name in (self.label, self.score) if name is not None]
        needs = {self.score: want_score, self.label: want_prediction}
        return [name for name, needed_now in needs.items() if needed_now]

    def answer(self, raw: dict[str, Any], name: str, *, want_score: bool, want_prediction: bool) -> Answer:
        """Make an answer from what the runtime returned."""
        if self.label is None or self.score is None:
            alone = np.asarray(next(iter(raw.values())))
            return self.decoder.answer(alone, name, want_score=want_score, want_prediction=want_prediction)
        label = array_from(np.asarray(raw[self.label])) if want_prediction else None
        if not want_score:
            return Answer(label)
        score, classes = self._scores(raw[self.score], name)
        if label is not None and classes:
            _check_labels(name, label, classes)
        return Answer(label, score, classes)

    def _scores(self, raw: Any, name: str) -> tuple[NDArray[np.float64], tuple[Value, ...]]:
        if isinstance(raw, list):  # a ZipMap: a mapping from class to probability for each row
            classes = tuple(raw[0])
            return np.array([[row[label] for label in classes] for row in raw], dtype=np.float64), classes
        numbers = np.asarray(raw, dtype=np.float64)
        if numbers.ndim == 1 or numbers.shape[1] == 1:
            return numbers.reshape(-1), ()
        classes = self.decoder.classes
        if len(classes) != numbers.shape[1]:
            raise ModelError(
                f"{name} gives {numbers.shape[1]} scores per row, but does not say to which classes they belong"
                f"{f' (named are {list(classes)!r})' if classes else ''}. Name them in order: classes=[...]."
            )
        if self.decoder.output != "logits":
            return numbers, classes
        answer = self.decoder.answer(numbers, name, want_score=True, want_prediction=False)
        return numbers if answer.score is None else answer.score, classes


def _outputs(
    nodes: Sequence[Any], file: str, prediction: str | None, score: str | None, decoder: OutputDecoder
) -> OnnxOutputs:
    """Find out which output is which, if the user does not name them."""
    by_name = {node.name: node for node in nodes}
    for name in (prediction, score):
        if name is not None and name not in by_name:
            raise UsageError(
                f"{file} has no output {name!r}; its outputs are {_output_texts(nodes)}.{nearest(name, by_name)}"
            )
    if prediction is None and score is None:
        prediction, score = _label_and_score(nodes, file)
    if decoder.output is None and prediction is not None and score is not None and "prob" in score.lower():
        decoder = OutputDecoder("probabilities", decoder.classes)
    return OnnxOutputs(prediction, score, decoder)


def _label_and_score(nodes: Sequence[Any], file: str) -> tuple[str | None, str | None]:
    labels = [node.name for node in nodes if _is_label(node)]
    scores = [node.name for node in nodes if not _is_label(node)]
    if len(labels) > 1 or len(scores) > 1:
        raise UsageError(
            f"{file} has several outputs that could be meant: {_output_texts(nodes)}. "
            "Name those to audit: prediction='...' for labels, score='...' for numbers, or one of them."
        )
    return (labels[0] if labels else None), (scores[0] if scores else None)


def _is_label(node: Any) -> bool:
    return _NUMPY_TYPES.get(node.type, "float")[:5] != "float" and not node.type.startswith("seq")


def _output_texts(nodes: Sequence[Any]) -> str:
    return ", ".join(f"{node.name} ({node.type} {list(node.shape)})" for node in nodes)


def _only(lists: Sequence[tuple[Value, ...]]) -> tuple[Value, ...]:
    return lists[0] if len(lists) == 1 else ()


def _check_labels(name: str, label: NDArray[Any], classes: tuple[Value, ...]) -> None:
    unknown = set(label.tolist()) - set(classes)
    if unknown:
        raise ModelError(
            f"{name} predicted {unknown.pop()!r}, not one of its classes {list(classes)!r}: name them in order, "
            "classes=[...]."
        )


def _joined(parts: list[Any], rows: int) -> Any:
    """The results of all portions, without the surplus answers at the end of a padded one."""
    if not isinstance(parts[0], list) and np.ndim(parts[0]) == 0:
        return np.asarray(parts[0])  # one number for the whole batch: refused when it is decoded
    if len(parts) == 1:
        return parts[0][:rows]
    joined = [row for part in parts for row in part] if isinstance(parts[0], list) else np.concatenate(parts)
    return joined[:rows]

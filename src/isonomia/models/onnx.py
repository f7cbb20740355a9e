"""ONNX files, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isonomia.errors import UsageError
from isonomia.models.arguments import (
    checked_batch_size,
    checked_classes,
    checked_features,
    checked_output,
    checked_threads,
)
from isonomia.models.describing import listed
from isonomia.models.onnx_files import class_lists_in, session_of, weights_beside
from isonomia.models.onnx_inputs import (
    Input,
    arrange,
    check_known,
    fed,
    fixed_rows,
    input_of,
    read_columns,
    whole_batch,
)
from isonomia.models.onnx_outputs import Outputs, outputs_of
from isonomia.models.portions import in_portions
from isonomia.models.protocol import Answer
from isonomia.models.reopened import Opened, open_from
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["OnnxModel", "onnx_model", "open_onnx", "refuse_session"]

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

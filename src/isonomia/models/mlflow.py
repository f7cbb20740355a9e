"""MLflow model folders."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import array_from, checked_classes, checked_features, checked_output
from isonomia.models.decoder import DecoderAdapter, OutputDecoder
from isonomia.models.files import ReopenableResource, check_trusted, needed, open_from
from isonomia.models.inputs import columns_for
from isonomia.models.loader import Kind, kind_of, open_path, pass_options
from isonomia.models.protocol import Answer, Model
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.wording import first_few


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MlflowModel(DecoderAdapter):
    """A model behind MLflow's common interface, ``python_function``: a frame in, predictions out.

    Attributes
    ----------
    source
        The model, or the folder it was opened from.
    features
        The columns to give it, in order; ``None`` for those of its signature, or for all.
    decoder
        What the numbers that it predicts stand for.
    """

    source: Any
    features: tuple[str, ...] | None
    decoder: OutputDecoder

    @property
    def pyfunc(self) -> Any:
        """MLflow's own model."""
        return self.source.content if isinstance(self.source, ReopenableResource) else self.source

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.source.name if isinstance(self.source, ReopenableResource) else "MLflow model"

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads; ``None`` for all."""
        return self.features or _signature_names(self.pyfunc)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Query the model once, with a pandas frame that is a copy of the columns it takes."""
        pandas = needed("pandas", "pandas", "an MLflow model")
        columns = columns_for(self.name, table, self.reads, None)
        chosen = table.select(columns).copy()
        frame = chosen.native if table.kind == "pandas" else _frame(pandas, chosen)
        returned = self.pyfunc.predict(frame)
        raw = returned.to_numpy() if hasattr(returned, "to_numpy") else returned
        return self.decoder.answer(array_from(raw), self.name, want_score=want_score, want_prediction=want_prediction)

    def fingerprint(self) -> str:
        """Tell this model from others by all files of its folder; a live one by MLflow's metadata."""
        options = f"({self.features!r}, {self.decoder.identity})"
        if isinstance(self.source, ReopenableResource):
            return fingerprint_of("mlflow", self.source.digest, options)
        return fingerprint_of("mlflow", str(self.pyfunc.metadata.to_yaml()), options)

    def describe(self) -> str:
        """Say in one line what it is."""
        columns = f"takes {first_few(self.reads)}" if self.reads else "has no signature and takes all columns"
        return f"MLflow model {self.name}: {self.pyfunc.loader_module}, {columns}"


def mlflow_model(
    source: Any,
    *,
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
) -> MlflowModel:
    """Make a model from what ``mlflow.pyfunc.load_model`` returns, or from its opened folder."""
    decoder = OutputDecoder(checked_output(output), checked_classes(classes))
    return MlflowModel(source, checked_features(features), decoder)


def open_mlflow(path: Path, *, trust_pickle: bool = False, flavour: str | None = None, **options: Any) -> Model:
    """Open an MLflow model folder.

    If the folder holds the model in a format that runs no code (ONNX, XGBoost, LightGBM, skops), that file is opened
    directly, with its options. Anything else is a pickle or a loader named by the folder, and needs ``trust_pickle``.

    Parameters
    ----------
    path
        The folder with the file ``MLmodel``.
    trust_pickle
        Whether the folder's author may run code here.
    flavour
        Which of the folder's flavours to open, such as ``"onnx"`` or ``"python_function"``; by default the most direct.
    options
        The options of the model inside; for ``python_function`` they are ``features``, ``output`` and ``classes``.

    Raises
    ------
    UsageError
        When something is not installed, or the folder needs trust.
    ModelError
        When the folder is damaged.
    """
    flavours = _flavours(path)
    name = _flavour(path, flavours, flavour)
    inside = _direct_file(path, name, flavours[name])
    if inside is not None:
        return open_path(inside, {"trust_pickle": trust_pickle, **options})
    check_trusted(path, trust_pickle, f"an MLflow folder whose flavour {name} is loaded by its own Python code")
    opened = open_from(_pyfunc, path)
    return pass_options(mlflow_model, "an MLflow model", opened, options)


_LARGEST = 1 << 22
"""Bytes that a file ``MLmodel`` may have; a signature of 10,000 columns takes about a megabyte."""


def _flavours(path: Path) -> Mapping[str, Any]:
    yaml = needed("yaml", "mlflow", "an MLflow folder")
    size = (path / "MLmodel").stat().st_size
    if size > _LARGEST:
        raise ModelError(
            f"{path / 'MLmodel'} has {size:,} bytes, but at most {_LARGEST:,} are read: it was not opened."
        )
    try:
        # Texts, lists and mappings alone: merging mappings into others could make a short file exhaust the memory.
        flavours = yaml.load((path / "MLmodel").read_text("utf-8"), yaml.BaseLoader)["flavors"]
        return {str(name): dict(settings) for name, settings in flavours.items()}
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(
            f"{path / 'MLmodel'} should be YAML with flavors, as MLflow writes it, but: {error}"
        ) from error


# The flavours that are opened directly, with the setting that names their file, and the kinds that file may have.
# Without the kinds, a folder could name its own script as its model, and have it run.
_DIRECT = {
    "onnx": ("data", {Kind.ONNX}),
    "xgboost": ("data", {Kind.XGBOOST, Kind.SKOPS, Kind.PICKLE}),
    "lightgbm": ("data", {Kind.LIGHTGBM, Kind.SKOPS, Kind.PICKLE}),
    "sklearn": ("pickled_model", {Kind.SKOPS, Kind.PICKLE}),
}


def _flavour(path: Path, flavours: Mapping[str, Any], wanted: str | None) -> str:
    if wanted is not None and wanted not in flavours:
        raise UsageError(f"{path} has no flavour {wanted!r}; it has {', '.join(flavours)}.")
    flavour = wanted or next((name for name in (*_DIRECT, "python_function") if name in flavours), None)
    if flavour is None:
        raise ModelError(
            f"{path / 'MLmodel'} should have a flavour that is understood ({', '.join(_DIRECT)} or python_function), "
            f"but has {', '.join(flavours) or 'none'}."
        )
    return flavour


def _direct_file(path: Path, name: str, settings: Mapping[str, Any]) -> Path | None:
    """The file of a flavour that is opened directly; it must lie inside the folder, and be what the flavour says."""
    setting, kinds = _DIRECT.get(name, ("", set()))
    location = settings.get(setting)
    if not isinstance(location, str) or "\0" in location:
        return None
    file = (path / location).resolve()
    if not file.is_relative_to(path.resolve()):
        raise ModelError(
            f"{path / 'MLmodel'} names {location!r}, which lies outside the folder, so it was not opened.",
            name=location,
        )
    if not file.is_file():
        return None
    kind = kind_of(file)
    if kind not in kinds:
        raise ModelError(
            f"{path / 'MLmodel'} names {location!r} as its model of {name}, but that is "
            f"{'nothing that is understood' if kind is None else kind.value}, so it was not opened.",
            name=location,
        )
    return file


def _pyfunc(path: Path) -> Any:
    with warnings.catch_warnings():
        # MLflow warns about type hints in its own modules while it is imported.
        warnings.filterwarnings("ignore", message=".*Any type hint is inferred as AnyType", category=UserWarning)
        pyfunc = needed("mlflow.pyfunc", "mlflow", "an MLflow folder")
    try:
        return pyfunc.load_model(str(path))
    except Exception as error:
        raise ModelError(f"MLflow could not load {path}: {type(error).__name__}: {error}") from error


def _signature_names(pyfunc: Any) -> tuple[str, ...] | None:
    schema = pyfunc.metadata.get_input_schema()
    return tuple(schema.input_names()) if schema is not None and schema.has_input_names() else None


def _frame(pandas: Any, table: Table) -> Any:
    return pandas.DataFrame({name: np.array(table.column(name)) for name in table.names})

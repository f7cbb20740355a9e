"""LightGBM: boosters and estimators, live or from its own files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError
from isonomia.models.boosters import (
    MOST_FEATURES,
    check_size,
    check_tree,
    coded_matrix,
    described,
    named_classes,
    output_of,
)
from isonomia.models.checked import checked_features
from isonomia.models.decoder import DecoderAdapter, OutputDecoder
from isonomia.models.files import needed
from isonomia.models.inputs import columns_for
from isonomia.models.protocol import Answer
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table, offers
from isonomia.spec.tree import Value

_OUTPUTS = {"binary": "probabilities", "multiclass": "probabilities", "multiclassova": None}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LightGBMModel(DecoderAdapter):
    """A booster of LightGBM. Make one with :func:`lightgbm_model` or :func:`open_lightgbm`.

    Columns are found by name, whatever their order; LightGBM itself would use their order. A category that it has never
    seen counts as missing, as it does for LightGBM.

    Attributes
    ----------
    booster
        The booster.
    decoder
        What its numbers stand for, according to its objective, and the classes.
    features
        The columns to give it, in its order; ``None`` for those it was fitted with.
    categories
        The index and the categories of each column that has some.
    source
        The file it came from; empty for a live one.
    """

    booster: Any
    decoder: OutputDecoder
    features: tuple[str, ...] | None = None
    categories: tuple[tuple[int, tuple[Value, ...]], ...] = ()
    source: str = ""

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.source or "LightGBM model"

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads, as LightGBM spells them; ``None`` where it does not know their names."""
        return self.features or _fitted(self.booster, ())

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Ask the booster once."""
        wanted = self.features or _fitted(self.booster, table.names)
        columns = columns_for(self.name, table, wanted, self.booster.num_feature())
        coded = {columns[index]: values for index, values in self.categories}
        rows = coded_matrix(self.name, table, columns, coded, "float64", new_is_missing=True)
        raw = np.asarray(self.booster.predict(rows))
        return self.decoder.answer(raw, self.name, want_score=want_score, want_prediction=want_prediction)

    def fingerprint(self) -> str:
        """Tell this booster from others by its trees and categories; the same live and from its file."""
        trees = self.booster.model_to_string().partition("\nparameters:")[0]
        options = f"({self.decoder.identity}, {self.features!r}, {self.categories!r})"
        return fingerprint_of("lightgbm", sha256(trees.encode()).hexdigest(), options)

    def describe(self) -> str:
        """Say in one line what it is."""
        objective, width = _objective(self.booster) or "no objective", self.booster.num_feature()
        return described("LightGBM model", self.source, objective, self.reads, width, self.classes)


def lightgbm_model(
    model: Any, *, features: Sequence[str] | None = None, classes: Sequence[Any] | None = None, source: str = ""
) -> LightGBMModel:
    """Make a model from a booster or an estimator of LightGBM.

    Parameters
    ----------
    model
        The booster or fitted estimator.
    features
        The columns to give it, in its order, if it does not know their names.
    classes
        The classes in order, which a file does not hold; 0, 1, 2, ... by default.
    source
        The file it came from.
    """
    is_estimator = offers(model, "booster_")
    booster = model.booster_ if is_estimator else model
    objective = _objective(booster)
    named = named_classes(model, classes, is_estimator=is_estimator)
    output = output_of(_OUTPUTS, objective, named, is_estimator=is_estimator)
    numbered = tuple(range(max(2, booster.num_model_per_iteration()))) if objective in _OUTPUTS else ()
    decoder = OutputDecoder(output, (named or numbered) if output != "values" else ())
    return LightGBMModel(booster, decoder, checked_features(features), _categories(booster), source)


def open_lightgbm(
    path: Path, *, features: Sequence[str] | None = None, classes: Sequence[Any] | None = None
) -> LightGBMModel:
    """Open a file that LightGBM wrote with ``save_model``. Its options are those of :func:`lightgbm_model`.

    Raises
    ------
    UsageError
        When LightGBM is not installed.
    ModelError
        When it cannot read the file.
    """
    lightgbm = needed("lightgbm", "lightgbm", "a LightGBM file")
    text = path.read_text("utf-8")
    try:
        _check_text(text)
    except (ModelError, KeyError, ValueError, OverflowError) as error:
        raise ModelError(f"{path} is not a file that LightGBM wrote, so it was not opened: {error}.") from error
    # Without the sizes of its trees in bytes, since a wrong one makes LightGBM end the process.
    text = re.sub(r"^tree_sizes=.*\n?", "", text, count=1, flags=re.MULTILINE)
    try:
        booster = lightgbm.Booster(model_str=text)
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise ModelError(f"{path} is not a file that LightGBM {lightgbm.__version__} can read: {error}") from error
    return lightgbm_model(booster, features=features, classes=classes, source=path.name)


def _check_text(text: str) -> None:
    """Refuse sizes and indices that the file itself contradicts, before LightGBM sees them."""
    body, end, rest = text.replace("\r\n", "\n").partition("\nend of trees")
    head, *trees = re.split(r"^Tree=", body, flags=re.MULTILINE)
    declared = _keys(head)
    if not end or len(declared.get("tree_sizes", "").split()) not in {0, len(trees)}:
        raise ModelError("it ends too early, or trees are missing")
    parameters = rest.partition("\nparameters:")[2].partition("\nend of parameters")[0]
    if any(line and not re.fullmatch(r"\[[^:]+: .*\]", line) for line in parameters.split("\n")):
        raise ModelError("a parameter is not written as [name: value]")
    width = check_size("max_feature_idx", declared["max_feature_idx"], MOST_FEATURES) + 1
    for name in ("num_class", "num_tree_per_iteration"):
        if not check_size(name, declared[name], max(1, len(trees))):
            raise ModelError(f"{name} is 0")
    for number, tree in enumerate(trees):
        _check_arrays(f"tree {number}", _keys(tree.partition("\n")[2]), width)


def _check_arrays(what: str, tree: dict[str, str], width: int) -> None:
    def numbers(name: str) -> NDArray[np.int64]:
        return np.array(tree.get(name, "").split(), dtype=np.int64)

    leaves = check_size(f"num_leaves of {what}", tree["num_leaves"], len(tree["leaf_value"]))
    kinds = check_size(f"num_cat of {what}", tree.get("num_cat", 0), len(tree.get("cat_threshold", "")))
    inner, features = leaves - 1, numbers("split_feature")
    sizes = {name: len(tree.get(name, "").split()) for name in ("split_feature", "threshold", "decision_type")}
    children = np.concatenate([numbers("left_child"), numbers("right_child")])
    if inner < 0 or len(tree["leaf_value"].split()) != leaves or {*sizes.values(), len(children) / 2} != {float(inner)}:
        raise ModelError(f"{what} has arrays of other lengths than its {leaves} leaves")
    if np.any(children >= inner):
        raise ModelError(f"{what} is not a tree: a child does not exist")
    # Here leaf 0 is -1; counted on from the inner nodes, every node has one number.
    check_tree(what, np.where(children < 0, inner + ~children, children), inner + leaves, features, width)
    ends = numbers("cat_boundaries") if kinds else np.zeros(1, dtype=np.int64)
    rising = len(ends) == kinds + 1 and ends[0] == 0 and not np.any(np.diff(ends) < 0)
    chosen = np.array(tree.get("threshold", "").split(), dtype=np.float64)[(numbers("decision_type") & 1) > 0]
    if not rising or ends[-1] > len(tree.get("cat_threshold", "").split()) or np.any((chosen < 0) | (chosen >= kinds)):
        raise ModelError(f"{what} has categories beyond its list")
    if tree.get("is_linear", "0") != "0":
        each, named = numbers("num_features"), len(numbers("leaf_features"))
        lengths = len(each), len(tree["leaf_const"].split()), int(each.sum()), len(tree["leaf_coeff"].split())
        if np.any(each < 0) or lengths != (leaves, leaves, named, named):
            raise ModelError(f"{what} has linear leaves that do not fit its {leaves} leaves")
    if np.any((numbers("leaf_features") < 0) | (numbers("leaf_features") >= width)):
        raise ModelError(f"{what} reads a column that does not exist: there are {width:,}")


def _keys(text: str) -> dict[str, str]:
    pairs = [(line.partition("=")[0], line.partition("=")[2]) for line in text.splitlines() if "=" in line]
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise ModelError("a key occurs twice")
    return keys


def _objective(booster: Any) -> str:
    head = booster.model_to_string(num_iteration=1).partition("\nTree=")[0]
    lines = [line for line in head.splitlines() if line.startswith("objective=")]
    return lines[0].removeprefix("objective=").split()[0] if lines else ""


def _fitted(booster: Any, names: Sequence[str]) -> tuple[str, ...] | None:
    """The columns that it was fitted with, under the table's names: LightGBM writes a space as an underscore."""
    spelled = {"_".join(name.split(" ")): name for name in names}
    own = booster.feature_name()
    if own == [f"Column_{index}" for index in range(len(own))]:
        return None
    return tuple(name if name in names else spelled.get(name, name) for name in own)


def _categories(booster: Any) -> tuple[tuple[int, tuple[Value, ...]], ...]:
    """The categories by the index of their column: LightGBM keeps them in the order of the frame it was fitted on."""
    lists = booster.pandas_categorical or []
    columns = booster.params.get("categorical_feature", booster.params.get("categorical_column", []))
    if not lists:
        return ()
    if isinstance(columns, str):
        columns = columns.split(",")
    own = booster.feature_name()
    indices = sorted(own.index(column) if column in own else int(column) for column in columns if str(column))
    if len(indices) != len(lists):
        raise UsageError(
            f"the LightGBM model has {len(lists)} lists of categories, but {len(indices)} columns of categories: "
            "wrap it in a function that codes them."
        )
    return tuple((index, tuple(values)) for index, values in zip(indices, lists, strict=True))

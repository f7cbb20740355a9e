"""XGBoost: boosters and estimators, live or from its own files."""

from __future__ import annotations

import json
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

_OUTPUTS = {
    "binary:logistic": "probabilities",
    "multi:softprob": "probabilities",
    "binary:logitraw": "logits",
    "binary:hinge": "labels",
    "multi:softmax": "labels",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class XGBoostModel(DecoderAdapter):
    """A booster of XGBoost. Make one with :func:`xgboost_model` or :func:`open_xgboost`.

    Columns are found by name, whatever their order, and categories are given as the codes that the model was fitted
    with. A category that it has never seen is refused, as by XGBoost.

    Attributes
    ----------
    booster
        The booster.
    decoder
        What its numbers stand for, according to its objective, and the classes.
    rounds
        Which rounds of boosting are used; ``(0, 0)`` for all.
    linear
        Whether it is a linear model instead of trees.
    features
        The columns to give it, in its order; ``None`` for those it was fitted with.
    categories
        The categories of its columns.
    source
        The file it came from; empty for a live one.
    missing
        The number that stands for a missing value besides NaN, like the ``missing`` of an estimator.
    """

    booster: Any
    decoder: OutputDecoder
    rounds: tuple[int, int] = (0, 0)
    linear: bool = False
    features: tuple[str, ...] | None = None
    categories: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    source: str = ""
    missing: float = float("nan")

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return self.source or "XGBoost model"

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads; ``None`` where it does not know their names."""
        return self.features or (tuple(self.booster.feature_names) if self.booster.feature_names else None)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Ask the booster once."""
        fitted = self.booster.feature_names
        columns = columns_for(self.name, table, self.features or fitted, self.booster.num_features())
        by_column = _renamed(dict(self.categories), fitted, columns)
        rows = coded_matrix(self.name, table, columns, by_column, "float32", new_is_missing=False)
        raw = self._predicted(rows)
        return self.decoder.answer(raw, self.name, want_score=want_score, want_prediction=want_prediction)

    def _predicted(self, rows: NDArray[Any]) -> NDArray[Any]:
        if not self.linear:
            return np.asarray(
                self.booster.inplace_predict(
                    rows, iteration_range=self.rounds, missing=self.missing, validate_features=False
                )
            )
        xgboost = needed("xgboost", "xgboost", "a booster")
        given = xgboost.DMatrix(rows, missing=self.missing, feature_names=self.booster.feature_names)
        return np.asarray(self.booster.predict(given, iteration_range=self.rounds))

    def fingerprint(self) -> str:
        """Tell this booster from others by its trees, names and objective; the same live and from its file."""
        bare = self.booster.copy()
        bare.set_attr(**dict.fromkeys(bare.attributes()))
        options = f"({self.decoder.identity}, {self.rounds!r}, {self.features!r}, {self.missing!r})"
        return fingerprint_of("xgboost", sha256(bytes(bare.save_raw("ubj"))).hexdigest(), options)

    def describe(self) -> str:
        """Say in one line what it is."""
        objective, width = _objective(self.booster), self.booster.num_features()
        return described("XGBoost model", self.source, objective, self.reads, width, self.classes)


def xgboost_model(
    model: Any,
    *,
    features: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    missing: float | None = None,
    source: str = "",
) -> XGBoostModel:
    """Make a model from a booster or an estimator of XGBoost.

    Parameters
    ----------
    model
        The booster or fitted estimator. An estimator that stopped early, live or from its file, uses the rounds up to
        its best, as its ``predict`` does; any other booster uses all.
    features
        The columns to give it, in its order, if it does not know their names.
    classes
        The classes in order; 0, 1, 2, ... by default.
    missing
        The number that stands for a missing value, if a booster was fitted with one; an estimator knows its own.
    source
        The file it came from.
    """
    is_estimator = offers(model, "get_booster")
    booster = model.get_booster() if is_estimator else model
    named = named_classes(model, classes, is_estimator=is_estimator)
    attributes = booster.attributes()
    stopped = is_estimator or "scikit_learn" in attributes
    best = int(attributes["best_iteration"]) + 1 if stopped and "best_iteration" in attributes else 0
    objective = _objective(booster)
    linear = _learner(booster)["gradient_booster"]["name"] == "gblinear"
    output = output_of(_OUTPUTS, objective, named, is_estimator=is_estimator)
    return XGBoostModel(
        booster,
        OutputDecoder(output, named or _numbered(booster, objective)),
        (0, best),
        linear,
        checked_features(features),
        _categories(booster),
        source,
        float(getattr(model, "missing", np.nan) if missing is None else missing),
    )


def open_xgboost(
    path: Path,
    *,
    features: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    missing: float | None = None,
) -> XGBoostModel:
    """Open a file that XGBoost wrote with ``save_model``: ``.json`` or ``.ubj``.

    Its options are those of :func:`xgboost_model`.

    Raises
    ------
    UsageError
        When XGBoost is not installed.
    ModelError
        When it cannot read the file.
    """
    xgboost = needed("xgboost", "xgboost", "an XGBoost file")
    booster, content = xgboost.Booster(), path.read_bytes()
    try:
        _check_content(content)
    except (ModelError, KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError) as error:
        why = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        raise ModelError(f"{path} is not a file that XGBoost wrote, so it was not opened: {why}.") from error
    try:
        # As bytes, since by path the file extension, not the content, would choose the format.
        booster.load_model(bytearray(content))
    except xgboost.core.XGBoostError as error:
        first = str(error).strip().splitlines()[0]
        raise ModelError(f"{path} is not a file that XGBoost {xgboost.__version__} can read: {first}") from error
    return xgboost_model(booster, features=features, classes=classes, missing=missing, source=path.name)


_BYTES_EACH = 20
"""Each class or target of a model takes at least this many bytes of its file: a tree, or a weight of each column."""


def _check_content(content: bytes) -> None:
    """Refuse sizes and indices that the file itself contradicts, before XGBoost sees them."""
    is_json = content.lstrip()[:1] == b"{" and content.lstrip()[1:].lstrip()[:1] == b'"'
    model = json.loads(content, object_pairs_hook=_without_repeats) if is_json else _Ubj(content).value()
    learner = model["learner"]
    sizes, booster = learner["learner_model_param"], learner["gradient_booster"]
    width = check_size("num_feature", sizes["num_feature"], MOST_FEATURES)
    max_size = max(2, len(content) // _BYTES_EACH)
    groups = max(1, *(check_size(name, sizes.get(name, 0), max_size) for name in ("num_class", "num_target")))
    if booster["name"] == "gblinear":
        _fits("weights", len(booster["model"]["weights"]), (width + 1) * groups)
        return
    inside = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    trees, info, declared = inside["trees"], _whole(inside["tree_info"]), inside["gbtree_model_param"]
    check_size("num_parallel_tree", declared.get("num_parallel_tree", 1), max(1, len(trees)))
    _fits("num_trees", check_size("num_trees", declared["num_trees"], len(trees)), len(trees))
    _fits("tree_info", len(info), len(trees))
    _fits("weight_drop", len(booster.get("weight_drop", trees)), len(trees))
    ends = _whole(inside.get("iteration_indptr", [0, len(trees)]))
    if ends[0] != 0 or ends[-1] != len(trees) or np.any(np.diff(ends) < 0) or np.any((info < 0) | (info >= groups)):
        raise ModelError(f"tree_info or iteration_indptr does not fit {len(trees)} trees and {groups} outputs")
    _check_categories(inside.get("cats", {}), width)
    for number, tree in enumerate(trees):
        _fits(f"the id of tree {number}", int(tree.get("id", number)), number)
        _check_arrays(f"tree {number}", tree, width, groups)


def _check_categories(cats: Any, width: int) -> None:
    """Refuse categories of columns, if the file has some, that begin or end outside of their list."""
    columns = cats.get("enc", [])
    for column in columns:
        ends = _whole(column.get("offsets", []))  # of texts, one after another
        if len(ends) and (ends[0] != 0 or ends[-1] != len(column["values"]) or np.any(np.diff(ends) < 0)):
            raise ModelError("the categories of a column lie outside of their text")
    known = [max(len(each["offsets"]) - 1, 0) if "offsets" in each else len(each["values"]) for each in columns]
    segments, order = _whole(cats.get("feature_segments", [])), _whole(cats.get("sorted_idx", []))
    fitting = not len(segments) or np.array_equal(segments, np.cumsum([0, *known]))
    if len(columns) not in {0, width} or not fitting or np.any((order < 0) | (order >= max([0, *known]))):
        raise ModelError("the lists of categories do not fit the columns")


def _check_arrays(what: str, tree: Any, width: int, groups: int) -> None:
    left, right = (_whole(tree[f"{side}_children"]) for side in ("left", "right"))
    nodes, declared = len(left), tree["tree_param"]
    vector = max(1, check_size("size_leaf_vector", declared.get("size_leaf_vector", 1), groups))
    _fits(f"num_nodes of {what}", check_size("num_nodes", declared["num_nodes"], nodes), nodes)
    for name in ("split_indices", "split_conditions", "default_left", "parents", "loss_changes", "sum_hessian"):
        _fits(f"{name} of {what}", len(tree[name]), nodes)
    _fits(f"split_type of {what}", len(tree.get("split_type", left)), nodes)
    _fits(f"right_children of {what}", len(right), nodes)
    _fits(f"base_weights of {what}", len(tree["base_weights"]), nodes * vector)
    inner = left != -1
    rows = len(tree.get("leaf_weights", ())) // vector  # of a tree with several outputs, whose leaves name a row there
    if np.any(right[~inner] != -1 if vector == 1 or not rows else (right[~inner] < 0) | (right[~inner] >= rows)):
        raise ModelError(f"{what} has a leaf with a child")
    children = np.concatenate([left[inner], right[inner]])
    check_tree(what, children, nodes, _whole(tree["split_indices"])[inner], width)
    if np.any(_whole(tree.get("parents", []))[children] != np.tile(np.flatnonzero(inner), 2)):
        raise ModelError(f"{what} has parents that do not fit its children")
    sizes, starts, at = (_whole(tree.get(f"categories_{name}", [])) for name in ("sizes", "segments", "nodes"))
    _fits(f"categories of {what}", len({len(sizes), len(starts), len(at)}), 1)
    beyond = (sizes < 0) | (starts < 0) | (starts + sizes > len(tree.get("categories", []))) | (at < 0) | (at >= nodes)
    if np.any(beyond):
        raise ModelError(f"{what} has categories beyond its list")


def _fits(what: str, size: int, expected: int) -> None:
    if size != expected:
        raise ModelError(f"{what} should have size {expected:,}, but has {size:,}")


def _whole(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64).reshape(-1)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ModelError("a key occurs twice")  # XGBoost might use the one that was not checked
    return dict(pairs)


_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8", b"C": ">u1"}


@dataclass(slots=True)
class _Ubj:
    """A reader of UBJSON, as far as XGBoost writes it: typed arrays have a count, all else ends with a bracket."""

    content: bytes
    at: int = 0

    def value(self, kind: bytes | None = None) -> Any:
        """The value that begins here."""
        kind = self._take(1) if kind is None else kind
        match kind:
            case b"{":
                pairs = []
                while (sign := self._take(1)) != b"}":
                    pairs.append((self._text(sign), self.value()))
                return _without_repeats(pairs)
            case b"[":
                return self._array()
            case b"S":
                return self._text(self._take(1))
            case b"T" | b"F" | b"Z":
                return {b"T": True, b"F": False, b"Z": None}[kind]
            case _:
                return self._numbers(kind, 1)[0]

    def _array(self) -> Any:
        if self.content[self.at : self.at + 1] == b"$":
            _, kind, sign = self._take(1), self._take(1), self._take(1)
            if sign != b"#":
                raise ModelError("a typed array without a count")
            return self._numbers(kind, int(self.value()))
        count = -1
        if self.content[self.at : self.at + 1] == b"#":
            self._take(1)
            count = int(self.value())
        items: list[Any] = []
        while len(items) != count:
            sign = self._take(1)
            if sign == b"]" and count < 0:
                break
            items.append(self.value(sign))
        return items

    def _numbers(self, kind: bytes, count: int) -> NDArray[Any]:
        form = np.dtype(_NUMBERS[kind])
        return np.frombuffer(self._take(count * form.itemsize), dtype=form)

    def _text(self, kind: bytes) -> str:
        return self._take(int(self._numbers(kind, 1)[0])).decode("utf-8")

    def _take(self, size: int) -> bytes:
        part = self.content[self.at : self.at + size]
        if size < 0 or len(part) < size:
            raise ModelError("it ends too early")
        self.at += size
        return part


def _objective(booster: Any) -> str:
    return str(_learner(booster)["objective"]["name"])


def _learner(booster: Any) -> dict[str, Any]:
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner


def _numbered(booster: Any, objective: str) -> tuple[Value, ...]:
    if objective not in _OUTPUTS:
        return ()
    classes = int(_learner(booster)["learner_model_param"]["num_class"])
    return tuple(range(max(2, classes)))


def _categories(booster: Any) -> tuple[tuple[str, tuple[Value, ...]], ...]:
    if "c" not in (booster.feature_types or ()):
        return ()
    needed("pyarrow", "arrow", "an XGBoost model with categories")
    if not hasattr(booster, "get_categories"):
        raise UsageError("an XGBoost model with categories needs XGBoost 3.1 or later, which stores them. Update it.")
    categories = booster.get_categories(export_to_arrow=True).to_arrow()
    return tuple((name, tuple(values.to_pylist())) for name, values in categories if values is not None)


def _renamed(
    categories: dict[str, tuple[Value, ...]], fitted: Sequence[str] | None, columns: Sequence[str]
) -> dict[str, tuple[Value, ...]]:
    """The categories under the user's names of the columns, where those differ from the model's."""
    own = fitted or columns
    return {column: categories[name] for name, column in zip(own, columns, strict=True) if name in categories}

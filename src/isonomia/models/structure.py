"""What a model computes, read off its structure: trees, forests, linear models and small ReLU networks.

Such a model is evaluated on linear forms of the draws, as a program is: every comparison that depends on draws has two
sides, and each is followed in its own cell. Weights and thresholds are exactly the numbers that the model holds;
arithmetic is that of real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from isonomia.evidence.cells import DrawCell, LinearForm
from isonomia.models.adapt import EstimatorModel
from isonomia.models.protocol import Model, unwrap
from isonomia.models.torch import TorchModel
from isonomia.populations.worlds.paths import Answer, NotExactError, Variables, compare
from isonomia.spec.columns import python_value

Vector: TypeAlias = tuple[LinearForm, ...]
Read: TypeAlias = Callable[[Vector, DrawCell], Iterator[tuple[Any, DrawCell]]]
ZERO = LinearForm(Fraction(0))

_LINEAR_CLASSIFIERS = {
    "LinearDiscriminantAnalysis",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
}
_LINEAR_REGRESSORS = {"ElasticNet", "Lasso", "LinearRegression", "Ridge", "RidgeCV", "SGDRegressor"}


def readable(model: Model, columns: Sequence[str], most: int) -> tuple[Answer, tuple[str, ...]]:
    """What a model predicts on each path through it, and the columns that it reads.

    Raises :class:`NotExactError` for a model of another kind, or one that must have far more than ``most`` paths; the
    message says which.
    """
    inner = unwrap(model)
    if isinstance(inner, EstimatorModel):
        read, names = _estimator(inner.estimator, most), inner.reads
    elif isinstance(inner, TorchModel):
        read, names = _torch(inner, most), inner.features
    else:
        raise NotExactError(f"the structure of {model.name} cannot be read")
    if names is None or not set(names) <= set(columns):
        raise NotExactError(f"{model.name} does not say which of the columns it takes: name them, features=[...]")

    def answer(variables: Variables, cell: DrawCell) -> Iterator[tuple[Any, DrawCell]]:
        return read(tuple(_number(variables[name], name) for name in names), cell)

    return answer, names


def _refuse_units(units: int, most: int) -> None:
    """Refuse early what would take long to turn out too large: the two sides of each unit are paths."""
    if units > 60 or 2**units > 4 * most:
        raise NotExactError(f"a network of {units:,} hidden units has too many paths through it")


def _number(value: Any, name: str) -> LinearForm:
    if isinstance(value, str):
        raise NotExactError(f"the model is given {name!r}, which is text")
    return LinearForm(Fraction(int(value))) if isinstance(value, bool) else value


# ---------------------------------------------------------------------------- scikit-learn


def _estimator(estimator: Any, most: int) -> Read:
    kind = type(estimator)
    if not kind.__module__.startswith("sklearn."):
        raise NotExactError(f"the structure of {kind.__name__} cannot be read")
    match kind.__name__:
        case "Pipeline":
            return _pipeline(estimator, most)
        case "DecisionTreeClassifier":
            labels = _labels(estimator)
            return _tree(estimator.tree_, lambda value: labels[int(np.argmax(value[0]))])
        case "DecisionTreeRegressor":
            return _tree(estimator.tree_, lambda value: LinearForm(Fraction(float(value[0][0]))))
        case "RandomForestClassifier" | "ExtraTreesClassifier":
            return _forest(estimator, most)
        case "MLPClassifier" | "MLPRegressor":
            return _perceptron(estimator, most)
        case name if name in _LINEAR_CLASSIFIERS:
            return _largest(
                _layer(np.atleast_2d(estimator.coef_).T, np.atleast_1d(estimator.intercept_)), _labels(estimator)
            )
        case name if name in _LINEAR_REGRESSORS and np.ndim(estimator.coef_) == 1:
            layer = _layer(np.atleast_2d(estimator.coef_).T, np.atleast_1d(estimator.intercept_))
            return lambda given, cell: iter([(layer(given)[0], cell)])
        case name:
            raise NotExactError(f"the structure of {name} cannot be read")


def _labels(estimator: Any) -> list[Any]:
    listed = map(python_value, estimator.classes_)
    return [label if isinstance(label, bool | str) else LinearForm(Fraction(repr(label))) for label in listed]


def _pipeline(estimator: Any, most: int) -> Read:
    *before, last = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    scales = [_scaling(step) for step in before]
    read = _estimator(last, most)

    def scaled(given: Vector, cell: DrawCell) -> Iterator[tuple[Any, DrawCell]]:
        for scale in scales:
            given = tuple(
                value.times(times) + LinearForm(plus) for value, (times, plus) in zip(given, scale, strict=True)
            )
        return read(given, cell)

    return scaled


def _scaling(step: Any) -> list[tuple[Fraction, Fraction]]:
    """A factor and an offset for each column."""
    match type(step).__name__:
        case "StandardScaler":
            width = step.n_features_in_
            means = step.mean_ if step.with_mean else np.zeros(width)
            scales = step.scale_ if step.with_std else np.ones(width)
            return [(1 / s, -m / s) for m, s in zip(map(_exactly, means), map(_exactly, scales), strict=True)]
        case "MinMaxScaler" if not step.clip:
            return [(Fraction(float(s)), Fraction(float(m))) for s, m in zip(step.scale_, step.min_, strict=True)]
        case name:
            raise NotExactError(f"a pipeline with a step {name} cannot be read")


def _exactly(number: Any) -> Fraction:
    return Fraction(float(number))


def _tree(tree: Any, leaf: Callable[[Any], Any]) -> Read:
    """A tree of comparisons. It rounds its columns to 32-bit floats, so a threshold lies between two of those."""
    lefts, rights, features = tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist()
    thresholds = [
        _threshold(value) if feature >= 0 else ZERO for value, feature in zip(tree.threshold, features, strict=True)
    ]
    results = [leaf(value) for value in tree.value]

    def read(given: Vector, cell: DrawCell, node: int = 0) -> Iterator[tuple[Any, DrawCell]]:
        if lefts[node] < 0:
            yield results[node], cell
            return
        for met, side in compare("<=", given[features[node]], thresholds[node], cell):
            yield from read(given, side, lefts[node] if met else rights[node])

    return read


def _threshold(value: float) -> LinearForm:
    """The largest number that, rounded to a 32-bit float, is at most a threshold."""
    below = np.float32(value)
    if float(below) > float(value):
        below = np.nextafter(below, np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    return LinearForm((Fraction(float(below)) + Fraction(float(above))) / 2)


def _forest(estimator: Any, most: int) -> Read:
    """Trees one after the other; the rest are skipped once their votes cannot change the answer."""
    leaves = sum(int(each.tree_.n_leaves) for each in estimator.estimators_)
    if len(estimator.estimators_) > 1 and leaves**2 > 16 * most:  # pairs of leaves are paths
        raise NotExactError(f"a forest of {leaves:,} leaves has too many paths through it")
    labels, classes = _labels(estimator), len(estimator.classes_)
    trees = [_tree(each.tree_, lambda value: np.asarray(value[0]) / np.sum(value[0])) for each in estimator.estimators_]

    def read(given: Vector, cell: DrawCell, number: int = 0, votes: Any = None) -> Iterator[tuple[Any, DrawCell]]:
        votes = np.zeros(classes) if votes is None else votes
        first, second = np.sort(votes)[[-1, -2]] if classes > 1 else (1.0, 0.0)
        if number == len(trees) or first - second > len(trees) - number + 1e-6:
            yield labels[int(np.argmax(votes))], cell
            return
        for share, side in trees[number](given, cell):
            yield from read(given, side, number + 1, votes + share)

    return read


# ---------------------------------------------------------------------------- linear layers


def _layer(weights: Any, biases: Any) -> Callable[[Vector], Vector]:
    """``given @ weights + biases``."""
    columns = [[Fraction(float(w)) for w in column] for column in np.asarray(weights, dtype=float).T]
    constants = [LinearForm(Fraction(float(b))) for b in biases]

    def apply(given: Vector) -> Vector:
        sums = []
        for column, constant in zip(columns, constants, strict=True):
            total = constant
            for value, weight in zip(given, column, strict=True):
                total = total + value.times(weight)
            sums.append(total)
        return tuple(sums)

    return apply


def _largest(layer: Callable[[Vector], Vector], labels: Sequence[Any]) -> Read:
    """The class with the largest sum; if two classes share one sum, the second if it is above 0."""

    def read(given: Vector, cell: DrawCell) -> Iterator[tuple[Any, DrawCell]]:
        sums = layer(given)
        if len(sums) == 1:
            for met, side in compare(">", sums[0], ZERO, cell):
                yield labels[int(met)], side
            return
        yield from _leading(sums, 1, 0, cell)

    def _leading(sums: Vector, number: int, best: int, cell: DrawCell) -> Iterator[tuple[Any, DrawCell]]:
        if number == len(sums):
            yield labels[best], cell
            return
        for met, side in compare(">", sums[number], sums[best], cell):
            yield from _leading(sums, number + 1, number if met else best, side)

    return read


def _perceptron(estimator: Any, most: int) -> Read:
    if estimator.activation not in {"relu", "identity"}:
        raise NotExactError(f"a network with the activation {estimator.activation!r} is not piecewise linear")
    if estimator.activation == "relu":
        _refuse_units(sum(len(biases) for biases in estimator.intercepts_[:-1]), most)
    layers = [_layer(w, b) for w, b in zip(estimator.coefs_, estimator.intercepts_, strict=True)]
    rectified = [estimator.activation == "relu"] * (len(layers) - 1) + [False]
    if type(estimator).__name__ == "MLPRegressor":
        return _network(layers, rectified, lambda sums, cell: iter([(sums[0], cell)]))
    return _network(layers, rectified, _largest(lambda sums: sums, _labels(estimator)))


def _network(layers: Sequence[Callable[[Vector], Vector]], rectified: Sequence[bool], last: Read) -> Read:
    def read(given: Vector, cell: DrawCell, number: int = 0) -> Iterator[tuple[Any, DrawCell]]:
        if number == len(layers):
            yield from last(given, cell)
            return
        sums = layers[number](given)
        for values, side in _rectified(sums, cell) if rectified[number] else [(sums, cell)]:
            yield from read(values, side, number + 1)

    return read


def _rectified(sums: Vector, cell: DrawCell) -> Iterator[tuple[Vector, DrawCell]]:
    if not sums:
        yield (), cell
        return
    for positive, side in compare(">", sums[0], ZERO, cell):
        for rest, after in _rectified(sums[1:], side):
            yield (sums[0] if positive else ZERO, *rest), after


def _torch(model: TorchModel, most: int) -> Read:
    """A sequence of linear layers and ReLUs, whose outputs are logits or values."""
    module = model.module
    if type(module).__name__ != "Sequential" or model.decoder.output not in {"logits", "values"}:
        raise NotExactError(
            f"the structure of {model.name} cannot be read: that takes a Sequential of Linear and ReLU, with "
            "output='logits' or 'values'"
        )
    layers, rectified = [], []
    widths = [part.out_features for part in module if type(part).__name__ == "Linear"]
    _refuse_units(sum(widths[:-1]), most)
    for part in module:
        match type(part).__name__:
            case "Linear":
                bias = np.zeros(part.out_features) if part.bias is None else part.bias.detach().cpu().numpy()
                layers.append(_layer(part.weight.detach().cpu().numpy().T, bias))
                rectified.append(False)
            case "ReLU" if layers:
                rectified[-1] = True
            case name:
                raise NotExactError(f"a network with a layer {name} cannot be read")
    if model.decoder.output == "values":
        return _network(layers, rectified, lambda sums, cell: iter([(sums[0], cell)]))
    given = model.classes or tuple(range(max(widths[-1], 2)))
    labels = [each if isinstance(each, bool | str) else LinearForm(Fraction(repr(each))) for each in given]
    return _network(layers, rectified, _largest(lambda sums: sums, labels))

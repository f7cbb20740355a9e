"""Make a :class:`Model` from what the user has.

Any callable on a batch is a model, and so is anything with ``predict``: scikit-learn and everything that follows it.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import array_from, checked_features, kept_trying, score_from
from isonomia.models.decoder import classes_from
from isonomia.models.inputs import choose_features, fitted_names, input_for, quiet_about_names, steps_of
from isonomia.models.protocol import Answer, Model, OwnModel
from isonomia.populations.fingerprint import callable_name, fingerprint_of, identity_of
from isonomia.populations.table import TENSORS, Table, offers
from isonomia.spec.tree import Value
from isonomia.wording import first_few, shortened

# By package and class: the module here and the function in it. Subclasses count too.
_MAKERS = {
    ("xgboost", "Booster"): ("xgboost", "xgboost_model"),
    ("xgboost", "XGBModel"): ("xgboost", "xgboost_model"),
    ("lightgbm", "Booster"): ("lightgbm", "lightgbm_model"),
    ("lightgbm", "LGBMModel"): ("lightgbm", "lightgbm_model"),
    ("torch", "Module"): ("torch", "torch_model"),
    ("torch", "ExportedProgram"): ("torch", "torch_model"),
    ("onnx", "ModelProto"): ("onnx", "onnx_model"),
    ("onnxruntime", "InferenceSession"): ("onnx", "refuse_session"),
    ("mlflow", "PyFuncModel"): ("mlflow", "mlflow_model"),
}


def adapt(model: object, features: Sequence[str] | None = None) -> Model:
    """Make a model from what the user has.

    Parameters
    ----------
    model
        Anything with ``predict``, a callable on a batch, a PyTorch module, a booster of XGBoost or LightGBM, an ONNX
        model, a path or an address as :func:`isonomia.load_model` takes it, or a :class:`Model`.
    features
        The columns to give it, in order. By default a model gets those that it was fitted with, if it knows them, and
        otherwise all columns.

    Raises
    ------
    UsageError
        When it is none of these; when it is a class, or a function without arguments that seems to make a model,
        since neither is called unasked.
    """
    if isinstance(model, str | PathLike):
        return cast(Model, function_of("loader", "load_model")(model, features=checked_features(features)))
    return adapt_object(model, features)


def adapt_object(model: object, features: Sequence[str] | None = None) -> Model:
    """Make a model from a live object, as :func:`adapt` does, but never from a path, an address or a name.

    For objects that come out of a file or a module: a text found there must not start a program, import a module or
    send rows to an address.
    """
    chosen = checked_features(features)
    if inspect.isclass(model):
        raise UsageError(
            f"model should be a fitted model, but is a class. Make an object of it: model={model.__qualname__}(...)."
        )
    if offers(model, "answer", "fingerprint", "name", "score_range"):
        return _already(model, chosen)
    maker = _library_maker(model)
    if maker is not None:
        return cast(Model, maker(model, features=chosen))
    if predicts(model):
        return EstimatorModel(model, chosen)
    if callable(model):
        _check_takes_a_batch(model)
        return CallableModel(model, chosen)
    raise UsageError(
        "model should have a method predict, or be callable on a batch of rows, "
        f"but is {shortened(repr(model), 80)} ({type(model).__name__})."
    )


def _library_maker(model: object) -> Callable[..., Any] | None:
    """The function that adapts an object of a known library, found without importing the library."""
    for kind in type(model).__mro__:
        maker = _MAKERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if maker is not None and not (kind.__name__ == "Module" and predicts(model)):
            return function_of(*maker)
    return None


def predicts(model: object) -> bool:
    """Whether an object has a method ``predict``, as estimators do."""
    return callable(getattr(model, "predict", None))


def function_of(module: str, name: str) -> Callable[..., Any]:
    """A function of a module in this package, which is imported only now."""
    return cast(Callable[..., Any], getattr(import_module(f"isonomia.models.{module}"), name))


def _already(model: object, features: tuple[str, ...] | None) -> Model:
    if features is not None:
        raise UsageError(
            f"features is {list(features)!r}, but {type(model).__name__} is already a model and chooses its own. "
            "Leave features out.",
            name="features",
        )
    whole = cast(Model, model)
    reads = getattr(model, "reads", ...)
    if isinstance(reads, tuple | None):
        return whole
    return OwnModel(whole, None if reads is ... else tuple(reads))


def _check_takes_a_batch(function: Any) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in callables have none
        return
    name = callable_name(function)
    try:
        signature.bind(None)
    except TypeError as error:
        hint = f" If it makes the model, call it yourself: model={name}()." if not signature.parameters else ""
        raise UsageError(
            f"model should be callable on a batch of rows, with one argument, but {name}{signature} is not: {error}."
            f"{hint}"
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class CallableModel:
    """A callable that takes a batch, in the population's own kind of table, and returns its predictions.

    What it returns is the prediction, and the score too when it is made of floating-point numbers. An array with a
    column for each class is a score only. The callable gets a copy of the batch, so that it may write into it.
    """

    function: Callable[[Any], Any]  # the callable
    features: tuple[str, ...] | None = None  # the columns to hand over, in order; `None` for all of them

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return callable_name(self.function)

    score_range = None  # a callable may return anything

    classes = ()

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it is given; ``None`` for all."""
        return self.features

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Call the callable once, and use what it returns for whatever is requested."""
        chosen = table if self.features is None else table.select(self.features)
        raw = kept_trying(lambda: self.function(chosen.copy().native), self.name)
        array = array_from(raw, on_device=table.kind == TENSORS)
        by_class = array.ndim == 2 and score_from(array[:1]) is not None
        return Answer(
            prediction=array if want_prediction and not by_class else None,
            score=score_from(array) if want_score else None,
        )

    def fingerprint(self) -> str:
        """Tell this callable from others by its name and module, and by its source if that can be found."""
        return fingerprint_of("callable", identity_of(self.function), *(self.features or ()))

    def describe(self) -> str:
        """Say in one line what it is."""
        module = getattr(self.function, "__module__", None)
        takes = f"; takes {first_few(self.features)}" if self.features else ""
        return f"callable {self.name}{f' of {module}' if module else ''}{takes}"


# scikit-learn's classifiers whose predict *is* the class with the greatest probability. Others come close but differ,
# on ties and rounding (linear models) or by design (SVC, tuned thresholds), so both of their methods are called.
_PREDICTS_THE_LIKELIEST = frozenset(
    {
        "BaggingClassifier",
        "DecisionTreeClassifier",
        "ExtraTreeClassifier",
        "ExtraTreesClassifier",
        "RandomForestClassifier",
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A fitted estimator.

    Its prediction is ``predict``. Its score is ``predict_proba``, with a column for each class, or else
    ``decision_function``, or else, for a regressor, the prediction itself.

    Attributes
    ----------
    estimator
        The fitted estimator.
    features
        The columns to give it, in its order; ``None`` for those that it was fitted with.
    source
        Where it was opened from, in words; empty for a live one.
    """

    estimator: Any
    features: tuple[str, ...] | None = None
    source: str = ""

    @property
    def name(self) -> str:
        """What to call it in messages and reports."""
        return type(self.estimator).__name__

    @property
    def score_range(self) -> tuple[float, float] | None:
        """From 0 to 1 for probabilities; ``None`` otherwise."""
        return (0.0, 1.0) if offers(self.estimator, "predict_proba") else None

    @property
    def classes(self) -> tuple[Value, ...]:
        """The estimator's ``classes_``; empty for one without, and for several outputs at once."""
        labels = getattr(self.estimator, "classes_", ())
        return () if any(np.ndim(label) for label in labels) else classes_from(labels)

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it reads; ``None`` for all."""
        return self.features or fitted_names(self.estimator)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Ask the estimator for what is requested, with one call where one will do.

        It gets a copy: a pipeline that transforms in place must not change the population.
        """
        return kept_trying(lambda: self._answer(table, want_score, want_prediction), self.name)

    def _answer(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        given = input_for(self.estimator, choose_features(self.estimator, table, self.features).copy())
        with quiet_about_names(given):
            score = self._score(given) if want_score else None
            from_prediction = want_score and score is None and not offers(self.estimator, "classes_")
            prediction = self._prediction(given, score) if want_prediction or from_prediction else None
        if from_prediction and prediction is not None:
            score = score_from(prediction)
        by_class = score is not None and score.ndim == 2
        return Answer(prediction if want_prediction else None, score, self.classes if by_class else ())

    def fingerprint(self) -> str:
        """Tell this estimator from others by its class and everything it has learned.

        An estimator that cannot be pickled is identified by its class and its ``repr`` alone.
        """
        kind = type(self.estimator)
        learnt = _learnt(self.estimator)
        return fingerprint_of("estimator", kind.__module__, kind.__qualname__, learnt, *(self.features or ()))

    def describe(self) -> str:
        """Say in one line what it is."""
        steps = [type(step).__name__ for _, step in steps_of(self.estimator)]
        made_of = f" of {' -> '.join(steps)}" if steps else ""
        columns = f"; takes {first_few(self.reads)}" if self.reads else ""
        gives = f"; gives {first_few(self.classes)}" if self.classes else ""
        return f"estimator {self.name}{made_of}{f' from {self.source}' if self.source else ''}{columns}{gives}"

    def _score(self, given: Any) -> NDArray[np.float64] | None:
        for name in ("predict_proba", "decision_function"):
            method = getattr(self.estimator, name, None)
            if method is not None:
                raw = method(given)
                if isinstance(raw, list) and raw and np.ndim(raw[0]) == 2:
                    raise ModelError(
                        f"{self.name} predicts {len(raw)} outputs, but one was expected: wrap it in a function."
                    )
                return np.asarray(raw, dtype=np.float64)
        return None

    def _prediction(self, given: Any, score: NDArray[np.float64] | None) -> NDArray[Any]:
        if score is not None and score.ndim == 2 and _predicts_the_likeliest(self.estimator):
            return array_from(self.estimator.classes_[np.argmax(score, axis=1)])
        return array_from(self.estimator.predict(given))


def _predicts_the_likeliest(estimator: Any) -> bool:
    if type(estimator).__name__ == "Pipeline" and _is_of_scikit_learn(estimator):
        estimator = estimator.steps[-1][1]
    return type(estimator).__name__ in _PREDICTS_THE_LIKELIEST and _is_of_scikit_learn(estimator)


def _learnt(estimator: Any) -> str:
    import joblib  # type: ignore[import-untyped]

    try:
        # Through a pickle and back: the hash depends on who owns an array's memory, and a pickle drops that.
        return str(joblib.hash(pickle.loads(pickle.dumps(estimator))))
    except Exception:
        return repr(estimator)


def _is_of_scikit_learn(estimator: Any) -> bool:
    return type(estimator).__module__.startswith("sklearn.")

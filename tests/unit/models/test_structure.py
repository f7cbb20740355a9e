"""Models that are read off their structure: what is proved of them is what they do, and what cannot be read is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.models.torch import torch_model

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier  # noqa: E402
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: E402

WORLD = iso.Causal(
    {
        "sex": iso.Categories({0: 0.4, 1: 0.6}),
        "skill": "gaussian(50 + 4 * sex, 100)",
        "age": "step([(20, 40, 0.5), (40, 65, 0.5)])",
    }
)
DRAWN = 10_000


def people() -> tuple[Any, Any]:
    table = WORLD.draw(DRAWN, 7)
    frame = pd.DataFrame({name: table.column(name) for name in ("sex", "skill", "age")})
    noise = np.random.default_rng(0).normal(0, 8, DRAWN)
    return frame, (frame.skill + 0.3 * frame.age + noise > 65).astype(int)


FRAME, HIRED = people()
THREE = np.digitize(FRAME.skill, [45, 60])

MODELS = [
    DecisionTreeClassifier(max_depth=4, random_state=0),
    RandomForestClassifier(3, max_depth=3, random_state=0),
    LogisticRegression(),
    RidgeClassifier(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), "passthrough", LogisticRegression()),
    make_pipeline(StandardScaler(), MLPClassifier((3,), random_state=0, max_iter=60)),
    make_pipeline(StandardScaler(), MLPClassifier((2,), activation="identity", random_state=0, max_iter=60)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(getattr(model, "steps", [(0, model)])[-1][1]).__name__)
def test_what_is_proved_is_what_the_model_does(model: Any) -> None:
    model.fit(FRAME, HIRED)
    prop = "P[prediction == 1 | sex == 0] / P[prediction == 1 | sex == 1] >= 0.99"
    verdict = iso.check(prop, model, WORLD, seed=1, method="exact")
    assert verdict.proved
    for leaf, group in zip(verdict.leaves, (0, 1), strict=True):
        rows = FRAME[FRAME.sex == group]
        drawn = float(np.mean(model.predict(rows)))
        error = 5 * np.sqrt(drawn * (1 - drawn) / len(rows))
        assert leaf.low - error <= drawn <= leaf.high + error
        assert leaf.high - leaf.low < 1e-5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [LogisticRegression(max_iter=500), DecisionTreeClassifier(max_depth=3), MLPClassifier((2,), max_iter=30)]
)
def test_of_several_classes_the_largest_is_predicted(model: Any) -> None:
    model = make_pipeline(StandardScaler(), model).fit(FRAME, THREE)
    for label in (0, 1, 2):
        verdict = iso.check(f"P[prediction == {label}] >= 0.5", model, WORLD, seed=1, method="exact")
        drawn = float(np.mean(model.predict(FRAME) == label))
        assert verdict.leaves[0].estimate == pytest.approx(drawn, abs=5 * np.sqrt(0.25 / DRAWN))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [LinearRegression(), DecisionTreeRegressor(max_depth=3), MLPRegressor(hidden_layer_sizes=(2,), max_iter=30)],
)
def test_numbers_are_predicted_too(model: Any) -> None:
    model = make_pipeline(StandardScaler(), model).fit(FRAME, FRAME.skill)
    verdict = iso.check("P[prediction > 50 | sex == 0] >= 0.5", model, WORLD, seed=1, method="exact")
    drawn = float(np.mean(model.predict(FRAME[FRAME.sex == 0]) > 50))
    assert verdict.leaves[0].estimate == pytest.approx(drawn, abs=0.04)


def test_a_threshold_lies_where_numbers_of_32_bits_are_rounded() -> None:
    frame = pd.DataFrame({"x": np.asarray([0.1, 0.3], dtype=float)})
    model = DecisionTreeClassifier().fit(frame, [0, 1])
    edge = np.float32(model.tree_.threshold[0])
    world = iso.Causal({"x": "step([(0, 1, 1)])"})
    verdict = iso.check("P[prediction == 1] >= 0.5", model, world, seed=1, method="exact")
    assert verdict.leaves[0].estimate == pytest.approx(1 - float(edge), abs=2e-8)
    above = pd.DataFrame({"x": [float(np.nextafter(edge, np.float32(1))), float(edge)]})
    assert model.predict(above).tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (GradientBoostingClassifier(n_estimators=2), "GradientBoostingClassifier cannot be read"),
        (make_pipeline(PolynomialFeatures(2), LogisticRegression()), "PolynomialFeatures cannot be read"),
        (MLPClassifier((2,), activation="tanh", max_iter=5), "is not piecewise linear"),
    ],
)
def test_what_cannot_be_read_is_sampled(model: Any, reason: str) -> None:
    model.fit(FRAME, HIRED)
    verdict = iso.check("P[prediction == 1] >= 0.001", model, WORLD, seed=1)
    assert verdict.answer in {"holds", "violated"}
    assert not verdict.proved
    assert any(reason in remark for remark in verdict.remarks)


def test_a_function_and_a_model_without_names_are_sampled() -> None:
    verdict = iso.check("P[prediction == 1] >= 0.2", lambda table: np.asarray(table["skill"]) > 50, WORLD, seed=1)
    assert not verdict.proved
    unnamed = LogisticRegression().fit(FRAME.to_numpy(), HIRED)
    verdict = iso.check("P[prediction == 1] >= 0.2", unnamed, WORLD, seed=1)
    assert any("features=[...]" in remark for remark in verdict.remarks)
    assert iso.check("P[prediction == 1] >= 0.2", unnamed, WORLD, seed=1, features=["sex", "skill", "age"]).proved


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomForestClassifier(50, max_depth=6, random_state=0), "a forest of"),
        (make_pipeline(StandardScaler(), MLPClassifier((40,), max_iter=5)), "a network of 40 hidden units"),
    ],
)
def test_what_is_bound_to_have_too_many_ways_is_sampled_at_once(model: Any, reason: str) -> None:
    model.fit(FRAME[:2000], HIRED[:2000])
    verdict = iso.check("P[prediction == 1] >= 0.01", model, WORLD, seed=1)
    assert verdict.answer in {"holds", "violated"}
    assert any(reason in remark for remark in verdict.remarks)
    with pytest.raises(iso.errors.UsageError, match=reason):
        iso.check("P[prediction == 1] >= 0.01", model, WORLD, seed=1, method="exact")


def test_a_torch_network_is_read() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    with torch.no_grad():
        network[0].weight *= 0.05
    model = torch_model(network, features=["sex", "skill", "age"], output="logits")
    verdict = iso.check("P[prediction == 1 | sex == 0] >= 0.5", model, WORLD, seed=1, method="exact")
    given = torch.tensor(FRAME[FRAME.sex == 0].to_numpy(), dtype=torch.float32)
    drawn = float((network(given) > 0).float().mean())
    assert verdict.leaves[0].estimate == pytest.approx(drawn, abs=0.05)

"""What asking through Isonomia adds to a model's own time, for batches of 10,000 rows and 50 columns.

    python -m benchmarks.overhead [--json benchmarks/results/overhead.json] [--rounds 15]

Each model is called directly with a pandas frame, as its own documentation does it, and then through ``ask``, which
chooses the columns, protects the population from a model that writes into its batch, converts, and checks the answer.
*Cut* is what taking the batch out of a table of 100,000 rows costs besides. Processor time is measured, direct and
asked in turn, and the least of all rounds is compared: other work on the machine is nobody's overhead. Every library
has one thread, since threads that wait for each other spend processor time too.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from isonomia.models import Model, adapt, ask
from isonomia.populations import Table

ROWS, COLUMNS = 10_000, 50


def frame_of(rows: int) -> pd.DataFrame:
    """Numbers, as a table of people has them."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(rows, COLUMNS)), columns=[f"feature_{i}" for i in range(COLUMNS)])


def ten_milliseconds(batch: Any) -> Any:
    """A callable that computes for about ten milliseconds."""
    values = np.asarray(batch, dtype=float)
    for _ in range(10):
        values = np.tanh(values)
    return values.sum(axis=1) > 0


def one_millisecond(batch: Any) -> Any:
    """A callable that is hardly there."""
    return batch["feature_0"].to_numpy() > 0


def subjects(train: pd.DataFrame) -> dict[str, tuple[Callable[[pd.DataFrame], Any], Model]]:
    """Each model as a direct call and as Isonomia asks it."""
    label = (train["feature_0"] + train["feature_1"] > 0).to_numpy()
    forest = RandomForestClassifier(50, max_depth=8, random_state=0, n_jobs=1).fit(train, label)
    logistic = LogisticRegression().fit(train, label)
    found: dict[str, tuple[Callable[[pd.DataFrame], Any], Model]] = {
        "scikit-learn forest, 50 trees": (forest.predict_proba, adapt(forest)),
        "scikit-learn logistic regression": (logistic.predict_proba, adapt(logistic)),
        "callable, about 10 ms": (ten_milliseconds, adapt(ten_milliseconds)),
        "callable, below 1 ms": (one_millisecond, adapt(one_millisecond)),
    }
    for add in (_onnx, _xgboost, _lightgbm, _torch):
        try:
            found |= add(train, label, forest)
        except ImportError as error:
            print(f"left out: {error}")
    return found


def _onnx(train: pd.DataFrame, label: Any, forest: Any) -> dict[str, Any]:  # noqa: ARG001
    from skl2onnx import to_onnx

    from isonomia.models.onnx import open_onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = to_onnx(forest, train.to_numpy(np.float32)[:1], options={id(forest): {"zipmap": False}})
    model = open_onnx(made.SerializeToString(), threads=1)
    session = model.session.content  # the same session, so that its threads are the same
    return {
        "ONNX forest, 50 trees": (
            lambda frame: session.run(["probabilities"], {"X": frame.to_numpy(np.float32)}),
            model,
        ),
    }


def _xgboost(train: pd.DataFrame, label: Any, forest: Any) -> dict[str, Any]:  # noqa: ARG001
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=200, max_depth=6, n_jobs=1).fit(train, label)
    return {"XGBoost, 200 trees": (model.predict_proba, adapt(model))}


def _lightgbm(train: pd.DataFrame, label: Any, forest: Any) -> dict[str, Any]:  # noqa: ARG001
    import lightgbm

    model = lightgbm.LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1).fit(train, label)
    return {"LightGBM, 200 trees": (model.predict_proba, adapt(model))}


def _torch(train: pd.DataFrame, label: Any, forest: Any) -> dict[str, Any]:  # noqa: ARG001
    import torch

    torch.set_num_threads(1)
    net = torch.nn.Sequential(
        torch.nn.Linear(COLUMNS, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 2),
    ).eval()

    def direct(frame: pd.DataFrame) -> Any:
        with torch.inference_mode():
            return net(torch.tensor(frame.to_numpy(np.float32))).numpy()

    return {"PyTorch, 3 layers of 256": (direct, adapt(net))}


def seconds(work: Callable[[], Any]) -> float:
    """How much processor time something takes, once."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(direct: Callable[[pd.DataFrame], Any], model: Model, table: Table, rounds: int) -> dict[str, float]:
    """The least milliseconds of the direct call, of asking, and of cutting the batch."""
    batch = table.slice(0, ROWS)
    frame = batch.native
    scores = not model.name.endswith(("milliseconds", "millisecond"))
    rows: list[tuple[float, float, float]] = []
    for number in range(rounds + 2):  # two rounds to warm up
        indices = np.random.default_rng(number).permutation(table.rows)[:ROWS]
        rows.append(
            (
                seconds(lambda: direct(frame)),
                seconds(lambda: ask(model, batch, scores, not scores)),
                seconds(lambda: table.take(indices)),  # noqa: B023  (called at once)
            )
        )
    own, asked, cut = (1000 * min(column) for column in zip(*rows[2:], strict=True))
    return {"own_ms": own, "asked_ms": asked, "added": asked / own - 1, "cut_ms": cut}


def main() -> None:
    """Measure, print a table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    table = Table.of(frame_of(100_000))
    results = []
    for name, (direct, model) in subjects(frame_of(2_000)).items():
        with threadpool_limits(1):
            found = measured(direct, model, table, arguments.rounds)
        results.append({"model": name, **found})
        print(
            f"{name:34s} own {found['own_ms']:7.2f} ms   asked {found['asked_ms']:7.2f} ms   "
            f"added {100 * found['added']:+6.1f}%   cut {found['cut_ms']:5.2f} ms",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

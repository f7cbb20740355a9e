"""The models and inputs of the k-safety paper, read from arrays: a tree and a small network for each dataset."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(os.environ.get("ISONOMIA_DATA", Path(__file__).resolve().parents[1] / "../shared/data")) / "nomos"

COMPAS = [
    "age",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "days_b_screening_arrest",
    "c_days_from_compas",
    "is_recid",
    "num_r_cases",
    "r_days_from_arrest",
    "is_violent_recid",
    "num_vr_cases",
    "v_decile_score",
    "sex_Female",
    "sex_Male",
    "race_African-American",
    "race_Asian",
    "race_Caucasian",
    "race_Hispanic",
    "race_Native_American",
    "race_Other",
    "c_charge_degree_F",
    "c_charge_degree_M",
    "c_charge_degree_O",
    "r_charge_degree_F",
    "r_charge_degree_M",
    "r_charge_degree_O",
    "vr_charge_degree_F1",
    "vr_charge_degree_F2",
    "vr_charge_degree_F3",
    "vr_charge_degree_F5",
    "vr_charge_degree_F6",
    "vr_charge_degree_F7",
    "vr_charge_degree_M1",
    "vr_charge_degree_M2",
    "vr_charge_degree_MO3",
]

GERMAN_NUMBERS = ["duration_m", "amount", "instl_rate", "resdnc_since", "age", "nm_credits", "nm_people_liable"]
GERMAN_GROUPS = {
    "st_check_acc": "A11 A12 A13 A14",
    "crdt_hist": "A30 A31 A32 A33 A34",
    "purpose": "A40 A41 A410 A42 A43 A44 A45 A46 A48 A49",
    "saving_acc": "A61 A62 A63 A64 A65",
    "empl_since": "A71 A72 A73 A74 A75",
    "personal_st": "A91 A92 A93 A94",
    "other_debt": "A101 A102 A103",
    "property": "A121 A122 A123 A124",
    "other_instl": "A141 A142 A143",
    "housing": "A151 A152 A153",
    "job": "A171 A172 A173 A174",
    "tel": "A191 A192",
    "forgn_worker": "A201 A202",
}
GERMAN_COLUMNS = {group: [f"{group}_{code}" for code in codes.split()] for group, codes in GERMAN_GROUPS.items()}
GERMAN = [*GERMAN_NUMBERS, *(name for columns in GERMAN_COLUMNS.values() for name in columns)]

Predict = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class Subject:
    """One dataset: its inputs, the names of their columns, and what is asked."""

    name: str
    inputs: NDArray[np.float32]
    columns: list[str]
    models: dict[str, Predict]


def load(name: str) -> Subject:
    """Read one dataset, and check the reading against the predictions that come with it."""
    with np.load(FOLDER / f"{name}.npz") as stored:
        arrays = {key: stored[key] for key in stored.files}
    # COMPAS class indices 0, 1, 2 mean risk 3 (high), 0 (low), 1 (medium); GermanCredit's 0 accepts and 1 declines.
    meaning = np.array([3, 0, 1]) if name == "compas" else np.array([0, 1])
    models = {"dt": _tree(arrays, meaning), "nn": _network(arrays, meaning)}
    for short, long in (("dt", "tree"), ("nn", "nn")):
        agreed = models[short](arrays["inputs"]) == meaning[arrays[f"{long}_prediction"].astype(int)]
        assert agreed.all(), f"{long} of {name} was read wrongly: {agreed.mean():.4f} agree"
    return Subject(name, arrays["inputs"], COMPAS if name == "compas" else GERMAN, models)


def _network(arrays: dict[str, NDArray[Any]], meaning: NDArray[Any]) -> Predict:
    depth = sum(key.endswith("_kernel") for key in arrays)
    layers = [(arrays[f"nn_L{i}_kernel"], arrays[f"nn_L{i}_bias"]) for i in range(depth)]

    def network(rows: NDArray[Any]) -> NDArray[Any]:
        hidden = np.asarray(rows, dtype=np.float32)
        for number, (kernel, bias) in enumerate(layers):
            hidden = hidden @ kernel + bias
            if number < depth - 1:
                hidden = np.maximum(hidden, 0)
        return meaning[hidden.argmax(axis=1)]

    return network


def _tree(arrays: dict[str, NDArray[Any]], meaning: NDArray[Any]) -> Predict:
    left, right, feature, threshold, value = (
        arrays[f"tree_{part}"] for part in ("left", "right", "feature", "threshold", "value")
    )
    # Trained on one-hot labels: each output is a yes/no answer of its own, and the first yes is the class.
    classes = (value[:, :, 1] > value[:, :, 0]).argmax(axis=1) if value.ndim == 3 else value.argmax(axis=1)

    def tree(rows: NDArray[Any]) -> NDArray[Any]:
        given = np.asarray(rows, dtype=np.float32)
        node, every = np.zeros(len(given), dtype=int), np.arange(len(given))
        while (inner := left[node] >= 0).any():
            below = given[every, np.maximum(feature[node], 0)] <= threshold[node]
            node = np.where(inner, np.where(below, left[node], right[node]), node)
        return meaning[classes[node]]

    return tree

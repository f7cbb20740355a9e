"""Run by a Python that has Giskard: a relation between runs as its metamorphic test, and the time that takes.

    PEERS_PYTHON benchmarks/peers/giskard_relation.py JOB RESULT

JOB is JSON: the ``columns`` of the people, the ``rises`` of their priors, and which ``model``. RESULT has the processor
seconds of the test, and in how many cases the class fell.
"""

import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["GSK_DISABLE_ANALYTICS"] = "True"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script has only its own folder there

import giskard
import numpy as np
import pandas as pd
from giskard.testing import test_metamorphic_decreasing

from benchmarks.safety_models import MODELS


def main() -> None:
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    people, rises = pd.DataFrame(job["columns"]), iter(job["rises"])

    def probabilities(table: Any) -> Any:
        high = MODELS[job["model"]](table).astype(float)
        return np.column_stack([1 - high, high])

    @giskard.transformation_function
    def more_priors(row: pd.Series) -> pd.Series:  # Giskard reads these annotations, so they cannot be text
        row["priors"] += next(rises)
        return row

    labels = ["low", "high"]
    names = list(people.columns)
    model = giskard.Model(probabilities, "classification", classification_labels=labels, feature_names=names)
    table = giskard.Dataset(people, target=None, cat_columns=[])
    began = time.process_time()
    test = test_metamorphic_decreasing(model, table, more_priors, classification_label="high")
    share = test.execute().metric
    seconds = time.process_time() - began
    Path(sys.argv[2]).write_text(json.dumps({"seconds": seconds, "fell": round(share * len(people))}), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The people that every model of the contract is asked about, as every kind of table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

N = 120
RNG = np.random.default_rng(7)
COLUMNS = {
    "sex": RNG.choice(["F", "M"], N).astype(object),
    "debt": RNG.normal(size=N),
    "age": RNG.integers(18, 80, N),
}
FRAME = pd.DataFrame(COLUMNS)
NUMBERS = FRAME[["age", "debt"]]
LABELS = np.where(COLUMNS["debt"] + RNG.normal(size=N) > 0, "good", "bad")
CODED = (LABELS == "good").astype(int)
FEATURES = ["age", "debt"]
TABLES = {
    "pandas": lambda: FRAME.set_index(np.arange(N)[::-1]),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "columns": lambda: dict(COLUMNS),
    "rows": lambda: FRAME.to_dict("records"),
}

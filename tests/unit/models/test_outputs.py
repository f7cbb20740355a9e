from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from isonomia.models.checked import array_from, score_from


@pytest.mark.parametrize(
    "raw",
    [
        [1, 0],
        (1, 0),
        np.array([1, 0]),
        np.array([[1], [0]]),
        [[1], [0]],
        pd.Series([1, 0], index=[5, 6]),
        pd.DataFrame({"p": [1, 0]}),
        pl.Series([1, 0]),
        pl.DataFrame({"p": [1, 0]}),
    ],
)
def test_every_form_of_predictions_is_one_flat_array(raw):
    assert array_from(raw).tolist() == [1, 0]


def test_text_predictions_are_objects():
    assert array_from(np.array(["yes", "no"])).dtype == object


def test_wider_output_keeps_its_shape():
    assert array_from([[0.1, 0.9], [0.5, 0.5]]).shape == (2, 2)
    assert array_from(3).shape == ()


def test_only_floating_point_numbers_are_scores():
    assert score_from(np.array([0.5], dtype=np.float32)).dtype == np.float64
    assert score_from(np.array([1])) is None

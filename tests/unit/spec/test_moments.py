import numpy as np
import pytest

from isonomia.spec.columns import moment


@pytest.mark.parametrize("text", ["2020", "2020-02", "2020-02-29", "2020-02-29T12:30", "2020-02-29 12:30:59.5"])
def test_iso_text_is_a_moment(text):
    assert moment(text) == np.datetime64(text)


@pytest.mark.parametrize("text", ["soon", "today", "NaT", "2021-02-29", "2020-1-1", "2020-01-01T00:00Z", "20200101"])
def test_anything_else_is_none(text):
    assert moment(text) is None

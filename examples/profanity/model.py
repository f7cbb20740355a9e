"""The classifier of the package alt-profanity-check, as it comes from PyPI: 1 is offensive, 0 is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def offensive(texts: Sequence[str]) -> NDArray[np.intp]:
    """What the package says about each text."""
    from profanity_check import predict  # type: ignore[import-not-found]

    return np.asarray(predict([" ".join(text.split()) for text in texts]), dtype=np.intp)

"""The language identifier of the package py3langid, as it comes from PyPI: the code of a language for each text."""

from __future__ import annotations

from collections.abc import Sequence


def language(texts: Sequence[str]) -> list[str]:
    """What the package says about each text."""
    from py3langid import classify  # type: ignore[import-not-found]

    return [classify(text)[0] for text in texts]

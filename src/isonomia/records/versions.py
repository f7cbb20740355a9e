"""What was computed with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from isonomia.version import __version__

__all__ = ["versions"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow")


def versions() -> dict[str, str]:
    """The versions of Isonomia, Python, and those packages that are installed."""
    found = {"isonomia": __version__, "python": platform.python_version(), "system": platform.system()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

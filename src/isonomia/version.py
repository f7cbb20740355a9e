"""The version of Isonomia."""

from __future__ import annotations

__version__ = "0.2.0.dev0"
"""The version, as text; verdicts and records state it."""

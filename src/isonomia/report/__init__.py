"""What is shown: records rendered for people. Nothing is computed here that a record does not hold."""

from isonomia.report.live import LiveProgress
from isonomia.report.terminal import show

__all__ = ["LiveProgress", "show"]

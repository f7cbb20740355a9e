"""What is shown: records rendered for people. Nothing is computed here that a record does not hold."""

import isonomia.audits.registry  # noqa: F401  (registers what every verdict shows)
from isonomia.report.live import LiveProgress
from isonomia.report.terminal import show

__all__ = ["LiveProgress", "show"]

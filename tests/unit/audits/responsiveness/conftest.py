"""Let these tests import how journals are cut, which they share with the tests of k-safety."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "ksafety"))

"""Let these tests import the cases of the contract."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "contracts"))

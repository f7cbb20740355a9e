"""Let the tests of the HTTP model import the loopback service that the contracts have."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "contracts"))

"""Let the property tests import the oracle beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

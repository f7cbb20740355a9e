"""Let these tests import the specifications beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

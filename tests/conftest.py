"""What all tests have in common.

One core for each worker, few searches for garbage, examples of Hypothesis that are the same every time, no word of what
the user allowed, and the module beside this one.
"""

import gc
import os
import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

gc.disable()  # while thousands of tests are collected, of which nothing becomes garbage

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # Where each worker starts a thread for every core, they wait for each other. The variables are read when NumPy and
    # the like are imported, which is after this.
    os.environ.setdefault(_library, "1")

sys.path.insert(0, str(Path(__file__).parent))

# What a test lets Isonomia remember is nobody's permission, and what the user remembered is none of a test's.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="isonomia-state-")

# How long it takes to make up examples is a matter of what else the machine does.
settings.register_profile("repeatable", derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Thousands of tests are a million objects that stay: without this every full collection walks through them.

    What can be garbage in a cycle is looked for after 50,000 new objects: a tenth of the suite's time went into looking
    after every 700, which is Python's own choice.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()

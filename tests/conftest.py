"""What all tests have in common: one core for each worker, and examples of Hypothesis that are the same every time."""

import os

from hypothesis import settings

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # Where each worker starts a thread for every core, they wait for each other. The variables are read when NumPy and
    # the like are imported, which is after this.
    os.environ.setdefault(_library, "1")

settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

"""What the figures were measured on: the machine, and the versions of what takes part."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.running import peer_versions

__all__ = ["facts"]

OURS = (
    "isonomia",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "hypothesis",
    "onnxruntime",
    "xgboost-cpu",
    "lightgbm",
    "torch",
)
PEERS = ("reachml", "cplex", "pyscipopt", "fairlearn", "aif360", "vfairness", "fairaudit", "giskard", "numpy", "pandas")


def facts(pythons: str | None) -> dict[str, Any]:
    """Cores, memory, load, system, and versions here and in the peers' Pythons."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": [round(one, 2) for one in os.getloadavg()],
        "system": f"{platform.system()} {platform.machine()}",
        "versions": peer_versions(sys.executable, OURS),
        "peers": peer_versions(pythons, PEERS),
    }


def _processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())

"""Streams that go side by side in the benchmark of a watch give the alerts that the library gives one by one."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.watch import WORLDS, World


@pytest.mark.parametrize("world", WORLDS, ids=[world.name for world in WORLDS])
def test_alerts_side_by_side_are_those_of_the_library(world: World) -> None:
    streams = [world.draw(np.random.default_rng([3, k]), 1_000) for k in range(3)]
    thresholds = [[np.log(3.0), np.log(10.0)], [np.log(100.0), np.log(1_000.0)]]
    found = world.alerts(streams, thresholds)
    alone = [
        [
            [world.alert(*stream, run_length=run_length, enough=each) or 0 for each in some]
            for run_length, some in zip((False, True), thresholds, strict=True)
        ]
        for stream in streams
    ]
    assert found.tolist() == alone
    assert found.any()

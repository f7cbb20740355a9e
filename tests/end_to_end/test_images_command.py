"""``isonomia check`` with images that an import offers, as a person would run it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from warm_start import run_command

SPECIFICATION = """import shades;
input x1;
var x2 := brightness(x1, randInt(0, 10));
var v1 := label(x1);
output d1;
output d2;
{
    d1 = shades.predict(x1)
    d2 = shades.predict(x2)
}
ensures d2==v1 ==> d1==v1;
"""
MODULE = """
import numpy as np
from isonomia.populations.domains import Images

domain = Images(np.stack([np.full((4, 4), level, dtype=np.uint8) for level in (50, 95, 200)]), [0, 1, 1])

def bright(images):
    return (images.mean(axis=(1, 2)) > 100).astype(int)
"""


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    options = ["--model", "shades:bright", "--allow-code", "--keep", "found.sqlite", "--seed", "1"]
    return run_command(folder, "check", "bright.nom", *options)


def test_images_are_audited_and_their_counterexamples_kept(tmp_path: Path) -> None:
    (tmp_path / "bright.nom").write_text(SPECIFICATION, encoding="utf-8")
    (tmp_path / "shades.py").write_text(MODULE, encoding="utf-8")
    first = run(tmp_path)
    assert first.returncode == 1, first.stdout + first.stderr
    for words in ("every case was tried", "x1 is image 1 (4 x 4)", "16 of 16 differ, by 6 at most", "d1 = 0"):
        assert words in first.stdout
    second = run(tmp_path)
    assert second.returncode == 1, second.stdout + second.stderr
    assert "1 of 1 known counterexample still violates it" in second.stdout

"""Makes the pictures of the documentation from what the program really prints: ``python docs/make_pictures.py``."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
from rich.console import Console

import isonomia as iso
from isonomia.cli.demo import DELTA, PROPERTIES
from isonomia.cli.hiring import FEATURES, applicants, train
from isonomia.report import show


def main() -> None:
    """Record two of the demonstration's verdicts as an SVG."""
    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=True, highlight=False)
    model = train(np.random.default_rng([1, 0]))
    for name in ("four-fifths rule", "qualified women and men"):
        prop = iso.parse(PROPERTIES[name]).named(name)
        verdict = iso.check(prop, model, iso.Generator(applicants), delta=DELTA, seed=1, features=list(FEATURES))
        show(verdict, console, prop.explain())
    target = Path(__file__).parent / "images" / "demo.svg"
    target.write_text(_without_fonts(console.export_svg(title="isonomia demo")), encoding="utf-8")


def _without_fonts(svg: str) -> str:
    """Take the reader's own monospaced font: a picture must not fetch anything from elsewhere."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!-- Generated.*?-->", "", svg)
    return svg.replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    main()

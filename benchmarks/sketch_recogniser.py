"""A recogniser of animals in sketches, trained on people's drawings.

Source of data: Quick, Draw! drawings, 25 of each of 344 categories, looked for in ``ISONOMIA_DATA/sketches`` and never
copied. Of each category the first 20 train a support vector machine and the last 5 are held out; categories can be left
out of the training, to see how the recogniser treats what it never saw. A drawing becomes 238 numbers that do not
depend on its size, its place or how densely its points lie: where there is ink and in what direction it runs, the path
of the pen in order, and how the ink is spread over strokes.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.sketch_decoder import DRAWS, ENDS, LIFTS, Sketches

Floats = NDArray[np.float64]

ARCHIVE = "quickdraw_345cat_samples_ndjson.tar.xz"
TRAINING = 20
ANIMALS = frozenset(
    """
    ant, bat, bear, bee, bird, butterfly, camel, cat, cow, crab, crocodile, dog, dolphin, duck, elephant, fish,
    flamingo, frog, giraffe, hedgehog, horse, kangaroo, lion, lobster, monkey, mosquito, mouse, octopus, owl, panda,
    parrot, penguin, pig, rabbit, raccoon, rhinoceros, scorpion, sea turtle, shark, sheep, snail, snake, spider,
    squirrel, swan, tiger, whale, zebra
    """.strip()
    .replace("\n    ", " ")
    .split(", ")
)

SPOTS = 96
"""Evenly spaced places along the ink, at which a drawing is looked at."""
EVERY = 6
GRID, BLUR, DIRECTIONS = 6, 0.12, 4
LENGTHS = np.asarray([0.0, 0.03, 0.08, 0.165, 0.3, 0.55, 1.0, 1.82, np.inf])
"""Strokes are counted by how long they are, as a share of the drawing's size."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A path of the pen.

    Attributes
    ----------
    points
        Of shape (points, 2); y grows downwards.
    pens
        For each point: 0 where a line goes on to the next one, 1 where the pen is lifted.
    """

    points: Floats
    pens: NDArray[np.int8]

    @classmethod
    def of_strokes(cls, strokes: Sequence[Sequence[Sequence[float]]]) -> Drawing:
        """A drawing as Quick, Draw! publishes it: for each stroke the x and the y of its points."""
        points = np.concatenate([np.asarray(stroke, dtype=float).T for stroke in strokes])
        ends = np.cumsum([len(stroke[0]) for stroke in strokes]) - 1
        pens = np.full(len(points), DRAWS, np.int8)
        pens[ends] = LIFTS
        return cls(points, pens)

    @classmethod
    def of_sketches(cls, sketches: Sketches) -> list[Drawing]:
        """Sketches of a decoder, each of which begins with the pen down at the origin."""
        found = []
        for moves, pens in zip(sketches.moves, sketches.pens, strict=True):
            going = pens != ENDS
            points = np.concatenate([np.zeros((1, 2)), np.cumsum(moves[going], axis=0, dtype=float)])
            found.append(cls(points, np.concatenate([[DRAWS], pens[going]]).astype(np.int8)))
        return found


def features(drawing: Drawing) -> Floats:
    """What the recogniser sees of a drawing; all zero where there is no ink."""
    points, sides = _framed(drawing.points)
    steps = np.diff(points, axis=0)
    ink = np.where(drawing.pens[:-1] == DRAWS, np.hypot(*steps.T), 0.0)
    along = np.concatenate([[0.0], np.cumsum(ink)])
    if along[-1] == 0:
        return np.zeros(DIRECTIONS * GRID**2 + 5 * (SPOTS // EVERY) + 6 + len(LENGTHS) - 1)
    at = (np.arange(SPOTS) + 0.5) / SPOTS * along[-1]
    lines = np.searchsorted(along, at, side="right") - 1
    spots = points[lines] + ((at - along[lines]) / ink[lines])[:, None] * steps[lines]
    angles = np.arctan2(steps[lines, 1], steps[lines, 0])
    stroke = np.concatenate([[0], np.cumsum(drawing.pens[:-1] == LIFTS)])
    order = stroke[lines] / (stroke[-1] + 1)
    return np.concatenate(
        [
            _maps(spots, angles, along[-1]),
            _path(spots, angles, order),
            _habits(angles, along[-1], sides, stroke[-1] + 1),
            np.sqrt(np.histogram(np.bincount(stroke[:-1], weights=ink), LENGTHS)[0]),
        ]
    )


def _framed(points: Floats) -> tuple[Floats, Floats]:
    """Moved and scaled into the unit square, with the sides of what it fills."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float((high - low).max()), 1e-9)
    return (points - (low + high) / 2) / size + 0.5, (high - low) / size


def _maps(spots: Floats, angles: Floats, length: float) -> Floats:
    """How much ink runs in each direction, in each part of the square."""
    centres = (np.arange(GRID) + 0.5) / GRID
    across, down = (np.exp(-(((spots[:, k, None] - centres) / BLUR) ** 2) / 2) for k in (0, 1))
    axes = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
    toward = np.maximum(0.0, np.cos(2 * (angles[:, None] - axes)))
    maps = np.einsum("si,sj,sk->ijk", down, across, toward, optimize=True).ravel()
    return np.asarray(np.sqrt(maps * length / SPOTS))


def _path(spots: Floats, angles: Floats, order: Floats) -> Floats:
    """Where the pen is, which way it goes and in which stroke, in the order of drawing."""
    some = slice(0, SPOTS, EVERY)
    return np.concatenate([spots[some].ravel(), np.cos(angles[some]), np.sin(angles[some]), order[some]])


def _habits(angles: Floats, length: float, sides: Floats, strokes: int) -> Floats:
    turns = np.diff(angles)
    return np.asarray([np.log(strokes), np.log(length), *sides, np.abs(np.sin(turns)).mean(), np.cos(turns).mean()])


@dataclass(frozen=True, slots=True, eq=False)
class Recogniser:
    """A trained recogniser, with how well it does on drawings that it was not trained on.

    Attributes
    ----------
    machine
        A scikit-learn classifier on features.
    held_out
        ``drawings``, ``accuracy``, ``area_under_curve``, ``animals_recognised`` (of the animals, the share that are
        recognised), ``others_mistaken`` (of everything else, the share taken for an animal) and ``animals`` (the share
        of animals, so that always saying no has an accuracy of one less that).
    """

    machine: Any
    held_out: dict[str, float]

    @classmethod
    def train(cls, folder: Path, unseen: frozenset[str] = frozenset()) -> Recogniser:
        """Train on people's drawings, of all categories but those that shall stay unseen; held out are all of them."""
        from sklearn.metrics import roc_auc_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC

        seen, animal, training, kept = _examples(read_drawings(folder / ARCHIVE), unseen)
        machine = make_pipeline(StandardScaler(), SVC(C=3.0, gamma=0.5 / seen.shape[1]))
        machine.fit(seen[training & kept], animal[training & kept])
        truth, score = animal[~training], machine.decision_function(seen[~training])
        answers = score > 0
        held_out = {
            "drawings": len(truth),
            "animals": truth.mean(),
            "accuracy": (answers == truth).mean(),
            "area_under_curve": roc_auc_score(truth, score),
            "animals_recognised": answers[truth].mean(),
            "others_mistaken": answers[~truth].mean(),
        }
        return cls(machine, {name: round(float(value), 4) for name, value in held_out.items()})

    def recognises(self, drawings: Sequence[Drawing]) -> NDArray[np.bool_]:
        """Whether each drawing is taken for an animal."""
        return np.asarray(self.machine.predict(np.stack([features(drawing) for drawing in drawings])), dtype=bool)

    def __call__(self, people: Mapping[str, Any]) -> NDArray[np.bool_]:
        """The recogniser as a model: what ``check`` is given."""
        return self.recognises(list(people["drawing"]))


def read_drawings(archive: Path) -> dict[str, list[Drawing]]:
    """The published drawings, by category."""
    found = {}
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith(".ndjson") and (file := files.extractfile(member)) is not None:
                rows = [json.loads(line) for line in file.read().decode().splitlines()]
                found[Path(member.name).stem] = [Drawing.of_strokes(row["drawing"]) for row in rows]
    return found


def _examples(
    drawings: Mapping[str, Sequence[Drawing]], unseen: frozenset[str]
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Features; whether it is an animal; whether it is not held out; whether its category may be seen."""
    flat = [(name, number, drawing) for name in sorted(drawings) for number, drawing in enumerate(drawings[name])]
    return (
        np.stack([features(drawing) for _, _, drawing in flat]),
        np.asarray([name in ANIMALS for name, _, _ in flat]),
        np.asarray([number < TRAINING for _, number, _ in flat]),
        np.asarray([name not in unseen for name, _, _ in flat]),
    )

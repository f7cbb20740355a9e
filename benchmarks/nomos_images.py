"""Images of the k-safety paper: blurring digits, and what else makes an image harder to read.

    python -m benchmarks.nomos_images [--tests 5000] [--seeds 10] [--json benchmarks/results/nomos_images.json]

If a blurred image is classified correctly, so should be the image itself. The network is the paper's own
(784-30-30-30-10) and the images are the 10,000 test digits of MNIST; both are looked for in ``ISONOMIA_DATA``, never
copied. Blurring makes no random choice, so every image is tried and the count is exact; then 5,000 random tests for
each of ten seeds, where the paper found 22.4 distinct violations. *As published* is what its program did: a box blur
of 3 x 3 applied to an array of shape (1, 28, 28), which averages three rows and no columns. The corrected blur is a
Gaussian of one pixel, and of three quarters of one. Noise, rotation and brightness follow.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.nomos_harder import DATA, SEEDS, TESTS, Model, Row, Subject, command, tested
from isonomia.populations.domains import Images

PUBLISHED = {"Blur": 22.4, "Blur, as published": 22.4}
CHANGES = {
    "Blur": "blur(x1)",
    "Blur, as published": "averaged_rows(x1)",
    "Blur, sigma 0.75": "blur(x1, 0.75)",
    "Noise": "noise(x1)",
    "Rotate": "rotate(x1, randInt(-15, 15))",
    "Brightness": "brightness(x1, randInt(10, 60))",
}
"""What is done to the image; the first is the paper's property."""


def digits(which: str = "t10k") -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The images and their labels: of the test set, or ``"train"``."""
    images = gzip.decompress((DATA / "mnist" / f"{which}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((DATA / "mnist" / f"{which}-labels-idx1-ubyte.gz").read_bytes())
    return np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28), np.frombuffer(labels, np.uint8, offset=8)


def network() -> Model:
    """The paper's network: ReLU between layers, the class with the largest output.

    Pixels are scaled to 0 to 1. That is not written down with the weights, but then 98.36% of the images that it was
    trained on are right, against 98.25% with pixels from 0 to 255 (test images: 96.71% and 96.79%).
    """
    with np.load(DATA / "nomos" / "mnist_nn.npz") as stored:
        layers = [(stored[f"L{number}_kernel"], stored[f"L{number}_bias"]) for number in range(4)]

    def mnist_nn(images: NDArray[Any]) -> NDArray[Any]:
        hidden = images.reshape(len(images), -1) / np.float32(255)
        for number, (kernel, bias) in enumerate(layers):
            hidden = hidden @ kernel + bias
            hidden = np.maximum(hidden, 0) if number < len(layers) - 1 else hidden
        return hidden.argmax(axis=1)

    return mnist_nn


def averaged_rows(image: NDArray[Any]) -> NDArray[np.uint8]:
    """The mean of each row and its two neighbours; beyond the first row comes the second again."""
    rows = np.pad(image.astype(float), ((1, 1), (0, 0)), mode="reflect")
    return np.rint((rows[:-2] + rows[1:-1] + rows[2:]) / 3).astype(np.uint8)


def subject() -> Subject:
    """The test images and the network, whose reading is checked by how much it gets right."""
    images, labels = digits()
    model = network()
    accuracy = float((model(images) == labels).mean())
    assert accuracy > 0.96, f"the network was read wrongly: {accuracy:.4f} of the test images are right"
    return Subject(
        "MNIST",
        Images(images, labels, functions={"averaged_rows": averaged_rows}, name="MNIST's test images"),
        "nn",
        model,
        accuracy,
    )


def rows(tests: int, seeds: int) -> Iterator[Row]:
    """Every property of images, one after the other."""
    about = subject()
    for name, change in CHANGES.items():
        yield tested(about, name, change, tests, seeds, PUBLISHED.get(name))


def run(tests: int = TESTS, seeds: int = SEEDS) -> list[Row]:
    """Every property of images; the first is the paper's."""
    return list(rows(tests, seeds))


if __name__ == "__main__":
    command(__doc__, "mnist", rows, "benchmarks/results/nomos_images.json")

"""Rates over a deep generative population: what a verdict about a recogniser of sketches costs.

    python -m benchmarks.sketches [--budget 32000] [--device cuda] [--json benchmarks/results/sketches.json]
    python -m benchmarks.sketches --budget 4000        # small, a minute of processor time

In the spirit of the Quick Draw benchmark of the VeriFair paper (its section 6.2), with other models. The populations
are two published decoders of a sketch-rnn (Ha and Eck 2017), one that draws dogs and one that draws sheep, at
temperature 1. The model is a recogniser of animals that was trained on people's drawings, among them dogs but no sheep.
Asked for is equal opportunity: is a sheep recognised as an animal nearly as often as a dog,

    P[prediction | kind == 'sheep'] / P[prediction | kind == 'dog'] >= 1 - c ?

One check is made as a user would make it. In all others, projection bets and the paper's rule read the same sketches,
in the same order, from a tape; the seconds are those that drawing and recognising these sketches took, in blocks of 500
on two threads, and those of the check itself. The recogniser is one of twelve that were tried, kept because its rates
differ; trained with sheep, and otherwise the same, it treated the two kinds alike in a trial of 1,000 sketches each.
With a device, decoder and recogniser are those of ``sketch_torch``, and only the checks at risk 1e-10 are made, live.
Data are looked for in ``ISONOMIA_DATA/sketches``, never copied.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.sketch_decoder import Decoder, Noise, decode
from benchmarks.sketch_recogniser import Drawing, Recogniser

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data")) / "sketches"
KINDS = ("dog", "sheep")
UNSEEN = frozenset({"sheep"})
TOLERANCES = (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.0)
RISKS = (1e-5, 1e-10)
METHODS = {"auto": "projection bets", "verifair": "the paper's rule"}
BLOCK, THREADS = 500, 2
Draw = Callable[[int, np.random.Generator], dict[str, Any]]


PAPER = ((0.15, 1e-5, "fair", 14_000, 301), (0.15, 1e-10, "fair", 28_000, 606))
"""The verdicts of the paper's section 6.2: ``c``, the risk, the answer, sketches and seconds."""


def claim(tolerance: float) -> str:
    """Equal opportunity up to a tolerance."""
    return f"P[prediction | kind == 'sheep'] / P[prediction | kind == 'dog'] >= {1 - tolerance:g}"


def drawn(decoder: Decoder, count: int, rng: np.random.Generator) -> list[Drawing]:
    """Sketches of one kind."""
    return Drawing.of_sketches(decode(decoder, Noise.draw(rng, count, decoder.longest)))


def stream(kind: str, decoder: Decoder) -> Draw:
    """A decoder as the draws of one group: what ``iso.Generator`` is given."""

    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        drawings = np.fromiter(drawn(decoder, n, rng), dtype=object, count=n)
        return {"kind": np.full(n, kind), "drawing": drawings}

    return draw


@dataclass
class Tape:
    """Sketches of one kind in a fixed order, with the recogniser's answers, drawn when they are first needed.

    It stands in for the decoder and the recogniser, so that every check sees the same sketches and each is drawn once.
    """

    kind: str
    decoder: Decoder
    recogniser: Recogniser
    seed: np.random.SeedSequence
    answers: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def extend(self) -> None:
        """Draw a block on every thread, and ask about it."""
        began = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(self._block, self.seed.spawn(THREADS)))
        count = BLOCK * THREADS
        self.answers = np.concatenate([self.answers, *found])
        self.seconds = np.concatenate([self.seconds, np.full(count, (time.perf_counter() - began) / count)])

    def _block(self, seed: np.random.SeedSequence) -> NDArray[np.bool_]:
        return self.recogniser.recognises(drawn(self.decoder, BLOCK, np.random.default_rng(seed)))


@dataclass
class Reader:
    """One check's way through a tape, from its beginning.

    Sketches are independent of each other, and a check without workers asks for its batches in order and for nothing
    twice; so what it reads is a sequence of fresh draws, though not made with the generator that it hands over.
    """

    tape: Tape
    place: int = 0

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        """The next sketches, each by its answer."""
        while len(self.tape.answers) < self.place + n:
            self.tape.extend()
        answers = self.tape.answers[self.place : self.place + n]
        self.place += n
        return {"kind": np.full(n, self.tape.kind), "answer": answers}

    @property
    def seconds(self) -> float:
        """How long it took to make what was read."""
        return float(self.tape.seconds[: self.place].sum())


@dataclass(frozen=True, slots=True)
class Row:
    """What one check found and cost: ``seconds`` with the sketches it read, ``own_seconds`` without."""

    tolerance: float
    delta: float
    method: str
    answer: str
    people: int
    seconds: float
    own_seconds: float


def recorded(people: dict[str, Any]) -> NDArray[np.bool_]:
    """The recogniser's answers, as the tape has them."""
    return np.asarray(people["answer"])


def checked(tapes: dict[str, Tape], tolerance: float, delta: float, method: str, budget: int) -> Row:
    """One check of the taped sketches."""
    readers = {f"kind == '{kind}'": Reader(tape) for kind, tape in tapes.items()}
    draws = {group: reader.draw for group, reader in readers.items()}
    taping, began = sum(tape.seconds.sum() for tape in tapes.values()), time.perf_counter()
    verdict = iso.check(
        claim(tolerance), recorded, iso.Generator(draws, names=("kind", "answer")),
        delta=delta, budget=budget, seed=0, method=method,
    )  # fmt: skip
    elapsed = time.perf_counter() - began
    own = elapsed - (sum(tape.seconds.sum() for tape in tapes.values()) - taping)
    making = sum(reader.seconds for reader in readers.values())
    # Before its first batch, a check draws a few sketches twice, to see whether they differ.
    assert 0 <= sum(reader.place for reader in readers.values()) - verdict.samples <= 32 * len(readers)
    return Row(tolerance, delta, METHODS[method], verdict.answer, verdict.samples, making + own, own)


def live(decoders: dict[str, Decoder], recogniser: Recogniser, budget: int) -> dict[str, Any]:
    """A check as a user makes it, in large batches, which cost far less a sketch than small ones."""
    population = iso.Generator(
        {f"kind == '{kind}'": stream(kind, decoder) for kind, decoder in decoders.items()}, names=("kind", "drawing")
    )
    began = time.perf_counter()
    verdict = iso.check(claim(0.3), recogniser, population, delta=1e-5, seed=0, growth=1.5, budget=budget)
    seconds = time.perf_counter() - began
    print(f"{verdict}\n  {seconds:.0f} s\n", flush=True)
    return {"tolerance": 0.3, "delta": 1e-5, "answer": verdict.answer, "people": verdict.samples, "seconds": seconds}


def table(tapes: dict[str, Tape], budget: int) -> list[Row]:
    """Every tolerance, risk and method, printed as it is found."""
    heads = "".join(f"   {name:<17}{'people':>7}{'seconds':>9}{'own':>6}" for name in METHODS.values())
    print(f"{'c':>5}{'risk':>8}{heads}")
    rows = []
    for tolerance in TOLERANCES:
        for delta in RISKS:
            found = [checked(tapes, tolerance, delta, method, budget) for method in METHODS]
            cells = "".join(f"   {r.answer:<17}{r.people:>7,}{r.seconds:>9.1f}{r.own_seconds:>6.2f}" for r in found)
            print(f"{tolerance:>5g}{delta:>8.0e}{cells}", flush=True)
            rows += found
    for tolerance, delta, answer, people, seconds in PAPER:
        theirs = f"{answer}, {people:,} sketches, {seconds} s on a GTX 745"
        print(f"{tolerance:>5g}{delta:>8.0e}   the paper, other decoders and classifier: {theirs}")
    return rows


def rates(tapes: dict[str, Tape]) -> dict[str, Any]:
    """What all that was drawn says: rates with standard errors, and their ratio."""
    found: dict[str, Any] = {}
    for kind, tape in tapes.items():
        share, count = float(tape.answers.mean()), len(tape.answers)
        found[kind] = {"sketches": count, "recognised": share, "error": float(np.sqrt(share * (1 - share) / count))}
        print(f"{kind}: {share:.4f} +- {found[kind]['error']:.4f} of {count:,} recognised, "
              f"{1000 * tape.seconds.mean():.1f} ms each")  # fmt: skip
        found[kind]["milliseconds"] = float(1000 * tape.seconds.mean())
    found["ratio"] = found["sheep"]["recognised"] / found["dog"]["recognised"]
    print(f"ratio {found['ratio']:.3f}")
    return found


def on_device(name: str, budget: int, path: Path) -> None:
    """Live checks at risk 1e-10, with everything in torch."""
    import torch

    from benchmarks.gpu import recogniser_for, verdicts

    device = ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    torch.set_float32_matmul_precision("high")  # TF32 on CUDA
    found = verdicts(device, recogniser_for(None, device), [c for c in TOLERANCES if c], budget, {})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"device": device, "verdicts": found}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=32_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/sketches.json"))
    parser.add_argument("--device", help="where torch draws and recognises: cuda, cpu, or auto")
    arguments = parser.parse_args()
    if not FOLDER.exists():
        sys.exit(f"the sketches are not at {FOLDER}; set ISONOMIA_DATA to the folder that has sketches/")
    if arguments.device is not None:
        on_device(arguments.device, arguments.budget, arguments.json)
        return
    began = time.perf_counter()
    with threadpool_limits(limits=1):  # a thread a block is faster than several on one product of matrices
        recogniser = Recogniser.train(FOLDER, UNSEEN)
        print(
            f"recogniser, trained in {time.perf_counter() - began:.0f} s; held out: {recogniser.held_out}\n", flush=True
        )
        decoders = {kind: Decoder.read(FOLDER / f"{kind}.gen.json.gz") for kind in KINDS}
        seeds = np.random.SeedSequence(2704).spawn(len(KINDS))
        tapes = {k: Tape(k, decoders[k], recogniser, seed) for k, seed in zip(KINDS, seeds, strict=True)}
        content: dict[str, Any] = {
            "recogniser": recogniser.held_out,
            "live": live(decoders, recogniser, arguments.budget),
        }
        content |= {"budget": arguments.budget, "checks": [asdict(row) for row in table(tapes, arguments.budget)]}
        content |= {"rates": rates(tapes)}
    content["seconds"] = time.perf_counter() - began
    print(f"{content['seconds']:.0f} s in all")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Checks on a device: ten thousand million draws of a program, and a verdict about sketches.

    python -m benchmarks.gpu [--device auto] [--draws 1e10] [--sketches 200000] [--json benchmarks/results/gpu.json]

On CUDA where there is some, else on the CPU with smaller numbers. Measured are a FairSquare program of three Gaussian
variables, checked on the boundary so that the whole budget is drawn, beside the same draws and counts written in plain
torch; and the recogniser of sketches of ``benchmarks.sketches``, with decoder and recogniser in torch, at risk 1e-10
(VeriFair took 606 s for its own on a GTX 745). Times are without start-up: each part runs once before it is measured.

The recogniser is trained here where scikit-learn is there, or read from --recogniser, which --export writes.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import os
import pstats
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import isonomia as iso
from benchmarks.sketch_decoder import Decoder
from benchmarks.sketch_torch import TorchDecoder, TorchRecogniser, save, stream

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data")) / "sketches"
KINDS = ("dog", "sheep")

PROGRAM = """
def popModel():
    ethnicity = gaussian(0, 100)
    colRank = gaussian(25, 100)
    yExp = gaussian(10, 25)
    if ethnicity > 10:
        colRank = colRank + 5
    sensitiveAttribute(ethnicity > 10)

def F():
    expRank = yExp - colRank
    if colRank <= 5:
        hire = 1
    elif expRank > -5:
        hire = 1
    else:
        hire = 0
    fairnessTarget(hire > 0.5)
"""
RATIO = "P[target | minority] / P[target | not minority] >= 0.8"


def wait(device: str) -> None:
    """Until the device has done what it was told."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def timed(work: Callable[[], Any], device: str) -> tuple[float, Any]:
    """How long something takes, and what came of it."""
    wait(device)
    began = time.perf_counter()
    found = work()
    wait(device)
    return time.perf_counter() - began, found


def part(name: str, work: Callable[[], Any]) -> Any:
    """One part, which may fail without ending the others."""
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    try:
        found = work()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        found = {"failed": traceback.format_exc().splitlines()[-1]}
    print(f"-- {name}: {time.perf_counter() - began:.1f} s", flush=True)
    return found


# ---------------------------------------------------------------------------- a program


def plain_counts(n: int, generator: torch.Generator, device: str) -> list[int]:
    """The program and the counts of its claim in plain torch."""

    def gaussian(mean: float, variance: float) -> torch.Tensor:
        return torch.empty(n, device=device).normal_(mean, variance**0.5, generator=generator)

    ethnicity, rank, years = gaussian(0, 100), gaussian(25, 100), gaussian(10, 25)
    minority = ethnicity > 10
    rank += 5 * minority
    hired = (rank <= 5) | (years - rank > -5)
    return [int(mask.sum()) for mask in (minority, minority & hired, hired)]


def normals(device: str, rows: int) -> dict[str, Any]:
    """How many normal numbers plain torch draws a second, in single and in double precision."""
    found = {}
    for dtype in (torch.float32, torch.float64):
        column, generator = torch.empty(rows, device=device, dtype=dtype), torch.Generator(device)
        column.normal_(generator=generator)
        seconds, _ = timed(lambda c=column, g=generator: [c.normal_(generator=g) for _ in range(5)], device)
        found[str(dtype)] = 5 * rows / seconds
        print(f"plain torch, {dtype}: {found[str(dtype)]:.3g} normal numbers a second in batches of {rows:,}")
    return found


def stages(device: str, sizes: list[int]) -> list[dict[str, Any]]:
    """What one batch of the program costs: drawing it, and counting it."""
    from isonomia.audits.check import new_check
    from isonomia.audits.rates.question import ask_about
    from isonomia.audits.rates.sampling import prepare
    from isonomia.engine.loop import Plan

    found = []
    for n in sizes:
        check = new_check(RATIO, None, iso.Program.of(PROGRAM, device=device), budget=n, seed=1, stop="all")
        work = prepare(check, ask_about(check.prop, check.population, None, {}, check.journal)).work
        work.measure(Plan(0, 0, n, (1.0,)))
        drawing, _ = timed(lambda w=work, k=n: w.source.batch(0, k, np.random.default_rng(1)), device)
        both, _ = timed(lambda w=work, k=n: w.measure(Plan(1, k, k, (1.0,))), device)
        generator = torch.Generator(device)
        plain, _ = timed(lambda k=n, g=generator: plain_counts(k, g, device), device)
        plain, _ = timed(lambda k=n, g=generator: plain_counts(k, g, device), device)
        found.append({"rows": n, "drawing": drawing, "counting": both - drawing, "plain": plain})
        print(
            f"a batch of {n:>13,}: drawing {1000 * drawing:8.2f} ms, counting {1000 * (both - drawing):8.2f} ms; "
            f"{n / both:.3g} people a second; all in plain torch {1000 * plain:8.2f} ms, {n / plain:.3g}",
            flush=True,
        )
        if device.startswith("cuda"):
            print(f"    memory at most {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")
    return found


def program(device: str, draws: int, precision: str = "single") -> dict[str, Any]:
    """A check that draws its whole budget."""
    population = iso.Program.of(PROGRAM, device=device, precision=precision)

    def checked(budget: int) -> Any:
        return iso.check(RATIO, population=population, budget=budget, stop="all", delta=1e-6, seed=1)

    first, _ = timed(lambda: checked(min(draws, 2**22)), device)
    print(f"start-up and a small check {first:.2f} s")
    runs = []
    for number in range(3):
        seconds, verdict = timed(lambda: checked(draws), device)
        runs.append(seconds)
        if number == 0:
            print(verdict)
        print(f"{verdict.samples:,} draws, {precision} precision: {seconds:.3f} s", flush=True)
    profile = cProfile.Profile()
    profile.runcall(checked, draws)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(14)
    print("\n".join(line for line in text.getvalue().splitlines()[4:] if line.strip()))
    return {
        "draws": draws,
        "seconds": float(np.median(runs)),
        "runs": runs,
        "start_up": first,
        "answer": verdict.answer,
    }


def plain_program(device: str, draws: int, batch: int) -> dict[str, Any]:
    """The same draws and counts in plain torch."""

    def all_of_them() -> list[Any]:
        generator = torch.Generator(device)
        return [plain_counts(batch, generator, device) for _ in range(max(draws // batch, 1))]

    plain_counts(batch, torch.Generator(device), device)
    seconds, _ = timed(all_of_them, device)
    made = batch * max(draws // batch, 1)
    print(f"{made:,} draws in plain torch: {seconds:.3f} s")
    return {"draws": made, "seconds": seconds}


# ---------------------------------------------------------------------------- sketches


def claim(tolerance: float) -> str:
    """Equal opportunity up to a tolerance."""
    return f"P[prediction | kind == 'sheep'] / P[prediction | kind == 'dog'] >= {1 - tolerance:g}"


def recogniser_for(path: Path | None, device: str) -> TorchRecogniser:
    """A recogniser from a file, or trained here."""
    if path is None:
        path = ROOT / "benchmarks" / "results" / "recogniser.npz"
        export(path)
    return TorchRecogniser.of(path, device)


def export(path: Path) -> None:
    """Train a recogniser, and keep it."""
    from benchmarks.sketch_recogniser import Recogniser

    path.parent.mkdir(parents=True, exist_ok=True)
    save(Recogniser.train(FOLDER, frozenset({"sheep"})), path)


def ways(device: str) -> dict[str, dict[str, Any]]:
    """How the decoder is run."""
    plain: dict[str, dict[str, Any]] = {"single": {"dtype": torch.float32}}
    if not device.startswith("cuda"):
        return plain
    compiled = {f"{name}, compiled": {**options, "compiled": True} for name, options in plain.items()}
    half = {"half": {"dtype": torch.float16}, "half, compiled": {"dtype": torch.float16, "compiled": True}}
    return {**plain, **compiled, **half}


def throughput(device: str, recogniser: TorchRecogniser, sizes: list[int]) -> list[dict[str, Any]]:
    """Sketches a second: drawn to the last move of the longest, drawn until they end, and recognised too."""
    decoder, found = Decoder.read(FOLDER / "dog.gen.json.gz"), []
    for name, options in ways(device).items():
        try:
            torch_decoder = TorchDecoder.of(decoder, device, **options)
            first, _ = timed(lambda d=torch_decoder: d.draw(256, torch.Generator(device)), device)
            for n in sizes:
                generator = torch.Generator(device)
                generator.manual_seed(n)
                torch_decoder.draw(n, generator)
                whole, _ = timed(lambda d=torch_decoder, k=n, g=generator: d.draw(k, g, leave=False), device)
                drawing, drawn = timed(lambda d=torch_decoder, k=n, g=generator: d.draw(k, g), device)
                people = {"moves": drawn[0], "pens": drawn[1]}
                recogniser(people)
                seeing, answers = timed(lambda p=people: recogniser(p), device)
                row = {
                    "way": name,
                    "sketches": n,
                    "moves": decoder.longest,
                    "all_moves_a_second": n / whole,
                    "drawn_a_second": n / drawing,
                    "recognised_a_second": n / (drawing + seeing),
                    "of_200_moves_a_second": n / whole * decoder.longest / 200,
                    "recognised": float(answers.float().mean()),
                    "start_up": first,
                }
                found.append(row)
                print(
                    f"{name:18} {n:>7,} at once: {row['all_moves_a_second']:>9,.0f}/s of {decoder.longest} moves "
                    f"({row['of_200_moves_a_second']:>9,.0f} of 200), {row['drawn_a_second']:>9,.0f} until they end, "
                    f"{row['recognised_a_second']:>9,.0f} with recognising; recognised {row['recognised']:.4f}; "
                    f"first call {first:.1f} s",
                    flush=True,
                )
        except Exception:
            traceback.print_exc(file=sys.stdout)
    return found


def rates(device: str, recogniser: TorchRecogniser, sketches: int) -> dict[str, Any]:
    """The shares that are recognised, in every precision: how much of a difference rounding makes."""
    found: dict[str, Any] = {}
    for name, options in ways(device).items():
        if options.get("compiled"):
            continue
        for kind in KINDS:
            decoder = TorchDecoder.of(Decoder.read(FOLDER / f"{kind}.gen.json.gz"), device, dtype=options["dtype"])
            generator = torch.Generator(device)
            generator.manual_seed(7)
            size = min(sketches, 2**15)
            yes = 0
            for _ in range(max(sketches // size, 1)):
                moves, pens = decoder.draw(size, generator)
                yes += int(recogniser({"moves": moves, "pens": pens}).sum())
            drawn = size * max(sketches // size, 1)
            share = yes / drawn
            found[f"{name} {kind}"] = {"share": share, "error": (share * (1 - share) / drawn) ** 0.5, "sketches": drawn}
            print(f"{name} {kind}: {share:.4f} +- {found[f'{name} {kind}']['error']:.4f} of {drawn:,}", flush=True)
    return found


def verdicts(
    device: str, recogniser: TorchRecogniser, tolerances: list[float], budget: int, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Checks as a user makes them."""
    decoders = {k: TorchDecoder.of(Decoder.read(FOLDER / f"{k}.gen.json.gz"), device, **options) for k in KINDS}
    largest = 2**16 if device.startswith("cuda") else 2**9
    population = iso.Generator(
        {f"kind == '{kind}'": stream(kind, decoder) for kind, decoder in decoders.items()},
        names=("kind", "moves", "pens"),
        device=device,
        largest=largest,
    )
    first, _ = timed(lambda: iso.check(claim(0.9), recogniser, population, delta=0.05, budget=1000, seed=3), device)
    print(f"start-up and a small check {first:.2f} s")
    found = []
    for tolerance in tolerances:
        seconds, verdict = timed(
            lambda c=tolerance: iso.check(claim(c), recogniser, population, delta=1e-10, budget=budget, seed=0), device
        )
        print(f"{verdict}\n  {seconds:.2f} s, {verdict.samples / seconds:,.0f} sketches a second\n", flush=True)
        found.append(
            {"tolerance": tolerance, "answer": verdict.answer, "sketches": verdict.samples, "seconds": seconds}
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--draws", type=float, help="of the program; 1e10 on CUDA, 1e7 elsewhere, unless given")
    parser.add_argument("--sketches", type=int, help="for the rates; 196608 on CUDA, 256 elsewhere, unless given")
    parser.add_argument("--recogniser", type=Path, help="a recogniser that --export wrote; else one is trained")
    parser.add_argument("--export", type=Path, help="only train a recogniser, and write it there")
    parser.add_argument(
        "--parts", nargs="+", default=["normals", "stages", "program", "throughput", "verdicts", "rates"]
    )
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/gpu.json"))
    arguments = parser.parse_args()
    if arguments.export is not None:
        export(arguments.export)
        return
    cuda = torch.cuda.is_available() and arguments.device in {"auto", "cuda"}
    device = "cuda" if cuda else "cpu" if arguments.device == "auto" else arguments.device
    torch.set_float32_matmul_precision("high")  # TF32 on CUDA; it changes nothing on the CPU
    name = torch.cuda.get_device_name() if cuda else "CPU"
    print(f"torch {torch.__version__} on {device}: {name}", flush=True)
    draws = int(arguments.draws or (1e10 if cuda else 1e7))
    sketches = arguments.sketches or (196_608 if cuda else 256)
    content: dict[str, Any] = {"device": device, "name": name, "torch": torch.__version__}
    chosen = set(arguments.parts)
    if "normals" in chosen:
        content["normals"] = part("normal numbers", lambda: normals(device, 2**28 if cuda else 2**20))
    if "stages" in chosen:
        sizes = [2**22, 2**24, 2**26, 2**27, 2**28] if cuda else [2**18, 2**20]
        content["stages"] = part("one batch of the program", lambda: stages(device, sizes))
    if "program" in chosen:
        batch = 2**27 if cuda else 2**20
        content["plain"] = part("the program in plain torch", lambda: plain_program(device, draws, batch))
        content["program"] = part("the program", lambda: program(device, draws))
        content["double"] = part("in double precision", lambda: program(device, draws // 10, "double"))
    if chosen & {"throughput", "verdicts", "rates"}:
        recogniser = part("the recogniser", lambda: recogniser_for(arguments.recogniser, device))
        if isinstance(recogniser, TorchRecogniser):
            content["recogniser"] = dict(recogniser.held_out)
            sizes = [2**12, 2**14, 2**15, 2**16] if cuda else [64]
            if "throughput" in chosen:
                content["throughput"] = part("sketches a second", lambda: throughput(device, recogniser, sizes))
            if "verdicts" in chosen:
                tolerances = [0.4, 0.3, 0.2, 0.1] if cuda else [0.6]
                budget = 1_000_000 if cuda else 3_000
                for way, options in {"single": {}, "half": {"dtype": torch.float16}}.items():
                    if way == "single" or cuda:
                        content[f"verdicts_{way}"] = part(
                            f"verdicts about sketches, {way}",
                            lambda o=options: verdicts(device, recogniser, tolerances, budget, o),
                        )
            if "rates" in chosen:
                content["rates"] = part("rates by precision", lambda: rates(device, recogniser, sketches))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    table(content)


def table(content: dict[str, Any]) -> None:
    """The figures, each on one line."""
    print(f"\n{'':=<100}\n{content['name']}, torch {content['torch']}")
    program_row, plain_row = content.get("program", {}), content.get("plain", {})
    if "seconds" in program_row:
        runs = ", ".join(f"{one:.2f}" for one in program_row["runs"])
        print(f"check of {program_row['draws']:,} draws    {program_row['seconds']:.2f} s (runs: {runs}); target 2 s")
    if "seconds" in plain_row:
        print(f"plain torch, {plain_row['draws']:,} draws    {plain_row['seconds']:.2f} s")
    found = content.get("throughput", [])
    for row in found if isinstance(found, list) else []:
        print(
            f"{row['way']:18} {row['sketches']:>7,} at once    {row['all_moves_a_second']:>9,.0f} sketches a second, "
            f"{row['of_200_moves_a_second']:>9,.0f} of 200 moves, {row['recognised_a_second']:>9,.0f} with recognising"
        )
    for way in ("single", "half"):
        rows = content.get(f"verdicts_{way}", [])
        for row in rows if isinstance(rows, list) else []:
            print(
                f"verdict at risk 1e-10, c = {row['tolerance']:g}, {way}    {row['answer']:10} "
                f"{row['sketches']:>9,} sketches    {row['seconds']:.2f} s; target 5 s"
            )


if __name__ == "__main__":
    main()

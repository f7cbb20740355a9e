"""Every benchmark: its module, how it is run, quickly and in full, and how its JSON becomes lines of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks import figures_own, figures_peers, figures_rules
from benchmarks.figure import Figure

__all__ = ["BENCHMARKS", "ELSEWHERE", "Benchmark"]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One runnable measurement.

    Attributes
    ----------
    name
        The module in ``benchmarks``, and the name for ``--only``.
    figures
        Makes lines of the table from what the program wrote as JSON.
    full, quick
        Its arguments in a full and in a quick run; ``None`` leaves it out of a quick run.
    data
        A path below ``ISONOMIA_DATA`` (or beside it) without which there is nothing to run; empty where none is needed.
    chart
        The picture that it draws, if any.
    peers
        Whether it runs peers' programs.
    """

    name: str
    figures: Callable[[Any], Iterable[Figure]]
    full: str = ""
    quick: str | None = None
    data: str = ""
    chart: str = ""
    peers: bool = False

    @property
    def command(self) -> str:
        """What measures it alone."""
        return f"python -m benchmarks.{self.name}"


BENCHMARKS = (
    Benchmark("reach_peers", figures_peers.reachable_sets, "", "--people 10 --repetitions 1", peers=True),
    Benchmark(
        "rates_peers",
        figures_peers.rates,
        "",
        "--runs 300 --resamples 500 --repetitions 1 --tables 20 --streams 10",
        chart="peeking.svg",
        peers=True,
    ),
    Benchmark("one_look", figures_own.one_look, "", "--tables 200"),
    Benchmark("safety_peers", figures_peers.relations, "", "--seeds 5 --repetitions 1", peers=True),
    Benchmark("betting_peers", figures_rules.betting, "", "--runs 10"),
    Benchmark("limit", figures_rules.limit, "", "--repetitions 10 --risks 0.05", chart="limit.svg"),
    Benchmark("fairsquare", figures_rules.programs, "", "--seeds 1", "../cases/fairsquare.json"),
    Benchmark("exact", figures_rules.exact, "", "", "../cases/fairsquare.json", peers=True),
    Benchmark("cost", figures_rules.cost, chart="cost.svg"),
    Benchmark("overlap", figures_rules.overlap),
    Benchmark("groups", figures_own.groups),
    Benchmark("sketches", figures_rules.sketches, data="sketches"),
    Benchmark("gpu", figures_own.on_device, data="sketches"),
    Benchmark("nomos", figures_own.relations_of_tables, "", "--seeds 1", "nomos"),
    Benchmark("nomos_table", figures_own.relations_of_papers, "--games 100", data="nomos"),
    Benchmark("reach", figures_own.reach),
    Benchmark("responsiveness", figures_own.responsiveness, data="german"),
    Benchmark("validation", figures_own.validation, data="german", chart="validation.svg"),
    Benchmark("recidivism", figures_own.recidivism, data="compas", chart="recidivism.svg"),
    Benchmark("ablations", figures_own.ablations, data="compas", chart="ablations.svg"),
    Benchmark("gaming", figures_own.gaming, data="twitterbot", chart="gaming.svg"),
    Benchmark("transplant", figures_own.transplant, data="liver", chart="transplant.svg"),
    Benchmark("transplant_figures", figures_own.averages, data="liver", chart="transplant_figures.svg"),
    Benchmark("principal", figures_rules.principal, "", "--repetitions 20"),
    Benchmark("principal_bounds", figures_own.bounds, "", "--tables 1000 --checked 10"),
    Benchmark("student", figures_own.student, "", "", "student"),
    Benchmark("speed", figures_own.speed, "", "--rounds 1"),
    Benchmark("overhead", figures_own.overhead),
    Benchmark("large", figures_own.census_in_files),
)
"""In the order in which they are run."""

ELSEWHERE = {
    **dict.fromkeys(("nomos_images", "nomos_sounds", "nomos_texts", "nomos_games"), "part of nomos_table"),
    "agreement": "a trial of pictures against their verdicts, which passes or fails",
    "backends": "a trial of equality over eight kinds of tables, which passes or fails",
    "budgets": "a trial of what each budget lets through, which passes or fails",
    "clusters": "error rates by the thousand of rows that belong together, which take an hour",
    "labels": "error rates by the thousand of few labels with a judge, which take half an hour",
    "latency": "error rates by the thousand where wrong answers take longer, by a simulated clock",
    "evals": "paired verdicts, judges and an agent on stored results, with counts that do not change",
    "paired_runs": "error rates by the thousand of recorded runs that are paired, which take an hour",
    "floors": "a trial of the lowest versions of dependencies, which passes or fails",
    "floor_loaders": "part of floors",
    "crash": "a trial of the store, which passes or fails",
    "growing": "a hundred thousand whole checks of growing tables, which take an hour",
    "guided": "twenty trainings of a policy, which take hours",
    "eval_peers": "error rates of evals by four programs, with what each guarantees, which is a table of its own",
    "executors": "a trial of equality and of killed workers, with times for a machine of 16 cores",
    "fuzz": "a trial of everything that is read, which passes or fails",
    "promises": "error rates by the thousand of everything that is promised, which take an hour",
    "sharper": "widths and error rates beside those of before, by the thousand, which take an hour",
    "repair": "eighty trainings and more of each model, which take an hour",
    "separated": "a trial of the time, memory and faults of readers of CSV",
    "measure": "a trial of time and memory over five million rows, with a peer",
    "watch": "simulated streams by the thousand, which take an hour",
    "watch_kills": "a trial of the command under kills, which passes or fails",
    "memory": "a trial of memory over minutes, which passes or fails",
    "mutation": "a trial of the tests, which takes hours",
    "violations": "a trial of keeping and exporting a million violations, which passes or fails",
}
"""Programs that are not in the common table, and why."""

"""Lines of the common table about speed and about the studies of the papers, beside targets and published figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figure import Figure, duration
from benchmarks.published import measured_beforehand

__all__ = [
    "ablations",
    "averages",
    "bounds",
    "census_in_files",
    "gaming",
    "groups",
    "one_look",
    "overhead",
    "reach",
    "recidivism",
    "relations_of_papers",
    "relations_of_tables",
    "responsiveness",
    "speed",
    "student",
    "transplant",
    "validation",
]


def one_look(found: dict[str, Any]) -> Iterator[Figure]:
    """Intervals of ratios and differences for one look: width, and how often they hold."""
    for row in found["widths"]:
        sizes, rates = (f"{first:g} and {second:g}" for first, second in (row["sizes"], row["rates"]))
        what = f"interval of a {row['kind']}, {sizes} people, rates {rates}: width over the asymptotic one"
        yield Figure(what, f"{row['times']:.3f}", aim="at most 1.06" if row["rates"][0] > 0.1 else "")
    for row in found["several"]:
        sizes = " and ".join(f"{n:,}" for n in row["sizes"])
        what = f"interval of a {row['kind']}, {sizes} people: width over the asymptotic one"
        yield Figure(what, f"{row['times']:.3f}, {1000 * row['seconds']:.0f} ms")
    worst = min(found["coverage"], key=lambda row: row["holds"])
    poorest = min(row["asymptotic_holds"] for row in found["coverage"])
    yield Figure(
        f"such intervals hold, at the worst of {len(found['coverage'])} pairs of sizes and rates",
        f"{worst['holds']:.1%} of {worst['tables']:,} tables",
        f"asymptotic {poorest:.0%}",
        None,
        f"at least {1 - found['delta']:.0%}",
    )


def relations_of_tables(found: dict[str, Any]) -> Iterator[Figure]:
    """The k-safety paper's properties of COMPAS, every case and 5,000 tests."""
    rows = found["rows"]
    agree = sum(row["agrees"] for row in rows)
    yield Figure("k-safety counts that equal brute force and the expected file", f"{agree} of {len(rows)}")
    lines = (("nn", "network", "small network", "5 to 20 minutes"), ("dt", "tree", "decision tree", "a few seconds"))
    for short, name, start, paper in lines:
        seconds = [row["seconds_of_tests"] for row in rows if row["model"] == short]
        mean = sum(seconds) / len(seconds)
        said = measured_beforehand(f"Nomos, 5000 tests of a {start}")
        yield Figure(
            f"5,000 tests of a property, {name}",
            duration(mean),
            f"Nomos {said}, measured beforehand" if said else "",
            _first_number(said) / mean if said else None,
            f"{paper} in the Nomos paper",
        )


def _first_number(text: str) -> float:
    return next(float(word) for word in text.split() if word.replace(".", "", 1).isdigit())


OTHER_DATA = ("SpokenDigits", "HotelReview", "LunarLander")
"""Benchmarks whose data, models or pool of states the paper did not publish."""


def relations_of_papers(found: dict[str, Any]) -> Iterator[Figure]:
    """All thirty properties of the k-safety paper."""
    for row in found["table"]:
        if row["paper"] is not None:
            other = "; other data, not comparable" if row["benchmark"] in OTHER_DATA else ""
            yield Figure(
                f"{row['benchmark']}, {row['model']}: properties violated, distinct violations of {row['tests']:,}",
                f"{row['violated']} of {row['specified']}, {row['distinct']:,.0f}, {duration(row['seconds'])} each",
                aim=f"{row['paper'][1]} of {row['paper'][0]}, {row['paper'][2]:,.0f} of 5,000 in its paper{other}",
            )


def speed(found: list[dict[str, Any]]) -> Iterator[Figure]:
    """Draws and rows, beside plain NumPy."""
    for row in found:
        plain = row.get("plain")
        said = f"plain NumPy {duration(plain)}" if plain else ""
        yield Figure(row["what"], duration(row["seconds"]), said, plain / row["seconds"] if plain else None)


def on_device(found: dict[str, Any]) -> Iterator[Figure]:
    """Draws of a program, and sketches, on a GPU or by torch on the CPU."""
    program, plain = found.get("program", {}), found.get("plain", {})
    if "seconds" in program:
        what = f"{program['draws']:,} draws of a program of three Gaussian variables, {found['name']}"
        same = plain["seconds"] * program["draws"] / plain["draws"] if "seconds" in plain else None
        said = f"plain torch {duration(same)}" if same else ""
        ratio = same / program["seconds"] if same else None
        yield Figure(what, duration(program["seconds"]), said, ratio, "target: 2 s on an H200")
    best = max(found.get("throughput", ()), key=lambda row: row["of_200_moves_a_second"], default=None)
    if best is not None:
        what = f"sketches of 200 moves a second, {best['way']}, {found['name']}"
        yield Figure(what, f"{best['of_200_moves_a_second']:,.0f}", aim="target: 100,000 on an H200")
    for row in found.get("verdicts_single", ()):
        what = f"sketches at risk 1e-10, c = {row['tolerance']:g}, {row['answer']}, {found['name']}"
        yield Figure(what, duration(row["seconds"]), aim="VeriFair's own study: 606 s on a GTX 745")


def reach(found: dict[str, Any]) -> Iterator[Figure]:
    """Reachable sets."""
    aims = {
        ("german", "every point"): "0.5 s",
        ("german", "1,000 draws each"): "2 s",
        ("mixed", "400 draws each"): "1 s",
    }
    aims |= {("8 coupled", "400 draws each"): "0.05 s", ("20 coupled", "400 draws each"): "1 s"}
    for row in found["rows"]:
        if row["rows"]:
            aim = aims.get((row["data"], row["work"]))
            what = f"{row['data']}, {row['people']:,} people: {row['work']}"
            yield Figure(what, duration(row["seconds"]), aim=f"target: below {aim}" if aim else "")


def responsiveness(found: dict[str, Any]) -> Iterator[Figure]:
    """Audits of everybody."""
    for row in found["rows"]:
        aim = "5 s" if row["data"].startswith("german") else "120 s"
        what = f"responsiveness of {row['people']:,} people, {row['data']}, {row['model']}"
        yield Figure(what, duration(row["seconds"]), aim=f"target: below {aim}")


def overhead(found: list[dict[str, Any]]) -> Iterator[Figure]:
    """What asking adds to a model's own time."""
    for row in found:
        asked, own = f"{row['asked_ms']:.1f} ms", f"direct call {row['own_ms']:.1f} ms"
        yield Figure(f"10,000 rows of {row['model']}", asked, own, row["own_ms"] / row["asked_ms"])


def census_in_files(found: list[dict[str, Any]]) -> Iterator[Figure]:
    """A census in Parquet files."""
    most = max(row["rows"] for row in found)
    for row in found:
        if row["rows"] == most:
            what = f"exact check of {row['rows'] / 1e6:g} million rows in files, model: {row['model']}"
            yield Figure(what, f"{duration(row['seconds'])}, at most {row['peak_mib']:.0f} MiB")


def bounds(found: dict[str, Any]) -> Iterator[Figure]:
    """Bounds of principal fairness, in closed form and by linear programs."""
    rows = {row["what"]: row["seconds"] / row["tables"] for row in found["rows"]}
    ours, programs = (
        rows["all bounds and the verdict, closed form"],
        rows["all bounds, linear programs with certificates"],
    )
    said = f"linear programs {duration(programs)}, as far as {found['difference']:.0e}"
    yield Figure("all bounds of principal fairness, a table", duration(ours), said, programs / ours)


def validation(found: dict[str, Any]) -> Iterator[Figure]:
    """Sampled shares against every point."""
    worst = min(row["specificity"] for row in found["rows"])
    what = f"responsive people not called fixed, least over {len(found['rows'])} settings"
    yield Figure(what, f"{worst:.2%}", aim=f"at least {1 - found['alpha']:.0%}, as the responsiveness paper promises")


def recidivism(found: dict[str, Any]) -> Iterator[Figure]:
    """Predictions that a cleared record does not change."""
    rows = [row for row in found["groups"] if row["kind"] == "clear"]
    fixed, people = sum(row["fixed"] for row in rows), sum(row["people"] for row in rows)
    yield Figure("predicted to reoffend whatever their record, Broward County", f"{fixed:,} of {people:,}")


def ablations(found: dict[str, Any]) -> Iterator[Figure]:
    """Predictions that a cleared record does not change, with something left out."""
    for row in found["rows"]:
        yield Figure(f"fixed whatever their record, without {row['dropped']}", f"{row['fixed']:,} of {row['people']:,}")


def gaming(found: dict[str, Any]) -> Iterator[Figure]:
    """Bots that pass for humans."""
    row = next(row for row in found["rows"] if row["procedure"] == "Convex")
    seen, true = row["perceived"]["test"], row["true"]["test"]
    yield Figure("gameable bots, as exact reachable sets say", f"{true:.1%}", f"a convex relaxation says {seen:.1%}")


def transplant(found: dict[str, Any]) -> Iterator[Figure]:
    """Cancer that lowers a score."""
    rows = [row for row in found["rows"] if (row["set"], row["sizes"], row["model"]) == ("small", "exactly", "need")]
    share = sum(row["violated"] * row["patients"] for row in rows) / max(sum(row["patients"] for row in rows), 1)
    yield Figure("reached points at which small tumours move the need score the wrong way", f"{share:.1%}")


def averages(found: dict[str, Any]) -> Iterator[Figure]:
    """Average scores before and after a diagnosis."""
    mean = {(row["model"], row["state"], row["ages"]): row["mean"] for row in found["averages"]}
    change = mean["benefit", "large", "50-59"] - mean["benefit", "no cancer", "50-59"]
    yield Figure("change of the score by large tumours, ages 50 to 59", f"{change:.0f} days")


def student(found: dict[str, Any]) -> Iterator[Figure]:
    """Students' grades, as the principal paper has them."""
    rows = found["rows"]
    proved = sum(row["verdict"] == "violated" for row in rows)
    yield Figure(
        f"principal unfairness proved, {len(rows)} groups of students",
        f"{proved}",
        aim="the paper has no test for samples",
    )


def groups(found: dict[str, Any]) -> Iterator[Figure]:
    """Naming groups: how often a family errs, and how long a search takes."""
    for world, rates in found["worlds"].items():
        worst = max(rates["wrongly holds"], rates["wrongly violated"])
        share = max(rates["share of wrong holds"], rates["share of wrong violated"])
        told = f"{100 * worst:.1f}% of families ever err; {100 * share:.1f}% of names are wrong"
        yield Figure(f"20 groups, {world}, at every look", told, aim=f"at most {100 * found['delta']:g}%")
    if "search" in found:
        search = found["search"]
        yield Figure(
            f"{search['subgroups']:,} subgroups of Adult searched", duration(search["seconds"]), aim="at most 30 s"
        )

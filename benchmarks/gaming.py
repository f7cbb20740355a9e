"""Can bots pass for humans? Manual, Convex and Exact procedures, as in the responsiveness paper's Table 1.

    python -m benchmarks.gaming [--draws 200] [--json benchmarks/results/gaming.json] [--chart docs/images/gaming.svg]
    python -m benchmarks.gaming --plain

A pool of models is trained, and each is asked how many of its "bot" predictions are gameable: a share of 0.05 or more
of what the account can do, by 200 uniform draws, makes it "human". A model is *robust* when at most a tenth of its bot
predictions are gameable, as the procedure sees it on the training accounts, and the procedure picks the robust model
with the best AUC on validation; where none is robust, the least gameable one, with a star:

* Manual: only features that nobody can change themselves;
* Convex: all features, and the convex relaxation of what an account can do (``benchmarks/gaming_rules.py``);
* Exact: all features, and what an account can really do.

*Perceived* is what the procedure sees of its model, *true* what the exact reachable sets say. The last lines check the
picked models with the library's own audit. With ``--plain`` only a logistic regression with scikit-learn's defaults is
asked about: by the paper's law, links given the posts, and where posts and links are drawn together. The data are found
through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.gaming_chart import chart
from benchmarks.gaming_models import FAMILIES, PROCEDURES, Classifier, matrix, pool
from benchmarks.gaming_rules import IMMUTABLE, accounts, convex, exact
from benchmarks.reach import DATA
from isonomia.populations import Table, read_table

TWITTERBOT = DATA / "twitterbot" / "twitterbot_data.csv"
Floats = NDArray[np.float64]

SHARE, ALPHA, GAMEABLE = 0.05, 0.05, 0.10
SHARES = (0.01, 0.05, 0.1, 0.2)
PARTS = ("train", "test", "valid")


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """The accounts, their split, and draws from what each can reach: ``(accounts, draws, features)``."""

    people: Mapping[str, Floats]
    columns: tuple[str, ...]
    split: Mapping[str, NDArray[np.intp]]
    drawn: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A model with its predictions, AUCs, and how many draws of each account are called human, by kind of draws."""

    model: Classifier
    bots: NDArray[np.bool_]
    auc: dict[str, float]
    human: Mapping[str, NDArray[np.int64]]
    draws: int

    def gameable(self, kind: str, rows: NDArray[np.intp], share: float = SHARE) -> float:
        """Which part of the bot predictions among some accounts has at least a share."""
        mine = rows[self.bots[rows]]
        return float((self.human[kind][mine] >= share * self.draws).mean()) if len(mine) else 0.0


def prepared(draws: int, every: int = 1) -> Study:
    """Read the accounts, split them 60:20:20, and draw from what they can reach; every model is asked about these."""
    from sklearn.model_selection import train_test_split

    people = {name: column[::every] for name, column in accounts(read_table(str(TWITTERBOT))).items()}
    labels = people["is_human"]
    train, rest = train_test_split(np.arange(len(labels)), test_size=0.4, random_state=0, stratify=labels)
    valid, test = train_test_split(rest, test_size=0.5, random_state=0, stratify=labels[rest])
    columns = tuple(name for name in people if name != "is_human")
    drawn = {}
    for kind, rules in (("exact", exact(people)), ("convex", convex(people))):
        points = rules.reach(Table.of(people)).sample(draws, np.random.default_rng(0))
        table = points.columns(columns)
        drawn[kind] = matrix({name: table.column(name) for name in columns}, columns)
    return Study(people, columns, {"train": train, "test": test, "valid": valid}, drawn)


def judged(study: Study, family: str, columns: tuple[str, ...]) -> Iterator[Judged]:
    """The models of a family that predict both kinds, each with what draws say of it."""
    from sklearn.metrics import roc_auc_score

    places = [study.columns.index(name) for name in columns]
    labels = study.people["is_human"]
    for model in pool(family, study.people, columns, study.split["train"]):
        score = model.score(study.people)
        bots = score <= 0.0
        if not 0.1 <= bots.mean() <= 0.9:
            continue  # it says the same of nearly everybody
        draws = len(study.drawn["exact"]) // len(labels)
        human = {kind: np.zeros(len(labels), dtype=np.int64) for kind in study.drawn}
        asked = np.flatnonzero(np.repeat(bots, draws))
        for kind, rows in study.drawn.items():
            human[kind][bots] = (model.rule(rows[np.ix_(asked, places)]) > 0.0).reshape(-1, draws).sum(axis=1)
        auc = {part: float(roc_auc_score(labels[rows], score[rows])) for part, rows in study.split.items()}
        yield Judged(model, bots, auc, human, draws)


def picked(study: Study, models: list[Judged], kind: str, share: float = SHARE) -> tuple[Judged, int]:
    """The robust model with the best AUC on validation, and how many are robust as this procedure sees them."""
    seen = [(item.gameable(kind, study.split["train"], share), item) for item in models]
    robust = [item for part, item in seen if part <= GAMEABLE]
    if robust:
        return max(robust, key=lambda item: item.auc["valid"]), len(robust)
    return min(seen, key=lambda pair: pair[0])[1], 0


def studied(study: Study, family: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Judged]]:
    """The rows of the table, the AUC for other thresholds, and the models that were picked."""
    everything = list(judged(study, family, study.columns))
    fixed = list(judged(study, family, IMMUTABLE))
    rows, curve, best = [], [], dict[str, Judged]()
    for procedure in PROCEDURES:
        models, kind = (fixed, "exact") if procedure == "Manual" else (everything, procedure.lower())
        for share in SHARES:
            chosen, robust = picked(study, models, kind, share)
            auc = chosen.auc["test"] if robust else None
            curve.append({"family": family, "procedure": procedure, "share": share, "auc": auc})
        chosen, robust = picked(study, models, kind)
        best[procedure] = chosen
        test = study.split["test"]
        rows.append(
            {
                "pool": {of: [item.gameable(of, test) for item in models] for of in dict.fromkeys((kind, "exact"))},
                "family": family,
                "procedure": procedure,
                "models": len(models),
                "robust": robust,
                "model": chosen.model.name,
                "auc": chosen.auc,
                "perceived": {part: chosen.gameable(kind, at) for part, at in study.split.items()},
                "true": {part: chosen.gameable("exact", at) for part, at in study.split.items()},
            }
        )
    return rows, curve, best


def plain(study: Study) -> dict[str, float]:
    """Which part of a plain model's bot predictions among the test accounts is gameable, by law."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, labels, train = matrix(study.people, study.columns), study.people["is_human"], study.split["train"]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(rows[train], labels[train])
    drawn, draws = study.drawn["exact"], len(study.drawn["exact"]) // len(labels)
    together = (
        exact(study.people, jointly=True)
        .reach(Table.of(study.people))
        .sample(draws, np.random.default_rng(0))
        .columns(study.columns)
    )
    laws = {
        "the paper's law": drawn,
        "drawn together": matrix({name: together.column(name) for name in study.columns}, study.columns),
    }
    bots = study.split["test"][model.predict(rows[study.split["test"]]) == 0]
    found = {law: model.predict(points).reshape(-1, draws)[bots].mean(axis=1) for law, points in laws.items()}
    return {law: float((shares >= SHARE).mean()) for law, shares in found.items()}


def verified(study: Study, chosen: Judged) -> dict[str, int]:
    """What the audit says of the bot predictions of a model: sequential draws, names by Holm's procedure."""
    columns = [name for name in chosen.model.columns if name in study.columns]
    claim = iso.responsiveness.gaming(exact(study.people), 1, at_most=SHARE, who="prediction == 0", most_draws=1_000)
    verdict = iso.check(claim, chosen.model, iso.Census(study.people), delta=ALPHA, seed=0, features=columns)
    return {**verdict.details["counts"], "points": verdict.samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/gaming.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/gaming.svg"))
    parser.add_argument("--plain", action="store_true", help="only a logistic regression with the usual settings")
    arguments = parser.parse_args()
    if not TWITTERBOT.exists():
        print(f"{TWITTERBOT} is not here; set ISONOMIA_DATA")
        return
    study = prepared(arguments.draws)
    if arguments.plain:
        shares = ", ".join(f"{law} {share:.1%}" for law, share in plain(study).items())
        print(f"a plain logistic regression, test accounts, gameable: {shares}")
        return
    rows, curve, checks = [], [], []
    _print_heads()
    for family in FAMILIES:
        found, more, best = studied(study, family)
        rows, curve = rows + found, curve + more
        for row in found:
            _print(row)
        seen, true = (float(np.mean(parts)) for parts in found[1]["pool"].values())
        print(f"{'':<10}all {found[1]['models']} models, test accounts: {seen:.1%} by the relaxation, {true:.1%} truly")
        if family == FAMILIES[0]:
            checks = [{"procedure": name, **verified(study, best[name])} for name in best if name != "Manual"]
    for check in checks:
        print(
            f"\nthe audit of {check['procedure']}'s model: of {check['people']} bot predictions {check['responsive']} "
            f"are named gameable,\n{check['fixed']} not, {check['undecided']} stay undecided; "
            f"{check['points'] / check['people']:.0f} points each"
        )
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"share": SHARE, "alpha": ALPHA, "draws": arguments.draws, "rows": rows, "curve": curve, "audit": checks}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    chart(rows, curve).save(str(arguments.chart))


def _print_heads() -> None:
    print(f"{'':<35}{'gameable, perceived':^21}{'gameable, true':^21}{'AUC':^21}")
    parts = "".join(f"{part:>7}" for part in PARTS)
    print(f"{'family':<10}{'procedure':<10}{'models':>7}{'robust':>8}{parts}{parts}{parts}")


def _print(row: dict[str, Any]) -> None:
    star = " " if row["robust"] else "*"
    shares = "".join(f"{row[key][part]:>7.1%}" for key in ("perceived", "true") for part in PARTS)
    aucs = "".join(f"{row['auc'][part]:>7.3f}" for part in PARTS)
    print(f"{row['family']:<10}{row['procedure']:<9}{star}{row['models']:>7}{row['robust']:>8}{shares}{aucs}")


if __name__ == "__main__":
    main()

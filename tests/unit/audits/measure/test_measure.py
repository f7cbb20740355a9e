"""``measure`` equals plain counting, uses every row, and says clearly what it cannot read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.evidence.binomial import clopper_pearson
from isonomia.evidence.one_look import RateFraction, lower_end, upper_end
from isonomia.report.page.group_table import sentences
from raising import raises

Person = dict[str, Any]


def random_people(rng: np.random.Generator) -> list[Person]:
    """A small table with missing values of every kind."""
    n = int(rng.integers(1, 60))
    columns = {
        "sex": rng.choice(["F", "M", "X"], n).tolist(),
        "age": rng.integers(0, 3, n).tolist(),
        "decision": rng.integers(0, 2, n).tolist(),
        "outcome": rng.integers(0, 2, n).tolist(),
        "score": rng.random(n).round(1).tolist(),
    }
    lost = rng.random((n, len(columns))) < 0.1
    return [
        {name: None if lost[row, place] else values[row] for place, (name, values) in enumerate(columns.items())}
        for row in range(n)
    ]


def counted(people: list[Person], event: str, given: str = "") -> tuple[float | None, int]:
    """A rate by plain counting: of those who meet a condition, the share that meets another."""
    chosen = [person for person in people if not given or eval(given, {}, person)]
    yes = sum(bool(eval(event, {}, person)) for person in chosen)
    return (yes / len(chosen) if chosen else None), len(chosen)


RATES = {
    "selection_rate": ("decision == 1", "decision is not None"),
    "outcome_rate": ("outcome == 1", "outcome is not None"),
    "true_positive_rate": ("decision == 1", "outcome == 1 and decision is not None"),
    "false_positive_rate": ("decision == 1", "outcome == 0 and decision is not None"),
    "false_negative_rate": ("decision == 0", "outcome == 1 and decision is not None"),
    "positive_predictive_value": ("outcome == 1", "decision == 1 and outcome is not None"),
    "accuracy": ("decision == outcome", "decision is not None and outcome is not None"),
}
RATES = {name: (compile(event, "", "eval"), compile(given, "", "eval")) for name, (event, given) in RATES.items()}
"""Each rate as the share of those who meet the second condition that meets the first."""


def belongs(person: Person, by: tuple[str, ...], values: tuple[object, ...]) -> bool:
    own = tuple(person[name] for name in by)
    return None in own if None in values else own == values


def test_every_number_equals_plain_counting_on_200_random_tables() -> None:
    rng, compared = np.random.default_rng(7), 0
    by = ["sex", "age", ("sex", "age")]
    for _ in range(200):
        everybody = random_people(rng)
        table = iso.measure(iso.Census(everybody), by=by, decision="decision", outcome="outcome", score="score")
        scores = sorted(person["score"] for person in everybody if person["score"] is not None)
        middle = len(scores) // 2
        median = (
            None if not scores else scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2
        )
        for each in table.by:
            assert sum(row.n for row in table[each]) == len(everybody)
            unknown = sum(any(person[name] is None for name in each) for person in everybody)
            assert table.unknown[each] == unknown
        for row in table.rows:
            people = [person for person in everybody if belongs(person, row.by, row.values)]
            assert row.n == len(people)
            assert row.share == len(people) / len(everybody)
            for name, (event, given) in RATES.items():
                assert (row[name].value, row[name].n) == counted(people, event, given), name
                compared += 1
            scored = [person["score"] for person in people if person["score"] is not None]
            if median is not None:
                above = sum(score > median for score in scored)
                assert row["scoring_rate"].value == (above / len(scored) if scored else None)
            both = [person for person in people if person["score"] is not None and person["outcome"] is not None]
            gaps = [person["outcome"] - person["score"] for person in both]
            assert row["calibration"].value == (pytest.approx(sum(gaps) / len(gaps)) if gaps else None)
            assert sum(part.outcome.n for part in row.reliability) == len(both)
        for each in table.by:
            rates = {row.name: row["selection_rate"].value for row in table[each] if not row.unknown and not row.small}
            highest = max((rate for rate in rates.values() if rate is not None), default=0)
            for row in table[each]:
                if not row.unknown and highest and row["selection_rate"].value is not None:
                    assert row["impact_ratio"].value == row["selection_rate"].value / highest
    assert compared > 10_000


def test_the_impact_ratio_is_that_to_the_highest_rate_among_groups_that_are_not_small() -> None:
    frame = pd.DataFrame(
        {"g": ["a"] * 500 + ["b"] * 480 + ["c"], "d": [1] * 250 + [0] * 250 + [1] * 120 + [0] * 360 + [1]}
    )
    table = iso.measure(frame, by="g", decision="d")
    assert [row["impact_ratio"].value for row in table["g"]] == [1.0, 0.5, 2.0]
    assert [row.flags for row in table["g"]] == [("reference",), (), ("small",)]
    with_small = iso.measure(frame, by="g", decision="d", small=0)
    assert [row["impact_ratio"].value for row in with_small["g"]] == [0.5, 0.25, 1.0]
    assert with_small.row("g", "c").reference


def test_intervals_are_those_of_one_look() -> None:
    frame = pd.DataFrame({"g": ["a"] * 50 + ["b"] * 40, "d": [1] * 30 + [0] * 20 + [1] * 9 + [0] * 31})
    table = iso.measure(frame, by="g", decision="d", reference="a", delta=0.1)
    low, high = clopper_pearson([30, 9], [50, 40], 0.1)
    assert [(row["selection_rate"].low, row["selection_rate"].high) for row in table["g"]] == list(
        zip(low, high, strict=True)
    )
    ratio_of = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
    expected = tuple(end(ratio_of, (9, 30), (40, 50), 0.05) for end in (lower_end, upper_end))
    ratio = table.row("g", "b")["impact_ratio"]
    assert (ratio.low, ratio.high) == expected
    assert (
        table.row("g", "a")["impact_ratio"]
        == iso.measure(frame, by="g", decision="d", reference="a")["g"][0]["impact_ratio"]
    )
    twice = iso.measure(frame, by="g", decision="d", delta=0.2, looks=2, reference="a")
    assert twice.rows == table.rows
    anytime = iso.measure(frame, by="g", decision="d", delta=0.1, looks="any", reference="a")
    for row, wider in zip(table.rows, anytime.rows, strict=True):
        for name, estimate in row.estimates.items():
            other = wider[name]
            if estimate.value is None:
                continue
            assert other.low <= estimate.low <= estimate.high <= other.high


def test_the_ratio_to_the_highest_allows_for_not_knowing_which_it_is() -> None:
    """With two rates so close that either may be the highest, the reference itself may lie below it."""
    frame = pd.DataFrame({"g": ["a"] * 100 + ["b"] * 100, "d": [1] * 51 + [0] * 49 + [1] * 50 + [0] * 50})
    first, second = iso.measure(frame, by="g", decision="d")["g"]
    assert first.reference
    assert first["impact_ratio"].low < 0.85
    assert first["impact_ratio"].high == second["impact_ratio"].high == 1.0
    clear = pd.DataFrame({"g": ["a"] * 100 + ["b"] * 100, "d": [1] * 90 + [0] * 10 + [1] * 10 + [0] * 90})
    first, second = iso.measure(clear, by="g", decision="d")["g"]
    assert (first["impact_ratio"].low, first["impact_ratio"].high) == (1.0, 1.0)
    assert second["impact_ratio"].high < 0.25


def test_many_groups_are_measured_in_seconds_and_a_little_wider() -> None:
    rng = np.random.default_rng(8)
    group = rng.integers(0, 300, 30_000)
    frame = {"g": group, "d": (rng.random(30_000) < 0.2 + 0.001 * group).astype(int)}
    few = iso.measure({"g": group % 3, "d": frame["d"]}, by="g", decision="d")
    many = iso.measure(frame, by="g", decision="d")
    assert many.seconds < 60
    assert len(many["g"]) == 300
    for row in many["g"]:
        ratio = row["impact_ratio"]
        assert 0 <= ratio.low <= ratio.value <= ratio.high
    assert all(row["impact_ratio"].high <= 1 for row in few["g"])


def test_nothing_is_said_of_nobody() -> None:
    table = iso.measure({"g": ["a", "b"], "d": [1, 0], "y": [0, 0]}, by="g", decision="d", outcome="y")
    empty = table.row("g", "a")["true_positive_rate"]
    assert (empty.value, empty.low, empty.high, empty.n) == (None, None, None, 0)
    nobody = iso.measure({"g": ["a", "b"], "d": [0, 0]}, by="g", decision="d")
    assert [row["impact_ratio"].value for row in nobody["g"]] == [None, None]


def test_means_of_numbers_have_intervals_once_their_range_is_known() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 2000), "y": rng.uniform(0, 50, 2000)})
    frame["d"] = np.clip(frame.y + rng.normal(2, 5, 2000), 0, 60)
    table = iso.measure(frame, by="g", decision="d", outcome="y", ranges={"d": (0, 60), "y": (0, 50)})
    for row in table["g"]:
        people = frame[frame.g == row.values[0]]
        for name, true in (
            ("mean_decision", people.d),
            ("mean_outcome", people.y),
            ("mean_error", people.d - people.y),
            ("mean_absolute_error", (people.d - people.y).abs()),
        ):
            estimate = row[name]
            assert estimate.value == pytest.approx(true.mean())
            assert estimate.low < estimate.value < estimate.high
            spread = true.std() / np.sqrt(len(true))
            assert estimate.high - estimate.low < 12 * spread
    assert (table.favourable, table.positive) == (None, None)
    without = iso.measure(frame, by="g", decision="d", outcome="y")
    assert without.everybody["mean_error"].low is None
    assert "ranges=" in " ".join(without.remarks)
    with raises(DataError, 0, 10, 16.6788):
        iso.measure(frame, by="g", decision="d", ranges={"d": (0, 10)})


def test_a_sorted_file_has_the_same_numbers() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 500), "d": rng.integers(0, 2, 500), "y": rng.integers(0, 2, 500)})
    one = iso.measure(frame, by="g", decision="d", outcome="y")
    two = iso.measure(frame.sort_values("d"), by="g", decision="d", outcome="y")
    assert one.rows == two.rows


def test_missing_and_unknown_groups_are_counted_and_shown() -> None:
    frame = {"race": ["A", "?", None, "", "A", "B"], "d": [1, 0, 1, 1, None, 0]}
    table = iso.measure(frame, by="race", decision="d", unknown=["?"])
    last = table["race"][-1]
    assert (last.name, last.unknown, last.n, last["selection_rate"].n) == ("unknown", True, 3, 3)
    assert last["impact_ratio"].value is None
    assert table.unknown == {("race",): 3}
    assert table.row("race", "A").missing == {"decision": 1}
    assert table.row("race", "A")["selection_rate"].n == 1
    doubtful = iso.measure(frame, by="race", decision="d")
    assert any("'?'" in remark for remark in doubtful.remarks)


class Model:
    """A model that would cheat if it were given the outcome."""

    classes_ = np.array(["no", "yes"])

    def __init__(self) -> None:
        self.columns: set[str] = set()

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        self.columns |= set(table.columns)
        return np.where(table["income"] > 20, "yes", "no")

    def predict_proba(self, table: pd.DataFrame) -> np.ndarray:
        score = np.clip(table["income"].to_numpy() / 40, 0, 1)
        return np.stack([1 - score, score], axis=1)


def test_a_model_decides_and_scores_and_is_not_given_the_outcome() -> None:
    frame = pd.DataFrame({"sex": ["F", "M"] * 20, "income": range(40), "repaid": ["yes", "no", "yes", "yes"] * 10})
    model = Model()
    table = iso.measure(frame, model, by="sex", outcome="repaid", positive="yes", score="score")
    assert model.columns == {"sex", "income"}
    assert any("given sex, income, and not repaid, which is measured" in remark for remark in table.remarks)
    assert (table.decision, table.favourable) == ("prediction", "yes")
    assert table.row("sex", "F")["selection_rate"].value == pytest.approx(9 / 20)
    assert table.everybody["mean_score"].value == pytest.approx(np.mean(np.arange(40) / 40))
    with raises(UsageError, "repaid", name="decision"):
        iso.measure(frame, model, by="sex", decision="repaid")
    again = iso.measure(frame.assign(prediction="no"), model, by="sex", outcome="repaid", positive="yes")
    assert again.row("sex", "F")["selection_rate"] == table.row("sex", "F")["selection_rate"]
    assert model.columns == {"sex", "income"}


def test_rows_in_many_batches_and_of_any_library_have_the_same_numbers() -> None:
    rng, n = np.random.default_rng(6), 70_000
    frame = pd.DataFrame(
        {
            "g": rng.choice(["a", "b", None], n),
            "h": np.where(np.arange(n) < 66_000, 1.0, rng.choice([2.0, np.nan], n)),
            "d": rng.choice([0, 1, np.nan], n),
            "s": rng.random(n),
        }
    )
    arguments = {"by": ["g", ("g", "h")], "decision": "d", "score": "s"}
    table = iso.measure(iso.Census(frame), **arguments)
    rates = frame.dropna(subset=["g", "h"]).groupby(["g", "h"])["d"].mean()
    for row in table["g", "h"]:
        assert row.unknown or row["selection_rate"].value == pytest.approx(rates[row.values])
    for same in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
        assert iso.measure(iso.Census(same), **arguments).rows == table.rows


def test_folders_of_files_are_read_as_they_go(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M", None], 3000),
            "race": rng.choice(["A", "B", "C"], 3000),
            "d": rng.integers(0, 2, 3000),
            "s": rng.random(3000),
            "other": "x",
        }
    )
    for part in range(3):
        frame[part * 1000 : (part + 1) * 1000].to_parquet(tmp_path / f"{part}.parquet")
    (tmp_path / "csv").mkdir()
    frame.to_csv(tmp_path / "csv" / "all.csv", index=False)
    for part in range(3):
        (tmp_path / "parquet").mkdir(exist_ok=True)
        (tmp_path / f"{part}.parquet").rename(tmp_path / "parquet" / f"{part}.parquet")
    arguments = {"by": ["sex", "sex,race"], "decision": "d", "score": "s"}
    held = iso.measure(frame, **arguments)
    assert iso.measure(tmp_path / "parquet", **arguments).rows == held.rows
    assert iso.measure(str(tmp_path / "csv"), **arguments).rows == held.rows


def test_the_table_is_given_as_every_kind_of_frame_and_as_json() -> None:
    table = iso.measure({"sex": ["F", "M", None] * 20, "d": [1, 0, 1] * 20}, by="sex", decision="d")
    pandas, polars, arrow = (table.to_frame(library) for library in ("pandas", "polars", "pyarrow"))
    assert (
        list(pandas["group"])
        == polars["group"].to_list()
        == arrow["group"].to_pylist()
        == ["all rows", "F", "M", "unknown"]
    )
    assert list(pandas.columns) == polars.columns == arrow.column_names
    assert pandas["impact_ratio"].dtype == float
    assert polars["impact_ratio"].to_list() == [None, 1.0, 0.0, None]
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["rows"][1]["name"] == "F"
    with raises(UsageError, "panda", "pyarrow", "polars", meant="pandas"):
        table.to_frame("panda")


def test_groups_are_found_by_name() -> None:
    table = iso.measure({"a": [1, 2] * 3, "b": ["x", "y"] * 3, "d": [0, 1] * 3}, by=["a", "a,b"], decision="d")
    assert table.row("a", 1).name == "1"
    assert table["a", "b"] == table["a,b"] == table[("a", "b")]
    with raises(UsageError, "3", 1, 2):
        table.row("a", 3)
    with raises(UsageError, "b", ("a", "a,b")):
        table["b"]
    with raises(UsageError, "selection_rate"):
        table.everybody["selectionrate"]


def test_references_are_named_by_value_or_as_text() -> None:
    frame = {"sex": ["F", "M"] * 20, "race": ["A", "B", "B", "A"] * 10, "d": [1, 0, 1, 1] * 10}
    table = iso.measure(frame, by=["sex", "race", ("sex", "race")], decision="d", reference=["M", "F, B"])
    assert [row.name for row in table if row.reference] == ["M", "A", "F, B"]
    assert table.row("sex", "F")["impact_ratio"].value == 2.0
    tupled = iso.measure(frame, by=[("sex", "race")], decision="d", reference=("M", "A"))
    assert tupled.row(("sex", "race"), "M", "A").reference
    with raises(UsageError, "Male", ("F", "M"), name="reference"):
        iso.measure(frame, by="sex", decision="d", reference="Male")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"decision": "income"},
            "'<=50K' and '>50K': say which of them is the favourable one, favourable='<=50K' or favourable='>50K'",
        ),
        ({"decision": "income", "positive": ">50"}, "no row has '>50' in 'income'.*Did you mean"),
        ({"decision": "coded"}, "values 1 and 2: say which of them is the favourable one"),
        ({"decision": "d", "outcome": "income"}, "the positive one, positive='<=50K' or positive='>50K'"),
        ({"decision": "d", "outcome": "number"}, "and no yes or no: say which of them is the positive one"),
        ({"decision": "d", "favourable": "approve"}, "values 0 and 1, but got favourable='approve'"),
        ({"decision": "D"}, "no column 'D'; its columns are 'sex'"),
        ({}, "expected decision= or score="),
        ({"decision": "d", "by": "many"}, "more than 1,000 different values"),
        ({"decision": "d", "by": []}, "expected by as a column"),
        ({"decision": "d", "looks": "twice"}, "expected looks"),
        ({"decision": "d", "delta": 5}, "expected delta"),
        ({"decision": "d", "small": 2}, "expected small as a share"),
        ({"score": "income"}, "should hold numbers"),
    ],
)
def test_bad_input_says_what_to_do(arguments: dict[str, object], expected: str) -> None:
    frame = {
        "sex": ["F", "M"] * 600,
        "income": ["<=50K", ">50K"] * 600,
        "coded": [1, 2] * 600,
        "d": [0, 1] * 600,
        "number": [1.5, 2.5, 0.5] * 400,
        "many": list(range(1200)),
    }
    with pytest.raises((UsageError, DataError), match=expected):
        iso.measure(frame, **{"by": "sex", **arguments})


def test_a_text_value_may_name_a_number_or_a_truth_value() -> None:
    frame = {"g": ["a", "b"] * 10, "coded": [1, 2] * 10, "true": [True, False] * 10}
    assert iso.measure(frame, by="g", decision="coded", favourable="2").row("g", "b")["selection_rate"].value == 1.0
    assert iso.measure(frame, by="g", decision="true", favourable="false").row("g", "b")["selection_rate"].value == 1.0


def test_the_page_names_a_small_group_with_the_lowest_ratio_and_draws_a_chart_first() -> None:
    race = ["A"] * 500 + ["B"] * 480 + ["C"] * 10
    hired = [1, 0] * 250 + [1, 0] * 240 + [1] + [0] * 9
    table = iso.measure({"race": race, "hired": hired}, by="race", decision="hired")
    (sentence,) = sentences(table)
    assert "the lowest impact ratio is 0.200" in sentence
    assert "of C, a small group of 10" in sentence
    assert "of larger groups, 1.000" in sentence
    section = table.to_html().partition("<article")[2]
    assert section.index("<figure") < section.index('<table class="by-group')


def test_differences_and_ratios_are_single_numbers() -> None:
    people = {"sex": ["F"] * 4 + ["M"] * 5 + [None], "hired": [1, 0, 0, 0, 1, 1, 1, 0, 0, 1], "rare": [0] * 9 + [1]}
    table = iso.measure(people, by="sex", decision="hired")
    assert table.difference() == pytest.approx(0.6 - 0.25)
    assert table.ratio("selection_rate", by="sex") == pytest.approx(0.25 / 0.6)
    assert math.isnan(iso.measure(people, by="sex", decision="rare").ratio())  # 0 of 0
    with pytest.raises(UsageError):
        table.difference("accuracy")
    with pytest.raises(UsageError):
        table.difference(by="race")

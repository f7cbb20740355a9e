"""Short texts and small files that would take for ever, or all of the memory: each is refused, or bounded."""

from __future__ import annotations

import gzip
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, ModelError, Place, SpecError
from isonomia.models import load_model
from isonomia.spec.nomos import parse_nomos
from isonomia.spec.parser import MOST_CHARACTERS, parse_formula
from isonomia.spec.property import expand, expand_parts
from isonomia.spec.tree import MOST_COMPARISONS
from raising import raises

PEOPLE = {"x": np.arange(20), "word": np.array(["ab", "cd"] * 10, dtype=object)}


def _specification(block: str, ensures: str = "d1 >= 0") -> str:
    return f"input x1;\noutput d1;\noutput a;\n{{\n{block}\nd1 = predict(x1)\n}}\nensures {ensures};\n"


def _verdict(block: str, ensures: str) -> iso.Verdict:
    prop = iso.safety.property(_specification(block, ensures))
    return iso.check(prop, lambda table: (np.asarray(table["x"]) > 3).astype(int), iso.Census(PEOPLE), seed=1)


@pytest.mark.parametrize(
    ("begin", "line", "why"),
    [
        ("a = 'xy'", "a = a + a", "a text of more than 65,536 characters"),
        ("a = 'xy'", "a = strConcat(a, a)", "a text of more than 65,536 characters"),
        ("a = getFeat(x1, 'word')", "a = a + a", "a text of more than 65,536 characters"),
        (f"a = {2**64}", "a = a * a", "a number that is too large"),
        (f"a = {2**64}", "a = a ** a", "a number that is too large"),
        (f"a = {2**64}", "a = a + a * a", "a number that is too large"),
        ("a = 3", "a = a * a", "a number that is too large"),
        ("a = 9", "a = a ** a", "a number that is too large"),
    ],
)
def test_forty_doublings_are_bounded_and_said(begin, line, why):
    verdict = _verdict("\n".join([begin] + [line] * 40), "a == a && d1 >= 0")
    assert verdict.answer == "undecided"
    assert any(why in remark for remark in verdict.remarks)


def test_large_whole_numbers_stay_exact_below_the_bound():
    big = 3**300
    assert _verdict(f"a = {3**100}\na = a * a * {3**100}", f"a == {float(big)!r} || a > 0").answer == "holds"
    assert _verdict(f"a = {2**64} ** 2\na = a / {2**127}", "a == 2").answer == "holds"


def test_a_text_of_the_model_is_not_multiplied_or_formatted():
    prop = iso.safety.property(_specification("a = predict(x1) % 7", "a != 0"))
    verdict = iso.check(prop, lambda table: ["%999999999d"] * len(table["x"]), iso.Census(PEOPLE), seed=1)
    assert any("`%` has no meaning for a text" in remark for remark in verdict.remarks)


def test_texts_of_a_whole_batch_are_bounded():
    table = {"word": np.array(["x" * 30_000] * 6_000, dtype=object)}
    prop = iso.safety.property(_specification("a = getFeat(x1, 'word') + getFeat(x1, 'word')", "a != ''"))
    with raises(SpecError, 6000, at="getFeat(x1, 'word') + getFeat(x1, 'word')"):
        iso.check(prop, lambda table: [1] * len(table["word"]), iso.Census(table), seed=1)


@pytest.mark.parametrize("block", ["a = " + "-" * 400 + "1", "a = " + "abs(" * 101 + "1" + ")" * 101])
def test_a_block_that_is_nested_too_deeply_is_refused(block):
    with raises(SpecError, 100):
        parse_nomos(_specification(block))


@pytest.mark.parametrize(
    "block", ["\n".join(f"b{k} = {k}" for k in range(20_000)), "a = 1\n" * 2_001, "a = predict(x1)\n" * 5_000]
)
def test_a_block_of_too_many_lines_is_refused(block):
    with pytest.raises(SpecError, match=r"at most 2,000 assignments|at most 100,000 characters"):
        parse_nomos(_specification("a = 0\n" + block))


def test_comments_that_are_never_closed_are_gone_through_once():
    with pytest.raises(SpecError, match="unexpected"):
        parse_nomos("/*" * 49_000)


def test_too_many_statements_are_refused():
    with raises(SpecError, 2000, at="input x2000;"):
        parse_nomos("".join(f"input x{k};\n" for k in range(3_000)) + _specification("a = 1"))


def test_a_number_of_a_block_that_no_float_holds_is_refused():
    with pytest.raises(SpecError, match="too large"):
        parse_nomos(_specification(f"a = 0x{'f' * 5_000}"))


@pytest.mark.parametrize("people", [iso.Census, iso.Sample])
@pytest.mark.parametrize(
    "text",
    [
        "P[prediction == 1] >= 0.8 ** 1e308",
        "P[prediction == 1] >= ((1.0000001 ** 1000) ** 1000) ** 1000",
        "(((P[prediction == 1] ** 16) ** 16) ** 16) ** 16 >= 0.1",
        "P[prediction == 1] >= 0.8 ** -1001",
    ],
)
def test_powers_that_exact_arithmetic_cannot_write_out_are_refused(text, people):
    with pytest.raises(SpecError, match=r"to the power of at most|too large"):
        iso.check(text, lambda table: (np.asarray(table["x"]) > 3).astype(int), people(PEOPLE), seed=1)


def test_the_largest_powers_are_decided():
    def ask(table):
        return (np.asarray(table["x"]) > 3).astype(int)

    assert iso.check("P[prediction == 1] >= 0.8 ** 1000", ask, iso.Census(PEOPLE)).answer == "holds"
    assert iso.check("(P[prediction == 1] ** 10) ** 10 <= 0.1", ask, iso.Census(PEOPLE)).answer == "holds"


@pytest.mark.parametrize("write_out", [expand, expand_parts])
@pytest.mark.parametrize("nested", [8, 14, 20])
def test_nested_loops_are_counted_before_they_are_written_out(nested, write_out):
    loops = "".join(f"for v{k} in {{1, 2, 3}}: " for k in range(nested))
    with raises(SpecError, MOST_COMPARISONS) as caught:
        write_out(parse_formula(loops + "P[prediction == v0] >= 0.1"), lambda _: ())
    assert caught.value.place is not None


def test_as_many_comparisons_as_allowed_are_written_out():
    formula = parse_formula("for v in {1, 2}: for w in group: P[prediction == v | group == w] >= 0.1")
    most = tuple(range(MOST_COMPARISONS // 2))
    assert len(expand(formula, lambda _: most).operands) == 2
    with pytest.raises(SpecError, match="fewer values"):
        expand(formula, lambda _: (*most, -1))


@pytest.mark.parametrize("each", ["P[a > 1] >= 0.5", "P[']' == b] < 1", "0.1 <= P[b] <= 0.2"])
def test_thousands_of_comparisons_are_refused_before_they_are_read(each):
    began = time.process_time()
    parse_formula(" and ".join([each] * 1_000))
    some = time.process_time() - began
    with raises(SpecError, MOST_COMPARISONS):
        parse_formula(" and ".join([each] * (100_000 // (len(each) + 5))))
    assert time.process_time() - began < 2 * some  # thousands are refused in less time than a thousand take


def test_signs_that_are_no_comparisons_of_rates_are_not_counted():
    many = " or ".join(f"a > {k}" for k in range(MOST_COMPARISONS + 1))
    assert parse_formula(f"P[{many}] >= 0.5 # {'<' * 3_000}") == parse_formula(f"P[{many}] >= 0.5")
    few = " and ".join(["P[a > 1] >= 0.5"] * 500)
    assert len(parse_formula(few).operands) == 500


def test_each_sign_of_a_chain_is_a_comparison():
    chain = " <= ".join(["0.1"] + ["P[a > v]"] * 50)
    with raises(SpecError, MOST_COMPARISONS):
        expand(parse_formula(f"for v in a: {chain}"), lambda _: tuple(range(MOST_COMPARISONS // 50 + 1)))
    expand(parse_formula(f"for v in a: {chain}"), lambda _: tuple(range(MOST_COMPARISONS // 50)))


def test_a_text_that_nobody_wrote_is_refused_before_it_is_read():
    with raises(SpecError, 100_000, 100_024):
        parse_formula("P[prediction == 1] >= 0." + "1" * MOST_CHARACTERS)


def test_an_error_shows_the_part_of_a_long_line_that_it_is_about():
    text = "x" * 5_000 + "HERE" + "y" * 5_000
    row, carets = Place(text, 5_000, 5_004).caret().split("\n")
    assert len(row) < 300
    assert row[carets.index("^") : carets.index("^") + 4] == "HERE"
    assert carets.count("^") == 4
    short = Place("a\nbcd\ne", 3, 5).caret()
    assert short == "  bcd\n   ^^"


def test_a_program_that_nobody_wrote_is_refused_before_it_is_read():
    lines = "".join(f"    x{k} = a + {k}\n" for k in range(10_000))
    text = f"def popModel():\n    a = gaussian(0, 1)\n{lines}def F():\n    fairnessTarget(a > 0)\n"
    with raises(SpecError, "long.fr", 100_000, 207_854):
        iso.Program.of(text, "long.fr")


def test_a_compressed_table_that_unpacks_to_a_thousandfold_is_not_read(tmp_path):
    path = tmp_path / "people.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x\n")
        for _ in range(70):
            file.write(b"1\n" * (1 << 19))
    with raises(DataError, 67108864):
        iso.Sample(path)


@pytest.mark.parametrize("member", ["weights.npy", "schema.json"])
def test_an_archive_that_unpacks_to_a_thousandfold_is_not_opened(tmp_path, member):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if member != "schema.json":
            archive.writestr("schema.json", "{}")
        with archive.open(member, "w") as file:
            for _ in range(80):
                file.write(bytes(1 << 20))
    with raises(ModelError, "model.skops", 100):
        load_model(path)


@pytest.mark.parametrize("compressed", [True, False])
def test_an_archive_inside_an_archive_counts_as_well(tmp_path, compressed):
    inner, path = tmp_path / "matrix.npz", tmp_path / "model.skops"
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as file:
        for _ in range(80):
            file.write(bytes(1 << 20))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        archive.writestr("schema.json", "{}")
        archive.write(inner, "1.npz")
    with raises(ModelError, "model.skops", 100):
        load_model(path)


@pytest.mark.parametrize("more", [0, 1 << 22])
def test_a_short_mlmodel_does_not_exhaust_the_memory_and_a_long_one_is_not_read(tmp_path, more):
    pytest.importorskip("yaml")
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{k + 1}: &a{k + 1} {{<<: [{', '.join([f'*a{k}'] * 9)}]}}" for k in range(7)]
    lines += ["flavors: {onnx: {data: ../outside.onnx}}", "#" * more]
    (tmp_path / "MLmodel").write_text("\n".join(lines))
    tracemalloc.start()
    try:
        with raises(ModelError, 4_194_304) if more else raises(ModelError, name="../outside.onnx"):
            load_model(tmp_path)
        assert (
            tracemalloc.get_traced_memory()[1] < 10_000_000
        )  # of mappings that are merged there would be 4,782,969 copies
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("names", [[f"{k}" for k in range(10_000)], [f"{k}" * 30_000 for k in range(10, 99)]])
@pytest.mark.parametrize("member", ["schema.json", "m/archive_format", "m/data.pkl", "m/code/a.py", "anything"])
def test_an_archive_of_very_many_members_is_refused_before_any_is_opened(tmp_path, monkeypatch, member, names):
    path = tmp_path / "model.pkl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (member, "m/constants.pkl", *names):
            archive.writestr(zipfile.ZipInfo(name), b"")
    opened = []
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda _, name, *__, **___: opened.append(name))
    with pytest.raises(ModelError, match=r"an archive (of 10,002 members|with a list of members of 5,[\d,]+ bytes)"):
        load_model(path, trust_pickle=True)
    assert not opened


@pytest.mark.parametrize("looks", ["any", "once"])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("(P[x >= 10] >= 0.99) or (0.5 <= 0.5)", "holds"),
        ("(P[x >= 0] >= 0.3) and (0.5 <= 0.4)", "violated"),
        ("(P[x >= 0] >= 0.3) and not (1 / 3 <= 0.4 - 0.2)", "holds"),
        ("(1 <= 0) or (min(0.1, 0.2) <= 0.5 and P[x >= 0] >= 0.3)", "holds"),
    ],
)
def test_comparisons_of_constants_inside_a_formula_are_decided(text, answer, looks):
    people = iso.Sample({"x": np.tile(np.arange(20), 50)})
    verdict = iso.check(text, population=people, seed=1, looks=looks)
    assert verdict.answer == answer
    constants = [each for each in verdict.expressions if "P[" not in each.text]
    assert constants
    assert all(each.low <= each.estimate <= each.high for each in constants)

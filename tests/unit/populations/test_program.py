import pickle

import numpy as np
import pytest

import isonomia as iso
from effort import effort
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations.protocol import Wanted, people
from isonomia.spec.tree import AsIf, Do, Literal, Other, Setting
from raising import raises

TEXT = """
def popModel():
    sex = step([(0, 1, 0.3307), (1, 2, 0.6693)])
    luck = gaussian(0, 1)
    if sex < 1:
        school = gaussian(10, 4)
    else:
        school = gaussian(12, 9)
    rounded = 1
    if school > 11:
        rounded = 2
    pay = gaussian(school * 2 + sex, 1)
    pay = pay + luck
    sensitiveAttribute(sex < 1)
    qualified(school > 8)
def F():
    t = pay > 25
    fairnessTarget(t)
"""
PROGRAM = iso.Program.of(TEXT, "people.fr")


def do(*items, **settings):
    return Do((*items, *(Setting(name, Literal(value)) for name, value in settings.items())))


def as_if(name, **settings):
    return AsIf(name, tuple(Setting(name, Literal(value)) for name, value in settings.items()))


def versions_of(program, *versions, n=4_000, seed=0):
    wanted = Wanted(None, dict.fromkeys(versions))
    return program.open(np.random.SeedSequence(0), wanted).people(0, n, np.random.default_rng(seed))


def test_columns_are_the_variables_that_everybody_has_and_the_marks():
    assert PROGRAM.names == ("sex", "luck", "school", "rounded", "pay", "t", "minority", "qualified", "target")
    assert PROGRAM.kind == "program"
    assert PROGRAM.size is None
    assert PROGRAM.streams == (None,)
    assert PROGRAM.assumptions == ("the population is the one that people.fr draws",)


def test_values_are_both_truths_or_the_numbers_that_occur():
    assert PROGRAM.values("minority") == (False, True)
    assert PROGRAM.values("rounded") == (1.0, 2.0)
    with raises(DataError, "skool", meant="school"):
        PROGRAM.values("skool")


def test_a_program_comes_from_a_file(tmp_path):
    (tmp_path / "people.fr").write_text(TEXT)
    read = iso.Program(tmp_path / "people.fr")
    assert read.name == "people.fr"
    assert read.fingerprint() == PROGRAM.fingerprint() != iso.Program.of(TEXT + "\n").fingerprint()


def test_a_file_that_cannot_be_read_is_a_data_error(tmp_path):
    with raises(DataError, name=str(tmp_path / "none.fr")):
        iso.Program(tmp_path / "none.fr")
    with raises(DataError, "directory", name=str(tmp_path)):
        iso.Program(tmp_path)
    (tmp_path / "bad.fr").write_bytes(b"def popModel():\n    x = \xff\n")
    with raises(DataError, "UTF-8", 24, name=str(tmp_path / "bad.fr")):
        iso.Program(tmp_path / "bad.fr")


def test_a_program_survives_pickling_after_it_was_run():
    before = PROGRAM.open(np.random.SeedSequence(0)).batch(0, 5, np.random.default_rng(1))
    source = pickle.loads(pickle.dumps(PROGRAM)).open(np.random.SeedSequence(0))
    again = pickle.loads(pickle.dumps(source)).batch(0, 5, np.random.default_rng(1))
    assert [again.row(i) for i in range(5)] == [before.row(i) for i in range(5)]


def test_what_is_not_wanted_is_not_drawn():
    source = PROGRAM.open(np.random.SeedSequence(0), Wanted(("luck",)))
    assert source.batch(0, 5, np.random.default_rng(1)).names == ("luck",)
    expected = np.random.default_rng(1).standard_normal(5)
    assert np.array_equal(source.batch(0, 5, np.random.default_rng(1)).column("luck"), expected)


# ---------------------------------------------------------------------------- interventions


def test_a_person_keeps_every_value_whose_parents_do_not_change():
    changed = do(school=12)
    found = versions_of(PROGRAM, changed)
    for name in ("sex", "luck", "minority"):
        assert np.array_equal(found[None].column(name), found[changed].column(name))
    assert (found[changed].column("school") == 12).all()
    # pay = gaussian(2 * school + sex, 1) + luck, with the same noise
    shift = found[changed].column("pay") - found[None].column("pay")
    np.testing.assert_allclose(shift, 2 * (12 - found[None].column("school")), atol=1e-9)


def test_a_variable_set_in_branches_can_be_set_from_outside_and_its_branches_follow_a_change():
    changed = do(sex=1.5)
    found = versions_of(PROGRAM, changed)
    women = found[None].column("minority")
    own, other = found[None].column("school"), found[changed].column("school")
    assert np.array_equal(own[~women], other[~women])
    # Both branches draw with the same noise: (school - 10) / 2 for women is (school - 12) / 3 for men.
    np.testing.assert_allclose((own[women] - 10) / 2, (other[women] - 12) / 3, atol=1e-12)


def test_a_variable_set_twice_is_set_from_outside_for_good():
    changed = do(pay=30)
    found = versions_of(PROGRAM, changed)
    assert (found[changed].column("pay") == 30).all()
    assert found[changed].column("target").all()
    assert np.array_equal(found[None].column("school"), found[changed].column("school"))


MEDIATED = iso.Program.of(
    """
def popModel():
    s = step([(0, 1, 0.5), (1, 2, 0.5)])
    home = gaussian(s, 1)
    twice = s * 2
    school = gaussian(s + twice + home, 1)
    club = gaussian(s, 1)
    pay = gaussian(school + club + home, 1)
def F():
    pass
"""
)


def test_a_mediator_follows_the_change_and_what_is_merely_computed_but_no_other_noise():
    changed = do(as_if("school", s=1.75))
    found = versions_of(MEDIATED, changed)
    own, other = found[None], found[changed]
    for name in ("s", "home", "twice", "club"):
        assert np.array_equal(own.column(name), other.column(name)), name
    # s and twice = 2 s follow; home, which has noise of its own, stays as it is, though it depends on s.
    shift = 3 * (1.75 - own.column("s"))
    np.testing.assert_allclose(other.column("school") - own.column("school"), shift, atol=1e-12)
    np.testing.assert_allclose(other.column("pay") - own.column("pay"), shift, atol=1e-12)


def test_a_mediator_as_if_while_the_attribute_is_set():
    changed = do(as_if("school", s=0.25), s=1.5)
    plain = do(s=1.5)
    found = versions_of(MEDIATED, changed, plain)
    both, set_only = found[changed], found[plain]
    for name in ("s", "home", "twice", "club"):
        assert np.array_equal(both.column(name), set_only.column(name)), name
    shift = 3 * (0.25 - 1.5)
    np.testing.assert_allclose(both.column("school") - set_only.column("school"), shift, atol=1e-12)
    np.testing.assert_allclose(both.column("pay") - set_only.column("pay"), shift, atol=1e-12)


def test_a_variable_set_on_a_way_that_chance_chooses_has_noise_and_stays():
    program = iso.Program.of(
        "def popModel():\n    s = step([(0, 1, 0.5), (1, 2, 0.5)])\n    if gaussian(s, 1) > 1:\n        job = 1\n"
        "    else:\n        job = 0\n    pay = gaussian(s + job, 1)\ndef F():\n    pass\n"
    )
    changed = do(as_if("pay", s=1.9))
    found = versions_of(program, changed)
    shift = found[changed].column("pay") - found[None].column("pay")
    np.testing.assert_allclose(shift, 1.9 - found[None].column("s"), atol=1e-12)


@pytest.mark.parametrize(
    ("version", "name", "shown"),
    [
        (do(minority=1), "minority", ["people.fr", "truth", 1]),
        (do(luck=True), "luck", ["people.fr", "number", "true"]),
        (do(luck="high"), "luck", ["people.fr", "number", "high"]),
        (do(luk=1), "luk", ["luck"]),
        (do(as_if("pay", skool=1)), "skool", ["school"]),
        (do(as_if("pay", school=True)), "school", ["people.fr", "number", "true"]),
        (do(as_if("t", school=1)), "t", ["pay", "once"]),
    ],
)
def test_an_intervention_that_means_nothing_is_refused(version, name, shown):
    with raises(SpecError, *shown, name=name):
        PROGRAM.open(np.random.SeedSequence(0), Wanted(None, {version: None}))


def test_a_mediator_with_a_parent_that_some_people_do_not_have_is_refused():
    program = iso.Program.of(
        "def popModel():\n    s = step([(0, 1, 0.5), (1, 2, 0.5)])\n    if s > 1:\n        y = gaussian(0, 1)\n"
        "        m = y + gaussian(s, 1)\n    else:\n        m = gaussian(0, 1)\ndef F():\n    pass\n"
    )
    with raises(SpecError, "m", "y", at="m as if s = 1.5"):
        iso.check("P[do(m as if s = 1.5).m > 0] >= 0.1", population=program, seed=1)


# ---------------------------------------------------------------------------- rare groups


def test_a_contradiction_is_undecided_and_does_not_hang():
    with effort() as spent:
        verdict = iso.check(
            "P[target | sex < 1 and sex > 1] >= 0.5",
            population=PROGRAM,
            seed=1,
            budget=iso.Budget(samples=100_000),
            method="bets",
        )
        assert verdict.answer == "undecided"
        assert verdict.samples <= 100_000
        assert any("met sex < 1 and sex > 1" in remark for remark in verdict.remarks)
    assert spent.seconds < 20


def test_a_rare_group_that_cannot_be_drawn_directly_is_undecided_within_the_budget():
    budget = iso.Budget(samples=50_000)
    options = {"population": PROGRAM, "seed": 1, "budget": budget, "method": "bets"}
    verdict = iso.check("P[target | pay > luck * 100000] >= 0.5", **options)
    assert verdict.samples <= 50_000
    rare = iso.check("P[target | pay > 100] >= 0.5", **options)
    assert rare.answer == "undecided"


def test_people_who_cannot_meet_a_condition_do_not_spoil_the_draws_of_those_who_can():
    program = iso.Program.of(
        "def popModel():\n    c = step([(0, 1, 0.5), (1, 2, 0.5)])\n    if c < 1:\n        age = step([(0, 50, 1)])\n"
        "        far = gaussian(0, 1)\n    else:\n        age = step([(0, 50, 0.999), (50, 100, 0.001)])\n"
        "        far = gaussian(100, 1)\n    y = 1 / age\n    z = gaussian(0, age * far * far)\ndef F():\n    pass\n"
    )
    verdict = iso.check("P[y < 0.0125 | age > 60] >= 0.45", population=program, delta=1e-6, seed=1)
    assert verdict.answer == "holds"
    verdict = iso.check("P[z < 0 | far > 90 and age > 60] <= 0.55", population=program, delta=1e-6, seed=1)
    assert verdict.answer == "holds"


def test_a_narrow_group_is_never_left_by_rounding():
    program = iso.Program.of(
        "def popModel():\n    x = gaussian(1000, 1)\n    y = step([(0, 1000, 0.9), (1000, 2000, 0.1)])\n"
        "def F():\n    pass\n"
    )
    budget = iso.Budget(samples=20_000)
    for group in ("x > 1000.5 and x < 1000.50000000001", "y >= 1999.5 and y < 1999.50000000001"):
        options = {"population": program, "seed": 1, "budget": budget, "method": "bets"}
        verdict = iso.check(f"P[x > 0 | {group}] >= 0.999999", **options)
        assert verdict.samples > 1_000  # no draw outside the group was complained of


def test_a_second_person_is_drawn_from_everybody_also_where_the_first_is_of_a_rare_group():
    verdict = iso.check("P[other.luck > 0 | luck > 2.5] <= 0.6", population=PROGRAM, delta=1e-3, seed=1)
    assert verdict.answer == "holds"


def test_a_second_person_is_independent_of_the_first():
    wanted = Wanted(None, {Other(): None, do(sex=0.5): None})
    source = PROGRAM.open(np.random.SeedSequence(0), wanted)
    found = people(source, wanted, 0, 20_000, np.random.default_rng(1), 0)
    for first in PROGRAM.names:
        for second in ("sex", "luck", "school", "pay"):
            pair = found[None].column(first), found[Other()].column(second)
            assert abs(np.corrcoef(*pair)[0, 1]) < 5 / np.sqrt(20_000) or np.std(pair[0]) == 0


def test_a_program_in_another_encoding_says_how_to_save_it(tmp_path):
    path = tmp_path / "latin.fr"
    path.write_bytes("def popModel():\n    x = 1  # café\n".encode("latin-1"))
    with raises(DataError, "latin.fr", 32):
        iso.Program(path)


@pytest.mark.parametrize("path", [None, 3, TEXT])
def test_what_is_no_path_of_a_program_is_refused(path):
    with raises(UsageError, name="path"):
        iso.Program(path)


@pytest.mark.parametrize("text", [None, b"def popModel(): pass"])
def test_what_is_no_text_of_a_program_is_refused(text):
    with raises(UsageError, name="text"):
        iso.Program.of(text)


def test_a_mark_is_set_to_a_truth_value_only():
    with raises(SpecError, "minority", 1, "people.fr", at="minority = 1"):
        iso.check("P[do(minority = 1).target] >= 0.1", population=PROGRAM)


def test_a_number_beyond_what_can_be_computed_is_refused():
    program = iso.Program.of(
        "def popModel():\n    x = gaussian(1, 1)\n    y = x * 1e200\n    z = y * y - y * y\n"
        "def F():\n    fairnessTarget(z > 0)\n"
    )
    with pytest.raises(DataError, match="a number overflowed"):
        iso.check("P[target] <= 0.5", population=program, seed=1)

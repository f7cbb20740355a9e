import numpy as np
from scipy.special import ndtr, ndtri

from isonomia.populations.worlds.run import StoredNoise

SITE, OTHER = ("x", 0), ("y", 0)


def stored(**more):
    return StoredNoise(1000, np.random.default_rng(0), **more)


def test_noise_is_drawn_once_and_stays():
    noise = stored()
    first = noise.normal(SITE).copy()
    noise.share(OTHER)
    assert np.array_equal(noise.normal(SITE), first)


def test_a_share_and_a_normal_number_of_one_site_are_the_same_noise():
    noise = stored()
    normal, share = noise.normal(SITE), noise.share(OTHER)
    assert np.array_equal(noise.share(SITE), ndtr(normal))
    assert np.array_equal(noise.normal(OTHER), ndtri(share))


def test_sites_are_independent():
    noise = stored()
    assert abs(np.corrcoef(noise.normal(SITE), noise.normal(OTHER))[0, 1]) < 0.2


def test_noise_of_some_people_is_kept_in_both_forms_for_them_alone():
    noise, who = stored(), np.asarray([3, 5])
    noise.store(SITE, np.asarray([1.0, -1.0]), ndtr(np.asarray([1.0, -1.0])), who)
    assert noise.normal(SITE)[who].tolist() == [1.0, -1.0]
    assert noise.share(SITE)[who].tolist() == ndtr([1.0, -1.0]).tolist()
    assert np.isnan(np.delete(noise.share(SITE), who)).all()


def test_of_abducted_people_no_noise_is_made_up():
    assert np.isnan(stored(observed={}).normal(SITE)).all()
    assert np.isnan(stored(observed={}).share(SITE)).all()


def test_a_computed_value_gives_way_to_the_table_where_the_equation_gives_what_it_gave():
    given, computed = np.asarray([1.0, 2.0, 3.0]), np.asarray([1.0 + 1e-15, 2.0, 3.0 - 1e-15])
    noise = StoredNoise(3, np.random.default_rng(0), observed={"x": (given, computed)})
    again = noise.corrected("x", np.asarray([computed[0], 7.0, computed[2]]))
    assert again.tolist() == [1.0, 7.0, 3.0]
    assert noise.corrected("y", 5.0) == 5.0


def test_a_column_that_stays_as_it_is_keeps_its_type():
    given = np.asarray([1, 2, 3])
    noise = StoredNoise(3, np.random.default_rng(0), observed={"x": (given, given + 1e-15)})
    assert noise.corrected("x", given + 1e-15) is given

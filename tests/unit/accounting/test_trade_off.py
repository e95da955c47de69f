"""Curves of losses and events: what they promise, and where they are exact."""

from fractions import Fraction
from math import exp, inf, tanh
from statistics import NormalDist

import numpy as np
import pytest

from tacit import core
from tacit.accounting import (
    TradeOff,
    curve_of_event,
    curve_of_loss,
    gaussian_mu,
    odds_of,
    odds_of_event,
    odds_of_mu,
)
from tacit.accounting.gaussian_privacy import COARSE, discrete_factor
from tacit.accounting.loss_pairs import (
    MOST_KINDS,
    NOTHING,
    STEP,
    compose,
    is_coarse,
    on_grid,
    pair_of,
    repeat,
)
from tacit.accounting.trade_off import curve_of_mu, hull
from tacit.errors import InvalidValue

ONE, TENTH, HUNDREDTH = Fraction(1), Fraction(1, 10), Fraction(1, 100)
WIDE = Fraction(10**6)
NORMAL = core.GaussianNoise(WIDE, WIDE)


def laplace(epsilon: Fraction) -> core.Event:
    return core.LaplaceNoiseV2(ONE, 1 / epsilon)


def rates(curve: TradeOff) -> list[float]:
    return [float(curve.true_positive_rate(Fraction(at, 100))) for at in range(101)]


def is_above(one: TradeOff, other: TradeOff, slack: float = 2e-6) -> bool:
    return all(a >= b - slack for a, b in zip(rates(one), rates(other), strict=True))


@pytest.mark.parametrize(
    "curve",
    [
        curve_of_loss(core.Loss.pure(1)),
        curve_of_loss(core.Loss.zcdp("0.1", "1e-6")),
        curve_of_mu(ONE),
        curve_of_event(core.Composed((laplace(ONE), NORMAL))),
        curve_of_event(core.Sampled(laplace(ONE), TENTH)),
    ],
)
def test_a_curve_is_concave_and_above_guessing(curve: TradeOff) -> None:
    found = rates(curve)
    assert all(rate >= at / 100 for at, rate in enumerate(found))
    assert found == sorted(found)
    assert found[-1] == 1
    assert np.all(np.diff(found, n=2) <= 3e-6)


def test_nothing_lost_is_nothing_found() -> None:
    for loss in (core.Loss.pure(0), core.Loss.zcdp(0), core.Loss.approximate(0, 0)):
        curve = curve_of_loss(loss)
        assert (curve.true_positive_rate(TENTH), curve.pairs) == (TENTH, Fraction(1, 2))
        assert curve.advantage <= Fraction(1, 10**6)
        assert curve.belief(TENTH) <= TENTH + Fraction(1, 10**6)
    nothing = curve_of_event(core.Nothing())
    assert nothing.pairs <= Fraction(500_001, 10**6)
    assert nothing.mu is None


def test_everything_lost_is_everything_found() -> None:
    for loss in (core.Loss.approximate(1, 1), core.Loss.zcdp(1, 1), core.Loss.pure(1000)):
        assert curve_of_loss(loss).true_positive_rate(HUNDREDTH) == 1
    shown = core.GaussianNoise(Fraction(9), Fraction(1, 10**4))
    assert gaussian_mu(shown) is None
    assert curve_of_event(shown).pairs == 1


def test_the_curve_of_a_pure_loss_is_that_of_randomised_response() -> None:
    curve = curve_of_loss(core.Loss.pure(1))
    assert float(curve.advantage) == pytest.approx(tanh(0.5), abs=2e-6)
    assert float(curve.pairs) == pytest.approx(exp(1) / (1 + exp(1)), abs=2e-6)
    share = exp(1) / (1 + exp(1))
    average = share * (share * 0.1 / (share * 0.1 + (1 - share) * 0.9)) + (1 - share) * (
        (1 - share) * 0.1 / ((1 - share) * 0.1 + share * 0.9)
    )
    assert float(curve.belief(TENTH)) == pytest.approx(average, abs=2e-6)
    assert curve.belief(Fraction(0)) == 0
    assert curve.belief(ONE) == 1


def test_a_delta_reveals_everything_with_its_probability() -> None:
    curve = curve_of_loss(core.Loss.zcdp("0.1", "0.01"))
    plain = curve_of_loss(core.Loss.zcdp("0.1"))
    assert curve.true_positive_rate(Fraction(0)) >= HUNDREDTH
    assert curve.mu is None
    assert is_above(curve, plain)
    assert not is_above(plain, curve)


def test_the_curve_of_any_noise_is_above_that_of_each_noise() -> None:
    any_noise = curve_of_loss(core.Loss.zcdp("0.5"))
    assert is_above(any_noise, curve_of_event(NORMAL))
    response = core.RandomisedResponseEvent(Fraction(7, 10), 2)
    rho = core.Loss.zcdp(Fraction("0.339"))
    assert is_above(curve_of_loss(rho), curve_of_event(response))


@pytest.mark.parametrize("mu", [Fraction(1, 10), ONE, Fraction(3)])
def test_the_curve_of_a_mu_is_normal(mu: Fraction) -> None:
    curve, normal = curve_of_mu(mu), NormalDist()
    for at in (0.001, 0.01, 0.1, 0.5, 0.9):
        exact = normal.cdf(normal.inv_cdf(at) + float(mu))
        told = float(curve.true_positive_rate(Fraction(str(at))))
        assert exact <= told <= exact * 1.001
    assert curve.mu == mu


def test_mus_add_up_by_their_squares() -> None:
    twice = core.Composed((core.Repeated(NORMAL, 4), core.Nothing()))
    assert float(gaussian_mu(twice) or 0) == pytest.approx(2, abs=1e-5)
    assert gaussian_mu(core.Composed((NORMAL, laplace(ONE)))) is None
    assert gaussian_mu(core.Nothing()) is None


def test_the_factor_of_discrete_noise_is_that_of_rounding() -> None:
    assert discrete_factor(1000.0) == pytest.approx(1 + 1 / 24000, abs=1e-6)
    assert discrete_factor(COARSE**2 + 1) > 1 + 1 / (24 * (COARSE**2 + 1))
    assert discrete_factor(1.0) > 1 + 1 / 24
    assert discrete_factor(1e-4) == inf


def test_a_count_with_little_noise_has_the_curve_of_its_own_law() -> None:
    count = core.GaussianNoise(ONE, ONE)
    assert is_coarse(count)
    assert not is_coarse(NORMAL)
    curve = curve_of_event(count)
    assert curve.mu is not None
    assert is_above(curve_of_mu(curve.mu), curve)
    assert not is_above(curve, curve_of_mu(curve.mu))
    assert not is_above(curve_of_mu(ONE), curve)  # the lie: continuous noise


def test_a_pair_that_is_composed_loses_more() -> None:
    one = pair_of(laplace(TENTH), removed=False)
    assert compose(NOTHING, one) is one
    assert compose(one, NOTHING) is one
    assert repeat(one, 0) is NOTHING
    three = repeat(one, 3)
    assert three.masses.sum() + three.infinite == pytest.approx(1)
    more, less = (curve_of_event(core.Repeated(laplace(TENTH), n)) for n in (3, 2))
    assert is_above(more, less)


def test_losses_are_rounded_up() -> None:
    pair = on_grid([0.00001, 1e9, -1e9], [0.5, 0.25, 0.25])
    assert pair.infinite == 0.25
    assert pair.masses[0] == 0.25
    assert float(np.sum(pair.masses * pair.ratios)) > 1  # so far below that all is rounded up


def test_a_sample_is_below_the_whole_and_has_two_curves() -> None:
    whole = curve_of_event(laplace(ONE))
    sample = core.Sampled(laplace(ONE), TENTH)
    assert is_above(whole, curve_of_event(sample))
    joins, leaves = (pair_of(sample, removed=each) for each in (False, True))
    assert not joins.is_equal(leaves)
    every = core.Sampled(laplace(ONE), ONE)
    assert abs(curve_of_event(every).pairs - whole.pairs) < Fraction(1, 1000)


def test_keys_and_others_are_bounded_by_their_epsilon_and_delta() -> None:
    keys = core.KeySelectionV2(TENTH, Fraction(1, 1000), 3)
    curve = curve_of_event(keys)
    assert curve.true_positive_rate(Fraction(0)) >= Fraction(29, 10_000)
    assert abs(
        curve_of_event(core.CubeNoise(ONE, ONE, 2)).pairs
        - curve_of_loss(core.Loss.pure(1)).pairs
    ) < Fraction(1, 1000)
    free = core.KeySelection(Fraction(0), Fraction(1, 2), 1)
    assert curve_of_event(free).true_positive_rate(Fraction(0)) >= Fraction(1, 2)
    lost = core.KeySelection(ONE, ONE, 1)
    assert curve_of_event(lost).pairs == 1
    several = core.Repeated(core.RandomisedResponseEvent(Fraction(1, 2), 5), 2)
    single = core.RandomisedResponseEvent(Fraction(1, 2), 5)
    assert is_above(curve_of_event(several), curve_of_event(single))
    fair = core.RandomisedResponseEvent(Fraction(1, 5), 5)
    assert curve_of_event(fair).pairs <= Fraction(500_001, 10**6)


def test_a_selection_and_a_delay_have_curves() -> None:
    selection = curve_of_event(core.ExponentialSelection(ONE))
    assert curve_of_event(core.ExponentialSelection(Fraction(0))).pairs < Fraction(501, 1000)
    assert is_above(curve_of_loss(core.Loss.pure(1)), selection, STEP)
    delay = core.DelayNoise(Fraction(9), 20, ONE)
    assert is_above(
        curve_of_loss(core.Loss.zcdp(Fraction(1, 18), "0.001")), curve_of_event(delay)
    )
    twice = curve_of_event(core.Repeated(delay, 2))
    assert is_above(twice, curve_of_event(delay))


def test_many_kinds_are_rounded_together() -> None:
    kinds = [laplace(Fraction(1, 100 + place)) for place in range(MOST_KINDS + 1)]
    many = curve_of_event(core.Composed((*kinds, NORMAL, core.Nothing())))
    alike = core.Composed((core.Repeated(laplace(Fraction(1, 165)), len(kinds)), NORMAL))
    assert is_above(many, curve_of_event(alike))
    keys = [
        core.KeySelection(Fraction(0), Fraction(1, 1000 + n), 1) for n in range(MOST_KINDS + 1)
    ]
    assert curve_of_event(core.Composed(tuple(keys))).true_positive_rate(
        Fraction(0)
    ) > Fraction(6, 100)


def test_leaves_without_an_epsilon_are_among_many_kinds_too() -> None:
    kinds = [laplace(Fraction(1, 1000 + place)) for place in range(MOST_KINDS + 1)]
    delay = core.DelayNoise(Fraction(9), 20, ONE)
    sample = core.Sampled(laplace(ONE), TENTH)
    both = curve_of_event(core.Composed((*kinds, delay, sample)))
    assert is_above(both, curve_of_event(core.Composed((delay, sample))), STEP)
    assert both.pairs < Fraction(7, 10)


def test_a_curve_that_is_not_known_bounds_nothing() -> None:
    smooth = core.SmoothLaplaceNoise(Fraction(2), Fraction(1, 30))
    assert curve_of_event(smooth).pairs == 1
    loss = core.Loss.approximate(1, "1e-6")
    assert odds_of_event(smooth, loss, TENTH).pairs == odds_of(loss, TENTH).pairs


def test_a_hull_is_above_its_points() -> None:
    curve = hull([(0.0, 0.1), (0.2, 0.2), (0.5, 0.9), (0.5, 0.8), (1.0, 1.0)])
    assert curve.false_positive.tolist() == [0.0, 0.5, 1.0]
    assert curve.true_positive.tolist() == [0.1, 0.9, 1.0]


def test_odds_of_events_are_within_those_of_their_loss() -> None:
    loss = core.Loss.zcdp("0.5")
    cap, made = odds_of(loss, TENTH), odds_of_event(NORMAL, loss, TENTH)
    assert made.pairs < cap.pairs
    assert made.found < cap.found
    assert made.belief < cap.belief
    assert cap.mu is None
    assert made.mu == gaussian_mu(NORMAL)
    assert odds_of_mu(made.mu or ONE, loss, TENTH).pairs == made.pairs
    pure = odds_of_event(laplace(ONE), core.Loss.pure(1), TENTH)
    assert pure.belief == odds_of(core.Loss.pure(1), TENTH).belief
    assert pure.to_dict()["gdp_mu"] is None
    assert made.to_dict()["gdp_mu"] == "1.000001"
    assert made.to_dict()["posterior_is_average"] is True


def test_odds_of_gaussian_noise_are_within_any_loss_of_the_budget() -> None:
    wide, narrow = core.Loss.approximate(9, "1e-6"), core.Loss.approximate("0.1", "1e-6")
    assert odds_of_mu(ONE, wide, TENTH).pairs == curve_of_mu(ONE).pairs
    assert odds_of_mu(ONE, narrow, TENTH).pairs == odds_of(narrow, TENTH).pairs
    assert gaussian_mu(core.Composed((core.Nothing(), NORMAL))) == gaussian_mu(NORMAL)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(InvalidValue, match="false_positive must be in"):
        curve_of_mu(ONE).true_positive_rate(Fraction(2))
    with pytest.raises(InvalidValue, match="prior must be in"):
        odds_of(core.Loss.pure(1), Fraction(-1))


@pytest.mark.parametrize("rho", ["0.00001", "0.01", "0.5", "4"])
def test_odds_of_gaussian_noise_need_no_curve_of_the_loss(rho: str) -> None:
    """They are read off one curve, and are what the lower one of both says."""
    loss = core.Loss.zcdp(rho, "1e-7")
    noise = core.GaussianNoise(Fraction(10**6), Fraction(10**6) / (2 * loss.amount))
    mu = odds_of_event(noise, loss, TENTH).mu
    assert mu is not None
    before = curve_of_loss.cache_info().misses
    made = odds_of_event(noise, loss, TENTH)
    assert odds_of_mu(mu, loss, TENTH) == made
    assert curve_of_loss.cache_info().misses == before
    cap = odds_of(loss, TENTH)
    assert curve_of_loss.cache_info().misses > before
    assert made.belief <= cap.belief
    assert made.pairs <= cap.pairs
    assert made.found <= cap.found
    # the lie: a cap is not read off the curve of a mu, which other noise can be above
    assert rho == "0.00001" or made.found < cap.found

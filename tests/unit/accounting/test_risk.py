from fractions import Fraction
from math import exp, tanh
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.risk import (
    advantage,
    best_auc,
    exchange,
    gaussian_advantage,
    gaussian_auc,
    in_words,
    posterior,
)
from tacit.core.loss import Loss
from tacit.errors import InvalidValue

HALF, HUNDREDTH = Fraction(1, 2), Fraction(1, 100)
TABLE = {  # epsilon: belief from 50% and from 1%, in percent; best AUC; total variation
    "0.1": ("52.5", "1.10", "0.525", "0.050"),
    "0.5": ("62.2", "1.64", "0.622", "0.245"),
    "1": ("73.1", "2.67", "0.731", "0.462"),
    "2": ("88.1", "6.95", "0.881", "0.762"),
    "4": ("98.2", "35.5", "0.982", "0.964"),
}
EPSILONS = st.fractions(0, 20)
PROBABILITIES = st.fractions(0, 1)


@pytest.mark.parametrize("epsilon", TABLE)
def test_the_table_of_the_handbook(epsilon: str) -> None:
    loss = Fraction(epsilon)
    risks = (
        100 * posterior(HALF, loss),
        100 * posterior(HUNDREDTH, loss),
        best_auc(loss),
        advantage(loss),
    )
    for risk, told in zip(risks, TABLE[epsilon], strict=True):
        digits = len(told.partition(".")[2])
        assert f"{float(risk):.{digits}f}" == told


@given(PROBABILITIES, EPSILONS, PROBABILITIES)
def test_risks_are_rounded_up_and_by_very_little(
    prior: Fraction, epsilon: Fraction, delta: Fraction
) -> None:
    power, lost = exp(epsilon), float(delta)
    told = float(prior) * power / (float(prior) * power + 1 - float(prior))
    belief = posterior(prior, epsilon, delta)
    assert float(belief) == pytest.approx(lost + (1 - lost) * told, rel=1e-12)
    variation = lost + (1 - lost) * tanh(epsilon / 2)
    assert float(advantage(epsilon, delta)) == pytest.approx(variation, rel=1e-12, abs=1e-15)
    assert prior <= belief <= 1
    assert HALF <= best_auc(epsilon, delta) <= 1


@given(EPSILONS, PROBABILITIES)
def test_the_best_curve_is_that_of_a_four_sided_die(epsilon: Fraction, delta: Fraction) -> None:
    # told all, a hint for yes, a hint for no, told all the other way
    hint = 1 / (1 + exp(epsilon))
    lost = float(delta)
    yes = [lost, (1 - lost) * (1 - hint), (1 - lost) * hint, 0.0]
    area = sum(
        p * (q / 2 if i == j else q if i < j else 0)
        for i, p in enumerate(yes)
        for j, q in enumerate(yes[::-1])
    )
    assert float(best_auc(epsilon, delta)) == pytest.approx(area)


@given(PROBABILITIES, EPSILONS, EPSILONS, PROBABILITIES)
def test_more_loss_is_more_risk(prior: Fraction, a: Fraction, b: Fraction, d: Fraction) -> None:
    less, more = sorted([a, b])
    assert posterior(prior, less) <= posterior(prior, more) <= posterior(prior, more, d)
    assert best_auc(less) <= best_auc(more) <= best_auc(more, d)
    assert advantage(less) <= advantage(more) <= advantage(more, d)


@given(PROBABILITIES, EPSILONS, EPSILONS)
def test_what_is_learned_twice_is_what_both_losses_allow(
    prior: Fraction, first: Fraction, second: Fraction
) -> None:
    twice = posterior(posterior(prior, first), second)
    assert float(twice) == pytest.approx(float(posterior(prior, first + second)), rel=1e-12)


@given(st.fractions(0, 8))
def test_gaussian_risks_are_those_of_the_normal_law(mu: Fraction) -> None:
    assert float(gaussian_auc(mu)) == pytest.approx(
        NormalDist().cdf(float(mu) / 2**0.5), rel=1e-11
    )
    assert float(gaussian_advantage(mu)) == pytest.approx(
        2 * NormalDist().cdf(float(mu) / 2) - 1, rel=1e-9, abs=1e-11
    )
    assert Fraction(float(NormalDist().cdf(float(mu) / 2**0.5))) <= gaussian_auc(mu) <= 1


def test_a_sentence_of_a_pure_loss() -> None:
    assert in_words(Loss.pure(1), HUNDREDTH) == (
        "An attacker who sees all releases and knows everyone else's data, and who thought it "
        "1% likely that one person's data was used, can now think it at most 2.68% likely, and "
        "can tell a release with that person from one without in at most 73.2 of 100 tries, "
        "where guessing succeeds in 50. If the attacker accuses 1 of 100 people who did not "
        "take part, at most 2.8 of 100 who did are found."
    )


def test_an_exchange_is_two_changes() -> None:
    """On two answers, whose probabilities one change multiplies by at most e."""
    power = Fraction(271828, 100000)
    nobody, alice = (HALF, HALF), (1 - 1 / (2 * power), 1 / (2 * power))
    bob = alice[::-1]
    for side in (alice, bob):
        ratios = [one / two for one, two in zip(side, nobody, strict=True)]
        assert all(1 / power <= ratio <= power for ratio in ratios)
    right = (alice[0] + bob[1]) / 2
    assert right > best_auc(Fraction(1))  # the lie: the bound of one change
    assert right <= best_auc(*exchange(Fraction(1)))
    assert exchange(Fraction(1), Fraction(1)) == (2, 1)
    epsilon, delta = exchange(Fraction(1), HUNDREDTH)
    assert (epsilon, round(float(delta), 4)) == (2, 0.0372)


def test_a_delta_is_told() -> None:
    sentence = in_words(Loss.approximate(1, "1e-6"), HALF)
    assert "at most 73.11% likely on average" in sentence
    assert "may learn everything with a probability of at most 0.000001" in sentence
    assert "may learn everything" not in in_words(Loss.approximate(1, 0), HALF)
    assert "in at most 100 of 100" in in_words(Loss.approximate(1, 1), HALF)


@given(st.fractions(Fraction(1, 1000), 3))
def test_rho_is_told_above_what_gaussian_noise_shows(rho: Fraction) -> None:
    sentence = in_words(Loss.zcdp(rho), HALF)
    tries = float(sentence.split(" of 100 tries")[0].split()[-1])
    shown = 100 * NormalDist().cdf(float(rho) ** 0.5)
    assert shown < tries <= 100
    assert tries < 100 * float(best_auc(20 * rho + Fraction(1, 2)))  # and is no empty bound


@pytest.mark.parametrize("loss", [Loss.pure(0), Loss.approximate(0, 0)], ids=str)
def test_nothing_lost_is_nothing_learned(loss: Loss) -> None:
    sentence = in_words(loss, HUNDREDTH)
    assert "can now think it at most 1% likely" in sentence
    assert "in at most 50 of 100 tries" in sentence


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(InvalidValue, match="prior must be in"):
        posterior(Fraction(3, 2), Fraction(1))
    with pytest.raises(InvalidValue, match="delta must be in"):
        best_auc(Fraction(1), Fraction(-1, 2))

from fractions import Fraction
from math import comb, exp, log

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

from tacit.audit.lower_bound import (
    epsilon_lower_bound,
    expected_lower_bound,
    mu_lower_bound,
)
from tacit.errors import InvalidValue
from tacit.numeric.binomial_interval import (
    greatest_probability,
    least_probability,
    regularised_beta,
)

CONFIDENCE = 0.999
MISTAKES = st.sampled_from([0.25, 0.05, 5e-4, 1e-9])
TABLE = {  # percent of epsilon that an honest mechanism shows at 10^4 to 10^7 draws a side
    0.1: (34, 79, 93, 98),
    0.5: (86, 96, 99, 100),
    1.0: (93, 98, 99, 100),
    2.0: (95, 98, 99, 100),
    4.0: (94, 98, 99, 100),
    8.0: (82, 93, 98, 99),
}


def tail(hits: int, count: int, p: Fraction) -> Fraction:
    return sum(
        (comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(hits, count + 1)),
        Fraction(0),
    )


@given(st.integers(1, 10**7), st.data(), MISTAKES)
@example(731_059, None, 5e-4)
def test_bounds_are_those_of_scipy(
    count: int, data: st.DataObject | None, mistake: float
) -> None:
    hits = data.draw(st.integers(0, count)) if data else count // 3
    lower = beta.ppf(mistake, hits, count - hits + 1) if hits else 0.0
    upper = beta.isf(mistake, hits + 1, count - hits) if hits < count else 1.0
    assert least_probability(hits, count, mistake) == pytest.approx(lower, rel=1e-8, abs=1e-15)
    assert greatest_probability(hits, count, mistake) == pytest.approx(upper, rel=1e-8)


@given(st.integers(1, 40), st.integers(0, 40), st.fractions(Fraction(1, 50), Fraction(49, 50)))
def test_the_beta_law_is_an_exact_binomial_tail(hits: int, missed: int, p: Fraction) -> None:
    exact = float(tail(hits, hits + missed, p))
    assert regularised_beta(float(p), hits, missed + 1) == pytest.approx(exact, rel=1e-11)
    assert regularised_beta(float(p), hits, missed + 2) > exact * (1 + 1e-9) or exact > 0.99


@pytest.mark.parametrize("epsilon", TABLE)
def test_an_honest_laplace_shows_what_was_computed_beforehand(epsilon: float) -> None:
    left, right = 1 / (1 + exp(-epsilon)), 1 / (1 + exp(epsilon))
    shown = [expected_lower_bound(left, right, 10**power, CONFIDENCE) for power in range(4, 8)]
    assert tuple(round(100 * bound / epsilon) for bound in shown) == TABLE[epsilon]
    assert shown == sorted(shown)
    assert shown[-1] < epsilon


def alarms(claimed: float, true: float, count: int, confidence: float) -> float:
    """The exact probability that a bound from ``count`` draws a side passes the claim."""
    left, right = (
        [binom.pmf(hits, count, p) for hits in range(count + 1)]
        for p in (1 / (1 + exp(-true)), 1 / (1 + exp(true)))
    )
    return sum(
        left[a] * right[b]
        for a in range(count + 1)
        for b in range(count + 1)
        if epsilon_lower_bound(a, count, b, count, confidence) > claimed
    )


def test_false_alarms_are_no_more_than_the_confidence_leaves() -> None:
    # nearly none of the 30% here, since two mistakes are guarded against at once
    assert 0 < alarms(claimed=1, true=1, count=25, confidence=0.7) < 0.3
    assert alarms(claimed=1, true=3, count=25, confidence=0.7) > 0.5


def test_a_scale_of_eight_tenths_is_caught() -> None:
    left, right = 1 / (1 + exp(-1.25)), 1 / (1 + exp(1.25))
    assert expected_lower_bound(left, right, 10**5, CONFIDENCE) > 1.2
    assert expected_lower_bound(left, right, 100, CONFIDENCE) < 1


def test_a_delta_lowers_what_is_shown() -> None:
    pure = epsilon_lower_bound(7000, 10_000, 2000, 10_000, CONFIDENCE)
    less = epsilon_lower_bound(7000, 10_000, 2000, 10_000, CONFIDENCE, delta=0.1)
    left = least_probability(7000, 10_000, 5e-4)
    assert pure - less == pytest.approx(log(left / (left - 0.1)))
    assert epsilon_lower_bound(7000, 10_000, 2000, 10_000, CONFIDENCE, delta=0.9) == 0


@given(st.integers(1, 1000), st.data())
def test_a_bound_is_never_below_zero(count: int, data: st.DataObject) -> None:
    left, right = (data.draw(st.integers(0, count)) for _ in range(2))
    epsilon = epsilon_lower_bound(left, count, right, count, CONFIDENCE)
    mu = mu_lower_bound(left, count, right, count, CONFIDENCE)
    assert min(epsilon, mu) >= 0
    assert left > right or epsilon == mu == 0


def test_a_gaussian_shows_its_mu() -> None:
    hits = [round(10**6 * norm.cdf(shift / 2)) for shift in (1, -1)]
    assert 0.98 < mu_lower_bound(hits[0], 10**6, hits[1], 10**6, CONFIDENCE) < 1
    hits = [round(10**6 * norm.cdf(shift / 2)) for shift in (1.05, -1.05)]
    assert mu_lower_bound(hits[0], 10**6, hits[1], 10**6, CONFIDENCE) > 1


@pytest.mark.parametrize(
    ("hits", "count", "mistake"), [(-1, 5, 0.1), (6, 5, 0.1), (2, 5, 0.0), (2, 5, 1.0)]
)
def test_impossible_counts_are_refused(hits: int, count: int, mistake: float) -> None:
    with pytest.raises(
        InvalidValue, match=f"hits={hits}, count={count} and mistake={mistake} were given"
    ):
        least_probability(hits, count, mistake)

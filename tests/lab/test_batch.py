from fractions import Fraction

import pytest

from tacit.accounting.convert import delta_of_rho, epsilon_of_rho
from tacit.accounting.curves import gaussian_delta, gaussian_scale
from tacit.accounting.pricing import cost_of, loss_of
from tacit.core.event import (
    Composed,
    Event,
    ExponentialSelection,
    GaussianNoise,
    KeySelection,
    LaplaceNoise,
    Nothing,
    RandomisedResponseEvent,
    Repeated,
    Sampled,
    TruncatedLaplaceNoise,
)
from tacit.core.loss import Measure
from tacit.errors import InvalidValue
from tacit.lab.accountants import epsilon_by_pld, report
from tacit.testing.mechanism_contract import LEAVES, SECOND_VERSIONS

MICRO = Fraction(1, 10**6)
LAPLACE = LaplaceNoise(Fraction(1), Fraction(10))
GAUSSIAN = GaussianNoise(Fraction(1), Fraction(100))
KEYS = KeySelection(Fraction(1, 10), Fraction(1, 10**8), 1)


@pytest.mark.parametrize(
    ("event", "delta", "by"),
    [
        (Repeated(LAPLACE, 2), Fraction(0), "basic"),
        (Repeated(ExponentialSelection(Fraction(1, 10)), 52), MICRO, "zCDP"),
        (Repeated(LAPLACE, 52), MICRO, "Rényi"),
        (Repeated(KEYS, 90), MICRO, "zCDP"),
        (GAUSSIAN, MICRO, "zCDP"),
    ],
)
def test_the_least_of_what_applies_is_reported(event: Event, delta: Fraction, by: str) -> None:
    found = report(event, delta)
    assert found.by == by
    assert found.delta <= delta


def test_a_report_says_what_it_needs() -> None:
    with pytest.raises(InvalidValue, match="at a delta above 0"):
        report(GAUSSIAN, Fraction(0))
    with pytest.raises(InvalidValue, match="has a delta of 9e-07 by itself"):
        report(Repeated(KEYS, 90), Fraction(1, 10**7))


def test_a_batch_that_loses_its_whole_delta_is_reported_by_its_sum() -> None:
    lost = loss_of(Repeated(KEYS, 90), Measure.APPROXIMATE)
    found = report(Repeated(KEYS, 90), lost.delta)
    assert (found.epsilon, found.by) == (lost.amount, "basic")


SUPPORTED = [leaf for leaf in (*LEAVES, *SECOND_VERSIONS) if cost_of(leaf).epsilon is not None]


@pytest.mark.parametrize("leaf", SUPPORTED, ids=lambda leaf: type(leaf).__name__)
def test_repeating_is_listing_for_every_event_handed_to_the_library(leaf: Event) -> None:
    listed = epsilon_by_pld(Composed((leaf,) * 5), 1e-2)
    assert abs(epsilon_by_pld(Repeated(leaf, 5), 1e-2) - listed) < 1e-3
    # the lie of a dropped count
    assert epsilon_by_pld(leaf, 1e-2) < listed - 1e-3


def test_the_law_of_one_number_is_used_where_it_is_one() -> None:
    gaussian = epsilon_by_pld(
        GaussianNoise(Fraction(1), Fraction(16)), 3.055e-6, one_number=True
    )
    assert abs(gaussian - 1) < 0.01
    with pytest.raises(InvalidValue, match="in which its rho adds up"):
        epsilon_by_pld(GAUSSIAN, 1e-6)
    response = epsilon_by_pld(RandomisedResponseEvent(Fraction(2, 3), 2), 1e-6)
    assert abs(response - 0.693) < 0.001


def test_a_delta_that_a_batch_loses_anyway_has_no_epsilon() -> None:
    with pytest.raises(InvalidValue, match="no finite epsilon"):
        epsilon_by_pld(KeySelection(Fraction(1), Fraction(1, 10), 1), 1e-3)


@pytest.mark.parametrize(("moved", "reach"), [(3, 5), (5, 5), (7, 5), (10, 5), (11, 5)])
def test_the_delta_of_truncated_noise_is_what_lies_beyond(moved: int, reach: int) -> None:
    scale = Fraction(2)
    weights = {y: 2.718281828459045 ** (-abs(y) / 2) for y in range(-reach, reach + 1)}
    beyond = sum(w for y, w in weights.items() if y > reach - moved) / sum(weights.values())
    claimed = float(cost_of(TruncatedLaplaceNoise(Fraction(moved), scale, reach)).delta)
    assert beyond <= claimed * (1 + 1e-9)
    if moved <= reach:
        assert claimed <= beyond * (1 + 1e-9)


def test_sampling_costs_less_and_never_more() -> None:
    whole = LaplaceNoise(Fraction(1), Fraction(1))
    part = cost_of(Sampled(whole, Fraction(1, 100)))
    assert part.epsilon is not None
    # log(1 + 0.01 * (e - 1)) = 0.01704
    assert Fraction(1703, 10**5) < part.epsilon < Fraction(1705, 10**5)
    assert cost_of(Sampled(whole, Fraction(1))).epsilon == 1
    assert cost_of(Sampled(whole, Fraction(0))).epsilon == 0
    assert cost_of(Sampled(GAUSSIAN, Fraction(1, 2))) == cost_of(GAUSSIAN)


def test_nothing_converts_to_nothing() -> None:
    assert epsilon_of_rho(Fraction(0), MICRO) == 0
    assert delta_of_rho(Fraction(0), Fraction(1)) == 0
    assert gaussian_delta(1, 0) == 0
    assert report(Nothing(), MICRO).epsilon == 0
    with pytest.raises(InvalidValue, match="delta between 0 and 1"):
        gaussian_scale(Fraction(1), Fraction(0))

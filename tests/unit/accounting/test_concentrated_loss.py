"""Prices in rho beside the Rényi divergences themselves, which are summed to 60 digits.

A price is valid if it is at least D_a / a for every order a > 1, in both directions. Each test
also tries a price that is lower by a ten-thousandth, and finds an order that refutes it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from tacit.accounting.concentrated_loss import laplace_rho, pure_rho, response_rho
from tacit.accounting.pricing import cost_of, loss_of
from tacit.core.event import (
    FIRST_VERSIONS,
    Composed,
    Event,
    GaussianNoise,
    LaplaceNoiseV2,
    PermuteAndFlipSelectionV2,
    RandomisedResponseEventV2,
    Repeated,
    Sampled,
    TruncatedLaplaceNoiseV2,
    first_version,
)
from tacit.core.loss import Measure
from tacit.testing.mechanism_contract import LEAVES, SECOND_VERSIONS

F = Fraction
DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)
LIE = Decimal(1) - Decimal(10) ** -4
ORDERS = [
    *(1 + F(1, 10**digits) for digits in (12, 8, 6)),
    *(F(numerator, 16) for numerator in (17, 20, 24, 32, 40, 64, 128, 512, 4096)),
]

Law = dict[int, Decimal]


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    with localcontext(DIGITS):
        yield


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def exp(value: Fraction) -> Decimal:
    return decimal(value).exp()


def scaled(weights: Law) -> Law:
    total = sum(weights.values(), Decimal(0))
    return {place: weight / total for place, weight in weights.items()}


def losses(one: Law, other: Law) -> Law:
    """The probability of each privacy loss, by the loss in units of 10**-50."""
    found: dict[int, Decimal] = defaultdict(Decimal)
    for place, weight in one.items():
        found[int((weight / other[place]).ln() * 10**50)] += weight
    return found


def divergence(lost: Law, order: Fraction) -> Decimal:
    """D_a / a of two laws with these privacy losses."""
    power = decimal(order - 1)
    moments = (weight * (power * loss / 10**50).exp() for loss, weight in lost.items())
    return sum(moments, Decimal(0)).ln() / (decimal(order) * power)


def most(one: Law, other: Law) -> Decimal:
    ways = losses(one, other), losses(other, one)
    return max(divergence(lost, order) for order in ORDERS for lost in ways)


# Discrete Laplace noise ----------------------------------------------------------------------


def laplace(scale: Fraction, shift: int, reach: int, centre: int = 0) -> Law:
    """The noise around ``centre``, on all integers within ``reach`` of 0 and of ``shift``."""
    places = range(-reach, shift + reach + 1)
    return scaled({y: exp(-abs(y - centre) / scale) for y in places})


MOVES = [(1, F(1)), (1, F(10)), (2, F(1)), (2, F(1, 2)), (3, F(4)), (7, F(2)), (20, F(20))]


@pytest.mark.parametrize(("moved", "scale"), MOVES)
def test_laplace_noise_costs_the_divergence_of_its_own_law(moved: int, scale: Fraction) -> None:
    reach = int(100 * scale)  # what is beyond has less than 10**-43
    here, there = (laplace(scale, moved, reach, centre) for centre in (0, moved))
    shown, price = most(here, there), decimal(laplace_rho(F(moved), scale))
    assert price >= shown - Decimal(10) ** -30
    assert price * LIE < shown


def test_one_step_costs_as_much_as_randomised_response_and_many_steps_less() -> None:
    steps = [laplace_rho(F(d), F(d)) for d in (1, 2, 10, 100, 10**6)]
    assert steps == sorted(steps, reverse=True)
    assert float(steps[0]) == pytest.approx(0.46211715726, rel=1e-9)
    assert float(steps[-1]) == pytest.approx(0.36787944117, rel=1e-9)
    assert steps[3] <= F(37, 100) < steps[1]


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(5), F(1000)])
def test_a_sensitivity_that_is_spread_over_several_integers_costs_no_more(
    scale: Fraction,
) -> None:
    for parts in ((1, 1), (1, 2), (5, 5), (1, 1, 1, 17), (3,) * 9):
        whole = laplace_rho(F(sum(parts)), scale)
        assert sum(laplace_rho(F(part), scale) for part in parts) <= whole + F(1, 10**40)
        assert sum(laplace_rho(F(part), scale) for part in parts) > 0


def test_a_split_is_measured_on_two_integers() -> None:
    scale, reach = F(2), 100
    parts = [losses(laplace(scale, d, reach), laplace(scale, d, reach, d)) for d in (1, 2)]
    price = decimal(laplace_rho(F(3), scale))
    for order in ORDERS:
        both = sum((divergence(lost, order) for lost in parts), Decimal(0))
        assert price >= both


EXTREME = [
    (sensitivity, scale)
    for sensitivity in (F(1), F(2), F(10**6), F(2**63), F(10**40))
    for scale in (F(1, 10**30), F(1, 10**5), F(1, 7), F(1), F(10**9), F(10**25), F(10**60))
]


@pytest.mark.parametrize(("sensitivity", "scale"), EXTREME)
def test_no_parameter_is_too_large_or_too_small(sensitivity: Fraction, scale: Fraction) -> None:
    with localcontext(prec=400):
        epsilon, rate = decimal(sensitivity / scale), decimal(1 / scale)
        lost = 1 - (-min(epsilon, Decimal(10**5))).exp()
        share = 2 * rate / (rate.exp() - (-rate).exp()) if rate < 10**5 else Decimal(0)
        true = epsilon - lost * share
        price = laplace_rho(sensitivity, scale)
        assert decimal(price) >= true * (1 - Decimal(10) ** -200)
        assert price <= min(sensitivity / scale, (sensitivity / scale) ** 2 / 2)
        assert decimal(price) * LIE < true


def test_moves_that_are_no_integers_are_priced_as_any_pure_mechanism() -> None:
    assert laplace_rho(F(1, 2), F(1)) == pure_rho(F(1, 2))
    assert laplace_rho(F(201, 2), F(100)) == pure_rho(F(201, 200))
    assert laplace_rho(F(0), F(3)) == 0


# Truncated Laplace noise ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moved", "scale", "reach"),
    [(1, F(1), 3), (1, F(2), 40), (4, F(3), 20), (5, F(2), 5), (6, F(2), 4), (9, F(1, 2), 6)],
)
def test_truncated_noise_costs_no_more_for_any_smaller_move(
    moved: int, scale: Fraction, reach: int
) -> None:
    cost = cost_of(TruncatedLaplaceNoiseV2(F(moved), scale, reach))
    whole = scaled({y: exp(-abs(y) / scale) for y in range(-reach, reach + 1)})
    for step in range(1, min(moved, 2 * reach) + 1):
        shared = range(step - reach, reach + 1)  # outputs of both neighbours
        here = {y: whole[y] for y in shared}
        there = {y: whole[y - step] for y in shared}
        lost = 1 - sum(here.values())
        assert decimal(cost.delta) >= lost - Decimal(10) ** -40
        assert decimal(cost.rho) >= most(scaled(here), scaled(there)) - Decimal(10) ** -40


def test_truncation_far_out_changes_nothing_that_a_lower_price_could_use() -> None:
    scale, reach, moved = F(3), 90, 4
    price = decimal(cost_of(TruncatedLaplaceNoiseV2(F(moved), scale, reach)).rho)
    whole = scaled({y: exp(-abs(y) / scale) for y in range(-reach, reach + 1)})
    shared = range(moved - reach, reach + 1)
    here = scaled({y: whole[y] for y in shared})
    there = scaled({y: whole[y - moved] for y in shared})
    assert price * LIE < most(here, there)


# Randomised response and all pure mechanisms -------------------------------------------------


def response(truth: Fraction, choices: int) -> tuple[Law, Law]:
    lie = (1 - truth) / (choices - 1)
    here, there = {0: truth, 1: lie}, {0: lie, 1: truth}
    if choices > 2:
        rest = {2: (choices - 2) * lie}
        here, there = here | rest, there | rest
    return (
        {y: decimal(weight) for y, weight in here.items()},
        {y: decimal(weight) for y, weight in there.items()},
    )


ODDS = [F(1001, 1000), F(3, 2), F(2), F(272, 100), F(10), F(150), F(10**6)]
CHOICES = [2, 3, 4, 5, 8, 20, 1000]


@pytest.mark.parametrize(("odds", "choices"), list(product(ODDS, CHOICES)))
def test_randomised_response_costs_the_divergence_of_its_own_law(
    odds: Fraction, choices: int
) -> None:
    truth = odds / (odds + choices - 1)
    shown, price = most(*response(truth, choices)), decimal(response_rho(truth, choices))
    assert price >= shown
    assert price <= decimal(response_rho(odds / (odds + 1), 2)) * (1 + Decimal(10) ** -40)
    if (choices - 2) ** 2 <= 4 * odds:
        assert price * LIE < shown
    else:
        assert price <= decimal(odds).ln() * decimal(odds).ln() / 4


def test_the_limit_at_order_one_is_too_low_for_many_choices() -> None:
    truth = F(2, 1001)
    limit = decimal(F(2)).ln() * decimal(truth - (1 - truth) / 999)
    assert 20 * limit < most(*response(truth, 1000))


def test_equal_answers_cost_nothing() -> None:
    assert response_rho(F(1, 5), 5) == 0
    assert cost_of(RandomisedResponseEventV2(F(1, 2), 2)).rho == 0


@pytest.mark.parametrize("epsilon", [F(1, 1000), F(1, 4), F(1), F(3), F(20)])
def test_no_law_of_a_pure_epsilon_costs_more_than_the_generic_price(epsilon: Fraction) -> None:
    draw, price = Random(str(epsilon)), decimal(pure_rho(epsilon))  # noqa: S311
    for _ in range(12):
        ratios = [F(draw.choice((-1, 1, 1, draw.random(), -draw.random()))) for _ in range(4)]
        here, there = with_ratios(draw, [epsilon * ratio for ratio in (-1, 1, *ratios)])
        assert price >= most(here, there)
    worst = most(*response(truth_at(epsilon), 2))
    assert price * LIE < worst <= price * (1 + Decimal(10) ** -30)


def truth_at(epsilon: Fraction) -> Fraction:
    odds = F(exp(epsilon))
    return odds / (1 + odds)


def with_ratios(draw: Random, losses: Sequence[Fraction]) -> tuple[Law, Law]:
    """Two laws whose privacy losses are ``losses``: the last weight makes both sums equal 1.

    Of the first two losses, one is negative and one is positive.
    """
    weights = [Decimal(repr(draw.random() + 0.01)) for _ in losses]
    ratios = [exp(-loss) for loss in losses]
    rest = sum((w * (1 - r) for w, r in zip(weights[1:], ratios[1:], strict=True)), Decimal(0))
    if rest < 0:
        weights[1] += (-rest + 1) / (1 - ratios[1])
        rest = sum(
            (w * (1 - r) for w, r in zip(weights[1:], ratios[1:], strict=True)), Decimal(0)
        )
    weights[0] = rest / (ratios[0] - 1)  # the mean of the ratios becomes 1
    here = {place: weight for place, weight in enumerate(weights) if weight > 0}
    there = {place: here[place] * ratios[place] for place in here}
    return scaled(here), scaled(there)


@pytest.mark.parametrize("epsilon", [F(1, 10**60), F(1, 10**20), F(1, 3), F(10**4), F(10**9)])
def test_a_generic_price_is_never_above_its_bounds(epsilon: Fraction) -> None:
    assert 0 < pure_rho(epsilon) <= min(epsilon, epsilon**2 / 2)


# Versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", SECOND_VERSIONS, ids=lambda leaf: type(leaf).__name__)
def test_a_second_version_changes_rho_alone(leaf: Event) -> None:
    now, before = cost_of(leaf), cost_of(first_version(leaf))
    assert replace(now, rho=before.rho) == before
    assert now.rho < before.rho
    assert now.epsilon is not None
    assert type(first_version(leaf)) is FIRST_VERSIONS[type(leaf)]
    assert first_version(leaf) in LEAVES


def test_every_second_version_has_an_example() -> None:
    assert {type(leaf) for leaf in SECOND_VERSIONS} == FIRST_VERSIONS.keys()
    assert {kind.__name__ for kind in FIRST_VERSIONS} == {
        f"{first.__name__}V2" for first in FIRST_VERSIONS.values()
    }


def test_first_versions_are_found_inside_of_all_events() -> None:
    leaf, gauss = PermuteAndFlipSelectionV2(F(1)), GaussianNoise(F(1), F(2))
    nested = Composed((Repeated(leaf, 3), Sampled(leaf, F(1, 2)), gauss))
    before = first_version(leaf)
    assert first_version(nested) == Composed(
        (Repeated(before, 3), Sampled(before, F(1, 2)), gauss)
    )
    assert first_version(before) == before != leaf


def test_a_sample_costs_at_most_its_inner_event() -> None:
    leaf = LaplaceNoiseV2(F(100), F(100))
    inner, sampled = (cost_of(event) for event in (leaf, Sampled(leaf, F(1))))
    assert sampled.rho == inner.rho
    assert cost_of(Sampled(leaf, F(1, 10))).rho < inner.rho / 10
    assert loss_of(Sampled(leaf, F(1)), Measure.ZCDP).amount <= F(37, 100)

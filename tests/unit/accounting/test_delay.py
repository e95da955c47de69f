"""The law of a delay, from the table by which it is drawn: its rho, its delta, and two lies."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest

from tacit.accounting.pricing import cost_of, loss_of
from tacit.core.event import DelayNoise
from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue
from tacit.noise.inversion import TruncatedBell, compute_thresholds
from tacit.numeric import sqrt_bounds

F = Fraction
BITS = 200
"""Bits of the thresholds: the table of the sampler, as exact as the test needs it."""

ORDERS = (
    "1.0001",
    "1.01",
    "1.1",
    "1.5",
    "2",
    "3",
    "5",
    "10",
    "30",
    "100",
    "300",
    "1000",
    "1e4",
)
CASES = [
    (F(40000), 1387),
    (F(1667), 268),
    (F(500), 140),
    (F(3, 2), 9),
    (F(1, 4), 4),
    (F(9), 3),
    (F(50), 8),
]


def probabilities(variance: Fraction, reach: int) -> list[Decimal]:
    """The probability of each outcome from -reach to reach, by the sampler's own thresholds."""
    table = [0, *compute_thresholds(TruncatedBell(variance, reach), BITS), 2**BITS]
    assert len(table) == 2 * reach + 2
    return [Decimal(upper - lower) / 2**BITS for lower, upper in pairwise(table)]


def worst(law: list[Decimal], rho: Decimal) -> Decimal:
    """The largest D_a / (a * rho) over all orders, both ways, on the common support."""
    found = Decimal(0)
    common = 1 - law[0]
    # outcome k of one neighbour is outcome k - 1 of the other
    mine, other = [p / common for p in law[1:]], [p / common for p in law[:-1]]
    logs = [(p.ln(), q.ln()) for p, q in zip(mine, other, strict=True)]
    for text in ORDERS:
        order = Decimal(text)
        for way in (1, -1):
            terms = [order * p + (1 - order) * q for p, q in (pair[::way] for pair in logs)]
            most = max(terms)
            total = sum(((term - most).exp() for term in terms), Decimal(0))
            divergence = (most + total.ln()) / (order - 1)
            found = max(found, divergence / (order * rho))
    return found


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


@pytest.mark.parametrize(("variance", "reach"), CASES)
def test_the_price_of_a_delay_holds_for_the_table_that_draws_it(
    variance: Fraction, reach: int
) -> None:
    with localcontext() as context:
        context.prec = 70
        cost, law = cost_of(DelayNoise(variance, reach, F(1))), probabilities(variance, reach)
        assert cost.rho == 1 / (2 * variance)
        assert worst(law, decimal(cost.rho)) <= 1 + Decimal("1e-15")
        edge = law[0]
        assert edge <= decimal(cost.delta)
        if reach**2 > 9 * variance:  # otherwise the bound is not meant to be tight
            assert decimal(cost.delta) <= edge * Decimal("1.02")


def test_a_scale_that_is_one_percent_too_small_is_caught() -> None:
    variance, reach = CASES[2]
    with localcontext() as context:
        context.prec = 70
        rho = decimal(cost_of(DelayNoise(variance, reach, F(1))).rho)
        assert worst(probabilities(variance * F(99, 100) ** 2, reach), rho) > Decimal("1.01")


def test_a_reach_that_is_five_percent_too_small_is_caught() -> None:
    variance, reach = CASES[2]
    with localcontext() as context:
        context.prec = 70
        delta = decimal(cost_of(DelayNoise(variance, reach, F(1))).delta)
        assert probabilities(variance, reach * 95 // 100)[0] > 2 * delta


def test_laws_two_steps_apart_lose_four_times_as_much() -> None:
    """The lie of a person who moves the time by two steps."""
    variance, reach = CASES[3]
    with localcontext() as context:
        context.prec = 70
        law = probabilities(variance, reach)
        rho = decimal(1 / (2 * variance))
        ratio = [(p / q).ln() for p, q in zip(law[2:], law[:-2], strict=True)]
        loss = sum((p * r for p, r in zip(law[2:], ratio, strict=True)), Decimal(0))
        assert abs(loss) > 3 * rho


def test_a_delay_has_a_rho_and_a_delta_and_no_pure_epsilon() -> None:
    event = DelayNoise(F(40000), 1387, F(1))
    loss = loss_of(event, Measure.ZCDP)
    assert loss.amount == F(1, 80000)
    assert F(1, 10**14) < loss.delta < F(1, 10**12)
    with pytest.raises(InvalidValue, match="no pure epsilon"):
        loss_of(event, Measure.PURE)
    small = loss_of(event, Measure.APPROXIMATE, F(1, 10**9))
    assert small.delta == loss.delta + F(1, 10**9)
    assert not small <= Loss(Measure.APPROXIMATE, F(0), small.delta)


@pytest.mark.parametrize(
    ("variance", "reach", "step"), [(0, 3, 1), (4, 0, 1), (4, 1, 1), (4, 3, 0)]
)
def test_a_delay_without_its_conditions_is_refused(
    variance: int, reach: int, step: int
) -> None:
    with pytest.raises(InvalidValue, match=r"must be (above 0|at least 1)"):
        DelayNoise(F(variance), reach, F(step))


def test_the_reach_may_be_the_root_of_the_variance() -> None:
    root = sqrt_bounds(F(9))[0]
    assert DelayNoise(F(9), int(root), F(1)).reach == 3

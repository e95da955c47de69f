"""The price of each kind of event by exact fractions, and how prices are rounded: upwards."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from tacit.accounting import convert as converting
from tacit.accounting import pricing as calibrating
from tacit.accounting.convert import (
    PRINTED,
    RHO_UNIT,
    budget_within,
    convert,
    delta_of_rho,
    epsilon_of_rho,
    least_at,
    least_that,
    rho_within,
    to_approximate_dp,
)
from tacit.accounting.pricing import (
    EPSILON_UNIT,
    Cost,
    calibrate,
    cost_of,
    delta_at,
    leaves,
    loss_of,
)
from tacit.core.event import (
    AboveThreshold,
    BallNoise,
    Composed,
    CubeNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    KeySelection,
    LaplaceNoise,
    LomaxNoise,
    Nothing,
    PermuteAndFlipSelection,
    ProposeTestReleaseEvent,
    RandomisedResponseEvent,
    RealGaussianNoise,
    Repeated,
    Sampled,
    StudentNoise,
    TruncatedLaplaceNoise,
)
from tacit.core.loss import Loss, Measure
from tacit.errors import InvalidValue
from tacit.numeric.exact_numbers import exp_bounds, log_bounds

F = Fraction
TENTH, MICRO = F(1, 10), F(1, 10**6)
LAPLACE = LaplaceNoise(F(2), F(20))
GAUSS = GaussianNoise(F(3), F(50))
KEYS = KeySelection(F(1, 5), F(1, 10**7), 3)

EXACT: list[tuple[Event, Cost]] = [
    (LAPLACE, Cost(TENTH, F(1, 200))),
    (LaplaceNoise(F(0), F(20)), Cost(F(0), F(0))),
    (GAUSS, Cost(None, F(3, 100))),
    (RealGaussianNoise(F(3), F(50)), Cost(None, F(3, 100))),
    (CubeNoise(F(2), F(20), 7), Cost(TENTH, F(1, 200))),
    (BallNoise(F(4), F(20), 7), Cost(TENTH, F(1, 200))),
    # a bounded range costs a quarter of what a pure leaf does
    (ExponentialSelection(TENTH), Cost(TENTH, F(1, 800))),
    (PermuteAndFlipSelection(TENTH), Cost(TENTH, F(1, 200))),
    (RandomisedResponseEvent(F(1, 2), 2), Cost(F(0), F(0))),
    (RandomisedResponseEvent(F(1, 5), 5), Cost(F(0), F(0))),
    (KEYS, Cost(F(3, 5), F(3, 50), F(3, 10**7))),
    (AboveThreshold(TENTH, F(1, 5)), Cost(F(3, 10), F(9, 200))),
    (LomaxNoise(TENTH, F(1, 100)), Cost(TENTH, F(1, 200))),
    (StudentNoise(4, F(1, 50), F(1, 5)), Cost(F(33, 100), F(33, 100) ** 2 / 2)),
    (ProposeTestReleaseEvent(TENTH, F(1, 5), MICRO), Cost(F(3, 10), F(9, 200), MICRO)),
]


@pytest.mark.parametrize(("event", "cost"), EXACT, ids=lambda part: type(part).__name__)
def test_what_a_leaf_costs(event: Event, cost: Cost) -> None:
    assert cost_of(event) == cost


def test_an_event_without_a_rule_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no rule for the privacy loss of Nothing"):
        cost_of(Nothing())


@pytest.mark.parametrize(("truth", "choices", "odds"), [(F(2, 3), 2, 2), (F(1, 2), 5, 4)])
def test_randomised_response_costs_the_logarithm_of_its_odds(
    truth: Fraction, choices: int, odds: int
) -> None:
    cost = cost_of(RandomisedResponseEvent(truth, choices))
    assert cost.epsilon == log_bounds(F(odds))[1]
    assert cost.rho == cost.epsilon**2 / 2
    assert cost.epsilon > log_bounds(F(odds))[0]


def test_a_ball_of_an_irrational_radius_is_rounded_up() -> None:
    cost = cost_of(BallNoise(F(2), F(1), 3))
    assert cost.epsilon is not None
    assert cost.epsilon**2 > 2
    assert cost.epsilon**2 - 2 < F(1, 10**40)
    student = cost_of(StudentNoise(3, F(1, 50), F(1, 5)))
    assert student.epsilon is not None
    # 3/50 + (1/5) * 4 / (2 * sqrt(3)), where the root is rounded down
    assert (F(2, 5) / (student.epsilon - F(3, 50))) ** 2 < 3


def truncated(moved: int, scale: int, reach: int) -> Fraction:
    cost = cost_of(TruncatedLaplaceNoise(F(moved), F(scale), reach))
    assert cost.epsilon == F(moved, scale)
    return cost.delta


@pytest.mark.parametrize(
    ("moved", "scale", "reach"),
    [
        (1, 1, 3),
        (1, 5, 3),
        (2, 5, 3),
        (3, 5, 3),
        (4, 5, 3),
        (6, 5, 3),
        (1, 2, 0),
        (2, 1, 40),
        (2, 5, 1),
    ],
)
def test_truncated_noise_loses_what_its_neighbour_cannot_reach(
    moved: int, scale: int, reach: int
) -> None:
    with localcontext() as context:
        context.prec = 60
        weights = {y: (-Decimal(abs(y)) / scale).exp() for y in range(-reach, reach + 1)}
        total = sum(weights.values())
        lost = sum(w for y, w in weights.items() if y + moved > reach)
        exact = F(lost / total)
    found = truncated(moved, scale, reach)
    assert exact - F(1, 10**50) <= found
    if moved <= reach + 1:
        assert found <= exact + F(1, 10**30)
    assert found <= 1


def test_truncated_noise_that_is_moved_out_of_reach_loses_everything() -> None:
    assert truncated(7, 5, 3) == 1
    assert truncated(1, 5, 0) == 1
    assert truncated(6, 5, 3) <= 1
    assert truncated(2, 5, 1) < 1  # one value is in reach of both
    # a part of a step moves as far as a whole one
    part = cost_of(TruncatedLaplaceNoise(F(3, 2), F(5), 3))
    assert part.delta == truncated(2, 5, 3)
    assert part.epsilon == F(3, 10)


@pytest.mark.parametrize("probability", [F(1, 100), TENTH, F(1, 2), F(1)])
def test_a_sample_of_a_leaf_with_a_delta_loses_the_share_of_it(probability: Fraction) -> None:
    cost = cost_of(Sampled(KEYS, probability))
    assert cost.delta == probability * F(3, 10**7)
    grown = 1 + probability * (exp_bounds(F(3, 5))[1] - 1)
    assert cost.epsilon == min(F(3, 5), log_bounds(grown)[1])
    assert cost.rho == min(F(3, 50), cost.epsilon**2 / 2)
    # the lie that no test noticed: a square of the probability
    assert probability == 1 or cost.delta > probability**2 * F(3, 10**7)


def test_a_sample_of_nobody_or_of_gaussian_noise() -> None:
    assert cost_of(Sampled(LAPLACE, F(0))) == Cost(F(0), F(0), F(0))
    assert cost_of(Sampled(GAUSS, F(1, 100))) == cost_of(GAUSS)
    assert cost_of(Sampled(LaplaceNoise(F(0), F(1)), F(1, 2))) == Cost(F(0), F(0))


def test_the_leaves_of_a_history_and_how_often_each_happened() -> None:
    history = Composed((LAPLACE, Nothing(), Repeated(Composed((GAUSS, Repeated(KEYS, 3))), 2)))
    assert list(leaves(history)) == [(LAPLACE, 1), (GAUSS, 2), (KEYS, 6)]
    assert list(leaves(Repeated(LAPLACE, 0))) == list(leaves(Nothing())) == []


@pytest.mark.parametrize(
    ("event", "measure", "loss"),
    [
        (LAPLACE, Measure.PURE, Loss.pure(TENTH)),
        (LAPLACE, Measure.ZCDP, Loss.zcdp(F(1, 200))),
        (LAPLACE, Measure.APPROXIMATE, Loss.approximate(TENTH, 0)),
        (GAUSS, Measure.ZCDP, Loss.zcdp(F(3, 100))),
        (KEYS, Measure.ZCDP, Loss.zcdp(F(3, 50), F(3, 10**7))),
        (KEYS, Measure.APPROXIMATE, Loss.approximate(F(3, 5), F(3, 10**7))),
        (Repeated(KEYS, 4), Measure.ZCDP, Loss.zcdp(F(12, 50), F(12, 10**7))),
        (Composed((LAPLACE, GAUSS)), Measure.ZCDP, Loss.zcdp(F(7, 200))),
        (Nothing(), Measure.APPROXIMATE, Loss.approximate(0, 0)),
    ],
)
def test_the_loss_of_an_event(event: Event, measure: Measure, loss: Loss) -> None:
    assert loss_of(event, measure) == loss


def test_gaussian_noise_is_converted_each_time_at_its_own_delta() -> None:
    loss = loss_of(Repeated(GAUSS, 3), Measure.APPROXIMATE, MICRO)
    assert loss.amount == 3 * epsilon_of_rho(F(3, 100), MICRO)
    assert loss.delta == 3 * MICRO
    with pytest.raises(InvalidValue, match="needs a delta between 0 and 1, and 0 is not"):
        loss_of(GAUSS, Measure.APPROXIMATE)


@pytest.mark.parametrize("event", [GAUSS, KEYS, Composed((LAPLACE, KEYS))])
def test_what_has_a_delta_has_no_pure_loss(event: Event) -> None:
    with pytest.raises(InvalidValue, match="no pure epsilon, because its guarantee needs"):
        loss_of(event, Measure.PURE)


# ---------------------------------------------------------------- curves


def test_the_curve_of_a_pure_event_is_that_of_randomised_response() -> None:
    assert delta_at(LAPLACE, TENTH) == 0
    assert delta_at(LAPLACE, F(1)) == 0
    top = exp_bounds(TENTH)[1]
    bottom = exp_bounds(F(1, 20))[0]
    assert delta_at(LAPLACE, F(1, 20)) == (top - bottom) / (top + 1)


def test_the_curve_of_an_event_with_a_delta_starts_above_it() -> None:
    lost = F(3, 10**7)
    assert delta_at(KEYS, F(3, 5)) == lost
    top = exp_bounds(F(3, 5))[1]
    response = (top - exp_bounds(F(0))[0]) / (top + 1)
    by_response = lost + (1 - lost) * response
    assert delta_at(KEYS, F(0)) == min(by_response, lost + delta_of_rho(F(3, 50), F(0)))
    assert delta_at(Repeated(KEYS, 2), F(6, 5)) == 2 * lost


def test_the_least_of_the_bounds_is_taken() -> None:
    many = Repeated(LAPLACE, 400)  # epsilon 40 by addition, rho 2
    assert delta_at(many, F(30)) == delta_of_rho(F(2), F(30)) < F(1, 10**40)
    both = Composed((GAUSS, LAPLACE))
    assert delta_at(both, F(1)) == delta_of_rho(F(7, 200), F(1))
    assert delta_at(Repeated(GAUSS, 10**6), F(0)) == 1


# ---------------------------------------------------------------- conversions


def true_epsilon(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """The conversion at one order, to 90 digits."""
    with localcontext() as context:
        context.prec = 90

        def ln(value: Fraction) -> Decimal:
            return (Decimal(value.numerator) / Decimal(value.denominator)).ln()

        a = Decimal(order.numerator) / Decimal(order.denominator)
        inner = ln(1 / delta) + a * ln(1 - 1 / order) - ln(order - 1)
        exact = a * Decimal(rho.numerator) / Decimal(rho.denominator) + inner / (a - 1)
        return F(exact)


DELTAS = [F(1, 3), F(1, 7), F(1, 1000), MICRO, F(3, 10**7), F(1, 10**9), F(2, 7**20)]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("order", [F(11, 10), F(2), F(17, 3), F(100), F(10**6)])
def test_a_conversion_at_an_order_is_rounded_up_and_hardly(
    delta: Fraction, order: Fraction
) -> None:
    exact = true_epsilon(F(1, 7), delta, order)
    found = converting._at_order(F(1, 7), delta, order)
    assert exact < found  # with log(1 / delta) rounded down it would be below for some of these
    assert found - exact < F(1, 10**40)


@pytest.mark.parametrize("delta", DELTAS)
def test_each_part_of_a_conversion_is_rounded_up(delta: Fraction) -> None:
    order = F(17, 3)
    parts = (
        log_bounds(1 / delta)[1],
        order * log_bounds(1 - 1 / order)[1],
        -log_bounds(order - 1)[0],
    )
    found = converting._at_order(F(1, 7), delta, order)
    assert found == order / 7 + sum(parts) / (order - 1)
    lower = log_bounds(1 / delta)[0]
    assert lower < parts[0]
    assert found > order / 7 + (lower + parts[1] + parts[2]) / (order - 1)


@pytest.mark.parametrize("order", [F(11, 10), F(2), F(17, 3), F(100)])
def test_the_logarithm_of_a_delta_is_rounded_up(order: Fraction) -> None:
    rho, epsilon = F(1, 7), F(2)
    found = converting._log_delta(rho, epsilon, order)
    upper, lower = log_bounds(1 - 1 / order)[1], log_bounds(order - 1)[0]
    assert found == (order - 1) * (order * rho - epsilon) + order * upper - lower


def test_the_two_conversions_are_inverse() -> None:
    for rho in (F(1, 100), F(1, 2), F(3)):
        epsilon = epsilon_of_rho(rho, MICRO)
        assert delta_of_rho(rho, epsilon) == pytest.approx(1e-6, rel=1e-6)
    assert epsilon_of_rho(F(0), MICRO) == delta_of_rho(F(0), F(0)) == 0
    assert delta_of_rho(F(10**6), F(0)) == 1
    assert epsilon_of_rho(F(1, 10**15), F(999, 1000)) == 0


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(8)])
def test_the_most_rho_within_an_epsilon(epsilon: Fraction) -> None:
    rho = rho_within(epsilon, MICRO)
    assert F(1, 10**12) == RHO_UNIT
    assert (rho / RHO_UNIT).denominator == 1
    assert epsilon_of_rho(rho, MICRO) <= epsilon < epsilon_of_rho(rho + RHO_UNIT, MICRO)


@pytest.mark.parametrize(
    ("loss", "measure", "found"),
    [
        (Loss.pure(TENTH), Measure.PURE, Loss.pure(TENTH)),
        (Loss.pure(TENTH), Measure.APPROXIMATE, Loss.approximate(TENTH, 0)),
        (Loss.pure(TENTH), Measure.ZCDP, Loss.zcdp(F(1, 200))),
        (Loss.approximate(TENTH, MICRO), Measure.ZCDP, Loss.zcdp(F(1, 200), MICRO)),
        (Loss.zcdp(TENTH, MICRO), Measure.ZCDP, Loss.zcdp(TENTH, MICRO)),
    ],
)
def test_conversions_by_hand(loss: Loss, measure: Measure, found: Loss) -> None:
    assert convert(loss, measure, F(1, 2)) == found


def test_a_conversion_of_rho_adds_its_delta() -> None:
    found = convert(Loss.zcdp(TENTH, MICRO), Measure.APPROXIMATE, F(1, 10**5))
    assert found == Loss.approximate(epsilon_of_rho(TENTH, F(1, 10**5)), MICRO + F(1, 10**5))
    for loss in (Loss.zcdp(TENTH), Loss.approximate(TENTH, MICRO)):
        with pytest.raises(InvalidValue, match="cannot be converted to epsilon"):
            convert(loss, Measure.PURE)


# ---------------------------------------------------------------- what is promised


def test_what_is_printed_of_rho_is_rounded_up_to_a_millionth() -> None:
    found = to_approximate_dp(Loss.zcdp(TENTH, MICRO), MICRO)
    exact = epsilon_of_rho(TENTH, MICRO)
    assert exact < found.amount < exact + PRINTED
    assert (found.amount / PRINTED).denominator == 1
    assert (found.measure, found.delta) == (Measure.APPROXIMATE, 2 * MICRO)
    for loss in (Loss.pure(TENTH), Loss.approximate(TENTH, MICRO)):
        assert to_approximate_dp(loss, MICRO) == loss


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("3", "1e-5"), ("0.5", "0.9")])
def test_a_budget_keeps_a_hundredth_of_its_delta_for_keys(epsilon: str, delta: str) -> None:
    budget = budget_within(epsilon, delta)
    rest = F(delta) * F(99, 100)
    assert (budget.cap.delta, budget.conversion_delta) == (F(delta) / 100, rest)
    assert budget.cap.amount == rho_within(F(epsilon), rest)
    total = to_approximate_dp(budget.cap, rest)
    assert total.amount <= F(epsilon)
    assert total.delta == F(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("3", "1e-5")])
def test_a_ledger_that_kept_half_of_its_delta_for_keys_still_does(
    epsilon: str, delta: str
) -> None:
    half = F(delta) / 2
    budget = budget_within(epsilon, delta, recorded_delta=half)
    assert (budget.cap.delta, budget.conversion_delta) == (half, half)
    assert budget.cap.amount == rho_within(F(epsilon), half)
    assert to_approximate_dp(budget.cap, half).delta == F(delta)
    # any other delta in the ledger is not taken over, so that it is refused elsewhere
    for recorded in (None, F(delta), F(delta) / 3, F(delta) * F(99, 100)):
        assert budget_within(epsilon, delta, recorded) == budget_within(epsilon, delta)


@pytest.mark.parametrize(("epsilon", "saved"), [("0.5", F(6, 100)), ("3", F(49, 1000))])
def test_a_hundredth_for_keys_saves_variance(epsilon: str, saved: Fraction) -> None:
    now = budget_within(epsilon, MICRO).cap.amount
    before = budget_within(epsilon, MICRO, MICRO / 2).cap.amount
    assert saved <= 1 - before / now <= saved + F(2, 1000)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0", "1e-6"), ("-1", "1e-6"), ("1", "0"), ("1", "1"), ("1", "2")]
)
def test_a_budget_that_promises_nothing_is_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(InvalidValue, match="an epsilon above 0 and a delta between 0 and 1"):
        budget_within(epsilon, delta)


def test_an_epsilon_below_a_millionth_is_no_budget() -> None:
    with pytest.raises(InvalidValue, match="an epsilon above 0"):
        budget_within("0.0000009", "1e-6")


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 8, 9, 1000])
@pytest.mark.parametrize("near", [0, 1, 6, 8, 9, 500, 1000, 10**6])
def test_the_least_multiple_that_holds(wanted: int, near: int) -> None:
    unit = F(1, 3)
    tried: list[Fraction] = []

    def holds(value: Fraction) -> bool:
        tried.append(value)
        return value >= wanted * unit

    assert least_that(holds, unit, near * unit + unit / 2) == wanted * unit
    assert min(tried) >= unit  # 0 is never asked
    assert len(tried) <= 2 * abs(wanted - max(near, 1)).bit_length() + 2


@pytest.mark.parametrize("at", [-29.5, 0.0, 3.25, 59.0])
def test_where_a_function_is_least(at: float) -> None:
    assert least_at(lambda x: abs(x - at), -30.0, 60.0) == pytest.approx(at, abs=1e-9)


def test_noise_is_calibrated_to_the_last_unit() -> None:
    def noise(scale: Fraction) -> Event:
        return LaplaceNoise(F(1), scale)

    unit = F(1, 1000)
    found = calibrate(noise, Loss.pure(F(3, 10)), unit=unit)
    assert loss_of(noise(found), Measure.PURE) <= Loss.pure(F(3, 10))
    assert not loss_of(noise(found - unit), Measure.PURE) <= Loss.pure(F(3, 10))
    assert (found / unit).denominator == 1
    assert F(1, 10**9) == calibrating.UNIT
    assert EPSILON_UNIT == PRINTED == MICRO


@pytest.mark.parametrize("loss", [Loss.pure(0), Loss.zcdp(0), Loss.approximate(0, "1e-6")])
def test_no_noise_is_enough_for_no_loss(loss: Loss) -> None:
    with pytest.raises(
        InvalidValue, match=r"No amount of noise is enough for .*; ask for a loss above 0"
    ):
        calibrate(lambda scale: LaplaceNoise(F(1), scale), loss)

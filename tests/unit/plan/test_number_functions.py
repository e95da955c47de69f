"""Functions of numbers: the integers of exact arithmetic, and the least range of each."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, floor, log, sqrt, trunc

import pytest

from tacit.engines.reference import steps
from tacit.errors import InvalidValue
from tacit.plan import number_functions as functions
from tacit.plan.expression import Function
from tacit.plan.steps import ComputedSteps, Curve, Ranged, WholeSteps, in_one_step

HALF, CENT = Fraction(1, 2), Fraction(1, 100)
RANGES = ((-25, 25), (0, 25), (3, 25), (-25, -4), (-25, 0), (0, 0), (-1, 1))


def of(
    low: int, high: int, step: Fraction = Fraction(1), rounding: Fraction = Fraction(0)
) -> Ranged:
    """A number of which a row can have any value of the range."""
    return Ranged(ComputedSteps("x"), low, high, step, rounding)


def values(found: Ranged, given: Ranged) -> list[Fraction]:
    """The values of a function for each value of its argument."""
    made = [steps(found.steps, {"x": x}) for x in range(given.low, given.high + 1)]
    assert steps(found.steps, {"x": None}) is None
    assert None not in made
    assert all(found.low <= each <= found.high for each in made if each is not None)
    return [each * found.step for each in made if each is not None]


def arguments(given: Ranged) -> list[Fraction]:
    return [x * given.step for x in range(given.low, given.high + 1)]


def is_least(found: Ranged, given: Ranged) -> bool:
    """Whether both ends of the range are values, so that a narrower range would be false."""
    made = values(found, given)
    return min(made) == found.low * found.step and max(made) == found.high * found.step


def half_away_from_zero(number: Fraction) -> int:
    size = floor(abs(number) + HALF)
    return size if number >= 0 else -size


ROUNDINGS: list[tuple[Function, Callable[[Fraction], int]]] = [
    (Function.FLOOR, floor),
    (Function.CEIL, ceil),
    (Function.TRUNCATE, trunc),
    (Function.ROUND, half_away_from_zero),
    (Function.INTEGER, half_away_from_zero),
]


@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize(
    "step", [Fraction(1, 2), Fraction(1, 3), Fraction(3, 4), Fraction(2, 7)]
)
@pytest.mark.parametrize(("how", "wanted"), ROUNDINGS)
def test_a_rounded_number_is_that_of_exact_arithmetic(
    how: Function, wanted: Callable[[Fraction], int], step: Fraction, ends: tuple[int, int]
) -> None:
    given = of(*ends, step)
    found = functions.round_to(given, how)
    assert values(found, given) == [wanted(x) for x in arguments(given)]
    assert found.step == 1
    assert is_least(found, given)


@pytest.mark.parametrize(("digits", "step"), [(1, Fraction(1, 10)), (-1, Fraction(10))])
@pytest.mark.parametrize(("how", "wanted"), ROUNDINGS)
def test_a_number_is_rounded_to_digits_before_and_after_the_point(
    how: Function, wanted: Callable[[Fraction], int], digits: int, step: Fraction
) -> None:
    given = of(-777, 777, step / 50)
    found = functions.round_to(given, how, digits)
    assert values(found, given) == [wanted(x / step) * step for x in arguments(given)]
    assert is_least(found, given)


def test_a_number_that_is_round_already_stays_as_it_is() -> None:
    given = of(-3, 3, Fraction(5))
    assert functions.round_to(given, Function.FLOOR) is given
    assert functions.round_to(given, Function.ROUND, 2) is given


def test_numbers_close_to_each_other_can_be_rounded_one_step_apart() -> None:
    rounded = of(0, 99, CENT, rounding=CENT)
    assert functions.round_to(rounded, Function.FLOOR).rounding == 1
    assert functions.round_to(of(0, 99, CENT), Function.FLOOR).rounding == 0


def test_digits_have_a_limit() -> None:
    with pytest.raises(InvalidValue, match="rounded to at most 18 digits"):
        functions.round_to(of(0, 9), Function.ROUND, -19)


@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize(
    "divisor", [Fraction(3), Fraction(-3), Fraction(7, 5), Fraction(-1, 9)]
)
def test_a_quotient_is_exact(ends: tuple[int, int], divisor: Fraction) -> None:
    given = of(*ends, CENT)
    found = functions.divide(given, divisor)
    assert values(found, given) == [x / divisor for x in arguments(given)]
    assert is_least(found, given)


def test_nothing_is_divided_by_zero() -> None:
    with pytest.raises(InvalidValue, match="Division by 0 has no value"):
        functions.divide(of(0, 1), Fraction(0))


@pytest.mark.parametrize("ends", RANGES)
def test_absolute_values(ends: tuple[int, int]) -> None:
    given = of(*ends, HALF)
    found = functions.absolute(given)
    assert values(found, given) == [abs(x) for x in arguments(given)]
    assert is_least(found, given)


@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 8])
def test_powers(ends: tuple[int, int], exponent: int) -> None:
    given = of(*ends, HALF)
    found = functions.power(given, Fraction(exponent))
    assert values(found, given) == [x**exponent for x in arguments(given)]
    assert is_least(found, given)


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(-1), Fraction(9), Fraction(3, 2)])
def test_other_exponents_are_refused(exponent: Fraction) -> None:
    with pytest.raises(
        InvalidValue, match=r"exponent of POWER must be 0\.5 or an integer from 1"
    ):
        functions.power(of(1, 5), exponent)


def test_extremes_ignore_null_and_know_that_a_constant_is_there() -> None:
    given, limit = of(-4, 9, HALF), Ranged.constant(Fraction(3, 2))
    most = functions.extreme([given, limit], greatest=True)
    least = functions.extreme([given, limit], greatest=False)
    assert (most.low * most.step, most.high * most.step) == (Fraction(3, 2), Fraction(9, 2))
    assert (least.low * least.step, least.high * least.step) == (-2, Fraction(3, 2))
    assert [steps(most.steps, {"x": x}) for x in (None, 9, 2)] == [3, 9, 3]
    assert [steps(least.steps, {"x": x}) for x in (None, 9, 2)] == [3, 3, 2]
    nothing = Ranged(WholeSteps(None), 0, 0, Fraction(1))
    unknown = functions.extreme([given, nothing], greatest=True)
    assert unknown.low == given.low
    assert steps(unknown.steps, {"x": None}) is None


EXACT = {Curve.ROOT: sqrt, Curve.LOGARITHM: log, Curve.EXPONENTIAL: exp}


@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 120, Fraction(1)), (-1050, 9999, CENT), (1, 4, Fraction(10)), (-9, -2, Fraction(1))],
)
def test_curves_are_close_and_null_outside_of_their_domain(
    curve: Curve, low: int, high: int, step: Fraction
) -> None:
    given = of(low, high, step)
    if curve is Curve.EXPONENTIAL and high * step > functions.WIDEST_EXPONENT:
        with pytest.raises(InvalidValue, match="argument of EXP must be from -40 to 40"):
            functions.curve(curve, given)
        given = functions.divide(given, Fraction(10))
    found = functions.curve(curve, given)
    for x in range(low, high + 1):
        made = steps(found.steps, {"x": x})
        value = float(x * given.step)
        inside = {Curve.ROOT: x >= 0, Curve.LOGARITHM: x > 0}.get(curve, True)
        assert (made is not None) is inside
        if made is not None:
            assert found.low <= made <= found.high
            assert abs(made * found.step - Fraction(EXACT[curve](value))) <= found.rounding


def test_curves_of_floats_must_be_in_the_domain() -> None:
    near = Fraction(1, 2**30)
    for curve, low in ((Curve.ROOT, -1), (Curve.LOGARITHM, 0), (Curve.LOGARITHM, -1)):
        with pytest.raises(InvalidValue, match=r"of a float needs bounds .* 0, and this"):
            functions.curve(curve, of(low, 9, near * 2, near))
    root = functions.curve(Curve.ROOT, of(0, 9, near * 2, near))
    assert root.rounding > Fraction(1, 2**16)  # the root of a small number moves far
    with pytest.raises(InvalidValue, match="further from 0 than the rounding"):
        functions.curve(Curve.LOGARITHM, of(1, 9, near, near))


def test_a_function_that_is_printed_twice_has_a_limit() -> None:
    large = of(-9, 9, HALF)
    for _ in range(9):
        large = functions.extreme([large, large, large], greatest=True)
        if len(repr(large.steps)) > 10**5:
            break
    for make in (
        lambda: functions.round_to(large, Function.ROUND),
        lambda: functions.power(large, Fraction(2)),
        lambda: functions.curve(Curve.EXPONENTIAL, large),
    ):
        with pytest.raises(InvalidValue, match="operations after names are replaced"):
            make()


def test_numbers_that_engines_read_have_at_most_62_bits() -> None:
    nothing = of(0, 0)
    for asked in (
        lambda: in_one_step([nothing, of(0, 1, Fraction(1, 10**30))]),
        lambda: functions.round_to(of(0, 9, Fraction(1, 10**30)), Function.FLOOR),
    ):
        with pytest.raises(InvalidValue, match="beyond 62 bits"):
            asked()
    assert in_one_step([nothing, of(0, 1, Fraction(1, 10**18))])[0].high == 0


def test_an_argument_of_exp_that_rounding_moves_far_is_refused() -> None:
    far = of(0, 0, Fraction(1000), Fraction(1000))
    with pytest.raises(InvalidValue, match="Rounding can move the argument of EXP"):
        functions.curve(Curve.EXPONENTIAL, far)
    near = functions.curve(Curve.EXPONENTIAL, of(0, 0, Fraction(1000), Fraction(40)))
    assert near.rounding > 10**17


def test_a_root_of_numbers_beyond_floats_is_refused() -> None:
    with pytest.raises(InvalidValue, match="whose steps are floats"):
        functions.curve(Curve.ROOT, of(0, 2**40, Fraction(2**1000)))
    assert functions.curve(Curve.ROOT, of(0, 2**40, Fraction(2**900))).high > 0

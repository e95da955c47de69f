"""Functions of numbers of a row, in integers: rounding, division, extremes, powers and curves.

A number is a count of steps of a grid, with a range that is known in advance. Rounding to whole
numbers or to decimals is a division of integers; a root, a logarithm and an exponential are
computed with floats and rounded to a grid. Each function returns a range that contains its
result for every row. The sensitivity of a sum follows from that range, and a range that is one
step too narrow would be a fault of privacy.
"""

from fractions import Fraction
from functools import reduce
from math import ceil, exp, floor, log, log2, sqrt
from operator import mul

from tacit.errors import InvalidValue
from tacit.plan import steps as grid_steps
from tacit.plan.expression import Comparison, Function
from tacit.plan.tree_walk import LARGEST_PART, not_too_large

MOST_DIGITS = 18
"""Largest number of digits to which a number is rounded, before and after the point."""

LARGEST_POWER = 8
"""Largest exponent of POWER."""

CURVE_BITS = 32
"""Number of bits of the largest result of a curve, in its steps."""

FINEST_CURVE = 24
"""A step of a curve is at least 2**-24. Engines differ by about 10**-15, so that two of them
round to different steps about once in 10**6 results."""

WIDEST_EXPONENT = 40
"""Largest absolute value of the argument of EXP; its result then fits in 62 bits, and no float
is so small that PostgreSQL refuses it."""

SMALLEST_STEP = Fraction(1, 10**300)
"""Bound on the steps of an argument of a curve, so that a step is a float that is not 0."""


# Arithmetic ----------------------------------------------------------------------------------


def divide(value: grid_steps.Ranged, divisor: Fraction) -> grid_steps.Ranged:
    """Return ``value`` divided by a constant, exactly: its step is divided.

    Example:
        >>> age = grid_steps.Ranged(grid_steps.ComputedSteps("age"), 0, 120, Fraction(1))
        >>> divide(age, Fraction(-3)).step, divide(age, Fraction(-3)).low
        (Fraction(1, 3), -120)
    """
    if not divisor:
        raise InvalidValue(
            "Division by 0 has no value; write NULL, or divide by another constant."
        )
    return value * grid_steps.Ranged.constant(1 / divisor)


def absolute(value: grid_steps.Ranged) -> grid_steps.Ranged:
    """Return the absolute value.

    Example:
        >>> debt = grid_steps.Ranged(grid_steps.ComputedSteps("debt"), -7, 3, Fraction(1))
        >>> absolute(debt).low, absolute(debt).high
        (0, 7)
    """
    ends = abs(value.low), abs(value.high)
    low = 0 if value.low <= 0 <= value.high else min(ends)
    steps = grid_steps.AbsoluteSteps(value.steps)
    return grid_steps.Ranged(steps, low, max(ends), value.step, value.rounding)


def extreme(values: list[grid_steps.Ranged], *, greatest: bool) -> grid_steps.Ranged:
    """Return the greatest or the least of several numbers that are not NULL.

    A constant is never NULL, so that the greatest number is at least as large as a constant.

    Example:
        >>> age = grid_steps.Ranged(grid_steps.ComputedSteps("age"), -5, 120, Fraction(1))
        >>> zero = grid_steps.Ranged.constant(Fraction(0))
        >>> extreme([age, zero], greatest=True).low, extreme([age, zero], greatest=False).high
        (0, 0)
    """
    values = grid_steps.in_one_step(values)
    # the constants themselves: the range of a constant can be wider, as that of a truth is
    parts = [value.steps for value in values]
    known = [
        part.value
        for part in parts
        if isinstance(part, grid_steps.WholeSteps) and part.value is not None
    ]
    low, high = min(value.low for value in values), max(value.high for value in values)
    if known and greatest:
        low = max(low, *known)
    elif known:
        high = min(high, *known)
    steps = grid_steps.ExtremeSteps(greatest, tuple(parts))
    rounding = max(value.rounding for value in values)
    return grid_steps.Ranged(steps, low, high, values[0].step, rounding)


def power(value: grid_steps.Ranged, exponent: Fraction) -> grid_steps.Ranged:
    """Return a power with a constant exponent: a product, or a root for the exponent 1/2.

    Example:
        >>> debt = grid_steps.Ranged(grid_steps.ComputedSteps("debt"), -7, 3, Fraction(1))
        >>> power(debt, Fraction(2)).low, power(debt, Fraction(3)).low
        (0, -343)
    """
    if exponent == Fraction(1, 2):
        return curve(grid_steps.Curve.ROOT, value)
    if exponent.denominator != 1 or not 1 <= exponent <= LARGEST_POWER:
        raise InvalidValue(
            f"The exponent of POWER must be 0.5 or an integer from 1 to {LARGEST_POWER}, as in "
            "POWER(age, 2)."
        )
    not_too_large(value.steps, LARGEST_PART // int(exponent))
    found = reduce(mul, [value] * int(exponent))
    if exponent % 2 or value.low >= 0:
        return found
    # an even power is never negative, and 0 only if the number can be 0
    low = 0 if value.high >= 0 else value.high**exponent.numerator
    return grid_steps.Ranged(found.steps, low, found.high, found.step, found.rounding)


# Rounding ------------------------------------------------------------------------------------


def round_to(value: grid_steps.Ranged, how: Function, digits: int = 0) -> grid_steps.Ranged:
    """Return ``value`` rounded to ``digits`` after the point, or to tens if it is negative.

    FLOOR rounds down and CEIL up; TRUNC rounds toward 0. ROUND and CAST AS INTEGER round to
    the nearest number, and a half away from 0.

    The steps are n / q of the new step, for an integer n. Rounding down is an integer division
    of n by q. The other ways add a number below q to n first. A multiple of q is added so that
    n is not negative, because engines round negative quotients in different ways.

    Example:
        >>> half = grid_steps.Ranged(grid_steps.ComputedSteps("x"), -5, 5, Fraction(1, 2))
        >>> found = round_to(half, Function.ROUND)
        >>> found.low, found.high, found.step
        (-3, 3, Fraction(1, 1))
    """
    if abs(digits) > MOST_DIGITS:
        raise InvalidValue(f"A number is rounded to at most {MOST_DIGITS} digits.")
    step = Fraction(10) ** -digits
    ratio = value.step / step
    if ratio.denominator == 1:
        return value
    top, bottom = ratio.numerator, ratio.denominator
    added = _add_for(value * grid_steps.Ranged.constant(Fraction(top)), how, bottom)
    start = min(0, added.low // bottom)
    whole = grid_steps.QuotientSteps(added.above(start * bottom).steps, bottom)
    low, high = added.low // bottom, added.high // bottom
    steps: grid_steps.Steps = whole
    if start:
        steps = grid_steps.SumSteps(whole, grid_steps.WholeSteps(start))
    # numbers that are at most r apart are rounded to numbers at most ceil(r) steps apart
    rounding = step * ceil(value.rounding / step)
    return grid_steps.Ranged(steps, low, high, step, rounding)


def _add_for(value: grid_steps.Ranged, how: Function, bottom: int) -> grid_steps.Ranged:
    """Return the steps plus the number that makes rounding down the wanted rounding."""
    match how:
        case Function.FLOOR:
            return value
        case Function.CEIL:
            return value.above(1 - bottom)
        case Function.TRUNCATE:
            # a negative number is rounded up
            return _above_unless_negative(value, 0, bottom - 1)
        case _:
            # a negative half is rounded down, and a half exists only if q is even
            half = bottom // 2
            return _above_unless_negative(value, half, half - (1 - bottom % 2))


def _above_unless_negative(
    value: grid_steps.Ranged, more: int, if_negative: int
) -> grid_steps.Ranged:
    """Return the steps plus ``more``, or plus ``if_negative`` if they are negative."""
    if value.low >= 0 or more == if_negative:
        return value.above(-more)
    if value.high < 0:
        return value.above(-if_negative)
    # the steps are printed twice
    not_too_large(value.steps, LARGEST_PART)
    negative = grid_steps.CompareSteps(Comparison.LESS, value.steps, grid_steps.WholeSteps(0))
    chosen = grid_steps.CaseSteps(
        ((negative, grid_steps.WholeSteps(if_negative)),), grid_steps.WholeSteps(more)
    )
    low, high = value.low + if_negative, value.high + more
    low, high = min(low, more), max(high, if_negative - 1)
    steps = grid_steps.SumSteps(value.steps, chosen)
    return grid_steps.Ranged(steps, low, high, value.step, value.rounding)


# Curves --------------------------------------------------------------------------------------


def curve(which: grid_steps.Curve, value: grid_steps.Ranged) -> grid_steps.Ranged:
    """Return a root, a logarithm or an exponential, rounded to a grid.

    A logarithm of a number that is not above 0, and a root of a number below 0, are NULL. A
    column of floats is rounded first, and rounding could decide which of them are NULL, so
    that floats must be in the domain of the function.

    Example:
        >>> pay = grid_steps.Ranged(grid_steps.ComputedSteps("pay"), 0, 100, Fraction(1))
        >>> root = curve(grid_steps.Curve.ROOT, pay)
        >>> float(root.low * root.step) <= 0, 10 <= float(root.high * root.step) < 10.0001
        (True, True)
    """
    not_too_large(value.steps, LARGEST_PART)  # the steps are printed twice
    if not 1 / SMALLEST_STEP > max(value.step, value.size) >= value.step > SMALLEST_STEP:
        raise InvalidValue(f"{which.value} needs numbers whose steps are floats; divide less.")
    least = _least(which, value)
    ends = float(max(value.low, least) * value.step), float(value.high * value.step)
    if which is grid_steps.Curve.EXPONENTIAL and max(map(abs, ends)) > WIDEST_EXPONENT:
        raise InvalidValue(
            f"The argument of EXP must be from -{WIDEST_EXPONENT} to {WIDEST_EXPONENT} within "
            "the bounds of its columns; divide it first, as in EXP(x / 100)."
        )
    if value.high < least:
        ends = ends[0], ends[0]  # every row is NULL
    first, last = (which.of(end) for end in ends)
    bits = CURVE_BITS - ceil(log2(max(abs(first), abs(last), 1.0)))
    scale = Fraction(2) ** min(bits, FINEST_CURVE)
    # floats of one step more on each side: no library is wrong by as much
    low, high = floor(first * float(scale)) - 1, ceil(last * float(scale)) + 1
    if which is not grid_steps.Curve.LOGARITHM:
        low = max(0, low)
    steps = grid_steps.CurveSteps(which, value.steps, least, value.step, scale, low, high)
    rounding = _error(which, value, ends) + 2 / scale
    return grid_steps.Ranged(steps, low, high, 1 / scale, rounding)


def _least(which: grid_steps.Curve, value: grid_steps.Ranged) -> int:
    """Return the least number of steps for which the function has a value."""
    if which is grid_steps.Curve.EXPONENTIAL:
        return value.low
    least = 1 if which is grid_steps.Curve.LOGARITHM else 0
    if value.rounding and value.low < least:
        name = which.value
        raise InvalidValue(
            f"{name} of a float needs bounds {'above' if least else 'of at least'} 0, and this "
            f"number can be {'0 or less' if least else 'less'}; write {name}(x + 1), or "
            f"{name}(GREATEST(x, {'1' if least else '0'})), in which NULL counts as "
            f"{'1' if least else '0'}."
        )
    return least


def _error(
    which: grid_steps.Curve, value: grid_steps.Ranged, ends: tuple[float, float]
) -> Fraction:
    """Return how far the rounding of the argument can move the result, rounded up."""
    near = float(value.rounding)
    if not near:
        return Fraction(0)
    moved = sqrt(near)
    if which is grid_steps.Curve.EXPONENTIAL:
        if near > WIDEST_EXPONENT:
            raise InvalidValue(
                f"Rounding can move the argument of EXP by more than {WIDEST_EXPONENT}; round "
                "the result instead, as in ROUND(EXP(x), 1)."
            )
        moved = exp(ends[1]) * (exp(near) - 1)
    elif which is grid_steps.Curve.LOGARITHM:
        if ends[0] <= near:
            raise InvalidValue(
                "LN needs numbers further from 0 than the rounding of floats; write LN(x + 1)."
            )
        moved = log(ends[0] / (ends[0] - near))
    return Fraction(moved) * Fraction(1001, 1000) + Fraction(1, 2**60)

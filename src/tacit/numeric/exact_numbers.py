"""Exact numbers: conversion of input to fractions, and directed rounding.

A privacy parameter is converted to a ``Fraction`` as soon as it is read. The result of a
logarithm, a root or an exponential is in general not a fraction. These functions return a pair
``(lower, upper)`` of fractions with the true number between them, and the caller uses the end
that gives more loss or more noise.
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import isqrt
from numbers import Rational

from tacit.errors import InvalidValue

Number = int | float | str | Fraction | Decimal
"""Types that are accepted where an exact number is expected."""

Interval = tuple[Fraction, Fraction]
"""Two fractions with the true real number between them."""

LONGEST_TEXT = 100
"""Maximum number of characters of a number in text form. More is a mistake or an attack."""

LARGEST_EXPONENT = 1000
"""Largest decimal exponent. A number such as '1e999999999' would fill the memory."""


LARGEST_POWER = 10_000
"""Largest exponent of e. Exponents below its negative get the bound for its negative."""


def exact(value: Number) -> Fraction:
    """Return ``value`` as a fraction; a float is read as its shortest decimal form.

    Example:
        >>> exact(0.1), exact("1/3"), exact("1e-6")
        (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
        >>> sum(exact(0.1) for _ in range(10)) == 1
        True
    """
    try:
        match value:
            case bool():
                pass
            case float():
                # float.__repr__, because a numpy float prints its type as well
                return Fraction(float.__repr__(value))
            case Rational():  # also NumPy integers, which would overflow inside a Fraction
                return Fraction(int(value.numerator), int(value.denominator))
            case Decimal():
                return _from_decimal(value)
            case str() if len(value) <= LONGEST_TEXT:
                return Fraction(value) if "/" in value else _from_decimal(Decimal(value))
    except (ValueError, ArithmeticError):
        pass  # the error below is the same for all types
    shown = repr(value)
    raise InvalidValue(
        f"A finite number is expected, but {shown[:LONGEST_TEXT]} was given. "
        "Write 2, 0.1, '1/3', '1e-6' or a Fraction."
    )


def plain(value: Fraction) -> str:
    """Return ``value`` as text: as a decimal if it is finite, and as a fraction otherwise.

    Example:
        >>> plain(Fraction(1, 10)), plain(Fraction(1, 3)), plain(Fraction(5))
        ('0.1', '1/3', '5')
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(value)
    # a denominator below 2**n ends after at most n decimal digits
    digits = len(str(abs(value.numerator))) + value.denominator.bit_length()
    return format(_decimal(value, Context(prec=digits)).normalize(Context(prec=digits)), "f")


def ceil_to(value: Fraction, unit: Fraction) -> Fraction:
    """Return the least multiple of ``unit`` that is at least ``value``, to round a cost.

    Example:
        >>> ceil_to(Fraction(1, 3), Fraction(1, 100))
        Fraction(17, 50)
    """
    return -(-value // _positive(unit)) * unit


def floor_to(value: Fraction, unit: Fraction) -> Fraction:
    """Return the largest multiple of ``unit`` that is at most ``value``, to round a limit.

    Example:
        >>> floor_to(Fraction(1, 3), Fraction(1, 100))
        Fraction(33, 100)
    """
    return value // _positive(unit) * unit


def exp_bounds(value: Fraction, digits: int = 50) -> Interval:
    """Return fractions below and above exp(``value``), with about ``digits`` decimal digits.

    Guarantee: ``lower < exp(value) < upper``. For a value below -LARGEST_POWER, ``lower`` is 0.
    Reference: ``decimal`` rounds exp and ln correctly at every precision (General Decimal
    Arithmetic 1.70). In addition, each end is moved outward by one unit in the last place.

    Example:
        >>> lower, upper = exp_bounds(Fraction(-1))
        >>> lower < upper and abs(float(lower) - 0.36787944117144233) < 1e-15
        True
    """
    if value < -LARGEST_POWER:
        return Fraction(0), exp_bounds(Fraction(-LARGEST_POWER), digits)[1]
    if value > LARGEST_POWER:
        raise InvalidValue(
            f"An exponent of e must be at most {LARGEST_POWER}, but {value} was given."
        )
    below, above = _contexts(digits)
    low, high = _decimal(value, below), _decimal(value, above)
    return Fraction(below.next_minus(below.exp(low))), Fraction(
        above.next_plus(above.exp(high))
    )


def log_bounds(value: Fraction, digits: int = 50) -> Interval:
    """Return fractions below and above the natural logarithm of a positive ``value``.

    Guarantee: ``lower < log(value) < upper``.

    Example:
        >>> lower, upper = log_bounds(Fraction(2))
        >>> lower < upper and abs(float(lower) - 0.6931471805599453) < 1e-15
        True
    """
    below, above = _contexts(digits)
    low, high = _decimal(_positive(value), below), _decimal(value, above)
    least, most = below.ln(low), above.ln(high)
    # a value that rounds to 1 has a logarithm below twice the last digit
    last = Fraction(2, 10**digits)
    return (
        Fraction(below.next_minus(least)) if least else -last,
        Fraction(above.next_plus(most)) if most else last,
    )


def sqrt_bounds(value: Fraction, digits: int = 50) -> Interval:
    """Return fractions below and above the square root of ``value``.

    Both are the root itself if it is rational.

    Guarantee: ``lower <= sqrt(value) <= upper``.

    Example:
        >>> sqrt_bounds(Fraction(9, 4))
        (Fraction(3, 2), Fraction(3, 2))
        >>> lower, upper = sqrt_bounds(Fraction(2))
        >>> lower**2 < 2 < upper**2
        True
    """
    if value < 0:
        raise InvalidValue(
            f"A square root needs a number of at least 0, but {value} was given."
        )
    top, bottom = value.numerator, value.denominator
    if isqrt(top) ** 2 == top and isqrt(bottom) ** 2 == bottom:
        root = Fraction(isqrt(top), isqrt(bottom))
        return root, root
    # sqrt(top/bottom) = sqrt(top*bottom)/bottom, in integers that hold `digits` more digits
    shift = 10**digits
    root_floor = isqrt(top * bottom * shift * shift)
    return Fraction(root_floor, bottom * shift), Fraction(root_floor + 1, bottom * shift)


def _from_decimal(value: Decimal) -> Fraction:
    if not value.is_finite() or abs(value.adjusted()) > LARGEST_EXPONENT:
        raise InvalidValue(
            f"{value!r} is not finite, or its exponent is beyond {LARGEST_EXPONENT}."
        )
    return Fraction(value)


def _contexts(digits: int) -> tuple[Context, Context]:
    """Return decimal contexts that round down and up, without a limit on exponents."""
    return (
        Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX),
        Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX),
    )


def _decimal(value: Fraction, context: Context) -> Decimal:
    """Return ``value`` as a decimal, rounded in the direction of the context."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _positive(value: Fraction) -> Fraction:
    if value <= 0:
        raise InvalidValue(f"A number above 0 is expected, but {value} was given.")
    return value

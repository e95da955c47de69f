"""Days as whole numbers: bounds and engines count them from 1970-01-01 on."""

from datetime import date

EPOCH = date(1970, 1, 1)
"""The day whose number is 0."""


def number_of(day: date) -> int:
    """How many days ``day`` is after 1970-01-01.

    Example:
        >>> number_of(date(1970, 1, 31)), number_of(date(1969, 12, 31))
        (30, -1)
    """
    return day.toordinal() - EPOCH.toordinal()


def day_of(number: int) -> date:
    """The day of that number; the inverse of `number_of`."""
    return date.fromordinal(number + EPOCH.toordinal())


FIRST, LAST = number_of(date.min), number_of(date.max)
"""The days that can be written, of the years 1 to 9999; what lies beyond is clamped to them."""

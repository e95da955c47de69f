"""Values with intervals: interval arithmetic, and functions of released values.

`IntervalValue` is a value with its interval and the probability that the interval is wrong.
Whatever is computed from such values has an interval too. Only released values are used.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf

from tacit.core import Interval, Key
from tacit.errors import InvalidValue
from tacit.plan import expression as expr

Plain = Fraction | Key | bool | None
"""The type of a computed value."""


@dataclass(frozen=True, slots=True)
class IntervalValue:
    """A value, its interval if it has noise, and an upper bound on the interval's error.

    ``doubt`` is an upper bound on the probability that the interval does not contain the exact
    value. A column that is not computed keeps its interval of the rows that ``counted``. An
    interval that leaves out rows of a few units has their number in ``all_but``; it is the same
    few units in all columns. ``noisy`` says whether noise may have changed the value, and
    ``cell`` is the measure and the row of an unchanged cell of the release.

    Guarantee: if the intervals of two values contain their exact values, then so does the
    interval of a value that is computed from both. Doubts add up (union bound).

    Example:
        >>> near = IntervalValue(Fraction(10), (Fraction(8), Fraction(12)), Fraction(1, 20))
        >>> (near * near).interval, (near * near).doubt
        ((Fraction(64, 1), Fraction(144, 1)), Fraction(1, 10))
    """

    value: Plain
    interval: Interval | None = None
    doubt: Fraction = Fraction(0)
    counted: Interval | None = None
    all_but: int | None = None
    noisy: bool = False
    cell: tuple[str, int] | None = None

    @property
    def number(self) -> Fraction:
        """The value, which must be a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | Fraction):
            raise InvalidValue(
                "Arithmetic with released values needs numbers, and one of these values is not "
                "a number. Compute with counts, sums and means only."
            )
        return Fraction(self.value)

    def __add__(self, other: "IntervalValue") -> "IntervalValue":
        return self._with(other, expr.Operation.ADD)

    def __sub__(self, other: "IntervalValue") -> "IntervalValue":
        return self._with(other, expr.Operation.SUBTRACT)

    def __mul__(self, other: "IntervalValue") -> "IntervalValue":
        return self._with(other, expr.Operation.MULTIPLY)

    def __truediv__(self, other: "IntervalValue") -> "IntervalValue":
        """Return the quotient: NULL if the divisor is 0, without interval if it may be 0."""
        if self.value is None or other.value is None or other.number == 0:
            return IntervalValue(None)
        low, high = other.ends
        if low <= 0 <= high:  # as of a noisy number without an interval, which can be any
            return IntervalValue(self.number / other.number, None, self.doubt + other.doubt)
        inverse = IntervalValue(
            1 / other.number,
            (_inverse(high), _inverse(low)),
            other.doubt,
            all_but=other.all_but,
        )
        return self * (inverse if other.interval else IntervalValue(1 / other.number))

    @property
    def ends(self) -> tuple["End", "End"]:
        """The ends of the interval, of which an open one is infinite.

        Both are infinite for a noisy number without an interval, and are the value for a number
        without noise.
        """
        nothing = (None, None) if self.doubt else (self.number, self.number)
        low, high = self.interval or nothing
        return -inf if low is None else low, inf if high is None else high

    def _with(self, other: "IntervalValue", operation: expr.Operation) -> "IntervalValue":
        if self.value is None or other.value is None:
            return IntervalValue(None)
        value = _apply(operation, self.number, other.number)
        doubt = self.doubt + other.doubt
        if not doubt:
            return IntervalValue(value)
        around = _combine(operation, self.ends, other.ends)
        few = max((each for each in (self.all_but, other.all_but) if each), default=None)
        return IntervalValue(value, around, doubt, all_but=few)


End = Fraction | float
"""An end of an interval: an exact number, or plus or minus infinity."""


def _combine(
    operation: expr.Operation, one: tuple[End, End], other: tuple[End, End]
) -> Interval | None:
    """Return the interval of all results; None if it is open on both sides."""
    if operation is expr.Operation.MULTIPLY:
        ends = [_product(left, right) for left, right in product(one, other)]
    elif operation is expr.Operation.ADD:
        ends = [one[0] + other[0], one[1] + other[1]]
    else:
        ends = [one[0] - other[1], one[1] - other[0]]
    return closed_ends(min(ends), max(ends))


def _product(left: End, right: End) -> End:
    """Return a product in which 0 times infinity is 0, as for ends of intervals."""
    return Fraction(0) if not left or not right else left * right


def _inverse(end: End) -> Fraction:
    return Fraction(0) if isinstance(end, float) else 1 / end


def _apply(operation: expr.Operation, left: Fraction, right: Fraction) -> Fraction:
    match operation:
        case expr.Operation.ADD:
            return left + right
        case expr.Operation.SUBTRACT:
            return left - right
        case expr.Operation.MULTIPLY:
            return left * right


# Functions -----------------------------------------------------------------------------------


def round_away(number: Fraction, digits: int = 0) -> Fraction:
    """Return ``number`` with ``digits`` digits after the point; halves away from 0.

    Example:
        >>> [str(round_away(Fraction(each), 1)) for each in ("0.25", "-0.25", "0.24")]
        ['3/10', '-3/10', '1/5']
    """
    scale = Fraction(10) ** digits
    whole = (abs(number) * scale + Fraction(1, 2)).__floor__()
    return Fraction(whole if number >= 0 else -whole) / scale


def apply_monotone(
    found: IntervalValue, change: Callable[[Fraction], Fraction]
) -> IntervalValue:
    """Return a value to which a function that never decreases was applied.

    The function of the exact value lies between the function of the two ends.

    Example:
        >>> near = IntervalValue(Fraction("9.7"), (Fraction("8.2"), None), Fraction(1, 20))
        >>> apply_monotone(near, round_away).interval
        (Fraction(8, 1), None)
    """
    if found.value is None:
        return found
    return replace(
        found,
        value=change(found.number),
        interval=_apply_to_ends(found.interval, change),
        counted=_apply_to_ends(found.counted, change),
        cell=None,
    )


def _apply_to_ends(
    around: Interval | None, change: Callable[[Fraction], Fraction]
) -> Interval | None:
    if around is None:
        return None
    low, high = around
    return None if low is None else change(low), None if high is None else change(high)


def absolute(found: IntervalValue) -> IntervalValue:
    """Return the absolute value; of an interval around 0, the least is 0.

    Example:
        >>> absolute(IntervalValue(Fraction(-1), (Fraction(-4), Fraction(2)), Fraction(1, 20)))
        ... # doctest: +ELLIPSIS
        IntervalValue(value=Fraction(1, 1), interval=(Fraction(0, 1), Fraction(4, 1)), ...)
    """
    if found.value is None:
        return found
    number = abs(found.number)
    if found.interval is None:
        return IntervalValue(number, None, found.doubt)
    low, high = found.ends
    ends: tuple[End, End] = (low, high) if low >= 0 else (-high, -low)
    if low < 0 < high:
        ends = Fraction(0), max(-low, high)
    return IntervalValue(number, closed_ends(*ends), found.doubt, all_but=found.all_but)


def closed_ends(low: End, high: End) -> Interval | None:
    """Return an interval whose infinite ends are open; None if both are."""
    ends = None if isinstance(low, float) else low, None if isinstance(high, float) else high
    return None if ends == (None, None) else ends


def apply_function(
    function: expr.ReleasedFunction, parts: list[IntervalValue]
) -> IntervalValue:
    """Return the value of a function of released values.

    COALESCE returns an interval only if the first part is there: where noise has removed a
    value, nothing is known of the exact one. NULLIF keeps the interval of its first part.
    """
    first = parts[0]
    match function:
        case expr.ReleasedFunction.ROUND:
            digits = int(parts[1].number) if len(parts) > 1 else 0
            return apply_monotone(first, lambda number: round_away(number, digits))
        case expr.ReleasedFunction.FLOOR:
            return apply_monotone(first, lambda number: Fraction(number.__floor__()))
        case expr.ReleasedFunction.CEIL:
            return apply_monotone(first, lambda number: Fraction(number.__ceil__()))
        case expr.ReleasedFunction.ABS:
            return absolute(first)
        case expr.ReleasedFunction.NULLIF:
            return IntervalValue(None) if first.value == parts[1].value else first
        case expr.ReleasedFunction.COALESCE:
            return _coalesce(parts)


def _coalesce(parts: list[IntervalValue]) -> IntervalValue:
    skipped = Fraction(0)
    for part in parts:
        if part.value is not None:
            break
        skipped += part.doubt
    if not skipped or not isinstance(part.value, int | Fraction):
        return part
    return IntervalValue(part.value, None, part.doubt + skipped)

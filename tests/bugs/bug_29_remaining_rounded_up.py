"""TD-10, 29: what is left is shown to two places, and rounded up to more than there is."""

from fractions import Fraction
from math import ceil

from tacit.core.loss import Loss
from tacit.ledger.budget import Status

PLACE = "tacit.ledger.budget:Status.left"
CAUGHT_BY = "tests/unit/ledger/test_status.py::test_what_is_left_is_never_rounded_up"
SHOWN = "assert status.left.amount == Fraction(more, AMOUNT_UNITS)"


def bug(original: property) -> property:
    def left(self: Status) -> Loss:
        exact: Loss = original.__get__(self)
        return Loss(exact.measure, Fraction(ceil(exact.amount * 100), 100), exact.delta)

    return property(left)

"""Decision 47: a question may cost next to nothing, so that a billion can be tried (0.1.0)."""

from collections.abc import Callable
from fractions import Fraction

PLACE = "tacit.ledger.govern:least_amount"
CAUGHT_BY = (
    "tests/unit/ledger/test_unanswered.py::"
    "test_nothing_is_charged_below_the_least_price_but_what_is_free[memory]"
)
SHOWN = 'assert least == Loss.pure("0.00001")'

Least = Callable[[int, Fraction], int]


def bug(_: Least) -> Least:
    return lambda cap, share: 0 * cap * share.numerator

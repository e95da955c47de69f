"""The least price of a question: a share of the cap, below which nothing is charged.

Whether a paid question fails can depend on one person's row, however well statements are made
total. If a question may cost next to nothing, somebody can try a billion of them. So every
charge that is not free is at least a share of the cap, 10^-5 unless the owners say otherwise,
and no more than 100,000 questions can ever be tried. A question that asks for less is answered
at the least price, with the smaller noise that this price allows.

Steps of a stream and shares of a holdout were paid for when their horizon was reserved: their
charges are free, and are no questions.
"""

from fractions import Fraction

from sqlalchemy import bindparam, select, update

from tacit.ledger.chain import ALL_TIME
from tacit.ledger.units import NO_UNITS, Units
from tacit.store.tables import budgets
from tacit.store.work import Work

USUAL_SHARE = Fraction(1, 10**5)
"""The share of the cap that holds where no owner said another."""

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)
_FIND = select(budgets.c.cap_amount, budgets.c.least_share).where(_here)
_SET = (
    update(budgets)
    .where(_here)
    .values(least_share=bindparam("share"), least_amount=bindparam("least"))
)


def least_amount(cap_amount: int, share: Fraction) -> int:
    """The least price in units, of a budget whose cap is ``cap_amount`` units.

    Example:
        >>> least_amount(10**12, USUAL_SHARE)
        10000000
    """
    return int(cap_amount * share)


def at_least(cost: Units, least: int) -> Units:
    """``cost`` raised to the least price; what is free stays free.

    Example:
        >>> at_least(Units(3, 7), 10)
        Units(amount=10, delta=7)
        >>> at_least(NO_UNITS, 10) == NO_UNITS
        True
    """
    return cost if cost == NO_UNITS else Units(max(cost.amount, least), cost.delta)


def follow_cap(work: Work, population: str) -> None:
    """Compute the least price again, after the cap of ``population`` was raised."""
    row = work.one(_FIND, {"at": population})
    if row is not None:
        write_least(work, population, Fraction(row[1]))


def write_least(work: Work, population: str, share: Fraction) -> None:
    """Keep the least price beside the budget: ``share`` of the cap as it is now."""
    row = work.one(_FIND, {"at": population})
    cap = 0 if row is None else row[0]
    values = {"at": population, "share": str(share), "least": least_amount(cap, share)}
    work.run(_SET, values)

"""The rules that every entry of a chain keeps, whoever wrote it."""

from fractions import Fraction
from functools import lru_cache

from tacit.core.budget import Budget
from tacit.core.event import Numerics
from tacit.core.measure import Measure
from tacit.core.stored_event import decode
from tacit.core.unit import Neighbours
from tacit.errors import LedgerBroken, TacitError
from tacit.ledger.act import Opened
from tacit.ledger.units import NO_LIMIT, Units, price


def require(holds: bool, rule: str) -> None:  # noqa: FBT001
    """Refuse an entry that does not keep ``rule``."""
    if not holds:
        raise LedgerBroken(f"it breaks the rule that {rule}")


def hash_in(text: str) -> bytes:
    """The hash, or the nonce, that an entry writes in hexadecimal."""
    rule = "a hash is hexadecimal"
    try:
        read = bytes.fromhex(text)
    except ValueError as error:
        raise LedgerBroken(f"it breaks the rule that {rule}") from error
    require(read.hex() == text, rule)
    return read


def countable(limit: Units, measure: str) -> Units:
    """``limit``, where a store can count up to it in ``measure``."""
    require(limit <= NO_LIMIT, "a limit is counted in 64 bits")
    require(not limit.delta or measure != Measure.PURE.value, "a pure loss has no delta")
    return limit


def check_opening(act: Opened) -> None:
    """Refuse the opening of a budget that nobody could have opened."""
    require(act.by in act.owners, "an owner opens a budget")
    require(len(set(act.owners)) == len(act.owners), "owners are named once")
    try:
        Neighbours(act.neighbours)
        cap = Units(act.amount, act.delta).loss(Measure(act.measure))
        idealised = {0: False, 1: True}[act.idealised]
        budget = Budget(cap, Fraction(act.conversion_delta), idealised)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("it breaks the rule that a budget has a meaning") from error
    written = str(budget.conversion_delta)
    require(written == act.conversion_delta, "a fraction is written in one way")


@lru_cache(maxsize=4096)
def due(event: str, opened: Opened, price_delta: str) -> Units:
    """What ``event`` costs by today's accounting, under the budget that was opened."""
    try:
        read = decode(event)
        units = price(read, Measure(opened.measure), Fraction(price_delta))
    except (TacitError, ValueError, ZeroDivisionError) as error:
        raise LedgerBroken("it breaks the rule that an event has a price") from error
    exact = read.numerics is not Numerics.IDEALISED
    require(exact or bool(opened.idealised), "a budget of exact noise holds no other")
    return units

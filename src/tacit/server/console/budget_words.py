"""Amounts of a budget as people read them: shares, epsilons rounded up, days."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from tacit.numeric import exact

Json = Mapping[str, Any]

DIGITS = 3
"""The digits of an epsilon that people read; the exact amount is in the ledger."""


def share_of(loss: Json, cap: Json) -> float:
    """Return which share of a cap a loss is; both are in the measure of the budget.

    Example:
        >>> (
        ...     share_of({"amount": "1/8"}, {"amount": "0.5"}),
        ...     share_of({"amount": "0"}, {"amount": "0"}),
        ... )
        (0.25, 0.0)
    """
    whole = exact(cap["amount"])
    return float(exact(loss["amount"]) / whole) if whole else 0.0


def short(amount: str | Fraction, *, up: bool = True) -> str:
    """Return an amount with three digits, rounded up, or down for what is left.

    Example:
        >>> short("0.863442"), short("3"), short("1/3", up=False), short("0.0000123456")
        ('0.864', '3', '0.333', '0.0000124')
    """
    value = exact(amount) if isinstance(amount, str) else amount
    context = Context(prec=DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def day_of_time(at: int) -> str:
    """Return the day of a time in milliseconds since 1970, in UTC, as ISO 8601 text.

    Example:
        >>> day_of_time(86_400_000)
        '1970-01-02'
    """
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class SpentShown:
    """The spent and the remaining part of a budget, for all together or for one analyst."""

    population: str
    epsilon: str
    cap_epsilon: str
    share: float
    left_share: float
    rho: str | None
    cap_rho: str | None

    @classmethod
    def of(cls, budget: Json) -> "SpentShown":
        """Return it from a budget of ``GET /v1/status``."""
        spent, cap = budget["spent"], budget["cap"]
        has_rho = spent["measure"].startswith("rho")
        return cls(
            budget["population"],
            short(budget["total_so_far"]["amount"]),
            short(budget["total"]["amount"]),
            min(share_of(spent, cap), 1.0),
            share_of(budget["left"], cap),
            short(spent["amount"]) if has_rho else None,
            short(cap["amount"]) if has_rho else None,
        )


def part_of_cap(percent: str, cap: Json) -> dict[str, str]:
    """Return a share of a cap, which is given in percent, as the API takes amounts.

    Raise ValueError if ``percent`` is not a number from 0 to 100.

    Example:
        >>> part_of_cap("25", {"measure": "rho with delta", "amount": "0.5"})
        {'rho': '0.125'}
    """
    if not percent.replace(".", "", 1).isdecimal() or len(percent) > 12:  # noqa: PLR2004
        raise ValueError(percent)
    share = exact(percent) / 100
    if share > 1:
        raise ValueError(percent)
    amount = share * exact(cap["amount"])
    digits = Context(prec=12, rounding=ROUND_FLOOR)
    value = digits.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    name = "rho" if cap["measure"].startswith("rho") else "epsilon"
    return {name: f"{value.normalize():f}"}

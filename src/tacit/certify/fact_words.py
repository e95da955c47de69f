"""Declared facts as people read them: days as dates, and one of something without an s.

The ledger keeps facts in the form in which they are compared, where a day is the number of days
since 1970-01-01. Documents show them in this form. A certificate has the entry of its
declaration, so that anybody can compare both.
"""

import re
from collections.abc import Iterable

from tacit.core import FIRST, LAST, day_of

_DAYS = re.compile(
    r"^(.*?: (?:date|timestamp)(?:, .*)?, (?:from|one of) )(-?[0-9][-0-9, to]*)(?= \()"
)
_NUMBER = re.compile(r"-?[0-9]+")
_ONE = re.compile(r"(?<![0-9.,])1 (group|row|unit)s\b")


def fact_text(fact: str) -> str:
    """Return a declared fact as documents show it.

    Example:
        >>> fact_text("visits.day: date, from 20454 to 20818 (public)")
        'visits.day: date, from 2026-01-01 to 2026-12-31 (public)'
        >>> fact_text("patients: at most 1 groups of 1 rows")
        'patients: at most 1 group of 1 row'
    """
    found = _DAYS.match(fact)
    if found is not None:
        days = _NUMBER.sub(lambda each: _day(each[0]), found[2])
        fact = f"{found[1]}{days}{fact[found.end() :]}"
    return _ONE.sub(r"1 \1", fact)


def fact_texts(facts: Iterable[str]) -> list[str]:
    """Return declared facts as documents show them."""
    return [fact_text(each) for each in facts]


def _day(number: str) -> str:
    day = int(number)
    return day_of(day).isoformat() if FIRST <= day <= LAST else number

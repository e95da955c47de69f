"""Whether the data of a period is there: the period is over, and the table covers it.

What a step releases is final. Released too early, or from a copy that was made before the
period ended, it would say for ever that nobody came.
"""

import re
from collections.abc import Iterable
from datetime import date, timedelta

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset
from tacit.errors import InvalidValue
from tacit.stream.stream import Periods

_LABEL = re.compile(
    r"(?P<year>\d{4})"
    r"(?:-W(?P<week>\d{2})|-Q(?P<quarter>[1-4])|-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?"
)
_DECEMBER = 12


def check_over(periods: Periods, number: int, today: date) -> None:
    """Refuse a step whose period is not over on the day ``today``."""
    start, after = periods.ends(number)
    if today < after:
        raise InvalidValue(
            f"The {_span(periods)} of {start} is over on {after}, and today is {today}: its "
            "data is not complete, and what is released of it is final. Release it then."
        )


def check_covered(
    periods: Periods, number: int, catalog: Catalog, tables: Iterable[str]
) -> None:
    """Refuse a step of a period that a table is not declared to cover.

    A table is read as it stands, unless its epoch is named by a day, week, month, quarter or
    year: then it covers the time up to the end of that. A copy covers nothing that its epoch
    does not name, and nothing after the day on which it was made; one of which no day is known
    covers nothing.
    """
    start, after = periods.ends(number)
    for name in tables:
        table = catalog.table(name)
        if not isinstance(table, Dataset):
            continue
        label = table.epoch.label
        made = None if table.copy is None else table.copy.made
        if table.copy is not None and (made is None or made < after):
            day = "a day that nobody knows" if made is None else made
            raise InvalidValue(
                f"The {_span(periods)} of {start} goes up to {after - timedelta(days=1)}, and "
                f"the copy of {name!r} was made on {day}, so that rows may be "
                f"missing. What is released is final; make the copy anew: tacit prepare {name}"
            )
        until = covered_until(label)
        if until is None and table.copy is None:
            continue
        if until is None or until < after:
            told = "does not say up to which day it is complete" if until is None else "ends"
            ended = "" if until is None else f" on {until - timedelta(days=1)}"
            raise InvalidValue(
                f"The {_span(periods)} of {start} goes up to {after - timedelta(days=1)}, and "
                f"{name!r} is of epoch {label!r}, which {told}{ended}. What is released of it "
                "is final, so it must be there: declare an epoch that covers it, such as "
                f'epoch = "{after - timedelta(days=1)}", record it by `tacit apply`, and where '
                f"the table has a copy, make it anew: tacit prepare {name}"
            )


def covered_until(label: str) -> date | None:
    """Return the first day after the time that an epoch is named by; None for other names.

    Example:
        >>> [covered_until(label).isoformat() for label in ("2026-02-09", "2026-W07", "2026")]
        ['2026-02-10', '2026-02-16', '2027-01-01']
        >>> covered_until("after the migration")
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        return None
    year, week, quarter, month, day = (
        None if part is None else int(part)
        for part in found.group("year", "week", "quarter", "month", "day")
    )
    try:
        if week is not None:
            return date.fromisocalendar(year or 0, week, 1) + timedelta(days=7)
        if day is not None:
            return date(year or 0, month or 0, day) + timedelta(days=1)
        last = 3 * quarter if quarter else _DECEMBER if month is None else month
        return (date(year or 0, last, 28) + timedelta(days=4)).replace(day=1)
    except (ValueError, OverflowError):
        return None


def _span(periods: Periods) -> str:
    return periods.span.value.lower()

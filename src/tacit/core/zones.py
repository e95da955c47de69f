"""Time zones of timestamp columns: the difference between local time and UTC, as a table.

Engines have time zone databases of their own, of different versions, and they differ about
years before 1970 and about the future. So no engine converts a time: Tacit reads the zone from
Python's database once, and statements contain the table of its changes. The table begins in
1970 and ends in 2049; before and after, the first and the last difference apply.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tacit.errors import InvalidValue

UTC_ZONE = "UTC"
FIXED = re.compile(r"([+-])(0[0-9]|1[0-4]):([0-5][0-9])")
FIRST_CHANGE, LAST_CHANGE = datetime(1970, 1, 1), datetime(2050, 1, 1)  # noqa: DTZ001
SECOND, LOOKED = timedelta(seconds=1), timedelta(days=3)
"""Differences are compared every three days. The shortest time between two changes of a zone is
seven days less one hour, in America/Recife in October 2000."""

Change = tuple[datetime, int]
"""A time in UTC, without a zone, and the seconds by which local time is ahead from then on."""


@lru_cache(maxsize=64)
def changes_of(zone: str) -> tuple[int, tuple[Change, ...]]:
    """Return the first difference to UTC in seconds, and its changes in order.

    ``zone`` is UTC, a fixed difference such as +05:30, or a name such as Europe/Berlin.

    Example:
        >>> changes_of("+05:30")
        (19800, ())
        >>> first, changes = changes_of("Europe/Berlin")
        >>> first, changes[0][0].isoformat(), changes[0][1]
        (3600, '1980-04-06T01:00:00', 7200)
    """
    if zone == UTC_ZONE:
        return 0, ()
    fixed = FIXED.fullmatch(zone)
    if fixed is not None:
        seconds = int(fixed[2]) * 3600 + int(fixed[3]) * 60
        return (-seconds if fixed[1] == "-" else seconds), ()
    known = _zone(zone)
    found: list[Change] = []
    time, ahead = FIRST_CHANGE, _ahead(known, FIRST_CHANGE)
    first = ahead
    while time < LAST_CHANGE:
        after = _ahead(known, time + LOOKED)
        if after != ahead:
            found.append((_first_second(known, time, ahead), after))
        time, ahead = time + LOOKED, after
    return first, tuple(found)


def seconds_ahead(zone: str, time: datetime) -> int:
    """Return the seconds by which local time is ahead of ``time``, which is in UTC.

    Example:
        >>> seconds_ahead("Europe/Berlin", datetime(2026, 7, 1, 12, 0))
        7200
    """
    ahead, changes = changes_of(zone)
    for start, seconds in changes:
        if time >= start:
            ahead = seconds
    return ahead


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidValue(
            f"{name!r} is not a known time zone. Write UTC, a fixed difference such as "
            "+01:00, or a name such as Europe/Berlin."
        ) from error


def _ahead(zone: ZoneInfo, time: datetime) -> int:
    local = time.replace(tzinfo=UTC).astimezone(zone).utcoffset()
    return 0 if local is None else int(local.total_seconds())


def _first_second(zone: ZoneInfo, time: datetime, ahead: int) -> datetime:
    """Return the first second after ``time`` with another difference, within three days."""
    low, high = 0, int(LOOKED / SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _ahead(zone, time + middle * SECOND) == ahead:
            low = middle
        else:
            high = middle
    return time + high * SECOND

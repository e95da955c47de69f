"""The calendar, which is public: what parts a day has, and in which periods it lies."""

from collections.abc import Iterator
from datetime import date, timedelta
from enum import Enum


class Part(Enum):
    """A number that a day has, named as SQL names it."""

    YEAR = "YEAR"
    QUARTER = "QUARTER"
    MONTH = "MONTH"
    DAY = "DAY"
    WEEKDAY = "DOW"

    def of(self, day: date) -> int:
        """This part of ``day``; Sunday is 0 of its week.

        Example:
            >>> [part.of(date(2026, 5, 31)) for part in Part]
            [2026, 2, 5, 31, 0]
        """
        match self:
            case Part.YEAR:
                return day.year
            case Part.QUARTER:
                return (day.month + 2) // 3
            case Part.MONTH:
                return day.month
            case Part.DAY:
                return day.day
            case Part.WEEKDAY:
                return day.isoweekday() % 7

    def reach(self, first: date, last: date) -> tuple[int, int]:
        """The least and the greatest that this part can be of the days between two."""
        match self:
            case Part.YEAR:
                return first.year, last.year
            case Part.QUARTER:
                return 1, 4
            case Part.MONTH:
                return 1, 12
            case Part.DAY:
                return 1, 31
            case Part.WEEKDAY:
                return 0, 6


class Span(Enum):
    """How long periods are, named as SQL names them; weeks start on Monday."""

    YEARS = "YEAR"
    QUARTERS = "QUARTER"
    MONTHS = "MONTH"
    WEEKS = "WEEK"
    DAYS = "DAY"

    def start(self, day: date) -> date:
        """The first day of the period that ``day`` lies in.

        Example:
            >>> [span.start(date(2026, 5, 31)).isoformat()[5:] for span in Span]
            ['01-01', '04-01', '05-01', '05-25', '05-31']
        """
        match self:
            case Span.YEARS:
                return day.replace(month=1, day=1)
            case Span.QUARTERS:
                return day.replace(month=3 * Part.QUARTER.of(day) - 2, day=1)
            case Span.MONTHS:
                return day.replace(day=1)
            case Span.WEEKS:
                return day - timedelta(days=day.weekday())
            case Span.DAYS:
                return day

    def starts(self, first: date, last: date) -> Iterator[date]:
        """The first days of all periods from that of ``first`` to that of ``last``.

        Example:
            >>> len(list(Span.WEEKS.starts(date(2026, 1, 1), date(2026, 12, 31))))
            53
        """
        start, end = self.start(first), self.start(last)
        while start < end:
            yield start
            # a period has at most as many days, and the one after it begins within them
            start = self.start(start + timedelta(days=self.longest))
        yield end

    @property
    def longest(self) -> int:
        """The days of the longest such period, by which the next is reached and not passed."""
        return {"YEAR": 366, "QUARTER": 92, "MONTH": 31, "WEEK": 7, "DAY": 1}[self.value]

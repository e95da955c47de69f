"""The tables of many steps, one below the other."""

from collections.abc import Sequence

from tacit.core.release import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.stream.stream import Periods
from tacit.stream.table import StreamRelease


def history(tables: Sequence[StreamRelease], periods: Periods, first: int = 0) -> StreamRelease:
    """The tables of steps from ``first`` on as one, each beside the first day of its period."""
    if not tables:
        raise InvalidValue("No step of this stream is released yet.")
    days = [
        periods.ends(number)[0].isoformat()
        for number, table in enumerate(tables, first)
        for _ in table.columns[0].values
    ]
    columns = [ReleasedColumn(periods.span.value.lower(), tuple(days))]
    for place, column in enumerate(tables[0].columns):
        same = [table.columns[place] for table in tables]
        values = tuple(value for each in same for value in each.values)
        intervals = tuple(around for each in same for around in each.intervals)
        columns.append(ReleasedColumn(column.name, values, intervals, column.confidence))
    last = tables[-1]
    return StreamRelease(tuple(columns), last.guarantee, last.receipt, last.policy)

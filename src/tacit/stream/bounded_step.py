"""The question about one step, bounded: where a unit is in few steps, it is in its first."""

from dataclasses import replace

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.day import day_of
from tacit.errors import InvalidValue
from tacit.plan.bound import Bound, bound
from tacit.plan.bounded import FirstPeriods, PeriodKey
from tacit.plan.canonical import canonical
from tacit.plan.days import clamped_days, day_column
from tacit.plan.expression import Field
from tacit.plan.gather import gather
from tacit.stream.stream import Stream


def bounded_step(stream: Stream, number: int, catalog: Catalog) -> Bound:
    """What an engine runs for the step ``number``.

    Guarantee: over all steps, a unit counts in at most ``stream.steps`` of them, as long as no
    row of a period that is over is taken away or changed.
    """
    found = bound(canonical(stream.plan_of(number)).plan, catalog)
    if not stream.limited:
        return found
    plan = replace(found.plan, first_periods=_first_periods(stream, number, catalog))
    return replace(found, plan=plan)


def _first_periods(stream: Stream, number: int, catalog: Catalog) -> FirstPeriods:
    day = day_column(Field(stream.periods.day), gather(stream.plan.source, catalog).scope)
    _within(day, stream)
    period = PeriodKey("period", clamped_days(day), stream.periods.span, None)
    return FirstPeriods(period, stream.periods.ends(number)[0].isoformat(), stream.steps)


def _within(day: Column, stream: Stream) -> None:
    """Refuse periods beyond the bounds of days: clamped, they would be taken for others."""
    if day.bounds is None:
        return
    ends = [stream.periods.ends(number)[0] for number in (0, stream.horizon - 1)]
    low, high = (day_of(end) for end in (day.grid().lowest, day.grid().highest))
    span = stream.periods.span
    if not span.start(low) <= ends[0] <= ends[1] <= high:
        raise InvalidValue(
            f"The periods go from {ends[0]} to that of {ends[1]}, and {day.name!r} is declared "
            f"to hold days from {low} to {high}; declare wider bounds, or fewer steps."
        )

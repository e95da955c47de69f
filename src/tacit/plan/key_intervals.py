"""Intervals that contain the values of rows, for each group of a public key.

In the group 'north' of wards the column is 'north'. In the group of a month, the day is one of
that month, or is beyond the bounds of its column if the month is the first or the last one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from tacit.core import Key, Kind, Schema
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey, ColumnKey, PeriodKey, StepsKey
from tacit.plan.lowering import number
from tacit.plan.possible_truths import Facts, Within, moment, sure_truths, truths
from tacit.plan.restricted_conditions import restrict


@dataclass(frozen=True, slots=True)
class KeyIntervals:
    """The groups of a key, in ascending order: intervals that contain values of their rows.

    ``within`` returns an interval for the groups from one place to before another; it contains
    the columns and numbers in ``names``. The numbers in ``exact`` equal the key. Intervals are
    computed where they are needed, because a key can have many groups.
    """

    values: tuple[Key, ...]
    names: tuple[str | grid_steps.Steps, ...]
    within: Callable[[int, int], Within]
    exact: tuple[grid_steps.Steps, ...] = ()

    def facts(self, first: int, last: int) -> Facts:
        """Return what is known of the rows of the groups from ``first`` to before ``last``."""
        found: dict[str | grid_steps.Steps, Within]
        found = dict.fromkeys(self.names, self.within(first, last))
        for steps in self.exact:
            found[steps] = Within(self.values[first], self.values[last - 1])
        return found

    def that_can(self, wanted: grid_steps.Condition) -> set[Key]:
        """Return the keys of the groups for which a condition can be true.

        Neighbours are looked at together, and apart only if the condition can be true for some
        of them and perhaps not for all. The parts that are decided for all of them are left
        out first. So many keys and long conditions take few steps.
        """
        todo = [(0, len(self.values), wanted)]
        found: set[Key] = set()
        while todo:
            first, last, whole = todo.pop()
            facts = self.facts(first, last)
            part = restrict(whole, facts)
            if True not in truths(part, facts):
                continue
            if last - first == 1 or True in sure_truths(part, facts):
                found.update(self.values[first:last])
            else:
                middle = (first + last) // 2
                todo += [(first, middle, part), (middle, last, part)]
        return found


def intervals_of(
    key: BoundedKey, values: tuple[Key, ...], expression: expr.Expression, schema: Schema
) -> KeyIntervals | None:
    """Return what is known of the groups of ``key``; None if nothing is known."""
    ascending = tuple(sorted(values))

    def exact(first: int, last: int) -> Within:
        return Within(ascending[first], ascending[last - 1])

    def days(first: int, last: int) -> Within:
        return Within(_day(ascending[first]), _day(ascending[last - 1]))

    match key, expression:
        case ColumnKey(_, name, Kind.DATE, _), _:
            return KeyIntervals(ascending, (name,), days) if all(map(_is_day, values)) else None
        case ColumnKey(_, name, _, _), expr.Field(given) if isinstance(
            schema[given], grid_steps.ComputedColumn
        ):
            return KeyIntervals(ascending, (grid_steps.ComputedSteps(name),), exact)
        case ColumnKey(_, name, kind, _), _:
            # keys of another type than the column are a mistake, and no row has them
            same = isinstance(values[0], str) is (kind is Kind.TEXT)
            return KeyIntervals(ascending, (name,), exact) if same else None
        case StepsKey(_, steps, _), _:
            return KeyIntervals(ascending, (steps,), exact)
        case PeriodKey(_, day, _, _), _:
            return KeyIntervals(ascending, (day.name,), _between(ascending, _day, day.kind))
        case _, expr.DatePart(expr.DatePartName.YEAR, expr.Field(name)):
            column, years = schema[name], number(expression, schema).steps
            within = _between(ascending, _new_year, column.kind)
            return KeyIntervals(ascending, (column.name,), within, (years,))
        case _, expr.DatePart():
            return KeyIntervals(ascending, (number(expression, schema).steps,), exact)
        case _, expr.Bin(expr.Field(name) as binned, _) if schema[name].kind is Kind.INTEGER:
            names = schema[name].name, number(binned, schema).steps
            return KeyIntervals(ascending, names, _bins(ascending))
    return None


def _day(key: Key) -> date:
    return date.fromisoformat(str(key))


def _is_day(key: Key) -> bool:
    """Return whether a declared key is a day as engines write it."""
    try:
        return _day(key).isoformat() == key
    except ValueError:
        return False


def _new_year(key: Key) -> date:
    return date(int(key), 1, 1)


def _between(
    keys: tuple[Key, ...], start: Callable[[Key], date], kind: Kind
) -> Callable[[int, int], Within]:
    """Return a function to the days, or the moments, of the periods between two places.

    Days are clamped to bounds, so that the first period has no first day and the last no end.
    """

    def within(first: int, last: int) -> Within:
        low = None if first == 0 else start(keys[first])
        after = None if last == len(keys) else start(keys[last])
        if kind is Kind.TIMESTAMP:
            return Within(moment(low), moment(after), open=True)
        return Within(low, None if after is None else after - timedelta(days=1))

    return within


def _bins(starts: tuple[Key, ...]) -> Callable[[int, int], Within]:
    """Return a function to the integers of bins; the first and the last have no end."""

    def within(first: int, last: int) -> Within:
        low = None if first == 0 else starts[first]
        return Within(low, None if last == len(starts) else int(starts[last]) - 1)

    return within

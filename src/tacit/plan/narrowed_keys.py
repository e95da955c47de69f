"""Public group keys without those that the question itself excludes.

Every public key is a row of the answer, with or without people. Under WHERE ward = 'north' the
other wards would be rows of pure noise, and would count in averages over groups. So a key is
left out if the conditions of the question cannot be true for any row with it.

Guarantee: the result is a function of the question and the catalogue. Engines drop rows with
a key that is not listed, so that sensitivities hold for every list.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from tacit.core import Key, Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey, ColumnKey, PeriodKey, StepsKey
from tacit.plan.lowering import number
from tacit.plan.possible_truths import (
    Facts,
    Within,
    is_about,
    moment,
    restrict,
    sure_truths,
    truths,
)
from tacit.plan.tree_walk import every

MOST_SHOWN = 5
"""Largest number of keys that a refusal lists."""


def narrow(
    key: BoundedKey,
    expression: expr.Expression,
    conditions: Iterable[grid_steps.Condition],
    schema: Schema,
) -> BoundedKey:
    """Return ``key`` without the public values that no row of the question can have.

    ``expression`` is the key as the question has it, and ``conditions`` hold for all rows. Keys
    whose values are not public, and most that are a CASE, stay as they are.

    Example:
        >>> from tacit.core import Column, Keys
        >>> wards = Keys(("north", "south"))
        >>> schema = Schema((Column("ward", Kind.TEXT, keys=wards),))
        >>> north = grid_steps.ColumnOneOf("ward", Kind.TEXT, ("north", "east"))
        >>> key = ColumnKey("ward", "ward", Kind.TEXT, wards)
        >>> narrow(key, expr.Field("ward"), [north], schema).keys.values
        ('north',)
    """
    if key.keys is None:
        return key
    values = key.keys.values
    groups = _groups(key, values, expression, schema)
    if groups is None:
        return key
    about = [part for part in _and_parts(conditions) if is_about(part, groups.facts(0, 1))]
    if not about:
        return key
    found = groups.that_can(grid_steps.AllOf(tuple(about)))
    kept = tuple(value for value in values if value in found)
    if not kept:
        shown = ", ".join(map(repr, values[:MOST_SHOWN]))
        more = ", ..." if len(values) > MOST_SHOWN else ""
        raise InvalidValue(
            f"WHERE excludes every value that the group key {key.name!r} can have, which are "
            f"{shown}{more}; change the condition."
        )
    return replace(key, keys=replace(key.keys, values=kept))


def _and_parts(conditions: Iterable[grid_steps.Condition]) -> Iterator[grid_steps.Condition]:
    for each in conditions:
        if isinstance(each, grid_steps.AllOf):
            yield from _and_parts(each.parts)
        else:
            yield each


def unlisted_constants(
    conditions: Iterable[grid_steps.Condition], schema: Schema
) -> tuple[tuple[str, str], ...]:
    """Return the columns with declared keys, each with a text that it is compared with.

    Only texts that are not among the keys are returned; most often they are misspelt.

    Example:
        >>> from tacit.core import Column, Keys
        >>> schema = Schema((Column("ward", Kind.TEXT, keys=Keys(("north", "south"))),))
        >>> wrong = grid_steps.ColumnOneOf("ward", Kind.TEXT, ("nroth", "south"))
        >>> unlisted_constants([wrong], schema)
        (('ward', 'nroth'),)
    """
    tested = tuple(conditions)
    compared = every(tested, grid_steps.CompareColumn)
    written: list[tuple[str, object]] = [(one.name, one.value) for one in compared]
    for many in every(tested, grid_steps.ColumnOneOf):
        written += [(many.name, value) for value in many.values]
    declared = {name: schema[name].keys for name, _ in written}
    listed = {name: set(keys.values) for name, keys in declared.items() if keys is not None}
    return tuple(
        (name, value)
        for name, value in dict.fromkeys(written)
        if isinstance(value, str) and name in listed and value not in listed[name]
    )


# What is known of groups ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of a key, in ascending order: intervals that contain values of their rows.

    ``within`` returns an interval for the groups from one place to before another; it contains
    the columns and numbers in ``names``. The numbers in ``exact`` equal the key. Intervals are
    computed where they are needed, because a key can have many groups.
    """

    values: tuple[Key, ...]
    names: tuple[str | grid_steps.Steps, ...]
    within: Callable[[int, int], Within]
    exact: tuple[grid_steps.Steps, ...] = field(default=())

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


def _groups(
    key: BoundedKey, values: tuple[Key, ...], expression: expr.Expression, schema: Schema
) -> _Groups | None:
    """Return what is known of the groups of ``key``; None if nothing is known."""
    ascending = tuple(sorted(values))

    def exact(first: int, last: int) -> Within:
        return Within(ascending[first], ascending[last - 1])

    def days(first: int, last: int) -> Within:
        return Within(_day(ascending[first]), _day(ascending[last - 1]))

    match key, expression:
        case ColumnKey(_, name, Kind.DATE, _), _:
            return _Groups(ascending, (name,), days) if all(map(_is_day, values)) else None
        case ColumnKey(_, name, _, _), expr.Field(given) if isinstance(
            schema[given], grid_steps.ComputedColumn
        ):
            return _Groups(ascending, (grid_steps.ComputedSteps(name),), exact)
        case ColumnKey(_, name, kind, _), _:
            # keys of another type than the column are a mistake, and no row has them
            same = isinstance(values[0], str) is (kind is Kind.TEXT)
            return _Groups(ascending, (name,), exact) if same else None
        case StepsKey(_, steps, _), _:
            return _Groups(ascending, (steps,), exact)
        case PeriodKey(_, day, _, _), _:
            return _Groups(ascending, (day.name,), _between(ascending, _day, day.kind))
        case _, expr.DatePart(expr.DatePartName.YEAR, expr.Field(name)):
            column, years = schema[name], number(expression, schema).steps
            within = _between(ascending, _new_year, column.kind)
            return _Groups(ascending, (column.name,), within, (years,))
        case _, expr.DatePart():
            return _Groups(ascending, (number(expression, schema).steps,), exact)
        case _, expr.Bin(expr.Field(name) as binned, _) if schema[name].kind is Kind.INTEGER:
            names = schema[name].name, number(binned, schema).steps
            return _Groups(ascending, names, _bins(ascending))
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

"""Public group keys without those that the question itself excludes.

Every public key is a row of the answer, with or without people. Under WHERE ward = 'north' the
other wards would be rows of pure noise, and would count in averages over groups. So a key is
left out if the conditions of the question cannot be true for any row with it.

Guarantee: the result is a function of the question and the catalogue. Engines drop rows with
a key that is not listed, so that sensitivities hold for every list.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from tacit.core import Key, Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey, ColumnKey, PeriodKey, StepsKey
from tacit.plan.lowering import number
from tacit.plan.possible_truths import Facts, Within, is_about, moment, truths
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
    kept = tuple(values[place] for place in groups.that_can(grid_steps.AllOf(tuple(about))))
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
    found = []
    for name, value in dict.fromkeys(written):
        keys = schema[name].keys
        if isinstance(value, str) and keys is not None and value not in keys.values:
            found.append((name, value))
    return tuple(found)


# What is known of groups ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of a key: for each, an interval that contains a column's value, or a number's.

    ``exact`` are numbers of the row that equal the key, with the keys; ``ranges`` are intervals
    of the column ``name``. If the intervals are ``ordered``, neighbours can be merged.
    """

    ranges: list[Within]
    names: tuple[str | grid_steps.Steps, ...]
    exact: tuple[tuple[grid_steps.Steps, list[Within]], ...] = ()
    ordered: bool = False

    def facts(self, first: int, last: int) -> Facts:
        """Return what is known of the rows of the groups from ``first`` to before ``last``."""
        found = {name: _merge(self.ranges, first, last) for name in self.names}
        return found | {steps: _merge(each, first, last) for steps, each in self.exact}

    def that_can(self, wanted: grid_steps.Condition) -> list[int]:
        """Return the places of the groups for which a condition can be true.

        Neighbours in order are looked at together, and apart only if the condition is neither
        true nor not true for all of them. So a list of many days takes few steps.
        """
        count = len(self.ranges)
        todo = [(0, count)] if self.ordered else [(n, n + 1) for n in reversed(range(count))]
        found: list[int] = []
        while todo:
            first, last = todo.pop()
            can_be = truths(wanted, self.facts(first, last))
            if True not in can_be:
                continue
            if can_be == {True} or last - first == 1:
                found += range(first, last)
            else:
                middle = (first + last) // 2
                todo += [(middle, last), (first, middle)]
        return found


def _merge(ranges: list[Within], first: int, last: int) -> Within:
    if last - first == 1:
        return ranges[first]
    return replace(ranges[last - 1], low=ranges[first].low)


def _groups(
    key: BoundedKey, values: tuple[Key, ...], expression: expr.Expression, schema: Schema
) -> _Groups | None:
    """Return what is known of the groups of ``key``; None if nothing is known."""
    exact = [Within(value, value) for value in values]
    match key, expression:
        case ColumnKey(_, name, Kind.DATE, _), _:
            days = [date.fromisoformat(str(value)) for value in values]
            return _Groups([Within(day, day) for day in days], (name,))
        case ColumnKey(_, name, _, _), expr.Field(field) if isinstance(
            schema[field], grid_steps.ComputedColumn
        ):
            return _Groups(exact, (grid_steps.ComputedSteps(name),), ordered=True)
        case ColumnKey(_, name, _, _), _:
            return _Groups(exact, (name,))
        case StepsKey(_, steps, _), _:
            return _Groups(exact, (steps,), ordered=True)
        case PeriodKey(_, day, _, _), _:
            starts = [date.fromisoformat(str(value)) for value in values]
            return _Groups(_between(starts, day.kind), (day.name,), ordered=True)
        case _, expr.DatePart(expr.DatePartName.YEAR, expr.Field(name)):
            starts = [date(int(year), 1, 1) for year in values]
            years = number(expression, schema).steps, exact
            column = schema[name]
            return _Groups(
                _between(starts, column.kind), (column.name,), (years,), ordered=True
            )
        case _, expr.DatePart():
            return _Groups(exact, (number(expression, schema).steps,), ordered=True)
        case _, expr.Bin(expr.Field(name) as field, _) if schema[name].kind is Kind.INTEGER:
            ends = [int(start) - 1 for start in values[1:]]
            bins = [
                Within(*each) for each in zip([None, *values[1:]], [*ends, None], strict=True)
            ]
            return _Groups(bins, (schema[name].name, number(field, schema).steps), ordered=True)
    return None


def _between(starts: list[date], kind: Kind) -> list[Within]:
    """Return the days, or the moments, of each period.

    Days are clamped to bounds, so that the first period has no first day and the last no end.
    """
    lows, after = [None, *starts[1:]], [*starts[1:], None]
    if kind is Kind.TIMESTAMP:
        moments = zip(map(moment, lows), map(moment, after), strict=True)
        return [Within(low, high, open=True) for low, high in moments]
    ends = [None if day is None else day - timedelta(days=1) for day in after]
    return [Within(*each) for each in zip(lows, ends, strict=True)]

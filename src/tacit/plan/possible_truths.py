"""The truths that a condition can have in rows of which something is known.

The idea: if the value of a column is known, or an interval that contains it, a condition about
that column has a known set of possible truths, and one about another column can have any. The
truths of AND, OR and NOT follow from those of their parts, as in SQL: unknown is a truth too.
The set can be too large, because parts are looked at one by one, but never too small.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from tacit.core import Kind
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps

Truths = frozenset[bool | None]
"""The truths that a condition can have; None is unknown."""

ANY: Truths = frozenset({True, False, None})

OTHER = grid_steps.CompareColumns(expr.Comparison.EQUAL, "", "", Kind.TEXT)
"""A condition about other columns, of which nothing is known: it can have any truth."""


@dataclass(frozen=True, slots=True)
class Within:
    """An interval that contains a value; None is an end without bound.

    Its upper end is not a value if it is ``open``.
    """

    low: Any
    high: Any
    open: bool = False

    def compare(self, comparison: expr.Comparison, value: Any) -> Truths:
        """Return the possible results of comparing the value, which is not NULL.

        Example:
            >>> sorted(Within(20, 29).compare(expr.Comparison.LESS, 25))
            [False, True]
            >>> sorted(Within(20, 29).compare(expr.Comparison.AT_LEAST, 30))
            [False]
        """
        below = self.low is None or self.low < value
        at_most = self.low is None or self.low <= value
        above = self.high is None or self.high > value
        at_least = above if self.open else self.high is None or self.high >= value
        inside, outside = at_most and at_least, below or above
        can, cannot = {
            expr.Comparison.LESS: (below, at_least),
            expr.Comparison.AT_LEAST: (at_least, below),
            expr.Comparison.AT_MOST: (at_most, above),
            expr.Comparison.MORE: (above, at_most),
            expr.Comparison.EQUAL: (inside, outside),
            expr.Comparison.UNEQUAL: (outside, inside),
        }[comparison]
        return frozenset([True] * can + [False] * cannot)

    def contains(self, value: Any) -> bool:
        """Return whether the value can be ``value``."""
        if self.low is not None and value < self.low:
            return False
        return self.high is None or value < self.high or (value == self.high and not self.open)


Facts = Mapping[str | grid_steps.Steps, Within]
"""Intervals that contain values of the rows of a group, by column or by number of a row."""


def moment(value: Any) -> Any:
    """Return a day as its first moment, and any other value as it is."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def is_about(condition: grid_steps.Condition, facts: Facts) -> bool:
    """Return whether facts say something about a part of a condition."""
    match condition:
        case grid_steps.AllOf(parts) | grid_steps.AnyOf(parts):
            return any(is_about(part, facts) for part in parts)
        case grid_steps.Negation(part):
            return is_about(part, facts)
        case grid_steps.ConstantCondition():
            return False  # tools ask WHERE 1 = 0 for the names of columns
    return None not in truths(condition, facts)


def truths(condition: grid_steps.Condition, facts: Facts) -> Truths:
    """Return the truths that a condition can have in rows of which ``facts`` are known.

    Example:
        >>> aged = grid_steps.CompareColumn(expr.Comparison.MORE, "age", Kind.INTEGER, 30)
        >>> truths(aged, {"age": Within(10, 19)})
        frozenset({False})
        >>> len(truths(aged, {"height": Within(10, 19)}))
        3
    """
    return _combine(condition, lambda part: truths_of_part(part, facts))


def sure_truths(condition: grid_steps.Condition, facts: Facts) -> Truths:
    """Return truths that a condition can have for each value within the intervals of ``facts``.

    They are some of those that `truths` would return if the interval were smaller.

    Example:
        >>> aged = grid_steps.CompareColumn(expr.Comparison.MORE, "age", Kind.INTEGER, 30)
        >>> either = grid_steps.AnyOf((aged, OTHER))
        >>> True in sure_truths(aged, {"age": Within(10, 39)})
        False
        >>> True in sure_truths(either, {"age": Within(10, 39)})
        True
    """

    def sure(part: grid_steps.Condition) -> Truths:
        found = truths_of_part(part, facts)
        return found if len(found) == 1 or found == ANY else frozenset()

    return _combine(condition, sure)


def _combine(
    condition: grid_steps.Condition, of_part: Callable[[grid_steps.Condition], Truths]
) -> Truths:
    match condition:
        case grid_steps.ConstantCondition(truth):
            return frozenset({truth})
        case grid_steps.AllOf(parts):
            return _all_of([_combine(part, of_part) for part in parts])
        case grid_steps.AnyOf(parts):
            return _negate(_all_of([_negate(_combine(part, of_part)) for part in parts]))
        case grid_steps.Negation(part):
            return _negate(_combine(part, of_part))
    return of_part(condition)


def truths_of_part(condition: grid_steps.Condition, facts: Facts) -> Truths:
    """Return the truths of a condition that is not made of others."""
    match condition:
        case grid_steps.CompareColumn(comparison, name, kind, value) if name in facts:
            same = moment(value) if kind is Kind.TIMESTAMP else value
            return facts[name].compare(comparison, same)
        case grid_steps.CompareSteps(
            comparison, left, grid_steps.WholeSteps(int() as value)
        ) if left in facts:
            return facts[left].compare(comparison, value)
        case grid_steps.CompareSteps(
            comparison, grid_steps.WholeSteps(int() as value), right
        ) if right in facts:
            return facts[right].compare(comparison.mirrored, value)
        case grid_steps.ColumnOneOf(name, kind, values) if name in facts:
            same = map(moment, values) if kind is Kind.TIMESTAMP else values
            return _one_of(facts[name], tuple(same))
        case grid_steps.StepsOneOf(steps, values) if steps in facts:
            return _one_of(facts[steps], values)
        case grid_steps.ColumnIsTrue(name) if name in facts:
            return frozenset({bool(facts[name].low), bool(facts[name].high)})
        case grid_steps.ColumnIsNull(name, _) | grid_steps.StepsAreNull(name) if name in facts:
            return frozenset({False})
    return ANY


def _one_of(within: Within, values: tuple[Any, ...]) -> Truths:
    if within.low == within.high and within.low is not None:
        return frozenset({within.low in values})
    return frozenset({True, False} if any(map(within.contains, values)) else {False})


def _all_of(parts: list[Truths]) -> Truths:
    """Return the truths that AND can have: false before unknown, and unknown before true."""
    found: set[bool | None] = set()
    if any(False in part for part in parts):
        found.add(False)
    able = [part - {False} for part in parts]
    if all(able):
        if any(None in part for part in able):
            found.add(None)
        if all(True in part for part in able):
            found.add(True)
    return frozenset(found)


def _negate(part: Truths) -> Truths:
    return frozenset(None if truth is None else not truth for truth in part)

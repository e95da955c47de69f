"""The rows of units, by their meaning: each is computed from one unit's own rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tacit.engines.meaning import Cell, Row, steps, truth
from tacit.plan.of_unit import CountOf, GreatestOf, LeastOf, MeanOf, OfUnit, SumOf
from tacit.plan.source import Gathered
from tacit.plan.steps import Steps


def gathered(relation: Gathered, rows: Iterable[Row]) -> list[Row]:
    """What ``rows``, those of the relation's source, are gathered to."""
    unit = relation.source.unit
    names = (unit, *relation.keys)
    groups: dict[tuple[Cell, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row[unit] is not None and truth(relation.condition, row):
            groups[tuple(row[name] for name in names)].append(row)
    return [
        dict(zip(names, group, strict=True))
        | {name: of_unit(value, found) for name, value in relation.values}
        for group, found in groups.items()
    ]


def of_unit(value: OfUnit, rows: Sequence[Row]) -> int | None:
    """What ``value`` is for a unit that has ``rows``; None is NULL."""
    match value:
        case CountOf(condition, low, high):
            return min(max(sum(truth(condition, row) is True for row in rows), low), high)
        case SumOf(number, low, high):
            found = _there(number, rows)
            return min(max(sum(found), low), high) if found else None
        case LeastOf(number):
            return min(_there(number, rows), default=None)
        case GreatestOf(number):
            return max(_there(number, rows), default=None)
        case MeanOf(number, finer, start):
            found = _there(number, rows)
            doubled = 2 * len(found)
            return start + (2 * finer * sum(found) + len(found)) // doubled if found else None


def _there(number: Steps, rows: Sequence[Row]) -> list[int]:
    """The numbers that are not NULL."""
    return [found for row in rows if (found := steps(number, row)) is not None]

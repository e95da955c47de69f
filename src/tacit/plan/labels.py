"""A target of classes as a model computes with it: the place of a class in a public list."""

from collections.abc import Sequence

from tacit.core.column import Column, Kind
from tacit.core.keys import Key, Keys
from tacit.errors import InvalidValue
from tacit.plan.bounded import StepsKey
from tacit.plan.steps import (
    CaseSteps,
    ColumnIsTrue,
    ColumnOneOf,
    Condition,
    NotSo,
    WholeSteps,
)


def label_key(column: Column, classes: Sequence[Key]) -> StepsKey:
    """Groups of rows by the public ``classes``, under their places; others are in none.

    Example:
        >>> label_key(Column("ward", Kind.TEXT), ["north", "south"]).keys.values
        (0, 1)
    """
    return StepsKey("class", label_steps(column, classes), Keys(tuple(range(len(classes)))))


def label_steps(column: Column, classes: Sequence[Key]) -> CaseSteps:
    """Which of the public ``classes`` a row is of, from 0 on; NULL for what is none of them.

    Example:
        >>> steps = label_steps(Column("ward", Kind.TEXT), ["north", "south"])
        >>> [when.values for when, _ in steps.whens], steps.otherwise.value
        ([('north',), ('south',)], None)
    """
    if column.kind is not Kind.BOOLEAN and any(
        isinstance(label, str) is not (column.kind is Kind.TEXT) for label in classes
    ):
        raise InvalidValue(
            f"{column.name!r} holds {column.kind.value}s, and its classes are: "
            f"{', '.join(map(repr, classes))}."
        )
    whens = [(_is(column, label), WholeSteps(at)) for at, label in enumerate(classes)]
    return CaseSteps(tuple(whens), WholeSteps(None))


def _is(column: Column, label: Key) -> Condition:
    if column.kind is not Kind.BOOLEAN:
        return ColumnOneOf(column.name, column.kind, (label,))
    true = ColumnIsTrue(column.name)
    return true if label else NotSo(true)

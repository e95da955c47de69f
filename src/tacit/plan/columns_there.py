"""Which columns a condition is about: those that hold a value wherever it is true."""

from tacit.plan.steps import AllOf, ColumnIsNull, Condition, NotSo


def columns_there(condition: Condition) -> frozenset[str]:
    """The columns that no kept row lacks: each is asked for by itself, and all must hold.

    Example:
        >>> from tacit.core.column import Kind
        >>> there = NotSo(ColumnIsNull("people.age", Kind.INTEGER))
        >>> sorted(columns_there(AllOf((there, AllOf(())))))
        ['people.age']
        >>> columns_there(NotSo(there))
        frozenset()
    """
    match condition:
        case AllOf(parts):
            return frozenset[str]().union(*map(columns_there, parts))
        case NotSo(ColumnIsNull(name, _)):
            return frozenset({name})
        case _:
            return frozenset()

"""Limits on the work that a question may cause for each row.

A condition is evaluated once for each row, or for each pair of rows in a join. With hundreds of
operations, the rows of one person would take enough time to be visible in the time of an
answer. The number of operations is therefore limited, and so is the length of lists and texts
with which rows are compared.
"""

from collections.abc import Iterator

from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan.tree_walk import every

MOST_TERMS = 64
"""Largest number of operations on a row: comparisons, LIKE, IN, IS NULL, NOT, CASE, arithmetic,
functions, dates and bins."""

SLOW: dict[expr.Function, int] = dict.fromkeys(
    (expr.Function.SQRT, expr.Function.LN, expr.Function.EXP, expr.Function.POWER), 4
)
"""Functions that take as long as several operations, with their number."""

MOST_LISTED = 1_000
"""Largest number of values in all lists of IN together. The limit is higher because engines
find a value in a list by hashing."""

MOST_RUNGS = 512
"""Largest number of rungs of all ladders together. A ladder is a CASE that compares one column
with constant numbers or days and returns constants; its WHENs are its rungs. The command
`tacit domain --estimate` uses two ladders. Such a comparison takes about a nanosecond, so that
a rung does not count as an operation."""

LONGEST_LITERAL = 1_000
"""Largest number of bytes of a text in a question; a text column has the same default limit."""

OPERATIONS = (
    expr.Compare,
    expr.OneOf,
    expr.Like,
    expr.IsNull,
    expr.Not,
    expr.Case,
    expr.Arithmetic,
    expr.Divide,
    expr.FunctionCall,
    expr.Bin,
    expr.DatePart,
    expr.Period,
)


def not_too_many_terms(*parts: object) -> None:
    """Refuse parts of a question that need too many operations for each row.

    Example:
        >>> from tacit.plan.expression import Constant, Comparison, Field
        >>> adult = expr.Compare(Comparison.AT_LEAST, Field("age"), Constant(18))
        >>> not_too_many_terms(expr.And((adult,) * 64))
        >>> not_too_many_terms(expr.And((adult,) * 65))
        Traceback (most recent call last):
        tacit.errors.InvalidValue: This question has 65 comparisons, arithmetic and other \
operations on each row; 64 is the most. Ask for less at once, or list values with IN.
    """
    terms = sum(_terms(part) for part in parts)
    if terms > MOST_TERMS:
        raise InvalidValue(
            f"This question has {terms} comparisons, arithmetic and other operations on each "
            f"row; {MOST_TERMS} is the most. Ask for less at once, or list values with IN."
        )
    rungs = sum(len(ladder.whens) for part in parts for ladder in _ladders(part))
    if rungs > MOST_RUNGS:
        raise InvalidValue(
            f"This question compares columns with {rungs} constants in CASE; {MOST_RUNGS} is "
            "the most. Use fewer WHENs."
        )
    listed = sum(len(each.values) for part in parts for each in every(part, expr.OneOf))
    if listed > MOST_LISTED:
        raise InvalidValue(
            f"This question lists {listed} values with IN; {MOST_LISTED} is the most. List "
            "fewer values."
        )
    longest = max((len(text.encode()) for part in parts for text in _texts(part)), default=0)
    if longest > LONGEST_LITERAL:
        raise InvalidValue(
            f"A text in this question has {longest} bytes; {LONGEST_LITERAL} is the most. "
            "Write a shorter text."
        )


def _terms(part: object) -> int:
    """Count the operations in a tree; a Boolean column in AND or OR counts as one too."""
    operations = sum(1 for _ in every(part, OPERATIONS))
    operations += sum(SLOW.get(call.function, 1) - 1 for call in every(part, expr.FunctionCall))
    operations -= sum(len(ladder.whens) for ladder in _ladders(part))
    several = [each.parts for each in every(part, expr.And)] + [
        e.parts for e in every(part, expr.Or)
    ]
    return operations + sum(isinstance(each, expr.Field) for parts in several for each in parts)


def _ladders(part: object) -> Iterator[expr.Case]:
    """Yield each CASE that only compares one column with constant numbers or days."""
    for case in every(part, expr.Case):
        conditions = [condition for condition, _ in case.whens]
        results = [result for _, result in case.whens] + [case.otherwise]
        columns = {_compared_column(condition) for condition in conditions}
        constant = all(isinstance(each, expr.Constant) for each in results)
        if constant and len(columns) == 1 and None not in columns:
            yield case


def _compared_column(condition: object) -> expr.Field | None:
    """Return the column that a condition compares with a constant number or day, or None."""
    if isinstance(condition, expr.Compare):
        for column, other in (
            (condition.left, condition.right),
            (condition.right, condition.left),
        ):
            number = isinstance(other, expr.Constant) and not isinstance(
                other.value, str | None
            )
            if isinstance(column, expr.Field) and number:
                return column
    return None


def _texts(part: object) -> Iterator[str]:
    """Yield all texts with which rows are compared."""
    for constant in every(part, expr.Constant):
        if isinstance(constant.value, str):
            yield constant.value
    for listed in every(part, expr.OneOf):
        yield from (value for value in listed.values if isinstance(value, str))
    for pattern in every(part, expr.Like):
        yield pattern.pattern

"""How much a question may compute for each row.

A condition runs once for each row, and for each pair of rows that a join makes. A question
with hundreds of terms would make one person's few rows cost enough time to be seen, so the
number of terms is capped, as is the length of everything that a row is compared with.
"""

from collections.abc import Iterator

from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan.tree_walk import every

MOST_TERMS = 64
"""Operations on a row: comparisons, LIKE, IN, IS NULL, NOT, CASE, arithmetic, dates, bins."""

MOST_LISTED = 1_000
"""Values in all lists of IN together; an engine finds a value among many in one step."""

MOST_RUNGS = 512
"""Rungs of all ladders together. A ladder is a CASE that compares one column with constant
numbers or days, and gives a constant for each: `tacit domain --estimate` asks by two of them.
Such a comparison takes a nanosecond, so a rung is not counted as an operation."""

LONGEST_LITERAL = 1_000
"""Bytes of a text that a row is compared with, as many as a text column holds by default."""

OPERATIONS = (
    expr.Compare,
    expr.OneOf,
    expr.Like,
    expr.IsNull,
    expr.Not,
    expr.Case,
    expr.Arithmetic,
    expr.Bin,
    expr.DatePart,
    expr.Period,
)


def not_too_many_terms(*parts: object) -> None:
    """Refuse parts of a question that compute too much for each row.

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
            "the most."
        )
    listed = sum(len(each.values) for part in parts for each in every(part, expr.OneOf))
    if listed > MOST_LISTED:
        raise InvalidValue(
            f"This question lists {listed} values with IN; {MOST_LISTED} is the most."
        )
    longest = max((len(text.encode()) for part in parts for text in _texts(part)), default=0)
    if longest > LONGEST_LITERAL:
        raise InvalidValue(
            f"A text in this question has {longest} bytes; {LONGEST_LITERAL} is the most."
        )


def _terms(part: object) -> int:
    """Operations in a tree, and columns that stand for a condition by themselves."""
    operations = sum(1 for kind in OPERATIONS for _ in every(part, kind))
    operations -= sum(len(ladder.whens) for ladder in _ladders(part))
    several = [each.parts for each in every(part, expr.And)] + [
        e.parts for e in every(part, expr.Or)
    ]
    return operations + sum(isinstance(each, expr.Field) for parts in several for each in parts)


def _ladders(part: object) -> Iterator[expr.Case]:
    """CASEs that only compare one column with constant numbers or days."""
    for case in every(part, expr.Case):
        conditions = [condition for condition, _ in case.whens]
        results = [result for _, result in case.whens] + [case.otherwise]
        columns = {_compared_column(condition) for condition in conditions}
        constant = all(isinstance(each, expr.Constant) for each in results)
        if constant and len(columns) == 1 and None not in columns:
            yield case


def _compared_column(condition: object) -> expr.Field | None:
    """The column that a condition compares with a constant number or day; else None."""
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
    """All texts that rows are compared with."""
    for constant in every(part, expr.Constant):
        if isinstance(constant.value, str):
            yield constant.value
    for listed in every(part, expr.OneOf):
        yield from (value for value in listed.values if isinstance(value, str))
    for pattern in every(part, expr.Like):
        yield pattern.pattern

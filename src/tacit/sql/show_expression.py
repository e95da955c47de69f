"""Expressions of a plan to those of SQL, one case a node."""

from collections.abc import Callable
from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.numeric.exact import plain
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Constant,
    DatePart,
    Divide,
    Expression,
    Field,
    IsNull,
    Like,
    Not,
    OneOf,
    Or,
    Period,
    Value,
)
from tacit.sql.expression import COMPARISONS, OPERATIONS

Shown = Callable[[Field], exp.Expr]
"""How a column is written."""

ORING, ANDING, DENYING, COMPARING, ADDING, MULTIPLYING, ALONE = range(7)
"""How tightly operators bind."""

BINDING: dict[type[exp.Expr], int] = {
    exp.Or: ORING,
    exp.And: ANDING,
    exp.Not: DENYING,
    **dict.fromkeys((*COMPARISONS, exp.Is, exp.In, exp.Like), COMPARING),
    **dict.fromkeys((exp.Add, exp.Sub), ADDING),
    **dict.fromkeys((exp.Mul, exp.Div), MULTIPLYING),
}

LONGEST_CHAIN = 20
"""Conditions in one chain."""

COMPARED = {comparison: node for node, comparison in COMPARISONS.items()}
COMPUTED = {operation: node for node, operation in OPERATIONS.items()}


def show_expression(part: Expression, shown: Shown) -> exp.Expr:
    """``part`` as it is written, with parentheses where it would be read otherwise."""
    match part:
        case Field():
            return shown(part)
        case Constant(value):
            return literal(value)
        case Compare(comparison, left, right):
            sides = (show_expression(side, shown) for side in (left, right))
            one, other = (_above(COMPARING, side) for side in sides)
            return COMPARED[comparison](this=one, expression=other)
        case Arithmetic(operation, left, right):
            sides = (show_expression(side, shown) for side in (left, right))
            return _left_first(COMPUTED[operation], *sides)
        case Divide(left, right):
            sides = (show_expression(side, shown) for side in (left, right))
            return _left_first(exp.Div, *sides)
        case OneOf(inner, values):
            listed = [literal(value) for value in values]
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.In(this=tested, expressions=listed)
        case Like(inner, pattern):
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.Like(this=tested, expression=literal(pattern))
        case DatePart(which, day):
            taken = _above(MULTIPLYING, show_expression(day, shown))
            return exp.Extract(this=exp.var(which.value), expression=taken)
        case Period(span, day):
            taken = _above(MULTIPLYING, show_expression(day, shown))
            return exp.TimestampTrunc(this=taken, unit=exp.var(span.value))
        case IsNull(inner):
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.Is(this=tested, expression=exp.null())
        case Not(inner):
            return exp.Not(this=_above(ANDING, show_expression(inner, shown)))
        case And(parts):
            return all_of([show_expression(each, shown) for each in parts])
        case Or(parts):
            return _joined(exp.Or, [show_expression(each, shown) for each in parts])
        case Bin(inner, width):
            divided = _left_first(exp.Div, show_expression(inner, shown), literal(width))
            return exp.Mul(this=exp.Floor(this=divided), expression=literal(width))
        case Case(whens, otherwise):
            case = exp.Case()
            for when, then in whens:
                pair = show_expression(when, shown), show_expression(then, shown)
                case = case.when(*pair, copy=False)
            return case.else_(show_expression(otherwise, shown), copy=False)


def all_of(parts: list[exp.Expr]) -> exp.Expr:
    """All of several conditions."""
    return _joined(exp.And, parts)


def column(name: str, table: str | None = None) -> exp.Expr:
    """A column by its names, quoted."""
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True)
    )


def literal(value: Value | None) -> exp.Expr:
    """A constant as it is written."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | Fraction():
            text = plain(abs(Fraction(value)))
            if "/" in text:
                raise InvalidValue(f"{text} has no end as a decimal, and SQL has no fractions.")
            number = exp.Literal.number(text)
            return exp.paren(exp.Neg(this=number)) if value < 0 else number
        case str():
            return exp.Literal.string(value)
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")


def _above(binding: int, part: exp.Expr) -> exp.Expr:
    """``part``, in parentheses unless it binds more tightly."""
    return part if BINDING.get(type(part), ALONE) > binding else exp.paren(part, copy=False)


def _left_first(node: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Operators that bind equally are read from the left."""
    binding = BINDING[node]
    return node(this=_above(binding - 1, left), expression=_above(binding, right))


def _joined(node: type[exp.Expr], parts: list[exp.Expr]) -> exp.Expr:
    """Parts joined two by two where they are many, since a long chain is a deep tree."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2 if len(parts) > LONGEST_CHAIN else len(parts) - 1
    return _left_first(node, _joined(node, parts[:middle]), _joined(node, parts[middle:]))

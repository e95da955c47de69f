"""Expressions of SQL to those of a plan, one case a node."""

import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.numeric.exact import exact
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    Divide,
    Expression,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Value,
)
from tacit.plan.size import LARGEST_PART, not_too_large
from tacit.sql.day import part_of, span_of

COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.EQ: Comparison.EQUAL,
    exp.NEQ: Comparison.UNEQUAL,
    exp.LT: Comparison.LESS,
    exp.LTE: Comparison.AT_MOST,
    exp.GT: Comparison.MORE,
    exp.GTE: Comparison.AT_LEAST,
}
OPERATIONS: dict[type[exp.Expr], Operation] = {
    exp.Add: Operation.ADD,
    exp.Sub: Operation.SUBTRACT,
    exp.Mul: Operation.MULTIPLY,
}

DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
LARGEST_NUMBER = 10**40


Leaf = Callable[[exp.Expr], Expression | None]
"""What a node stands for by itself, such as a column; None where its parts are looked at."""


def expression(node: exp.Expr, leaf: Leaf) -> Expression:
    """The expression that ``node``, which was admitted, stands for."""
    found = leaf(node)
    if found is not None:
        return found
    match node:
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.Cast() | exp.Neg():
            return _constant(node, leaf)
        case exp.Paren():
            return expression(node.this, leaf)
        case exp.And():
            return And((expression(node.this, leaf), expression(node.expression, leaf)))
        case exp.Or():
            return Or((expression(node.this, leaf), expression(node.expression, leaf)))
        case exp.Not():
            return Not(expression(node.this, leaf))
        case exp.Between():
            part = not_too_large(expression(node.this, leaf), LARGEST_PART)
            low, high = expression(node.args["low"], leaf), expression(node.args["high"], leaf)
            return And(
                (
                    Compare(Comparison.AT_LEAST, part, low),
                    Compare(Comparison.AT_MOST, part, high),
                )
            )
        case exp.In():
            return OneOf(
                expression(node.this, leaf),
                tuple(_value(each, leaf) for each in node.expressions),
            )
        case exp.Is():
            if not isinstance(node.expression, exp.Null):
                raise InvalidValue("IS is known as IS NULL and IS NOT NULL alone.")
            return IsNull(expression(node.this, leaf))
        case exp.Case():
            return _case(node, leaf)
        case exp.Like():
            asked = Like(expression(node.this, leaf), _pattern(node.expression))
            return Not(asked) if node.args.get("negate") else asked
        case exp.TimestampTrunc():
            return Period(span_of(node), expression(node.this, leaf))
    taken = part_of(node)
    if taken is not None:
        return DatePart(taken[0], expression(taken[1], leaf))
    if isinstance(node, exp.Floor) or isinstance(_plain(node.this), exp.Floor):
        return _bin(node, leaf)
    if type(node) in COMPARISONS:
        left, right = expression(node.this, leaf), expression(node.expression, leaf)
        return Compare(COMPARISONS[type(node)], left, right)
    if type(node) in OPERATIONS:
        left, right = expression(node.this, leaf), expression(node.expression, leaf)
        return Arithmetic(OPERATIONS[type(node)], left, right)
    if isinstance(node, exp.Div):
        return Divide(expression(node.this, leaf), expression(node.expression, leaf))
    raise InvalidValue(f"{type(node).__name__.upper()} cannot stand here.")


def _plain(node: object) -> object:
    """What parentheses hold."""
    return _plain(node.this) if isinstance(node, exp.Paren) else node


def _bin(node: exp.Expr, leaf: Leaf) -> Bin:
    """FLOOR(x / width) * width."""
    floor = _plain(node.this)
    divided = _plain(floor.this) if isinstance(floor, exp.Floor) else None
    if isinstance(node, exp.Mul) and isinstance(divided, exp.Div):
        widths = expression(divided.expression, leaf), expression(node.expression, leaf)
        match widths:
            case Constant(bool()), _:
                pass
            case Constant(int() as width), Constant(int() as times) if width == times:
                return Bin(expression(divided.this, leaf), width)
    raise InvalidValue("FLOOR is known in bins alone: FLOOR(x / 10) * 10, from a whole number.")


def _case(node: exp.Case, leaf: Leaf) -> Case:
    subject = node.args.get("this")
    # once, and shared: it is repeated in every condition
    part = None if subject is None else expression(subject, leaf)
    whens = []
    for when in node.args["ifs"]:
        asked = expression(when.this, leaf)
        if part is not None:
            asked = Compare(Comparison.EQUAL, not_too_large(part, LARGEST_PART), asked)
        whens.append((asked, expression(when.args["true"], leaf)))
    default = node.args.get("default")
    return Case(tuple(whens), Constant(None) if default is None else expression(default, leaf))


def _value(node: exp.Expr, leaf: Leaf) -> Value:
    match expression(node, leaf):
        case Constant(value) if value is not None:
            return value
    raise InvalidValue("IN takes values that are written out, without NULL.")


def _pattern(node: exp.Expr) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise InvalidValue("LIKE takes a pattern that is written out, as in ward LIKE 'no%'.")


def _constant(node: exp.Expr, leaf: Leaf) -> Expression:
    match node:
        case exp.Null():
            return Constant(None)
        case exp.Boolean():
            return Constant(bool(node.this))
        case exp.Literal() if node.is_string:
            return Constant(str(node.this))
        case exp.Literal():
            return Constant(_number(str(node.this)))
        case exp.Neg():
            inner = expression(node.this, leaf)
            match inner:
                case Constant(bool()):
                    raise InvalidValue("- takes numbers.")
                case Constant(int() | Fraction() as value):
                    return Constant(-value)
            return Arithmetic(Operation.MULTIPLY, Constant(-1), inner)
        case exp.Cast() if node.to.this is exp.DType.DATE and node.this.is_string:
            return Constant(_day(str(node.this.this)))
    raise InvalidValue("CAST is known for days alone, as DATE '2026-01-31'.")


def _number(written: str) -> int | Fraction:
    number = exact(written)
    if max(abs(number.numerator), number.denominator) >= LARGEST_NUMBER:
        raise InvalidValue("A number has at most 40 digits.")
    return int(number) if number.denominator == 1 else number


def _day(written: str) -> date:
    try:
        # one way to write a day, not all those of ISO 8601
        if DAY.fullmatch(written):
            return date.fromisoformat(written)
    except ValueError:
        pass  # told below
    raise InvalidValue("A day is written DATE '2026-01-31'.")

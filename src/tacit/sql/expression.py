"""Expressions of SQL to those of a plan, one case a node."""

from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.numeric.exact import exact
from tacit.plan.expression import (
    And,
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Constant,
    Expression,
    Field,
    IsNull,
    Not,
    OneOf,
    Operation,
    Or,
    Value,
)

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


def expression(node: exp.Expr) -> Expression:
    """The expression that ``node``, which was admitted, stands for."""
    match node:
        case exp.Column():
            return Field(node.name)
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.Cast() | exp.Neg():
            return _constant(node)
        case exp.Paren():
            return expression(node.this)
        case exp.And():
            return And((expression(node.this), expression(node.expression)))
        case exp.Or():
            return Or((expression(node.this), expression(node.expression)))
        case exp.Not():
            return Not(expression(node.this))
        case exp.Between():
            part = expression(node.this)
            low, high = expression(node.args["low"]), expression(node.args["high"])
            return And(
                (
                    Compare(Comparison.AT_LEAST, part, low),
                    Compare(Comparison.AT_MOST, part, high),
                )
            )
        case exp.In():
            return OneOf(expression(node.this), tuple(map(_value, node.expressions)))
        case exp.Is():
            if not isinstance(node.expression, exp.Null):
                raise InvalidValue("IS is known as IS NULL and IS NOT NULL alone.")
            return IsNull(expression(node.this))
        case exp.Case():
            return _case(node)
    if type(node) in COMPARISONS:
        left, right = expression(node.this), expression(node.expression)
        return Compare(COMPARISONS[type(node)], left, right)
    if type(node) in OPERATIONS:
        left, right = expression(node.this), expression(node.expression)
        return Arithmetic(OPERATIONS[type(node)], left, right)
    raise InvalidValue(f"{type(node).__name__.upper()} cannot stand here.")


def _case(node: exp.Case) -> Case:
    subject = node.args.get("this")
    whens = []
    for when in node.args["ifs"]:
        asked = expression(when.this)
        if subject is not None:
            asked = Compare(Comparison.EQUAL, expression(subject), asked)
        whens.append((asked, expression(when.args["true"])))
    default = node.args.get("default")
    return Case(tuple(whens), Constant(None) if default is None else expression(default))


def _value(node: exp.Expr) -> Value:
    match expression(node):
        case Constant(value) if value is not None:
            return value
    raise InvalidValue("IN takes values that are written out, without NULL.")


def _constant(node: exp.Expr) -> Expression:
    match node:
        case exp.Null():
            return Constant(None)
        case exp.Boolean():
            return Constant(bool(node.this))
        case exp.Literal() if node.is_string:
            return Constant(str(node.this))
        case exp.Literal():
            number = exact(str(node.this))
            return Constant(int(number) if number.denominator == 1 else number)
        case exp.Neg():
            inner = expression(node.this)
            if isinstance(inner, Constant) and isinstance(inner.value, int | Fraction):
                return Constant(-inner.value)
            return Arithmetic(Operation.MULTIPLY, Constant(-1), inner)
        case exp.Cast() if node.to.this is exp.DType.DATE and isinstance(
            node.this, exp.Literal
        ):
            try:
                return Constant(date.fromisoformat(str(node.this.this)))
            except ValueError as error:
                raise InvalidValue("A day is written DATE '2026-01-31'.") from error
    raise InvalidValue("CAST is known for days alone, as DATE '2026-01-31'.")

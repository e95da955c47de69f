"""The translation of SQL expressions and aggregates into those of a plan, node by node.

The nodes must have passed `tacit.sql.allow_list.admit` before.
"""

import re
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from functools import partial

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.numeric import exact
from tacit.plan import LARGEST_PART, PairFunction, not_too_large
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.sql.allow_list import part_of, span_of
from tacit.sql.functions import call, date_part, period

# Expressions ---------------------------------------------------------------------------------

COMPARISONS: dict[type[exp.Expr], expr.Comparison] = {
    exp.EQ: expr.Comparison.EQUAL,
    exp.NEQ: expr.Comparison.UNEQUAL,
    exp.LT: expr.Comparison.LESS,
    exp.LTE: expr.Comparison.AT_MOST,
    exp.GT: expr.Comparison.MORE,
    exp.GTE: expr.Comparison.AT_LEAST,
}
OPERATIONS: dict[type[exp.Expr], expr.Operation] = {
    exp.Add: expr.Operation.ADD,
    exp.Sub: expr.Operation.SUBTRACT,
    exp.Mul: expr.Operation.MULTIPLY,
}

DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = re.compile(DAY.pattern + "([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{3}([0-9]{3})?)?)?)?")
TIMESTAMPS = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME}
LARGEST_NUMBER = 10**40


Leaf = Callable[[exp.Expr], expr.Expression | None]
"""A function that translates a whole node, such as a column; None to translate its parts."""


def expression(node: exp.Expr, leaf: Leaf) -> expr.Expression:
    """Return the plan expression of ``node``, which `admit` has accepted."""
    found = leaf(node)
    if found is not None:
        return found
    found = call(node, partial(expression, leaf=leaf))
    if found is not None:
        return found
    match node:
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.Cast() | exp.Neg():
            return _constant(node, leaf)
        case exp.Paren():
            return expression(node.this, leaf)
        case exp.And():
            return expr.And((expression(node.this, leaf), expression(node.expression, leaf)))
        case exp.Or():
            return expr.Or((expression(node.this, leaf), expression(node.expression, leaf)))
        case exp.Not():
            return expr.Not(expression(node.this, leaf))
        case exp.Between():
            part = not_too_large(expression(node.this, leaf), LARGEST_PART)
            low, high = expression(node.args["low"], leaf), expression(node.args["high"], leaf)
            return expr.And(
                (
                    expr.Compare(expr.Comparison.AT_LEAST, part, low),
                    expr.Compare(expr.Comparison.AT_MOST, part, high),
                )
            )
        case exp.In() if node.args.get("query") is None:
            return expr.OneOf(
                expression(node.this, leaf),
                tuple(_value(each, leaf) for each in node.expressions),
            )
        case exp.Is():
            if not isinstance(node.expression, exp.Null):
                raise InvalidValue(
                    "IS is supported only in IS NULL and IS NOT NULL; write smoker for smoker "
                    "IS TRUE, and NOT COALESCE(smoker, FALSE) for smoker IS NOT TRUE."
                )
            return expr.IsNull(expression(node.this, leaf))
        case exp.Case():
            return _case(node, leaf)
        case exp.Like():
            asked = expr.Like(expression(node.this, leaf), _pattern(node.expression))
            return expr.Not(asked) if node.args.get("negate") else asked
        case exp.Date():
            return period(expr.Span.DAYS, expression(node.this, leaf))
        case exp.TimestampTrunc():
            return period(span_of(node), expression(node.this, leaf))
    taken = part_of(node)
    if taken is not None:
        return date_part(taken[0], expression(taken[1], leaf))
    if type(node) in COMPARISONS:
        left, right = expression(node.this, leaf), expression(node.expression, leaf)
        return expr.Compare(COMPARISONS[type(node)], left, right)
    if type(node) in OPERATIONS:
        left, right = expression(node.this, leaf), expression(node.expression, leaf)
        return expr.Arithmetic(OPERATIONS[type(node)], left, right)
    if isinstance(node, exp.Div):
        return expr.Divide(expression(node.this, leaf), expression(node.expression, leaf))
    name = type(node).__name__.upper()
    if isinstance(node, AGGREGATES):
        raise InvalidValue(
            f"{name} is an aggregate, and here a value of a row is needed; conditions on "
            "aggregates are written in HAVING, as in HAVING COUNT(*) > 100."
        )
    if isinstance(node, exp.Window):
        raise InvalidValue(
            "OVER is supported only for released values, as in SUM(COUNT(*)) OVER (), and here "
            "a value of a row is needed; write a subquery with GROUP BY and the unit for a "
            "value of each person, as in MIN(cost)."
        )
    raise InvalidValue(f"{name} is not supported in this part of a question; leave it out.")


def _case(node: exp.Case, leaf: Leaf) -> expr.Case:
    subject = node.args.get("this")
    # translate the subject once; every condition shares the result
    part = None if subject is None else expression(subject, leaf)
    whens = []
    for when in node.args["ifs"]:
        asked = expression(when.this, leaf)
        if part is not None:
            asked = expr.Compare(
                expr.Comparison.EQUAL, not_too_large(part, LARGEST_PART), asked
            )
        whens.append((asked, expression(when.args["true"], leaf)))
    default = node.args.get("default")
    return expr.Case(
        tuple(whens), expr.Constant(None) if default is None else expression(default, leaf)
    )


def _value(node: exp.Expr, leaf: Leaf) -> expr.Value:
    match expression(node, leaf):
        case expr.Constant(value) if value is not None:
            return value
    raise InvalidValue("The list of IN must contain only constants, without NULL.")


def _pattern(node: exp.Expr) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise InvalidValue("The pattern of LIKE must be a constant text, as in ward LIKE 'no%'.")


def _constant(node: exp.Expr, leaf: Leaf) -> expr.Expression:
    match node:
        case exp.Null():
            return expr.Constant(None)
        case exp.Boolean():
            return expr.Constant(bool(node.this))
        case exp.Literal() if node.is_string:
            return expr.Constant(str(node.this))
        case exp.Literal():
            return expr.Constant(_number(str(node.this)))
        case exp.Neg():
            inner = expression(node.this, leaf)
            match inner:
                case expr.Constant(bool()):
                    raise InvalidValue("The operand of - must be a number.")
                case expr.Constant(int() | Fraction() as value):
                    return expr.Constant(-value)
            return expr.Arithmetic(expr.Operation.MULTIPLY, expr.Constant(-1), inner)
        case exp.Cast() if node.to.this is exp.DType.DATE and node.this.is_string:
            return expr.Constant(day_constant(str(node.this.this)))
        case exp.Cast() if node.to.this in TIMESTAMPS and node.this.is_string:
            return expr.Constant(time_constant(str(node.this.this)))
        case exp.Cast() if node.to.this is exp.DType.DATE:
            return period(expr.Span.DAYS, expression(node.this, leaf))
        case exp.Cast() if node.to.this is exp.DType.TIMESTAMPTZ and node.this.is_string:
            raise InvalidValue(
                "Timestamps are compared in the local time of their column's zone; write "
                "TIMESTAMP '2026-01-31 12:00:00', without a zone."
            )
    raise InvalidValue(
        "CAST is supported only from numbers and truths to numbers, as in CAST(cost AS "
        "INTEGER), for dates, as in DATE '2026-01-31' or CAST(seen AS DATE), and for "
        "timestamps, as in TIMESTAMP '2026-01-31 12:00:00'."
    )


def _number(written: str) -> int | Fraction:
    number = exact(written)
    if max(abs(number.numerator), number.denominator) >= LARGEST_NUMBER:
        raise InvalidValue("A number must have at most 40 digits.")
    return int(number) if number.denominator == 1 else number


def day_constant(written: str) -> date:
    """Return the day that a text names, such as '2026-01-31'."""
    try:
        # only this form of ISO 8601 is accepted, although `fromisoformat` reads others
        if DAY.fullmatch(written):
            return date.fromisoformat(written)
    except ValueError:
        pass  # such as February 30; refused below
    raise InvalidValue("A date must be written as DATE '2026-01-31'.")


def time_constant(written: str) -> datetime:
    """Return the time that a text names, such as '2026-01-31 12:00:00'."""
    try:
        if TIME.fullmatch(written):
            return datetime.fromisoformat(written)
    except ValueError:
        pass  # such as 25 o'clock; refused below
    raise InvalidValue(
        "A timestamp must be written as TIMESTAMP '2026-01-31 12:00:00', without a zone: it is "
        "a local time of the column's zone."
    )


# Aggregates ----------------------------------------------------------------------------------

PAIR_FUNCTIONS: dict[type[exp.Expr], PairFunction] = {
    exp.Corr: PairFunction.CORRELATION,
    exp.CovarPop: PairFunction.COVARIANCE,
    exp.CovarSamp: PairFunction.SAMPLE_COVARIANCE,
    exp.RegrSlope: PairFunction.SLOPE,
    exp.RegrIntercept: PairFunction.INTERCEPT,
    exp.RegrR2: PairFunction.DETERMINATION,
}

AGGREGATES = (
    *PAIR_FUNCTIONS,
    exp.RegrCount,
    exp.RegrAvgx,
    exp.RegrAvgy,
    exp.CountIf,
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Variance,
    exp.VariancePop,
    exp.Stddev,
    exp.StddevSamp,
    exp.StddevPop,
    exp.Median,
    exp.Quantile,
    exp.PercentileCont,
    exp.PercentileDisc,
    exp.WithinGroup,
    exp.Min,
    exp.Max,
)
"""The nodes that are aggregates."""


def aggregate(node: exp.Expr, leaf: Leaf, unit: str) -> nodes.Aggregate:
    """Return the plan aggregate of ``node``; ``unit`` is the column of the unit."""
    function = PAIR_FUNCTIONS.get(type(node))
    if function is not None:
        y, x = expression(node.this, leaf), expression(node.expression, leaf)
        return nodes.PairStatistic(function, y, x)
    match node:
        case exp.RegrCount():
            # a sum is NULL where one of its parts is
            y, x = expression(node.this, leaf), expression(node.expression, leaf)
            return nodes.CountValues(expr.Arithmetic(expr.Operation.ADD, y, x))
        case exp.RegrAvgx() | exp.RegrAvgy():
            y, x = expression(node.this, leaf), expression(node.expression, leaf)
            other, averaged = (y, x) if isinstance(node, exp.RegrAvgx) else (x, y)
            known = expr.Not(expr.IsNull(not_too_large(other, LARGEST_PART)))
            return nodes.Mean(expr.Case(((known, averaged),), expr.Constant(None)))
        case exp.CountIf():
            wanted = expression(node.this, leaf)
            return nodes.CountValues(
                expr.Case(((wanted, expr.Constant(1)),), expr.Constant(None))
            )
        case exp.Count() if isinstance(node.this, exp.Star):
            return nodes.CountRows()
        case exp.Count() if isinstance(node.this, exp.Distinct):
            counted = [expression(part, leaf) for part in node.this.expressions]
            if len(counted) != 1:
                raise InvalidValue(
                    "COUNT(DISTINCT a, b) is not supported: it counts combinations of several "
                    "columns. Count the distinct values of one column, with the others in "
                    "GROUP BY."
                )
            if counted == [expr.Field(unit)]:
                return nodes.CountUnits()
            return nodes.CountDistinct(counted[0])
        case exp.Count() if node.args.get("this") is None:
            raise InvalidValue("COUNT needs an argument; COUNT(*) counts rows.")
        case exp.Count():
            return nodes.CountValues(expression(node.this, leaf))
        case exp.Sum():
            return nodes.Sum(expression(node.this, leaf))
        case exp.Avg():
            return nodes.Mean(expression(node.this, leaf))
        case exp.Variance() | exp.VariancePop():
            sample = not isinstance(node, exp.VariancePop)
            return nodes.Variance(expression(node.this, leaf), sample)
        case exp.Stddev() | exp.StddevSamp() | exp.StddevPop():
            sample = not isinstance(node, exp.StddevPop)
            return nodes.Deviation(expression(node.this, leaf), sample)
        case exp.Min():
            return nodes.Least(expression(node.this, leaf))
        case exp.Max():
            return nodes.Greatest(expression(node.this, leaf))
        case exp.Median():
            return nodes.Quantile(expression(node.this, leaf), Fraction(1, 2))
        case exp.Quantile() if node.args.get("quantile"):
            part = _fraction(expression(node.args["quantile"], leaf))
            return nodes.Quantile(expression(node.this, leaf), part)
        case exp.PercentileCont() | exp.PercentileDisc() if node.args.get("expression"):
            part = _fraction(expression(node.expression, leaf))
            return nodes.Quantile(expression(node.this, leaf), part)
        case exp.WithinGroup(this=exp.PercentileCont() | exp.PercentileDisc()):
            return _within_group(node, leaf)
    raise InvalidValue(
        "A quantile must be written as QUANTILE(x, 0.9), or as PERCENTILE_CONT(0.9) WITHIN "
        "GROUP (ORDER BY x)."
    )


def _within_group(node: exp.Expr, leaf: Leaf) -> nodes.Quantile:
    """Return the quantile that PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) denotes."""
    ordered = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if len(ordered) != 1 or node.this.args.get("expression") is not None:
        raise InvalidValue(
            "A percentile must be written as PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)."
        )
    part = _fraction(expression(node.this.this, leaf))
    if ordered[0].args.get("desc"):
        part = 1 - part
    return nodes.Quantile(expression(ordered[0].this, leaf), part)


def _fraction(written: expr.Expression) -> Fraction:
    match written:
        case expr.Constant(bool()):
            pass
        case expr.Constant(int() | Fraction() as value):
            return Fraction(value)
    raise InvalidValue(
        "The fraction of a quantile must be a constant number, as in QUANTILE(x, 0.9)."
    )

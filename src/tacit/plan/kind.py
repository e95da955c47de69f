"""The kind of an expression: the validation, since what has none is refused, with a reason."""

from datetime import date
from fractions import Fraction

from tacit.core.column import Kind
from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.plan.days import day_column
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
    Operation,
    Or,
    Period,
    Value,
)
from tacit.plan.like import declared_keys
from tacit.plan.scope import Released

NUMBERS = {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}


def kind_of(expression: Expression, schema: Schema) -> Kind | None:
    """The kind of ``expression`` over rows of ``schema``; None for NULL, which fits every kind.

    Example:
        >>> from tacit.core.column import Column
        >>> from tacit.plan.expression import Comparison
        >>> ages = Schema((Column("age", Kind.INTEGER),))
        >>> kind_of(Compare(Comparison.MORE, Field("age"), Constant(30)), ages)
        <Kind.BOOLEAN: 'boolean'>
    """
    match expression:
        case Field(name):
            return schema[name].kind
        case Constant(value):
            return kind_of_value(value)
        case Compare(_, left, right):
            _comparable(kind_of(left, schema), kind_of(right, schema))
            return Kind.BOOLEAN
        case OneOf(part, values):
            kind = kind_of(part, schema)
            for value in values:
                _comparable(kind, kind_of_value(value))
            return Kind.BOOLEAN
        case Like(part, _):
            declared_keys(part, schema)
            return Kind.BOOLEAN
        case IsNull(part):
            kind_of(part, schema)
            return Kind.BOOLEAN
        case And(parts) | Or(parts):
            for part in parts:
                _condition(part, schema)
            return Kind.BOOLEAN
        case Not(part):
            _condition(part, schema)
            return Kind.BOOLEAN
        case Arithmetic(operation, left, right):
            # each once: twice at every level would double at every level
            one, other = kind_of(left, schema), kind_of(right, schema)
            if operation is Operation.SUBTRACT and {one, other} == {Kind.DATE}:
                return Kind.INTEGER
            if not {one, other} <= NUMBERS | {None}:
                days = ", or two days" if operation is Operation.SUBTRACT else ""
                raise InvalidValue(f"{operation.value} takes numbers{days}.")
            return _number(one, other)
        case Divide(left, right) if isinstance(schema, Released):
            if not {kind_of(left, schema), kind_of(right, schema)} <= NUMBERS | {None}:
                raise InvalidValue("/ takes numbers.")
            return Kind.FLOAT
        case Divide():
            raise InvalidValue(
                "The values of a row are not divided; divide what is released, as in "
                "SUM(x) / COUNT(*)."
            )
        case Bin():
            raise InvalidValue("Bins name groups; put them into GROUP BY.")
        case DatePart(_, day):
            day_column(day, schema)
            return Kind.INTEGER
        case Period():
            raise InvalidValue("DATE_TRUNC names groups; put it into GROUP BY.")
        case Case(whens, otherwise):
            for condition, _ in whens:
                _condition(condition, schema)
            kinds = [kind_of(value, schema) for _, value in whens]
            return _shared([*kinds, kind_of(otherwise, schema)])


def kind_of_value(value: Value | None) -> Kind | None:
    """The kind of a constant."""
    match value:
        case None:
            return None
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INTEGER
        case Fraction():
            return Kind.DECIMAL
        case str():
            return Kind.TEXT
        case date():
            return Kind.DATE


def _comparable(left: Kind | None, right: Kind | None) -> None:
    if None in {left, right} or left is right or {left, right} <= NUMBERS:
        return
    if Kind.TIMESTAMP in {left, right} and Kind.DATE in {left, right}:
        return
    raise InvalidValue(
        f"A {_name(left)} is not compared with a {_name(right)}; write a value of one kind."
    )


def _condition(part: Expression, schema: Schema) -> None:
    kind = kind_of(part, schema)
    if kind not in {Kind.BOOLEAN, None}:
        raise InvalidValue(f"A condition is expected here, and a {_name(kind)} is none.")


def _number(left: Kind | None, right: Kind | None) -> Kind:
    for kind in (Kind.FLOAT, Kind.DECIMAL):
        if kind in {left, right}:
            return kind
    return Kind.INTEGER


def _shared(kinds: list[Kind | None]) -> Kind | None:
    """The one kind of all values of a CASE."""
    known = {kind for kind in kinds if kind is not None}
    if len(known) <= 1:
        return known.pop() if known else None
    if known <= NUMBERS:
        return Kind.FLOAT if Kind.FLOAT in known else Kind.DECIMAL
    raise InvalidValue("The values of a CASE are of one kind.")


def _name(kind: Kind | None) -> str:
    return "NULL" if kind is None else kind.value

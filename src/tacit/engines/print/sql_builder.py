"""Builders for the parts of a statement: names, constants, CASE, casts and comparisons."""

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import assert_never

from sqlglot import exp

from tacit.engines.print.sql_dialect import Dialect
from tacit.numeric import plain
from tacit.plan import Comparison, Value

LONGEST_NAME = 63
"""The length in bytes to which PostgreSQL truncates a name."""

COMPARISONS: dict[Comparison, type[exp.Binary]] = {
    Comparison.EQUAL: exp.EQ,
    Comparison.UNEQUAL: exp.NEQ,
    Comparison.LESS: exp.LT,
    Comparison.AT_MOST: exp.LTE,
    Comparison.MORE: exp.GT,
    Comparison.AT_LEAST: exp.GTE,
}


def column(name: str) -> exp.Expr:
    """Return a column of a relation of the statement, by its quoted name."""
    return exp.column(identifier(name))


def bytewise(value: exp.Expr, dialect: Dialect, *, text: bool) -> exp.Expr:
    """Return a value; if it is ``text``, it is ordered by its bytes."""
    return dialect.bytewise(value) if text else value


def identifier(name: str) -> exp.Identifier:
    """Return a quoted name, or its hash if PostgreSQL would truncate it, and so merge names.

    Example:
        >>> identifier("visits.age").sql(), len(identifier("x" * 64).sql())
        ('"visits.age"', 40)
    """
    if len(name.encode()) > LONGEST_NAME:
        name = f"tacit_{sha256(name.encode()).hexdigest()[:32]}"
    return exp.to_identifier(name, quoted=True)


def select_from(below: str, *cells: exp.Expr) -> exp.Select:
    """Return a SELECT of ``cells`` from a relation of the statement; ``*`` if there are none.

    The arguments are used without a copy. sqlglot's own builders parse each name and copy each
    tree, which takes longer than all other steps before the engine runs a question.
    """
    table = exp.Table(this=exp.to_identifier(below))
    return exp.Select(expressions=list(cells) or [exp.Star()], from_=exp.From(this=table))


def with_relations(query: exp.Query, relations: Mapping[str, exp.Query]) -> exp.Query:
    """Return ``query`` with these relations as common table expressions, in their order."""
    named = [
        exp.CTE(this=relation, alias=exp.TableAlias(this=exp.to_identifier(name)))
        for name, relation in relations.items()
    ]
    query.set("with_", exp.With(expressions=named))
    return query


def alias(value: exp.Expr, name: str | exp.Identifier) -> exp.Expr:
    """Return a value with an alias."""
    return exp.Alias(this=value, alias=exp.to_identifier(name))


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    """Return a value cast to a type, without a second cast to the same type."""
    if isinstance(value, exp.Cast) and value.to == _type(kind):
        return value
    return exp.Cast(this=value, to=_type(kind).copy())


def call(name: str, *given: exp.Expr) -> exp.Expr:
    """Return the call of a function that all engines have under this name."""
    return exp.Anonymous(this=name, expressions=list(given))


@cache
def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind)


def paren(value: exp.Expr) -> exp.Expr:
    """Return a value in parentheses."""
    return exp.Paren(this=value)


def literal(value: Value | None) -> exp.Expr:
    """Return a constant of a plan as a literal."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | Fraction():
            number = exp.Literal.number(plain(abs(Fraction(value))))
            return paren(exp.Neg(this=number)) if value < 0 else number
        case str():
            return exp.Literal.string(value)
        case datetime():  # before date, because it is one in Python
            return cast(exp.Literal.string(value.isoformat(" ")), "TIMESTAMPNTZ")
        case date():
            return cast(exp.Literal.string(value.isoformat()), "DATE")
    assert_never(value)


def choose(pairs: list[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr | None) -> exp.Expr:
    """Return a CASE expression with these pairs of condition and value."""
    case = exp.Case()
    for when, then in pairs:
        case = case.when(when, then, copy=False)
    return paren(case.else_(otherwise or exp.null(), copy=False))


def compare(comparison: Comparison, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a comparison in parentheses."""
    return paren(COMPARISONS[comparison](this=left, expression=right))


def is_null(part: exp.Expr) -> exp.Expr:
    """Return the condition that a value is NULL."""
    return paren(exp.Is(this=part, expression=exp.null()))


def clamp(value: exp.Expr, low: exp.Expr, high: exp.Expr, *, known: bool = False) -> exp.Expr:
    """Return the clamped value; NULL if no comparison is true, as for NULL or NaN.

    ``known`` states that there are no such values, so that a shorter CASE is enough.
    """
    above = compare(Comparison.MORE, value, high)
    below = compare(Comparison.LESS, value, low)
    inside = exp.and_(
        compare(Comparison.AT_LEAST, value, low), compare(Comparison.AT_MOST, value, high)
    )
    if known:
        return choose([(inside, value), (above, high)], low)
    return choose([(inside, value), (above, high), (below, low)], None)


def double(value: float) -> exp.Expr:
    """Return a float as a literal that every engine reads to the same bits."""
    number = cast(exp.Literal.number(repr(abs(value))), "DOUBLE")
    return paren(exp.Neg(this=number)) if value < 0 else number

"""The mix of `tacit.engines.mix`, in SQL."""

from sqlglot import exp

from tacit.engines.mix import FACTORS, MOST, SHIFT, WORD, start
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import cast, column, literal, paren

DIGITS = 8
"""Of a hash in hexadecimal: 32 bits."""


def mixed(salt: bytes, parts: list[tuple[str, bool]], dialect: Dialect) -> exp.Expr:
    """The mix of some columns, each by its name, and whether it holds text."""
    numbers, factors = [], []
    for place, (name, text) in enumerate(parts):
        value = _of_text(column(name), dialect) if text else _of_number(column(name))
        first, second = (literal(start(salt, 2 * place + each)) for each in (0, 1))
        numbers.append(_folded(_sum(first, value), literal(FACTORS[0])))
        own = _folded(_sum(second, value), literal(FACTORS[1]))
        factors.append(_folded(own, literal(FACTORS[2])))
    odd = _sum(exp.Mul(this=_lowest(_sum(*factors)), expression=literal(2)), literal(1))
    return cast(_folded(_lowest(_sum(*numbers)), odd), "INT")


def _sum(*parts: exp.Expr) -> exp.Expr:
    first, *others = parts
    for part in others:
        first = exp.Add(this=first, expression=part)
    return paren(first)


def _folded(value: exp.Expr, factor: exp.Expr) -> exp.Expr:
    product = paren(exp.Mul(this=value, expression=factor))
    shifted = exp.BitwiseRightShift(this=product, expression=literal(SHIFT))
    return _lowest(paren(shifted))


def _lowest(value: exp.Expr) -> exp.Expr:
    return paren(exp.BitwiseAnd(this=value, expression=literal(MOST)))


def _of_number(value: exp.Expr) -> exp.Expr:
    """Its lowest bits; masked before it is cast, since a wide number would not fit."""
    lowest = paren(exp.BitwiseAnd(this=value, expression=literal(WORD)))
    return exp.func("COALESCE", cast(lowest, "BIGINT"), literal(0))


def _of_text(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    first = exp.Substring(this=exp.func("MD5", value), start=literal(1), length=literal(DIGITS))
    found = dialect.hex_to_integer(first)
    return exp.func("COALESCE", found, literal(0))

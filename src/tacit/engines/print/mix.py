"""The mix of `tacit.engines.mix`, in SQL."""

from collections.abc import Callable

from sqlglot import exp

from tacit.engines.mix import FACTORS, MOST, SHIFT, WORD, start
from tacit.engines.print.word import cast, column, literal, paren

DIGITS = 8
"""Of a hash in hexadecimal: 32 bits."""


def mixed(salt: bytes, parts: list[tuple[str, bool]], dialect: str) -> exp.Expr:
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


def _of_text(value: exp.Expr, dialect: str) -> exp.Expr:
    first = exp.Substring(this=exp.func("MD5", value), start=literal(1), length=literal(DIGITS))
    found = READ_HEX.get(dialect, _prefixed)(first)
    return exp.func("COALESCE", found, literal(0))


def _prefixed(digits: exp.Expr) -> exp.Expr:
    text = exp.DPipe(this=exp.Literal.string("0x"), expression=digits, safe=True)
    return cast(paren(text), "BIGINT")


def _by_bits(digits: exp.Expr) -> exp.Expr:
    text = paren(exp.DPipe(this=exp.Literal.string("x"), expression=digits, safe=True))
    bits = exp.Cast(this=text, to=exp.DataType.build("BIT(32)", dialect="postgres"))
    return cast(bits, "BIGINT")


def _converted(digits: exp.Expr) -> exp.Expr:
    return cast(exp.func("CONV", digits, literal(16), literal(10)), "BIGINT")


def _by_pattern(digits: exp.Expr) -> exp.Expr:
    pattern = exp.Literal.string("X" * DIGITS)
    return exp.Anonymous(this="TO_NUMBER", expressions=[digits, pattern])


def _from_base(digits: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="FROM_BASE", expressions=[digits, literal(16)])


READ_HEX: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "postgres": _by_bits,
    "snowflake": _by_pattern,
    "spark": _converted,
    "trino": _from_base,
}
"""How an engine reads digits as a number; others know them by their prefix."""

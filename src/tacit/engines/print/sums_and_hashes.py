"""Sums of integers that cannot overflow, and the row-order hash, as SQL.

A sum of 64-bit integers can overflow if a table has many rows. Engines with a wide integer type
sum in that type. Where wide types are slow, a number is split into limbs of 21 bits, the limbs
are summed as 64-bit integers, and the sums are added with their weights.
"""

from sqlglot import exp

from tacit.engines.engine import FACTORS, MOST, SHIFT, WORD, hash_offset
from tacit.engines.print.expressions import steps
from tacit.engines.print.sql_builder import cast, column, literal, paren
from tacit.engines.print.sql_dialect import Dialect
from tacit.plan import steps as grid_steps

LIMB = 21
"""Bits of a limb: the sum of 2^42 limbs fits into 63 bits."""

NARROW = "narrow"
"""The mark of a sum that fits into 64 bits, which `wide_sums` does not widen."""


def total(amount: exp.Expr, most: int, dialect: Dialect) -> exp.Expr:
    """Return the sum of ``amount``, whose absolute value is at most ``most`` in each row.

    Example:
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> total(exp.column("t0"), 3, DUCKDB).sql()
        'SUM(t0)'
    """
    if not dialect.sums_by_limbs:
        return exp.Sum(this=amount)
    parts: list[exp.Expr] = []
    limbs = max(1, -(-most.bit_length() // LIMB))
    for place in range(limbs):
        shift, part = LIMB * place, amount.copy()
        if shift:
            part = paren(exp.BitwiseRightShift(this=part, expression=literal(shift)))
        if place < limbs - 1:  # the last limb has the sign
            part = paren(exp.BitwiseAnd(this=part, expression=literal(2**LIMB - 1)))
        added = exp.Sum(this=part)
        added.meta[NARROW] = True
        wide = cast(added, "DECIMAL(38, 0)") if limbs > 1 else added
        parts.append(exp.Mul(this=wide, expression=literal(2**shift)) if shift else wide)
    first, *others = parts
    for part in others:
        first = exp.Add(this=first, expression=part)
    return first


def total_of_rows(number: grid_steps.Steps, most: int, dialect: Dialect) -> exp.Expr:
    """Return the sum of ``number`` over rows, by COUNT or by a sum and a COUNT if possible.

    The sum of a column plus a constant is the sum of the column plus the constant times the
    number of rows. So fewer expressions are summed.

    Example:
        >>> from tacit.engines.print.postgres_dialect import POSTGRES
        >>> total_of_rows(
        ...     grid_steps.SumSteps(grid_steps.ComputedSteps("v0"), grid_steps.WholeSteps(-7)),
        ...     9,
        ...     POSTGRES,
        ... ).sql()
        'SUM("v0") + CAST(COUNT("v0") AS DECIMAL) * (-7)'
    """
    match number:
        case grid_steps.WholeSteps(1):
            return exp.Count(this=exp.Star())
        case grid_steps.CaseSteps(
            ((grid_steps.Negation(grid_steps.StepsAreNull(part)), grid_steps.WholeSteps(1)),),
            grid_steps.WholeSteps(0),
        ):
            return exp.Count(this=steps(part))
        case grid_steps.SumSteps(
            grid_steps.ComputedSteps() as held, grid_steps.WholeSteps(int(value))
        ) if dialect.wide_integer:
            count = cast(exp.Count(this=steps(held)), dialect.wide_integer)
            moved = exp.Mul(this=count, expression=literal(value))
            summed = total(steps(held), most + abs(value), dialect)
            return exp.Add(this=summed, expression=moved)
        case _:
            return total(steps(number), most, dialect)


# ------------------------------------------------------------------ row-order hash
# The hash of `tacit.engines.engine.hash_values`, in SQL.

DIGITS = 8
"""The hexadecimal digits of an MD5 that are used: 32 bits."""


def hash_columns(salt: bytes, parts: list[tuple[str, bool]], dialect: Dialect) -> exp.Expr:
    """Return the row-order hash of columns, given by their names and whether they are text."""
    numbers, factors = [], []
    for place, (name, text) in enumerate(parts):
        value = _text_word(column(name), dialect) if text else _number_word(column(name))
        first, second = (literal(hash_offset(salt, 2 * place + each)) for each in (0, 1))
        numbers.append(_multiply_shift(_sum(first, value), literal(FACTORS[0])))
        own = _multiply_shift(_sum(second, value), literal(FACTORS[1]))
        factors.append(_multiply_shift(own, literal(FACTORS[2])))
    odd = _sum(exp.Mul(this=_lowest(_sum(*factors)), expression=literal(2)), literal(1))
    return cast(_multiply_shift(_lowest(_sum(*numbers)), odd), "INT")


def _sum(*parts: exp.Expr) -> exp.Expr:
    first, *others = parts
    for part in others:
        first = exp.Add(this=first, expression=part)
    return paren(first)


def _multiply_shift(value: exp.Expr, factor: exp.Expr) -> exp.Expr:
    product = paren(exp.Mul(this=value, expression=factor))
    shifted = exp.BitwiseRightShift(this=product, expression=literal(SHIFT))
    return _lowest(paren(shifted))


def _lowest(value: exp.Expr) -> exp.Expr:
    return paren(exp.BitwiseAnd(this=value, expression=literal(MOST)))


def _number_word(value: exp.Expr) -> exp.Expr:
    """Return the lowest bits of a number, masked before the cast, which could overflow."""
    lowest = paren(exp.BitwiseAnd(this=value, expression=literal(WORD)))
    return exp.func("COALESCE", cast(lowest, "BIGINT"), literal(0))


def _text_word(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    first = exp.Substring(this=exp.func("MD5", value), start=literal(1), length=literal(DIGITS))
    found = dialect.hex_to_integer(first)
    return exp.func("COALESCE", found, literal(0))

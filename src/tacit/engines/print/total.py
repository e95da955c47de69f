"""The sum of a column of whole numbers, which no number of rows makes too wide."""

from sqlglot import exp

from tacit.engines.print.word import cast, literal, paren

LIMB = 21
"""Bits of a number that are summed apart: 2^42 rows of them fit into 64."""

BY_LIMBS = frozenset({"spark"})
"""Where sums of more than 64 bits are slow: decimals, each an object of its own."""

NARROW = "narrow"
"""What marks a sum that 64 bits hold."""


def total(amount: exp.Expr, most: int, dialect: str) -> exp.Expr:
    """The sum of ``amount``, of which no row holds more than ``most``, or less than its minus.

    Example:
        >>> total(exp.column("t0"), 3, "duckdb").sql()
        'SUM(t0)'
    """
    if dialect not in BY_LIMBS:
        return exp.Sum(this=amount)
    parts: list[exp.Expr] = []
    limbs = max(1, -(-most.bit_length() // LIMB))
    for place in range(limbs):
        shift, part = LIMB * place, amount.copy()
        if shift:
            part = paren(exp.BitwiseRightShift(this=part, expression=literal(shift)))
        if place < limbs - 1:  # the last holds the sign
            part = paren(exp.BitwiseAnd(this=part, expression=literal(2**LIMB - 1)))
        added = exp.Sum(this=part)
        added.meta[NARROW] = True
        wide = cast(added, "DECIMAL(38, 0)") if limbs > 1 else added
        parts.append(exp.Mul(this=wide, expression=literal(2**shift)) if shift else wide)
    first, *others = parts
    for part in others:
        first = exp.Add(this=first, expression=part)
    return first

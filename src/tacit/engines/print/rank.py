"""The order in which a unit's own rows and groups are kept."""

from sqlglot import exp

from tacit.engines.print.word import column


def mixed(salt: bytes, names: list[str]) -> exp.Expr:
    """The hash that orders a unit's own rows or groups."""
    text: exp.Expr = exp.Literal.string(salt.hex())
    for name in names:
        part = exp.func(
            "COALESCE", exp.cast(column(name), "VARCHAR"), exp.Literal.string("NULL")
        )
        text = exp.DPipe(this=text, expression=exp.Literal.string("|"), safe=True)
        text = exp.DPipe(this=text, expression=part, safe=True)
    return exp.func("MD5", text)


def ranked(rank: exp.Expr, partition: list[str], order: list[exp.Expr]) -> exp.Expr:
    """The place of a row in its part, in that order."""
    ordered = exp.Order(expressions=[exp.Ordered(this=part) for part in order])
    return exp.Window(
        this=rank, partition_by=[column(name) for name in partition], order=ordered
    )

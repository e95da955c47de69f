"""Rewrites of a statement, for engines where sqlglot's own words do not keep its meaning."""

from collections.abc import Iterator

from sqlglot import exp

from tacit.engines.print.sql_dialect import Rewrite
from tacit.engines.print.total import NARROW


def wide_sums(wide: str) -> Rewrite:
    """Sums that have more than 64 bits: others fail where a table holds enough."""

    def rewrite(query: exp.Expr) -> None:
        for node in _all(query, exp.Sum):
            if not node.meta.get(NARROW):
                node.set("this", exp.cast(node.this, wide))

    return rewrite


def exact_division(query: exp.Expr) -> None:
    """Of whole numbers, by their remainder: a quotient would be rounded, or pass by a float."""
    for node in _all(query, exp.IntDiv):
        rest = exp.Mod(this=exp.paren(node.this), expression=exp.paren(node.expression))
        whole = exp.paren(exp.Sub(this=exp.paren(node.this), expression=exp.paren(rest)))
        node.replace(exp.Div(this=whole, expression=node.expression, typed=True))


def exact_constants(query: exp.Expr) -> None:
    """Decimals, where a constant with a point is a float."""
    for node in _all(query, exp.Literal):
        if "." in node.name and not node.is_string and not isinstance(node.parent, exp.Cast):
            node.replace(exp.cast(exp.Literal.string(node.name), "BIGDECIMAL"))


def floats_by_text(query: exp.Expr) -> None:
    """Floats from their text, where they would be rounded to decimals on the way."""
    for node in _all(query, exp.Cast):
        if node.is_type("DOUBLE") and isinstance(node.this, exp.Literal):
            node.set("this", exp.Literal.string(node.this.name))


def days_before(query: exp.Expr) -> None:
    """A day less so many days, where no minus does that: they are the INTs of a statement."""
    for node in _all(query, exp.Sub):
        days = node.expression
        if isinstance(days, exp.Cast) and days.is_type("INT"):
            unit, back = exp.Literal.string("day"), exp.Neg(this=days)
            node.replace(exp.Anonymous(this="DATE_ADD", expressions=[unit, back, node.this]))


def decimals_as_they_are(query: exp.Expr) -> None:
    """Decimals without a cast, where no number has more digits than its type says."""
    for node in _all(query, exp.TryCast):
        node.replace(node.this)


def _all(query: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Every node of a kind, found before any is changed."""
    yield from list(query.find_all(kind))

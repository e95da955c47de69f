"""A statement in the words of one engine, where sqlglot's own would not keep its meaning."""

from collections.abc import Callable, Iterator

from sqlglot import exp

from tacit.engines.print.total import NARROW

Word = Callable[[exp.Expr], None]
"""Changes a statement where it stands."""


def said(query: exp.Expr, dialect: str) -> str:
    """The text of ``query``, which is used up.

    Example:
        >>> said(exp.select(exp.Sum(this=exp.column("t0"))), "trino")
        'SELECT SUM(CAST(t0 AS DECIMAL(38, 0)))'
    """
    for word in WORDS.get(dialect, ()):
        word(query)
    text: str = query.sql(
        dialect=dialect, copy=False, comments=False, identify=dialect in FOLDING
    )
    return text


def wide_sums(wide: str) -> Word:
    """Sums that have more than 64 bits: others fail where a table holds enough."""

    def word(query: exp.Expr) -> None:
        for node in _all(query, exp.Sum):
            if not node.meta.get(NARROW):
                node.set("this", exp.cast(node.this, wide))

    return word


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


FOLDING = frozenset({"snowflake"})
"""Where a name without quotes is another name: all are quoted."""

WORDS: dict[str, tuple[Word, ...]] = {
    "bigquery": (wide_sums("BIGDECIMAL"), exact_constants, decimals_as_they_are),
    "postgres": (decimals_as_they_are,),
    "snowflake": (exact_division, floats_by_text, decimals_as_they_are),
    "spark": (wide_sums("DECIMAL(38, 0)"), decimals_as_they_are),
    "trino": (
        wide_sums("DECIMAL(38, 0)"),
        exact_division,
        floats_by_text,
        days_before,
        decimals_as_they_are,
    ),
}

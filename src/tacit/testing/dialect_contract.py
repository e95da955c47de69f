"""The contract of a dialect: that its words mean on an engine what Tacit takes them for.

It asks single expressions, each with one right answer, so that a dialect can be tried before
there is an engine. `EngineContract` then asks whole questions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse_one

from tacit.core import Kind
from tacit.engines import (
    Dialect,
    alias,
    cast,
    hash_columns,
    hash_values,
    identifier,
    literal,
    total,
)

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one statement on the engine, and gives its rows."""

HOSTILE = ("it's", "a\\b", '"', "`", "😀", "%", "${x}")
"""Texts that must come back as they were written."""

WIDE = 2**62
"""Four of these do not fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class DialectContract:
    """A dialect, and a way to run its statements.

    Example:
        >>> import duckdb
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> run = lambda text: duckdb.execute(text).fetchall()
        >>> DialectContract(DUCKDB, run).broken()
        []
    """

    dialect: Dialect
    run: Run

    def broken(self) -> list[str]:
        """Return what the dialect does not keep, a sentence each; none for a good one."""
        return [*self.stateful(), *self.changed_texts(), *self.wrong_values()]

    def stateful(self) -> Iterator[str]:
        """Objects of one class that are not equal: statements are cached by them."""
        try:
            other = type(self.dialect)()
        except TypeError:
            yield "It cannot be made without arguments: a dialect has no state."
            return
        if other != self.dialect or hash(other) != hash(self.dialect):
            yield "Two objects of it are not equal: a dialect has no state."

    def changed_texts(self) -> Iterator[str]:
        """Texts that a statement does not hold as they were, or that its engine changes."""
        for text in HOSTILE:
            printed = self.dialect.render(exp.select(exp.Literal.string(text)))
            read = parse_one(printed, dialect=self.dialect.name).find(exp.Literal)
            if read is None or read.name != text:
                yield f"The text {text!r} is printed as another."
            elif self._value(exp.Literal.string(text)) != text:
                yield f"The engine reads the text {text!r} as another."

    def wrong_values(self) -> Iterator[str]:
        """Expressions whose value is not the one that statements rest on."""
        for said, tree, wanted in self._expressions():
            try:
                found = self._value(tree)
            except Exception as error:  # noqa: BLE001 - whatever it is, a question would fail
                yield f"Fails with {type(error).__name__}: {said}."
                continue
            if found is None or found != wanted:
                yield f"Has another value: {said}."

    def _expressions(self) -> Iterator[tuple[str, exp.Expr, object]]:
        digits = exp.Literal.string("ffffffff")
        yield "a hash in hexadecimal", self.dialect.hex_to_integer(digits), 2**32 - 1
        upper, lower = (
            self.dialect.bytewise(self.dialect.cell(cast(literal(text), "TEXT"), Kind.TEXT))
            for text in ("B", "a")
        )
        first = exp.LT(this=upper, expression=lower)
        yield "text is ordered by its bytes", _one_if(first), 1
        keys = [literal("x"), literal("y")]
        inside = self.dialect.is_one_of(cast(literal("y"), "TEXT"), keys, text=True)
        yield "a text is one of two", _one_if(inside), 1
        wide = exp.select(alias(cast(literal(WIDE), "BIGINT"), "v"))
        rows: exp.Query = wide
        for _ in range(3):
            rows = exp.union(rows, wide.copy(), distinct=False)
        summed = exp.select(total(exp.column("v"), WIDE, self.dialect))
        yield "a sum of more than 64 bits", summed.from_(rows.subquery("t")), 4 * WIDE
        named = exp.select(alias(cast(literal("ann"), "TEXT"), identifier("u")))
        mix = exp.select(hash_columns(b"salt", [("u", True)], self.dialect)).from_(
            named.subquery("t")
        )
        yield "the order of kept rows", mix, hash_values(b"salt", ["ann"])

    def _value(self, tree: exp.Expr) -> object:
        query = tree if isinstance(tree, exp.Query) else exp.select(alias(tree, "value"))
        [(found,)] = self.run(self.dialect.render(query))
        return found if isinstance(found, str) or found is None else int(found)


def _one_if(condition: exp.Expr) -> exp.Expr:
    """Return 1 where a condition holds, as every engine can."""
    return exp.Case().when(condition, literal(1)).else_(literal(0))

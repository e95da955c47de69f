"""The contract of a dialect: its SQL must have the meaning on an engine that Tacit assumes.

The contract evaluates single expressions, each with one right value, so that a dialect can be
tested before there is an engine. `EngineContract` then asks whole questions.
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
from tacit.testing.checks import run_checks

Run = Callable[[str], Sequence[Sequence[Any]]]
"""A function that runs one statement on the engine and returns its rows."""

HOSTILE = ("it's", "a\\b", '"', "`", "😀", "%", "${x}")
"""Texts that must be read back as they were written."""

WIDE = 2**62
"""A number of which four together do not fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class DialectContract:
    """A dialect, and a function that runs its statements.

    Example:
        >>> import duckdb
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> run = lambda text: duckdb.execute(text).fetchall()
        >>> DialectContract(DUCKDB, run).violations()
        []
    """

    dialect: Dialect
    run: Run

    def violations(self) -> list[str]:
        """Return the violations of the contract, one sentence each; none for a good dialect.

        A check that raises an error is a violation too.
        """
        return run_checks(self.stateful, self.changed_texts, self.wrong_values)

    def stateful(self) -> Iterator[str]:
        """Yield a violation if two objects of the class differ: they are keys of a cache."""
        try:
            other = type(self.dialect)()
        except TypeError:
            yield "The dialect cannot be created without arguments: a dialect has no state."
            return
        if other != self.dialect or hash(other) != hash(self.dialect):
            yield "Two objects of the dialect are not equal: a dialect has no state."

    def changed_texts(self) -> Iterator[str]:
        """Yield the texts that a statement, or the engine that reads it, changes."""
        for text in HOSTILE:
            printed = self.dialect.render(exp.select(exp.Literal.string(text)))
            read = parse_one(printed, dialect=self.dialect.name).find(exp.Literal)
            if read is None or read.name != text:
                yield f"The text {text!r} is printed as another text."
            elif self._value(exp.Literal.string(text)) != text:
                yield f"The engine reads the text {text!r} as another text."

    def wrong_values(self) -> Iterator[str]:
        """Yield the expressions that have another value than statements assume."""
        for said, tree, wanted in self._expressions():
            try:
                found = self._value(tree)
            except Exception as error:  # noqa: BLE001 - any error would make a question fail
                yield f"The expression fails with {type(error).__name__}: {said}."
                continue
            if found is None or found != wanted:
                yield f"The expression has another value: {said}."

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
    """Return an expression that is 1 if a condition holds and 0 if not."""
    return exp.Case().when(condition, literal(1)).else_(literal(0))

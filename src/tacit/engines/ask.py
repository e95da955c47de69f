"""Ask an engine a bounded question, of an ordered copy where one lies in order."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.secret import Secret
from tacit.engines.engine import SecretTable, boxed
from tacit.engines.print.listed import listed
from tacit.engines.print.question import question
from tacit.engines.print.rows import Rows
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.unit_rows import UnitRows
from tacit.plan.bounded import BoundedPlan

Found = Sequence[Sequence[Any]]
Asked = Callable[[str], Found]
"""Runs one statement, and gives all its rows."""

AskedInParts = Callable[[str], Iterator[Found]]
"""Runs one statement, and gives its rows in their order, part by part."""

statement = lru_cache(maxsize=256)(question)
"""The text of a question, made of public facts and the salt: kept for whoever asks again."""


def ask(  # noqa: PLR0913 - a question, what it is about, and two ways to run it
    plan: BoundedPlan,
    catalog: Catalog,
    salt: bytes,
    dialect: Dialect,
    run: Asked,
    *,
    run_in_order: Asked | None = None,
) -> SecretTable:
    """The secret answer to ``plan``; a copy is read by ``run_in_order``, where that is another.

    Guarantee: what is read from a copy as it lies is used only where the same scan found every
    row in its place; else the table is asked, with the same answer.
    """
    text = statement(plan, catalog, salt, dialect)
    if not Rows(plan, catalog, salt, dialect).streamed:
        return boxed(plan, run(text))
    found = (run_in_order or run)(text)
    if any(broken for *_, broken in found):
        return boxed(plan, run(statement(plan, catalog, salt, dialect, use_copy=False)))
    return boxed(plan, [row[:-1] for row in found])


def ask_rows(
    plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect, run: AskedInParts
) -> Secret[UnitRows]:
    """The secret rows that ``plan`` keeps, however many there are."""
    rows = UnitRows(len(plan.tallies))
    for part in run(listed(plan, catalog, salt, dialect)):
        if part:
            units, *columns = zip(*part, strict=True)
            rows.add(units, columns)
    return Secret(rows)

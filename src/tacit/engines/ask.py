"""Ask an engine a bounded question, of an ordered copy where one lies in order."""

from collections.abc import Callable, Sequence
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.secret import Secret
from tacit.engines.engine import SecretTable, boxed, boxed_rows
from tacit.engines.print.listed import listed
from tacit.engines.print.question import question
from tacit.engines.print.rows import Rows
from tacit.noise.integers import Integers
from tacit.plan.bounded import BoundedPlan

Found = Sequence[Sequence[Any]]
Asked = Callable[[str], Found]
"""Runs one statement, and gives all its rows."""


def ask(  # noqa: PLR0913 - a question, what it is about, and two ways to run it
    plan: BoundedPlan,
    catalog: Catalog,
    salt: bytes,
    dialect: str,
    run: Asked,
    *,
    run_in_order: Asked | None = None,
) -> SecretTable:
    """The secret answer to ``plan``; a copy is read by ``run_in_order``, where that is another.

    Guarantee: what is read from a copy as it lies is used only where the same scan found every
    row in its place; else the table is asked, with the same answer.
    """
    text = question(plan, catalog, salt, dialect)
    if not Rows(plan, catalog, salt, dialect).streamed:
        return boxed(plan, run(text))
    found = (run_in_order or run)(text)
    if any(broken for *_, broken in found):
        return boxed(plan, run(question(plan, catalog, salt, dialect, use_copy=False)))
    return boxed(plan, [row[:-1] for row in found])


def ask_rows(  # noqa: PLR0913, PLR0917 - a question, what it is about, and how to run it
    plan: BoundedPlan, catalog: Catalog, salt: bytes, most: int, dialect: str, run: Asked
) -> Secret[Integers]:
    """The secret rows that ``plan`` keeps, at most ``most`` of them."""
    found = run(listed(plan, catalog, salt, most, dialect))
    columns = list(zip(*found, strict=True)) or [()] * (1 + len(plan.tallies))
    return boxed_rows(columns, most)

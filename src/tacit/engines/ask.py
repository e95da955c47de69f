"""Ask an engine a bounded question, of an ordered copy where one lies in order."""

from collections.abc import Callable, Sequence
from typing import Any

from tacit.core.catalog import Catalog
from tacit.engines.engine import SecretTable, boxed
from tacit.engines.print.question import question
from tacit.engines.print.rows import Rows
from tacit.plan.bounded import BoundedPlan

Found = Sequence[Sequence[Any]]
Asked = Callable[[str], Found]
"""Runs one statement, and gives all its rows."""


def ask(
    plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: str, run: Asked
) -> SecretTable:
    """The secret answer to ``plan``.

    Guarantee: what is read from a copy as it lies is used only where the same scan found every
    row in its place; else the table is asked, with the same answer.
    """
    found = run(question(plan, catalog, salt, dialect))
    if Rows(plan, catalog, salt, dialect).streamed:
        if any(broken for *_, broken in found):
            found = run(question(plan, catalog, salt, dialect, use_copy=False))
        else:
            found = [row[:-1] for row in found]
    return boxed(plan, found)

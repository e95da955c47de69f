"""SQL text to a plan. The text itself goes no further than this file."""

import re

from sqlglot import exp
from sqlglot import parse as read
from sqlglot.errors import SqlglotError

from tacit.core.catalog import Catalog
from tacit.errors import InvalidValue
from tacit.plan.plan import Plan
from tacit.plan.source import source_of
from tacit.sql.answer import Answer
from tacit.sql.gate import admit
from tacit.sql.rows import rows_of

ODD = re.compile("[\0\ud800-\udfff]")
"""What ends a text early for some readers, and what is no text for others."""

LONGEST_TEXT = 20_000
"""Characters of a question."""

DEEPEST_TREE = 100
"""Nodes above a node; more is an attack on whoever walks the tree."""


def parse(text: str, catalog: Catalog) -> Plan:
    """The plan that ``text`` asks for; refused, with the reason, where it is not understood.

    Guarantee: a function of the text and the catalog alone; no engine is asked.
    """
    select = _select(text)
    rows = rows_of(select, catalog, {})
    answer = Answer(rows.names, source_of(rows.relation, catalog).unit)
    return answer.plan(select, rows.relation)


def _select(text: str) -> exp.Select:
    if len(text) > LONGEST_TEXT or ODD.search(text):
        raise InvalidValue(
            f"A question has at most {LONGEST_TEXT} characters, and no NUL or half a character."
        )
    try:
        statements = [tree for tree in read(text, read="duckdb") if tree is not None]
    except (SqlglotError, RecursionError, TypeError) as error:  # the last if it is compiled
        raise InvalidValue("This is not SQL that can be read.") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise InvalidValue("A question is one SELECT.")
    select = statements[0]
    _not_too_deep(select)
    admit(select)
    return select


def _not_too_deep(tree: exp.Expr) -> None:
    level: list[exp.Expr] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise InvalidValue("This question is nested too deeply.")

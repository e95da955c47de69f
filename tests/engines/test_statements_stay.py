"""Every statement that is printed for an engine stays as it was, to the byte.

A statement that changes by one word may bound less, or fail by a row. So the SHA-256 of each
statement stands in ``golden/statements.json``: of all questions of the engine contract, read in
place and from an ordered copy, of the rows of a fit, and of all that makes and looks at a copy.
``TACIT_GOLDEN=1`` writes the file anew, after somebody has read what changed.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from tacit.core.catalog import Dataset, Limits, ValidatedCopy
from tacit.core.domain import Column, Kind
from tacit.engines.print import copy_statement as copies
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.relation import columns, everything, most_rows
from tacit.engines.print.sql_dialects import DUCKDB, PRINTED, SPARK
from tacit.engines.print.statement import question, row_statement
from tacit.engines.print.validated_columns import cast_to_declared, in_range
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse
from tacit.testing.engine_tables import QUESTIONS, catalog

FILE = Path(__file__).parent / "golden/statements.json"
SALT = b"salt"
DIALECTS = {each.name: each for each in (DUCKDB, POSTGRES, SPARK, *PRINTED)}
COPIED = ("duckdb", "postgres", "spark")
"""Dialects in which copies are made."""

PHYSICAL = {
    "duckdb": ("BIGINT", "VARCHAR", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(38,19)", "BLOB", "DATE"),
    "postgres": (
        *("bigint", "text", "double precision", "real", "numeric(9,2)", "numeric", "boolean"),
        *("date", "timestamp without time zone", "timestamp with time zone", "bytea"),
    ),
    "spark": ("bigint", "string", "double", "float", "decimal(9,2)", "boolean", "timestamp"),
}

NATURAL = {
    "duckdb": ("BOOLEAN", "BIGINT", "DECIMAL(9,2)", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP"),
    "postgres": (
        *("boolean", "integer", "numeric(9,2)", "double precision", "text", "date"),
        "timestamp without time zone",
    ),
    "spark": ("boolean", "bigint", "decimal(9,2)", "double", "string", "date", "timestamp_ntz"),
}
NATURAL_KINDS = (
    *(Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.TEXT, Kind.DATE),
    Kind.TIMESTAMP,
)


def asked(name: str) -> Iterator[str]:
    """All statements of questions, in one dialect."""
    dialect = DIALECTS[name]
    texts = [text for group in QUESTIONS.values() for text in group]
    for place, limits in enumerate((Limits(2, 3), Limits(2, 3, 4), Limits(1, 1, 1))):
        declared = catalog(limits)
        visits = declared.datasets[0]
        copy = replace(ValidatedCopy.of("visits", ("c",), 2, visits.epoch, "ab"), ordered=True)
        with_copy = declared.with_tables(replace(visits, row_key="id", copy=copy))
        for text in texts[place::3]:
            plan = bound(canonical(parse(text, declared)).plan, declared).plan
            yield question(plan, declared, SALT, dialect)
            yield row_statement(plan, declared, SALT, dialect)
            if plan.source.datasets == ("visits",):
                yield question(plan, with_copy, SALT, dialect)
    for table in declared.tables:
        yield columns(table.name, declared, dialect)
        yield everything(("a", table.name), dialect)
    for public in declared.public:
        for lookup in public.lookup:
            yield most_rows(public.name, lookup, declared, dialect)


def made(name: str) -> Iterator[str]:
    """All statements that make a copy, in one dialect."""
    dialect = DIALECTS[name]
    declared = catalog(Limits(2, 3, 4))
    where = ("some", "where")
    for table in declared.tables:
        if isinstance(table, Dataset):
            table = replace(table, row_key=table.schema.names[0])  # noqa: PLW2901
        types = {
            column.name: NATURAL[name][NATURAL_KINDS.index(column.kind)]
            for column in table.schema.columns
        }
        for unique in ((), table.schema.names[:2]):
            rows = copies.CopiedRows(table, types, dialect, 2, 100, unique)
            try:
                yield from copies.create_copy(table, where, rows.part(0, SALT), dialect)
            except InvalidValue:
                yield "refused"
        if isinstance(table, Dataset):
            yield copies.count_shared_keys(
                table, table.schema.names[0], [where, where], dialect
            )
            yield copies.count_out_of_order(table, where, dialect)
            yield copies.count_split_units(table, [where, where], dialect)
    yield copies.types_of(where, dialect)
    yield copies.create_record(where, ["a fact", "it's"], dialect)
    yield copies.facts_in(where, dialect)
    yield copies.rows_in([where, where], dialect)
    yield copies.tables_in(where, dialect)
    yield copies.tables_in(("one",), dialect)
    yield copies.drop_table(where, dialect)
    for kind in Kind:
        column = Column("it", kind, step=Fraction(1, 100) if kind is Kind.DECIMAL else None)
        yield in_range(column, dialect).sql(name)
        for physical in PHYSICAL[name]:
            try:
                yield cast_to_declared(column, physical, dialect).sql(name)
            except InvalidValue:
                yield "refused"


def digests() -> dict[str, list[str]]:
    """The first letters of the hash of each statement, in order."""
    found = {f"{name}: questions": list(asked(name)) for name in DIALECTS}
    found |= {f"{name}: copies": list(made(name)) for name in COPIED}
    return {
        key: [sha256(text.encode()).hexdigest()[:12] for text in texts]
        for key, texts in found.items()
    }


def test_no_statement_has_changed() -> None:
    found = digests()
    if os.environ.get("TACIT_GOLDEN"):
        FILE.write_text(json.dumps(found, indent=1) + "\n")
    known = json.loads(FILE.read_text())
    assert known.keys() == found.keys()
    assert [key for key in known if known[key] != found[key]] == []
    assert all(len(set(each)) > 100 for key, each in known.items() if "questions" in key)

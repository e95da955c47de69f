"""Special values of every type mean on Spark what they say: no row makes it fail."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from neighbouring import opened
from spark_over import quoted
from spark_session import folder, local
from specials import NUMBERS, TABLE, catalog
from test_errors import COLUMNS, CONDITIONS, KINDS, NAMED, ROWS, questions

from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Kind, Schema
from tacit.engines.reference import Reference
from tacit.engines.spark import Spark
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse

TYPES = {
    "person": ("STRING", pa.string()),
    "place": ("INT", pa.int32()),
    "tiny": ("TINYINT", pa.int8()),
    "big": ("BIGINT", pa.int64()),
    "cents": ("DECIMAL(18, 2)", pa.decimal128(18, 2)),
    "fine": ("DECIMAL(38, 18)", pa.decimal128(38, 18)),
    "whole": ("DECIMAL(20, 0)", pa.decimal128(20, 0)),
    "single": ("FLOAT", pa.float32()),
    "double": ("DOUBLE", pa.float64()),
    "label": ("STRING", pa.string()),
    "flag": ("BOOLEAN", pa.bool_()),
    "day": ("DATE", pa.date32()),
    "moment": ("TIMESTAMP_NTZ", pa.timestamp("us")),
    "until": ("DATE", pa.date32()),
    "tag": ("STRING", pa.string()),
}
"""Spark has no integers of 128 bits, nor any without a sign."""

SALT = b"salt"


def declared() -> Catalog:
    """The table of special values, without the types that Spark lacks."""
    known = catalog(Limits(1, 2))
    (table,) = known.datasets
    columns = tuple(each for each in table.schema.columns if each.name in TYPES)
    return replace(known, datasets=(replace(table, schema=Schema(columns)),))


CATALOG = declared()


@pytest.fixture(scope="module")
def engine() -> Spark:
    made = Spark(local())
    columns = {name: pa.array([row[name] for row in ROWS], TYPES[name][1]) for name in TYPES}
    path = folder() / "specials.parquet"
    pq.write_table(pa.table(columns), path)
    types = ", ".join(f"{quoted(name)} {physical}" for name, (physical, _) in TYPES.items())
    made._session.read.schema(types).parquet(str(path)).createOrReplaceTempView("specials")
    made.check(CATALOG)
    return made


def few(name: str, kind: Kind) -> list[str]:
    """Every aggregate in one question, every condition in another, and a key."""
    where = [*(CONDITIONS if kind in NUMBERS else ()), *KINDS[kind], *NAMED.get(name, ())]
    counts = [f"SUM(CASE WHEN {part} THEN 1 ELSE 0 END)" for part in where]
    together = f"SELECT place, {', '.join(counts)} FROM specials GROUP BY place"  # noqa: S608 - our own names
    others = [
        text
        for text in questions(name, kind)[1:]
        if "WHERE" not in text and "CASE WHEN" not in text and "MIN" not in text
    ]
    return [questions(name, kind)[0], together.format(name), *others[-1:]]


@pytest.mark.parametrize(
    ("name", "kind"), [each for each in COLUMNS if each[0] in TYPES], ids=str
)
def test_special_values_mean_the_same_on_spark(name: str, kind: Kind, engine: Spark) -> None:
    reference = Reference({TABLE: ROWS})
    for text in few(name, kind):
        plan = bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan
        found, meant = (each.run(plan, CATALOG, SALT) for each in (engine, reference))
        assert opened(found) == opened(meant), text

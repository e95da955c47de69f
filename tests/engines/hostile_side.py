"""One side of a hostile store: rows on an engine, and how cells are written there."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from hostile_store import Cells

from tacit.engines.engine import CheckedEngine
from tacit.engines.prepare import Run
from tacit.engines.print.sql_dialect import Dialect

HUNDREDTHS = 16


@dataclass(frozen=True, slots=True)
class Side:
    """One list of rows on its engine; ``owner`` may write there."""

    engine: CheckedEngine
    owner: Run
    dialect: Dialect
    where: str


def texts(values: Sequence[bytes | None]) -> pa.Array:
    """Bytes as a column of text that nobody looked at."""
    raw = pa.array(values, type=pa.binary())
    return pa.StringArray.from_buffers(
        len(raw), raw.buffers()[1], raw.buffers()[2], raw.buffers()[0]
    )


def hundredths(values: Sequence[int | None]) -> pa.Array:
    """Whole numbers of hundredths as decimals of 18 digits that nobody looked at."""
    there = pa.array([value is not None for value in values])
    raw = b"".join((value or 0).to_bytes(HUNDREDTHS, "little", signed=True) for value in values)
    bits = pa.compute.if_else(there, 1, pa.scalar(None, pa.int8())).buffers()[0]
    return pa.Array.from_buffers(pa.decimal128(18, 2), len(values), [bits, pa.py_buffer(raw)])


def labs_of(rows: Sequence[Cells]) -> list[Cells]:
    """The labs that belong to visits."""
    return [
        {"of": row["code"], "value": place - 1} for row in rows for place in range(row["labs"])
    ]


def shown(value: bytes | None) -> str | None:
    """A text as a database takes it."""
    return None if value is None else value.decode()


def number_of(score: bytes) -> int | None:
    """A score as a number; one that is none has a value of its own."""
    return int(score) if score.isdigit() else None

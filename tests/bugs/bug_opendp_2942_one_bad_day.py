"""OpenDP 2942: a day that no moment of 64 bits reaches makes the whole question fail."""

from collections.abc import Callable

from sqlglot import exp

from tacit.core.domain import Kind
from tacit.engines.print.sql_builder import column
from tacit.plan.bounded_plan import BoundedKey, ColumnKey

PLACE = "tacit.engines.print.bounded_rows:group_name"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[a day far away-duckdb]"
)
SHOWN = "tacit.errors.InternalError: The engine failed."

Key = Callable[[BoundedKey], exp.Expr]


def bug(original: Key) -> Key:
    def named(wanted: BoundedKey) -> exp.Expr:
        match wanted:
            case ColumnKey(_, name, Kind.DATE, _):
                moment = exp.cast(column(name), exp.DataType.build("TIMESTAMP_NS", "duckdb"))
                return exp.cast(exp.cast(moment, "DATE"), "VARCHAR")
        return original(wanted)

    return named

"""TD-10, 17: each row that names no person is a person of its own."""

from collections.abc import Callable

from sqlglot import exp

from tacit.engines.print.ranking import UNIT, RowContext

PLACE = "tacit.engines.print.bounded_rows:_select_rows"
CAUGHT_BY = (
    "tests/engines/test_written_neighbours.py"
    "::test_a_person_shows_in_nothing_but_noise[rows that name nobody-duckdb]"
)
SHOWN = "Batch 0 changes by the square root of 100, but the square root of 1 was declared."

Counted = Callable[..., exp.Select]


def bug(original: Counted) -> Counted:
    def counted(rows_of: RowContext, source: str, *, placed: bool) -> exp.Select:
        query = original(rows_of, source, placed=placed)
        unit, *others = query.expressions
        numbered = exp.Window(this=exp.RowNumber())
        named = exp.func("COALESCE", unit.this, exp.cast(numbered, "VARCHAR"))
        is_there, *conditions = query.args["where"].this.flatten()
        assert "IS NULL" in is_there.sql()
        query = query.select(exp.alias_(named, UNIT), *others, append=False)
        return query.where(*conditions, append=False)

    return counted

"""F-P3: DuckDB groups by a collation, and a group has whichever spelling comes first."""

PLACE = "tacit.engines.print.sql_dialects:DuckDBDialect.cell"
CAUGHT_BY = "tests/edges/test_spelling.py::test_a_spelling_moves_a_count_by_no_more_than_noise"
SHOWN = "(wanted <= 3) short"


def bug(_: object) -> object:
    return lambda _, value, kind: value  # noqa: ARG005 - a method

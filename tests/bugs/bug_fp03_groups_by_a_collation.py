"""F-P3: DuckDB groups by a collation, and a group has whichever spelling comes first."""

PLACE = "tacit.engines.print.cell:READ_TEXT"
CAUGHT_BY = "tests/edges/test_spelling.py::test_a_spelling_moves_a_count_by_no_more_than_noise"
SHOWN = "(wanted <= 3) short"


def bug(_: object) -> object:
    return {}

"""F-P5: a view is read as a table is, and its cast fails for one person."""

PLACE = "tacit.session.table_checks:_reasons"
CAUGHT_BY = "tests/edges/test_view_cast.py::test_a_view_is_not_read_in_place[duckdb-tacit.open]"
SHOWN = "answered without the person"


def bug(_: object) -> object:
    return lambda *_: []

"""F-P1: PostgreSQL compares text by its collations, and fails where two of them disagree."""

PLACE = "tacit.engines.print.postgres_dialect:PostgresDialect.cell"
CAUGHT_BY = "tests/edges/test_two_collations.py::test_two_collations_tell_nothing"
SHOWN = "bar edge two_collations: questions that failed"


def bug(_: object) -> object:
    return lambda _, value, kind: value  # noqa: ARG005 - a method

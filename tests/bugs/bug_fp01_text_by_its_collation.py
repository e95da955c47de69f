"""F-P1: PostgreSQL compares text by its collations, and fails where two of them disagree."""

PLACE = "tacit.engines.print.cell:READ_TEXT"
CAUGHT_BY = "tests/edges/test_two_collations.py::test_two_collations_tell_nothing"
SHOWN = "bar edge two_collations: questions that failed"


def bug(_: object) -> object:
    return {}

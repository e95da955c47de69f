"""F-P5: a server reads tables where they are."""

PLACE = "tacit.session.project:with_copies"
CAUGHT_BY = "tests/edges/test_whose_copy.py::test_a_server_reads_the_copy_and_not_the_table"
SHOWN = "assert None is not None"


def bug(_: object) -> object:
    return lambda project, *_: project

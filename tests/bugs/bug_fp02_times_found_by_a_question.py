"""F-P2: a time that DuckDB cannot decode is met by a paid question, and not before."""

PLACE = "tacit.engines.duckdb_files:_check_decoding"
CAUGHT_BY = (
    "tests/edges/test_bad_text.py"
    "::test_times_that_no_question_can_read_are_refused_when_a_file_is_opened"
)
SHOWN = "DID NOT RAISE"


def bug(_: object) -> object:
    return lambda *_: None

"""F-P2: a text that is no UTF-8 fails only where filters leave something to decode."""

from collections.abc import Callable

from tacit.engines import duckdb_files

PLACE = "tacit.engines.duckdb_files:_lenient"
CAUGHT_BY = "tests/edges/test_bad_text.py::test_a_text_that_is_no_text_tells_nothing"
SHOWN = "bar edge bad_text: questions that failed"

Lenient = Callable[[object], str]


def bug(_: Lenient) -> Lenient:
    duckdb_files._check_decoding = lambda *_: None  # type: ignore[assignment]
    return lambda _: ""

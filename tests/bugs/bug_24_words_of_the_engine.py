"""TD-10, 24: an error repeats what the engine said, which may be a value of a row (Lomas)."""

from typing import Any

from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import SecretTable
from tacit.errors import InternalError

PLACE = "tacit.engines.duckdb:DuckDB.run"
CAUGHT_BY = "tests/engines/test_error_oracle.py::test_a_failure_of_the_engine_has_one_text"
SHOWN = "The engine failed: Conversion Error: Could not convert string 'SECRET"


def bug(original: Any) -> Any:
    def run(self: DuckDB, *given: Any) -> SecretTable:
        try:
            found: SecretTable = original(self, *given)
        except InternalError as failed:
            raise InternalError(f"The engine failed: {failed.__cause__}") from failed
        return found

    return run

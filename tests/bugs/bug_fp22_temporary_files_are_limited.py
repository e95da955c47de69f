"""F-P22: a role is taken whose temporary files are limited, which one person's rows reach."""

from collections.abc import Callable
from typing import Any

from tacit.errors import InvalidValue

PLACE = "tacit.engines.postgres:check_role"
CAUGHT_BY = "tests/engines/test_postgres.py::test_a_limit_of_temporary_files_is_refused"
SHOWN = "DID NOT RAISE"

Rule = Callable[[Any, Any], None]


def bug(original: Rule) -> Rule:
    def check_role(cursor: Any, catalog: Any) -> None:
        try:
            original(cursor, catalog)
        except InvalidValue as error:
            if "Temporary files" not in str(error):
                raise

    return check_role

"""Decision 47: what fails whatever the rows are is charged, and locks the population."""

from collections.abc import Callable

PLACE = "tacit.engines.postgres:Postgres.rehearse"
CAUGHT_BY = (
    "tests/failures/test_rehearsal.py::"
    "test_a_fit_of_more_columns_than_postgresql_allows_is_free"
)
SHOWN = "The question failed after it was charged"

Rehearse = Callable[..., None]


def bug(_: Rehearse) -> Rehearse:
    return lambda *_, **__: None

"""F-P23: what a stream uses is found by cutting names at dots, so that some are never found."""

from collections.abc import Callable, Iterable

PLACE = "tacit.session.policy_version:_is_named"
CAUGHT_BY = (
    "tests/edges/test_streams_go_on.py::"
    "test_tighter_bounds_stop_a_publication_whatever_its_column_is_called[pay.eur]"
)
SHOWN = "visits.pay.eur: integer, from 0 to 10"

Rule = Callable[[str, Iterable[str]], bool]


def bug(_: Rule) -> Rule:
    return lambda column, words: any(word.rpartition(".")[2] == column for word in words)

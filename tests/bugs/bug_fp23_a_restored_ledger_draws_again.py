"""F-P23: nobody looks whether a period is published before it is released."""

from collections.abc import Callable
from datetime import date

from tacit.publish.due_releases import Folder

PLACE = "tacit.publish.due_releases:Folder.stored_periods"
CAUGHT_BY = "tests/edges/test_published_again.py::test_a_restored_ledger_draws_nothing_again[3]"
SHOWN = "its release is not in the ledger"

Rule = Callable[[Folder], frozenset[date]]


def bug(_: Rule) -> Rule:
    return lambda _: frozenset()

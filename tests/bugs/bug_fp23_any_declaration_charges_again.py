"""F-P23, F-S13: a stream is known by all declarations, and each change charges it again."""

from collections.abc import Callable
from typing import Any

from tacit.project.populations import facts_of

PLACE = "tacit.session.policy_version:used_facts"
CAUGHT_BY = (
    "tests/edges/test_published_again.py::"
    "test_what_a_publication_does_not_use_changes_neither_charge_nor_files"
    "[no bounds of it]"
)
SHOWN = "have changed since it was charged"

Facts = Callable[..., tuple[str, ...]]


def bug(_: Facts) -> Facts:
    def all_facts(asked: Any, catalog: Any, population: Any, tables: Any) -> tuple[str, ...]:
        del asked, tables
        return facts_of(catalog, population.name)

    return all_facts

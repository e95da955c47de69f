"""F-S4: people who sign in with their own provider reach every dataset."""

from collections.abc import Callable

from tacit.project.grants import Grant
from tacit.server.token_policy import TokenScope

PLACE = "tacit.server.grants:_unite"
CAUGHT_BY = "tests/server/test_grants.py::test_people_reach_what_their_groups_are_granted"
SHOWN = "assert 200 == 403"

Unite = Callable[[list[Grant]], TokenScope]


def bug(_: Unite) -> Unite:
    return lambda _: TokenScope()

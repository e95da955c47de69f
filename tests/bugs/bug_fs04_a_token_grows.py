"""F-S4: a token without datasets reaches those that other owners declare later."""

from collections.abc import Callable

from tacit.core.catalog import Catalog
from tacit.server.token_policy import TokenScope

PLACE = "tacit.server.token_policy:TokenScope.fix"
CAUGHT_BY = (
    "tests/server/test_tokens.py::test_a_token_does_not_grow_into_the_data_of_another_owner"
)
SHOWN = "(200, True) == (404, False)"

Fix = Callable[[TokenScope, Catalog], TokenScope]


def bug(_: Fix) -> Fix:
    return lambda scope, _: scope

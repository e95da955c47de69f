"""F-S4: a token that reaches the data of two owners can be revoked by neither of them."""

from collections.abc import Callable

from tacit.server.routes.owners import TokenReach
from tacit.server.token_policy import TokenScope
from tacit.store.tokens import AccessToken

PLACE = "tacit.server.routes.owners:TokenReach.includes"
CAUGHT_BY = (
    "tests/server/test_tokens.py::"
    "test_any_owner_of_something_that_a_token_reaches_sees_and_revokes_it"
)
SHOWN = "not enough values to unpack"

Includes = Callable[[TokenReach, AccessToken], bool]


def bug(_: Includes) -> Includes:
    def owns_all(reach: TokenReach, allowed: AccessToken) -> bool:
        return reach._own >= TokenScope.of(allowed.scope).populations_in(reach._curator.catalog)

    return owns_all

"""Who calls: a principal in a role, within a scope; and how a token tells."""

from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import NotPermitted
from tacit.server.refusal import Refused, unknown_caller
from tacit.server.role import Role
from tacit.server.scope import Scope
from tacit.store.tokens import Tokens

BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal in a role, within a scope."""

    principal: str
    role: Role
    scope: Scope


class Gate:
    """Tells callers by their tokens; whoever has none that is valid stays outside."""

    def __init__(self, tokens: Tokens, clock: Callable[[], int]) -> None:
        self._tokens = tokens
        self._clock = clock

    def caller(self, authorization: str) -> Caller:
        """Whose token ``authorization`` bears; all others are refused in one wording."""
        scheme, token = authorization[: len(BEARER)], authorization[len(BEARER) :].strip()
        if scheme.lower() != BEARER or not token:
            raise Refused(unknown_caller())
        try:
            allowed = self._tokens.admit(token, self._clock())
        except NotPermitted:
            raise Refused(unknown_caller()) from None
        return Caller(allowed.principal, Role(allowed.role), Scope.of(allowed.scope))

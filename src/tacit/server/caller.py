"""Who calls: a principal in a role, within a scope; and how a token tells."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tacit.errors import NotPermitted
from tacit.server.refusal import Refused, unknown_caller
from tacit.server.role import Role
from tacit.server.scope import Scope
from tacit.session.curator import Curator
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

    def __init__(self, curator: Curator, clock: Callable[[], int]) -> None:
        self._curator = curator
        self._tokens = Tokens(curator.home.store)
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
        return self._within(
            Caller(allowed.principal, Role(allowed.role), Scope.of(allowed.scope))
        )

    def _within(self, caller: Caller) -> Caller:
        """The caller, as an owner within what the ledger says that they own."""
        if caller.role is not Role.OWNER:
            return caller
        ledger, reached = (
            self._curator.home.ledger,
            caller.scope.of_catalog(self._curator.catalog),
        )
        owned = {
            people.name
            for people in reached.populations
            if caller.principal in ledger.owners(people.name)
        }
        names = tuple(each.name for each in reached.datasets if each.population in owned)
        return replace(caller, scope=replace(caller.scope, datasets=names))

"""Who calls: a principal in a role, within a scope; and how a token tells."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tacit.errors import NotPermitted
from tacit.server.admission import is_principal
from tacit.server.current import Current
from tacit.server.oidc import People
from tacit.server.refusal import Refused, unknown_caller
from tacit.server.role import Role
from tacit.server.scope import Scope
from tacit.store.tokens import PREFIX, Tokens

BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal in a role, within a scope."""

    principal: str
    role: Role
    scope: Scope


class Gate:
    """Tells callers by their tokens; whoever has none that is valid stays outside."""

    def __init__(
        self, current: Current, clock: Callable[[], int], people: People | None = None
    ) -> None:
        self._current = current
        self._tokens = Tokens(current.curator.home.store)
        self._clock = clock
        self._people = people

    def caller(self, authorization: str) -> Caller:
        """Whose token ``authorization`` bears; all others are refused in one wording."""
        scheme, token = authorization[: len(BEARER)], authorization[len(BEARER) :].strip()
        if scheme.lower() != BEARER or not token:
            raise Refused(unknown_caller())
        try:
            return self._within(self._known(token))
        except NotPermitted:
            raise Refused(unknown_caller()) from None

    def _known(self, token: str) -> Caller:
        """Whose token it is: one of ours, or, where there is a provider, one of theirs."""
        if self._people is None or token.startswith(PREFIX):
            allowed = self._tokens.admit(token, self._clock())
            return Caller(allowed.principal, Role(allowed.role), Scope.of(allowed.scope))
        principal, role = self._people.who(token)
        if not is_principal(principal):
            raise NotPermitted("Nobody can be called so.")
        return Caller(principal, role, Scope())

    def _within(self, caller: Caller) -> Caller:
        """The caller, as an owner within what the ledger says that they own."""
        if caller.role is not Role.OWNER:
            return caller
        curator = self._current.curator
        ledger, reached = curator.home.ledger, caller.scope.of_catalog(curator.catalog)
        owned = {
            people.name
            for people in reached.populations
            if caller.principal in ledger.owners(people.name)
        }
        names = tuple(each.name for each in reached.datasets if each.population in owned)
        return replace(caller, scope=replace(caller.scope, datasets=names))

"""What a new token will allow, checked against what there is."""

from tacit.core.catalog import Catalog
from tacit.errors import InvalidValue
from tacit.ledger.ledger import Ledger
from tacit.ledger.question import LONGEST_NAME
from tacit.server.scope import Scope
from tacit.session.budgets import quota_of
from tacit.store.tokens import Pass

DAY_MS = 24 * 60 * 60 * 1000


def check_pass(allowed: Pass, catalog: Catalog, ledger: Ledger) -> None:
    """Refuse a token for names that nobody declared, or for amounts that are none."""
    who, scope = allowed.principal, Scope.of(allowed.scope)
    if not is_principal(who):
        raise InvalidValue(
            f"A principal has 1 to {LONGEST_NAME} printable characters, and does not begin "
            "with @, which marks a group."
        )
    for name in scope.datasets or ():
        catalog.dataset(name)
    if scope.most is not None:
        for people in scope.of_catalog(catalog).populations:
            quota_of(scope.most, ledger.status(people.name))


def is_principal(name: str) -> bool:
    """Whether somebody can be called so in the ledger."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and not name.startswith("@")

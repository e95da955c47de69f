"""Rights of people who sign in with OpenID Connect, by the claims of their token.

A provider's token is valid for all of the provider's applications at once, so that it must not
say more here than an operator has written down. There are two ways:

* **Grants.** The project file has a grant for some of the provider's groups. The first grant in
  the file whose group a person is in decides the role. Datasets of all their grants of this
  role are united, and the least of their mosts holds. A person in none of the groups has no
  access, whatever the other claims say.
* **Claims.** Without grants, the provider states the role, the datasets and the most in claims
  of its own. A person without the claim for datasets reaches none.

In neither way is there a value that means all datasets: a dataset that is declared later, maybe
by another owner, is reached by nobody until somebody writes it down.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tacit.core import Catalog
from tacit.ledger import Ledger
from tacit.numeric import exact
from tacit.project import Allowance, Grant, Issuer
from tacit.server.token_policy import Role, TokenScope
from tacit.session import quota_of

Claims = Mapping[str, Any]
"""The claims of a token whose signature was verified."""

WITH_DATASETS = (Role.ANALYST, Role.AUDITOR)
EMAIL, VERIFIED = "email", "email_verified"
"""Claims of OpenID Connect: an address, and whether the provider has verified it."""

OWNED, NOTHING = TokenScope(), TokenScope(())
"""The scope of an owner, which the ledger limits to what they own, and of an operator."""


class SignedIn(NamedTuple):
    """A person who signed in: their name, their role, and what they reach."""

    principal: str
    role: Role
    scope: TokenScope


def read_claims(claims: Claims, issuer: Issuer) -> SignedIn:
    """Return who signed in, by the claims of a verified token.

    Raise `LookupError`, `TypeError` or `ValueError` if the claims give no access.

    Example:
        >>> issuer = Issuer("https://id.example", "tacit", "https://id.example/keys")
        >>> claims = {"sub": "ann", "tacit_role": "analyst", "tacit_datasets": ["visits"]}
        >>> read_claims(claims, issuer).scope.datasets
        ('visits',)
    """
    principal = _principal(claims, issuer)
    if issuer.grants:
        found = _find_grants(claims, issuer)
        role = Role(found[0].role)
        return SignedIn(principal, role, _unite(found))
    role = Role(_text(claims[issuer.role]))
    if role in WITH_DATASETS:
        names = _texts(claims.get(issuer.datasets, ()))
        return SignedIn(principal, role, TokenScope(names, _most(claims.get(issuer.most))))
    return SignedIn(principal, role, OWNED if role is Role.OWNER else NOTHING)


def _principal(claims: Claims, issuer: Issuer) -> str:
    """Return the name of a person; raise `ValueError` for an email that was not verified.

    At some providers people can enter any address, also that of an owner.
    """
    if issuer.principal == EMAIL and claims.get(VERIFIED) is not True:
        raise ValueError
    return _text(claims[issuer.principal])


def _find_grants(claims: Claims, issuer: Issuer) -> list[Grant]:
    """Return the grants of a person that have the role of the first one."""
    groups: Any = claims
    for name in issuer.groups:
        groups = groups[name]
    have = _texts([groups] if isinstance(groups, str) else groups)
    found = [grant for grant in issuer.grants if grant.group in have]
    if not found:
        raise LookupError
    return [grant for grant in found if grant.role == found[0].role]


def _unite(grants: list[Grant]) -> TokenScope:
    if grants[0].datasets is None:
        return OWNED if grants[0].role == Role.OWNER.value else NOTHING
    names = dict.fromkeys(name for grant in grants for name in grant.datasets or ())
    mosts = [grant.most for grant in grants if grant.most is not None]
    return TokenScope(tuple(names), min(mosts, key=_amount) if mosts else None)


def _amount(most: Allowance) -> Any:
    return most.epsilon if most.rho is None else most.rho


def _most(claim: object) -> Allowance | None:
    """Return the largest loss of a question, which a claim states as an epsilon."""
    if claim is None:
        return None
    if not isinstance(claim, str | int | float):
        raise TypeError
    epsilon = exact(claim)
    if epsilon <= 0:
        raise ValueError
    return Allowance(epsilon=epsilon)


def _text(claim: object) -> str:
    if not isinstance(claim, str):
        raise TypeError
    return claim


def _texts(claim: object) -> tuple[str, ...]:
    if not isinstance(claim, list | tuple):
        raise TypeError
    return tuple(_text(each) for each in claim)


def check_mosts(issuer: Issuer, catalog: Catalog, ledger: Ledger) -> None:
    """Raise `InvalidValue` if the most of a grant cannot be counted in a budget it is for."""
    for grant in issuer.grants:
        if grant.most is not None:
            for people in TokenScope(grant.datasets).of_catalog(catalog).populations:
                quota_of(grant.most, ledger.status(people.name))

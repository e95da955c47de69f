"""Authorisation: the roles of tokens, their scope, and the checks for a new token.

A token has one role and a scope: the datasets that it may be used for, and the largest privacy
loss of a question. Each route declares the roles that may call it.
"""

import json
from dataclasses import dataclass
from enum import StrEnum

from tacit.accounting import show_loss
from tacit.core import Catalog, Loss
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger import LONGEST_NAME, Ledger, Status
from tacit.numeric import exact, plain
from tacit.project import Allowance
from tacit.session import quota_of
from tacit.store import AccessToken


class Role(StrEnum):
    """The four roles. No role includes another.

    Owners issue tokens and see the questions about their populations. Analysts ask questions.
    Auditors read the ledger, but no answers. Operators see that the server runs, but no
    questions.
    """

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    OPERATOR = "operator"


AMOUNTS = ("epsilon", "rho", "delta")


@dataclass(frozen=True, slots=True)
class TokenScope:
    """The datasets that a token may be used for, and the largest loss of a question.

    ``datasets`` is None for all datasets, and ``most`` is None for no limit.

    Example:
        >>> TokenScope(("visits",)).text
        '{"datasets": ["visits"], "most": null}'
    """

    datasets: tuple[str, ...] | None = None
    most: Allowance | None = None

    @property
    def text(self) -> str:
        """The scope as JSON, which is stored next to the hash of the token."""
        most = None
        if self.most is not None:
            amounts = ((name, getattr(self.most, name)) for name in AMOUNTS)
            most = {name: plain(amount) for name, amount in amounts if amount is not None}
        return json.dumps({"datasets": self.datasets, "most": most})

    @classmethod
    def of(cls, text: str) -> "TokenScope":
        """Parse a scope from its JSON."""
        stored = json.loads(text)
        names, most = stored["datasets"], stored["most"]
        if most is not None:
            most = Allowance(**{name: exact(amount) for name, amount in most.items()})
        return cls(None if names is None else tuple(names), most)

    def of_catalog(self, catalog: Catalog) -> Catalog:
        """Return the datasets of ``catalog`` in this scope, and those that they link to."""
        if self.datasets is None:
            return catalog
        known = [each.name for each in catalog.datasets]
        # a dataset may have been removed since the token was issued
        found = [name for name in self.datasets if name in known]
        paths = {each.name for name in found for each in catalog.path_to_unit(name)}
        datasets = tuple(each for each in catalog.datasets if each.name in paths)
        people = {each.population for each in datasets}
        populations = tuple(each for each in catalog.populations if each.name in people)
        return Catalog(populations, datasets, catalog.public)

    def covers(self, population: str, catalog: Catalog) -> bool:
        """Return whether all datasets of ``population`` are in this scope."""
        here = {each.name for each in catalog.datasets if each.population == population}
        return self.datasets is None or here <= set(self.datasets)

    def check_datasets(self, names: tuple[str, ...], catalog: Catalog) -> None:
        """Raise `UnknownName` if one of ``names`` is not in this scope."""
        for name in names:
            if self.datasets is not None and name not in (*self.datasets, *_public(catalog)):
                raise UnknownName(
                    f"There is no dataset {name!r}; there are: {', '.join(self.datasets)}."
                )

    def check_loss(self, loss: Loss, status: Status) -> None:
        """Raise `NotPermitted` if ``loss`` is larger than this scope allows."""
        if self.most is None:
            return
        most = quota_of(self.most, status)
        if not loss <= most:
            allowed, wanted = (
                show_loss(each, status.conversion_delta) for each in (most, loss)
            )
            raise NotPermitted(
                f"Your token allows at most {allowed} for a question, but {wanted} was "
                "requested. Ask for less, or ask an owner for another token."
            )


def _public(catalog: Catalog) -> tuple[str, ...]:
    return tuple(table.name for table in catalog.public)


DAY_MS = 24 * 60 * 60 * 1000


def check_pass(allowed: AccessToken, catalog: Catalog, ledger: Ledger) -> None:
    """Raise an error if a new token has an invalid principal, dataset or amount."""
    who, scope = allowed.principal, TokenScope.of(allowed.scope)
    if not is_principal(who):
        raise InvalidValue(
            f"A principal must have 1 to {LONGEST_NAME} printable characters, and must not "
            "begin with @, which marks a group."
        )
    for name in scope.datasets or ():
        catalog.dataset(name)
    if scope.most is not None:
        for people in scope.of_catalog(catalog).populations:
            quota_of(scope.most, ledger.status(people.name))


def is_principal(name: str) -> bool:
    """Return whether ``name`` is a valid name of a principal in the ledger."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and not name.startswith("@")

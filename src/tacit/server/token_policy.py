"""What a caller is here for; each route says whom it is for."""

import json
from dataclasses import dataclass
from enum import StrEnum

from tacit.core import Catalog, Loss
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger import LONGEST_NAME, Ledger, Status
from tacit.numeric import exact, plain
from tacit.project import Allowance
from tacit.session import quota_of
from tacit.store import AccessToken


class Role(StrEnum):
    """Four roles, none of which includes another.

    Owners hand out tokens and see what was asked of their people; analysts ask; auditors read
    the ledger, and no answer; operators see that the server runs, and nobody's question.
    """

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    OPERATOR = "operator"


# ------------------------------------------------------------------ scope
# How far a token reaches: which datasets, and how much a question may lose.

AMOUNTS = ("epsilon", "rho", "delta")


@dataclass(frozen=True, slots=True)
class TokenScope:
    """The datasets that may be asked about, all where none are named; the most of a question.

    Example:
        >>> TokenScope(("visits",)).text
        '{"datasets": ["visits"], "most": null}'
    """

    datasets: tuple[str, ...] | None = None
    most: Allowance | None = None

    @property
    def text(self) -> str:
        """What is kept beside a token's hash."""
        most = None
        if self.most is not None:
            amounts = ((name, getattr(self.most, name)) for name in AMOUNTS)
            most = {name: plain(amount) for name, amount in amounts if amount is not None}
        return json.dumps({"datasets": self.datasets, "most": most})

    @classmethod
    def of(cls, text: str) -> "TokenScope":
        """The scope that was kept as ``text``."""
        told = json.loads(text)
        names, most = told["datasets"], told["most"]
        if most is not None:
            most = Allowance(**{name: exact(amount) for name, amount in most.items()})
        return cls(None if names is None else tuple(names), most)

    def of_catalog(self, catalog: Catalog) -> Catalog:
        """The part of ``catalog`` that is in reach, and what its links lead to."""
        if self.datasets is None:
            return catalog
        known = [each.name for each in catalog.datasets]
        found = [name for name in self.datasets if name in known]  # one may be gone by now
        paths = {each.name for name in found for each in catalog.path_to_unit(name)}
        datasets = tuple(each for each in catalog.datasets if each.name in paths)
        people = {each.population for each in datasets}
        populations = tuple(each for each in catalog.populations if each.name in people)
        return Catalog(populations, datasets, catalog.public)

    def covers(self, population: str, catalog: Catalog) -> bool:
        """Whether all datasets of ``population`` are in reach."""
        here = {each.name for each in catalog.datasets if each.population == population}
        return self.datasets is None or here <= set(self.datasets)

    def check_datasets(self, names: tuple[str, ...], catalog: Catalog) -> None:
        """Refuse a question that names a dataset out of reach."""
        for name in names:
            if self.datasets is not None and name not in (*self.datasets, *_public(catalog)):
                raise UnknownName(
                    f"There is no dataset {name!r}; there are: {', '.join(self.datasets)}."
                )

    def check_loss(self, loss: Loss, status: Status) -> None:
        """Refuse a question that asks for more than this allows."""
        if self.most is None:
            return
        most = quota_of(self.most, status)
        if not loss <= most:
            raise NotPermitted(
                f"Your token allows at most {most} for a question, and {loss} was asked for; "
                "ask for less, or ask an owner for another token."
            )


def _public(catalog: Catalog) -> tuple[str, ...]:
    return tuple(table.name for table in catalog.public)


# ------------------------------------------------------------------ admission
# What a new token will allow, checked against what there is.

DAY_MS = 24 * 60 * 60 * 1000


def check_pass(allowed: AccessToken, catalog: Catalog, ledger: Ledger) -> None:
    """Refuse a token for names that nobody declared, or for amounts that are none."""
    who, scope = allowed.principal, TokenScope.of(allowed.scope)
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

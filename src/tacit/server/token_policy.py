"""Authorisation: the roles of tokens, their scope, and the checks for a new token.

A token has one role and a scope: the datasets that it may be used for, and the largest privacy
loss of a question. Each route declares the roles that may call it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tacit.accounting import show_loss
from tacit.core import Catalog, Loss
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger import LONGEST_NAME, Ledger, Numbered, Status, is_name
from tacit.numeric import exact, plain
from tacit.project import Allowance
from tacit.session import quota_of
from tacit.store import AccessToken, Tokens


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

    ``most`` is None for no limit. The datasets of a token are fixed when it is issued (`fix`):
    a dataset that is declared later is out of its reach. ``datasets`` is None, which means all,
    only before that, and in stored tokens of earlier versions.

    Example:
        >>> TokenScope(("visits",)).text
        '{"datasets": ["visits"], "most": null}'
    """

    datasets: tuple[str, ...] | None = None
    most: Allowance | None = None
    populations: tuple[str, ...] | None = None
    """The population of each dataset when the token was issued.

    If a dataset of the same name is later declared for another population, it belongs to other
    people, and the token does not reach it. It is None in tokens of earlier versions, which
    hold names only.
    """
    setup: bool = False
    """Whether an owner with this scope may set up populations over HTTP.

    Only the command line gives this right. Such a scope is not fixed: it reaches every
    population that its owner owns now, so that they can go on with one that they set up.
    """

    @property
    def text(self) -> str:
        """The scope as JSON, which is stored next to the hash of the token."""
        most = None
        if self.most is not None:
            amounts = ((name, getattr(self.most, name)) for name in AMOUNTS)
            most = {name: plain(amount) for name, amount in amounts if amount is not None}
        stored: dict[str, Any] = {"datasets": self.datasets, "most": most}
        if self.populations is not None:
            stored["populations"] = self.populations
        if self.setup:
            stored["setup"] = True
        return json.dumps(stored)

    @classmethod
    def of(cls, text: str) -> "TokenScope":
        """Parse a scope from its JSON."""
        stored = json.loads(text)
        names, most = stored["datasets"], stored["most"]
        if most is not None:
            most = Allowance(**{name: exact(amount) for name, amount in most.items()})
        people = stored.get("populations")
        return cls(
            None if names is None else tuple(names),
            most,
            None if people is None else tuple(people),
            stored.get("setup") is True,
        )

    def fix(self, catalog: Catalog) -> "TokenScope":
        """Return this scope with the datasets that it has now, each with its population.

        Raise `UnknownName` if one of its datasets is not in ``catalog``.
        """
        names = self.datasets
        if names is None:
            names = tuple(each.name for each in catalog.datasets)
        people = tuple(catalog.dataset(name).population for name in names)
        return replace(self, datasets=names, populations=people)

    def names_in(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the datasets of ``catalog`` in this scope.

        A dataset may have been removed since the token was issued, or be another one.
        """
        people = {each.name: each.population for each in catalog.datasets}
        if self.datasets is None or self.setup:
            return tuple(people)
        if self.populations is None:
            return tuple(name for name in self.datasets if name in people)
        fixed = zip(self.datasets, self.populations, strict=True)
        return tuple(name for name, population in fixed if people.get(name) == population)

    def populations_in(self, catalog: Catalog) -> frozenset[str]:
        """Return the populations that this scope is about, now or when it was fixed."""
        now = {each.name for each in self.of_catalog(catalog).populations}
        return frozenset(now | set(self.populations or ()))

    def of_catalog(self, catalog: Catalog) -> Catalog:
        """Return the datasets of ``catalog`` in this scope, and those that they link to."""
        if self.datasets is None or self.setup:
            return catalog
        found = self.names_in(catalog)
        paths = {each.name for name in found for each in catalog.path_to_unit(name)}
        datasets = tuple(each for each in catalog.datasets if each.name in paths)
        people = {each.population for each in datasets}
        populations = tuple(each for each in catalog.populations if each.name in people)
        return Catalog(populations, datasets, catalog.public)

    def covers(self, population: str, catalog: Catalog) -> bool:
        """Return whether all datasets of ``population`` are in this scope, and there are some.

        A scope does not cover a population whose datasets were all removed.
        """
        here = {each.name for each in catalog.datasets if each.population == population}
        return bool(here) and here <= set(self.names_in(catalog))

    def check_datasets(self, names: tuple[str, ...], catalog: Catalog) -> None:
        """Raise `UnknownName` if one of ``names`` is not in this scope."""
        if self.datasets is None:
            return
        own = self.names_in(catalog)
        for name in names:
            if name not in (*own, *_public(catalog)):
                raise UnknownName(f"There is no dataset {name!r}; there are: {', '.join(own)}.")

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
            f"A principal must have 1 to {LONGEST_NAME} printable characters, in the normal "
            "form NFC and without spaces around them, and must not begin with @, which marks a "
            "group."
        )
    for name in scope.datasets or ():
        catalog.dataset(name)
    if scope.most is not None:
        for people in scope.of_catalog(catalog).populations:
            quota_of(scope.most, ledger.status(people.name))


def owned_by(who: str, catalog: Catalog, ledger: Ledger) -> frozenset[str]:
    """Return the populations of ``catalog`` that ``who`` owns, according to the ledger."""
    names = (people.name for people in catalog.populations)
    return frozenset(name for name in names if who in ledger.owners(name))


def reached_by(allowed: AccessToken, catalog: Catalog, ledger: Ledger) -> tuple[str, ...]:
    """Return the datasets that a token reaches now.

    A token of an operator reaches none, and one of an owner only what its owner owns.
    """
    if allowed.role == Role.OPERATOR:
        return ()
    names = TokenScope.of(allowed.scope).names_in(catalog)
    if allowed.role != Role.OWNER:
        return names
    owned = owned_by(allowed.principal, catalog, ledger)
    return tuple(name for name in names if catalog.dataset(name).population in owned)


Declared = Mapping[str, Numbered]
"""The current declarations of all populations of a ledger, also of those of other projects."""


def fix_old_tokens(tokens: Tokens, catalog: Catalog, declared: Declared, now: int) -> None:
    """Limit stored tokens of earlier versions to the datasets that they reach now.

    Such a token would also reach datasets that are declared later, also by other owners.
    """
    for hash_, allowed in tokens.all(now).items():
        scope = TokenScope.of(allowed.scope)
        if scope.populations is None:
            tokens.set_scope(hash_, allowed.scope, fix_old_scope(scope, catalog, declared).text)


def fix_old_scope(scope: TokenScope, catalog: Catalog, declared: Declared) -> TokenScope:
    """Return the scope of a token of an earlier version, each dataset with its population.

    A dataset of another project that shares the ledger has the population that declares it
    there. A dataset that nobody declares is left out, so that the token does not reach another
    one of this name later.
    """
    here = {each.name: each.population for each in catalog.datasets}
    names = tuple(here) if scope.datasets is None else scope.datasets
    found = {name: here.get(name) or _declared_by(name, declared) for name in names}
    known = {name: population for name, population in found.items() if population is not None}
    return replace(scope, datasets=tuple(known), populations=tuple(known.values()))


def _declared_by(name: str, declared: Declared) -> str | None:
    """Return the one population of which a fact is about the table ``name``, or None."""
    found = [
        population
        for population, (_, declaration) in declared.items()
        if any(fact.startswith(f"{name}: ") for fact in declaration.facts)
    ]
    return found[0] if len(found) == 1 else None


def is_principal(name: str) -> bool:
    """Return whether ``name`` is a valid name of a principal in the ledger.

    Two names that look the same must be the same: otherwise the quota of one of them does not
    limit the other.
    """
    return is_name(name) and not name.startswith("@")

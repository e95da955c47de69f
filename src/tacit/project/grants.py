"""Grants: which role, datasets and largest loss the groups of an identity provider have.

People who sign in with OpenID Connect bring claims: facts that the provider has signed. A grant
says what the members of one of the provider's groups may do here. Grants are settings of a
server, and not declarations of owners.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.project.document import Fault, TomlEntry
from tacit.project.populations import Allowance, allowance_of

ROLES = ("owner", "analyst", "auditor", "operator")
"""The roles of `tacit.server.token_policy`, in the words of the project file."""

WITH_DATASETS = ("analyst", "auditor")
"""Roles that reach the datasets that a grant names, and no others."""

PATH = ("server", "oidc", "grants")


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of the members of one of the provider's groups.

    ``datasets`` is None for owners, who have the datasets that they own according to the
    ledger, and for operators, who have none. ``most`` is the largest loss of a question.
    """

    group: str
    role: str
    datasets: tuple[str, ...] | None = None
    most: Allowance | None = None


def grants_of(entry: TomlEntry) -> tuple[Grant, ...]:
    """Read the section ``[server.oidc.grants]``, in the order of the file."""
    found = tuple(_grant(part) for _, part in entry.parts())
    if not found:
        raise entry.project_error(
            "Name at least one group of the provider, or leave this section out."
        )
    units = {each.most.rho is None for each in found if each.most is not None}
    if len(units) > 1:
        raise entry.project_error(
            "The most of all grants must be in epsilon, or of all in rho, because the least of "
            "them holds for members of several groups."
        )
    return found


def _grant(entry: TomlEntry) -> Grant:
    parts = entry.fields("role", "datasets", "most")
    role = entry.part("role").text()
    if role not in ROLES:
        raise parts["role"].project_error(f"role must be one of: {', '.join(ROLES)}.")
    if (role in WITH_DATASETS) != ("datasets" in parts):
        raise entry.project_error(
            "Name the datasets of this group: datasets = [...]. No group reaches all of them."
            if role in WITH_DATASETS
            else f"Leave out the datasets: those of an {role} do not depend on the group."
        )
    if "most" in parts and role != "analyst":
        raise parts["most"].project_error("Only analysts ask questions: leave out most.")
    names = parts["datasets"].items('["visits"]') if "datasets" in parts else None
    return Grant(
        entry.name,
        role,
        None if names is None else tuple(name.text() for name in names),
        allowance_of(parts["most"]) if "most" in parts else None,
    )


def check_grants(grants: Iterable[Grant], datasets: Iterable[str]) -> None:
    """Refuse a grant of a dataset that the project does not declare."""
    known = tuple(datasets)
    for grant in grants:
        for name in grant.datasets or ():
            if name not in known:
                raise Fault(
                    (*PATH, grant.group, "datasets"),
                    f"There is no dataset {name!r}. The file declares: {', '.join(known)}.",
                )


def claim_path(entry: TomlEntry) -> tuple[str, ...]:
    """Read the place of a claim: its name, or a list of names if it is inside others.

    Example:
        >>> claim_path(TomlEntry(["realm_access", "roles"]))
        ('realm_access', 'roles')
        >>> claim_path(TomlEntry("groups"))
        ('groups',)
    """
    if isinstance(entry.value, list) and entry.value:
        return tuple(part.text() for part in entry.items())
    return (entry.text(),)

"""Where a secret is kept: the project file names it, and never holds it."""

from dataclasses import dataclass

from tacit.project.entry import Entry

ENVIRONMENT, KEYRING = "env", "keyring"


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """A variable of the environment, or a service and a name in the keyring of the system.

    Example:
        >>> print(SecretPlace("keyring", ("clinic", "tacit")))
        keyring:clinic/tacit
    """

    keeper: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.keeper}:{'/'.join(self.path)}"


def secret_place(entry: Entry) -> SecretPlace:
    """``"env:PGPASSWORD"`` or ``"keyring:service/name"``."""
    keeper, _, rest = entry.text().partition(":")
    service, _, name = rest.partition("/")
    if keeper == ENVIRONMENT and rest.isidentifier():
        return SecretPlace(keeper, (rest,))
    if keeper == KEYRING and service.strip() and name.strip():
        return SecretPlace(keeper, (service, name))
    raise entry.fault(
        'A secret is named and not written: password = "env:PGPASSWORD", for a variable that '
        'holds it, or "keyring:service/name", for the keyring of the system.'
    )

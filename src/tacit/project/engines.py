"""Engines of the project file: where tables live, without a secret."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from tacit.errors import TacitError
from tacit.project.address import PATH, AddressRule, Plugins, RuleOf
from tacit.project.entry import Entry
from tacit.project.secret import SecretPlace, secret_place

SCHEMES = ("postgresql", "postgres")
"""How the address of the ledger's own PostgreSQL begins."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """What kind of engine it is, and where; a ``password`` says where one is kept."""

    name: str
    kind: str
    address: str
    password: SecretPlace | None = None


def engine_of(
    entry: Entry, rule_of: RuleOf, plugins: Plugins
) -> tuple[EngineAddress, AddressRule]:
    """One engine: ``kind`` with a ``path``, or with the ``address`` of a server."""
    kind = entry.part("kind")
    try:
        rule = rule_of(kind.text(), plugins)
    except TacitError as error:
        raise kind.fault(str(error)) from error
    if rule.is_path:
        entry.fields("kind", PATH)
        return EngineAddress(entry.name, kind.text(), entry.part(PATH).text()), rule
    parts = entry.fields("kind", "address", "password")
    password = secret_place(parts["password"]) if "password" in parts else None
    address = entry.part("address")
    refused = rule.refuse(address.text(), secret=password is not None)
    if refused is not None:
        raise address.fault(refused)
    return EngineAddress(entry.name, kind.text(), address.text(), password), rule


def store_of(entry: Entry) -> EngineAddress:
    """The PostgreSQL that holds the ledger, for any number of servers."""
    parts = entry.fields("address", "password")
    password = secret_place(parts["password"]) if "password" in parts else None
    refused = refuse_password(entry.part("address").text(), secret=password is not None)
    if refused is not None:
        raise entry.part("address").fault(refused)
    address = parts["address"].text().replace("postgres://", "postgresql://", 1)
    return EngineAddress(entry.name, "store", address, password)


def refuse_password(text: str, *, secret: bool) -> str | None:
    """Say why an address of PostgreSQL is refused: it is none, or holds a password."""
    del secret
    split = urlsplit(text)
    if split.scheme not in SCHEMES:
        return "An address is postgresql://role@host/database."
    if split.password is not None or "password" in dict(parse_qsl(split.query)):
        return (
            "A password does not stand in this file: take it out of the address, and write "
            'password = "env:PGPASSWORD" beside it, for a variable that holds it.'
        )
    return None


def with_password(address: str, secret: str) -> str:
    """Return an address with its password, for the driver and nobody else."""
    split = urlsplit(address)
    user, _, host = split.netloc.rpartition("@")
    return urlunsplit(split._replace(netloc=f"{user}:{quote(secret, safe='')}@{host}"))


STORE = AddressRule("store", refuse=refuse_password, with_secret=with_password)
"""How the ledger's own PostgreSQL is addressed."""

"""Engines of the project file: where tables live, without a secret."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from tacit.project.entry import Entry

ENVIRONMENT = "env:"
SCHEMES = ("postgresql", "postgres")
KINDS = ("duckdb", "parquet", "postgres")


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """What kind of engine it is, and where; a ``password`` names a variable, and holds none."""

    name: str
    kind: str
    address: str
    password: str | None = None


def engine_of(entry: Entry) -> EngineAddress:
    """One engine: ``kind`` with a ``path``, or with an ``address`` where it is PostgreSQL."""
    kind = entry.part("kind")
    if kind.value not in KINDS:
        raise kind.fault(f"An engine is one of: {', '.join(KINDS)}.")
    if kind.value != "postgres":
        entry.fields("kind", "path")
        return EngineAddress(entry.name, kind.text(), entry.part("path").text())
    entry.fields("kind", "address", "password")
    return _postgres(entry)


def store_of(entry: Entry) -> EngineAddress:
    """The PostgreSQL that holds the ledger, for any number of servers."""
    entry.fields("address", "password")
    return _postgres(entry)


def _postgres(entry: Entry) -> EngineAddress:
    parts = dict(entry.parts())
    without_secret(entry.part("address"))
    password = _variable(parts["password"]) if "password" in parts else None
    address = parts["address"].text().replace("postgres://", "postgresql://", 1)
    return EngineAddress(entry.name, "postgres", address, password)


def without_secret(entry: Entry) -> None:
    """Refuse an address with a password in it, without repeating it."""
    split = urlsplit(entry.text())
    if split.scheme not in SCHEMES:
        raise entry.fault("An address is postgresql://role@host/database.")
    if split.password is not None or "password" in dict(parse_qsl(split.query)):
        raise entry.fault(
            "A password does not stand in this file: take it out of the address, and write "
            'password = "env:PGPASSWORD" beside it, for a variable that holds it.'
        )


def _variable(entry: Entry) -> str:
    """The name of an environment variable, behind ``env:``."""
    name = entry.text().removeprefix(ENVIRONMENT)
    if not entry.text().startswith(ENVIRONMENT) or not name.isidentifier():
        raise entry.fault('A secret is named and not written: password = "env:PGPASSWORD".')
    return name

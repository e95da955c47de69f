"""Engines of the project file: where tables live, without a secret."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from tacit.project.entry import Entry
from tacit.project.secret import SecretPlace, secret_place

SCHEMES = ("postgresql", "postgres")
KINDS = ("duckdb", "parquet", "postgres", "spark")
MASTERS = ("sc://", "spark://", "local", "yarn", "k8s://")
"""How an address of Spark begins: Connect, or the master of a cluster."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """What kind of engine it is, and where; a ``password`` says where one is kept."""

    name: str
    kind: str
    address: str
    password: SecretPlace | None = None


def engine_of(entry: Entry) -> EngineAddress:
    """One engine: ``kind`` with a ``path``, or with the ``address`` of a server."""
    kind = entry.part("kind")
    if kind.value not in KINDS:
        raise kind.fault(f"An engine is one of: {', '.join(KINDS)}.")
    if kind.value in {"duckdb", "parquet"}:
        entry.fields("kind", "path")
        return EngineAddress(entry.name, kind.text(), entry.part("path").text())
    parts = entry.fields("kind", "address", "password")
    password = secret_place(parts["password"]) if "password" in parts else None
    if kind.value == "spark":
        without_token(entry.part("address"), password)
    else:
        without_secret(entry.part("address"))
    return EngineAddress(entry.name, kind.text(), parts["address"].text(), password)


def store_of(entry: Entry) -> EngineAddress:
    """The PostgreSQL that holds the ledger, for any number of servers."""
    parts = entry.fields("address", "password")
    password = secret_place(parts["password"]) if "password" in parts else None
    without_secret(entry.part("address"))
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


def without_token(entry: Entry, password: SecretPlace | None = None) -> None:
    """Refuse an address of Spark with a token in it, or a token where none is used."""
    address = entry.text()
    if not address.startswith(MASTERS):
        raise entry.fault(
            "An address of Spark is sc://host:15002, of Connect, or a master, such as "
            "spark://host:7077."
        )
    if "token=" in address:
        raise entry.fault(
            "A token does not stand in this file: take it out of the address, and write "
            'password = "env:SPARK_TOKEN" beside it, for a variable that holds it.'
        )
    if password is not None and not address.startswith("sc://"):
        raise entry.fault("A password is the token of Spark Connect, whose address is sc://.")

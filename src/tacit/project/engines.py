"""How the address of one kind of engine is written in the project file, as a value.

The project file knows no engine: `tacit.engines.registry` fills in one `AddressRule` for each
kind, and a session hands the rules down when it reads a file.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from tacit.core import Column
from tacit.errors import TacitError
from tacit.numeric import plain
from tacit.project.document import TomlEntry

Plugins = Mapping[str, str]
"""Plug-ins that the project file names: a distribution's name and its exact version."""

PATH, ADDRESS = "path", "address"
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")


def accept(text: str, *, secret: bool) -> str | None:
    """Refuse no address."""
    del text, secret
    return None


def without_secret(address: str, secret: str) -> str:
    """Return an address of an engine that takes no secret."""
    del secret
    return address


@dataclass(frozen=True, slots=True)
class AddressRule:
    """How an engine of one kind is addressed.

    Example:
        >>> AddressRule("toy", PATH).is_path
        True
    """

    kind: str
    field: str = ADDRESS
    """The name of the field: ``path`` of a file, or ``address`` of a server."""
    refuse: Callable[..., str | None] = accept
    """Why an address is refused, given its text and whether a ``secret`` is named beside it.

    The message never repeats the address, which may hold a password.
    """
    with_secret: Callable[[str, str], str] = without_secret
    """The address with its secret, for the driver and nobody else."""
    in_place: bool = False
    """Whether an owner may say that its tables are served in place."""
    plugin: str | None = None
    """The plug-in with its version that brought this kind; None for Tacit's own."""

    @property
    def is_path(self) -> bool:
        """Whether it is the path of a file, which begins at the project file."""
        return self.field == PATH


RuleOf = Callable[[str, Plugins], AddressRule]
"""The rule for a kind, which a plug-in that the file names may have brought; else a refusal."""


def plugins_of(entry: TomlEntry) -> Plugins:
    """The section ``[plugins]``: each distribution with the one version that may be loaded."""
    found: dict[str, str] = {}
    for name, part in entry.parts():
        if not NAME.fullmatch(name):
            raise part.fault("A plug-in is named by its distribution, such as tacit-toy.")
        if not VERSION.fullmatch(part.text()):
            raise part.fault('A plug-in has one exact version, such as "1.0"; no range.')
        found[name] = part.text()
    return found


# ------------------------------------------------------------------ secret
# Where a secret is kept: the project file names it, and never holds it.

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


def secret_place(entry: TomlEntry) -> SecretPlace:
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


# ------------------------------------------------------------------ engines
# Engines of the project file: where tables live, without a secret.

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
    entry: TomlEntry, rule_of: RuleOf, plugins: Plugins
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


def store_of(entry: TomlEntry) -> EngineAddress:
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


# ------------------------------------------------------------------ draft
# A project file for tables that were found: what is not known yet is left out, and refused.

Found = tuple[tuple[str, ...], tuple[Column, ...]]
"""A table's name, part by part, and its columns."""


def draft(
    engine: EngineAddress,
    rule: AddressRule,
    population: str,
    owner: str,
    found: Iterable[Found],
) -> str:
    """The text of a project file over the tables of one engine.

    Names and types are all that was read. Whose rows they are, bounds and keys are for the
    owner to say: until then the file is refused, at the line that lacks them.
    """
    lines = [
        "# What is protected, and what may be asked. All that stands here is public.",
        "# Nothing holds until an owner has recorded it: tacit apply",
        "",
        f"[engines.{_key(engine.name)}]",
        f"kind = {_text(engine.kind)}",
        f"{rule.field} = {_text(engine.address)}",
    ]
    if engine.password is not None:
        lines.append(f"password = {_text(str(engine.password))}")
    lines += [
        "",
        f"[populations.{_key(population)}]",
        'unit = "person"  # whom a row is about: all their rows are protected together',
        f"owners = [{_text(owner)}]",
        f"# budget: tacit budget {population} --epsilon 3 --delta 1e-6",
    ]
    for table, columns in found:
        lines += ["", *_dataset(engine.name, population, table, columns)]
    return "\n".join(lines) + "\n"


def _dataset(
    engine: str, population: str, table: tuple[str, ...], columns: tuple[Column, ...]
) -> list[str]:
    name = table[-1]
    return [
        f"[datasets.{_key(name)}]",
        f"population = {_text(population)}",
        f"engine = {_text(engine)}",
        *([f"table = {_text('.'.join(table))}"] if len(table) > 1 else []),
        'epoch = "1"  # say another when the data has changed',
        f"# whose a row is: tacit protect {name} --unit COLUMN, or --link COLUMN=TABLE.COLUMN",
        "",
        f"[datasets.{_key(name)}.columns]",
        f"# what is known of values: tacit domain {name}.COLUMN 0..100 --source public",
        *(_column(column) for column in columns),
    ]


def _column(column: Column) -> str:
    if column.step is None:
        return f"{_key(column.name)} = {_text(column.kind.value)}"
    step = f"step = {_text(plain(column.step))}"
    return f"{_key(column.name)} = {{ kind = {_text(column.kind.value)}, {step} }}"


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _text(name)


def _text(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for a character that JSON lets stand."""
    return json.dumps(text).replace("\x7f", "\\u007f")

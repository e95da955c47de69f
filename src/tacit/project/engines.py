"""Engines, plug-ins and secrets of the project file, and the draft of a new project file.

This package does not know the engines. `tacit.engines.registry` has an `AddressRule` for each
kind of engine, and a session passes the rules when it reads a file.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from tacit.core import Column, StoredAs
from tacit.errors import TacitError
from tacit.extras import normalised_name
from tacit.numeric import plain
from tacit.project.anchors import DRAFT
from tacit.project.document import TomlEntry

Plugins = Mapping[str, str]
"""The plug-ins of the project file: the name of each distribution and its exact version."""

PATH, ADDRESS, UNKNOWN = "path", "address", "unknown"
"""The fields that address an engine; unknown for a plug-in that is not loaded."""

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")


def accept(text: str, *, secret: bool) -> str | None:
    """Accept every address: return None, no reason to refuse it."""
    del text, secret
    return None


def without_secret(address: str, secret: str) -> str:
    """Return the address unchanged, for an engine that takes no secret."""
    del secret
    return address


@dataclass(frozen=True, slots=True)
class AddressRule:
    """The rule by which the project file addresses engines of one kind.

    Example:
        >>> AddressRule("toy", PATH).is_path
        True
    """

    kind: str
    field: str = ADDRESS
    """The name of the field: ``path`` of a file, or ``address`` of a server."""
    refuse: Callable[..., str | None] = accept
    """A function that returns the reason to refuse an address, or None.

    It is given the address and whether the file also names a ``secret``. The reason never
    repeats the address, which may contain a password.
    """
    with_secret: Callable[[str, str], str] = without_secret
    """A function that adds the secret to the address, which only the driver may see."""
    in_place: bool = False
    """Whether an owner may declare that its tables are served in place."""
    plugin: str | None = None
    """The plug-in and its version that provides this kind; None for kinds of Tacit."""
    fixed_plans: bool = False
    """Whether the engine's plans depend on statements alone, and not on the data."""

    @property
    def is_path(self) -> bool:
        """Whether the address is a path, which is relative to the project file."""
        return self.field == PATH


RuleOf = Callable[[str, Plugins], AddressRule]
"""A function that returns the rule for a kind, of Tacit or of a named plug-in, or refuses."""


def plugins_of(entry: TomlEntry) -> Plugins:
    """Read the section ``[plugins]``: each distribution and the version that may be loaded."""
    found: dict[str, str] = {}
    for name, part in entry.parts():
        if not NAME.fullmatch(name):
            raise part.project_error("Name a plug-in by its distribution, such as tacit-toy.")
        if not VERSION.fullmatch(part.text()):
            raise part.project_error(
                'A plug-in must have one exact version, such as "1.0", and not a range.'
            )
        if normalised_name(name) in map(normalised_name, found):
            raise part.project_error("This plug-in is named twice. Keep one of the lines.")
        found[name] = part.text()
    return found


# ------------------------------------------------------------------ secret
# The place of a secret. The project file names the place, and never contains the secret.

ENVIRONMENT, KEYRING, SECRET_FILE = "env", "keyring", "file"
SECRETS = ".tacit/secrets"
"""The folder of secrets in files, next to the project file."""


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """A variable of the environment, a name in the system's keyring, or a file in `SECRETS`.

    Example:
        >>> print(SecretPlace("keyring", ("clinic", "tacit")))
        keyring:clinic/tacit
    """

    keeper: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.keeper}:{'/'.join(self.path)}"


def secret_place(entry: TomlEntry) -> SecretPlace:
    """Read the place of a secret, such as ``"env:PGPASSWORD"`` or ``"file:name"``."""
    keeper, _, rest = entry.text().partition(":")
    service, _, name = rest.partition("/")
    if keeper == ENVIRONMENT and rest.isidentifier():
        return SecretPlace(keeper, (rest,))
    if keeper == KEYRING and service.strip() and name.strip():
        return SecretPlace(keeper, (service, name))
    if keeper == SECRET_FILE and NAME.fullmatch(rest):
        return SecretPlace(keeper, (rest,))
    raise entry.project_error(
        'Name the place of the secret, not the secret itself: password = "env:PGPASSWORD" '
        'for a variable, "keyring:service/name" for the system\'s keyring, or "file:name" '
        f"for a file in {SECRETS}."
    )


# ------------------------------------------------------------------ engines
# Engines of the project file: the addresses of tables, without secrets.

SCHEMES = ("postgresql", "postgres")
"""The URL schemes for the PostgreSQL of the ledger."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """The kind and the address of an engine, and the place of its ``password``, if any."""

    name: str
    kind: str
    address: str
    password: SecretPlace | None = None


def engine_of(
    entry: TomlEntry, rule_of: RuleOf, plugins: Plugins
) -> tuple[EngineAddress, AddressRule]:
    """Read one engine: its ``kind``, and a ``path`` or the ``address`` of a server."""
    kind = entry.part("kind")
    try:
        rule = rule_of(kind.text(), plugins)
    except TacitError as error:
        raise kind.project_error(str(error)) from error
    if rule.is_path:
        entry.fields("kind", PATH)
        return EngineAddress(entry.name, kind.text(), entry.part(PATH).text()), rule
    unknown = (PATH,) if rule.field == UNKNOWN else ()
    parts = entry.fields("kind", "address", "password", *unknown)
    password = secret_place(parts["password"]) if "password" in parts else None
    address = entry.part(PATH if PATH in parts else "address")
    refused = rule.refuse(address.text(), secret=password is not None)
    if refused is not None:
        raise address.project_error(refused)
    return EngineAddress(entry.name, kind.text(), address.text(), password), rule


def store_of(entry: TomlEntry) -> EngineAddress:
    """Read the section ``[store]``: the PostgreSQL with the ledger, for several servers."""
    parts = entry.fields("address", "password")
    password = secret_place(parts["password"]) if "password" in parts else None
    refused = refuse_password(entry.part("address").text(), secret=password is not None)
    if refused is not None:
        raise entry.part("address").project_error(refused)
    address = parts["address"].text().replace("postgres://", "postgresql://", 1)
    return EngineAddress(entry.name, "store", address, password)


def refuse_password(text: str, *, secret: bool) -> str | None:
    """Return why a PostgreSQL address is refused: another scheme, or a password in it."""
    del secret
    split = urlsplit(text)
    if split.scheme not in SCHEMES:
        return "The address must have the form postgresql://role@host/database."
    if split.password is not None or "password" in dict(parse_qsl(split.query)):
        return (
            "This file must not contain a password. Remove it from the address, and name a "
            'variable that has it: password = "env:PGPASSWORD".'
        )
    return None


def with_password(address: str, secret: str) -> str:
    """Return an address with its password, which only the driver may see."""
    split = urlsplit(address)
    user, _, host = split.netloc.rpartition("@")
    return urlunsplit(split._replace(netloc=f"{user}:{quote(secret, safe='')}@{host}"))


STORE = AddressRule("store", refuse=refuse_password, with_secret=with_password)
"""The address rule for the PostgreSQL of the ledger."""


# ------------------------------------------------------------------ draft
# The draft of a project file for existing tables. Facts that only an owner knows are left out,
# and the file is refused until the owner has added them.

Unused = tuple[tuple[str, str], ...]
"""The names and types of columns that no question can use."""

Found = tuple[tuple[str, ...], tuple[Column, ...], Unused]
"""The parts of a table's name, its columns, and the columns that are left out."""

INSTEAD = (
    (("json", "variant"), "extract a text or a number"),
    (("[]", "array", "list"), "extract an element, or count the elements"),
    (("struct", "map", "row", "record", "union", "composite"), "extract a field"),
    (("bytea", "blob", "binary", "bit"), "compute a number or a text from it"),
    (("timestamp",), "cast it to a timestamp of microseconds"),
    (("interval", "time"), "extract a number, such as the seconds"),
    (("geometry", "geography", "point", "polygon"), "extract a region or a number"),
    (("uhugeint", "bignum", "decimal", "numeric"), "cast it to a decimal of 38 digits"),
)
"""How a view can make a supported column, by words in the name of the stored type."""


DELAYED = (
    "[server.time]  # how `tacit serve` protects the time at which an answer leaves",
    'kind = "delay"  # a random delay, which is charged as a part of the loss',
    "person_ms = 1  # assumed: how far one person moves a question's time; tacit calibrate",
)
AT_A_DEADLINE = (
    "[server.time]  # how `tacit serve` protects the time at which an answer leaves",
    'kind = "deadline"  # the plans of this engine depend on the data: no delay is possible',
    "deadline = 5  # seconds after its start at which every answer leaves",
)
"""The rule for the time of answers in a new project file."""


def draft(
    engine: EngineAddress,
    rule: AddressRule,
    population: str,
    owner: str,
    found: Iterable[Found],
) -> str:
    """Return the text of a new project file for the tables of one engine.

    It contains only names and types. The owner must declare units, bounds and keys; until then
    the file is refused, at the line where they are missing.
    """
    lines = [
        "# This file declares who is protected and what may be asked. All of it is public.",
        "# It has no effect until an owner has recorded it: tacit apply",
        "",
        *engine_lines(engine, rule),
        "",
        *population_lines(population, owner),
        "",
        *DRAFT,
        "",
        *(DELAYED if rule.fixed_plans else AT_A_DEADLINE),
    ]
    for table, columns, unused in found:
        lines += ["", *dataset_lines(engine.name, population, (table, columns, unused))]
    return "\n".join(lines) + "\n"


def engine_lines(engine: EngineAddress, rule: AddressRule) -> list[str]:
    """Return the section of an engine, without its secret."""
    lines = [
        f"[engines.{_key(engine.name)}]",
        f"kind = {_text(engine.kind)}",
        f"{rule.field} = {_text(engine.address)}",
    ]
    if engine.password is not None:
        lines.append(f"password = {_text(str(engine.password))}")
    return lines


def population_lines(population: str, owner: str) -> list[str]:
    """Return the section of a population, whose budget its owner must still set."""
    return [
        f"[populations.{_key(population)}]",
        'unit = "person"  # the privacy unit: all rows of one person are protected together',
        f"owners = [{_text(owner)}]",
        f"# budget: tacit budget {_key(population)} --epsilon 3 --delta 1e-6",
    ]


def dataset_lines(
    engine: str, population: str, found: Found, name: str | None = None
) -> list[str]:
    """Return the sections of a table, whose unit its owner must still declare.

    Guarantee: whatever its names contain, they are values of this table, and no other section.
    """
    table, columns, unused = found
    name = table[-1] if name is None else name
    shown = _key(name)  # a name may contain line breaks
    return [
        f"[datasets.{shown}]",
        f"population = {_text(population)}",
        f"engine = {_text(engine)}",
        *([f"table = {_text('.'.join(table))}"] if table != (name,) else []),
        'epoch = "1"  # change it when the data has changed',
        f"# the unit: tacit protect {shown} --unit COLUMN, or --link COLUMN=TABLE.COLUMN",
        "",
        f"[datasets.{shown}.columns]",
        f"# public bounds or keys: tacit domain {shown}.COLUMN 0..100 --source public",
        *(_column(column) for column in columns),
        *(_left_out(name, stored) for name, stored in unused),
    ]


def _column(column: Column) -> str:
    facts = {
        "step": None if column.step is None else plain(column.step),
        "stored": None if column.stored is None else column.stored.value,
        "zone": column.zone,
    }
    said = [f"{name} = {_text(fact)}" for name, fact in facts.items() if fact is not None]
    if not said:
        return f"{_key(column.name)} = {_text(column.kind.value)}"
    note = ""
    if column.zone is not None:
        note = "  # the zone in whose local time questions read it"
    elif column.stored in {StoredAs.MONEY, StoredAs.NUMERIC}:
        note = "  # numbers are rounded to the step"
    whole = ", ".join((f"kind = {_text(column.kind.value)}", *said))
    return f"{_key(column.name)} = {{ {whole} }}{note}"


def _left_out(name: str, stored: str) -> str:
    """Return a comment about a column that no question can use; names are escaped."""
    words = stored.lower()
    instead = next(
        (todo for known, todo in INSTEAD if any(word in words for word in known)),
        "cast it to a supported type",
    )
    what = f"{_text(name)}, of the type {_text(stored)}"
    return f"# left out: {what}; in a view or a copy, {instead}"


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _text(name)


def _text(text: str) -> str:
    """Return a basic string of TOML: a string of JSON, in which DEL must be escaped too."""
    return json.dumps(text).replace("\x7f", "\\u007f")

"""The tables and columns of a database that an owner connects, read without any row.

Guarantee: only an address that the operator allows is connected to, and errors of drivers are
replaced by words of ours, because they may contain the password.
"""

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from urllib.parse import quote

from tacit import core
from tacit.engines import CheckedEngine, unused_columns
from tacit.errors import InvalidValue, NotPermitted, TacitError
from tacit.project import (
    ENVIRONMENT,
    EngineAddress,
    Found,
    ProjectText,
    SecretPlace,
    SetupSettings,
)
from tacit.session.engines import open_engine

PROBE_SECONDS = 2.0
"""Seconds in which a database must say that it is a PostgreSQL."""

SSL_REQUEST, SSL_ANSWERS = bytes.fromhex("0000000804d2162f"), (b"S", b"N")
"""The first message of PostgreSQL's protocol, which needs no sign-in, and its answers."""

MOST_TABLES, MOST_COLUMNS = 200, 1000
LONGEST_PART, LONGEST_PASSWORD = 63, 1000
VARIABLE = "TACIT_SETUP_SECRET"
"""The variable in which a draft's secret is given to the engine, inside this process only."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table of the database: its columns, those that are left out, and why it is, if so."""

    name: str
    table: tuple[str, ...]
    columns: tuple[core.Column, ...]
    unused: tuple[tuple[str, str], ...] = ()
    why: str | None = None
    """Why the table cannot be protected here; None if it can."""

    @property
    def found(self) -> Found:
        """The table in the form in which a project file is written."""
        return self.table, self.columns, self.unused


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """The address of a PostgreSQL database in parts, and how to sign in there."""

    host: str
    port: int
    name: str
    role: str
    password: str = field(repr=False)

    def check(self, settings: SetupSettings) -> None:
        """Refuse an address that the operator does not allow, and parts that cannot be names.

        Guarantee: this connects to nothing, and it compares texts, not what they resolve to.
        """
        if (self.host, self.port) not in settings.allow:
            allowed = ", ".join(f"{host}:{port}" for host, port in settings.allow) or "none"
            raise NotPermitted(
                "This server does not connect to that host and port. Its operator allows: "
                f"{allowed}. Choose one of them, or ask the operator to allow yours."
            )
        for what, part in (("database", self.name), ("role", self.role)):
            if not 0 < len(part.encode()) <= LONGEST_PART or not part.isprintable():
                raise InvalidValue(
                    f"The name of the {what} must have 1 to {LONGEST_PART} printable bytes."
                )
        if not 0 < len(self.password) <= LONGEST_PASSWORD or not self.password.isprintable():
            raise InvalidValue(
                "The role needs a password, of at most 1000 printable characters. Without one, "
                "the server's own credentials might be used."
            )

    @property
    def address(self) -> str:
        """The address without the password; parts are escaped, so that none adds options."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        name, role = (quote(part, safe="") for part in (self.name, self.role))
        return f"postgresql://{role}@{host}:{self.port}/{name}"


def probe(host: str, port: int) -> None:
    """Refuse an address at which no PostgreSQL answers within two seconds; nobody signs in."""
    last = monotonic() + PROBE_SECONDS
    try:
        with socket.create_connection((host, port), PROBE_SECONDS) as line:
            line.settimeout(max(0.01, last - monotonic()))
            line.sendall(SSL_REQUEST)
            answer = line.recv(1)
    except (OSError, UnicodeError):
        answer = None
    if answer is None:
        raise InvalidValue(
            f"No database answers at {host}, port {port}. Check that it runs, and that this "
            "server may reach it."
        )
    if answer not in SSL_ANSWERS:
        raise InvalidValue(f"Something else than a PostgreSQL answers at {host}, port {port}.")


def find_tables(
    engine: EngineAddress,
    database: DatabasePlace,
    base: ProjectText,
    folder: Path,
    environment: Mapping[str, str],
) -> tuple[FoundTable, ...]:
    """Return the tables that the role may read; their names differ from those of ``base``."""
    given = {**environment, VARIABLE: database.password}
    with ExitStack() as closing:
        opened, names = _sign_in(engine, database, folder, given, closing)
        if len(names) > MOST_TABLES:
            raise InvalidValue(
                f"The role may read {len(names)} tables, and at most {MOST_TABLES} are listed. "
                "Use a role that may read fewer."
            )
        opened.check(core.Catalog((), ()))
        taken = {*base.root().value.get("datasets", {}), *base.root().value.get("public", {})}
        found = []
        for table in names:
            name = f"{engine.name}_{table[-1]}" if table[-1] in taken else table[-1]
            taken.add(name)
            found.append(_look_at(opened, name, table))
    return tuple(found)


def _sign_in(
    engine: EngineAddress,
    database: DatabasePlace,
    folder: Path,
    environment: Mapping[str, str],
    closing: ExitStack,
) -> tuple[CheckedEngine, tuple[tuple[str, ...], ...]]:
    """Return the engine, and the names of the tables that its role may read."""
    try:
        opened = open_engine(from_variable(engine), (), folder, environment, columns=())
        closing.callback(opened.close)
        return opened, opened.tables()
    except Exception:  # noqa: BLE001 - a driver may raise any, with the password in its text
        refused = InvalidValue(
            f"PostgreSQL at {database.host}, port {database.port} did not let this role in. "
            "Check the name of the database, the role and its password."
        )
    raise refused


def _look_at(engine: CheckedEngine, name: str, table: tuple[str, ...]) -> FoundTable:
    """Return a table with its columns, or with why it cannot be protected here."""
    try:
        columns, unused = engine.columns(table), unused_columns(engine, table)
        every = (*table, *(each.name for each in columns))
        if not all(part.isprintable() for part in every):
            raise InvalidValue(
                "The name of this table, or of one of its columns, cannot be printed. Make a "
                "view with other names, and prepare a copy of it."
            )
        if any("." in part for part in table):
            raise InvalidValue(
                f"The name {'.'.join(table)!r} has a dot inside a part, and a project file "
                "cannot name it. Make a view with another name, and prepare a copy of it."
            )
        if not columns or len(columns) > MOST_COLUMNS:
            raise InvalidValue(f"{name!r} has no column that questions can use, or too many.")
        people = core.Population("people", core.PrivacyUnit("person"))
        dataset = core.Dataset(
            name,
            people.name,
            core.Schema(columns),
            core.UnitColumn(columns[0].name),
            core.Limits(1, 1),
            core.Location("here", table),
            core.Epoch("1"),
            in_place=True,
        )
        reasons = engine.plain(core.Catalog((people,), (dataset,)))
    except TacitError as error:
        return FoundTable(name, table, (), (), str(error))
    return FoundTable(name, table, columns, unused, " ".join(reasons) or None)


def from_variable(engine: EngineAddress) -> EngineAddress:
    """Return the address whose password is in `VARIABLE`."""
    return replace(engine, password=SecretPlace(ENVIRONMENT, (VARIABLE,)))

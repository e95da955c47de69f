"""A clinic in PostgreSQL that nobody has declared yet, and a server that may connect it."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from postgres_cluster import PostgresCluster
from serving import NOTHING, ROWS, Server, make_project, serving

from tacit.engines.postgres_role import reader_of
from tacit.ledger.ledger import wall_clock
from tacit.project.project import Serving, SetupSettings
from tacit.server.setup_drafts import SetupDrafts
from tacit.server.token_policy import Role, TokenScope
from tacit.session.project import Reloader
from tacit.store.tokens import AccessToken, Tokens

SECRET = "hunter2/@: ü%41"  # noqa: S105 - nobody has it
ROLE = "tacit_setup"
HOSTILE = 'x"]\n[server.setup]\nallow = ["evil:1"]\n# <script>alert(1)</script>'
"""The name of a table and of a column that would be a section of the project file."""

TABLES = (
    "CREATE TABLE patients (id bigint PRIMARY KEY, name text, born int, city text)",
    """INSERT INTO patients SELECT i, 'p' || i, 1930 + i % 80,
     CASE i % 2 WHEN 0 THEN 'Bern' ELSE 'Ulm' END FROM generate_series(1, 400) i""",
    "CREATE TABLE stays (id bigint PRIMARY KEY, patient bigint, ward text, cost int)",
    "INSERT INTO stays SELECT i, 1 + i % 400, 'A', i % 90 FROM generate_series(1, 1200) i",
    "CREATE TABLE labs (visit bigint, value double precision, raw json)",
    "INSERT INTO labs SELECT 1 + i % 1200, i % 200, NULL FROM generate_series(1, 2000) i",
    "CREATE VIEW seen AS SELECT * FROM stays",
)
WITH_HOSTILE = (
    'CREATE TABLE "{0}" (person text, "{0}" text)'.format(HOSTILE.replace('"', '""')),
)


def new_clinic(cluster: PostgresCluster, name: str, tables: tuple[str, ...] = TABLES) -> None:
    """Make a database with the tables of a clinic, and the role that may read them.

    The role signs in with its password, although the cluster trusts everybody else.
    """
    address = cluster.database(name)
    with psycopg.connect(address, autocommit=True) as owner:
        for statement in tables:
            owner.execute(statement.encode())
        known = owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone()
        if known is None:
            for statement in reader_of(ROLE, []):
                owner.execute(statement.encode())
        owner.execute(f"ALTER ROLE {ROLE} PASSWORD '{SECRET}'".encode())
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE}".encode())
        rules = Path(owner.execute("SHOW hba_file").fetchone()[0])  # type: ignore[index]
        own = f"host all {ROLE} 127.0.0.1/32 scram-sha-256\n"
        if own not in rules.read_text():
            rules.write_text(own + rules.read_text())
        owner.execute("SELECT pg_reload_conf()")


def body(cluster: PostgresCluster, name: str, **more: Any) -> dict[str, Any]:
    """What an owner sends to connect the clinic."""
    return {
        "host": "127.0.0.1",
        "port": cluster.port,
        "database": name,
        "role": ROLE,
        "password": SECRET,
        "population": "sick",
    } | more


@contextmanager
def setting_up(
    folder: Path, cluster: PostgresCluster, allow: tuple[tuple[str, int], ...] = ()
) -> Iterator[tuple[Server, Path]]:
    """A server over a project of other owners, on which the clinic may be connected."""
    file = make_project(folder)
    settings = SetupSettings((("127.0.0.1", cluster.port), *allow), ("paul",))
    limits = replace(Serving(requests_per_minute=10**6), setup=settings)
    with serving(file, serving=limits, reload=Reloader(file, NOTHING)) as server:
        server.app.state.setup = SetupDrafts(file, settings, NOTHING)
        yield server, file


@contextmanager
def measuring(folder: Path, rows: str = ROWS) -> Iterator[tuple[Server, Path]]:
    """A server over a project whose owners may measure limits, and no database connected."""
    file = make_project(folder, rows)
    settings = SetupSettings((), ())
    limits = replace(Serving(requests_per_minute=10**6), setup=settings)
    with serving(file, serving=limits, reload=Reloader(file, NOTHING)) as server:
        server.app.state.setup = SetupDrafts(file, settings, NOTHING)
        yield server, file


def setup_token(server: Server, who: str = "petra") -> str:
    """A token with the right to set up, as `tacit token issue --setup` makes it."""
    scope = TokenScope(setup=True).fix(server.curator.catalog)
    until = wall_clock() + 3_600_000
    allowed = AccessToken(who, Role.OWNER.value, scope.text, until)
    return Tokens(server.curator.home.store).issue(allowed)


DECLARED: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("tables", {"name": "patients", "unit": "id", "max_groups": 1, "max_rows": 1}),
    (
        "tables",
        {
            "name": "stays",
            "link": {"column": "patient", "parent": "patients", "parent_column": "id"},
            "max_groups": 2,
            "max_rows": 5,
            "most_rows": 30,
            "most_rows_source": "a visit a day",
        },
    ),
    (
        "tables",
        {
            "name": "labs",
            "link": {"column": "visit", "parent": "stays", "parent_column": "id"},
            "max_groups": 1,
            "max_rows": 9,
        },
    ),
    (
        "columns",
        {
            "table": "patients",
            "column": "born",
            "bounds": ["1900", "2026"],
            "provenance": "public",
        },
    ),
    (
        "columns",
        {
            "table": "patients",
            "column": "city",
            "keys": ["Bern", "Ulm"],
            "provenance": "policy",
        },
    ),
    ("budget", {"epsilon": "3"}),
)
"""The clinic's declarations, in the order of the pages."""


def declare(server: Server, token: str) -> None:
    """Send all declarations of the clinic."""
    for route, sent in DECLARED:
        answer = server.call("POST", f"/v1/setup/{route}", token, json=sent)
        assert answer.status_code == 200, answer.text


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        yield line.getsockname()[1]


def port_of(server: Server) -> int:
    """The server's own port."""
    return urlsplit(server.address).port or 0

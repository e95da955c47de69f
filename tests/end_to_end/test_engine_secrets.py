"""Passwords of engines: kept in a variable or in the keyring, and asked for by the server."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import keyring
import psycopg
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from postgres_cluster import PostgresCluster
from psycopg import sql

import tacit.extras
from tacit.engines.postgres_role import reader
from tacit.errors import InvalidValue, MissingExtra
from tacit.project.document import ProjectText
from tacit.project.engines import SecretPlace
from tacit.session.engines import project_of, secret_of
from tacit.session.project import apply_project, open_for_serving, open_project
from tacit.session.session import Session

SECRET = "hunter2/@: ü"  # noqa: S105 - nobody has it
KEPT = SecretPlace("keyring", ("clinic", "tacit"))
TEXT = """\
[engines.live]
kind = "postgres"
address = "ADDRESS"
password = "PLACE"

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }

[datasets.visits]
population = "patients"
engine = "live"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
in_place = true
columns = { person = "text" }
"""


def said(address: str, place: str) -> str:
    return TEXT.replace("ADDRESS", address).replace("PLACE", place)


class Memory(KeyringBackend):
    """A keyring in memory, or a locked one."""

    priority = 1

    def __init__(self, locked: bool = False) -> None:  # noqa: FBT001, FBT002
        self.held: dict[tuple[str, str], str] = {}
        self.locked = locked

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked(f"{SECRET} is in here")
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password


@pytest.fixture
def memory() -> Iterator[Memory]:
    before, made = keyring.get_keyring(), Memory()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.fixture(scope="module")
def address(cluster: PostgresCluster) -> str:
    """A database whose server asks one role for its password, and that role."""
    owner_address = cluster.database(f"tacit_{uuid4().hex}")
    role = f"tacit_{uuid4().hex}"
    where = owner_address.replace("postgres@", f"{role}@")
    with psycopg.connect(owner_address, autocommit=True) as owner:
        owner.execute("CREATE TABLE visits (person text)")
        found = owner.execute("SHOW hba_file").fetchone()
        assert found is not None
        rules = Path(found[0])
        text = rules.read_text()
        rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{text}")
        catalog = project_of(ProjectText("tacit.toml", said(where, "env:CLINIC"))).catalog
        for statement in reader(role, catalog):
            owner.execute(statement.encode())
        named = sql.Identifier(role), sql.Literal(SECRET)
        owner.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(*named))
        owner.execute("SELECT pg_reload_conf()")
    return where


@pytest.mark.parametrize("place", ["env:CLINIC", "keyring:clinic/tacit"])
def test_the_right_password_opens_the_engine_and_a_wrong_one_is_not_told(
    tmp_path: Path, address: str, memory: Memory, place: str
) -> None:
    file = tmp_path / "tacit.toml"
    file.write_text(said(address, place))
    memory.set_password("clinic", "tacit", SECRET)
    apply_project(file, by="olga", environment={"CLINIC": SECRET})
    with open_project(file, environment={"CLINIC": SECRET}) as session:
        session.sql("SELECT COUNT(*) AS n FROM visits").ask(epsilon=1)
    memory.set_password("clinic", "tacit", "hunter3")
    with pytest.raises(InvalidValue) as told:
        open_project(file, environment={"CLINIC": "hunter3"})
    assert "hunter" not in str(told.value)


@pytest.mark.parametrize("place", ["env:CLINIC", "keyring:clinic/tacit"])
def test_a_worker_is_given_the_password_by_the_server_that_looks_it_up(
    tmp_path: Path, address: str, memory: Memory, place: str
) -> None:
    """Neither the variable nor the keyring is there in the worker."""
    file = tmp_path / "tacit.toml"
    file.write_text("[server]\nprocesses = 1\ntime.kind = 'open'\n" + said(address, place))
    memory.set_password("clinic", "tacit", SECRET)
    apply_project(file, by="olga", environment={"CLINIC": SECRET})
    curator, _ = open_for_serving(file, {"CLINIC": SECRET, "TACIT_UNUSED": "x"})
    try:
        with Session(curator) as session:
            session.sql("SELECT COUNT(*) AS n FROM visits").ask(epsilon=1)
    finally:
        for pool in curator.pools.values():
            pool.close()


def test_what_the_keyring_does_not_hold_is_told_with_the_next_step(memory: Memory) -> None:
    with pytest.raises(InvalidValue, match="keyring set 'clinic' 'tacit'"):
        secret_of(KEPT, "live", {})
    memory.set_password("clinic", "another", SECRET)
    with pytest.raises(InvalidValue, match="keyring does not have it"):
        secret_of(KEPT, "live", {})
    memory.set_password("clinic", "tacit", SECRET)
    assert secret_of(KEPT, "live", {}) == SECRET


def test_a_locked_keyring_is_told_of_without_its_words(memory: Memory) -> None:
    memory.locked = True
    with pytest.raises(InvalidValue, match="Unlock it, or name a variable") as told:
        secret_of(KEPT, "live", {})
    assert told.value.__cause__ is None
    assert told.value.__context__ is None


def test_without_the_keyring_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(tacit.extras.EXTRAS, "keyring", "a_library_that_nobody_installs")
    with pytest.raises(MissingExtra, match=r'pip install "tacit\[keyring\]"'):
        secret_of(KEPT, "live", {})

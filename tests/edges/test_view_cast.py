"""A view whose cast fails for one person does not tell that they are there.

In version 0.1.0 a view was read as a table is. A cast in it failed for whoever's text is no
number, and so a paid question failed where this person was among the people, and was answered
where they were not. A view is now read through a validated copy alone, which its owner makes:
what fails then fails before the owner, and before anything is asked.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg
import pytest
from conftest import Bar
from postgres_cluster import PostgresCluster

import tacit
from tacit.engines.postgres_role import reader_of
from tacit.errors import InvalidValue, TacitError
from tacit.session.prepare import Owner
from tacit.session.project import apply_project, curator_of, open_for_serving, open_project

RAW = "CREATE TABLE raw AS SELECT n AS person, CAST(n % 50 AS VARCHAR(9)) AS txt FROM "
BAD = "INSERT INTO raw VALUES (5000, 'n/a')"
VIEW = "CREATE VIEW t AS SELECT CAST(person AS BIGINT) AS person, {cast} AS x FROM raw"
FAILING = "CAST(txt AS INTEGER)"
TOTAL = {"duckdb": "TRY_CAST(txt AS INTEGER)", "postgres": "CASE WHEN txt ~ '^[0-9]+$' THEN "
         "CAST(txt AS INTEGER) END"}  # fmt: skip
QUESTION = "SELECT SUM(x) AS v FROM t"
PROJECT = """\
[engines.warehouse]
ENGINE

[populations.people]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }

[datasets.t]
population = "people"
engine = "warehouse"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
[datasets.t.columns]
person = "integer"
x = { kind = "integer", bounds = [0, 50], provenance = "public" }

[server.time]
kind = "open"
"""
ANSWERED, REFUSED = "answered", "refused when opened"


@dataclass(frozen=True)
class Clinic:
    """A project over a view, with the address by which its owner makes copies."""

    kind: str
    file: Path
    source: str
    owner: str | None = None

    def prepared(self) -> None:
        for _ in Owner(self.file, self.owner, {}).prepare("t"):
            pass


def made(
    folder: Path, kind: str, cluster: PostgresCluster, *, extra: bool, cast: str = FAILING
) -> Clinic:
    """The project over the view, with the person for whom its cast fails or without them."""
    folder.mkdir()
    rows = "range(1000) AS s(n)" if kind == "duckdb" else "generate_series(0, 999) AS s(n)"
    texts = [RAW + rows, *([BAD] if extra else []), VIEW.format(cast=cast)]
    file = folder / "tacit.toml"
    if kind == "duckdb":
        source, owner = str(folder / "d.duckdb"), None
        with duckdb.connect(source) as link:
            for text in texts:
                link.execute(text)
        said = f'kind = "duckdb"\npath = "{source}"'
    else:
        owner, role = cluster.database(f"view_{uuid4().hex}"), f"tacit_{uuid4().hex}"
        with psycopg.connect(owner, autocommit=True) as link:
            for text in [*texts, *reader_of(role, [("public", "t")])]:
                link.execute(text.encode())
        source = owner.replace("postgres@", f"{role}@")
        said = f'kind = "postgres"\naddress = "{source}"'
    file.write_text(PROJECT.replace("ENGINE", said))
    apply_project(file, by="olga")
    return Clinic(kind, file, source, owner)


@contextmanager
def opened(clinic: Clinic, how: str) -> Iterator[tacit.Session]:
    """A session over the view: by its address, by its project, or as a server has it."""
    if how == "tacit.open":
        yield tacit.open(
            clinic.source,
            table="t",
            population="people",
            unit="person",
            max_groups=1,
            max_rows=1,
            bounds={"x": (0, 50)},
            budget=(1, "1e-6"),
            folder=clinic.file.parent / "ledger",
        )
    elif how == "project":
        with open_project(clinic.file, principal="olga") as session:
            yield session
    else:
        curator, _ = open_for_serving(clinic.file, {})
        try:
            yield tacit.Session(curator)
        finally:
            curator.close()


def outcome(clinic: Clinic, how: str) -> str:
    """What whoever asks sees of a session over the view."""
    try:
        context = opened(clinic, how)
        session = context.__enter__()
    except InvalidValue:
        return REFUSED
    try:
        session.sql(QUESTION).ask(epsilon="0.1")
    except TacitError as error:
        return type(error).__name__
    finally:
        with suppress(Exception):
            context.__exit__(None, None, None)
    return ANSWERED


@pytest.mark.parametrize("how", ["tacit.open", "project"])
@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_view_is_not_read_in_place(
    tmp_path: Path, cluster: PostgresCluster, kind: str, how: str, bar: Bar
) -> None:
    seen = [
        outcome(made(tmp_path / str(extra), kind, cluster, extra=extra), how)
        for extra in (False, True)
    ]
    told = f"{seen[0]} without the person, {seen[1]} with them"
    bar(f"edge view_cast, {kind}, {how}", told, "the same", seen == [REFUSED] * 2)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_whoever_reads_a_view_in_place_tells_who_is_there(
    tmp_path: Path, cluster: PostgresCluster, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: without the refusal the two outcomes differ."""
    monkeypatch.setattr("tacit.session.open.check_computed", lambda *_: None)
    seen = [
        outcome(made(tmp_path / str(extra), kind, cluster, extra=extra), "tacit.open")
        for extra in (False, True)
    ]
    assert seen[0] == ANSWERED
    assert seen[1] not in {ANSWERED, REFUSED}


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_served_view_answers_from_its_copy_and_fails_before_its_owner_alone(
    tmp_path: Path, cluster: PostgresCluster, kind: str, bar: Bar
) -> None:
    seen = []
    for extra in (False, True):
        mended = made(
            tmp_path / f"mended {extra}", kind, cluster, extra=extra, cast=TOTAL[kind]
        )
        if kind == "postgres":
            with pytest.raises(
                InvalidValue, match=r"'t' has no validated copy\. A server needs"
            ):
                open_for_serving(mended.file, {})
            mended.prepared()
        seen.append(outcome(mended, "served"))
    told = f"{seen[0]} without the person, {seen[1]} with them"
    bar(f"edge view_cast, {kind}, served", told, "the same", seen == [ANSWERED] * 2)
    failing = made(tmp_path / "failing", kind, cluster, extra=True)
    with pytest.raises(InvalidValue, match="failed"):
        failing.prepared()
    assert "copy =" not in failing.file.read_text()
    with pytest.raises(InvalidValue):
        open_for_serving(failing.file, {})


def test_a_view_that_is_declared_in_place_is_refused(
    tmp_path: Path, cluster: PostgresCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is asked of declarations alone, whatever other sessions refuse."""
    monkeypatch.setattr("tacit.session.project.check_computed", lambda *_: None)
    clinic = made(tmp_path / "clinic", "duckdb", cluster, extra=False)
    said = clinic.file.read_text()
    clinic.file.write_text(said.replace("max_rows = 1", "max_rows = 1\nin_place = true"))
    apply_project(clinic.file, by="olga")
    with pytest.raises(InvalidValue, match="not a base table"):
        open_for_serving(clinic.file, {})


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_view_is_not_served_in_place(
    tmp_path: Path, cluster: PostgresCluster, kind: str
) -> None:
    clinic = made(tmp_path / "clinic", kind, cluster, extra=False)
    said = clinic.file.read_text()
    clinic.file.write_text(said.replace("max_rows = 1", "max_rows = 1\nin_place = true"))
    apply_project(clinic.file, by="olga")
    with pytest.raises(InvalidValue, match=r"view.*, and is not served in place\. Make a copy"):
        open_for_serving(clinic.file, {})
    with pytest.raises(InvalidValue, match=r"view.*, and is not served in place\. Make a copy"):
        curator_of(clinic.file, "olga", {})


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_table_that_is_declared_in_place_is_served_and_every_guarantee_says_so(
    tmp_path: Path, cluster: PostgresCluster, kind: str
) -> None:
    clinic = made(tmp_path / "clinic", kind, cluster, extra=False)
    address = clinic.owner
    if address is None:
        with duckdb.connect(clinic.source) as link:
            link.execute("CREATE TABLE plain AS SELECT * FROM t")
    else:
        with psycopg.connect(address, autocommit=True) as link:
            link.execute("CREATE TABLE plain AS SELECT * FROM t")
            link.execute("GRANT SELECT ON plain TO PUBLIC")
    said = clinic.file.read_text()
    declared = 'max_rows = 1\ntable = "plain"\nin_place = true'
    clinic.file.write_text(said.replace("max_rows = 1", declared))
    apply_project(clinic.file, by="olga")
    with opened(clinic, "served") as session:
        answer = session.sql(QUESTION).ask(epsilon="0.1")
        assert session.catalog.dataset("t").copy is None
        facts = session.ledger.book("people").declared
    assert "no query on t, which is read in place, fails or takes longer because of one" in str(
        answer.guarantee
    )
    assert "t: served in place" in facts

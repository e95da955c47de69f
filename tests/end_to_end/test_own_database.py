"""An owner's own database, from its schema to a first answer, by the command line."""

from fractions import Fraction
from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg
import pytest
from click.testing import CliRunner, Result
from postgres_cluster import PostgresCluster

from tacit.cli.main import main
from tacit.core.catalog import Catalog
from tacit.engines.postgres_role import reader
from tacit.session.engines import read_project

FROM = " FROM generate_series(1, 1500) AS s(n)"
MADE = (
    "CREATE TABLE patients (id bigint, person text, city text)",
    "CREATE TABLE visits (id bigint, patient bigint, ward text, cost numeric(9, 2), day date)",
    "CREATE TABLE labs (visit bigint, value bigint)",
    "INSERT INTO patients SELECT n, 'canary' || n, 'Bern' FROM generate_series(1, 500) AS s(n)",
    "INSERT INTO visits SELECT n, n % 500 + 1, 'north', 40, '2026-01-01'" + FROM,
    "INSERT INTO labs SELECT n, 7 FROM generate_series(1, 1500) AS s(n)",
)
SAID = (
    "budget people --epsilon 3 --delta 1e-6 --quota ann=1",
    "protect patients --unit person --max-groups 1 --max-rows 1",
    "protect visits --link patient=patients.id --unique --max-groups 2 --max-rows 5",
    "protect labs --link visit=visits.id --max-groups 2 --max-rows 5",
    "domain visits.cost 0..1000 --source policy",
    "domain visits.day 2026-01-01..2026-12-31 --source public",
    "domain visits.ward north,south --source public",
    "domain labs.value 0..200 --source public",
)
JOINED = (
    "SELECT visits.ward, COUNT(*) AS n FROM visits JOIN patients "
    "ON visits.patient = patients.id GROUP BY visits.ward"
)


def tacit(file: Path, *words: object) -> Result:
    given = [*map(str, words), "--project", str(file)]
    return CliRunner().invoke(main, given, env={"TACIT_USER": "olga", "CLINIC": "hunter2"})


def comments(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if "#" in line]


def said(file: Path) -> None:
    for words in SAID:
        done = tacit(file, *words.split())
        assert done.exit_code == 0, done.output


def test_a_duckdb_database_from_its_schema_to_an_answer(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        for statement in MADE:
            owner.execute(statement)
    file = tmp_path / "tacit.toml"
    assert "with 3 tables. No row was read" in tacit(file, "init", "clinic.duckdb").output
    assert "already exists" in tacit(file, "init", "clinic.duckdb").output
    assert "canary" not in file.read_text()
    early = tacit(file, "apply", "--yes")
    assert "tacit.toml:8: 'budget' is missing in this part of the file" in early.output
    before = comments(file)
    said(file)
    assert comments(file) == before
    assert len(before) == 18
    assert tacit(file, "apply", "--yes").exit_code == 0
    answer = tacit(file, "ask", JOINED, "--epsilon", "1")
    assert "north" in answer.output
    labs = read_project(file).catalog.dataset("labs")
    assert labs.schema["value"].bounds is not None


def test_a_postgresql_database_is_read_by_its_schema(
    tmp_path: Path, cluster: PostgresCluster
) -> None:
    address = cluster.database(f"tacit_{uuid4().hex}")
    role = f"tacit_{uuid4().hex}"
    where = address.replace("postgres@", f"{role}@")
    file = tmp_path / "tacit.toml"
    with psycopg.connect(address, autocommit=True) as owner:
        for statement in MADE:
            owner.execute(statement.encode())
        owner.execute(f"CREATE ROLE {role} LOGIN".encode())
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}".encode())
        assert tacit(file, "init", where, "--password", "env:CLINIC").exit_code == 0
        said(file)
        catalog: Catalog = read_project(file).catalog
        for statement in reader(role, catalog)[1:]:
            owner.execute(statement.encode())
    assert "hunter2" not in file.read_text()
    assert tacit(file, "apply", "--yes").exit_code == 0
    answer = tacit(file, "ask", JOINED, "--epsilon", "1")
    assert "north" in answer.output
    over = tacit(file, "ask", JOINED, "--epsilon", "1.5", "--as", "ann")
    assert "The quota of ann" in over.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("init", "postgresql://a:hunter2@h/d"), "This file must not contain a password"),
        (
            ("init", "postgresql://a@h/d", "--password", "hunter2"),
            "Name the place of the secret",
        ),
        (("init", "none.duckdb"), "not a DuckDB database"),
        (("init", "none.parquet"), "not a Parquet file"),
    ],
)
def test_what_cannot_be_begun_is_told_and_nothing_is_written(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    file = tmp_path / "tacit.toml"
    refused = tacit(file, *words)
    assert refused.exit_code == 1
    assert told in refused.output
    assert "hunter2" not in refused.output
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("protect nobody --unit a --max-groups 1 --max-rows 1", "no 'nobody' in datasets"),
        ("protect visits --max-groups 1 --max-rows 1", "does not say yet which person"),
        ("protect visits --unit id --link patient=p.id", "by either --unit or --link"),
        ("protect visits --unit id --unique --max-rows 1", "Add --link too"),
        ("protect visits --unit id --max-rows 1", "'visits' has no max_groups yet"),
        ("protect visits --unit id --max-groups 1", "Add --max-rows, for example"),
        (
            "protect visits --unit person --max-groups 1 --max-rows 1",
            "has no column 'person', which --unit names; it has id, patient, ward",
        ),
        (
            "protect visits --link person=p.id --max-groups 1 --max-rows 1",
            "has no column 'person', which --link names",
        ),
        (
            "protect visits --unit id --row-key key --max-groups 1 --max-rows 1",
            "has no column 'key', which --row-key names",
        ),
        ("protect visits --link a --max-groups 1 --max-rows 1", "COLUMN=TABLE.COLUMN"),
        ("domain visits.wage 0..1 --source public", "'visits' has no column 'wage'"),
        ("budget staff --epsilon 1", "no 'staff' in populations"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, words: str, told: str) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(MADE[1])
    file = tmp_path / "tacit.toml"
    tacit(file, "init", "clinic.duckdb")
    before = file.read_text()
    refused = tacit(file, *words.split())
    assert refused.exit_code == 1
    assert told in refused.output
    assert file.read_text() == before


def test_what_the_file_declares_of_a_person_needs_not_be_said_again(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(MADE[0])
        owner.execute(MADE[1])
    file = tmp_path / "tacit.toml"
    tacit(file, "init", "clinic.duckdb")
    for words in (
        "budget people --epsilon 3 --delta 1e-6",
        "protect patients --unit person --max-groups 1 --max-rows 1",
        "protect visits --link patient=patients.id --max-groups 2 --max-rows 5",
        "protect visits --most-rows 30 --most-rows-source policy",
        "protect patients --row-key id --max-rows-in-all 5 --max-rows 4",
    ):
        done = tacit(file, *words.split())
        assert done.exit_code == 0, done.output
    catalog = read_project(file).catalog
    visits, patients = catalog.dataset("visits"), catalog.dataset("patients")
    assert (visits.limits.max_groups, visits.limits.max_rows) == (2, 5)
    assert visits.unit.column == "patient"
    assert visits.most_rows is not None
    assert (visits.most_rows.rows, patients.row_key) == (30, "id")
    assert (patients.limits.max_groups, patients.limits.max_rows) == (1, 4)


def test_names_that_toml_does_not_take_bare_come_back(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as owner:
        owner.execute("""CREATE TABLE "a ""b'é" ("per son" text, "x.y" bigint, "é" double)""")
    file = tmp_path / "tacit.toml"
    assert tacit(file, "init", "odd.duckdb").exit_code == 0
    name = "a \"b'é"
    assert tacit(file, "budget", "people", "--epsilon", "1").exit_code == 0
    done = tacit(file, "protect", name, "--unit", "per son", "--max-groups", 1, "--max-rows", 1)
    assert done.exit_code == 0, done.output
    found = read_project(file).catalog.dataset(name)
    assert found.schema.names == ("per son", "x.y", "é")


def test_a_new_budget_keeps_the_least_price_that_the_file_says(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as owner:
        owner.execute("CREATE TABLE visits (person text)")
    file = tmp_path / "tacit.toml"
    assert tacit(file, "init", "odd.duckdb").exit_code == 0
    limits = ("--max-groups", 1, "--max-rows", 1)
    assert tacit(file, "protect", "visits", "--unit", "person", *limits).exit_code == 0
    words = ("budget", "people", "--delta", "1e-6", "--epsilon")
    assert tacit(file, *words, 1).exit_code == 0
    assert read_project(file).people[0].budget.least is None
    said = file.read_text()
    file.write_text(said.replace('delta = "1e-6"', 'delta = "1e-6", least = "1e-4"'))
    assert file.read_text() != said
    assert tacit(file, *words, 2).exit_code == 0
    budget = read_project(file).people[0].budget
    assert (budget.epsilon, budget.least) == (2, Fraction("1e-4"))

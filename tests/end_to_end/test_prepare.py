"""An owner prepares a table: the copy is read in its place, and an old one is refused."""

from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg
import pytest
from click.testing import CliRunner, Result

from tacit.cli.main import main
from tacit.core.unseal import unseal
from tacit.engines.postgres_role import reader
from tacit.plan.bound import bound
from tacit.project.project import read_project
from tacit.session.curator import Curator
from tacit.session.project import open_project
from tacit.sql.parse import parse
from tacit.testing.postgres_cluster import PostgresCluster

TEXT = """\
[engines.warehouse]
ENGINE

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }

[datasets.visits]  # all of them
population = "patients"
engine = "warehouse"
epoch = "2026-W46"  # each week
unit = "person"
max_groups = 2
max_rows = 2
max_rows_in_all = 3
row_key = "id"  # of the hospital

[datasets.visits.columns]
id = "integer"
person = "text"
ward = { kind = "text", keys = ["north", "south"], provenance = "public" }
cost = { kind = "integer", bounds = [0, 100], provenance = "policy" }
"""
FILE = 'kind = "duckdb"\npath = "clinic.duckdb"'
ROWS = (
    "CREATE TABLE visits AS SELECT CAST(n AS BIGINT) AS id, 'p' || n % 300 AS person, "
    "CASE n % 7 % 2 WHEN 0 THEN 'north' ELSE 'south' END AS ward, "
    "CAST(n % 91 AS BIGINT) AS cost FROM generate_series(1, 3000) AS s(n)"
)
QUESTION = "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward"

LINK = 'link = { column = "person", parent = "people", parent_column = "id" }\n'
PEOPLE = """
[datasets.people]
population = "patients"
engine = "warehouse"
epoch = "1"
unit = "id"
max_groups = 1
max_rows = 1
columns = { id = "text" }
"""


def tacit(file: Path, *words: object, **environment: str) -> Result:
    given = [*map(str, words), "--project", str(file)]
    return CliRunner().invoke(main, given, env={"TACIT_USER": "olga", **environment})


def done(file: Path, *words: object, **environment: str) -> str:
    result = tacit(file, *words, **environment)
    assert result.exit_code == 0, result.output
    return result.output


def told(file: Path, *words: object, **environment: str) -> str:
    result = tacit(file, *words, **environment)
    assert result.exit_code == 1, result.output
    return result.output


def edit(file: Path, before: str, after: str) -> None:
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))


def integers(file: Path) -> list[list[int]]:
    """What a session of the project finds before noise."""
    with open_project(file) as session:
        curator: Curator = session._curator
        plan = bound(parse(QUESTION, curator.catalog), curator.catalog).plan
        found = curator.engine_of(("visits",)).run(
            plan, curator.catalog, curator.salt("patients")
        )
        return [list(map(int, unseal(tally))) for tally in found.tallies]


def emptied(file: Path) -> None:
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute("DELETE FROM visits")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A project over one table in a DuckDB file, which the ledger holds."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    place = tmp_path / "tacit.toml"
    place.write_text(TEXT.replace("ENGINE", FILE))
    done(place, "apply", "--yes")
    return place


@pytest.mark.parametrize("where", ["main", "copies", "the owner's.duckdb"])
def test_a_prepared_table_is_read_from_its_copy(file: Path, where: str) -> None:
    before, comments = integers(file), file.read_text().count("#")
    assert 700 < sum(before[0]) < 900  # 300 people, at most three rows of each
    assert "tacit prepare visits would make it a pass" in done(
        file, "ask", QUESTION, "--explain"
    )
    assert "2/2" in done(file, "prepare", "visits", "--where", where)
    assert (
        f'copy = {{where = "{where}", parts = 2, epoch = "2026-W46", order = '
        in file.read_text()
    )
    assert file.read_text().count("#") == comments
    shown = done(file, "ask", QUESTION, "--explain")
    assert shown == "Row by row from the ordered copy of epoch 2026-W46.\n"
    emptied(file)
    assert integers(file) == before
    assert "north" in done(file, "ask", QUESTION, "--rho", "0.01")
    assert "The copy is dropped" in done(file, "prepare", "visits", "--drop")
    assert "There is no copy" in done(file, "prepare", "visits", "--drop")
    assert integers(file) == [[0, 0]] * len(before)  # whoever read the table all along


def test_a_copy_by_another_salt_keeps_other_rows_and_is_refused(file: Path) -> None:
    before = integers(file)
    done(file, "prepare", "visits", "--where", "main")
    assert integers(file) == before
    (file.parent / ".tacit").rename(file.parent / "other")
    done(file, "apply", "--yes")
    refused = told(file, "ask", QUESTION, "--rho", "0.01")
    assert "made with another ledger, whose salt keeps other rows" in refused
    assert "tacit prepare visits" in refused
    done(file, "prepare", "visits")
    assert integers(file) != before  # what the copy of before would have given


def test_an_old_copy_is_refused_with_the_command_that_makes_it_anew(file: Path) -> None:
    done(file, "prepare", "visits", "--where", "main", "--parts", "3")
    edit(file, "2026-W46", "2026-W47")
    for words in (("ask", QUESTION, "--rho", "0.01"), ("apply", "--yes"), ("status",)):
        assert (
            "tacit.toml:19: The ordered copy of 'visits' is of epoch '2026-W46', and the "
            "dataset of '2026-W47'; make it anew: tacit prepare visits"
        ) in told(file, *words)
    assert "3/3" in done(file, "prepare", "visits")
    done(file, "apply", "--yes")
    emptied(file)
    assert sum(integers(file)[0]) > 700


def test_parts_and_places_of_before_are_not_left_behind(file: Path) -> None:
    done(file, "prepare", "visits", "--where", "main", "--parts", "4")
    done(file, "prepare", "visits", "--where", "copies.duckdb", "--parts", "1")
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        assert owner.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [
            ("visits",)
        ]


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE tacit_visits_1",
        "ALTER TABLE tacit_visits_1 ALTER cost TYPE DOUBLE",
        "ALTER TABLE tacit_visits_0 DROP tacit_place",
    ],
)
def test_a_copy_that_is_gone_is_told_of_before_a_question_is_paid_for(
    file: Path, harm: str
) -> None:
    done(file, "prepare", "visits", "--where", "main")
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute(harm)
    refused = told(file, "ask", QUESTION, "--rho", "0.01")
    assert "The ordered copy of 'visits' is not here" in refused
    assert "tacit prepare visits" in refused
    assert "ρ = 0 of" in done(file, "status")
    done(file, "prepare", "visits")
    done(file, "ask", QUESTION, "--rho", "0.01")


@pytest.mark.parametrize(
    ("before", "after", "lacking"),
    [
        ('row_key = "id"  # of the hospital\n', "", "--row-key COLUMN;"),
        ("max_rows_in_all = 3\n", "", "--max-rows-in-all 4;"),
    ],
)
def test_what_a_copy_needs_is_named_with_the_command_that_says_it(
    file: Path, before: str, after: str, lacking: str
) -> None:
    edit(file, before, after)
    refused = told(file, "prepare", "visits", "--where", "main")
    assert "parts of" not in refused  # no bar where nothing is made
    said = "tacit protect visits --unit person --max-groups 2 --max-rows 2 "
    assert said + lacking in refused
    more = lacking.rstrip(";").replace("COLUMN", "id").split()
    done(file, *said.split()[1:], *more)
    assert "2/2" in done(file, "prepare", "visits", "--where", "main")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("prepare", "nobody"), "There is no 'nobody' in datasets; there are: visits."),
        (("prepare", "visits"), "by --where: main, a schema of the same file"),
        (("prepare", "visits", "--where", "clinic.duckdb"), "no DuckDB database that can be"),
    ],
)
def test_what_cannot_be_prepared_is_told_and_nothing_is_said(
    file: Path, words: tuple[str, ...], refusal: str
) -> None:
    before = file.read_text()
    assert refusal in told(file, *words)
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("before", "after", "refusal"),
    [
        ('unit = "person"\nmax', LINK + "max", "has a link to it, in person"),
        ('row_key = "id"', 'copy = 3\nrow_key = "id"', "tacit.toml:18: 'datasets.visits.copy'"),
        ('engine = "warehouse"', 'engine = "warehouse"\ntable = "none"', "DuckDB failed over"),
    ],
)
def test_declarations_that_have_no_copy_are_told(
    file: Path, before: str, after: str, refusal: str
) -> None:
    edit(file, before, after)
    file.write_text(file.read_text() + PEOPLE)
    said = file.read_text()
    shown = told(file, "prepare", "visits", "--where", "main")
    assert refusal in shown
    assert file.read_text() == said


def test_keys_that_tell_no_rows_apart_are_refused(file: Path) -> None:
    edit(file, 'row_key = "id"', 'row_key = "ward"')
    assert "does not tell the rows of a unit apart" in told(
        file, "prepare", "visits", "--where", "main"
    )
    assert "copy = " not in file.read_text()


def test_where_each_person_has_one_row_nothing_is_prepared(file: Path) -> None:
    said = "protect visits --unit id --one-row --max-groups 1 --max-rows 1"
    done(file, *said.split())
    assert "no copy is needed" in told(file, "prepare", "visits", "--where", "main")
    done(file, "apply", "--yes")
    shown = done(file, "ask", QUESTION, "--explain")
    assert shown == "Each unit has one row; nothing is bounded.\n"


GROUPED = "Rows grouped by unit first; max_rows_in_all of visits would let a copy be read."
WINDOW = "A window over the table, then rows grouped by unit; tacit prepare visits would make "
ALONE = "a copy is read where a question asks one table that names its unit."
GATHERED = (
    "SELECT ward, COUNT(*) AS n FROM (SELECT person, ward, COUNT(*) AS n FROM visits "
    "GROUP BY person, ward) GROUP BY ward"
)


@pytest.mark.parametrize(
    ("limit", "question", "sentence"),
    [
        ("", QUESTION, GROUPED),
        ("max_rows_in_all = 9\n", QUESTION, WINDOW + "it a pass."),
        (
            "max_rows_in_all = 3\n",
            GATHERED,
            ALONE,
        ),
        (
            "",
            "SELECT AVG(m) FROM (SELECT person, AVG(cost) AS m FROM visits GROUP BY person)",
            "The rows of each unit are gathered into one; nothing is bounded.",
        ),
    ],
)
def test_explain_says_how_a_question_is_answered_and_what_would_be_faster(
    file: Path, limit: str, question: str, sentence: str
) -> None:
    edit(file, "max_rows_in_all = 3\n", limit)
    done(file, "apply", "--yes")
    assert sentence in done(file, "ask", question, "--explain")
    assert "ρ = 0 of" in done(file, "status")


def test_a_copy_of_many_rows_of_a_person_is_grouped(file: Path) -> None:
    edit(file, "max_rows_in_all = 3", "max_rows_in_all = 9")
    done(file, "apply", "--yes")
    before = integers(file)
    done(file, "prepare", "visits", "--where", "main")
    shown = done(file, "ask", QUESTION, "--explain")
    assert shown == "Rows grouped by unit, from the ordered copy of epoch 2026-W46.\n"
    emptied(file)
    assert integers(file) == before


def test_a_parquet_file_has_its_copy_in_a_file(tmp_path: Path) -> None:
    with duckdb.connect() as owner:
        owner.execute(ROWS)
        owner.execute(f"COPY visits TO '{tmp_path / 'visits.parquet'}'")
    file = tmp_path / "tacit.toml"
    file.write_text(TEXT.replace("ENGINE", 'kind = "parquet"\npath = "visits.parquet"'))
    done(file, "apply", "--yes")
    before = integers(file)
    assert "copies.duckdb, a file of its own" in told(
        file, "prepare", "visits", "--where", "main"
    )
    done(file, "prepare", "visits", "--where", "copies.duckdb")
    with duckdb.connect() as owner:
        owner.execute(ROWS)
        owner.execute(
            f"COPY (FROM visits LIMIT 0) TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)"
        )
    assert integers(file) == before


@pytest.fixture
def served(tmp_path: Path, cluster: PostgresCluster) -> tuple[Path, str, str]:
    """A project over PostgreSQL, the address of the tables' owner, and the role that reads."""
    address = cluster.database(f"tacit_{uuid4().hex}")
    role = f"tacit_{uuid4().hex}"
    where = address.replace("postgres@", f"{role}@")
    file = tmp_path / "tacit.toml"
    file.write_text(TEXT.replace("ENGINE", f'kind = "postgres"\naddress = "{where}"'))
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(ROWS.encode())
        for statement in reader(role, read_project(file).catalog):
            owner.execute(statement.encode())
    done(file, "apply", "--yes")
    return file, address, role


def test_on_postgresql_an_owner_prepares_and_the_role_reads(
    served: tuple[Path, str, str],
) -> None:
    file, address, role = served
    before = integers(file)
    making = ("prepare", "visits", "--where", "copies", "--by", "env:OWNER")
    assert "2/2" in done(file, *making, OWNER=address)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("DELETE FROM visits")
        assert integers(file) == before
        assert "Row by row from" in done(file, "ask", QUESTION, "--explain")
        owner.execute(f"REVOKE SELECT ON copies.tacit_visits_0 FROM {role}".encode())  # noqa: S608
    refused = told(file, "ask", QUESTION, "--rho", "0.01")
    assert "make it anew: tacit prepare visits" in refused
    done(file, "prepare", "visits", "--drop", "--by", "env:OWNER", OWNER=address)
    assert integers(file) == [[0, 0]] * len(before)


def test_on_postgresql_whoever_may_not_write_is_told_how(
    served: tuple[Path, str, str],
) -> None:
    file, address, role = served
    making, before = ("prepare", "visits", "--where", "copies"), file.read_text()
    assert "may create tables, by --by" in told(file, *making)
    assert "is not set" in told(file, *making, "--by", "env:NONE")
    secret = told(file, *making, "--by", "postgresql://a:hunter2@h/d")
    assert "A password does not stand in" in secret
    assert "hunter2" not in secret
    reading = address.replace("postgres@", f"{role}@")
    assert "PostgreSQL failed, by a ReadOnly" in told(file, *making, "--by", reading)
    plain = f"plain_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {plain} LOGIN".encode())
    loud = told(file, *making, "--by", address.replace("postgres@", f"{plain}@"))
    assert "The server would log how the copy is made: log_min_error_statement" in loud
    files = told(file, "prepare", "visits", "--where", "copies.duckdb", "--by", address)
    assert "a schema of the same database" in files
    assert file.read_text() == before


def test_on_postgresql_the_log_does_not_hold_how_a_copy_is_made(
    served: tuple[Path, str, str], cluster: PostgresCluster
) -> None:
    file, address, _ = served
    schema, database = f"copies_{uuid4().hex}", address.rpartition("/")[2]
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"ALTER DATABASE {database} SET log_statement = 'all'".encode())
    done(file, "prepare", "visits", "--where", schema, "--by", address)
    with psycopg.connect(address) as owner:
        owner.execute(f"CREATE TABLE {schema}.loud ()".encode())
    log = cluster.log.read_text()
    assert f"CREATE TABLE {schema}.loud" in log
    assert f'"{schema}"' not in log

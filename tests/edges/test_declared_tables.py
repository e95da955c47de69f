"""F-P12: one physical table, whatever it is called, has one population and one budget.

Version 0.1.0 opened a fresh budget over tables that already had one: under a second population
of the same file, under a new name of the population, and for somebody who owned nothing.
"""

from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg
import pytest
from conftest import Bar
from postgres_cluster import PostgresCluster

import tacit
from tacit.core.loss import Loss
from tacit.engines.postgres import Postgres
from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted, TacitError
from tacit.ledger import govern
from tacit.ledger.ledger import Ledger
from tacit.session import table_checks
from tacit.session.curator import LedgerFolder
from tacit.session.project import apply_project, open_project

PEOPLE = """
[populations.{population}]
unit = "person"
owners = ["{owner}"]
budget = {{ epsilon = 3 }}

[engines.{engine}]
kind = "{kind}"
path = "{path}"

[datasets.{dataset}]
population = "{population}"
engine = "{engine}"
table = "{table}"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
[datasets.{dataset}.columns]
person = "text"
age = {{ kind = "integer", bounds = [0, 120], provenance = "public" }}
"""
COUNT = "SELECT COUNT(*) AS n FROM {}"


def people(
    population: str, path: str = "a.duckdb", table: str = "people", owner: str = "olga"
) -> str:
    """A population over one table; everything of it is called by the population's name."""
    return PEOPLE.format(
        population=population,
        owner=owner,
        engine=f"of_{population}",
        kind="parquet" if path.endswith(".parquet") else "duckdb",
        path=path,
        dataset=population if path.endswith(".parquet") else f"{population}_rows",
        table=population if path.endswith(".parquet") else table,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as owner:
        owner.execute(
            "CREATE TABLE people AS SELECT 'p' || range AS person, (range % 90)::BIGINT AS age,"
            " 'h' || range % 9 AS home "
            "FROM range(1000);"
            "CREATE TABLE others AS SELECT * FROM people;"
            "CREATE VIEW seen AS SELECT person, age FROM people;"
            "CREATE MACRO inner_one() AS TABLE SELECT person, age FROM people;"
            "CREATE MACRO outer_one() AS TABLE SELECT * FROM inner_one();"
            "CREATE VIEW called AS SELECT * FROM outer_one();"
            "CREATE VIEW spelled AS SELECT person, age FROM query_table('people');"
        )
        owner.execute(f"COPY people TO '{tmp_path}/a.parquet'")
    (tmp_path / "linked.duckdb").symlink_to("a.duckdb")
    (tmp_path / "hard.parquet").hardlink_to(tmp_path / "a.parquet")
    (tmp_path / "inner").mkdir()
    return tmp_path


def write(folder: Path, *populations: str) -> Path:
    file = folder / "tacit.toml"
    file.write_text("".join(populations))
    return file


def ledger_in(folder: Path) -> Ledger:
    return LedgerFolder.at(folder / ".tacit").ledger


OTHER_NAMES = {
    "the same": ("a.duckdb", "people"),
    "another case": ("a.duckdb", "PEOPLE"),
    "dots": ("inner/../a.duckdb", "people"),
    "a symbolic link": ("linked.duckdb", "people"),
    "a view": ("a.duckdb", "seen"),
    "a view of a macro": ("a.duckdb", "called"),
    "a view of a text": ("a.duckdb", "spelled"),
}


def doubles(folder: Path) -> list[str]:
    """The other names under which a table got a second population in one project file."""
    found = []
    for called, (path, table) in OTHER_NAMES.items():
        file = write(folder, people("patients"), people("clinic", path, table))
        try:
            apply_project(file, by="olga")
        except InvalidValue as refused:
            if "One table belongs to one population" not in str(refused):
                raise
        else:
            found.append(called)
    files = people("p", "a.parquet"), people("q", "hard.parquet")
    try:
        apply_project(write(folder, *files), by="olga")
    except InvalidValue:
        return found
    return [*found, "a hard link"]


def test_a_table_has_no_second_population_under_any_name(folder: Path, bar: Bar) -> None:
    found = doubles(folder)
    names = len(OTHER_NAMES) + 1
    bar(f"second populations over one table, of {names} names", len(found), "0", not found)
    assert found or ledger_in(folder).populations() == ()
    file = write(folder, people("patients"), people("clinic", table="others"))
    apply_project(file, by="olga")  # what is another table has its own


def test_without_the_mend_every_name_has_its_own_budget(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_checks, "_check_apart", lambda *_: None)
    monkeypatch.setattr(govern.Governing, "_take", lambda *_: None)
    assert len(doubles(folder)) == len(OTHER_NAMES) + 1


def spend(file: Path, dataset: str, epsilon: str) -> None:
    with open_project(file, principal="ann") as session:
        session.sql(COUNT.format(dataset)).ask(epsilon=epsilon)


def renamed(folder: Path) -> Loss:
    """What is spent of the budget of a population that got another name."""
    file = write(folder, people("patients"))
    apply_project(file, by="olga")
    spend(file, "patients_rows", "2.5")
    write(folder, people("clinic", "linked.duckdb"))
    apply_project(file, by="olga")
    return ledger_in(folder).status("clinic").spent


def test_a_renamed_population_gets_no_fresh_budget(folder: Path, bar: Bar) -> None:
    spent = renamed(folder)
    bar(
        "epsilon spent under a population's new name",
        float(spent.amount),
        "2.5",
        spent == Loss.pure("2.5"),
    )
    with pytest.raises(BudgetExceeded):
        spend(folder / "tacit.toml", "clinic_rows", "2.5")
    spend(folder / "tacit.toml", "clinic_rows", "0.5")
    for name in ("patients", "clinic"):
        ledger_in(folder).verify(name)
    assert ledger_in(folder).book("patients").holdings  # that they were its tables is kept


def test_without_the_mend_the_same_people_lose_twice_the_budget(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(govern, "owed_by_source", lambda *_: {})
    assert renamed(folder) == Loss.pure(0)
    spend(folder / "tacit.toml", "clinic_rows", "2.5")  # 2.5 + 2.5 of "at most 3"


@pytest.mark.parametrize("at_once", ["with the name", "before the name"])
def test_a_file_that_moves_takes_its_charges_along(
    folder: Path, at_once: str, bar: Bar
) -> None:
    file = write(folder, people("patients", "a.parquet"))
    apply_project(file, by="olga")
    spend(file, "patients", "2.5")
    (folder / "a.parquet").rename(folder / "inner/moved.parquet")
    if at_once == "before the name":
        write(folder, people("patients", "inner/moved.parquet"))
        [moved] = apply_project(file, by="olga")
        assert "the identity of the tables' file or database" in str(moved)
    write(folder, people("clinic", "inner/moved.parquet"))
    apply_project(file, by="olga")
    spent = ledger_in(folder).status("clinic").spent
    name = f"epsilon spent where a file moves {at_once}"
    bar(name, float(spent.amount), "2.5", spent == Loss.pure("2.5"))


def test_rows_that_come_from_another_table_bring_their_charges(folder: Path, bar: Bar) -> None:
    """A view that shows another table is known by its own name, and by one that is new."""
    file = write(folder, people("patients"))
    apply_project(file, by="olga")
    spend(file, "patients_rows", "2.5")
    with duckdb.connect(str(folder / "a.duckdb")) as owner:
        owner.execute("CREATE VIEW mixed AS SELECT person, age FROM others")
    write(folder, people("staff", table="mixed"))
    apply_project(file, by="olga")
    assert ledger_in(folder).status("staff").spent == Loss.pure(0)
    with duckdb.connect(str(folder / "a.duckdb")) as owner:
        owner.execute("CREATE OR REPLACE VIEW mixed AS SELECT person, age FROM people")
    apply_project(file, by="olga")
    spent = ledger_in(folder).status("staff").spent
    name = "epsilon spent on rows that another population had"
    bar(name, float(spent.amount), "2.5", spent == Loss.pure("2.5"))


def test_whose_a_row_is_does_not_change_once_it_was_charged(folder: Path) -> None:
    file = write(folder, people("patients"))
    apply_project(file, by="olga")
    by_home = people("patients").replace('unit = "person"\nmax', 'unit = "home"\nmax')
    by_home = by_home.replace('person = "text"', 'home = "text"')
    file.write_text(by_home)
    apply_project(file, by="olga")  # nothing was asked
    file.write_text(people("patients"))
    apply_project(file, by="olga")
    spend(file, "patients_rows", "1")
    file.write_text(by_home)
    with pytest.raises(InvalidValue, match="The earlier answers protect another unit"):
        apply_project(file, by="olga")
    twice = by_home.partition("[datasets")[2].replace("patients_rows", "again")
    file.write_text(people("patients") + "[datasets" + twice)
    with pytest.raises(InvalidValue, match="their units are declared differently"):
        apply_project(file, by="olga")


def test_who_owns_nothing_changes_nothing(folder: Path, bar: Bar) -> None:
    file = write(folder, people("patients"))
    apply_project(file, by="olga")
    spend(file, "patients_rows", "1")
    ledger = ledger_in(folder)
    before = ledger.entries("patients")
    left = 0
    for text in (
        people("mine", owner="mallory"),  # a new name, of which mallory is the owner
        people("patients") + people("mine", owner="mallory"),
        people("mine", owner="mallory") + people("patients").replace("120", "150"),
        people("patients", owner="mallory"),
    ):
        file.write_text(text)
        with pytest.raises((InvalidValue, NotPermitted)):
            apply_project(file, by="mallory")
        left += ledger.populations() != ("patients",) or ledger.entries("patients") != before
    bar("acts of somebody who owns nothing, of 4 files", left, "0", not left)


def test_what_a_file_says_is_recorded_as_a_whole(folder: Path) -> None:
    """An error in the last population leaves nothing of the first."""
    staff = people("staff", table="others")
    file = write(folder, people("patients"), staff)
    apply_project(file, by="olga")
    ledger = ledger_in(folder)
    before = {name: ledger.entries(name) for name in ledger.populations()}
    raised = people("patients").replace("epsilon = 3", "epsilon = 4").replace("120", "150")
    write(folder, raised, staff, people("third", table="seen"))
    with pytest.raises(InvalidValue, match="One table belongs to one population"):
        apply_project(file, by="olga", reason="a second study")
    assert {name: ledger.entries(name) for name in ledger.populations()} == before


def test_each_owner_records_what_is_theirs(folder: Path) -> None:
    both = people("patients"), people("staff", table="others", owner="oscar")
    file = write(folder, *both)
    assert {each.population for each in apply_project(file, by="olga")} == {"patients"}
    with pytest.raises(InvalidValue, match="staff: open a budget"):
        open_project(file)
    assert {each.population for each in apply_project(file, by="oscar")} == {"staff"}
    open_project(file).close()


def test_a_prepared_copy_and_a_public_table_are_no_second_way(folder: Path) -> None:
    with duckdb.connect(str(folder / "a.duckdb")) as owner:
        owner.execute("CREATE TABLE tacit_people_0 AS SELECT * FROM people")
    file = write(folder, people("patients"), people("clinic", table="tacit_people_0"))
    with pytest.raises(InvalidValue, match="prepared copy of another table"):
        apply_project(file, by="olga")
    public = (
        '\n[public.all]\nengine = "of_patients"\ntable = "seen"\nepoch = "1"\n'
        'columns.person = "text"\n'
    )
    with pytest.raises(InvalidValue, match="declared as a public table"):
        apply_project(write(folder, people("patients"), public), by="olga")


def test_another_unit_column_of_the_same_table_is_refused(folder: Path, bar: Bar) -> None:
    given = {"population": "people", "max_groups": 1, "max_rows": 1, "folder": folder / "home"}
    path = str(folder / "a.parquet")
    tacit.open(path, unit="person", budget=(3, "1e-6"), **given).close()
    refused = 0
    for opened in (
        lambda: tacit.open(path, unit="age", **given),
        lambda: tacit.open(str(folder / "hard.parquet"), unit="age", table="a", **given),
        lambda: tacit.open(path, unit="person", **given | {"population": "others"}),
        lambda: tacit.open(
            path, unit="person", budget=(9, "1e-6"), **given | {"population": "others"}
        ),
        lambda: tacit.open(
            path, unit="person", principal="bob", bounds={"age": (0, 9)}, **given
        ),
    ):
        try:
            opened().close()
        except TacitError:
            refused += 1
    bar("other units, populations and people over one file refused", refused, "5", refused == 5)
    tacit.open(path, unit="person", bounds={"age": (0, 99)}, **given).close()  # its owner may


# ---------------------------------------------------------------- PostgreSQL


@pytest.fixture
def addresses(cluster: PostgresCluster) -> tuple[str, str]:
    """Two addresses of one server with tables, views, partitions, a parent and a child."""
    address = cluster.database(f"tacit_{uuid4().hex}")
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE people (person text, age bigint);"
            "CREATE TABLE others (person text, age bigint);"
            "CREATE VIEW seen AS SELECT person, age FROM people;"
            "CREATE MATERIALIZED VIEW twice AS SELECT * FROM seen;"
            "CREATE TABLE years (person text, y int) PARTITION BY RANGE (y);"
            "CREATE TABLE y1 PARTITION OF years FOR VALUES FROM (0) TO (10);"
            "CREATE TABLE y2 PARTITION OF years FOR VALUES FROM (10) TO (20);"
            "CREATE TABLE child () INHERITS (others)"
        )
    return address, address.replace("127.0.0.1", "localhost")


def test_one_server_has_one_identity_and_what_shares_rows_is_found(
    addresses: tuple[str, str], bar: Bar
) -> None:
    here, there = (Postgres(address) for address in addresses)
    assert addresses[0] != addresses[1]

    def meet(one: str, other: str) -> bool:
        return bool({*here.identities((one,))} & {*there.identities(tuple(other.split(".")))})

    same = {
        "another address": ("people", "people"),
        "a schema": ("people", "public.people"),
        "a view": ("people", "seen"),
        "a view of a view": ("people", "twice"),
        "a partition": ("years", "y1"),
        "another partition": ("y2", "years"),
        "a child": ("others", "child"),
    }
    apart = (("people", "others"), ("y1", "y2"), ("seen", "years"))
    missed = [name for name, (one, other) in same.items() if not meet(one, other)]
    bar(f"names of one PostgreSQL table missed, of {len(same)}", len(missed), "0", not missed)
    assert not any(meet(one, other) for one, other in apart)


def test_a_table_that_was_made_anew_is_still_its_populations(
    addresses: tuple[str, str],
) -> None:
    engine = Postgres(addresses[0])
    before = engine.identities(("people",))
    with psycopg.connect(addresses[0], autocommit=True) as owner:
        owner.execute("DROP TABLE people CASCADE; CREATE TABLE people (person text)")
    assert {*before} & {*engine.identities(("people",))}

"""A project file proposes, the ledger decides, and a session opens where they agree."""

from pathlib import Path
from uuid import uuid4

import duckdb
import polars as pl
import psycopg
import pytest
from postgres_cluster import PostgresCluster

from tacit.core.loss import Loss
from tacit.engines.postgres_role import reader
from tacit.errors import BudgetExceeded, InvalidValue, NotPermitted
from tacit.ledger.declarations import AnyDeclaration
from tacit.ledger.ledger import Ledger
from tacit.session.ask import ask
from tacit.session.curator import Curator, LedgerFolder
from tacit.session.engines import open_engine, read_project
from tacit.session.project import apply_project, open_project
from tacit.sql.parser import parse

TEXT = """\
[engines.warehouse]
kind = "duckdb"
path = "clinic.duckdb"

[engines.regions]
kind = "parquet"
path = "regions.parquet"

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }
quotas.ann = { epsilon = 1 }

[datasets.people]
population = "patients"
engine = "warehouse"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
[datasets.people.columns]
id = "integer"
person = "text"
city = { kind = "text", keys = ["Bern", "Ulm"], provenance = "public" }

[datasets.visits]
population = "patients"
engine = "warehouse"
epoch = "1"
link = { column = "patient", parent = "people", parent_column = "id" }
max_groups = 2
max_rows = 5
[datasets.visits.columns]
patient = "integer"
cost = { kind = "integer", bounds = [0, 100], provenance = "policy" }

[public.regions]
engine = "regions"
epoch = "1"
columns = { city = "text", canton = "text" }
lookup = ["city"]
"""
JOINED = (
    "SELECT people.city, COUNT(*) AS n FROM visits JOIN people ON visits.patient = people.id "
    "GROUP BY people.city"
)
DECLARED = "  + visits.cost: integer, from 0 to 100 (policy)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A project of three tables in two engines."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(
            "CREATE TABLE people AS SELECT range AS id, 'p' || range AS person, "
            "CASE range % 2 WHEN 0 THEN 'Bern' ELSE 'Ulm' END AS city FROM range(500);"
            "CREATE TABLE visits AS SELECT range % 500 AS patient, 40 AS cost FROM range(2000)"
        )
    pl.DataFrame({"city": ["Bern"], "canton": ["BE"]}).write_parquet(
        tmp_path / "regions.parquet"
    )
    place = tmp_path / "tacit.toml"
    place.write_text(TEXT)
    return place


def edit(file: Path, before: str, after: str) -> None:
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))


def held(file: Path) -> Ledger:
    return LedgerFolder.at(file.parent / ".tacit").ledger


def test_a_project_opens_only_when_an_owner_has_applied_it(file: Path) -> None:
    with pytest.raises(InvalidValue, match="differs from the ledger") as told:
        open_project(file)
    assert "patients: open a budget of epsilon 3, delta 0.000001" in str(told.value)
    assert DECLARED in str(told.value)
    apply_project(file, by="olga")
    assert apply_project(file, by="olga") == ()
    with open_project(file, principal="ann") as session:
        answer = session.sql(JOINED).ask(epsilon=1)
        assert abs(answer["n"].values[0] - 1000) < 200
        assert "It assumes that people.id is unique; that no more than" in repr(answer)
        with pytest.raises(BudgetExceeded, match="quota of ann"):
            session.sql(JOINED).ask(epsilon="1.1")
        assert session.sql(JOINED).ask(epsilon="0.9").columns == answer.columns  # free
    assert held(file).verify("patients").entries == 5


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("[0, 100]", "[0, 200]", "- visits.cost: integer, from 0 to 100 (policy)"),
        ("max_rows = 5", "max_rows = 50", "+ visits: at most 2 groups of 50 rows"),
        ('unit = "person"\nmax', 'unit = "city"\nmax', "+ people: city names the unit"),
        ('"1"\ncolumns', '"2"\ncolumns', "+ regions: epoch '2'"),
    ],
)
def test_every_difference_is_shown_and_recorded_as_an_owners_act(
    file: Path, before: str, after: str, told: str
) -> None:
    apply_project(file, by="olga")
    entries = held(file).verify("patients").entries
    edit(file, before, after)
    with pytest.raises(InvalidValue) as refusal:
        open_project(file)
    assert told in str(refusal.value)
    with pytest.raises(NotPermitted, match="mallory does not own"):
        apply_project(file, by="mallory")
    (change,) = apply_project(file, by="olga")
    assert told in str(change)
    assert held(file).verify("patients").entries == entries + 1
    assert apply_project(file, by="olga") == ()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("epsilon = 3", "epsilon = 4", "raise the cap from epsilon 3, delta 0.000001 (rho "),
        ('["olga"]', '["olga", "omar"]', "add the owner omar"),
    ],
)
def test_the_ledger_decides_the_cap_and_the_owners(
    file: Path, before: str, after: str, told: str
) -> None:
    apply_project(file, by="olga")
    entries = held(file).verify("patients").entries
    edit(file, before, after)
    with open_project(file, principal="ann") as session:
        assert session.status().total.amount <= 3
        assert session.ledger.owners("patients") == {"olga"}
    with pytest.raises(NotPermitted, match="mallory does not own"):
        apply_project(file, by="mallory", reason="a study")
    (change,) = apply_project(file, by="olga", reason="a study")
    assert told in str(change)
    assert held(file).verify("patients").entries == entries + 1
    assert apply_project(file, by="olga") == ()


def test_the_ledger_decides_a_quota_that_differs_from_the_file(file: Path) -> None:
    apply_project(file, by="olga")
    edit(file, "quotas.ann = { epsilon = 1 }", "quotas.ann = { epsilon = 2 }")
    with (
        open_project(
            file, principal="ann"
        ) as session,  # owners set quotas without the file too
        pytest.raises(BudgetExceeded, match="quota of ann"),
    ):
        session.sql(JOINED).ask(epsilon="1.5")
    (change,) = apply_project(file, by="olga")
    assert "the quota of ann is" in str(change)
    with open_project(file, principal="ann") as session:
        session.sql(JOINED).ask(epsilon="1.5")


def test_a_session_that_looks_at_the_file_alone_would_take_any_bound(file: Path) -> None:
    apply_project(file, by="olga")
    edit(file, "[0, 100]", "[0, 1]")
    with pytest.raises(InvalidValue, match="differs"):
        open_project(file)
    project = read_project(file)
    engines = {
        each.name: open_engine(each, ["regions"], file.parent) for each in project.engines
    }
    home = LedgerFolder.at(file.parent / ".tacit").under(AnyDeclaration())
    lying = Curator(project.catalog, engines, home, "ann")
    answer = ask(
        lying, parse("SELECT SUM(cost) AS s FROM visits", lying.catalog), Loss.zcdp("0.01")
    )
    assert answer["s"].values[0] < 3000  # of 80,000
    lying.close()


def test_a_cap_is_lowered_to_no_less_than_is_spent(file: Path) -> None:
    apply_project(file, by="olga")
    with open_project(file, principal="ann") as session:
        session.sql(JOINED).ask(epsilon=1)
        spent = session.status().spent
    edit(file, "epsilon = 3", "epsilon = 2")
    with pytest.raises(InvalidValue, match="lower the cap to epsilon 2, delta"):
        open_project(file)  # somebody wants less to leave
    (change,) = apply_project(file, by="olga", reason="the study ended")
    assert str(change) == "patients: lower the cap to epsilon 2, delta 0.000001"
    assert apply_project(file, by="olga") == ()
    with open_project(file, principal="bob") as session:
        status = session.status()
        assert (status.spent, status.total.amount <= 2) == (spent, True)
        with pytest.raises(BudgetExceeded, match="does not fit into the budget"):
            session.sql(JOINED).ask(epsilon="1.9")
        assert session.history(kind="cap")[0].what.endswith("the study ended")
    edit(file, "epsilon = 2", 'epsilon = "0.5"')
    with pytest.raises(InvalidValue, match="is spent, and a cap cannot be lowered below that"):
        apply_project(file, by="olga")
    assert held(file).verify("patients").spent == spent


def test_who_is_protected_stays(file: Path) -> None:
    apply_project(file, by="olga")
    edit(file, 'unit = "person"\nowners', 'unit = "household"\nowners')
    with pytest.raises(
        InvalidValue, match="another unit, measure or delta, and these never change"
    ):
        apply_project(file, by="olga")


def test_of_two_owners_the_second_approves_what_the_file_proposes(file: Path) -> None:
    edit(file, '["olga"]', '["olga", "omar"]')
    apply_project(file, by="olga")
    edit(file, "epsilon = 3", "epsilon = 4")
    apply_project(file, by="olga", reason="a second study")
    (waiting,) = apply_project(file, by="olga")
    assert "proposal 4 waits for a second owner until 20" in str(waiting)
    with open_project(file, principal="ann") as session:
        session.sql(JOINED).ask(epsilon="0.1")  # questions go on meanwhile
        assert session.status().total.amount <= 3
    held(file).approve("patients", 4, by="omar")
    with open_project(file) as session:
        assert session.status().total.amount > 3
        proposal = session.history(kind="proposal")[0]
        assert proposal.what.endswith("a second study")
        assert proposal.decision == "approved by omar"


def test_proposals_of_the_file_replace_each_other(file: Path) -> None:
    edit(file, '["olga"]', '["olga", "omar"]')
    apply_project(file, by="olga")
    for before, after in ((3, 4), (4, 5)):
        edit(file, f"epsilon = {before}", f"epsilon = {after}")
        apply_project(file, by="olga", reason=f"{after} are wanted")
    ledger = held(file)
    (number,) = ledger.waiting_proposals("patients")
    ledger.approve("patients", number, by="omar")
    total = ledger.status("patients").total.amount
    assert 4.99 < total <= 5  # 3, 4 and 5 once became 5.7
    assert apply_project(file, by="olga") == ()


def test_a_proposal_that_was_withdrawn_stops_nothing(file: Path) -> None:
    edit(file, '["olga"]', '["olga", "omar"]')
    apply_project(file, by="olga")
    edit(file, "epsilon = 3", "epsilon = 4")
    apply_project(file, by="olga", reason="a second study")
    ledger = held(file)
    (number,) = ledger.waiting_proposals("patients")
    ledger.withdraw("patients", number, by="omar")
    with open_project(file, principal="ann") as session:
        session.sql(JOINED).ask(epsilon="0.1")
    (change,) = apply_project(file, by="olga", reason="once more")
    assert " to epsilon 4, delta 0.000001 (rho " in str(change)


def test_a_larger_cap_needs_a_reason(file: Path) -> None:
    apply_project(file, by="olga")
    entries = held(file).verify("patients").entries
    edit(file, "epsilon = 3", "epsilon = 4")
    for reason in ("", "  ", "x" * 201, "two\nlines"):
        with pytest.raises(InvalidValue, match="reason"):
            apply_project(file, by="olga", reason=reason)
    assert held(file).verify("patients").entries == entries


def test_tables_of_two_engines_are_not_asked_together_and_nothing_is_charged(
    file: Path,
) -> None:
    apply_project(file, by="olga")
    with open_project(file) as session:
        joined = "SELECT COUNT(*) AS n FROM people JOIN regions ON people.city = regions.city"
        with pytest.raises(InvalidValue, match=r"tables of one engine.*regions, warehouse"):
            session.sql(joined).ask(epsilon=1)
        assert session.status().spent == Loss.zcdp(0)


def test_of_several_populations_one_is_named(file: Path) -> None:
    staff = '\n[populations.staff]\nunit = "person"\nowners = ["olga"]\nbudget.epsilon = 1\n'
    file.write_text(TEXT + staff)
    apply_project(file, by="olga")
    with open_project(file) as session:
        assert session.status("staff").cap == Loss.pure(1)
        assert session.verify("patients").entries == 3
        with pytest.raises(InvalidValue, match="there are: patients, staff"):
            session.status()


def test_a_parquet_file_is_one_table(file: Path) -> None:
    file.write_text(TEXT + "\n[public.more]\nengine = 'regions'\nepoch = '1'\ncolumns = {}\n")
    with pytest.raises(InvalidValue, match="contains one table, but 2 tables"):
        apply_project(file, by="olga")


def test_a_password_comes_from_the_environment_and_is_never_told(
    file: Path, cluster: PostgresCluster
) -> None:
    address = cluster.database(f"tacit_{uuid4().hex}")
    role = f"tacit_{uuid4().hex}"
    where = address.replace("postgres@", f"{role}@")
    text = TEXT.replace(
        'kind = "duckdb"\npath = "clinic.duckdb"',
        f'kind = "postgres"\naddress = "{where}"\npassword = "env:CLINIC"',
    )
    file.write_text(text)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE people (id bigint, person text, city text);"
            "CREATE TABLE visits (patient bigint, cost bigint)"
        )
        catalog = read_project(file).catalog
        private = type(catalog)(catalog.populations, catalog.datasets)
        for statement in reader(role, private):
            owner.execute(statement.encode())
    with pytest.raises(InvalidValue, match="needs the variable CLINIC, which is not set"):
        apply_project(file, by="olga", environment={})
    apply_project(file, by="olga", environment={"CLINIC": "hunter2/@:"})
    with pytest.raises(InvalidValue, match="needs the variable CLINIC, which is not set"):
        open_project(file, environment={})
    with open_project(file, environment={"CLINIC": "hunter2/@:"}) as session:
        assert session.sql(JOINED).ask(epsilon=1)["city"].values == ("Bern", "Ulm")
        assert "hunter2" not in repr(session)
    edit(file, f"{role}@", "nobody@")
    with pytest.raises(InvalidValue) as told:
        open_project(file, environment={"CLINIC": "hunter2/@:"})
    assert "hunter2" not in str(told.value)

"""Spark in a project file: by Connect and in this process, from its schema to an answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from spark_session import free_port, local

from tacit.cli.main import main
from tacit.core.unseal import unseal
from tacit.engines.registry import NO_PLUGINS, address_rule
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.project.document import Fault, TomlEntry
from tacit.project.engines import engine_of
from tacit.session.curator import Curator
from tacit.session.engines import address_with_secret, read_project
from tacit.session.project import open_project
from tacit.sql.parser import parse

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
TOTAL = "SELECT SUM(cost) AS cost FROM visits"
SAID = (
    "budget people --epsilon 3 --delta 1e-6",
    "protect visits --unit person --max-groups 1 --max-rows 1",
    "domain visits.ward north,south --source public",
    "apply --yes",
)


@pytest.fixture(scope="module", autouse=True)
def visits() -> Iterator[None]:
    """A table of the owner's, in the catalogue that all sessions of this Spark see."""
    owner = local()
    for left in owner.catalog.listTables("default"):  # copies that other tests made
        if not left.isTemporary:
            owner.sql(f"DROP TABLE `{left.name}`")
    owner.sql(
        "CREATE TABLE visits USING parquet AS SELECT CONCAT('p', id) AS person, "
        "IF(id % 3 = 0, 'north', 'south') AS ward, CAST(id AS DECIMAL(9, 2)) AS cost, "
        "ARRAY(id) AS notes FROM range(3000)"
    )
    yield
    owner.sql("DROP TABLE visits")


def tacit(file: Path, words: str, *more: str) -> Result:
    given = [*words.split(), *more, "--project", str(file)]
    return CliRunner().invoke(main, given, env={"TACIT_USER": "olga"})


def test_a_spark_is_read_by_its_schema_and_asked_by_connect(tmp_path: Path) -> None:
    file = tmp_path / "tacit.toml"
    begun = tacit(file, f"init sc://127.0.0.1:{free_port()}")
    assert begun.exit_code == 0, begun.output
    assert 'kind = "spark"' in file.read_text()
    assert 'table = "default.visits"' in file.read_text()
    assert "\nnotes = " not in file.read_text()  # a list is of no kind
    assert 'eft out: "notes", of the type "array<bigint>"' in file.read_text()
    for words in SAID:
        done = tacit(file, words)
        assert done.exit_code == 0, done.output
    answer = tacit(file, "ask", COUNT, "--epsilon", "1")
    assert "north" in answer.output, answer.output
    file.write_text(file.read_text().replace(f"sc://127.0.0.1:{free_port()}", "local[2]"))
    with open_project(file) as session:  # the same release, from another way to the table
        assert session.sql(COUNT).ask(epsilon=1).standing.cost.amount == 0
        found = session.sql("SELECT COUNT(*) AS n FROM visits").ask(epsilon=1)
    assert abs(found["n"].values[0] - 3000) < 100
    assert local().sql("SELECT 1").collect()  # closing a session leaves others theirs


def test_a_copy_is_prepared_and_dropped_by_the_command_line(tmp_path: Path) -> None:
    owner, file = local(), tmp_path / "tacit.toml"
    address = f"sc://127.0.0.1:{free_port()}"
    tacit(file, f"init {address}")
    many = "--max-rows 2 --max-rows-in-all 3 --row-key person"
    bounds = "domain visits.cost 0..3000 --source policy"
    protect = f"protect visits --unit ward --max-groups 1 {many}"
    for words in (SAID[0], protect, bounds, "apply --yes"):
        done = tacit(file, words)
        assert done.exit_code == 0, done.output
    of_table = exact(file)
    made = tacit(file, "prepare visits --where copies")
    assert made.exit_code == 0, made.output
    assert "1/1" in made.output
    assert "The ordered copy" in tacit(file, "ask", TOTAL, "--explain").output
    copy = read_project(file).catalog.dataset("visits").copy
    assert copy is not None
    table = ".".join(copy.tables[0])
    assert owner.table(table).count() == 3000
    assert exact(file) == of_table
    owner.sql(f"DROP TABLE {table}")
    gone = tacit(file, "ask", TOTAL, "--epsilon", "0.1")
    assert "The copy of 'visits'" in gone.output
    assert "rho 0 of" in tacit(file, "status").output
    assert tacit(file, "prepare visits").exit_code == 0
    dropped = tacit(file, "prepare visits --drop")
    assert "Your own sessions read the table visits itself" in dropped.output
    assert not owner.catalog.tableExists(table)
    owner.sql("DROP DATABASE copies CASCADE")


def exact(file: Path) -> list[int]:
    """What a session of the project finds before noise: which rows are kept tells the sum."""
    with open_project(file) as session:
        curator: Curator = session._curator
        plan = bound(parse(TOTAL, curator.catalog), curator.catalog).plan
        found = curator.engine_of(("visits",)).run(
            plan, curator.catalog, curator.salt("people")
        )
        return [int(unseal(tally)[0]) for tally in found.tallies]


def test_a_spark_that_does_not_answer_is_told_of_at_once(tmp_path: Path) -> None:
    refused = tacit(tmp_path / "tacit.toml", "init sc://127.0.0.1:1")
    assert refused.exit_code == 1
    assert "The engine's Spark does not answer" in refused.output


def test_a_token_goes_to_connect_and_stands_in_no_file() -> None:
    said = {"kind": "spark", "address": "sc://host:1/;user_id=t", "password": "env:TOKEN"}
    address, rule = engine_of(TomlEntry(said, ("engines", "lake")), address_rule, NO_PLUGINS)
    assert (
        address_with_secret(address, rule, {"TOKEN": "a b"})
        == "sc://host:1/;user_id=t;token=a%20b"
    )
    with pytest.raises(InvalidValue, match="needs the variable TOKEN"):
        address_with_secret(address, rule, {})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"address": "thrift://host"}, "sc://host:15002 for Spark Connect, or the"),
        ({"address": "sc://host/;token=hunter2"}, "A token must not be written in this file"),
        ({"address": "spark://host:7077", "password": "env:T"}, "the token of Spark Connect"),
        ({"address": "sc://host", "password": "hunter2"}, "Name the place of the secret"),
    ],
)
def test_what_is_no_address_of_spark_is_refused(said: dict[str, str], told: str) -> None:
    with pytest.raises(Fault, match=told) as fault:
        engine_of(
            TomlEntry({"kind": "spark", **said}, ("engines", "lake")), address_rule, NO_PLUGINS
        )
    assert "hunter2" not in fault.value.message

"""On Spark, which has no transactions, a copy is made anew beside the one that is read."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import Bar
from spark_session import free_port, local

from tacit.cli.main import main
from tacit.engines.prepare import Preparation
from tacit.errors import InvalidValue, TacitError
from tacit.session.engines import read_project
from tacit.session.project import open_project, project_and_ledger

ROWS = (
    "CREATE TABLE stays USING parquet AS SELECT CONCAT('p', id) AS person, "
    "IF(id % 3 = 0, 'north', 'south') AS ward, id AS n FROM range(300)"
)
COUNT = "SELECT COUNT(*) AS n FROM stays"
MORE = f"{COUNT} WHERE ward = 'north'"
SAID = (
    f"init sc://127.0.0.1:{free_port()}",
    "budget people --epsilon 3 --delta 1e-6",
    "protect stays --unit person --max-groups 1 --max-rows 1",
    "domain stays.ward north,south --source public",
    "apply --yes",
    "prepare stays --where anew",
)


def tacit(file: Path, *words: str) -> Result:
    given = [*words, "--project", str(file)]
    return CliRunner().invoke(main, given, env={"TACIT_USER": "olga"})


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A project over one table of Spark, whose copy was prepared."""
    owner, place = local(), tmp_path / "tacit.toml"
    owner.sql("DROP TABLE IF EXISTS stays")
    owner.sql(ROWS)
    for words in SAID:
        done = tacit(place, *words.split())
        assert done.exit_code == 0, done.output
    yield place
    owner.sql("DROP DATABASE anew CASCADE")
    owner.sql("DROP TABLE stays")


def listed() -> set[str]:
    return {table.name for table in local().catalog.listTables("anew")}


def named(file: Path) -> set[str]:
    """The tables of the copy that the project file speaks of."""
    copy = read_project(file).catalog.dataset("stays").copy
    assert copy is not None
    return {table[-1] for table in (copy.record, *copy.tables)}


def locked(file: Path) -> int:
    """How many populations wait for an owner, who has to look at a failure."""
    with project_and_ledger(file) as (_, home):
        return int(home.ledger.status("people").locked)


def asked(session: Any, text: str, epsilon: float = 0.1) -> str:
    try:
        session.sql(text).ask(epsilon=epsilon)
    except TacitError as error:
        return type(error).__name__
    return "answered"


def test_a_copy_that_is_made_anew_is_no_failure_of_those_who_read_the_old_one(
    file: Path, bar: Bar
) -> None:
    """The old copy is gone then, which is an outage: what was paid for waits."""
    old = named(file)
    with open_project(file, principal="olga") as session:
        assert asked(session, COUNT) == "answered"
        assert asked(session, MORE) == "answered"  # its statement is known from now on
        assert tacit(file, "prepare", "stays").exit_code == 0
        paid = [
            asked(session, text) for text in (MORE.replace("= 'north'", "= 'south'"), COUNT)
        ]
    found = locked(file)
    bar("populations locked by a copy that was made anew", found, "0", found == 0)
    assert paid == ["EngineUnreachable", "answered"]  # the second is stored
    assert not old & named(file)
    assert listed() == named(file)
    with open_project(file, principal="olga") as session:
        assert asked(session, MORE.replace("= 'north'", "= 'south'")) == "answered"


def test_a_paid_question_waits_where_its_copy_is_gone(file: Path, bar: Bar) -> None:
    """Also where the statement was rehearsed before, and is charged."""
    with open_project(file, principal="olga") as session:
        assert asked(session, COUNT) == "answered"
        assert tacit(file, "prepare", "stays").exit_code == 0
        again = asked(session, COUNT, 0.2)  # the same statement, for another price
    found = locked(file)
    bar("populations locked by a copy that was dropped", found, "0", found == 0)
    assert again == "EngineUnreachable"


@pytest.mark.parametrize("killed", [False, True])
def test_a_making_that_ends_too_early_leaves_what_is_read_and_is_swept(
    file: Path, monkeypatch: pytest.MonkeyPatch, bar: Bar, *, killed: bool
) -> None:
    """One that was refused drops its tables; of one that was killed, the next making does."""
    before = listed()
    with monkeypatch.context() as patched, open_project(file, principal="olga") as session:

        def refuse(*_: object) -> None:
            raise InvalidValue("It is refused.")

        patched.setattr(Preparation, "_check_links", refuse)
        if killed:  # nothing is run any more
            patched.setattr(Preparation, "drop", lambda *_: None)
        with suppress(TacitError):
            assert tacit(file, "prepare", "stays").exit_code == 1
        assert asked(session, COUNT) == "answered"
        left = listed() - before
        assert len(left) == (2 if killed else 0)
        assert named(file) == before
    assert tacit(file, "prepare", "stays").exit_code == 0
    stays = len(listed() - named(file))
    bar(
        f"tables left of a making that was {('refused', 'killed')[killed]}",
        stays,
        "0",
        not stays,
    )


def test_files_of_a_making_that_was_killed_go_with_its_table(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is in the catalogue before its first file is written."""
    with monkeypatch.context() as patched:
        spark = "tacit.engines.spark.Spark.write"
        write = __import__("tacit.engines.spark", fromlist=["Spark"]).Spark.write

        def dies(self: Any, text: str) -> list[Any]:
            if text.startswith(("INSERT", "DROP")):
                raise OSError
            found: list[Any] = write(self, text)
            return found

        patched.setattr(spark, dies)
        assert tacit(file, "prepare", "stays").exit_code == 1
    [part] = [name for name in listed() - named(file) if name.endswith("_0")]
    told = local().sql(f"DESCRIBE TABLE EXTENDED anew.{part}").collect()
    [place] = [Path(row[1].removeprefix("file:")) for row in told if row[0] == "Location"]
    (place / "_temporary").mkdir(parents=True)
    (place / "part-00000-left.parquet").write_bytes(b"half")
    assert tacit(file, "prepare", "stays").exit_code == 0
    assert not place.exists()
    assert listed() == named(file)

"""What cannot be prepared, or was and is gone, is told with the next step."""

from pathlib import Path

import duckdb
import pytest
from prepared import QUESTION, done, edit, made, told

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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return made(tmp_path)


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


def test_on_spark_a_copy_is_one_table_of_a_database(file: Path) -> None:
    edit(file, 'kind = "duckdb"\npath = "clinic.duckdb"', 'kind = "spark"\naddress = "sc://h"')
    for words, refusal in (
        ((), "by --where: copies, a database of its catalogue"),
        (("--where", "copies.duckdb"), "by --where: copies, a database of its catalogue"),
        (("--where", "copies", "--parts", "3"), "whose buckets are its parts"),
        (("--where", "copies", "--by", "sc://h/;token=hunter2"), "A token does not stand in"),
        (("--where", "copies", "--by", "sc://127.0.0.1:1"), "Spark does not answer"),
    ):
        assert refusal in told(file, "prepare", "visits", *words)

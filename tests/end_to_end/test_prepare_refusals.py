"""What cannot be prepared, or was and is gone, is told with the next step."""

from pathlib import Path

import duckdb
import pytest
from prepared import QUESTION, done, edit, emptied, integers, made, part_of, told

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
        "DROP TABLE {part}",
        "ALTER TABLE {part} ALTER cost TYPE DOUBLE",
        "ALTER TABLE {part} DROP tacit_place",
        "DROP TABLE {record}",
        "UPDATE {record} SET fact = 'unit: visits.id' WHERE fact LIKE 'unit%'",
    ],
)
def test_a_copy_that_is_gone_is_told_of_before_a_question_is_paid_for(
    file: Path, harm: str
) -> None:
    done(file, "prepare", "visits", "--where", "main")
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        part = part_of(file, 1)
        owner.execute(harm.format(part=part, record=part.removesuffix("_1")))
    refused = told(file, "ask", QUESTION, "--rho", "0.01")
    assert "The copy of 'visits' does not exist" in refused
    assert "tacit prepare visits" in refused
    assert "rho 0 of" in done(file, "status")
    done(file, "prepare", "visits")
    done(file, "ask", QUESTION, "--rho", "0.01")


@pytest.mark.parametrize(
    "lacking", ['row_key = "id"  # of the hospital\n', "max_rows_in_all = 3\n"]
)
def test_a_table_that_nothing_orders_is_copied_all_the_same(file: Path, lacking: str) -> None:
    edit(file, lacking, "")
    done(file, "apply", "--yes")
    before = integers(file)
    done(file, "prepare", "visits", "--where", "main")
    assert "The ordered copy" not in done(file, "ask", QUESTION, "--explain")
    emptied(file)
    assert integers(file) == before


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("prepare", "nobody"), "There is no table 'nobody'. The tables are: visits."),
        (
            ("prepare", "visits", "--where", "clinic.duckdb"),
            "not a DuckDB database that can be",
        ),
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
        ('row_key = "id"', 'copy = 3\nrow_key = "id"', "tacit.toml:18: 'datasets.visits.copy'"),
        ('engine = "warehouse"', 'engine = "warehouse"\ntable = "none"', "DuckDB failed on"),
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


def test_a_table_in_place_has_no_copy_and_one_that_is_there_can_be_dropped(file: Path) -> None:
    before = file.read_text()
    edit(file, 'row_key = "id"', 'in_place = true\nrow_key = "id"')
    done(file, "apply", "--yes")
    said = file.read_text()
    assert "no copy is needed" in told(file, "prepare", "visits")
    assert file.read_text() == said
    assert not (file.parent / "copies.duckdb").exists()
    file.write_text(before)
    done(file, "apply", "--yes")
    done(file, "prepare", "visits")  # and with a copy, in_place is declared
    copy = part_of(file, 1)
    edit(file, 'row_key = "id"', 'in_place = true\nrow_key = "id"')
    edit(file, '"2026-W46"  # each', '"2026-W47"  # each')
    done(file, "apply", "--yes")
    assert "ordered copy" not in done(file, "ask", QUESTION, "--explain")
    done(file, "ask", QUESTION, "--rho", "0.01")
    assert "The copy is dropped" in done(file, "prepare", "visits", "--drop")
    with duckdb.connect(str(file.parent / "copies.duckdb")) as owner:
        assert (copy,) not in owner.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert "epoch" not in next(x for x in file.read_text().splitlines() if "copy =" in x)


def test_an_owner_who_applies_is_told_why_questions_will_be_refused(file: Path) -> None:
    done(file, "prepare", "visits", "--where", "main")
    edit(file, '"2026-W46"  # each', '"2026-W47"  # each')
    shown = done(file, "apply", "--yes")
    assert "Questions are refused until this is fixed" in shown
    assert "tacit prepare visits" in shown
    done(file, "prepare", "visits", "--drop")
    edit(file, 'cost = { kind = "integer"', 'cost = { kind = "date"')
    edit(file, "bounds = [0, 100], ", "")
    assert "visits.cost is declared as date" in done(file, "apply", "--yes")
    edit(file, 'cost = { kind = "date"', 'cost = { kind = "integer"')
    assert "refused" not in done(file, "apply", "--yes")


def test_keys_that_tell_no_rows_apart_are_not_refused(file: Path) -> None:
    """Two rows of one person would stop the copy for everybody."""
    edit(file, 'row_key = "id"', 'row_key = "ward"')
    done(file, "apply", "--yes")
    done(file, "prepare", "visits", "--where", "main")
    assert "copy = " in file.read_text()
    done(file, "ask", QUESTION, "--rho", "0.01")


def test_a_link_by_what_many_people_share_is_refused(file: Path) -> None:
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute("CREATE TABLE people AS SELECT DISTINCT person AS id, 7 AS n FROM visits")
        [(units,)] = owner.execute("SELECT COUNT(*) FROM people").fetchall()
    shared = PEOPLE.replace('"text" }', '"text", n = "integer" }')
    link = LINK.replace('"person"', '"cost"').replace(
        'parent_column = "id"', 'parent_column = "n"'
    )
    edit(file, 'unit = "person"\nmax', link + "max")
    file.write_text(file.read_text() + shared)
    done(file, "apply", "--yes")
    refused = told(file, "prepare", "people")
    assert "people.n has one value in rows of two units" in refused
    assert "copy = " not in file.read_text()
    edit(file, 'unit = "id"\nmax', 'unit = "id"\none_row = true\nmax')
    done(file, "apply", "--yes")
    shown = " ".join(done(file, "prepare", "people").split())
    assert f"The copy of people leaves out {units} rows" in shown


def test_an_owner_is_told_how_many_rows_a_copy_leaves_out(file: Path) -> None:
    assert "leaves out" not in done(file, "prepare", "visits", "--where", "main")
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute("INSERT INTO visits BY NAME SELECT 9 AS cost FROM range(3)")
    shown = " ".join(done(file, "prepare", "visits").split())
    assert "The copy of visits leaves out 3 rows: rows without a unit" in shown


def test_tables_of_one_row_each_and_linked_ones_are_copied(file: Path) -> None:
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute("CREATE TABLE people AS SELECT DISTINCT person AS id FROM visits")
    edit(file, 'unit = "person"\nmax', LINK + "max")
    file.write_text(file.read_text() + PEOPLE.replace("max_g", "one_row = true\nmax_g"))
    done(file, "apply", "--yes")
    before = integers(file)
    for name in ("visits", "people"):
        done(file, "prepare", name)
    mode = (file.parent / "copies.duckdb").stat().st_mode & 0o777
    assert mode == 0o600
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute("DROP TABLE people")
    emptied(file)
    assert integers(file) == before
    assert sum(before[0]) > 700


def test_on_spark_a_copy_is_one_table_of_a_database(file: Path) -> None:
    edit(file, 'kind = "duckdb"\npath = "clinic.duckdb"', 'kind = "spark"\naddress = "sc://h"')
    for words, refusal in (
        (("--where", "copies.duckdb"), "with --where: copies, a database of its catalogue"),
        (("--where", "copies", "--parts", "3"), "whose buckets are its parts"),
        (("--where", "copies", "--by", "sc://h/;token=hunter2"), "A token must not be written"),
        (("--where", "copies", "--by", "sc://127.0.0.1:1"), "Spark does not answer"),
    ):
        assert refusal in told(file, "prepare", "visits", *words)

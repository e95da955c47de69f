"""An owner prepares a table: the copy is read in its place, and an old one is refused."""

import re
import shlex
from pathlib import Path

import duckdb
import pytest
from prepared import QUESTION, ROWS, TEXT, done, edit, emptied, integers, made, told

GROUPED = "Rows are grouped by unit first. Declare max_rows_in_all of visits, so that a copy"
WINDOW = "the rows of each unit, and rows are then grouped by unit. Run `tacit prepare visits` "
ALONE = "Copies are read for questions about one table that names its unit."
GATHERED = (
    "SELECT ward, COUNT(*) AS n FROM (SELECT person, ward, COUNT(*) AS n FROM visits "
    "GROUP BY person, ward) GROUP BY ward"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.mark.parametrize("where", ["main", "copies", "the owner's.duckdb"])
def test_a_prepared_table_is_read_from_its_copy(file: Path, where: str) -> None:
    before, comments = integers(file), file.read_text().count("#")
    assert 700 < sum(before[0]) < 900  # 300 people, at most three rows of each
    assert "Run `tacit prepare visits` to read a copy in one pass" in done(
        file, "ask", QUESTION, "--explain"
    )
    assert "2/2" in done(file, "prepare", "visits", "--where", where)
    assert (
        f'copy = {{where = "{where}", parts = 2, epoch = "2026-W46", order = '
        in file.read_text()
    )
    assert file.read_text().count("#") == comments
    shown = done(file, "ask", QUESTION, "--explain")
    assert shown == "The ordered copy of epoch 2026-W46 is read row by row.\n"
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
    done(file, "apply", "--yes")
    done(file, "status")
    assert (
        "The copy of 'visits' has the epoch '2026-W46', and the table has '2026-W47'; "
        "make it again: tacit prepare visits"
    ) in told(file, "ask", QUESTION, "--rho", "0.01")
    assert "3/3" in done(file, "prepare", "visits")
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        left = owner.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert left == [(1 + 3 + 1,)]  # the table, three parts and what is written of them
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
    ("limit", "question", "sentence"),
    [
        ("", QUESTION, GROUPED),
        ("max_rows_in_all = 9\n", QUESTION, WINDOW + "to read"),
        (
            "max_rows_in_all = 3\n",
            GATHERED,
            ALONE,
        ),
        (
            "",
            "SELECT AVG(m) FROM (SELECT person, AVG(cost) AS m FROM visits GROUP BY person)",
            "The rows of each unit are aggregated to one row, so there is nothing to bound.",
        ),
    ],
)
def test_explain_says_how_a_question_is_answered_and_what_would_be_faster(
    file: Path, limit: str, question: str, sentence: str
) -> None:
    edit(file, "max_rows_in_all = 3\n", limit)
    done(file, "apply", "--yes")
    assert sentence in done(file, "ask", question, "--explain")
    assert "rho 0 of" in done(file, "status")


def test_a_copy_of_many_rows_of_a_person_is_grouped(file: Path) -> None:
    edit(file, "max_rows_in_all = 3", "max_rows_in_all = 9")
    done(file, "apply", "--yes")
    before = integers(file)
    done(file, "prepare", "visits", "--where", "main")
    shown = done(file, "ask", QUESTION, "--explain")
    assert shown == "The ordered copy of epoch 2026-W46 is read and grouped by unit.\n"
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
    assert "copies.duckdb, a separate file" in told(
        file, "prepare", "visits", "--where", "main"
    )
    done(file, "prepare", "visits", "--where", "copies.duckdb")
    with duckdb.connect() as owner:
        owner.execute(ROWS)
        owner.execute(
            f"COPY (FROM visits LIMIT 0) TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)"
        )
    assert integers(file) == before


def test_what_the_page_tells_to_type_works(file: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/prepare-a-table.md").read_text()
    edit(file, 'max_rows_in_all = 3\nrow_key = "id"  # of the hospital\n', "")
    typed = "".join(re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)).splitlines()
    (wanted,) = re.findall(r"```\n(The ordered copy.*?)```", page, flags=re.DOTALL)
    shown = ""
    for line in typed:
        words = shlex.split(line)[1:]
        if "--by" not in words:
            shown = done(file, *words, *(["--yes"] if words == ["apply"] else []))
    assert len(typed) == 5
    assert shown == wanted

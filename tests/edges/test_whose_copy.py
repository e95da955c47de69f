"""A copy answers for the unit, link, epoch, declaration and ledger that it was made by alone.

In version 0.1.0 a copy was tied to its salt and its epoch. One that was prepared with a visit
as the unit, by mistake, went on being read when the unit was corrected to the patient: each
row was then taken for the first of its patient, and a count was exact. A second project over
the same database overwrote the first one's copy, whose sessions read on.
"""

import os
import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest
from conftest import Bar
from prepared import FILE, QUESTION, TEXT, done, edit, integers, part_of, told

from tacit.session.curator import fresh_mark, mark_of
from tacit.session.engines import read_project
from tacit.session.prepare import Owner, copy_plan, preparation
from tacit.session.project import open_for_serving, open_project

ROWS = (
    "CREATE TABLE visits AS SELECT CAST(n AS BIGINT) AS id, 'p' || n % 300 AS person, "
    "'north' AS ward, CAST(n % 91 AS BIGINT) AS cost FROM generate_series(1, 3000) AS s(n)"
)


def project(folder: Path, database: Path, unit: str = "person") -> Path:
    """A project over one table of a database that others may share, which its ledger holds."""
    folder.mkdir(exist_ok=True)
    file = folder / "tacit.toml"
    text = TEXT.replace("ENGINE", FILE.replace("clinic.duckdb", str(database)))
    file.write_text(text.replace('unit = "person"\nmax', f'unit = "{unit}"\nmax'))
    done(file, "apply", "--yes")
    return file


@pytest.fixture
def database(tmp_path: Path) -> Path:
    place = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(place)) as owner:
        owner.execute(ROWS)
    return place


def counted(file: Path) -> int:
    """How many rows of all people a session counts before noise."""
    return sum(integers(file)[0])


def test_a_copy_of_another_unit_is_not_read(tmp_path: Path, database: Path, bar: Bar) -> None:
    """Two rows of a patient count in a ward: 600 of 3000, whatever a copy was made by."""
    file = project(tmp_path / "one", database, unit="id")
    done(file, "prepare", "visits", "--where", "main")
    assert counted(file) == 3000  # each visit is one unit
    edit(file, 'unit = "id"\nmax', 'unit = "person"\nmax')
    done(file, "apply", "--yes")
    refused = told(file, "ask", QUESTION, "--rho", "0.01")
    assert "was made with another declaration of its unit" in refused
    done(file, "prepare", "visits")
    found = counted(file)
    bar("rows counted of 300 patients with 10 visits each", found, "600", found == 600)


def test_a_server_makes_the_copy_anew_when_the_unit_is_corrected(
    tmp_path: Path, database: Path
) -> None:
    file = project(tmp_path / "one", database, unit="id")
    done(file, "prepare", "visits", "--where", "main")
    edit(file, 'unit = "id"\nmax', 'unit = "person"\nmax')
    done(file, "apply", "--yes")
    lines: list[str] = []
    with open_project(file, tell=lines.append) as session:
        copy = session.catalog.dataset("visits").copy
        assert copy is not None
        assert "unit: visits.person" in copy.facts
    assert lines == ["Preparing a validated copy of visits ..."]


def test_a_second_project_does_not_overwrite_the_copy_of_the_first(
    tmp_path: Path, database: Path, bar: Bar
) -> None:
    first, second = (project(tmp_path / name, database) for name in ("one", "two"))
    done(first, "prepare", "visits", "--where", "main")
    before = integers(first)
    done(second, "prepare", "visits", "--where", "main")
    assert part_of(first, 0) != part_of(second, 0)
    overwritten = integers(first) != before
    assert integers(second) != before  # another ledger's salt keeps other rows
    done(second, "prepare", "visits", "--drop")
    assert integers(first) == before
    bar("copies overwritten by a second project", int(overwritten), "0", not overwritten)


def test_a_copy_of_another_ledger_is_refused(tmp_path: Path, database: Path) -> None:
    first, second = (project(tmp_path / name, database) for name in ("one", "two"))
    done(first, "prepare", "visits", "--where", "main")
    line = next(line for line in first.read_text().splitlines() if line.startswith("copy"))
    edit(second, "row_key", f"{line}\nrow_key")
    assert "made with another ledger" in told(second, "ask", QUESTION, "--rho", "0.01")


def test_files_of_copies_are_their_owners_and_gone_when_they_are_old(
    tmp_path: Path, database: Path
) -> None:
    file = project(tmp_path / "one", database)
    lines: list[str] = []

    def copies() -> list[str]:
        with open_project(file, tell=lines.append):
            pass
        return sorted(each.name for each in (file.parent / ".tacit/copies").glob("*.duckdb"))

    [before] = copies()
    assert copies() == [before]
    assert len(lines) == 1  # it was there the second time
    place = file.parent / ".tacit/copies"
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / before).stat().st_mode & 0o777 == 0o600
    edit(file, "2026-W46", "2026-W47")
    done(file, "apply", "--yes")
    [after] = copies()
    assert before != after
    assert len(lines) == 2


def test_a_server_reads_the_copy_and_not_the_table(tmp_path: Path, database: Path) -> None:
    file = project(tmp_path / "one", database)
    curator, _ = open_for_serving(file, {})
    curator.close()
    with duckdb.connect(str(database)) as owner:
        owner.execute("DELETE FROM visits")
    assert counted(file) == 0  # a session of one's own reads the table
    curator, _ = open_for_serving(file, {})
    try:
        copy = curator.catalog.dataset("visits").copy
        assert copy is not None
        assert copy.ordered
    finally:
        curator.close()
    assert read_project(file).catalog.dataset("visits").copy is None  # the file is as it was


def test_a_copy_of_an_epoch_that_goes_on_is_made_anew_each_day(
    tmp_path: Path, database: Path, bar: Bar
) -> None:
    """Rows come until the year is over; a publication of yesterday's copy would lack some."""
    today = date.today()  # noqa: DTZ011 - the day of this machine
    file = project(tmp_path / "one", database)
    edit(file, '"2026-W46"', f'"{today.year}"')
    done(file, "apply", "--yes")
    seen: list[tuple[int, date | None]] = []
    for days in (0, 0, 1):
        for each in (file.parent / ".tacit/copies").glob("*.duckdb"):
            dated(each, f"made: {today - timedelta(days=days)}")
        with duckdb.connect(str(database)) as owner:
            owner.execute(
                "INSERT INTO visits SELECT max(id) + 1, 'new', 'north', 1 FROM visits"
            )
        curator, _ = open_for_serving(file, {})
        try:
            copy = curator.catalog.dataset("visits").copy
            assert copy is not None
            found = rows_of(file, copy.tables)
            seen.append((found, copy.made))
        finally:
            curator.close()
    kept = [rows for rows, _ in seen]
    bar("rows of a copy on its day, later that day, a day later", kept, "3001 3001 3003", True)
    assert kept == [3001, 3001, 3003]
    assert {made for _, made in seen} == {today}


def dated(copy: Path, fact: str | None) -> None:
    """Write another day beside an automatic copy, or none; its file is of today."""
    with duckdb.connect(str(copy)) as owner:
        found = owner.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        record = min((name for (name,) in found), key=len)
        if fact is None:
            owner.execute(f"DELETE FROM {record} WHERE fact LIKE 'made: %'")  # noqa: S608
        else:
            owner.execute(f"UPDATE {record} SET fact = ? WHERE fact LIKE 'made: %'", [fact])  # noqa: S608


@pytest.mark.parametrize("known", [True, False])
def test_a_folder_that_is_copied_has_copies_of_the_day_on_which_they_were_made(
    tmp_path: Path, database: Path, bar: Bar, *, known: bool
) -> None:
    """A folder that is copied, or restored, without times has files of today."""
    today = date.today()  # noqa: DTZ011 - the day of this machine
    file = project(tmp_path / "one", database)
    edit(file, '"2026-W46"', f'"{today.year}"')
    done(file, "apply", "--yes")
    open_for_serving(file, {})[0].close()
    [copy] = (file.parent / ".tacit/copies").glob("*.duckdb")
    dated(copy, f"made: {today - timedelta(days=7)}" if known else None)
    os.utime(copy, (0, 0))
    with duckdb.connect(str(database)) as owner:
        owner.execute("INSERT INTO visits SELECT max(id) + 1, 'new', 'north', 1 FROM visits")
    other = tmp_path / "two"
    shutil.copytree(file.parent, other, copy_function=shutil.copyfile)
    for each in (other / ".tacit").rglob("*"):
        each.chmod(0o700 if each.is_dir() else 0o600)
    (other / ".tacit").chmod(0o700)
    [copy] = (other / ".tacit/copies").glob("*.duckdb")
    assert date.fromtimestamp(copy.stat().st_mtime) == today  # noqa: DTZ012 - as above
    curator, _ = open_for_serving(other / "tacit.toml", {})
    try:
        found = curator.catalog.dataset("visits").copy
        assert found is not None
        rows = rows_of(other / "tacit.toml", found.tables)
        assert found.made == today
    finally:
        curator.close()
    bar("rows of a copy whose folder was copied", rows, "3001", rows == 3001)


def rows_of(file: Path, tables: tuple[tuple[str, ...], ...]) -> int:
    """How many rows the parts of a copy hold in all."""
    [place] = (file.parent / ".tacit/copies").glob("*.duckdb")
    with duckdb.connect(str(place), read_only=True) as reader:
        counts = [
            reader.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608 - ours
            for *_, name in tables
        ]
    return sum(count for row in counts if row for count in row)


def leave(file: Path) -> set[str]:
    """Make a copy that the project file never speaks of, as a process that is killed does."""
    owner, found = Owner(file), read_project(file)
    copied = copy_plan(found, "visits", "main")
    place = copied.place.for_new_copy(date(2026, 11, 16), fresh_mark(12))
    copied = replace(copied, place=place)
    salt = owner._salt(found, "visits")
    making = preparation(copied, mark_of(salt), owner._note)
    with owner._writing(copied, found.plugins) as run:
        list(making.steps(salt, run))
    return {name for _, name in (making.copy.record, *making.tables)}


def tables(database: Path) -> set[str]:
    with duckdb.connect(str(database)) as reader:
        found = reader.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return {name for (name,) in found} - {"visits"}


def test_what_a_killed_making_left_is_dropped_by_the_next(
    tmp_path: Path, database: Path, bar: Bar
) -> None:
    file = project(tmp_path / "one", database)
    left = leave(file)
    assert tables(database) == left
    done(file, "prepare", "visits", "--where", "main")
    stays = len(tables(database) & left)
    bar("tables left of a making that was killed", stays, "0", stays == 0)
    again = leave(file)
    done(file, "prepare", "visits", "--drop")
    assert not tables(database)
    assert left.isdisjoint(again)


def test_what_another_project_file_made_stays(tmp_path: Path, database: Path) -> None:
    """Also where both have one ledger, whose salt is in the names of all their copies."""
    file = project(tmp_path / "one", database)
    done(file, "prepare", "visits", "--where", "main")
    first = tables(database)
    other = file.with_name("other.toml")
    other.write_text("\n".join(x for x in file.read_text().split("\n") if "copy =" not in x))
    done(other, "prepare", "visits", "--where", "main")
    assert tables(database) > first
    before = integers(file)
    done(other, "prepare", "visits", "--drop")
    assert tables(database) == first
    assert integers(file) == before


def test_a_copy_of_before_makings_had_marks_is_read_and_dropped(
    tmp_path: Path, database: Path
) -> None:
    file = project(tmp_path / "one", database)
    done(file, "prepare", "visits", "--where", "main")
    copy = read_project(file).places["visits"]
    with duckdb.connect(str(database)) as owner:
        for name in tables(database):
            owner.execute(f"ALTER TABLE {name} RENAME TO {name.replace(copy.making or '', '')}")
        record = min(tables(database), key=len)
        owner.execute(f"DELETE FROM {record} WHERE fact ~ '^(made|making|file): .*'")  # noqa: S608
    edit(file, f', making = "{copy.making}"', "")
    before = integers(file)
    assert part_of(file, 0) in tables(database)
    old = tables(database)
    done(file, "prepare", "visits")
    assert not old & tables(database)
    assert integers(file) == before


@pytest.mark.parametrize("mark", ["x", "0123456789ABCDEF", "0123456789a' --"])
def test_what_is_no_mark_of_a_making_is_refused(
    tmp_path: Path, database: Path, mark: str
) -> None:
    file = project(tmp_path / "one", database)
    done(file, "prepare", "visits", "--where", "main")
    making = read_project(file).places["visits"].making
    edit(file, f'making = "{making}"', f'making = "{mark}"')
    assert "'making' of a copy must be the 12 digits" in told(file, "status")


def test_a_project_says_when_its_copy_was_made(tmp_path: Path, database: Path) -> None:
    file = project(tmp_path / "one", database)
    done(file, "prepare", "visits", "--where", "main")
    today = date.today()  # noqa: DTZ011 - the day of this machine
    copy = read_project(file).catalog.dataset("visits").copy
    assert copy is not None
    assert copy.made == today
    text = file.read_text()
    edit(file, f'made = "{today}"', f'made = "{today + timedelta(days=7)}"')
    assert "The copy of 'visits' does not exist" in told(file, "ask", QUESTION, "--rho", "0.01")
    file.write_text(text)  # the day stands beside the copy as well
    edit(file, f'made = "{today}"', 'made = "2026-02-31"')
    assert "'made' of a copy must be a day" in told(file, "status")

"""What is known of a column, asked of the data: privately, and charged before it is written."""

import tomllib
from collections import Counter
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from prepared import done, edit, tacit, told

from tacit.core.domain import Provenance
from tacit.session.engines import read_project
from tacit.session.estimate import ladder
from tacit.session.project import open_project

PEOPLE = 4_000
TEXT = """\
[engines.warehouse]
kind = "duckdb"
path = "clinic.duckdb"

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 200, delta = "1e-6" }

[datasets.visits]
population = "patients"
engine = "warehouse"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1

[datasets.visits.columns]
person = "text"
ward = "text"  # nobody said which there are
room = "integer"
floor = "integer"
pay = { kind = "decimal", step = "0.01" }
level = "float"
day = "date"
well = "boolean"
"""
ROWS = f"""
CREATE TABLE visits AS SELECT 'p' || n AS person,
    CASE n WHEN 7 THEN 'only p7' ELSE ['north', 'south'][1 + n % 2] END AS ward,
    CASE n WHEN 7 THEN 1000000007 ELSE 300 + n % 400 END AS room,
    n % 3 AS floor,
    CAST(-n % 50 AS DECIMAL(9, 2)) AS pay,
    CASE WHEN n % 3 = 0 THEN 'nan'::DOUBLE WHEN n % 3 = 1 THEN 'inf'::DOUBLE
        ELSE n / {PEOPLE} / 100 END AS level,
    DATE '2024-03-01' + CAST(n % 300 AS INTEGER) AS day, n % 2 = 0 AS well
FROM generate_series(1, {PEOPLE}) AS s(n)
"""  # noqa: S608 - our own numbers
PAID = ("--epsilon", 8, "--yes")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    place = tmp_path / "tacit.toml"
    place.write_text(TEXT)
    done(place, "apply", "--yes")
    return place


def said(file: Path, column: str) -> Any:
    return tomllib.loads(file.read_text())["datasets"]["visits"]["columns"][column]


def charges(file: Path) -> int:
    with open_project(file) as session:
        return len(session.ledger.book("patients").requests)


@pytest.mark.parametrize("column", ["pay", "day"])
def test_bounds_are_told_after_their_price_and_written_with_their_source(
    file: Path, column: str
) -> None:
    shown = done(file, "domain", f"visits.{column}", "--estimate", "bounds", *PAID)
    first, last = shown.index("Price: "), shown.index("This answer cost ")
    assert first < last < shown.index("tacit apply")
    assert said(file, column)["provenance"] == "estimated"
    assert charges(file_applied(file)) == 1
    bounds = read_project(file).catalog.dataset("visits").schema[column].bounds
    assert bounds is not None
    assert bounds.provenance is Provenance.ESTIMATED


def usual(file: Path, column: str) -> list[Any]:
    """The ends that most of nine estimates find; one of ten reaches too far."""
    with open_project(file) as session:
        estimate = session.estimate("visits", column, "bounds")
        asked = [estimate.question.ask(epsilon=Fraction(8 + n, 2)) for n in range(9)]
    found = zip(*(estimate.read(answer) for answer in asked), strict=True)
    return [Counter(ends).most_common(1)[0][0] for ends in found]


@pytest.mark.parametrize(
    ("column", "ends"),
    [
        ("room", ["200", "1000"]),
        ("pay", ["-50", "0"]),
        ("level", ["0", "0.01"]),
        ("day", [date(2024, 1, 1), date(2024, 12, 31)]),
    ],
)
def test_estimated_bounds_lie_around_the_values_of_most(
    file: Path, column: str, ends: list[object]
) -> None:
    found = usual(file, column)
    # what lies near 0 may be taken for 0
    assert found == ends or (column == "room" and found == ["0", "1000"])


def file_applied(file: Path) -> Path:
    done(file, "apply", "--yes")
    return file


def test_keys_are_selected_and_one_person_alone_is_not_told_of(file: Path) -> None:
    words = ("domain", "visits.ward", "--estimate", "keys", "--epsilon", 8, "--yes")
    assert "ask with a delta, such as 1e-10" in told(file, *words)
    assert said(file, "ward") == "text"
    done(file, *words, "--delta", "1e-10")
    assert said(file, "ward")["keys"] == ["north", "south"]
    assert "# nobody said which there are" in file.read_text()
    again = done(file_applied(file), *words, "--delta", "1e-10")
    assert "This answer was paid for before." in again
    assert charges(file) == 1


def test_keys_may_be_whole_numbers(file: Path) -> None:
    words = ("--estimate", "keys", "--epsilon", 40, "--delta", "1e-10", "--yes")
    done(file, "domain", "visits.floor", *words)
    assert said(file, "floor")["keys"] == [0, 1, 2]
    assert read_project(file).catalog.dataset("visits").schema["floor"].keys is not None


def test_the_largest_value_of_one_person_is_not_told(file: Path) -> None:
    assert usual(file, "room")[1] == "1000"
    # the lie reads the largest value, and tells of p7
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        [(largest,)] = owner.execute("SELECT MAX(room) FROM visits").fetchall()
    room = read_project(file).catalog.dataset("visits").schema["room"]
    assert min(rung for rung in ladder(room) if rung > largest) == 2 * 10**9


def test_an_estimate_is_charged_even_where_it_is_not_written(file: Path) -> None:
    before = file.read_text()
    assert tacit(file, "domain", "visits.room", "--estimate", "bounds").exit_code == 1
    quoted = tacit(file, "domain", "visits.room", "--estimate", "bounds", "--epsilon", 8)
    assert "Price: " in quoted.output  # and nobody said yes
    assert quoted.exit_code == 1
    assert charges(file) == 0
    with open_project(file) as session:
        session.estimate("visits", "room", "bounds").question.ask(epsilon=8)
    assert charges(file) == 1
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ("visits.well", "--estimate", "bounds", *PAID),
            "has the kind boolean. Keys can be estimated for",
        ),
        (("visits.pay", "--estimate", "keys", *PAID), "bounds for numbers and days"),
        (("visits.room", "0..9", "--estimate", "bounds", *PAID), "An estimate needs --epsilon"),
        (("visits.room", "--estimate", "bounds"), "An estimate needs --epsilon"),
        (("visits.room",), "--estimate bounds --epsilon 0.2"),
        (("visits.room", "--estimate", "bounds", "--epsilon", 900, "--yes"), "does not fit"),
    ],
)
def test_what_is_no_estimate_is_refused_with_the_next_step(
    file: Path, words: tuple[object, ...], wanted: str
) -> None:
    assert wanted in told(file, "domain", *words)
    assert file.read_text() == TEXT


def test_an_estimate_waits_for_what_the_ledger_holds(file: Path) -> None:
    edit(file, "max_rows = 1", "max_rows = 2")
    refused = told(file, "domain", "visits.room", "--estimate", "bounds", *PAID)
    assert "Run `tacit apply` to record" in refused

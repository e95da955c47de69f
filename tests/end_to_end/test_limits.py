"""`tacit limits` and `session.limits`: measure how many rows a limit cuts, and say so."""

import tomllib
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from pathlib import Path

import pandas as pd
import pytest
from prepared import done, told

import tacit as api
from tacit.cli.demo import PROJECT, TABLES
from tacit.core import RowsProfile
from tacit.engines.duckdb import make_duckdb
from tacit.errors import InvalidValue
from tacit.session import apply_project, open_project
from tacit.session.estimate import FEW, LADDER, suggest
from tacit.session.session import Session

PEOPLE = 3_000
ROWS = [1 + person % 9 + (40 if person < 12 else 0) for person in range(PEOPLE)]
"""Rows of each person: from 1 to 9, and twelve people have 40 more."""


def frame() -> pd.DataFrame:
    people = [person for person, rows in enumerate(ROWS) for _ in range(rows)]
    return pd.DataFrame({"person": people, "cost": [person % 50 for person in people]})


def opened(folder: Path, **more: object) -> Session:
    return api.open(
        frame(),
        population="people",
        unit="person",
        max_groups=1,
        budget=(100, 1e-6),
        bounds={"cost": (0, 50)},
        folder=folder,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path, max_rows=5) as found:
        yield found


def test_the_estimate_shows_noise_and_cut_side_by_side(session: Session) -> None:
    found = session.limits("data", epsilon=20)
    assert found.suggested in {56, 64}
    rungs = {rung.limit: rung for rung in found.rungs}
    for limit in (1, 5, 8, 10):
        true = sum(rows > limit for rows in ROWS)
        assert rungs[limit].low - 5 <= true <= rungs[limit].high + 5
    assert rungs[10].noise == 2 * rungs[5].noise
    cut = sum(max(0, min(rows, found.suggested) - 5) for rows in ROWS) / sum(ROWS)
    assert cut / 2 <= float(rungs[5].least_cut) <= cut
    assert rungs[5].least_cut > rungs[8].least_cut
    assert "now" in repr(found)
    assert "suggested" in repr(found)
    assert "<table>" in found._repr_html_()


def test_the_estimate_is_charged_once(session: Session) -> None:
    before = session.status().spent
    first = session.limits("data")
    paid = session.status().spent
    assert before.amount < paid.amount <= session.status().cap.amount / 40
    assert session.limits("data").answer.columns == first.answer.columns
    assert session.status().spent == paid


def is_near(people: int, true: int) -> bool:
    """Return whether a profile is near the truth, which it may be below once in a hundred.

    How often it is below is counted in tests/claims/test_truth.py.
    """
    return true - 5 <= people <= true + 8


def test_a_profile_holds_the_people_beyond_its_limit(session: Session) -> None:
    found = session.profile("data", 10, epsilon=20)
    assert is_near(found.people, 12)
    assert (found.rows, found.epoch) == (10, "1")
    assert len(found.release) == 64
    with pytest.raises(InvalidValue, match="from 1 to 65536"):
        session.profile("data", 0)


def test_answers_say_of_how_many_people_rows_are_cut(tmp_path: Path) -> None:
    with opened(tmp_path, max_rows=10) as session:
        profile = session.profile("data", 10, epsilon=20)
    with opened(tmp_path, max_rows=10, profile=profile) as session:
        answer = session.sql("SELECT COUNT(*) AS n, AVG(cost) AS c FROM data").ask(epsilon=5)
        assert answer["n"].all_but == profile.people == answer["c"].all_but
        assert answer["n"].confidence == Fraction(94, 100)
        counted = sum(min(rows, 10) for rows in ROWS)
        [(low, high)] = answer["n"].intervals  # type: ignore[misc]
        assert low - 200 <= counted <= high + 200  # type: ignore[operator]
        assert f"94%, all but {profile.people}" in repr(answer)
        assert any("have more than 10 rows of data" in each for each in answer.coverage)
    most = (60, "a law")
    with opened(tmp_path, max_rows=10, profile=profile, most_rows=most) as session:
        same = session.sql("SELECT COUNT(*) AS n, AVG(cost) AS c FROM data").ask(epsilon=5)
        # the stored answer is closed by the later declaration, and for nothing
        assert not same.standing.cost.amount
        assert same["n"].values == answer["n"].values
        assert same["n"].all_but is None
        [(below, above)] = same["n"].intervals  # type: ignore[misc]
        assert (below, above) == (low, high + profile.people * 50)  # type: ignore[operator]
        assert below <= sum(ROWS) <= above
        [(few, many)] = same["c"].intervals  # type: ignore[misc]
        assert few <= frame()["cost"].mean() <= many
        assert 0 <= few < many <= 50


def test_totals_are_measured_as_rows_are(session: Session) -> None:
    found = session.limits("data", column="cost", epsilon=20)
    totals = frame().groupby("person")["cost"].sum()
    rungs = {int(rung.limit): rung for rung in found.rungs}
    for limit in (50, 150, 300):
        true = int((totals > limit).sum())
        assert rungs[limit].low - 5 <= true <= rungs[limit].high + 5
    assert found.suggested % 50 == 0
    assert "max_total" in repr(found)
    profile = session.total_profile("data", "cost", 450, epsilon=20)
    assert is_near(profile.people, int((totals > 450).sum()))
    with pytest.raises(InvalidValue, match="above 0 and at most"):
        session.total_profile("data", "cost", 0)
    with pytest.raises(InvalidValue, match="bounds from 0 upwards"):
        session.limits("data", column="person")


def test_an_owners_rule_about_cells_does_not_hide_the_people_beyond(tmp_path: Path) -> None:
    with opened(tmp_path, max_rows=5, min_people=50) as session:
        found = session.profile("data", 10, epsilon=20)
    assert is_near(found.people, 12)


def test_rows_of_people_who_are_not_listed_are_measured_too(tmp_path: Path) -> None:
    """A question about visits alone counts visits of patients who are in no table."""
    people = "CREATE TABLE people AS SELECT range AS id FROM range(300)"
    visits = (
        "CREATE TABLE visits AS SELECT range % 300 AS patient FROM range(900) "
        "UNION ALL SELECT 1000 + range % 40 FROM range(800)"
    )
    make_duckdb(str(tmp_path / "clinic.duckdb"), (people, visits))
    file = tmp_path / "tacit.toml"
    file.write_text(LINKED)
    apply_project(file, by="olga")
    with open_project(file, principal="olga") as clinic:
        found = clinic.profile("visits", 5, epsilon=20)
    assert is_near(found.people, 40)


def test_machines_see_that_intervals_leave_people_out(tmp_path: Path) -> None:
    profile = RowsProfile(10, 12, "1")
    with opened(tmp_path, max_rows=10, profile=profile) as session:
        answer = session.sql("SELECT COUNT(*) AS n FROM data").ask(epsilon=5)
    assert answer.to_dict()["columns"]["n_all_but"] == [12]
    assert list(answer.to_pandas()["n_all_but"]) == [12]
    assert "all but 12" in str(answer.chart())


def test_a_false_profile_is_found_out(tmp_path: Path) -> None:
    """The lie: nobody is said to have more than ten rows, and the interval misses the truth."""
    lie = RowsProfile(10, 0, "1")
    with opened(tmp_path, max_rows=10, profile=lie) as session:
        answer = session.sql("SELECT COUNT(*) AS n FROM data").ask(epsilon=30)
    [(_, high)] = answer["n"].intervals  # type: ignore[misc]
    assert high < sum(ROWS)


def test_the_suggestion_ignores_people_that_noise_explains() -> None:
    cells = [Fraction(0)] * (len(LADDER) + 1)
    cells[0] = Fraction(1_000)
    assert suggest(cells, Fraction(1)) == 1
    cells[9] = FEW * Fraction(sqrt(len(cells) - 1)) - 1
    assert suggest(cells, Fraction(1)) == 1
    cells[9] = Fraction(1_000)
    assert suggest(cells, Fraction(1)) == LADDER[10]
    cells[-1] = Fraction(1_000)
    assert suggest(cells, Fraction(1)) == LADDER[-1]


LINKED = """
[engines.here]
kind = "duckdb"
path = "clinic.duckdb"

[populations.people]
unit = "person"
owners = ["olga"]
budget = { epsilon = 100, delta = "1e-6" }

[datasets.people]
population = "people"
engine = "here"
epoch = "1"
unit = "id"
max_groups = 1
max_rows = 1

[datasets.people.columns]
id = "integer"

[datasets.visits]
population = "people"
engine = "here"
epoch = "1"
link = { column = "patient", parent = "people", parent_column = "id" }
max_groups = 1
max_rows = 5

[datasets.visits.columns]
patient = "integer"
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    make_duckdb(str(tmp_path / "clinic.duckdb"), TABLES)
    file = tmp_path / "tacit.toml"
    file.write_text(PROJECT.replace("OWNER", '"olga"'))
    done(file, "apply", "--yes")
    return file


def test_the_command_writes_the_limit_and_its_profile(clinic: Path) -> None:
    said = done(clinic, "limits", "labs")
    assert "Nobody knows how many rows this cuts" in said
    said = done(clinic, "limits", "labs", "--estimate", "--yes")
    assert "suggested" in said
    written = tomllib.loads(clinic.read_text())["datasets"]["labs"]
    assert 14 <= written["max_rows"] <= 24
    assert written["profile"]["rows"] == written["max_rows"]
    assert written["profile"]["epoch"] == "2026"
    said = done(clinic, "apply", "--yes")
    assert "measured for epoch '2026', 99%" in said
    assert "The limits of labs were not measured" not in said
    count = "SELECT COUNT(*) AS n FROM labs"
    said = done(clinic, "ask", count, "--epsilon", "0.2")
    assert f"all but {written['profile']['people']}" in said
    said = done(clinic, "limits", "labs")
    assert "Measured for epoch '2026'" in said


def test_the_command_measures_totals(clinic: Path) -> None:
    asked = ("limits", "visits", "--column", "cost", "--estimate", "--yes")
    assert "max_total" in done(clinic, *asked)
    written = tomllib.loads(clinic.read_text())["datasets"]["visits"]["columns"]["cost"]
    assert written["bounds"] == [0, 1000]
    assert Fraction(written["max_total"]) % 1000 == 0
    assert written["total_profile"]["epoch"] == "2026"
    said = done(clinic, "apply", "--yes")
    assert "visits.cost: at most" in said
    total = "SELECT SUM(cost) AS cost FROM visits"
    said = done(clinic, "ask", total, "--epsilon", "0.2")
    assert f"all but {written['total_profile']['people']}" in said
    assert "have a total above" in said


def test_the_command_refuses_options_without_an_estimate(clinic: Path) -> None:
    assert "Add --estimate" in told(clinic, "limits", "labs", "--limit", "3")
    assert "no 'wards' in datasets" in told(clinic, "limits", "wards")


def test_new_bounds_end_the_profile_of_totals(clinic: Path) -> None:
    done(clinic, "limits", "visits", "--column", "cost", "--estimate", "--yes")
    done(clinic, "apply", "--yes")
    done(clinic, "domain", "visits.cost", "0..2000", "--source", "public")
    written = tomllib.loads(clinic.read_text())["datasets"]["visits"]["columns"]["cost"]
    assert "max_total" in written
    assert "total_profile" not in written


def test_a_profile_of_another_epoch_of_a_parent_is_old(clinic: Path) -> None:
    done(clinic, "limits", "labs", "--estimate", "--yes")
    done(clinic, "apply", "--yes")
    assert "another epoch" not in done(clinic, "limits", "labs")
    done(clinic, "epoch", "patients", "--to", "2027", "--apply")
    assert "another epoch" in done(clinic, "limits", "labs")

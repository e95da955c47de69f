"""Small cells are left empty by a noisy count of people, and values are rounded on request."""

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from conftest import Bar

import tacit as api
from tacit.cli.demo import PROJECT, TABLES
from tacit.core import Release, ReleasedColumn
from tacit.engines.duckdb import make_duckdb
from tacit.errors import InvalidValue
from tacit.ml import GaussianNB
from tacit.plan import Span
from tacit.query.open_ends import cells_shown
from tacit.query.pricing import shares
from tacit.session import apply_project, open_project
from tacit.session.ask import price_question
from tacit.session.session import Session
from tacit.stream import Periods

SIZES = {"many": 400, "few": 3, "none": 0}
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(pay) AS pay FROM data GROUP BY ward"


def opened(folder: Path, **more: Any) -> Session:
    wards = [ward for ward, people in SIZES.items() for _ in range(2 * people)]
    frame = pd.DataFrame(
        {"person": [number // 2 for number in range(len(wards))], "ward": wards, "pay": 1}
    )
    declared = {"min_people": 10, "keys": {"ward": list(SIZES)}} | more
    return api.open(
        frame,
        population="people",
        unit="person",
        max_groups=2,
        max_rows=2,
        bounds={"pay": (0, 10)},
        budget=(100, 1e-6),
        most_rows=(2, "a law"),
        folder=folder,
        **declared,
    )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path) as found:
        yield found


def test_cells_of_few_people_are_empty(session: Session) -> None:
    answer = session.sql(BY_WARD).ask(epsilon=20)
    assert answer["ward"].values == tuple(SIZES)
    for name in ("n", "pay"):
        shown = [value is not None for value in answer[name].values]
        assert shown == [True, False, False]
        assert [around is not None for around in answer[name].intervals] == shown
    assert any("at least 10 persons" in each for each in answer.coverage)
    doubled = session.sql(
        "SELECT ward, 2 * COUNT(*) AS n FROM data GROUP BY ward ORDER BY n DESC"
    ).ask(epsilon=20)
    assert sum(value is None for value in doubled["n"].values) == 2


def test_without_the_rule_every_cell_is_shown(tmp_path: Path) -> None:
    """The lie: an owner who forgets the rule publishes the cell of three people."""
    with opened(tmp_path, min_people=None) as session:
        answer = session.sql(BY_WARD).ask(epsilon=20)
    assert None not in answer["n"].values
    assert not any("cell" in each for each in answer.coverage)


def test_the_count_of_people_is_part_of_the_price(session: Session, tmp_path: Path) -> None:
    question = session.sql("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward")
    quote = price_question(question.curator, question.plan, question.loss(epsilon=1))
    assert shares(quote.bound) == [Fraction(1, 2), Fraction(1, 2)]
    assert len(quote.tallies) == 2
    people = session.sql("SELECT ward, COUNT(DISTINCT person) AS n FROM data GROUP BY ward")
    counted = price_question(people.curator, people.plan, people.loss(epsilon=1))
    assert shares(counted.bound) == [Fraction(1)]
    with opened(tmp_path / "other", min_people=None) as other:
        free = other.sql("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward")
        plain = price_question(free.curator, free.plan, free.loss(epsilon=1))
    assert plain.tallies[0].error(Fraction(19, 20)) < quote.tallies[0].error(Fraction(19, 20))


def test_secret_keys_are_counted_by_their_selection(tmp_path: Path) -> None:
    with opened(tmp_path, keys={}, min_people=380) as session:
        answer = session.sql(BY_WARD).ask(epsilon=20, delta="1e-9")
        assert answer["ward"].values == ("many",)
        assert answer["n"].values[0] is not None
    with opened(tmp_path / "more", keys={}, min_people=420) as session:
        answer = session.sql(BY_WARD).ask(epsilon=20, delta="1e-9")
        # a key that is not public is not shown either
        assert answer["ward"].values == answer["n"].values == ()


@pytest.mark.parametrize(("people", "most"), [(9, 0.05), (40, 1.0)])
def test_a_cell_of_too_few_is_shown_once_in_twenty(
    session: Session, people: int, most: float, bar: Bar
) -> None:
    question = session.sql(BY_WARD)
    quote = price_question(question.curator, question.plan, question.loss(epsilon=1))
    place = quote.bound.people
    assert place is not None
    law = quote.tallies[place].mechanism
    reach = law.error(Fraction(9, 10))
    least = quote.bound.min_people + reach
    # a group is shown if its noise is above this; the law is symmetric
    shown = cells_shown(quote, [[int(least) - 1, int(least) + 1]] * len(quote.tallies))
    assert shown == (False, True)
    above = max(Fraction(0), least - people)
    levels = [Fraction(part, 100) for part in range(100)]
    chance = next((float(1 - part) / 2 for part in levels if law.error(part) >= above), 0.0)
    shown_with = f"a cell of {people} people is shown with"
    bar(shown_with, round(chance, 3), f"<= {most}", chance <= most + 0.005)


def test_other_doors_refuse_the_rule(session: Session) -> None:
    with pytest.raises(InvalidValue, match="A holdout is refused"):
        session.holdout("data", epsilon=1, answers=3, rows=800, threshold="0.1")
    with pytest.raises(InvalidValue, match="Models are refused"):
        session.quote(GaussianNB(epsilon=1), "data", features=["pay"], target="ward")
    for inside in (
        "SUM(CASE WHEN ward = 'few' THEN 1 ELSE 0 END)",
        "AVG(CASE WHEN pay > 0 THEN 1 END)",
    ):
        with pytest.raises(InvalidValue, match="CASE or a function inside an aggregate"):
            session.sql(f"SELECT {inside} AS n FROM data").quote(epsilon=1)  # noqa: S608
    key = "CASE WHEN ward = 'few' THEN 1 ELSE 0 END"
    cells = f"SELECT {key} AS k, COUNT(*) AS n FROM data GROUP BY {key}"  # noqa: S608
    assert session.sql(cells).ask(epsilon=20)["n"].values[0] is None


def test_a_rule_holds_for_tables_that_lead_through_its_own(tmp_path: Path) -> None:
    make_duckdb(str(tmp_path / "clinic.duckdb"), TABLES)
    file = tmp_path / "tacit.toml"
    said = PROJECT.replace("OWNER", '"olga"')
    said = said.replace("max_rows = 1\n", "max_rows = 1\nmin_people = 7\n", 1)
    file.write_text(said)
    apply_project(file, by="olga")
    with open_project(file, principal="olga") as clinic:
        for table in ("patients", "visits", "labs"):
            asked = clinic.sql(f"SELECT COUNT(*) AS n FROM {table}")  # noqa: S608 - our own names
            assert "at least 7 persons" in repr(asked.quote(epsilon=1))


def test_streams_refuse_the_rule(tmp_path: Path) -> None:
    first = date(2026, 1, 1)
    days = pa.table({"person": [1, 2], "day": pa.array([first] * 2, pa.date32())})
    with api.open(
        days,
        population="people",
        unit="person",
        max_groups=1,
        max_rows=1,
        bounds={"day": (first, date(2026, 12, 31))},
        budget=(3, 1e-6),
        min_people=5,
        folder=tmp_path,
    ) as session:
        asked = session.sql("SELECT COUNT(*) AS n FROM data")
        months = Periods("data.day", Span.MONTHS, first, 3)
        with pytest.raises(InvalidValue, match="min_people"):
            session.stream(asked, asked.loss(epsilon=1), months)


def test_values_are_rounded_and_intervals_are_not(session: Session) -> None:
    answer = session.sql(BY_WARD).ask(epsilon=20)
    found = answer.round_to(25)
    assert found["n"].values[0] % 25 == 0  # type: ignore[operator]
    assert found["n"].intervals == answer["n"].intervals
    assert found["ward"] == answer["ward"]
    assert found["n"].values[1] is None
    with pytest.raises(InvalidValue, match="above 0"):
        answer.round_to(0)


def test_a_release_without_noise_is_not_rounded() -> None:
    column = ReleasedColumn("ward", (13,))
    release = Release((column,), None, b"")  # type: ignore[arg-type]
    assert release.round_to(5).columns == (column,)
